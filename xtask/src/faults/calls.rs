//! Each system call of a command fails once, in each way that it can.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use super::FaultTally;
use super::stage::{Stage, WriteJob};

/// System calls, and the errors that they meet. A call that the program never makes costs nothing here.
const FAULTS: [(&str, &[&str]); 25] = [
    ("write", &["ENOSPC", "EIO", "EDQUOT", "EINTR"]),
    ("pwrite64", &["ENOSPC", "EIO"]),
    ("fsync", &["EIO", "ENOSPC"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("rename", &["EIO", "EXDEV"]),
    ("renameat", &["EIO", "EXDEV"]),
    ("renameat2", &["EIO", "EXDEV", "ENOSPC", "EINVAL"]),
    ("link", &["EIO"]),
    ("linkat", &["EIO", "EXDEV"]),
    ("unlink", &["EIO", "EACCES"]),
    ("unlinkat", &["EIO", "EACCES"]),
    ("mkdir", &["ENOSPC"]),
    ("mkdirat", &["ENOSPC", "EACCES"]),
    ("rmdir", &["EIO"]),
    ("ftruncate", &["EIO", "ENOSPC"]),
    ("fallocate", &["ENOSPC"]),
    ("fchmod", &["EPERM"]),
    ("fchown", &["EPERM"]),
    ("flock", &["EINTR", "ENOLCK"]),
    ("openat", &["EIO", "EMFILE", "ENOSPC", "EINTR"]),
    ("openat2", &["EIO", "EMFILE", "ENOSPC", "EAGAIN"]),
    ("read", &["EIO", "EINTR"]),
    ("pread64", &["EIO"]),
    ("getdents64", &["EIO"]),
    ("statx", &["EIO"]),
];

pub(super) fn sweep(program: &Path, place: &Path, job: &'static WriteJob) -> Result<FaultTally> {
    let stage = Stage::new(program, place, "calls", job)?;
    let mut tally = FaultTally::default();
    let first = first_calls(&stage)?;
    for (call, errors) in FAULTS {
        let made = made(&stage, call)?;
        // Before its own first line, a program is in the hands of the loader.
        let first = first.get(call).copied().unwrap_or(0);
        for number in made.into_iter().filter(|number| *number > first) {
            for error in errors {
                let inject = format!("inject={call}:error={error}:when={number}");
                let trace = format!("trace={call}");
                let wrapper = [
                    "strace",
                    "-f",
                    "-qq",
                    "-o",
                    "/dev/null",
                    "-e",
                    &trace,
                    "-e",
                    &inject,
                ];
                stage.strike(&format!("{call} {number} {error}"), &wrapper, &mut tally)?;
            }
        }
    }
    Ok(tally)
}

/// Returns which of a thread's calls of one kind can fail, by number.
fn made(stage: &Stage, call: &str) -> Result<BTreeSet<usize>> {
    let log = trace(stage, &format!("trace={call}"), stage.job)?;
    let mut threads: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut numbers, mut probes) = (BTreeSet::new(), BTreeSet::new());
    for line in log.lines() {
        let (thread, rest) = line.split_once(' ').unwrap_or_default();
        let rest = rest.trim_start();
        if rest.starts_with(&format!("{call}(")) {
            let number = threads.entry(thread).or_default();
            *number += 1;
            // Whether /proc is a file system of its own is asked by renaming it to itself, which never reaches a disk.
            match rest.starts_with("renameat(") && rest.contains("</proc") {
                true => probes.insert(*number),
                false => numbers.insert(*number),
            };
        }
    }
    Ok(&numbers - &probes)
}

/// Returns how often the loader makes each system call, before the program reads its arguments.
fn first_calls(stage: &Stage) -> Result<BTreeMap<String, usize>> {
    let log = stage.beside("trace");
    let log_name = log.to_string_lossy();
    let output = stage
        .sectile(&["strace", "-f", "-qq", "-o", &log_name], &["--version"])
        .output()?;
    if output.stdout.is_empty() && output.stderr.is_empty() {
        bail!("strace does not work here");
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    // The main function starts with what the runtime does first.
    for line in fs::read_to_string(log)?
        .lines()
        .take_while(|line| !line.contains("poll("))
    {
        let call = line
            .split_once(' ')
            .map_or("", |(_, rest)| rest.trim_start());
        if let Some((call, _)) = call.split_once('(') {
            *counts.entry(call.to_owned()).or_default() += 1;
        }
    }
    Ok(counts)
}

fn trace(stage: &Stage, what: &str, job: &WriteJob) -> Result<String> {
    stage.set()?;
    let log = stage.beside("trace");
    let log_name = log.to_string_lossy();
    let output = stage
        .command(&["strace", "-f", "-y", "-qq", "-e", what, "-o", &log_name])
        .output()?;
    if !output.status.success() {
        bail!(
            "`{}` failed under strace: {}",
            job.name,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(fs::read_to_string(log)?)
}
