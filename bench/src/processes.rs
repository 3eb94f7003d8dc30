//! Separate processes: their time, their memory, and the cores they run on.

use std::{
    fs,
    io::Read as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::server::Server;

/// The interval at which a running process is inspected.
const POLL: Duration = Duration::from_millis(2);

pub(crate) struct ProcessOutput {
    pub(crate) elapsed: Duration,
    /// The peak resident memory, in bytes; 0 if the system does not report it.
    pub(crate) peak: u64,
    pub(crate) output: String,
}

/// Returns the same command on all cores, although this process may be pinned to one.
pub(crate) fn on_all_cores(command: &Command) -> Command {
    let cores = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let has_taskset = Command::new("taskset")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mut wrapped = if has_taskset && !cores.trim().is_empty() {
        // `taskset` executes the program in its own process, so the memory measured is the program's.
        let mut wrapped = Command::new("taskset");
        wrapped.args(["--cpu-list", cores.trim()]);
        wrapped.arg(command.get_program());
        wrapped
    } else {
        Command::new(command.get_program())
    };
    wrapped.args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        wrapped.envs(value.map(|value| (name, value)));
    }
    wrapped
}

/// Runs a command that prints little to its end.
pub(crate) fn finish(command: &mut Command) -> Result<ProcessOutput> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let mut peak = 0;
    let status = loop {
        // The peak only grows, so the last value before the end is as good as the final one.
        peak = peak.max(memory(child.id(), "VmHWM").unwrap_or_default());
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(POLL);
    };
    let elapsed = started.elapsed();
    let mut output = String::new();
    let mut pipe = child.stdout.take().context("no output")?;
    pipe.read_to_string(&mut output)?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(ProcessOutput {
        elapsed,
        peak,
        output,
    })
}

/// Runs a command to its end without polling, for short times.
pub(crate) fn quickly(command: &mut Command) -> Result<(Duration, Value)> {
    let started = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    let elapsed = started.elapsed();
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        output.status
    );
    Ok((elapsed, serde_json::from_slice(&output.stdout)?))
}

/// Returns one figure of a process's memory, in bytes.
pub(crate) fn memory(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Returns the processor time that a server has taken, where the system tells it. Unlike the time that passes, it hardly
/// depends on what else the machine does.
pub(crate) fn processor_time(server: &Server) -> Duration {
    /// The ticks of a second, on every system that has such a file.
    const TICKS: u64 = 100;
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.process())).unwrap_or_default();
    // The name in the second field may contain blanks.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|one| one.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}
