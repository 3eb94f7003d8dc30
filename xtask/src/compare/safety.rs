//! What can go wrong with notes, tried on each program.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};

use super::client::{Client, Reply, kill_tree};
use super::notes::Workspace;
use super::programs::{Program, SectionAddress, SeenSection, Tools};

/// The edits of each of the two agents.
pub(super) const EDITS: usize = 50;
/// The number of times that a program is killed while it writes.
const KILLS: usize = 16;
/// Size of the note that is written when the program is killed.
const KILLED_NOTE_BYTES: usize = 250_000;
const FILLER: &str = "All of this has to survive, whatever happens to the program.";
/// Time in which a program may notice that a file has changed.
const NOTICE: Duration = Duration::from_secs(1);
/// Time in which an index may follow a file that has changed.
const FOLLOW: Duration = Duration::from_secs(5);

/// One program, and the folder to try it in.
pub(super) struct Trial<'a> {
    pub(super) program: &'a dyn Program,
    pub(super) tools: &'a Tools<'a>,
    pub(super) folder: &'a Path,
}

type Probe = fn(&Trial<'_>) -> Result<Value>;

const PROBES: [(&str, Probe); 7] = [
    ("two_agents", two_agents),
    ("bytes", bytes),
    ("stale", stale),
    ("fence", fence),
    ("quotes", quotes),
    ("escape", escape),
    ("kill", kill),
];

/// Runs all probes. One that fails is in the result with its reason.
pub(super) fn measure(trial: &Trial<'_>) -> Value {
    let results = PROBES.iter().map(|(name, probe)| {
        let result = probe(trial).unwrap_or_else(|error| json!({ "failed": format!("{error:#}") }));
        println!("  {name}: {result}");
        ((*name).to_owned(), result)
    });
    Value::Object(results.collect())
}

impl Trial<'_> {
    /// Makes a workspace with these notes, known to the program.
    pub(super) fn workspace(&self, notes: &[(&str, &str)]) -> Result<Workspace> {
        let workspace = Workspace::create(self.folder)?;
        for (note, text) in notes {
            workspace.write(note, text)?;
        }
        self.program.index(self.tools, &workspace)?;
        Ok(workspace)
    }

    pub(super) fn start(&self, workspace: &Workspace) -> Result<Client> {
        let command = self.program.serve(self.tools, workspace)?;
        Client::start(command, &workspace.root.to_string_lossy())
    }
}

fn target<'a>(workspace: &'a Workspace, heading: &'a str) -> SectionAddress<'a> {
    SectionAddress {
        workspace,
        note: "note.md",
        heading,
    }
}

/// Waits until a note has this text: some programs answer before they write.
fn settle(workspace: &Workspace, text: &str) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < FOLLOW && !workspace.read("note.md")?.contains(text) {
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Two agents, each with a server of its own, add lines to different sections of one note.
fn two_agents(trial: &Trial<'_>) -> Result<Value> {
    let text = "# Shared\n\n## Alpha\n\nAlpha begins.\n\n## Beta\n\nBeta begins.\n\n## Gamma\n\nThe end.\n";
    let workspace = trial.workspace(&[("note.md", text)])?;
    let agent =
        |mut client: Client, heading: &'static str| -> Result<Option<Vec<(String, bool)>>> {
            let mut edits = Vec::new();
            for number in 0..EDITS {
                let line = format!("{heading} line {number}.");
                let at = target(&workspace, heading);
                let reply = trial.program.append(&mut client, &at, &line)?;
                if matches!(reply, Reply::Cannot) {
                    return Ok(None);
                }
                edits.push((line, reply.is_done()));
            }
            Ok(Some(edits))
        };
    // One after the other, because some programs make a database when they start.
    let clients = (trial.start(&workspace)?, trial.start(&workspace)?);
    let (alpha, beta) = thread::scope(|scope| {
        let beta = scope.spawn(|| agent(clients.1, "Beta"));
        (agent(clients.0, "Alpha"), beta.join())
    });
    let beta = beta.ok().context("an agent panicked")??;
    let (Some(mut edits), Some(more)) = (alpha?, beta) else {
        return Ok(json!("cannot"));
    };
    edits.extend(more);
    thread::sleep(NOTICE);
    let after = workspace.read("note.md")?;
    let lost = edits
        .iter()
        .filter(|(line, is_done)| *is_done && !after.contains(line));
    let refused = edits.iter().filter(|(_, is_done)| !is_done);
    Ok(json!({ "edits": edits.len(), "lost": lost.count(), "refused": refused.count() }))
}

/// One figure is changed in notes with something special, and nothing else may change.
fn bytes(trial: &Trial<'_>) -> Result<Value> {
    let plain =
        "# Title\n\nIntro.\n\n## Target\n\nThe stage costs 4,000.\n\n## After\n\nThe end.\n";
    let odd = "# Title\n\nHard  \nbreak, __bold__ and \\*no emphasis\\*.\n\n*   wide bullet\n*   another\n\nSetext\n------\n\n\
               #### Deep\n\n| a|b |\n|--|:-:|\n|1 | 2|\n\n***\n\n## Target\n\nThe stage costs 4,000.\n\n## After\n\n\
               1) one\n1) two\n\n\n\nThe end.\n";
    let cases = [
        ("plain note", plain.to_owned()),
        ("CRLF line ends", plain.replace('\n', "\r\n")),
        ("byte order mark", format!("\u{feff}{plain}")),
        ("unusual formatting", odd.to_owned()),
        ("no final newline", plain.trim_end().to_owned()),
        ("blank lines at the end", format!("{plain}\n\n")),
        (
            "comments in the front matter",
            format!("---\n# who decides\nowner:   Ann   # for now\ntags: [a,b]\n---\n\n{plain}"),
        ),
    ];
    let mut results = Map::new();
    for (case, text) in cases {
        let workspace = trial.workspace(&[("note.md", &text)])?;
        let mut client = trial.start(&workspace)?;
        let reply = trial.program.replace(
            &mut client,
            &target(&workspace, "Target"),
            "costs 4,000",
            "costs 4,500",
        )?;
        if reply.is_done() {
            settle(&workspace, "4,500")?;
        }
        drop(client);
        let after = workspace.read("note.md")?;
        let outcome = match reply {
            Reply::Cannot => return Ok(json!("cannot")),
            _ if after == text.replace("4,000", "4,500") => "kept",
            _ if after == text => "refused",
            _ => "changed",
        };
        results.insert(case.to_owned(), json!(outcome));
    }
    Ok(Value::Object(results))
}

/// Another program changes a section between an agent's reading and its writing.
fn stale(trial: &Trial<'_>) -> Result<Value> {
    let body = "The stage costs 4,000.\n\nThe pilot costs 350.";
    let text = format!("# Title\n\n## Target\n\n{body}\n\n## After\n\nThe end.\n");
    let mut results = Map::new();
    for (case, old, new) in [
        ("same line", "4,000", "4,200"),
        ("another line", "350", "400"),
    ] {
        let workspace = trial.workspace(&[("note.md", &text)])?;
        let mut client = trial.start(&workspace)?;
        let at = target(&workspace, "Target");
        let seen = trial.program.read(&mut client, &at)?;
        // A program may have changed the note by itself when it found it.
        let found = workspace.read("note.md")?;
        workspace.write("note.md", &found.replace(old, new))?;
        thread::sleep(NOTICE);
        let answer = SeenSection {
            answer: seen.text(),
            body,
        };
        let reply =
            trial
                .program
                .rewrite(&mut client, &at, &answer, &body.replace("4,000", "4,500"))?;
        if matches!(reply, Reply::Cannot) {
            return Ok(json!("cannot"));
        }
        thread::sleep(NOTICE);
        let after = workspace.read("note.md")?;
        let outcome = match (after.contains("4,500"), after.contains(new)) {
            (true, true) => "merged",
            (true, false) => "overwritten",
            (false, true) if !reply.is_done() => "refused",
            _ => "lost",
        };
        results.insert(case.to_owned(), json!(outcome));
    }
    Ok(Value::Object(results))
}

/// A section with a line in a code block that looks like a heading is replaced.
fn fence(trial: &Trial<'_>) -> Result<Value> {
    let text = "# Title\n\n## Target\n\nBefore.\n\n```sh\n# not a heading\n## nor this\nls\n```\n\nBelow the code.\n\n\
                ## After\n\nThe end.\n";
    let workspace = trial.workspace(&[("note.md", text)])?;
    let mut client = trial.start(&workspace)?;
    let reply =
        trial
            .program
            .set_section(&mut client, &target(&workspace, "Target"), "New text.")?;
    drop(client);
    let after = workspace.read("note.md")?;
    Ok(json!(match reply {
        Reply::Cannot => "cannot",
        Reply::Refused(_) => "refused",
        Reply::Done(_) if !after.contains("## After") || !after.contains("The end.") =>
            "cut too much",
        Reply::Done(_) if after.contains("Below the code.") => "taken for a heading",
        Reply::Done(_) => "right",
    }))
}

/// A quoted passage is removed by another program, and searched again.
fn quotes(trial: &Trial<'_>) -> Result<Value> {
    let text = "# Timetable\n\n## Ferries\n\nThe zanzibar ferry leaves at quarter past nine.\n";
    let workspace = trial.workspace(&[
        ("note.md", text),
        ("other.md", "# Other\n\nNothing to see.\n"),
    ])?;
    let mut client = trial.start(&workspace)?;
    let mut quoted = |limit: Duration| -> Result<Option<bool>> {
        let start = Instant::now();
        loop {
            if matches!(
                trial.program.search(&mut client, "zanzibar ferry")?,
                Reply::Cannot
            ) {
                return Ok(None);
            }
            let is_quoted = client.last.to_string().contains("quarter past nine");
            if start.elapsed() >= limit || is_quoted {
                return Ok(Some(is_quoted));
            }
            thread::sleep(Duration::from_millis(200));
        }
    };
    match quoted(Duration::from_secs(30))? {
        None => return Ok(json!("cannot")),
        Some(false) => return Ok(json!("does not quote")),
        Some(true) => {}
    }
    workspace.write(
        "note.md",
        "# Timetable\n\n## Ferries\n\nAll ferries are cancelled for today.\n",
    )?;
    if quoted(Duration::ZERO)? == Some(false) {
        return Ok(json!("never"));
    }
    thread::sleep(FOLLOW);
    let is_quoted = quoted(Duration::ZERO)? == Some(true);
    Ok(json!(if is_quoted {
        "until indexed by hand"
    } else {
        "for a moment"
    }))
}

/// Paths that lead out of the folder are read and written.
fn escape(trial: &Trial<'_>) -> Result<Value> {
    let workspace = trial.workspace(&[("note.md", "# Title\n\n## Target\n\nInside.\n")])?;
    let outside = trial.folder.join("outside");
    fs::create_dir_all(&outside)?;
    let secret = outside.join("secret.md");
    let text = "# Secret\n\n## Target\n\nThe zephyr costs 4,000.\n";
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, workspace.path("link.md"))?;
    let absolute = secret.to_string_lossy().into_owned();
    let mut client = trial.start(&workspace)?;
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for (way, note) in [
        ("`..`", "../outside/secret.md"),
        ("absolute path", &absolute),
        ("symbolic link", "link.md"),
    ] {
        fs::write(&secret, text)?;
        let at = SectionAddress {
            note,
            ..target(&workspace, "Target")
        };
        let seen = trial.program.read(&mut client, &at)?;
        if matches!(seen, Reply::Cannot) {
            return Ok(json!("cannot"));
        }
        if seen.text().contains("zephyr") {
            read.push(way);
        }
        let reply = trial
            .program
            .replace(&mut client, &at, "costs 4,000", "costs 4,500")?;
        if fs::read_to_string(&secret)? != text {
            written.push(way);
        } else if matches!(reply, Reply::Cannot) {
            return Ok(json!({ "read": read }));
        }
    }
    Ok(json!({ "read": read, "written": written }))
}

/// The program is killed at different moments of a series of edits.
fn kill(trial: &Trial<'_>) -> Result<Value> {
    let filler = format!("{FILLER}\n\n").repeat(KILLED_NOTE_BYTES / FILLER.len());
    let text = format!(
        "# Title\n\n## Target\n\nThe stage costs 4,000.\n\n## After\n\n{filler}The last line.\n"
    );
    let mut torn = 0;
    for attempt in 0..KILLS {
        let workspace = trial.workspace(&[("note.md", &text)])?;
        let mut client = trial.start(&workspace)?;
        let at = target(&workspace, "Target");
        let (mut old, mut new) = ("costs 4,000", "costs 4,500");
        for _ in 0..2 {
            let reply = trial.program.replace(&mut client, &at, old, new)?;
            if matches!(reply, Reply::Cannot) {
                return Ok(json!("cannot"));
            }
            ensure!(
                reply.is_done(),
                "an edit was refused: {}",
                super::short(reply.text())
            );
            (old, new) = (new, old);
        }
        let pid = client.pid();
        thread::scope(|scope| {
            scope.spawn(|| {
                while trial.program.replace(&mut client, &at, old, new).is_ok() {
                    (old, new) = (new, old);
                }
            });
            thread::sleep(Duration::from_millis(20 + 23 * attempt as u64));
            kill_tree(pid);
        });
        let after = workspace.read("note.md").unwrap_or_default();
        let is_whole = after.matches(FILLER).count() == text.matches(FILLER).count()
            && after.contains("# Title")
            && (after.contains("costs 4,000") || after.contains("costs 4,500"))
            && after.contains("The last line.");
        if !is_whole {
            println!("  torn: {} of {} bytes", after.len(), text.len());
            torn += 1;
        }
    }
    Ok(json!({ "tries": KILLS, "torn": torn }))
}
