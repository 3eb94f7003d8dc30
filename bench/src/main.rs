//! Speed of Sectile, printed as ratios against a baseline run at the same time on the same machine.
//!
//! Run by `cargo xtask bench`, which builds the binaries first. Exits with 1 if a target was missed or,
//! with `--compare`, if a figure is worse than in all saved runs.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark starts servers, makes files and prints what it found"
)]

mod calls;
mod clients;
mod corpus;
mod desk;
mod differential;
mod docs;
mod editor;
mod hosted;
mod measure;
mod notebook;
mod parse;
mod processes;
mod replay;
mod report;
mod retrieval;
mod server;
mod tasks;
mod tenants;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use report::Report;

/// The options of a run.
struct Bench {
    quick: bool,
    /// The folder of the binaries to measure.
    binaries: PathBuf,
    /// A folder on a real disk.
    target: PathBuf,
    /// Test data that other people wrote; may be absent.
    data: PathBuf,
    /// The time to keep a server under load: that of `hosted` only if it is given.
    soak: Option<Duration>,
    /// The program of another version, to be measured beside this one.
    against: Option<PathBuf>,
    /// The file to add this run to.
    save: Option<PathBuf>,
    /// The file of saved runs that this one is compared with.
    compare: Option<PathBuf>,
}

impl Bench {
    /// Returns the smaller number for a quick run.
    fn size(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}

/// A group of measurements.
type Group = fn(&mut Report, &Bench) -> Result<()>;

/// Groups that take long or serve another command, and are measured only if they are named.
const LONG_GROUPS: [&str; 4] = ["large-tenant", "scale", "soak", "units"];

const GROUPS: [(&str, Group); 22] = [
    ("parse", |report, bench| {
        parse::ordinary(report, bench.size(100, 10));
        parse::memory(report)
    }),
    ("calls", |report, bench| {
        calls::run(report, &bench.binaries, bench.size(3000, 300))
    }),
    ("growth", |report, _| {
        parse::growth(report);
        Ok(())
    }),
    ("edit", editor::durable::run),
    ("history", editor::history::run),
    ("list", editor::list::run),
    ("original", editor::original::run),
    ("repair", editor::repair::run),
    ("docs", docs::run),
    ("notebook", notebook::run),
    ("scale", notebook::scale::run),
    ("units", notebook::units::run),
    ("backends", notebook::backends::run),
    ("hosted", hosted::run),
    ("clients", clients::run),
    ("retrieval", retrieval::run),
    ("desk", desk::run),
    ("console", desk::console::run),
    ("soak", desk::soak::run),
    ("tasks", tasks::run),
    ("tenants", tenants::run),
    ("large-tenant", tenants::large::run),
];

fn main() -> Result<ExitCode> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == "replay").is_some() {
        return replay::run(arguments);
    }
    if arguments.next_if(|first| first == "differential").is_some() {
        return differential::run(arguments);
    }
    let mut quick = false;
    let mut only = Vec::new();
    let (mut soak, mut against, mut save, mut compare) = (None, None, None, None);
    let mut data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => quick = true,
            "--data" => data = arguments.next().context("--data takes a folder")?.into(),
            "--only" => only.extend(arguments.next()),
            "--against" => {
                let program = arguments.next().context("--against takes a program")?;
                against = Some(std::path::absolute(program)?);
            }
            "--save" => save = arguments.next().map(PathBuf::from),
            "--compare" => compare = arguments.next().map(PathBuf::from),
            "--soak" => {
                let seconds = arguments.next().context("--soak takes seconds")?;
                soak = Some(Duration::from_secs(seconds.parse()?));
            }
            other => anyhow::bail!("`{other}` is not an argument"),
        }
    }
    let known = |name: &String| GROUPS.iter().any(|(group, _)| group == name);
    ensure!(
        only.iter().all(known),
        "the groups are {:?}",
        GROUPS.map(|(name, _)| name)
    );
    let binaries = std::env::current_exe()?
        .parent()
        .map(PathBuf::from)
        .context("no folder of binaries")?;
    let target = binaries.parent().map(Path::to_path_buf);
    let bench = Bench {
        quick,
        target: target.context("no folder above the binaries")?,
        binaries,
        data,
        soak,
        against,
        save,
        compare,
    };
    warn_of_load();
    let mut report = Report::default();
    for (name, measure) in GROUPS {
        let is_usual = only.is_empty() && !LONG_GROUPS.contains(&name);
        if is_usual || only.iter().any(|wanted| wanted == name) {
            report.begin(name);
            measure(&mut report, &bench).with_context(|| format!("measuring `{name}`"))?;
        }
    }
    report.print_table();
    // Compared before it is saved: the file may be the same.
    let no_worse = match &bench.compare {
        Some(file) => report.compare(file, quick)?,
        None => report.all_met(),
    };
    if let Some(file) = &bench.save {
        report.save(file, quick)?;
    }
    Ok(if no_worse {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Warns if other processes compete for the cores, because the figures would include them.
fn warn_of_load() {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|load| load.parse().ok());
    if let Some(load) = load.filter(|load: &f64| *load > 0.5) {
        println!("the machine is busy (load {load}): do not quote these figures");
    }
}
