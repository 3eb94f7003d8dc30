//! Everyday jobs: calls, and the bytes that a model writes and reads.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::client::{CallCost, Client, Reply};
use super::notes::{self, Workspace};
use super::programs::{Program, SectionAddress};
use super::safety::Trial;

/// Notes beside those that the jobs are about.
const OTHERS: usize = 120;
/// Time in which a program may index the notes.
const INDEXING: Duration = Duration::from_secs(60);
/// Time in which a program may write what it said was written.
const WRITING: Duration = Duration::from_secs(2);

/// The notes that the jobs are about.
const NOTES: [(&str, &str); 4] = [
    (
        "projects/plan.md",
        "# Harbour festival\n\nThree days in June. See also [[crew]].\n\n## Programme\n\nBoats at ten, music at two, the \
         regatta at nine on Sunday.\n\n## Budget\n\nThe stage costs 4,000 and the pilot costs 350 a day.\n\nInsurance is \
         still open.\n\n## Risks\n\nStorm, and a quay that is not repaired in time.\n",
    ),
    (
        "projects/crew.md",
        "# Crew\n\nWho does what, as of [the budget](plan.md#budget).\n\n## Open\n\nFind a second skipper.\n",
    ),
    (
        "projects/offers.md",
        "# Offers\n\nThe stage: their offer is in [[plan#Budget]].\n",
    ),
    (
        "areas/insurance.md",
        "# Insurance\n\nThe festival is under [[plan#Budget|its budget]].\n",
    ),
];

struct ScriptedJob {
    name: &'static str,
    work: fn(&dyn Program, &mut Client, &Workspace) -> Result<Reply>,
    /// Whether the job was done, by the answer and the notes.
    check: fn(&str, &Workspace) -> Result<bool>,
}

const JOBS: [ScriptedJob; 6] = [
    ScriptedJob {
        name: "find a fact: what does the pilot cost?",
        work: |program, client, workspace| {
            let found = program.find(client, workspace, "pilot costs")?;
            if matches!(found, Reply::Cannot) || found.text().contains("350") {
                return Ok(found);
            }
            // It found the note and does not quote it.
            program.read(client, &plan(workspace, "Budget"))
        },
        check: |answer, _| Ok(answer.contains("350")),
    },
    ScriptedJob {
        name: "read one section",
        work: |program, client, workspace| program.read(client, &plan(workspace, "Budget")),
        check: |answer, _| Ok(answer.contains("4,000")),
    },
    ScriptedJob {
        name: "change a figure",
        work: |program, client, workspace| {
            program.replace(
                client,
                &plan(workspace, "Budget"),
                "costs 4,000",
                "costs 4,500",
            )
        },
        check: |_, workspace| Ok(workspace.read("projects/plan.md")?.contains("costs 4,500")),
    },
    ScriptedJob {
        name: "add a paragraph to a section",
        work: |program, client, workspace| {
            program.append(client, &plan(workspace, "Risks"), "The pilot may be ill.")
        },
        check: |_, workspace| Ok(workspace.read("projects/plan.md")?.contains("may be ill")),
    },
    ScriptedJob {
        name: "take back that change",
        work: |program, client, _| program.undo(client),
        check: |_, workspace| Ok(!workspace.read("projects/plan.md")?.contains("may be ill")),
    },
    ScriptedJob {
        name: "rename a heading; links follow",
        work: |program, client, workspace| {
            program.rename(client, &plan(workspace, "Budget"), "Costs")
        },
        check: |_, workspace| {
            let mut is_done = workspace.read("projects/plan.md")?.contains("## Costs");
            for (note, _) in &NOTES[1..] {
                let text = workspace.read(note)?.to_lowercase();
                is_done &= text.contains("#costs") && !text.contains("#budget");
            }
            Ok(is_done)
        },
    },
];

fn plan<'a>(workspace: &'a Workspace, heading: &'a str) -> SectionAddress<'a> {
    SectionAddress {
        workspace,
        note: "projects/plan.md",
        heading,
    }
}

/// Returns the names of the jobs, in order.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    JOBS.iter().map(|job| job.name)
}

/// Does all jobs one after the other in one session.
pub(super) fn measure(trial: &Trial<'_>) -> Result<Value> {
    let workspace = Workspace::create(trial.folder)?;
    notes::generate(&workspace, OTHERS)?;
    for (note, text) in NOTES {
        workspace.write(note, text)?;
    }
    trial.program.index(trial.tools, &workspace)?;
    let mut client = trial.start(&workspace)?;
    let definitions = client.definitions()?;
    wait_until_found(trial, &mut client)?;
    let mut results = Map::new();
    for job in &JOBS {
        client.cost = CallCost::default();
        let reply = (job.work)(trial.program, &mut client, &workspace)?;
        let result = match reply {
            Reply::Cannot => json!("cannot"),
            _ if is_done(job, &reply, &workspace)? => client.cost.to_json(),
            Reply::Refused(text) => {
                println!("  {}: refused: {}", job.name, super::short(&text));
                json!("refused")
            }
            Reply::Done(_) => json!("not done"),
        };
        results.insert(job.name.to_owned(), result);
    }
    Ok(json!({ "definitions": definitions, "jobs": results }))
}

/// Returns whether a job was done. Some programs answer before they write.
fn is_done(job: &ScriptedJob, reply: &Reply, workspace: &Workspace) -> Result<bool> {
    let start = Instant::now();
    loop {
        let is_done = (job.check)(reply.text(), workspace)?;
        if is_done || !reply.is_done() || start.elapsed() > WRITING {
            return Ok(is_done);
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Waits for a program that indexes in the background.
fn wait_until_found(trial: &Trial<'_>, client: &mut Client) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < INDEXING {
        let found = trial.program.search(client, "pilot costs")?;
        if matches!(found, Reply::Cannot) || found.text().contains("plan") {
            break;
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}
