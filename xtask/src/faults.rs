//! Faults of the machine under the real program: system calls that fail, power cuts, full disks, too little memory, kills and
//! pauses. After each, every document has its old bytes or its new ones, and the answer said which.

mod calls;
mod disk;
mod files;
mod kills;
mod power;
mod stage;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::process::{self, Repo};
use stage::{JOBS, WriteJob};

#[derive(clap::Args)]
pub(crate) struct FaultsArgs {
    /// Check only this part; may be given more than once.
    #[arg(long, value_name = "PART")]
    only: Vec<FaultPart>,
    /// Check only this command where each is checked; may be given more than once.
    #[arg(long = "command", value_name = "NAME", value_parser = stage::job)]
    commands: Vec<&'static WriteJob>,
    /// Number of edits to be answered while the server is killed again and again.
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    kills: usize,
    /// The program to check [default: a release build].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FaultPart {
    /// Each system call of a command fails, in each way that it can.
    Calls,
    /// The power is cut after each system call, and what was not flushed is lost.
    Power,
    /// The files that Sectile keeps are damaged, forged, or not files.
    Files,
    /// The disk fills up after a given number of bytes.
    Disk,
    /// Memory runs out.
    Memory,
    /// The server is killed again and again while it edits.
    Kills,
    /// The server is stopped in the middle of an edit, while another process edits the same document.
    Pauses,
}

const PARTS: [(FaultPart, &str); 7] = [
    (FaultPart::Calls, "system calls that failed"),
    (FaultPart::Power, "power cuts"),
    (FaultPart::Files, "damaged files"),
    (FaultPart::Disk, "full disks"),
    (FaultPart::Memory, "limits of memory"),
    (FaultPart::Kills, "kills"),
    (FaultPart::Pauses, "pauses"),
];

/// How often a fault struck, and what must not have happened.
#[derive(Default)]
struct FaultTally {
    faults: usize,
    /// Commands that succeeded all the same.
    done: usize,
    /// Commands that were refused, with the old bytes in place.
    refused: usize,
    /// Commands that ended without an answer.
    unanswered: usize,
    failures: Vec<String>,
}

impl FaultTally {
    fn add(&mut self, other: Self) {
        self.faults += other.faults;
        self.done += other.done;
        self.refused += other.refused;
        self.unanswered += other.unanswered;
        self.failures.extend(other.failures);
    }
}

pub(crate) fn run(repo: &Repo, args: &FaultsArgs) -> Result<Option<String>> {
    let program = match &args.program {
        Some(program) => std::path::absolute(program)?,
        None => {
            repo.run_cargo("build --release --locked --package sectile --features backends")?;
            repo.target.join("release/sectile")
        }
    };
    let place = repo.target.join("faults");
    let jobs = match args.commands.as_slice() {
        [] => JOBS.iter().collect(),
        some => some.to_vec(),
    };
    let mut failed = 0;
    let mut missing = Vec::new();
    for (part, what) in PARTS {
        if !args.only.is_empty() && !args.only.contains(&part) {
            continue;
        }
        let (tool, words): (_, &[&str]) = match part {
            FaultPart::Calls | FaultPart::Power => ("strace", &["--version"]),
            // Not every system lets its users mount a file system of their own.
            FaultPart::Disk => ("unshare", &["-rm", "true"]),
            FaultPart::Memory | FaultPart::Files => ("prlimit", &["--version"]),
            FaultPart::Kills | FaultPart::Pauses => ("kill", &["-l"]),
        };
        if !process::is_present(tool, words) {
            missing.push(format!("{what}, because `{tool}` cannot be used"));
            continue;
        }
        let start = Instant::now();
        let tally = match part {
            FaultPart::Calls => stage::each(&jobs, |job| calls::sweep(&program, &place, job))?,
            FaultPart::Power => stage::each(&jobs, |job| power::sweep(&program, &place, job))?,
            FaultPart::Files => {
                stage::each(&[&JOBS[0]], |job| files::damage(&program, &place, job))?
            }
            FaultPart::Disk => stage::each(&jobs, |job| disk::fill(&program, &place, job))?,
            FaultPart::Memory => stage::each(&jobs, |job| disk::squeeze(&program, &place, job))?,
            FaultPart::Kills => kills::kill(&program, &place, args.kills)?,
            FaultPart::Pauses => kills::pause(&program, &place)?,
        };
        println!(
            "{} {what}: {} done, {} refused, {} unanswered; {} failures; {:.0} s",
            tally.faults,
            tally.done,
            tally.refused,
            tally.unanswered,
            tally.failures.len(),
            start.elapsed().as_secs_f64(),
        );
        for failure in tally.failures.iter().take(20) {
            println!("FAILED  {failure}");
        }
        failed += tally.failures.len();
    }
    if failed > 0 {
        bail!("{failed} faults left something behind that must not be there");
    }
    if missing.is_empty() {
        return Ok(None);
    }
    process::not_checked(&missing.join("; "))
}
