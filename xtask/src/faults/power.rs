//! A power cut after each system call that changes a file: what was flushed survives, and of the rest any part.
//!
//! The command runs once, and strace writes down what it does. Its calls are then done again on a model of the folder, in
//! which every file and every folder has what is in memory and what is on disk. After each call, the folder is made as it may
//! be found after a power cut, and judged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::FaultTally;
use super::stage::{Answer, Stage, WriteJob};

const TRACED: &str = "trace=openat,openat2,write,pwrite64,writev,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,linkat,\
    unlink,unlinkat,rmdir,mkdir,mkdirat,dup,dup2,dup3,fcntl,lseek,close,copy_file_range,sendfile";

/// What survives of that which was not flushed.
#[derive(Clone, Copy, Debug)]
enum Survivors {
    Nothing,
    /// The names of files, but not what is in them.
    Names,
    /// What is in files, but not their names.
    Contents,
    Everything,
}

const SURVIVORS: [Survivors; 4] = [
    Survivors::Nothing,
    Survivors::Names,
    Survivors::Contents,
    Survivors::Everything,
];

/// A file or a folder, in memory and on disk.
#[derive(Clone, Debug)]
enum Node {
    File {
        now: Vec<u8>,
        flushed: Vec<u8>,
    },
    Folder {
        now: BTreeMap<String, usize>,
        flushed: BTreeMap<String, usize>,
    },
}

/// A model of a folder on a disk. The root is node 0.
#[derive(Debug)]
struct Disk {
    root: PathBuf,
    nodes: Vec<Node>,
    /// Files that are open, by descriptor.
    open: BTreeMap<u32, OpenFile>,
}

#[derive(Clone, Copy, Debug)]
struct OpenFile {
    node: usize,
    at: usize,
    appends: bool,
}

pub(super) fn sweep(program: &Path, place: &Path, job: &'static WriteJob) -> Result<FaultTally> {
    let stage = Stage::new(program, place, "power", job)?;
    let mut disk = Disk::read(&stage.notes())?;
    let log = stage.beside("trace");
    let log_name = log.to_string_lossy();
    let wrapper = [
        "strace", "-f", "-qq", "-y", "-xx", "-s", "16777216", "-e", TRACED, "-o", &log_name,
    ];
    let output = stage.command(&wrapper).output()?;
    ensure!(output.status.success(), "the command failed under strace");
    let expected = super::stage::documents(&stage.notes())?;
    let calls = calls(&fs::read_to_string(&log)?);
    let mut tally = FaultTally::default();
    let mut seen = BTreeSet::new();
    let mut said = Answer::Nothing;
    for (number, call) in calls.iter().enumerate() {
        let is_answer =
            call.name == "write" && call.words.first().is_some_and(|fd| fd.number == Some(1));
        if is_answer {
            said = Answer::Done;
        } else if !disk.apply(call)? {
            continue;
        }
        for survivors in SURVIVORS {
            // What was found before need not be judged again, unless more is expected of it.
            let mut state = DefaultHasher::new();
            disk.files(survivors).hash(&mut state);
            if !seen.insert((state.finish(), said == Answer::Done)) {
                continue;
            }
            disk.write(&stage.notes(), survivors)?;
            tally.faults += 1;
            let what = format!("after call {number}, {}, {survivors:?} survives", call.name);
            stage.judge(&what, &said, &[], &mut tally)?;
        }
    }
    ensure!(said == Answer::Done, "the answer was not seen");
    // The model is right, or nothing was shown.
    disk.write(&stage.notes(), Survivors::Everything)?;
    ensure!(
        super::stage::documents(&stage.notes())? == expected,
        "the model went wrong"
    );
    Ok(tally)
}

/// The files of a disk, by path; folders have no content.
type DiskFiles = BTreeMap<PathBuf, Option<Vec<u8>>>;

impl Disk {
    fn read(root: &Path) -> Result<Self> {
        let mut disk = Self {
            root: root.to_owned(),
            nodes: Vec::new(),
            open: BTreeMap::new(),
        };
        disk.read_folder(root)?;
        Ok(disk)
    }

    fn read_folder(&mut self, folder: &Path) -> Result<usize> {
        let number = self.add(Node::Folder {
            now: BTreeMap::new(),
            flushed: BTreeMap::new(),
        });
        let mut names = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let node = if entry.file_type()?.is_dir() {
                self.read_folder(&entry.path())?
            } else {
                let now = fs::read(entry.path())?;
                self.add(Node::File {
                    flushed: now.clone(),
                    now,
                })
            };
            names.insert(entry.file_name().to_string_lossy().into_owned(), node);
        }
        self.nodes[number] = Node::Folder {
            flushed: names.clone(),
            now: names,
        };
        Ok(number)
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Does what a call did, and returns whether that can make a difference after a power cut.
    fn apply(&mut self, call: &Call) -> Result<bool> {
        let word = |at: usize| {
            call.words
                .get(at)
                .with_context(|| format!("{} without word {at}", call.name))
        };
        let descriptor = || word(0)?.number.context("no descriptor");
        match call.name.as_str() {
            "openat" | "openat2" => return self.open(call),
            "close" => _ = self.open.remove(&descriptor()?),
            "dup" | "dup2" | "dup3" | "fcntl" => {
                let is_copy = call.name != "fcntl" || word(1)?.text.starts_with("F_DUPFD");
                if is_copy && let Some(file) = self.open.get(&descriptor()?).copied() {
                    self.open.insert(u32::try_from(call.result)?, file);
                }
            }
            "lseek" => {
                if let Some(file) = self.open.get_mut(&descriptor()?) {
                    file.at = usize::try_from(call.result)?;
                }
            }
            "write" | "pwrite64" => return self.write_to(call),
            "ftruncate" => {
                let length = word(1)?.text.parse()?;
                if let Some(now) = self.contents(descriptor()?) {
                    now.resize(length, 0);
                    return Ok(true);
                }
            }
            "fsync" | "fdatasync" => return Ok(self.flush(word(0)?)),
            "mkdir" | "mkdirat" => {
                let path = call.path(usize::from(call.name == "mkdirat"))?;
                let node = Node::Folder {
                    now: BTreeMap::new(),
                    flushed: BTreeMap::new(),
                };
                if let Some((folder, name)) = self.place(&path) {
                    let node = self.add(node);
                    self.names(folder)?.insert(name, node);
                    return Ok(true);
                }
            }
            "unlink" | "rmdir" | "unlinkat" => {
                let path = call.path(usize::from(call.name == "unlinkat"))?;
                if let Some((folder, name)) = self.place(&path) {
                    return Ok(self.names(folder)?.remove(&name).is_some());
                }
            }
            "rename" => return self.rename(&call.path(0)?, &call.path(1)?, false, false),
            "link" => return self.rename(&call.path(0)?, &call.path(1)?, false, true),
            "renameat" | "renameat2" | "linkat" => {
                let flags = call.words.get(4).map_or("", |word| &word.text);
                let is_link = call.name == "linkat";
                return self.rename(
                    &call.path(1)?,
                    &call.path(3)?,
                    flags.contains("EXCHANGE"),
                    is_link,
                );
            }
            other => anyhow::bail!("`{other}` is not in the model"),
        }
        Ok(false)
    }

    fn open(&mut self, call: &Call) -> Result<bool> {
        let descriptor = u32::try_from(call.result)?;
        self.open.remove(&descriptor);
        let flags = &call.words.get(2).context("no flags")?.text;
        let path = call.path(1)?;
        let Some((folder, name)) = self.place(&path) else {
            return Ok(false);
        };
        let known = self.names(folder)?.get(&name).copied();
        let (node, is_new) = match known {
            Some(node) => (node, false),
            None if flags.contains("O_CREAT") => {
                let file = Node::File {
                    now: Vec::new(),
                    flushed: Vec::new(),
                };
                let node = self.add(file);
                self.names(folder)?.insert(name, node);
                (node, true)
            }
            None => return Ok(false),
        };
        let appends = flags.contains("O_APPEND");
        self.open.insert(
            descriptor,
            OpenFile {
                node,
                at: 0,
                appends,
            },
        );
        if flags.contains("O_TRUNC")
            && let Some(now) = self.contents(descriptor)
        {
            now.clear();
            return Ok(true);
        }
        Ok(is_new)
    }

    /// The bytes of an open file, in memory.
    fn contents(&mut self, descriptor: u32) -> Option<&mut Vec<u8>> {
        match &mut self.nodes[self.open.get(&descriptor)?.node] {
            Node::File { now, .. } => Some(now),
            Node::Folder { .. } => None,
        }
    }

    fn write_to(&mut self, call: &Call) -> Result<bool> {
        let descriptor = call
            .words
            .first()
            .and_then(|word| word.number)
            .context("no descriptor")?;
        let written = usize::try_from(call.result)?;
        let bytes = &call.words.get(1).context("no bytes")?.bytes;
        ensure!(bytes.len() >= written, "strace cut off a write");
        let Some(file) = self.open.get(&descriptor).copied() else {
            return Ok(false);
        };
        let Some(now) = self.contents(descriptor) else {
            return Ok(false);
        };
        let at = match call.name.as_str() {
            "pwrite64" => call.words.get(3).context("no offset")?.text.parse()?,
            _ if file.appends => now.len(),
            _ => file.at,
        };
        if now.len() < at + written {
            now.resize(at + written, 0);
        }
        now[at..at + written].copy_from_slice(&bytes[..written]);
        if call.name == "write"
            && let Some(file) = self.open.get_mut(&descriptor)
        {
            file.at = at + written;
        }
        Ok(true)
    }

    /// Flushes a file or a folder; its names are those in memory from now on, whatever happens.
    fn flush(&mut self, word: &Word) -> bool {
        let open = word
            .number
            .and_then(|descriptor| self.open.get(&descriptor));
        let Some(node) = open
            .map(|file| file.node)
            .or_else(|| self.find(&word.target))
        else {
            return false;
        };
        match &mut self.nodes[node] {
            Node::File { now, flushed } => flushed.clone_from(now),
            Node::Folder { now, flushed } => {
                flushed.clone_from(now);
                self.flush_renamed_folders();
            }
        }
        true
    }

    /// Removes the old names of folders that are on disk under their new ones. A file may be found under both, but no file
    /// system keeps a folder in two places: it writes both sides of such a rename at once.
    fn flush_renamed_folders(&mut self) {
        let mut places = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if let Node::Folder { now, flushed } = node {
                let both = now
                    .iter()
                    .filter(|(name, node)| flushed.get(*name) == Some(node));
                places.extend(both.map(|(_, node)| (*node, at)));
            }
        }
        let is_folder: Vec<bool> = self
            .nodes
            .iter()
            .map(|node| matches!(node, Node::Folder { .. }))
            .collect();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            if let Node::Folder { flushed, .. } = node {
                flushed.retain(|_, node| {
                    !is_folder[*node] || places.get(node).is_none_or(|place| *place == at)
                });
            }
        }
    }

    fn rename(&mut self, from: &Path, to: &Path, exchange: bool, is_link: bool) -> Result<bool> {
        let (Some((from, old)), Some((to, new))) = (self.place(from), self.place(to)) else {
            return Ok(false);
        };
        let node = self.names(from)?.get(&old).copied();
        let node = node.with_context(|| format!("`{old}` was renamed, and is not in the model"))?;
        let displaced = self.names(to)?.insert(new, node);
        if exchange {
            let displaced = displaced.context("nothing to exchange with")?;
            self.names(from)?.insert(old, displaced);
        } else if !is_link {
            self.names(from)?.remove(&old);
        }
        Ok(true)
    }

    fn names(&mut self, folder: usize) -> Result<&mut BTreeMap<String, usize>> {
        match &mut self.nodes[folder] {
            Node::Folder { now, .. } => Ok(now),
            Node::File { .. } => anyhow::bail!("a file is not a folder"),
        }
    }

    /// Returns the folder of a path and the name in it, if that is in the model.
    fn place(&self, path: &Path) -> Option<(usize, String)> {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((self.find(path.parent()?)?, name))
    }

    fn find(&self, path: &Path) -> Option<usize> {
        let inside = path.strip_prefix(&self.root).ok()?;
        inside
            .iter()
            .try_fold(0, |folder, name| match &self.nodes[folder] {
                Node::Folder { now, .. } => now.get(&*name.to_string_lossy()).copied(),
                Node::File { .. } => None,
            })
    }

    /// Returns what is found after a power cut.
    fn files(&self, survivors: Survivors) -> DiskFiles {
        let mut files = DiskFiles::new();
        self.collect(0, &PathBuf::new(), survivors, &mut files);
        files
    }

    fn collect(&self, node: usize, path: &Path, survivors: Survivors, files: &mut DiskFiles) {
        let names_survive = matches!(survivors, Survivors::Names | Survivors::Everything);
        let contents_survive = matches!(survivors, Survivors::Contents | Survivors::Everything);
        match &self.nodes[node] {
            Node::File { now, flushed } => {
                let bytes = if contents_survive { now } else { flushed };
                files.insert(path.to_owned(), Some(bytes.clone()));
            }
            Node::Folder { now, flushed } => {
                files.insert(path.to_owned(), None);
                for (name, node) in if names_survive { now } else { flushed } {
                    self.collect(*node, &path.join(name), survivors, files);
                }
            }
        }
    }

    /// Makes `folder` as it is found after a power cut.
    fn write(&self, folder: &Path, survivors: Survivors) -> Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        for (path, bytes) in self.files(survivors) {
            match bytes {
                Some(bytes) => fs::write(folder.join(path), bytes)?,
                None => fs::create_dir_all(folder.join(path))?,
            }
        }
        Ok(())
    }
}

/// A system call that succeeded.
#[derive(Debug)]
struct Call {
    name: String,
    words: Vec<Word>,
    result: i64,
}

/// An argument of a system call.
#[derive(Debug, Default)]
struct Word {
    text: String,
    /// A descriptor, or any other number.
    number: Option<u32>,
    /// The path of a descriptor.
    target: PathBuf,
    /// The bytes of a string.
    bytes: Vec<u8>,
}

impl Call {
    /// The path in argument `at`, and the folder before it that it is relative to.
    fn path(&self, at: usize) -> Result<PathBuf> {
        let name = self.words.get(at).context("no path")?;
        let name = String::from_utf8_lossy(&name.bytes).into_owned();
        let folder = at.checked_sub(1).and_then(|before| self.words.get(before));
        Ok(folder
            .map_or_else(PathBuf::new, |folder| folder.target.clone())
            .join(name))
    }
}

/// Reads what strace wrote with `-f -y -xx`, in the order in which the calls ended.
fn calls(log: &str) -> Vec<Call> {
    let mut begun: BTreeMap<&str, String> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some(start) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, start.to_owned());
            continue;
        }
        let whole = match rest
            .strip_prefix("<... ")
            .and_then(|rest| rest.split_once(" resumed>"))
        {
            Some((_, end)) => begun.remove(thread).unwrap_or_default() + end,
            None => rest.to_owned(),
        };
        calls.extend(call(&whole));
    }
    calls
}

/// Reads one call, unless it failed.
fn call(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let end = rest.rfind(" = ")?;
    let result: String = rest[end + 3..]
        .chars()
        .take_while(|c| *c == '-' || c.is_ascii_digit())
        .collect();
    let result: i64 = result.parse().ok()?;
    let words = rest[..end].trim_end().strip_suffix(')')?;
    // With -xx, commas and quotes inside strings and paths are written in hexadecimal.
    let words = words.split(", ").map(word).collect();
    (result >= 0).then(|| Call {
        name: name.to_owned(),
        words,
        result,
    })
}

fn word(text: &str) -> Word {
    let (bare, target) = match text.split_once('<') {
        Some((bare, target)) => (bare, unescaped(target.trim_end_matches('>'))),
        None => (text, Vec::new()),
    };
    let string = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    Word {
        text: text.to_owned(),
        number: bare.parse().ok(),
        target: PathBuf::from(String::from_utf8_lossy(&target).into_owned()),
        bytes: string.map(unescaped).unwrap_or_default(),
    }
}

/// Reads `\x2f\x61`; what is not written like that stays as it is.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hex = rest.strip_prefix("\\x").and_then(|hex| hex.get(..2));
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                rest = &rest[first.len_utf8()..];
                bytes.extend(first.to_string().bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Disk {
        let folder = |names: BTreeMap<String, usize>| Node::Folder {
            flushed: names.clone(),
            now: names,
        };
        let file = Node::File {
            now: b"old".to_vec(),
            flushed: b"old".to_vec(),
        };
        Disk {
            root: "/n".into(),
            nodes: vec![folder([("a".to_owned(), 1)].into()), file],
            open: BTreeMap::new(),
        }
    }

    fn found(disk: &Disk, survivors: Survivors) -> String {
        let files = disk.files(survivors).into_iter();
        let texts = files.filter_map(|(path, bytes)| {
            Some(format!(
                "{}={}",
                path.display(),
                String::from_utf8(bytes?).unwrap()
            ))
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_what_was_flushed_survives() {
        let mut disk = disk();
        let log = "\
            7 openat(3<\\x2f\\x6e>, \"\\x62\", O_WRONLY|O_CREAT, 0600) = 5<\\x2f\\x6e\\x2f\\x62>\n\
            7 write(5<\\x2f\\x6e\\x2f\\x62>, \"\\x6e\\x65\\x77\", 3) = 3\n\
            8 fsync(3<\\x2f\\x6e> <unfinished ...>\n\
            7 fsync(5<\\x2f\\x6e\\x2f\\x62>) = 0\n\
            8 <... fsync resumed>) = 0\n\
            7 rename(\"\\x2f\\x6e\\x2f\\x62\", \"\\x2f\\x6e\\x2f\\x61\") = 0\n\
            7 unlink(\"\\x2f\\x6e\\x2f\\x7a\") = -1 ENOENT\n";
        let calls = calls(log);
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["openat", "write", "fsync", "fsync", "rename"]);
        for call in &calls[..2] {
            assert!(disk.apply(call).unwrap());
        }
        assert_eq!(found(&disk, Survivors::Nothing), "a=old");
        assert_eq!(found(&disk, Survivors::Names), "a=old b=");
        assert_eq!(found(&disk, Survivors::Everything), "a=old b=new");
        for call in &calls[2..] {
            assert!(disk.apply(call).unwrap());
        }
        // The folder was flushed before the rename, so that both names may be found.
        assert_eq!(found(&disk, Survivors::Nothing), "a=old b=new");
        assert_eq!(found(&disk, Survivors::Names), "a=new");
    }
}
