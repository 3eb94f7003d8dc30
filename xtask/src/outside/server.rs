//! The server under test and the vault it serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Bench;
use crate::process::Running;

/// Text that no answer may carry: it stands in bodies and in a front matter key that is nobody's business.
pub(super) const SENTINELS: [&str; 2] = ["SENTINEL-BODY-5d1c", "SENTINEL-SECRET-90ab"];

/// The note that tools are called with.
pub(super) const NOTE: &str = "inbox/example.md";

const NOTES: &[(&str, &str)] = &[
    (
        NOTE,
        "---\ntitle: An example\ntags: [alpha, beta]\napi_key: SENTINEL-SECRET-90ab\n---\n\
         SENTINEL-BODY-5d1c before the first heading.\n\n# First\n\nSENTINEL-BODY-5d1c\n\n## Inner\n\n\
         - SENTINEL-BODY-5d1c\n\n#### Deep\n\n```\n# SENTINEL-BODY-5d1c in a fence\n```\n\n# Second\n",
    ),
    (
        "projects/plan/plan.md",
        "Plan\n====\n\nSENTINEL-BODY-5d1c\n\n> ## Quoted\n\nNext\n----\n",
    ),
    (
        "日本語/メモ.md",
        "# 概要\n\nSENTINEL-BODY-5d1c\n\n## 背景と目的\n\n本文\n",
    ),
];

/// Writes the vault afresh.
pub(super) fn write_vault(folder: &Path) -> Result<PathBuf> {
    let vault = folder.join("vault");
    if vault.is_dir() {
        fs::remove_dir_all(&vault)?;
    }
    for (path, text) in NOTES {
        let path = vault.join(path);
        fs::create_dir_all(path.parent().context("a note lies in a folder")?)?;
        fs::write(path, text)?;
    }
    fs::create_dir_all(folder.join("home"))?;
    // Within reach of a path that climbs out of the vault.
    fs::write(folder.join("outside.md"), "# SENTINEL-BODY-5d1c\n")?;
    Ok(vault)
}

/// A server on a free loopback port, killed when it goes out of scope.
pub(super) struct HttpServer {
    running: Running,
    pub(super) url: String,
    log: PathBuf,
}

impl HttpServer {
    pub(super) fn start(bench: &Bench) -> Result<Self> {
        let [binary, args @ ..] = bench.stdio_server();
        let log = bench.log("server");
        let mut command = bench.isolated(binary.into());
        command.args(args).args(["--http", "127.0.0.1:0"]);
        let mut running = Running::start(&mut command, &log)?;
        let log = log.with_extension("err");
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

    /// A client that connects again would not notice that the server was gone in between.
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

/// The first loopback address in `log`, once its port is written in full.
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

    #[test]
    fn every_note_hides_something() {
        for (path, text) in NOTES {
            assert!(
                SENTINELS.iter().any(|sentinel| text.contains(sentinel)),
                "{path}"
            );
        }
    }
}
