//! A folder of notes, a command that changes it, and what must hold after a fault in the middle.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::FaultTally;
use crate::process::{isolated, on_all_cores};

/// A command of the program that writes.
#[derive(Debug)]
pub(super) struct WriteJob {
    pub(super) name: &'static str,
    words: &'static [&'static str],
    /// The command that takes it back.
    back: &'static [&'static str],
}

impl WriteJob {
    pub(super) fn words(&self) -> &'static [&'static str] {
        self.words
    }
}

/// A command of each kind, for the documents of [`Stage`]. Those that make the most system calls come early.
pub(super) const JOBS: [WriteJob; 10] = [
    WriteJob {
        name: "edit",
        words: &["edit", "a.md#Beta", "--new", "Second."],
        back: &["undo"],
    },
    WriteJob {
        name: "folder",
        words: &["rename", "b/", "deep/er/"],
        back: &["undo"],
    },
    WriteJob {
        name: "rename",
        words: &["rename", "a.md", "moved/a.md"],
        back: &["undo"],
    },
    WriteJob {
        name: "undo",
        words: &["undo"],
        back: &["edit", "a.md#Beta", "--new", "First."],
    },
    WriteJob {
        name: "move",
        words: &["rename", "a.md#Beta", "b/c.md"],
        back: &["undo"],
    },
    WriteJob {
        name: "heading",
        words: &["rename", "a.md#Beta", "Delta"],
        back: &["undo"],
    },
    WriteJob {
        name: "delete",
        words: &["delete", "b/c.md"],
        back: &["undo"],
    },
    WriteJob {
        name: "create",
        words: &["create", "new/n.md", "--text", "# N\n\nNew.\n"],
        back: &["undo"],
    },
    WriteJob {
        name: "passage",
        words: &[
            "edit",
            "a.md",
            "--old",
            "Alpha body",
            "--new",
            "Another body",
        ],
        back: &["undo"],
    },
    WriteJob {
        name: "set",
        words: &["set", "a.md", "status=done"],
        back: &["undo"],
    },
];

const NOTES: [(&str, &str); 4] = [
    (
        "a.md",
        "# A\n\n## Alpha\n\nAlpha body. See [c](b/c.md#d).\n\n## Beta\n\nOld.\n",
    ),
    ("b/c.md", "# C\n\nSee [beta](../a.md#beta).\n\n## D\n\nd\n"),
    ("b/e.md", "# E\n\n[a](../a.md) [c](c.md)\n"),
    ("links.md", "# Links\n\n[c](b/c.md#d) [[e]] [[a#Beta]]\n"),
];

/// The files of a folder, by path, without what Sectile keeps for itself.
pub(super) type Documents = BTreeMap<PathBuf, Vec<u8>>;

/// What a command said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    /// Refused with this code.
    Refused(String),
    /// It ended without saying anything that can be read.
    Nothing,
}

/// A folder that is set up again for each fault, with a settings folder of its own.
pub(super) struct Stage {
    program: PathBuf,
    folder: PathBuf,
    pub(super) job: &'static WriteJob,
    pub(super) before: Documents,
    pub(super) after: Documents,
}

impl Stage {
    pub(super) fn new(
        program: &Path,
        place: &Path,
        part: &str,
        job: &'static WriteJob,
    ) -> Result<Self> {
        let folder = place.join(part).join(job.name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        for (path, text) in NOTES {
            let path = folder.join("template").join(path);
            fs::create_dir_all(path.parent().context("no folder")?)?;
            fs::write(path, text)?;
        }
        let mut stage = Self {
            program: program.to_owned(),
            folder,
            job,
            before: Documents::new(),
            after: Documents::new(),
        };
        // The folder has a history before the fault.
        stage.set()?;
        stage.must(&["edit", "a.md#Beta", "--new", "First."])?;
        fs::remove_dir_all(stage.template())?;
        copy(&stage.notes(), &stage.template())?;
        stage.before = documents(&stage.notes())?;
        stage.must(job.words)?;
        stage.after = documents(&stage.notes())?;
        if stage.after == stage.before {
            bail!("`{}` changes nothing", job.name);
        }
        stage.set()?;
        Ok(stage)
    }

    /// The folder of the notes, always at the same place.
    pub(super) fn notes(&self) -> PathBuf {
        self.folder.join("notes")
    }

    pub(super) fn template(&self) -> PathBuf {
        self.folder.join("template")
    }

    /// A place for other files of this stage.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Puts the notes and the history as they are before the command.
    pub(super) fn set(&self) -> Result<()> {
        if self.notes().exists() {
            fs::remove_dir_all(self.notes())?;
        }
        copy(&self.template(), &self.notes())
    }

    /// The command, started by `wrapper`: another program with its arguments, or nothing.
    pub(super) fn command(&self, wrapper: &[&str]) -> Command {
        self.sectile(wrapper, self.job.words)
    }

    pub(super) fn sectile(&self, wrapper: &[&str], words: &[&str]) -> Command {
        let mut command = match wrapper {
            [] => isolated(&self.program, &self.folder),
            [first, rest @ ..] => {
                let mut command = isolated(Path::new(first), &self.folder);
                command.args(rest).arg(&self.program);
                command
            }
        };
        command
            .args(words)
            .args(["--json", "--root"])
            .arg(self.notes());
        // New paths are relative to the current folder.
        command.current_dir(self.notes()).stdin(Stdio::null());
        command
    }

    /// The server of the notes.
    pub(super) fn server(&self) -> Command {
        let mut command = isolated(&self.program, &self.folder);
        command.arg("serve").arg(self.notes());
        command
    }

    fn must(&self, words: &[&str]) -> Result<()> {
        let output = self.sectile(&[], words).output()?;
        match answer(&output) {
            Answer::Done => Ok(()),
            other => bail!(
                "{words:?}: {other:?} {}",
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    }

    /// Runs the command under a fault, and judges what it leaves.
    pub(super) fn strike(
        &self,
        what: &str,
        wrapper: &[&str],
        tally: &mut FaultTally,
    ) -> Result<()> {
        self.set()?;
        let output = self.command(wrapper).output()?;
        let said = answer(&output);
        let stderr = String::from_utf8_lossy(&output.stderr);
        tally.faults += 1;
        if let Some((_, panic)) = stderr.split_once("panicked") {
            let panic: Vec<&str> = panic.lines().take(2).collect();
            let failure = format!("{}, {what}: panicked{}", self.job.name, panic.join(" "));
            tally.failures.push(failure);
        }
        self.judge(what, &said, &named_links(&output), tally)
    }

    /// Judges the notes after a fault: as they are, after the next command, and when the same is done again. Links that the
    /// answer named may be as they were.
    pub(super) fn judge(
        &self,
        what: &str,
        said: &Answer,
        named: &[String],
        tally: &mut FaultTally,
    ) -> Result<()> {
        match said {
            Answer::Done => tally.done += 1,
            Answer::Refused(_) => tally.refused += 1,
            Answer::Nothing => tally.unanswered += 1,
        }
        if let Err(error) = self.check(said, named) {
            tally
                .failures
                .push(format!("{}, {what}, {said:?}: {error:#}", self.job.name));
        }
        Ok(())
    }

    fn check(&self, said: &Answer, named: &[String]) -> Result<()> {
        let is_settled = match said {
            Answer::Done => true,
            // These say that the document is settled when it is opened again.
            Answer::Refused(code) => {
                !["interrupted", "timed_out", "cancelled"].contains(&code.as_str())
            }
            Answer::Nothing => false,
        };
        let now = documents(&self.notes())?;
        let after = self.after_without(named, &now);
        let wanted = match said {
            Answer::Done => &after,
            _ => &self.before,
        };
        if is_settled && now != *wanted {
            bail!("afterwards: {}", self.differences(&now));
        }
        // The next command settles what was interrupted.
        self.must(&["outline"]).context("the next command")?;
        let settled = documents(&self.notes())?;
        let is_known = settled == self.before || settled == after;
        if !is_known || (is_settled && settled != *wanted) {
            bail!("after the next command: {}", self.differences(&settled));
        }
        // The history is as good as the documents.
        if settled == self.before {
            self.must(self.job.words)
                .context("the same command again")?;
            let again = documents(&self.notes())?;
            if again != self.after {
                bail!("done again: {}", self.differences(&again));
            }
        }
        self.must(self.job.back).context("undone")?;
        let undone = documents(&self.notes())?;
        if undone != self.before {
            bail!("undone: {}", self.differences(&undone));
        }
        Ok(())
    }

    /// Returns what the documents should be after the command, if those that its answer named could not be repaired.
    fn after_without(&self, named: &[String], now: &Documents) -> Documents {
        // A document is named, or a folder above it.
        let is_named = |path: &Path| {
            let mut places = path.ancestors().filter_map(Path::to_str);
            places.any(|place| named.iter().any(|name| name == place))
        };
        let mut after = self.after.clone();
        for (path, bytes) in &mut after {
            let old = now.get(path).and_then(|now| {
                let mut old = self.before.iter().filter(|(_, before)| *before == now);
                old.find(|(before, _)| is_named(path) || is_named(before))
            });
            if let Some((_, old)) = old {
                bytes.clone_from(old);
            }
        }
        after
    }

    /// Names the documents that are neither as before nor as afterwards, or all that changed.
    fn differences(&self, now: &Documents) -> String {
        let paths = self
            .before
            .keys()
            .chain(self.after.keys())
            .chain(now.keys());
        let strange = paths.clone().filter(|path| {
            let here = now.get(*path);
            here != self.before.get(*path) && here != self.after.get(*path)
        });
        let mut strange: Vec<String> = strange
            .map(|path| {
                let length = now.get(path).map_or("missing".to_owned(), |bytes| {
                    format!("{} bytes", bytes.len())
                });
                format!("{} is strange ({length})", path.display())
            })
            .collect();
        if strange.is_empty() {
            let changed = paths.filter(|path| now.get(*path) != self.before.get(*path));
            strange.extend(changed.map(|path| format!("{} is new", path.display())));
        }
        strange.sort();
        strange.dedup();
        strange.join(", ")
    }
}

/// Returns the job with this name, or an error that lists all of them.
pub(super) fn job(name: &str) -> Result<&'static WriteJob, String> {
    JOBS.iter().find(|job| job.name == name).ok_or_else(|| {
        let names: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
        format!("the commands are {}", names.join(", "))
    })
}

/// Runs `work` for each job, on all cores.
pub(super) fn each(
    jobs: &[&'static WriteJob],
    work: impl Fn(&'static WriteJob) -> Result<FaultTally> + Sync,
) -> Result<FaultTally> {
    let total = Mutex::new(FaultTally::default());
    on_all_cores(jobs, |job| {
        let tally = work(job).with_context(|| job.name)?;
        total.lock().expect("not poisoned").add(tally);
        Ok(())
    })?;
    Ok(total.into_inner().expect("not poisoned"))
}

/// Reads what a command with `--json` said: its answer, or on standard error why it was refused.
pub(super) fn answer(output: &Output) -> Answer {
    let said = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    let refusal = String::from_utf8_lossy(&output.stderr);
    let refusal = refusal.lines().rev().find_map(|line| said(line.as_bytes()));
    if let Some(code) = refusal
        .as_ref()
        .and_then(|refusal| refusal["code"].as_str())
    {
        return Answer::Refused(code.to_owned());
    }
    match said(&output.stdout) {
        Some(_) if output.status.success() => Answer::Done,
        _ => Answer::Nothing,
    }
}

/// Returns the documents and folders that an answer names as those whose links were not repaired or checked.
pub(super) fn named_links(output: &Output) -> Vec<String> {
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let lines = answer["broken"].as_array().into_iter().flatten();
    let names = lines.filter_map(|line| {
        let (place, _) = line.as_str()?.split_once(": ")?;
        Some(place.split(" line ").next()?.to_owned())
    });
    names.collect()
}

/// Returns the files below `folder`, without those of Sectile.
pub(super) fn documents(folder: &Path) -> Result<Documents> {
    let mut found = Documents::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(".sectile") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder)?.to_owned(), fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

/// Copies a folder with everything in it.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
