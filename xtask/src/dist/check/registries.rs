//! Packages that are installed by name, from registries of our own on loopback and in folders.

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::WHEEL;
use super::super::index::launcher_file;
use super::super::targets::System;
use super::{Checkup, EmptyEnvironment, unpack_tar_gz};
use crate::install;
use crate::process::{self, RunningProcess, bounded};

/// Time limit for compiling the program.
const BUILD_LIMIT: Duration = Duration::from_secs(2400);
/// Makes Node report an old glibc, as it does on an old system.
const OLD_SYSTEM: &str =
    "process.report.getReport = () => ({ header: { glibcVersionRuntime: \"2.17\" } });\n";

/// Publishes the npm packages to a registry on loopback, and lets `npx` and `npm install` take them from there.
pub(super) fn npm(checkup: &Checkup<'_>) -> Result<Option<String>> {
    if let Some(missing) = install::release_tools(&checkup.outside)? {
        return Ok(Some(format!(
            "the npm packages were not checked: {missing}"
        )));
    }
    let environment = checkup.environment("npm")?.with_program("npm")?;
    let _registry = npm_registry(checkup, &environment)?;
    let npm = |arguments: &[&str]| environment.run(&[OsStr::new("npm")], arguments);
    let version = &checkup.release.version;
    for target in &checkup.targets {
        let file = checkup.artifact(&target.npm_file(version));
        npm(&["publish", "--access=public", &file.to_string_lossy()])?;
    }
    let launcher = checkup.artifact(&launcher_file(version));
    npm(&["publish", "--access=public", &launcher.to_string_lossy()])?;

    checkup.use_program(&environment, &["npx", "--yes", "sectile"].map(OsStr::new))?;

    // Installed for good, it is a program like any other.
    let prefix = environment.folder.join("prefix");
    npm(&[
        "install",
        "--global",
        "--prefix",
        &prefix.to_string_lossy(),
        "sectile",
    ])?;
    checkup.use_program(&environment, &[prefix.join("bin/sectile").as_os_str()])?;

    let old_system = environment.folder.join("old_system.cjs");
    fs::write(&old_system, OLD_SYSTEM)?;
    let script = prefix.join("lib/node_modules/sectile/bin/sectile.js");
    let message = refusal(&environment, &script, Some(&old_system))?;
    if checkup.main_target().system == System::LinuxGnu {
        ensure!(
            message.contains("this system has glibc 2.17"),
            "on an old system: {message}"
        );
    }
    // As after an installation without optional dependencies.
    fs::remove_dir_all(prefix.join("lib/node_modules/sectile/node_modules"))?;
    let message = refusal(&environment, &script, None)?;
    ensure!(
        message.contains("is not installed"),
        "without the program: {message}"
    );
    Ok(None)
}

/// Starts an npm registry that knows no other, and writes its address into the home folder of an environment.
fn npm_registry(checkup: &Checkup<'_>, environment: &EmptyEnvironment) -> Result<RunningProcess> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let settings = environment.folder.join("registry.yaml");
    fs::write(
        &settings,
        "storage: ./storage\nmax_body_size: 100mb\nlog: { type: stdout, level: warn }\npackages:\n  '**':\n    \
         access: $all\n    publish: $all\n",
    )?;
    // The registry asks nobody who they are, but npm does not publish without a token.
    let rc = format!(
        "registry=http://127.0.0.1:{port}/\n//127.0.0.1:{port}/:_authToken=none\nupdate-notifier=false\naudit=false\nfund=false\n"
    );
    fs::write(environment.folder.join("home/.npmrc"), rc)?;
    let modules = checkup.outside.join("release/node_modules");
    let mut command = environment.command(modules.join("node/bin/node").as_os_str());
    command.arg(modules.join("verdaccio/bin/verdaccio"));
    command.arg("--config").arg(&settings);
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    let mut registry =
        RunningProcess::start(&mut command, &environment.folder.join("logs/registry"))?;
    registry.wait_until(Duration::from_secs(60), || {
        Ok(std::net::TcpStream::connect(("127.0.0.1", port))
            .ok()
            .map(drop))
    })?;
    Ok(registry)
}

/// Returns what the launcher says where it cannot start the program.
fn refusal(
    environment: &EmptyEnvironment,
    launcher: &Path,
    preloaded: Option<&Path>,
) -> Result<String> {
    let mut node = environment.command(OsStr::new("node"));
    if let Some(script) = preloaded {
        node.arg("--require").arg(script);
    }
    let log = environment.folder.join("logs/refusal");
    let finished = bounded(node.arg(launcher).arg("--version"), &log, super::LIMIT)?;
    ensure!(
        finished.status.code() == Some(1),
        "it was not refused: {}",
        finished.tail()
    );
    Ok(finished.stderr)
}

/// Installs the wheel with pip and with uv, neither of which may ask a registry.
pub(super) fn wheel(checkup: &Checkup<'_>) -> Result<Option<String>> {
    let environment = checkup.environment("wheel")?;
    let release = checkup.release.folder.to_string_lossy();
    let home = environment.folder.join("venv");
    process::stdout_of(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
    let python = home.join("bin/python");
    let pip = [
        "-m",
        "pip",
        "install",
        "--no-index",
        "--find-links",
        &release,
        WHEEL,
    ];
    environment.run(&[python.as_os_str()], &pip)?;
    for command in ["sectile", WHEEL] {
        checkup.use_program(&environment, &[home.join("bin").join(command).as_os_str()])?;
    }
    if let Some(missing) = install::RELEASE_TOOLS.missing(&checkup.outside) {
        return Ok(Some(format!("uv was not tried: {missing}")));
    }
    let tools = install::RELEASE_TOOLS.python(&checkup.outside);
    let uvx = tools.with_file_name("uvx");
    let from = ["--offline", "--no-index", "--find-links", &*release, WHEEL];
    let words: Vec<&OsStr> = std::iter::once(uvx.as_os_str())
        .chain(from.map(OsStr::new))
        .collect();
    checkup.use_program(&environment, &words)?;
    let wheels = checkup.release.files()?.into_iter().map(|(name, ..)| name);
    let wheels = wheels
        .filter(|name| name.ends_with(".whl"))
        .map(|name| checkup.artifact(&name));
    let mut twine = Command::new(&tools);
    twine
        .args(["-m", "twine", "check", "--strict"])
        .args(wheels);
    process::stdout_of(&mut twine)?;
    Ok(None)
}

/// Installs the program from the packaged crates alone, in a workspace that holds nothing else.
pub(super) fn crates(checkup: &Checkup<'_>) -> Result<Option<String>> {
    let environment = checkup.environment("crates")?;
    let folder = &environment.folder;
    let mut patches = toml::Table::new();
    for (name, ..) in checkup.release.files()? {
        let Some(unpacked) = name.strip_suffix(".crate") else {
            continue;
        };
        unpack_tar_gz(&checkup.artifact(&name), folder)?;
        let version = format!("-{}", checkup.release.version);
        let package = unpacked
            .strip_suffix(&version)
            .with_context(|| format!("{name} is not of version {}", checkup.release.version))?;
        let patch = toml::Table::from_iter([("path".to_owned(), unpacked.into())]);
        patches.insert(package.to_owned(), patch.into());
    }
    ensure!(patches.contains_key("sectile"), "the release has no crates");
    let main = format!("sectile-{}", checkup.release.version);
    // The lock file of this repository, so that every dependency is the one that was tested.
    let repo = checkup.release.repo;
    fs::copy(repo.root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let manifest = fs::read_to_string(repo.root.join("Cargo.toml"))?.parse::<toml::Table>()?;
    let count = patches.len();
    let mut workspace = toml::toml! { resolver = "3" };
    workspace.insert("members".to_owned(), vec![main.clone()].into());
    let mut whole = toml::Table::new();
    whole.insert("workspace".to_owned(), workspace.into());
    whole.insert("profile".to_owned(), manifest["profile"].clone());
    let patches = toml::Table::from_iter([("crates-io".to_owned(), patches.into())]);
    whole.insert("patch".to_owned(), patches.into());
    fs::write(folder.join("Cargo.toml"), toml::to_string(&whole)?)?;

    // What is not needed leaves the lock file, and nothing else changes in it.
    let mut metadata = repo.cargo(["metadata", "--format-version", "1"]);
    let metadata = process::stdout_of(metadata.current_dir(folder))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let ours = packages
        .iter()
        .filter(|package| package["source"].is_null())
        .count();
    ensure!(
        ours == count,
        "{ours} of {count} crates come from the release"
    );

    let mut cargo = repo.cargo(["install", "--debug", "--locked", "--root"]);
    cargo
        .arg(folder.join("root"))
        .arg("--path")
        .arg(folder.join(&main));
    cargo
        .arg("--target-dir")
        .arg(&repo.target)
        .current_dir(folder);
    let finished = bounded(&mut cargo, &folder.join("logs/cargo"), BUILD_LIMIT)?;
    ensure!(finished.status.success(), "{}", finished.tail());
    checkup.use_program(&environment, &[folder.join("root/bin/sectile").as_os_str()])?;
    Ok(None)
}
