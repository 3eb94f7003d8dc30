//! A library that changes: edits, deletions, renames, truncations, links, broken text, from a seed.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use super::super::{dice::Dice, proof};
use crate::fixture::{SECRET, TestVault, sectile};

pub(super) const COLLECTION: &str = "lab";
/// The notebooks that come and go.
pub(super) const NAMES: [&str; 9] = [
    "a.md",
    "b.md",
    "c-notes.md",
    "deep/d.md",
    "deep/e.md",
    "deep/down/f.md",
    "g.md",
    "h.md",
    "new.md",
];
/// The notebooks that the artifact was made of.
const SOURCES: [&str; 2] = ["a.md", "deep/d.md"];
const PAYLOAD: &str = "_artifacts/sum/summary.md";
const SIDECAR: &str = "_artifacts/sum/set.toml";

/// A collection full of notebooks, and beside it the same with a secret in every passage.
pub(super) struct Library {
    pub(super) vault: TestVault,
    /// The first texts, which may come back.
    originals: Vec<(String, Vec<u8>)>,
    artifact: Vec<(&'static str, Vec<u8>)>,
    /// The sources of the artifact with their recorded digests.
    pub(super) sources: Vec<(String, String)>,
    /// Whether its files are objects, among which there are neither links nor folders.
    is_bucket: bool,
}

impl Library {
    pub(super) fn new(dice: &mut Dice, is_bucket: bool) -> Self {
        let vault = TestVault::empty();
        let mut originals = Vec::new();
        for name in NAMES {
            let text = format!(
                "# Start\n\nThe ice of {}.\n\n{}",
                dice.words(4),
                dice.notebook()
            );
            let secret = text.replace('.', &format!(" {SECRET}."));
            vault.note(&format!("{COLLECTION}/{name}"), &text);
            vault.note(&format!("other/{name}"), &secret);
            let outside = vault.outside().join("lab").join(name);
            fs::create_dir_all(outside.parent().unwrap()).unwrap();
            fs::write(outside, &secret).unwrap();
            originals.push((name.to_owned(), text.into_bytes()));
        }
        vault.note("loose.md", format!("# Ice\n\nThe ice {SECRET}.\n"));
        add_artifact(&vault, COLLECTION, "They measured the ice.\n");
        add_artifact(&vault, "other", &format!("They measured {SECRET}.\n"));
        let read = |name| fs::read(vault.root().join(COLLECTION).join(name)).unwrap();
        let artifact = [PAYLOAD, SIDECAR].map(|name| (name, read(name))).to_vec();
        let sources = SOURCES
            .map(|name| (name.to_owned(), proof::sha256(&read(name))))
            .to_vec();
        Self {
            vault,
            originals,
            artifact,
            sources,
            is_bucket,
        }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.vault.root()
    }

    /// Whether the collection is there, and no link.
    pub(super) fn is_there(&self) -> bool {
        fs::symlink_metadata(self.base()).is_ok_and(|metadata| metadata.is_dir())
    }

    /// Whether the record of the artifact is what it was at first.
    pub(super) fn has_record(&self) -> bool {
        self.read(SIDECAR).as_ref() == Some(&self.artifact[1].1)
    }

    /// Whether the artifact and its record are what they were at first.
    pub(super) fn has_sound_artifact(&self) -> bool {
        self.has_record() && self.read(PAYLOAD).as_ref() == Some(&self.artifact[0].1)
    }

    fn base(&self) -> PathBuf {
        self.root().join(COLLECTION)
    }

    /// The bytes of a notebook as they are, behind no link.
    pub(super) fn read(&self, name: &str) -> Option<Vec<u8>> {
        proof::bytes_of(&self.root(), &format!("{COLLECTION}/{name}"))
    }

    /// Changes something, and says what.
    pub(super) fn change(&self, dice: &mut Dice) -> &'static str {
        // What is behind a link is not ours to write to.
        if self.is_parked("") {
            return if dice.one_in(3) {
                self.swap_folder("", dice)
            } else {
                "nothing"
            };
        }
        let name = *dice.pick(&NAMES);
        let deep = self.is_parked("deep");
        if deep && (name.starts_with("deep") || dice.one_in(8)) {
            return self.swap_folder("deep", dice);
        }
        let path = self.base().join(name);
        match dice.below(20) {
            9..=12 | 15 if self.is_bucket => "nothing",
            0..=2 => {
                self.put(name, dice.notebook().as_bytes());
                "edit"
            }
            3..=5 => self.same_length(name, dice),
            6 => {
                clear(&path);
                "delete"
            }
            7 => self.rename(name, dice),
            8 => self.truncate(name, dice),
            9 => {
                self.link(&path, &self.vault.outside().join("lab").join(name));
                "link to outside"
            }
            10 => {
                let target = if dice.one_in(2) {
                    self.root().join("other")
                } else {
                    self.base()
                };
                self.link(&path, &target.join(dice.pick(&NAMES)));
                "link to inside"
            }
            11 => self.swap_folder("deep", dice),
            12 if dice.one_in(3) => self.swap_folder("", dice),
            13 => self.splice(name, dice, &[0xff, b'a', 0xc3]),
            14 => {
                let text = format!("{}\n\n", dice.words(9));
                self.splice(name, dice, text.as_bytes())
            }
            15 => {
                clear(&path);
                fs::create_dir_all(&path).unwrap();
                "folder"
            }
            16 => {
                let text = self.read(name).unwrap_or_default();
                let text = String::from_utf8_lossy(&text).replace('\n', "\r\n");
                self.put(name, text.as_bytes());
                "line ends"
            }
            17 => self.artifact(dice),
            _ => {
                let (name, text) = dice.pick(&self.originals);
                if !(self.is_parked("deep") && name.starts_with("deep")) {
                    self.put(name, text);
                }
                "restore"
            }
        }
    }

    /// Everything as it was at first.
    pub(super) fn restore(&self) {
        for folder in ["", "deep"] {
            if self.is_parked(folder) {
                self.unpark(folder);
            }
        }
        for (name, text) in self.originals.iter() {
            self.put(name, text);
        }
        for (name, bytes) in &self.artifact {
            self.put(name, bytes);
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.base().join(name);
        clear(&path);
        make_parents(&path);
        fs::write(path, bytes).unwrap();
    }

    /// Other letters in the same place; sometimes nothing but the bytes tells.
    fn same_length(&self, name: &str, dice: &mut Dice) -> &'static str {
        let Some(mut bytes) = self.read(name).filter(|bytes| !bytes.is_empty()) else {
            return "nothing";
        };
        let path = self.base().join(name);
        for _ in 0..1 + dice.below(4) {
            let at = dice.below(bytes.len());
            if bytes[at].is_ascii_alphabetic() {
                bytes[at] = *dice.pick(b"abcdefghijklmnopqrstuvwxyz");
            } else if bytes[at] == b'\n' && dice.one_in(2) {
                bytes[at] = b' ';
            }
        }
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let mut file = File::options().write(true).open(&path).unwrap();
        file.write_all(&bytes).unwrap();
        if dice.one_in(2) {
            file.set_modified(modified).unwrap();
        }
        "same length"
    }

    fn rename(&self, name: &str, dice: &mut Dice) -> &'static str {
        let to = *dice.pick(&NAMES);
        let is_movable = self.read(name).is_some() && to != name;
        if !is_movable || (to.starts_with("deep") && self.is_parked("deep")) {
            return "nothing";
        }
        let to = self.base().join(to);
        clear(&to);
        make_parents(&to);
        fs::rename(self.base().join(name), to).unwrap();
        "rename"
    }

    fn truncate(&self, name: &str, dice: &mut Dice) -> &'static str {
        let Some(bytes) = self.read(name).filter(|bytes| !bytes.is_empty()) else {
            return "nothing";
        };
        let file = File::options()
            .write(true)
            .open(self.base().join(name))
            .unwrap();
        file.set_len(dice.below(bytes.len()) as u64).unwrap();
        if dice.one_in(4) {
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1))
                .unwrap();
        }
        "truncate"
    }

    /// Puts bytes somewhere into a notebook.
    fn splice(&self, name: &str, dice: &mut Dice, new: &[u8]) -> &'static str {
        let mut bytes = self.read(name).unwrap_or_default();
        let at = if dice.one_in(2) {
            0
        } else {
            dice.below(bytes.len() + 1)
        };
        bytes.splice(at..at, new.iter().copied());
        self.put(name, &bytes);
        "splice"
    }

    fn link(&self, path: &Path, target: &Path) {
        clear(path);
        make_parents(path);
        symlink(target, path).unwrap();
    }

    fn artifact(&self, dice: &mut Dice) -> &'static str {
        let (name, bytes) = dice.pick(&self.artifact);
        let mut bytes = bytes.clone();
        let folder = self.base().join("_artifacts");
        match dice.below(4) {
            0 => bytes.truncate(dice.below(bytes.len())),
            1 => {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
            2 if !self.is_bucket => {
                clear(&folder);
                symlink(self.root().join("other/_artifacts"), &folder).unwrap();
                return "artifacts linked";
            }
            _ => {}
        }
        if fs::symlink_metadata(&folder).is_ok_and(|metadata| metadata.is_symlink()) {
            clear(&folder);
            for (name, bytes) in &self.artifact {
                self.put(name, bytes);
            }
        }
        self.put(name, &bytes);
        "artifact"
    }

    /// Where a folder of the collection, or the collection itself, is kept while a link stands in its place.
    fn parked(&self, folder: &str) -> PathBuf {
        self.vault.outside().join(format!("parked-{folder}"))
    }

    fn is_parked(&self, folder: &str) -> bool {
        self.parked(folder).exists()
    }

    fn unpark(&self, folder: &str) {
        let place = if folder.is_empty() {
            self.base()
        } else {
            self.base().join(folder)
        };
        fs::remove_file(&place).unwrap();
        fs::rename(self.parked(folder), place).unwrap();
    }

    /// Puts a link in the place of a folder, or the folder back.
    fn swap_folder(&self, folder: &str, dice: &mut Dice) -> &'static str {
        if self.is_parked(folder) {
            self.unpark(folder);
            return "folder back";
        }
        let place = if folder.is_empty() {
            self.base()
        } else {
            self.base().join(folder)
        };
        if !place.is_dir() {
            return "nothing";
        }
        fs::rename(&place, self.parked(folder)).unwrap();
        let outside = self.vault.outside().join("lab").join(folder);
        let other = self.root().join("other").join(folder);
        // Even the very same folder is out of reach behind a link.
        let target = dice.pick(&[outside, other, self.parked(folder)]).clone();
        symlink(target, place).unwrap();
        if folder.is_empty() {
            "collection linked"
        } else {
            "folder linked"
        }
    }
}

/// Makes room at a place.
fn clear(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes the folders above a path; a file in the way of one gives way.
fn make_parents(path: &Path) {
    let parent = path.parent().unwrap();
    if fs::create_dir_all(parent).is_err() {
        clear(parent);
        fs::create_dir_all(parent).unwrap();
    }
}

fn add_artifact(vault: &TestVault, collection: &str, text: &str) {
    let file = vault.outside().join("summary.md");
    fs::write(&file, text).unwrap();
    let mut command = sectile();
    command
        .args(["notebook", "artifact", "add"])
        .arg(vault.root());
    command
        .args([collection, "sum"])
        .arg(file)
        .args(["--type", "summary"]);
    for source in SOURCES {
        command.args(["--source", source]);
    }
    run(&mut command);
}

/// Runs a command that must work.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
