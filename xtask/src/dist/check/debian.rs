//! The Debian package, in the smallest Debian there is: nothing was installed there, and no network can be reached.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::targets::System;
use super::{Checkup, EmptyEnvironment, NOTE, unpack_tar_gz};
use crate::dist::packages::debian_package;
use crate::process::{self, bounded};

/// Releases with the minor version of their glibc. The package is installed on the first one that is new enough for it.
const SUITES: [(&str, u32); 2] = [("bookworm", 36), ("trixie", 41)];
/// A release with an older C library than most systems that programs are linked on.
const OLD_SUITE: (&str, u32) = ("bullseye", 31);
const LIMIT: Duration = Duration::from_secs(900);

/// Goes from nothing to an answered question in two commands, and looks at what the package brought.
pub(super) fn package(checkup: &Checkup<'_>) -> Result<Option<String>> {
    let target = checkup.main_target();
    let Some(architecture) = target.debian else {
        return Ok(Some(
            "there is no Debian package for this machine".to_owned(),
        ));
    };
    let name = debian_package(architecture, &checkup.release.version);
    let file = checkup.artifact(&name);
    ensure!(
        file.is_file(),
        "{name} is missing: dpkg-deb was not installed where the release was made"
    );
    if let Some(missing) = missing() {
        return Ok(Some(format!("{name} was not installed: {missing}")));
    }
    let glibc = needed_glibc(&file)?;
    let suite = SUITES.iter().find(|(_, provided)| glibc <= *provided);
    let (suite, _) = suite.with_context(|| format!("no Debian has glibc 2.{glibc}"))?;
    let system = DebianSystem::unpack(checkup, suite)?;
    fs::copy(&file, system.folder.join("srv/sectile.deb"))?;
    system.run("dpkg --install /srv/sectile.deb")?;
    let answer = system.run("sectile search 'what does the ferry cost?' --root /srv/notes")?;
    ensure!(answer.contains(super::ANSWER), "no answer: {answer}");
    checkup.use_program(&system.environment, &system.words("sectile"))?;
    for path in [
        "usr/share/man/man1/sectile-search.1.gz",
        "usr/share/bash-completion/completions/sectile",
        "usr/share/zsh/vendor-completions/_sectile",
        "usr/share/fish/vendor_completions.d/sectile.fish",
    ] {
        ensure!(
            system.folder.join(path).is_file(),
            "the package lacks {path}"
        );
    }
    system.run("dpkg --verify sectile && dpkg --purge sectile && ! command -v sectile")?;
    old_system(checkup, &file, glibc)
}

/// On an old system, the package is installed or says what it needs, and the static program runs.
fn old_system(checkup: &Checkup<'_>, package: &Path, glibc: u32) -> Result<Option<String>> {
    let (suite, provided) = OLD_SUITE;
    let system = DebianSystem::unpack(checkup, suite)?;
    fs::copy(package, system.folder.join("srv/sectile.deb"))?;
    if glibc <= provided {
        system.run("dpkg --install /srv/sectile.deb")?;
        checkup.use_program(&system.environment, &system.words("sectile"))?;
    } else {
        let refusal = system.run("! dpkg --install /srv/sectile.deb 2>&1")?;
        ensure!(
            refusal.contains("depends on libc6"),
            "an old C library is not noticed: {refusal}"
        );
    }
    let mut targets = checkup.targets.iter();
    let Some(target) = targets.find(|target| target.system == System::LinuxMusl) else {
        return Ok(Some(
            "the release has no static program, so none was tried on an old system".to_owned(),
        ));
    };
    let version = &checkup.release.version;
    let folder = system.folder.join("opt");
    unpack_tar_gz(&checkup.artifact(&target.archive(version)), &folder)?;
    let program = format!("/opt/sectile-{version}-{}/sectile", target.triple);
    checkup.use_program(&system.environment, &system.words(&program))?;
    Ok(None)
}

/// Returns the minor version of the glibc that a package depends on.
fn needed_glibc(package: &Path) -> Result<u32> {
    let mut dpkg = Command::new("dpkg-deb");
    let depends = process::stdout_of(dpkg.arg("--field").arg(package).arg("Depends"))?;
    let minor = depends
        .split_once("libc6 (>= 2.")
        .and_then(|(_, rest)| rest.split_once(')'))
        .with_context(|| format!("the package does not name a glibc: {depends}"))?
        .0;
    Ok(minor.parse()?)
}

/// Returns what this machine lacks to make a Debian.
fn missing() -> Option<String> {
    let is_root = process::stdout_of(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !is_root {
        return Some("this needs root, for chroot".to_owned());
    }
    let is_there = process::is_present("debootstrap", &["--version"]);
    (!is_there).then(|| "debootstrap is not installed: apt-get install debootstrap".to_owned())
}

/// A Debian in a folder.
struct DebianSystem {
    folder: PathBuf,
    /// The environment outside of it, with the path of the notes inside.
    environment: EmptyEnvironment,
    /// The words that run a program inside.
    enter: Vec<OsString>,
}

impl DebianSystem {
    /// Unpacks a suite, which is fetched when it is used for the first time.
    fn unpack(checkup: &Checkup<'_>, suite: &str) -> Result<Self> {
        let archive = checkup.outside.join(format!("debian-{suite}.tar.gz"));
        let mut environment = checkup.environment(&format!("debian/{suite}"))?;
        let folder = environment.folder.join("system");
        if archive.is_file() {
            let mut tar = Command::new("tar");
            tar.args(["--extract", "--file"])
                .arg(&archive)
                .arg("--directory");
            fs::create_dir_all(&folder)?;
            process::run(tar.arg(&folder))?;
        } else {
            fs::create_dir_all(&checkup.outside)?;
            let mut debootstrap = Command::new("debootstrap");
            debootstrap.args(["--variant=minbase", suite]).arg(&folder);
            let log = environment.folder.join("logs/debootstrap");
            let finished = bounded(&mut debootstrap, &log, LIMIT)?;
            ensure!(
                finished.status.success(),
                "debootstrap failed: {}",
                finished.tail()
            );
            let mut tar = Command::new("tar");
            tar.args(["--create", "--gzip", "--file"]).arg(&archive);
            process::run(tar.arg("--directory").arg(&folder).arg("."))?;
        }
        fs::create_dir_all(folder.join("srv/notes"))?;
        fs::write(folder.join("srv/notes/harbour.md"), NOTE)?;
        environment.notes = "/srv/notes".into();
        // Processes of its own, so that /proc is mounted there and gone with the last of them.
        let spaces = [
            "unshare",
            "--net",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ];
        let mut root = OsString::from("--root=");
        root.push(&folder);
        let inside = ["/usr/bin/env", "HOME=/srv"].map(OsString::from);
        let enter = spaces.map(OsString::from).into_iter();
        let enter = enter.chain([root]).chain(inside).collect();
        Ok(Self {
            folder,
            environment,
            enter,
        })
    }

    /// Returns the words that run a program in this system.
    fn words<'a>(&'a self, program: &'a str) -> Vec<&'a OsStr> {
        let enter = self.enter.iter().map(OsString::as_os_str);
        enter.chain([OsStr::new(program)]).collect()
    }

    /// Runs a line as the shell of this system does, and returns what it prints.
    fn run(&self, line: &str) -> Result<String> {
        println!("# {line}");
        let output = self.environment.run(&self.words("/bin/sh"), &["-c", line]);
        output.with_context(|| format!("`{line}` in {}", self.folder.display()))
    }
}
