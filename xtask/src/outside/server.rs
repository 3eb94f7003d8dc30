//! A server under test that listens over HTTP.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Bench, Subject};
use crate::process::RunningProcess;

/// A server on a free loopback port, killed when it goes out of scope.
pub(super) struct HttpServer {
    running: RunningProcess,
    pub(super) url: String,
    log: PathBuf,
}

impl HttpServer {
    pub(super) fn start(bench: &Bench, subject: &Subject) -> Result<Self> {
        let mut command = bench.isolated(bench.binary.clone());
        command
            .args(subject.arguments_with_settings())
            .args(["--http", "127.0.0.1:0"]);
        Self::launch(
            &mut command,
            bench.log(&format!("server-{}", subject.name)),
            "err",
        )
    }

    /// Starts the world on the frame that has what the conformance suite calls.
    pub(super) fn start_frame(bench: &Bench) -> Result<Self> {
        let mut command = bench.isolated(bench.beside("sectile-conformance-server"));
        Self::launch(&mut command, bench.log("server-frame"), "out")
    }

    /// Starts a server, and waits until it says where it listens: on standard output or standard error, by the extension
    /// of the file that has it.
    fn launch(command: &mut Command, log: PathBuf, said: &str) -> Result<Self> {
        let mut running = RunningProcess::start(command, &log)?;
        let log = log.with_extension(said);
        let read = || Ok(find_url(&fs::read_to_string(&log)?));
        let address = running
            .wait_until(Duration::from_secs(10), read)
            .with_context(|| {
                let said = fs::read_to_string(&log).unwrap_or_default();
                format!("the HTTP server did not say where it listens; it said: {said}")
            })?;
        Ok(Self {
            running,
            url: format!("{address}/mcp"),
            log,
        })
    }

    /// Checks that the server is still running. A client that reconnects would not notice a restart.
    pub(super) fn check_alive(&mut self) -> Result<()> {
        match self.running.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the HTTP server ended by itself: {status}"),
        }
    }

    pub(super) fn log(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.log)?)
    }
}

/// Returns the first loopback address in `log`, once its port is written in full.
fn find_url(log: &str) -> Option<String> {
    let scheme = "http://127.0.0.1:";
    let at = log.find(scheme)?;
    let port = log[at + scheme.len()..].find(|c: char| !c.is_ascii_digit())?;
    (port > 0).then(|| log[at..at + scheme.len() + port].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_a_log_line() {
        let found = find_url("INFO listening url=http://127.0.0.1:4321/mcp\n");
        assert_eq!(found.as_deref(), Some("http://127.0.0.1:4321"));
        assert_eq!(find_url("http://127.0.0.1:43"), None, "the port may go on");
        assert_eq!(find_url("http://127.0.0.1:/"), None);
    }
}
