//! Reads histories with the program `git`.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

/// A repository whose objects are read by one process.
pub(super) struct Repository {
    folder: PathBuf,
    process: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A change of a Markdown file by a commit.
#[derive(Clone)]
pub(super) struct FileChange {
    pub(super) commit: String,
    /// The object before, or none for a new file.
    pub(super) before: Option<String>,
    /// The object after, or none for a deleted file.
    pub(super) after: Option<String>,
    pub(super) path: String,
    /// The new path, if the file was renamed.
    pub(super) renamed_to: Option<String>,
}

/// A commit with two parents.
pub(super) struct Merge {
    pub(super) commit: String,
    pub(super) parents: [String; 2],
}

/// What selects Markdown files.
const MARKDOWN: [&str; 3] = ["--", "*.md", "*.markdown"];

impl Repository {
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let mut process = git(folder)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting git")?;
        let asked = process.stdin.take().context("no input")?;
        let answers = process.stdout.take().context("no output")?;
        Ok(Self {
            folder: folder.to_owned(),
            process,
            asked,
            answers: BufReader::new(answers),
        })
    }

    fn output(&self, arguments: &[&str]) -> Result<String> {
        let output = git(&self.folder).args(arguments).output()?;
        ensure!(
            output.status.success(),
            "git {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        // A path that is not UTF-8 is not found again, and left out.
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns the bytes of an object, named in any way that git knows, or `None` if it does not exist.
    pub(super) fn object(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        if name.contains('\n') {
            return Ok(None);
        }
        writeln!(self.asked, "{name}")?;
        self.asked.flush()?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        let Some(length) = header
            .trim_end()
            .rsplit(' ')
            .next()
            .and_then(|length| length.parse().ok())
        else {
            return Ok(None);
        };
        let mut bytes = vec![0; length];
        self.answers.read_exact(&mut bytes)?;
        self.answers.read_exact(&mut [0])?;
        Ok(Some(bytes))
    }

    /// Returns what the newest commits changed, oldest first. Merges are left out.
    pub(super) fn changes(&self, most: usize) -> Result<Vec<FileChange>> {
        self.log(&["--no-renames"], most)
    }

    /// Returns the renames in the newest commits that have any, oldest first.
    pub(super) fn renames(&self, most: usize) -> Result<Vec<FileChange>> {
        self.log(&["-M", "--diff-filter=R"], most)
    }

    fn log(&self, options: &[&str], most: usize) -> Result<Vec<FileChange>> {
        let number = format!("--max-count={}", i32::try_from(most).unwrap_or(i32::MAX));
        let log = [
            "log",
            "--no-merges",
            "--topo-order",
            "--raw",
            "-z",
            "--no-abbrev",
            "--format=%x01%H",
            &number,
        ];
        let text = self.output(&[&log, options, &MARKDOWN[..]].concat())?;
        let mut commits = commits(&text);
        commits.reverse();
        Ok(commits.concat())
    }

    pub(super) fn merges(&self, most: usize) -> Result<Vec<Merge>> {
        let number = format!("--max-count={}", i32::try_from(most).unwrap_or(i32::MAX));
        let text = self.output(&["log", "--merges", "--format=%H %P", &number])?;
        let merge = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
            [commit, ours, theirs] => Some(Merge {
                commit: commit.to_owned(),
                parents: [ours.to_owned(), theirs.to_owned()],
            }),
            _ => None,
        };
        Ok(text.lines().rev().filter_map(merge).collect())
    }

    /// Returns the commit that both descend from, if there is one.
    pub(super) fn base(&self, [ours, theirs]: &[String; 2]) -> Option<String> {
        let base = self.output(&["merge-base", ours, theirs]).ok()?;
        Some(base.trim().to_owned())
    }

    /// Returns the changes between two commits.
    pub(super) fn between(&self, before: &str, after: &str) -> Result<Vec<FileChange>> {
        let diff = [
            "diff-tree",
            "-r",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
            before,
            after,
        ];
        let text = self.output(&[&diff, &MARKDOWN[..]].concat())?;
        Ok(commits(&format!("\u{1}\0{text}")).concat())
    }

    /// Returns the paths and objects of all files of a commit.
    pub(super) fn files(&self, commit: &str) -> Result<Vec<(String, String)>> {
        let text = self.output(&["ls-tree", "-r", "-z", commit])?;
        let file = |entry: &str| {
            let (kind, path) = entry.split_once('\t')?;
            let mut kind = kind.split(' ');
            let is_file = kind.next()?.starts_with("100") && kind.next()? == "blob";
            is_file.then_some((path.to_owned(), kind.next()?.to_owned()))
        };
        Ok(text.split('\0').filter_map(file).collect())
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

pub(super) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    // Neither the settings of a person nor those of the system decide what is replayed.
    command
        .arg("-C")
        .arg(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}

/// Reads the output of `log --raw -z` with a format that starts with the byte 1.
fn commits(text: &str) -> Vec<Vec<FileChange>> {
    let mut commits = Vec::new();
    let mut commit = "";
    let mut fields = text.split('\0').map(|field| field.trim_start_matches('\n'));
    while let Some(field) = fields.next() {
        if let Some(hash) = field.strip_prefix('\u{1}') {
            commit = hash;
            commits.push(Vec::new());
            continue;
        }
        let Some(raw) = field.strip_prefix(':') else {
            continue;
        };
        let (Some(path), Some(changes)) = (fields.next(), commits.last_mut()) else {
            break;
        };
        let [old_mode, new_mode, old, new, status] = raw.split(' ').collect::<Vec<_>>()[..] else {
            continue;
        };
        let renamed_to = status
            .starts_with(['R', 'C'])
            .then(|| fields.next())
            .flatten();
        // Links and submodules are not files.
        let object = |mode: &str, object: &str| mode.starts_with("100").then(|| object.to_owned());
        changes.push(FileChange {
            commit: commit.to_owned(),
            before: object(old_mode, old),
            after: object(new_mode, new),
            path: path.to_owned(),
            renamed_to: renamed_to.map(str::to_owned),
        });
    }
    commits
}
