//! Builds the program, so that two builds of one commit are equal byte for byte.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::targets::{ReleaseTarget, System};
use super::{MAX_PROGRAM, Release};
use crate::process;

/// A built program, and what it needs of the system it runs on.
pub(super) struct BuiltProgram {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// The oldest glibc that it runs with, such as `2.34`.
    pub(super) glibc: Option<String>,
}

/// Fails if the standard library for a target is not installed.
pub(super) fn require_library(target: &ReleaseTarget) -> Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target.triple]);
    ensure!(
        Path::new(process::stdout_of(&mut rustc)?.trim()).is_dir(),
        "the standard library for {0} is missing: install it with `rustup target add {0}`, or name other targets with --target",
        target.triple
    );
    Ok(())
}

/// Builds the program from the work tree.
pub(super) fn build(release: &Release<'_>, target: &ReleaseTarget) -> Result<BuiltProgram> {
    let repo = release.repo;
    let path = compile(release, target, &repo.root, &repo.target)?;
    let bytes = fs::read(&path)?;
    ensure!(
        bytes.len() as u64 <= MAX_PROGRAM,
        "the program has {} bytes, and {MAX_PROGRAM} is the limit",
        bytes.len()
    );
    let glibc = glibc_of(&bytes);
    Ok(BuiltProgram { path, bytes, glibc })
}

/// Builds the commit again from an export of it in another folder, and compares the programs.
pub(super) fn compare_with_second_build(
    release: &Release<'_>,
    target: &ReleaseTarget,
    first: &BuiltProgram,
) -> Result<()> {
    let repo = release.repo;
    let mut git = Command::new("git");
    git.args(["status", "--porcelain"]);
    let changed = process::stdout_of(git.current_dir(&repo.root))?;
    ensure!(
        changed.is_empty(),
        "the work tree differs from the commit, so two builds of it cannot be compared:\n{changed}"
    );
    let folder = env::temp_dir().join(format!("sectile-second-{}", std::process::id()));
    let source = folder.join("source");
    fs::create_dir_all(&source)?;
    let archive = folder.join("source.tar");
    let mut git = Command::new("git");
    git.args(["archive", "--format=tar", "HEAD", "--output"]);
    process::run(git.arg(&archive).current_dir(&repo.root))?;
    tar::Archive::new(fs::File::open(&archive)?).unpack(&source)?;
    let second = compile(release, target, &source, &folder.join("target"))
        .and_then(|path| Ok(fs::read(path)?));
    fs::remove_dir_all(&folder)?;
    let second = second?;
    let difference = first.bytes.iter().zip(&second).position(|(a, b)| a != b);
    ensure!(
        second == first.bytes,
        "two builds of one commit differ: {} and {} bytes, first at {difference:?}",
        first.bytes.len(),
        second.len()
    );
    println!("a second build, in another folder, is equal byte for byte");
    Ok(())
}

/// Compiles the sources in `source`, and returns the path of the program.
fn compile(
    release: &Release<'_>,
    target: &ReleaseTarget,
    source: &Path,
    build: &Path,
) -> Result<PathBuf> {
    let registry = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => env::home_dir().context("no home folder")?.join(".cargo"),
    };
    let mut flags = vec![
        format!("--remap-path-prefix={}=/sectile", source.display()),
        format!("--remap-path-prefix={}=/cargo", registry.display()),
    ];
    if target.system == System::Windows {
        // A fresh Windows does not have the C library that programs use by default.
        flags.push("-Ctarget-feature=+crt-static".to_owned());
    }
    let mut cargo = release
        .repo
        .cargo(["build", "--profile", "dist", "--locked"]);
    cargo
        .args(["--package", "sectile", "--features", "backends", "--target"])
        .arg(target.triple)
        .arg("--target-dir")
        .arg(build)
        .current_dir(source)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0")
        .env("SOURCE_DATE_EPOCH", release.time.to_string());
    process::run(&mut cargo)?;
    Ok(build
        .join(target.triple)
        .join("dist")
        .join(target.program()))
}

/// Returns the newest version of glibc that a program names.
fn glibc_of(program: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"GLIBC_2.";
    let minors = program
        .windows(MARK.len())
        .enumerate()
        .filter_map(|(at, window)| {
            if window != MARK {
                return None;
            }
            let digits = program[at + MARK.len()..].iter();
            let digits = digits.take_while(|byte| byte.is_ascii_digit());
            String::from_utf8(digits.copied().collect())
                .ok()?
                .parse::<u32>()
                .ok()
        });
    minors.max().map(|minor| format!("2.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_counts() {
        let program = b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_2.";
        assert_eq!(glibc_of(program).as_deref(), Some("2.34"));
        assert_eq!(glibc_of(b"GLIBC_PRIVATE"), None);
    }
}
