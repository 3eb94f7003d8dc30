//! The page of the comparison, made from the saved results.

use std::collections::BTreeSet;

use serde_json::Value;

use super::programs::{self, ProgramFacts};
use super::{jobs, row_of};

const INTRODUCTION: &str = "\
---
title: Compared with other programs
slug: comparison
role: reasoning
description: Sectile beside other programs for Markdown, on the same machine with the same work. Lost edits, changed bytes, stale writes and quotes, paths that escape, calls and tokens, speed and memory.
---
# Compared with other programs

Real programs from their registries did the same work on the same machine, each over MCP on stdio. `cargo xtask compare` installs
them, does the work, saves the results in [comparison.json](comparison.json), and makes this page and its plots from them; do not
edit it. These are figures of one run, not of all machines, and we wrote the trials. Most of these programs are made for something
else than Sectile is, so a cell that looks bad may be about something that its users never need.
";

const SAFETY: &str = "
## What happens to notes

- **Two agents**: each has a server of its own and adds 50 paragraphs to its own section of one note, at the same time. *Lost*
  edits were answered with success and are not in the note. *Refused* ones were answered with an error, so that an agent can try again. The agents
  repeat nothing and use the plain tool for adding to a section; some programs have conditions that could be asked for, such as the
  hash of a file in patchloom's tool for text. The numbers differ from run to run; what counts is whether there are any.
- **Other bytes**: a figure is changed in seven notes. *Kept* means that nothing else changed. The notes are an ordinary one, and ones
  with CRLF line ends, a byte order mark, unusual formatting, no newline at the end, blank lines at the end, and comments in the front matter.
  Some change more by design: iwe writes a document again in one style, and basic-memory adds front matter of its own to every note.
- **Stale write**: an agent reads a section, another program changes a line of it, and the agent writes a section that it made from
  the old text. The line is *the same* or *another one*. Each program is called in the most careful way that we found.
- **Code block**: a section is replaced that has lines starting with `#` in a code block.
- **Deleted text quoted**: a passage is found and quoted, another program removes it, and the same search is made again, without any
  command to index in between.
- **Paths out of the folder**: with `..`, as an absolute path, and through a symbolic link; each is read and, where possible, written.
- **Killed while writing**: torn or empty notes after `kill -9` at different moments. Few tries find only what happens often.

A dash means that the program has no tool for it.
";

const JOBS: &str = "
## Calls and tokens of everyday jobs

Each job is the shortest sensible sequence of calls for a model that knows the tools and the note, in a folder of 124 notes. Tokens
are a quarter of the bytes of names and arguments of calls and of the text of answers. *Not done* means that a call was answered
with success, and that the notes are not what the job asks for. A program without sections has to read whole notes, and
server-filesystem, which has no search by content, is told the folder to read. iwe answers a change with the whole note, and the first
one also names all notes that nothing links to, which are many here.
[More jobs](desk.md#what-everyday-jobs-cost) are measured with fewer programs.
";

const SPEED: &str = "
## Speed and memory

*Start* is the time from starting the program to its first answer, to a search if it has one, in a folder that it knows. *All found* is
the time until notes from all over a folder that it never saw are found, with its index. The others are medians, and the memory is the peak of
the process and its children. Sectile waits until an edit is on the disk, in its history and in its index before it answers; most
others write a file. The bare servers have one tool that does nothing, and show what the protocol and a language cost by themselves.
A program without a row for a number of notes was not measured there.
";

const NOT_MEASURED: &str = "
## What is not measured

- How good the results of searches are, and searches by meaning: those of others download models. `cargo xtask bench --retrieval`
  measures ours.
- Programs that need an application or an account: servers on Obsidian's REST API, and hosted services.
- Whether a model uses the tools well. The jobs are scripts.
- Crashes of the system, full disks and network file systems.
- Features that only others have: structured files and source code (patchloom), media files (server-filesystem), a query language
  and restructuring (iwe), a graph of relations and sync (basic-memory), ranking with larger models (qmd).
";

/// A measured figure of which less is better, and its place in the results.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) key: &'static str,
    pub(super) unit: &'static str,
}

pub(super) const FIGURES: [Figure; 6] = [
    Figure {
        name: "start",
        key: "start_ms",
        unit: "ms",
    },
    Figure {
        name: "all found",
        key: "complete_s",
        unit: "s",
    },
    Figure {
        name: "search",
        key: "search_ms",
        unit: "ms",
    },
    Figure {
        name: "read",
        key: "read_ms",
        unit: "ms",
    },
    Figure {
        name: "edit",
        key: "edit_ms",
        unit: "ms",
    },
    Figure {
        name: "memory",
        key: "memory_mib",
        unit: "MiB",
    },
];

/// Returns the programs that were measured, with their results.
pub(super) fn measured(results: &Value) -> Vec<(ProgramFacts, &Value)> {
    let all = programs::all();
    let rows = all.iter().filter_map(|program| {
        let facts = program.facts();
        let row = row_of(results, facts.id)?;
        (row["missing"].is_null() && !row["speed"].is_null()).then_some((facts, row))
    });
    rows.collect()
}

/// Returns the text of the page.
pub(super) fn page(results: &Value) -> String {
    let mut page = INTRODUCTION.to_owned();
    let machine = &results["machine"];
    page += &format!(
        "\nThe machine has {} cores and {} GiB of memory, with {}, and was not idle; the run was on {}, \
         with the newest versions that could be installed then.\n",
        machine["cores"],
        machine["memory_gib"],
        string(&machine["system"]),
        string(&machine["date"])
    );
    programs_table(&mut page, results);
    let measured = measured(results);
    page += SAFETY;
    safety_table(&mut page, &measured);
    page += JOBS;
    jobs_table(&mut page, &measured);
    page += SPEED;
    speed_tables(&mut page, &measured);
    page += &better(&measured);
    page += NOT_MEASURED;
    page
}

fn programs_table(page: &mut String, results: &Value) {
    *page += "\n| program | version | from | |\n|---|---|---|---|\n";
    for program in programs::all() {
        let facts = program.facts();
        let row = row_of(results, facts.id).unwrap_or(&Value::Null);
        let mut purpose = facts.purpose.to_owned();
        if let Some(why) = row["missing"].as_str() {
            purpose += &format!("; **not measured**: {why}");
        }
        table_row(
            page,
            &[
                facts.name,
                string(&row["version"]),
                facts.registry,
                &purpose,
            ],
        );
    }
}

/// Returns the measured programs that work on notes.
pub(super) fn with_notes<'a>(
    measured: &'a [(ProgramFacts, &Value)],
) -> Vec<&'a (ProgramFacts, &'a Value)> {
    let works_on_notes = |(_, row): &&(ProgramFacts, &Value)| row["safety"]["escape"] != "cannot";
    measured.iter().filter(works_on_notes).collect()
}

fn safety_table(page: &mut String, measured: &[(ProgramFacts, &Value)]) {
    *page += "\n![Lost edits, and notes with changed bytes, of each program](pictures/comparison-safety.svg)\n\n";
    *page += "| program | two agents: lost, refused of 100 | other bytes kept | stale write, the same line | another line | code block | deleted text quoted | paths out: read, written of 3 | torn after a kill |\n";
    *page += "|---|---|---|---|---|---|---|---|---|\n";
    for (facts, row) in with_notes(measured) {
        let safety = &row["safety"];
        let (agents, escape, kill) = (&safety["two_agents"], &safety["escape"], &safety["kill"]);
        let count = |list: &Value| {
            list.as_array()
                .map_or("–".to_owned(), |list| list.len().to_string())
        };
        let stale = |case: &str| outcome(&safety["stale"], |stale| string(&stale[case]).to_owned());
        let cells = [
            facts.name.to_owned(),
            outcome(agents, |agents| {
                format!("{}, {}", agents["lost"], agents["refused"])
            }),
            outcome(&safety["bytes"], |bytes| {
                format!(
                    "{} of {}",
                    kept(bytes),
                    bytes.as_object().map_or(0, serde_json::Map::len)
                )
            }),
            stale("same line"),
            stale("another line"),
            outcome(&safety["fence"], |_| String::new()),
            outcome(&safety["quotes"], |_| String::new()),
            outcome(escape, |escape| {
                format!("{}, {}", count(&escape["read"]), count(&escape["written"]))
            }),
            outcome(kill, |kill| {
                format!("{} of {}", kill["torn"], kill["tries"])
            }),
        ];
        table_row(page, &cells.each_ref().map(String::as_str));
    }
    *page += "\n";
    for (facts, row) in with_notes(measured) {
        let cases = row["safety"]["bytes"].as_object().into_iter().flatten();
        let changed: Vec<&str> = cases
            .filter(|(_, outcome)| *outcome != "kept")
            .map(|(case, _)| case.as_str())
            .collect();
        if !changed.is_empty() {
            *page += &format!("- {} did not keep: {}.\n", facts.name, changed.join(", "));
        }
    }
}

/// Returns the number of notes in which nothing changed but what was asked for.
pub(super) fn kept(bytes: &Value) -> usize {
    let cases = bytes.as_object().into_iter().flatten();
    cases.filter(|(_, outcome)| *outcome == "kept").count()
}

fn jobs_table(page: &mut String, measured: &[(ProgramFacts, &Value)]) {
    let programs = with_notes(measured);
    let names: Vec<&str> = programs.iter().map(|(facts, _)| facts.name).collect();
    *page += &format!(
        "\n| job | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for name in jobs::names() {
        let mut cells = vec![name.to_owned()];
        cells.extend(programs.iter().map(|(_, row)| {
            outcome(&row["jobs"]["jobs"][name], |job| {
                let calls = if job["calls"] == 1 { "call" } else { "calls" };
                format!(
                    "{} {calls}, {} tokens",
                    job["calls"],
                    tokens(job).unwrap_or_default()
                )
            })
        }));
        table_row(page, &cells.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let mut cells = vec!["tool definitions, in every conversation".to_owned()];
    cells.extend(programs.iter().map(|(_, row)| {
        let bytes = row["jobs"]["definitions"].as_u64();
        bytes.map_or("–".to_owned(), |bytes| format!("{} tokens", bytes / 4))
    }));
    table_row(page, &cells.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Returns the tokens of a job that was done.
pub(super) fn tokens(job: &Value) -> Option<u64> {
    Some((job["written"].as_u64()? + job["read"].as_u64()?) / 4)
}

/// Returns the numbers of notes among which speed was measured.
pub(super) fn sizes(measured: &[(ProgramFacts, &Value)]) -> BTreeSet<u64> {
    let all = measured
        .iter()
        .filter_map(|(_, row)| row["speed"].as_array());
    all.flatten()
        .filter_map(|speed| speed["notes"].as_u64())
        .collect()
}

/// Returns the speed of a program among this many notes.
pub(super) fn speed_at(row: &Value, notes: u64) -> &Value {
    let mut all = row["speed"].as_array().into_iter().flatten();
    all.find(|speed| speed["notes"] == notes)
        .unwrap_or(&Value::Null)
}

fn speed_tables(page: &mut String, measured: &[(ProgramFacts, &Value)]) {
    *page += "\n![Start, search, edit and memory of each program](pictures/comparison-speed.svg)\n";
    for notes in sizes(measured) {
        *page += &format!("\n| {notes} notes |");
        for figure in &FIGURES {
            *page += &format!(" {}, {} |", figure.name, figure.unit);
        }
        *page += " empty call, ms |\n|---|---|---|---|---|---|---|---|\n";
        for (facts, row) in measured {
            let speed = speed_at(row, notes);
            if speed.is_null() {
                continue;
            }
            let keys = FIGURES.iter().map(|figure| figure.key).chain(["call_ms"]);
            let figures = keys.map(|key| match (key, &speed["unfinished_s"]) {
                ("complete_s", Value::Number(limit)) => format!("over {limit}"),
                _ => speed[key]
                    .as_f64()
                    .map_or("–".to_owned(), |value| value.to_string()),
            });
            let cells: Vec<String> = std::iter::once(facts.name.to_owned())
                .chain(figures)
                .collect();
            table_row(page, &cells.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}

/// Returns the figures and jobs in which another program needs less than Sectile.
fn better(measured: &[(ProgramFacts, &Value)]) -> String {
    let mut page = "\n## Where others need less\n\n".to_owned();
    let Some((_, ours)) = measured.iter().find(|(facts, _)| facts.id == "sectile") else {
        return String::new();
    };
    let programs = with_notes(measured);
    let mut line = |what: &str, unit: &str, get: &dyn Fn(&Value) -> Option<f64>| {
        let Some(own) = get(ours) else { return };
        let others = programs.iter().filter_map(|(facts, row)| {
            let value = get(row)?;
            (value < own).then(|| format!("{} {value}", facts.name))
        });
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            let others = others.join(", ");
            page += &format!("- {what}, {unit}: {others}; Sectile {own}.\n");
        }
    };
    for notes in sizes(measured) {
        for figure in &FIGURES {
            let what = format!("{} among {notes} notes", figure.name);
            line(&what, figure.unit, &|row| {
                speed_at(row, notes)[figure.key].as_f64()
            });
        }
    }
    for name in jobs::names() {
        let get = |row: &Value| tokens(&row["jobs"]["jobs"][name]).map(|tokens| tokens as f64);
        line(name, "tokens", &get);
    }
    line("tool definitions", "tokens", &|row| {
        row["jobs"]["definitions"]
            .as_u64()
            .map(|bytes| (bytes / 4) as f64)
    });
    page
}

/// Returns a result in words: one that is a word or missing as it is, anything else as `shown`.
fn outcome(result: &Value, shown: impl FnOnce(&Value) -> String) -> String {
    match result {
        Value::Null => "–".to_owned(),
        Value::String(word) if word == "cannot" => "–".to_owned(),
        Value::String(word) => word.clone(),
        result => match result["failed"].as_str() {
            Some(_) => "failed".to_owned(),
            None => shown(result),
        },
    }
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn table_row(page: &mut String, cells: &[&str]) {
    *page += &format!("| {} |\n", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_that_is_missing_is_a_row_that_says_why() {
        let results =
            json!({ "programs": [{ "id": "qmd", "version": "1", "missing": "no network" }] });
        let page = page(&results);
        assert!(page.contains("**not measured**: no network"));
        assert!(measured(&results).is_empty());
    }

    #[test]
    fn figures_of_others_that_are_better_are_listed() {
        let row = |id: &str, start: u64| json!({ "id": id, "safety": {}, "speed": [{ "notes": 7, "start_ms": start }] });
        let results = json!({ "programs": [row("sectile", 9), row("qmd", 3)] });
        let page = page(&results);
        assert!(page.contains("- start among 7 notes, ms: qmd (keywords) 3; Sectile 9.\n"));
    }
}
