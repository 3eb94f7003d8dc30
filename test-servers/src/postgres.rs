//! PostgreSQL 18 with pgvector: a separate cluster for each start.
//!
//! This build of PostgreSQL lacks encryption (OpenSSL was left out, so [`crate::tls`] sits in front of it where a test
//! wants TLS), ICU, and all extensions except `vector` and `plpgsql`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::background::loopback;
use crate::cluster::{self, PASSWORD, SUPERUSER};
use crate::install::Installation;
use crate::must;
use crate::process::{Server, free_port, tail};
use crate::tls::{Front, Identity};

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(20);
const START_ATTEMPTS: usize = 5;
/// A file system in memory, where a cluster is ready in a third of the time: most of a start is copying a thousand files. A
/// kill loses nothing there, and no test cuts the power.
const MEMORY: &str = "/dev/shm";
/// The free space that a file system in memory must have: some clusters of 60 MB, with what tests put into them. In
/// containers it often has 64 MB in all.
const MEMORY_SPACE: u64 = 2 << 30;

/// A running PostgreSQL. It ends when dropped, and its data is removed.
pub struct Postgres {
    installation: Installation,
    port: u16,
    server: Option<Server>,
    tls: Option<Tls>,
    folder: TempDir,
}

struct Tls {
    identity: Identity,
    port: u16,
    front: Option<Front>,
}

impl Postgres {
    /// Starts a fresh cluster on a free port of the loopback interface. Its data is in memory if there is room.
    ///
    /// # Panics
    /// Panics if it cannot, for example because `cargo xtask servers` has not run.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        must(Self::new(false, memory()))
    }

    /// The same with its data on disk, for measurements: a flush takes its time there.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[must_use]
    #[track_caller]
    pub fn start_on_disk() -> Self {
        must(Self::new(false, None))
    }

    /// The same, but only for clients that use TLS. The certificate is for `localhost` and `127.0.0.1`.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[must_use]
    #[track_caller]
    pub fn start_with_tls() -> Self {
        must(Self::new(true, memory()))
    }

    /// Returns the address that clients connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        loopback(self.port())
    }

    /// Returns the port of [`Self::address`]. It stays the same over a restart.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.tls.as_ref().map_or(self.port, |tls| tls.port)
    }

    /// Returns the certificate that clients have to trust, if there is TLS.
    #[must_use]
    pub fn certificate_pem(&self) -> Option<&str> {
        self.tls.as_ref().map(|tls| tls.identity.pem.as_str())
    }

    /// Returns a URL for the superuser, in the default database.
    #[must_use]
    pub fn admin_url(&self) -> String {
        self.url(SUPERUSER, PASSWORD, "postgres")
    }

    /// Returns a URL for the superuser, in another database.
    #[must_use]
    pub fn admin_url_of(&self, database: &str) -> String {
        self.url(SUPERUSER, PASSWORD, database)
    }

    /// Returns a URL for a role.
    #[must_use]
    pub fn url(&self, role: &str, password: &str, database: &str) -> String {
        self.url_at(self.address(), role, password, database)
    }

    /// The same through a proxy at `address`.
    #[must_use]
    pub fn url_at(
        &self,
        address: SocketAddr,
        role: &str,
        password: &str,
        database: &str,
    ) -> String {
        let plain = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let mode = if self.tls.is_some() {
            "?sslmode=require"
        } else {
            ""
        };
        format!(
            "postgres://{}:{}@{address}/{}{mode}",
            plain(role),
            plain(password),
            plain(database)
        )
    }

    /// Creates an empty database, which belongs to the superuser.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[track_caller]
    pub fn create_database(&self, name: &str) {
        self.sql("postgres", &format!("CREATE DATABASE {}", identifier(name)));
    }

    /// Creates a role that can log in and nothing else: not a superuser, and subject to row-level security.
    ///
    /// # Panics
    /// Panics if it cannot.
    #[track_caller]
    pub fn create_role(&self, name: &str, password: &str) {
        let statement = format!(
            "CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD {}",
            identifier(name),
            literal(password)
        );
        self.sql("postgres", &statement);
    }

    /// Runs statements as the superuser, bypassing the port and the proxy, and returns their result: a line for each row,
    /// with tabs between its values.
    ///
    /// # Panics
    /// Panics if they fail.
    #[track_caller]
    pub fn sql(&self, database: &str, statements: &str) -> String {
        must(self.psql(database, statements))
    }

    /// Shuts it down in order: transactions are rolled back, clients notified, data kept.
    ///
    /// # Panics
    /// Panics if it does not end.
    #[track_caller]
    pub fn stop(&mut self) {
        self.close_front();
        if let Some(server) = self.server.take() {
            must(server.end_by(Signal::INT, STOP_LIMIT));
        }
    }

    /// Kills it as a crash would. Committed data is there after [`Self::start_again`].
    ///
    /// # Panics
    /// Panics if it cannot be killed.
    #[track_caller]
    pub fn kill(&mut self) {
        self.close_front();
        if let Some(server) = self.server.take() {
            must(server.kill_all(STOP_LIMIT));
        }
    }

    /// Starts it on the same data and the same port, after [`Self::stop`] or [`Self::kill`].
    ///
    /// # Panics
    /// Panics if it cannot, or if it is running.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.server.is_none(), "PostgreSQL is still running");
        must(self.launch_again());
    }

    fn new(with_tls: bool, place: Option<&Path>) -> Result<Self> {
        let installation = Installation::find()?;
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("sectile-pg-");
        let folder = match place {
            Some(place) => builder.tempdir_in(place)?,
            None => builder.tempdir()?,
        };
        cluster::create(&installation, &folder.path().join("data"))?;
        fs::create_dir(folder.path().join("socket"))?;
        cluster::give(&folder.path().join("socket"))?;
        cluster::give(folder.path())?;
        let mut postgres = Self {
            installation,
            port: 0,
            server: None,
            tls: None,
            folder,
        };
        if with_tls {
            postgres.tls = Some(Tls {
                identity: Identity::new()?,
                port: 0,
                front: None,
            });
        }
        let mut attempt = 0;
        loop {
            attempt += 1;
            postgres.port = free_port()?;
            match postgres.launch() {
                Ok(()) => break,
                // Somebody else may have taken the port in between.
                Err(_) if attempt < START_ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(tls) = &mut postgres.tls {
            tls.port = free_port()?;
        }
        postgres.open_front()?;
        Ok(postgres)
    }

    fn launch_again(&mut self) -> Result<()> {
        let start = Instant::now();
        // Remains of a killed server release their memory a moment later.
        while let Err(error) = self.launch() {
            if start.elapsed() > START_LIMIT {
                return Err(error);
            }
        }
        self.open_front()
    }

    fn launch(&mut self) -> Result<()> {
        let (data, log) = (self.data(), self.folder.path().join("log"));
        let mut command = cluster::command(&self.installation.program("postgres"));
        command
            .arg("-D")
            .arg(&data)
            .arg("-p")
            .arg(self.port.to_string())
            .arg("-k")
            .arg(self.socket())
            .current_dir(self.folder.path());
        for setting in [
            "listen_addresses=127.0.0.1",
            "max_connections=50",
            "shared_buffers=32MB",
            // A crash of the system would lose data, a crash of the server does not.
            "fsync=off",
            "full_page_writes=off",
            // In the data folder, so that nothing is left after a kill.
            "dynamic_shared_memory_type=mmap",
        ] {
            command.args(["-c", setting]);
        }
        let mut server = Server::start(&mut command, &log, "QUIT", self.folder.path())?;
        let id = server.id();
        server
            .wait_until(START_LIMIT, || is_ready(&data, id))
            .with_context(|| format!("PostgreSQL does not start: {}", tail(&log)))?;
        self.server = Some(server);
        Ok(())
    }

    fn open_front(&mut self) -> Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.front = Some(Front::start(tls.port, self.port, &tls.identity)?);
        }
        Ok(())
    }

    fn close_front(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.front = None;
        }
    }

    fn psql(&self, database: &str, statements: &str) -> Result<String> {
        let output = Command::new(self.installation.program("psql"))
            .env_clear()
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
            .args(["--field-separator=\t", "--set=ON_ERROR_STOP=1"])
            .arg("--host")
            .arg(self.socket())
            .args(["--port", &self.port.to_string()])
            .args(["--username", SUPERUSER, "--dbname", database])
            .args(["--command", statements])
            .output()
            .context("cannot start `psql`; run `cargo xtask servers`")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.close_front();
        match self.server.take() {
            // At once: nobody needs the data. A server that does not respond is killed.
            Some(server) => drop(server.end_by(Signal::QUIT, STOP_LIMIT)),
            None => release_memory(&self.data()),
        }
    }
}

/// Releases the few bytes of shared memory that outlive a server that was killed and not started again.
fn release_memory(data: &Path) {
    let Ok(said) = fs::read_to_string(data.join("postmaster.pid")) else {
        return;
    };
    let id = said
        .lines()
        .nth(6)
        .and_then(|line| line.split_whitespace().nth(1));
    if let Some(id) = id {
        // Without that program, or without that memory, there is nothing to do.
        drop(Command::new("ipcrm").args(["-m", id]).output());
    }
}

/// Returns whether PostgreSQL is ready, according to its own status file; one from an earlier start does not count.
fn is_ready(data: &Path, id: u32) -> bool {
    let Ok(said) = fs::read_to_string(data.join("postmaster.pid")) else {
        return false;
    };
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    lines.first() == Some(&id.to_string().as_str()) && lines.get(7) == Some(&"ready")
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the file system in memory, if there is one with room.
fn memory() -> Option<&'static Path> {
    let space = rustix::fs::statvfs(MEMORY).ok()?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    (free >= MEMORY_SPACE).then_some(Path::new(MEMORY))
}
