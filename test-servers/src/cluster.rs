//! Clusters: created once by `initdb`, which takes seconds, and copied for every start.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::install::{Installation, lock};

pub(crate) const SUPERUSER: &str = "postgres";
/// The password of the superuser, for connections over TCP. It opens nothing but the cluster of one test on loopback.
pub(crate) const PASSWORD: &str = "of the tests";

/// The user `nobody` on most systems. PostgreSQL refuses to run as root.
const NOBODY: u32 = 65_534;

/// Returns the user that runs PostgreSQL, if that is not the current one.
pub(crate) fn server_user() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(NOBODY)
}

/// Returns a command of the installation that runs as PostgreSQL's user, without our environment.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null());
    if let Some(user) = server_user() {
        command.uid(user).gid(user);
    }
    command
}

/// Makes the user that runs PostgreSQL the owner of `path`.
pub(crate) fn give(path: &Path) -> io::Result<()> {
    match server_user() {
        Some(user) => chown(path, Some(user), Some(user)),
        None => Ok(()),
    }
}

/// Creates a fresh cluster in `data`, which must not exist yet.
pub(crate) fn create(installation: &Installation, data: &Path) -> Result<()> {
    let template = template(installation).context("cannot create a cluster to copy")?;
    fs::create_dir(data)?;
    copy_tree(&template, data, &give).context("cannot copy the cluster")
}

/// Copies the contents of `from` into the folder `to`, and calls `finish` on each file and folder, including `to`.
pub(crate) fn copy_tree(
    from: &Path,
    to: &Path,
    finish: &dyn Fn(&Path) -> io::Result<()>,
) -> Result<()> {
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_tree(&entry.path(), &target, finish)?;
        } else {
            fs::copy(entry.path(), &target)?;
            finish(&target)?;
        }
    }
    Ok(finish(to)?)
}

fn template(installation: &Installation) -> Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let made = installation.home.join(format!("cluster-of-{user}"));
    let data = made.join("data");
    if made.is_dir() {
        return Ok(data);
    }
    let _lock = lock(&made.with_extension("lock"))?;
    if made.is_dir() {
        return Ok(data);
    }
    let partial = made.with_extension("partial");
    if partial.is_dir() {
        fs::remove_dir_all(&partial)?;
    }
    fs::create_dir(&partial)?;
    give(&partial)?;
    let password = partial.join("password");
    fs::write(&password, PASSWORD)?;
    give(&password)?;
    let output = command(&installation.program("initdb"))
        .arg("--pgdata")
        .arg(partial.join("data"))
        .arg("--pwfile")
        .arg(&password)
        .args(["--username", SUPERUSER])
        .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
        // The same collation on every machine.
        .args(["--encoding=UTF8", "--locale=C"])
        .args(["--locale-provider=builtin", "--builtin-locale=C.UTF-8"])
        .args(["--no-sync", "--no-instructions"])
        .current_dir(&partial)
        .output()
        .context("cannot start `initdb`; run `cargo xtask servers`")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`initdb` failed: {}", said.trim());
    }
    fs::rename(&partial, &made)?;
    Ok(data)
}
