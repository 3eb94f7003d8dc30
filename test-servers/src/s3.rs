//! The S3 server `s3s-fs`: a bucket is a folder, an object a file.
//!
//! It authenticates with signature version 4 and serves `GET` and `HEAD` with `ETag`, ranges, and paged lists (`max-keys`,
//! `continuation-token`, `start-after`, `prefix`, `delimiter`). It differs from S3 as follows:
//!
//! - A list has no `ETag`s, only sizes and times.
//! - `GET` and `HEAD` ignore `If-Match`, `If-None-Match` and the like, and also `versionId`: the object is returned all the
//!   same.
//! - `PUT` compares its conditions first and writes then, so two writers may both be told that they were first. A missing
//!   object is a condition that does not hold. [`MemoryS3`](crate::MemoryS3) does as S3 does.
//! - `ETag` and bytes of one `GET` can belong to two states if the object is replaced meanwhile. The bytes always belong to
//!   one state. So only a digest of the bytes can decide.
//! - The `ETag` of an object that was put by HTTP is stored in a file, which stays when the object is then replaced as a
//!   file or deleted. [`S3::put`] and [`S3::delete`] remove that file.
//! - `GET` in a missing bucket answers `NoSuchKey`; only `HEAD` and lists say `NoSuchBucket`.
//! - An unknown access key answers `NotSignedUp` instead of `InvalidAccessKeyId`; both are 403.
//! - A list fails with `InternalError` if an object is deleted meanwhile.
//! - No object `a` beside one `a/b`; a `GET` of the folder `a` fails with `InternalError`.
//! - The digest of the whole object is computed for every `GET` of an object that is a file of ours, ranges included.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::background::loopback;
use crate::process::{Server, free_port, tail};
use crate::{install, must};

const ACCESS_KEY: &str = "TESTACCESSKEY";
const SECRET_KEY: &str = "secret-key-of-the-tests";

/// The line in its log that says so.
const LISTENS: &str = "server is running at";
const LIMIT: Duration = Duration::from_secs(20);
const START_ATTEMPTS: usize = 5;

/// A running S3 server. It ends when dropped, and its data is removed unless it is in a folder of the owner.
pub struct S3 {
    port: u16,
    server: Option<Server>,
    data: PathBuf,
    /// A counter for names of files that are not objects yet.
    written: AtomicU64,
    folder: TempDir,
}

impl S3 {
    /// Starts an empty server on a free port of the loopback interface.
    ///
    /// # Panics
    /// Panics if it cannot, for example because `cargo xtask servers` has not run.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        must(Self::new(None))
    }

    /// Starts a server whose buckets are the folders in `folder`.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[must_use]
    #[track_caller]
    pub fn start_in(folder: &Path) -> Self {
        must(Self::new(Some(folder)))
    }

    /// Returns the address that clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        loopback(self.port)
    }

    /// Returns the endpoint URL for clients; the bucket is the first part of the path.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns the access key that is accepted.
    #[must_use]
    pub fn access_key(&self) -> &'static str {
        ACCESS_KEY
    }

    /// Returns the secret that requests are signed with.
    #[must_use]
    pub fn secret_key(&self) -> &'static str {
        SECRET_KEY
    }

    /// Creates a bucket; an existing one stays as it is.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[track_caller]
    pub fn bucket(&self, name: &str) {
        must(fs::create_dir_all(self.data.join(name)).context("cannot create the bucket"));
    }

    /// Puts an object, bypassing HTTP and any proxy. The replacement is atomic: readers see all of the old one or all of
    /// the new one.
    ///
    /// # Panics
    /// Panics if it cannot, for example because there is no such bucket.
    #[track_caller]
    pub fn put(&self, bucket: &str, key: &str, bytes: impl AsRef<[u8]>) {
        must(
            self.replace(bucket, key, bytes.as_ref())
                .context("cannot put the object"),
        );
    }

    /// Deletes an object, if it exists.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[track_caller]
    pub fn delete(&self, bucket: &str, key: &str) {
        must(self.remove(bucket, key).context("cannot delete the object"));
    }

    /// Stops the server; the data stays.
    ///
    /// # Panics
    /// Panics if it does not end.
    #[track_caller]
    pub fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            // It has nothing to finish, and would wait for clients that keep their connections.
            must(server.end_by(Signal::KILL, LIMIT));
        }
    }

    /// Starts it on the same data and the same port, after [`Self::stop`].
    ///
    /// # Panics
    /// Panics if it cannot, or if it is running.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.server.is_none(), "the S3 server is still running");
        must(self.launch());
    }

    fn new(data: Option<&Path>) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("sectile-s3-").tempdir()?;
        let own = folder.path().join("data");
        fs::create_dir(&own)?;
        let mut s3 = Self {
            port: 0,
            server: None,
            data: data.map_or(own, Path::to_owned),
            written: AtomicU64::new(0),
            folder,
        };
        let mut attempt = 0;
        loop {
            attempt += 1;
            s3.port = free_port()?;
            match s3.launch() {
                Ok(()) => return Ok(s3),
                // Somebody else may have taken the port in between.
                Err(_) if attempt < START_ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn launch(&mut self) -> Result<()> {
        let log = self.folder.path().join("log");
        let mut command = Command::new(install::s3()?);
        command
            .env_clear()
            .env("RUST_LOG", "s3s_fs=info")
            .args(["--host", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY])
            .arg(&self.data)
            .current_dir(self.folder.path());
        let mut server = Server::start(&mut command, &log, "KILL", self.folder.path())?;
        // A connection would prove nothing: somebody else may have taken the port.
        let listens = || fs::read_to_string(&log).is_ok_and(|said| said.contains(LISTENS));
        server
            .wait_until(LIMIT, listens)
            .with_context(|| format!("the S3 server does not start: {}", tail(&log)))?;
        self.server = Some(server);
        Ok(())
    }

    fn replace(&self, bucket: &str, key: &str, bytes: &[u8]) -> Result<()> {
        let object = self.object(bucket, key)?;
        if !self.data.join(bucket).is_dir() {
            bail!("there is no bucket `{bucket}`");
        }
        // Beside the buckets, where no list includes it.
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let written = self
            .data
            .join(format!(".put-{}-{number}", std::process::id()));
        fs::write(&written, bytes)?;
        if let Some(folder) = object.parent() {
            fs::create_dir_all(folder)?;
        }
        self.forget(bucket, key)?;
        fs::rename(written, object)?;
        Ok(())
    }

    fn remove(&self, bucket: &str, key: &str) -> Result<()> {
        let object = self.object(bucket, key)?;
        remove_if_there(&object)?;
        self.forget(bucket, key)
    }

    /// Removes what the server stored about an object that was put by HTTP.
    fn forget(&self, bucket: &str, key: &str) -> Result<()> {
        let name = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        for kind in ["internal", "metadata"] {
            let file = format!(".bucket-{}.object-{}.{kind}.json", name(bucket), name(key));
            remove_if_there(&self.data.join(file))?;
        }
        Ok(())
    }

    fn object(&self, bucket: &str, key: &str) -> Result<PathBuf> {
        let inside = Path::new(bucket).join(key);
        if !inside
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            bail!("`{key}` cannot be the name of a file");
        }
        Ok(self.data.join(inside))
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
