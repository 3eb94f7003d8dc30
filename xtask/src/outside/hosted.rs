//! The test environment of the hosted world: a note store, settings, and the token of a signed-in user.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Bench;
use crate::process::{RunningProcess, stdout_of};

const USER: &str = "ann";
const VAULT: &str = "default";
const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "outside-checks";
const SECRET: &str = "a secret of the outside checks, long enough\n";

/// Returns the folder of the user's notes in the folder of the store.
pub(super) fn notes_of_user(folder: &Path) -> std::path::PathBuf {
    folder.join("notes").join(VAULT).join(USER)
}

/// A store that serves the notes in `folder`, killed when it goes out of scope.
pub(super) struct Store {
    _running: RunningProcess,
    /// The value of the `Authorization` header that a client must send.
    pub(super) authorization: String,
}

impl Store {
    /// Starts the store, and writes the settings of a server in front of it to `settings`.
    pub(super) fn start(bench: &Bench, folder: &Path, settings: &Path) -> Result<Self> {
        let log = bench.log("note-store");
        let mut command = bench.isolated(bench.beside("sectile-note-store"));
        command
            .arg(folder.join("notes"))
            .args(["--listen", "127.0.0.1:0"]);
        let mut running = RunningProcess::start(&mut command, &log)?;
        let output = log.with_extension("out");
        let read = || {
            let said = fs::read_to_string(&output)?;
            let url = said.trim_end().strip_prefix("notes at ");
            Ok(url.filter(|_| said.ends_with('\n')).map(str::to_owned))
        };
        let url = running
            .wait_until(Duration::from_secs(10), read)
            .context("the note store did not say where it listens")?;
        fs::write(folder.join("token-secret"), SECRET)?;
        fs::write(
            settings,
            format!(
                "[hosted]\nstore_url = '{url}'\n[server.auth.tokens]\nsecret_file = 'token-secret'\n\
                 issuer = '{ISSUER}'\naudience = ['{AUDIENCE}']\n[server.limits]\nrequests_per_minute = 0\n"
            ),
        )?;
        let mut sign = bench.isolated(bench.beside("sign-token"));
        sign.arg("--secret-file")
            .arg(folder.join("token-secret"))
            .args(["--issuer", ISSUER, "--audience", AUDIENCE, "--user", USER]);
        let token = stdout_of(&mut sign)?;
        Ok(Self {
            _running: running,
            authorization: format!("Bearer {}", token.trim()),
        })
    }
}
