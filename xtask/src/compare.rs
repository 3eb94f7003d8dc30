//! Measures Sectile beside other programs, on this machine and with the same work.
//!
//! The programs are installed under `target/compare/`. The results are saved in `docs/comparison.json`, and the page and its
//! plots are made from them.

mod client;
mod jobs;
mod notes;
mod page;
mod plots;
mod programs;
mod safety;
mod speed;

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::process::{self, Repo};
use programs::{Program, Tools};
use safety::Trial;

/// The saved results, from which the page is made.
const RESULTS: &str = "docs/comparison.json";

#[derive(clap::Args)]
pub(crate) struct CompareArgs {
    /// Make the page and its plots from the saved results, and measure nothing.
    #[arg(long)]
    page: bool,
    /// Measure only this program; may be given more than once. The others keep their results.
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Measure only this part; may be given more than once. The others keep their results.
    #[arg(long, value_name = "PART")]
    part: Vec<Part>,
    /// Measure speed among this many generated notes.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    notes: usize,
    /// The program to measure: a release build, which is made if it is missing.
    #[arg(long, value_name = "PATH")]
    sectile: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    Safety,
    Jobs,
    Speed,
}

impl Part {
    fn key(self) -> &'static str {
        match self {
            Self::Safety => "safety",
            Self::Jobs => "jobs",
            Self::Speed => "speed",
        }
    }
}

/// Measures, saves the results, and makes the page. Returns a remark if a program is missing.
pub(crate) fn run(repo: &Repo, args: &CompareArgs) -> Result<Option<String>> {
    if args.page {
        return write_pages(repo, &saved(repo)?).map(|()| None);
    }
    let sectile = match &args.sectile {
        Some(path) => env::current_dir()?.join(path),
        None => release(repo)?,
    };
    ensure!(sectile.is_file(), "{} is not a program", sectile.display());
    let tools = Tools {
        repo,
        folder: repo.target.join("compare"),
        sectile,
        python: env::var("XTASK_PYTHON").unwrap_or_else(|_| "python3".to_owned()),
    };
    fs::create_dir_all(tools.folder.join("logs"))?;
    let mut results = saved(repo).unwrap_or_default();
    let mut missing = Vec::new();
    for program in programs::all() {
        let id = program.facts().id;
        let mut row = row_of(&results, id).cloned().unwrap_or_default();
        if args.only.is_empty() || args.only.iter().any(|only| only == id) {
            row = measure(program.as_ref(), &tools, args, &row)?;
            results = with_row(&results, &row);
            // After each program, because the next one may take long.
            fs::write(repo.root.join(RESULTS), format!("{results:#}\n"))?;
        }
        missing.extend(row["missing"].as_str().map(|_| id));
    }
    write_pages(repo, &results)?;
    if missing.is_empty() {
        return Ok(None);
    }
    process::not_checked(&missing.join(", "))
}

/// Returns the page and the plots that belong to these results: paths in the repository, and texts.
fn make_pages(results: &Value) -> Vec<(String, String)> {
    let mut pages = vec![("docs/comparison.md".to_owned(), page::page(results))];
    pages.extend(plots::plots(results));
    pages
}

fn write_pages(repo: &Repo, results: &Value) -> Result<()> {
    for (path, text) in make_pages(results) {
        fs::write(repo.root.join(&path), text)?;
        println!("{path}");
    }
    Ok(())
}

fn saved(repo: &Repo) -> Result<Value> {
    let text = fs::read_to_string(repo.root.join(RESULTS))
        .with_context(|| format!("cannot read {RESULTS}; run `cargo xtask compare` first"))?;
    Ok(serde_json::from_str(&text)?)
}

/// Returns the results with one row added or replaced.
fn with_row(results: &Value, row: &Value) -> Value {
    let all = programs::all();
    let rows = all.iter().filter_map(|program| {
        let id = program.facts().id;
        if row["id"] == id {
            Some(row)
        } else {
            row_of(results, id)
        }
    });
    json!({ "machine": machine(), "programs": rows.collect::<Vec<_>>() })
}

fn row_of<'a>(results: &'a Value, id: &str) -> Option<&'a Value> {
    let rows = results["programs"].as_array()?;
    rows.iter().find(|row| row["id"] == id)
}

/// Returns the program of a release build, building it if it is missing.
fn release(repo: &Repo) -> Result<PathBuf> {
    let name = format!("sectile{}", env::consts::EXE_SUFFIX);
    let path = repo.target.join("release").join(name);
    if !path.is_file() {
        repo.run_cargo("build --release --locked --package sectile")?;
    }
    Ok(path)
}

/// Measures one program; parts that are not wanted keep their results.
fn measure(
    program: &dyn Program,
    tools: &Tools<'_>,
    args: &CompareArgs,
    before: &Value,
) -> Result<Value> {
    let facts = program.facts();
    println!("\n{}", facts.name);
    let missing = program.install(tools).unwrap_or_else(|error| {
        println!("  {error:#}");
        Some("it could not be installed".to_owned())
    });
    let version = match facts.version {
        "" => process::stdout_of(Command::new(&tools.sectile).arg("--version"))?
            .split_whitespace()
            .next_back()
            .unwrap_or_default()
            .to_owned(),
        version => version.to_owned(),
    };
    let mut row = json!({ "id": facts.id, "version": version });
    if let Some(why) = missing {
        println!("  missing: {why}");
        row["missing"] = json!(why);
        return Ok(row);
    }
    for part in Part::value_variants() {
        let key = part.key();
        if !args.part.is_empty() && !args.part.contains(part) {
            row[key] = before[key].clone();
            continue;
        }
        let folder = tools.folder.join("work").join(facts.id).join(key);
        let trial = Trial {
            program,
            tools,
            folder: &folder,
        };
        let result = match part {
            Part::Safety => Ok(safety::measure(&trial)),
            Part::Jobs => jobs::measure(&trial),
            Part::Speed => speed::measure(&trial, args.notes)
                .map(|speed| with_size(&before[key], args.notes, speed)),
        };
        row[key] = result.unwrap_or_else(|error| json!({ "failed": short(&format!("{error:#}")) }));
        println!("  {key}: {}", row[key]);
        // Thousands of notes, for each program.
        fs::remove_dir_all(&folder)?;
    }
    Ok(row)
}

/// Returns the speeds of a program, by the number of notes, with that among `notes` notes added or replaced.
fn with_size(before: &Value, notes: usize, mut speed: Value) -> Value {
    let others = before.as_array().into_iter().flatten();
    let mut all: Vec<Value> = others
        .filter(|one| one["notes"] != notes)
        .cloned()
        .collect();
    speed["notes"] = json!(notes);
    all.push(speed);
    all.sort_by_key(|one| one["notes"].as_u64());
    Value::Array(all)
}

/// Describes this machine in general words.
fn machine() -> Value {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory.split_whitespace().nth(1);
    let kib: usize = kib.and_then(|kib| kib.parse().ok()).unwrap_or_default();
    json!({
        "cores": cores,
        "memory_gib": kib.div_ceil(1024 * 1024),
        "system": format!("{} on {}", env::consts::OS, env::consts::ARCH),
        "date": jiff::Zoned::now().strftime("%Y-%m-%d").to_string(),
    })
}

/// Returns the beginning of a message, on one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_and_the_plots_are_those_of_the_results() {
        let repo = Repo::find();
        for (path, text) in make_pages(&saved(&repo).unwrap()) {
            let found = fs::read_to_string(repo.root.join(&path)).unwrap();
            assert!(
                found == text,
                "{path} is out of date; run `cargo xtask compare --page`"
            );
        }
    }
}
