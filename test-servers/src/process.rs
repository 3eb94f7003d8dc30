//! Server processes that never outlive their owner, and the ports they listen on.

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::background::loopback;

const POLL: Duration = Duration::from_millis(5);

/// Below the ephemeral ports, so that nobody takes the port of a server that is down.
const FIRST_PORT: u32 = 20_000;
const PORTS: u32 = 12_000;

/// Waits for the end of its input, which means that the owner has ended for whatever reason, and cleans up.
const WATCH: &str = r#"
read -r _
kill -s "$1" "$2" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  kill -0 "$2" 2>/dev/null || break
  sleep 0.1
done
rm -rf -- "$3"
"#;

/// A running server, killed when dropped. If the owner has no chance to drop it, a watcher does the same.
pub(crate) struct Server {
    child: Child,
    watcher: Child,
    /// Open for as long as the owner lives.
    _line: Option<ChildStdin>,
}

impl Server {
    /// Starts `command` with its output in `log`. If the owner dies, `last_signal` is sent and `folder` removed.
    pub(crate) fn start(
        command: &mut Command,
        log: &Path,
        last_signal: &str,
        folder: &Path,
    ) -> Result<Self> {
        let output = File::options().append(true).create(true).open(log)?;
        // Discards the output of an earlier start.
        output.set_len(0)?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .context("cannot start the server; run `cargo xtask servers`")?;
        let watcher = Command::new("sh")
            .args(["-c", WATCH, "sh", last_signal])
            .arg(child.id().to_string())
            .arg(folder)
            // A signal to the process group of the owner must not reach the server.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match watcher {
            Ok(mut watcher) => Ok(Self {
                child,
                _line: watcher.stdin.take(),
                watcher,
            }),
            Err(error) => {
                end(&mut child);
                Err(error).context("cannot start `sh`")
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `is_ready`. Returns an error if the server ends before that, or takes longer than `limit`.
    pub(crate) fn wait_until(
        &mut self,
        limit: Duration,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<()> {
        let start = Instant::now();
        while !is_ready() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at once: {status}");
            }
            if start.elapsed() > limit {
                bail!("the server was not ready after {} s", limit.as_secs());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Kills the server and its children, which would otherwise go on until they notice that it is gone.
    pub(crate) fn kill_all(self, limit: Duration) -> Result<ExitStatus> {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let status = self.end_by(Signal::KILL, limit)?;
        for child in children.unwrap_or_default().split_whitespace() {
            let child = child.parse().ok().and_then(Pid::from_raw);
            match kill_process(child.context("a child without an id")?, Signal::KILL) {
                // The child may have noticed already.
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(status)
    }

    /// Sends `signal` and waits for the end; a server that does not end within `limit` is killed, which is an error.
    pub(crate) fn end_by(mut self, signal: Signal, limit: Duration) -> Result<ExitStatus> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.context("a process without an id")?, signal)?;
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if start.elapsed() > limit {
                bail!("the server did not end within {} s", limit.as_secs());
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The watcher first: it would take the end of its input for the end of the owner.
        end(&mut self.watcher);
        end(&mut self.child);
    }
}

fn end(child: &mut Child) {
    // Both fail only if the child has ended already, which is the goal.
    drop(child.kill());
    drop(child.wait());
}

/// Returns a port that nobody listens on.
pub(crate) fn free_port() -> Result<u16> {
    for _ in 0..1000 {
        let port = u16::try_from(FIRST_PORT + getrandom::u32()? % PORTS)?;
        if TcpListener::bind(loopback(port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("there is no free port on the loopback interface")
}

/// Returns the end of a log, for a panic message.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
