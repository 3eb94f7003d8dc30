//! A temporary vault with planted secrets, and the real binary serving it on stdio or HTTP.

mod backends;
mod desk;
mod editor;
/// Shared with the tests of the frame.
#[path = "../../../mcp/tests/it/fixture.rs"]
mod eras;
mod hosted;
mod http;
mod stdio;
pub(crate) mod tenants;
mod tokens;
mod vault;

pub(crate) use self::{
    backends::{Backends, IndexHome, Where},
    desk::{DeskClient, STATIC, TestDesk},
    editor::{Editor, TestDocuments},
    eras::{Era, PATIENCE, initialize},
    hosted::{Caller, GATEWAY_SECRET, Gateway, More, TestHosted, error_of},
    http::{Http, HttpAnswer, parse},
    stdio::Stdio,
    tokens::{AUDIENCE, ISSUER, Signer, TOKEN_SECRET, claims, hs256, now, signed, token},
    vault::{NOTE_TEXT, SECRET, TestVault},
};

use std::{
    ffi::OsStr,
    io::{Read, Write as _},
    path::Path,
    process::{Child, Command, Output},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::Value;

/// The binary, with an environment of its own.
pub(crate) fn sectile() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sectile"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SECTILE_")) {
        command.env_remove(name);
    }
    // All processes of a test run are those of one user, who is not the one who runs the tests.
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// The binary about to serve `vault`, with a settings file and environment variables.
fn serve(vault: &TestVault, config: Option<&Path>, environment: &[(&str, &str)]) -> Command {
    let mut command = sectile();
    command
        .args(["serve", "vault"])
        .arg(vault.root())
        .envs(environment.iter().copied());
    if let Some(config) = config {
        command.arg("--config").arg(config);
    }
    command
}

/// Runs the binary with these lines as its whole input, and scans what it writes.
pub(crate) fn run_with_input<S: AsRef<OsStr>>(
    vault: &TestVault,
    arguments: impl IntoIterator<Item = S>,
    lines: &[Value],
) -> Output {
    let mut child = sectile()
        .args(arguments)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_nothing_leaks(&String::from_utf8_lossy(&output.stdout), vault, "stdout");
    assert_log_is_clean(&String::from_utf8_lossy(&output.stderr), vault);
    output
}

/// Ends a server that a test has left running, as one that failed does.
fn put_down(child: &mut Child) {
    if child.try_wait().is_ok_and(|status| status.is_none()) {
        child.kill().expect("the server can be killed");
        child.wait().expect("the server ends");
    }
}

/// The JSON text of a tool result.
pub(crate) fn tool_text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no tool result in {answer}"))
}

/// The error object of a failed tool call, decoded.
pub(crate) fn tool_error(answer: &Value) -> Value {
    assert_eq!(
        answer["result"]["isError"], true,
        "no error result in {answer}"
    );
    serde_json::from_str(tool_text(answer)).unwrap()
}

/// Everything a process has written to one stream so far.
#[derive(Clone, Default)]
pub(crate) struct Recording(Arc<Mutex<Vec<u8>>>);

impl Recording {
    fn of(mut stream: impl Read + Send + 'static) -> (Self, JoinHandle<()>) {
        let recording = Self::default();
        let target = recording.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                target.add(&buffer[..length]);
            }
        });
        (recording, reader)
    }

    pub(crate) fn add(&self, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// Waits until `check` gives something.
pub(crate) fn wait_for<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits for a process to end by itself.
pub(crate) fn wait_for_exit(child: &mut Child) -> std::process::ExitStatus {
    wait_for("the process to end", || child.try_wait().unwrap())
}

/// Fails when `output` of a server holds a planted secret or the vault's absolute path.
pub(crate) fn assert_nothing_leaks(output: &str, vault: &TestVault, what: &str) {
    assert!(
        !output.contains(SECRET),
        "a secret leaks on {what}: {output}"
    );
    for path in vault.absolute_paths() {
        assert!(
            !output.contains(&path),
            "an absolute path leaks on {what}: {output}"
        );
    }
}

/// Fails when the log of a server holds a planted secret, an absolute path or text of a document.
pub(crate) fn assert_log_is_clean(log: &str, vault: &TestVault) {
    assert_nothing_leaks(log, vault, "stderr");
    assert!(
        !log.contains(NOTE_TEXT),
        "text of a document is logged: {log}"
    );
}

/// What the body-free tools say of a note that is not there, with its path as it is shown.
pub(crate) fn note_not_found(shown: &str) -> String {
    format!(
        "Note not found: {shown}. Give the path of a note from the top of the vault, with its folder and its extension, \
         such as inbox/foo.md."
    )
}
