//! The names by which people and links call the notes of a folder.

mod nearest;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use sectile_markdown::{
    LinkForm, LinkNames, NotePath, TargetResolution, name_key, name_keys, resolve_target, trim,
};

use super::note_table::{KeyKind, Table, TableKey};
use crate::live_folder::{FolderChanges, FolderContents, NoteRecord};

/// The extensions that a name may leave out, in the order in which they are tried.
const EXTENSIONS: [&str; 2] = [".md", ".markdown"];
/// Maximum length of a name that is compared with others, in bytes. No system has longer paths.
const MAX_NAME_BYTES: usize = 1 << 12;

/// The names of the notes of a folder. Copies are cheap and share what is equal.
#[derive(Clone, Debug, Default)]
pub struct NameIndex {
    /// Notes by path.
    paths: Table<Arc<NoteRecord>>,
    /// Notes by all other names.
    names: Table<Arc<NoteRecord>>,
    /// Files that are not notes, by path and by name.
    files: Table<NotePath>,
    folders: Arc<FolderNames>,
}

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameMatch {
    /// One note.
    Note(NotePath),
    /// One folder.
    Folder(NotePath),
    /// Several notes or folders, sorted.
    Several(Vec<NotePath>),
    /// Nothing.
    None {
        /// Notes with similar names, the most similar first.
        nearest: Vec<NotePath>,
    },
}

/// The folders, by name.
#[derive(Debug, Default)]
struct FolderNames {
    /// All of them, sorted.
    all: Vec<NotePath>,
    /// Indices in `all`, by the last part of the path as [`name_key`] returns it.
    by_name: HashMap<String, Vec<usize>>,
}

impl NameIndex {
    /// Collects the names of all notes.
    pub(super) fn new(contents: &FolderContents) -> Self {
        let mut index = Self {
            folders: Arc::new(FolderNames::new(&contents.folders)),
            ..Self::default()
        };
        contents.notes.iter().for_each(|note| index.add(note));
        contents.others.iter().for_each(|path| index.add_file(path));
        index
    }

    /// Brings it up to date. `contents` is the state after the changes.
    pub(super) fn apply(&mut self, contents: &FolderContents, changes: &FolderChanges) {
        for change in &changes.notes {
            if let Some(before) = &change.before {
                self.remove(before, change.after.as_deref());
            }
            if let Some(after) = &change.after {
                self.add(after);
            }
        }
        for path in &changes.others {
            match contents.others.binary_search(path) {
                Ok(_) => self.add_file(path),
                Err(_) => self.remove_file(path),
            }
        }
        if self.folders.all != contents.folders {
            self.folders = Arc::new(FolderNames::new(&contents.folders));
        }
    }

    fn add(&mut self, note: &Arc<NoteRecord>) {
        self.paths.insert(path_key(note.path.as_str()), note);
        for key in keys_of(note) {
            self.names.insert(key, note);
        }
    }

    /// Removes a note, except for the names that it keeps.
    fn remove(&mut self, note: &NoteRecord, after: Option<&NoteRecord>) {
        let kept: Vec<TableKey> = after.map(keys_of).unwrap_or_default();
        for key in keys_of(note) {
            if !kept.contains(&key) {
                self.names.remove(key, &note.path);
            }
        }
        if after.is_none() {
            self.paths.remove(path_key(note.path.as_str()), &note.path);
        }
    }

    fn add_file(&mut self, path: &NotePath) {
        for key in file_keys(path) {
            self.files.insert(key, path);
        }
    }

    fn remove_file(&mut self, path: &NotePath) {
        for key in file_keys(path) {
            self.files.remove(key, path);
        }
    }

    /// Returns the note at `path`.
    pub fn note(&self, path: &str) -> Option<&Arc<NoteRecord>> {
        let found = self.paths.get(path_key(path)).iter();
        found.into_iter().find(|note| note.path.as_str() == path)
    }

    /// Returns the folder at `path`.
    pub fn folder(&self, path: &str) -> Option<&NotePath> {
        self.folders.at(path)
    }

    /// Returns what `name` means: a path, with or without its extension, a name as wiki links use it, an alias, a
    /// folder, or a title. The spelling given wins over others; otherwise letter case does not matter, and neither do
    /// the characters between words.
    pub fn resolve(&self, name: &str) -> NameMatch {
        let name = trim(name);
        let path = name.trim_end_matches('/');
        if path.is_empty() || name.len() > MAX_NAME_BYTES {
            return NameMatch::None {
                nearest: Vec::new(),
            };
        }
        let is_folder = name.ends_with('/');
        let by_path = if is_folder { None } else { self.at_path(name) };
        if let Some(note) = by_path {
            return NameMatch::Note(note.path.clone());
        }
        if let Some(folder) = self.folders.at(path) {
            return NameMatch::Folder(folder.clone());
        }
        let linked = if is_folder { None } else { self.as_link(name) };
        linked
            .or_else(|| self.folders.named(path))
            .or_else(|| (!is_folder).then(|| self.by_words(name)).flatten())
            .unwrap_or_else(|| NameMatch::None {
                nearest: self.nearest(path),
            })
    }

    /// Returns the note at `path`, which may leave out the extension.
    fn at_path(&self, path: &str) -> Option<&Arc<NoteRecord>> {
        let longer = |extension| self.note(&format!("{path}{extension}"));
        self.note(path)
            .or_else(|| EXTENSIONS.iter().find_map(longer))
    }

    /// Returns what a wiki link at the top of the folder would lead to.
    fn as_link(&self, name: &str) -> Option<NameMatch> {
        let is_spelled = |note: &NoteRecord| {
            let path = note.path.as_str();
            let ends = |path: &str| {
                let rest = path.strip_suffix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            };
            ends(path)
                || EXTENSIONS
                    .iter()
                    .any(|end| path.strip_suffix(end).is_some_and(ends))
        };
        let has_alias =
            |note: &NoteRecord| note.properties.aliases.iter().any(|alias| alias == name);
        match resolve_target("", LinkForm::Wiki, name, &NotesOnly(self)) {
            TargetResolution::File(path) => {
                let note = self.note(&path)?;
                Some(NameMatch::Note(note.path.clone()))
            }
            TargetResolution::SeveralFiles(paths) => Some(self.chosen(&paths, is_spelled)),
            TargetResolution::SeveralAliases(paths) => Some(self.chosen(&paths, has_alias)),
            _ => None,
        }
    }

    /// Returns the one of several notes that is spelled as given, or all of them.
    fn chosen(&self, paths: &[String], is_spelled: impl Fn(&NoteRecord) -> bool) -> NameMatch {
        let notes: BTreeSet<&NotePath> = paths
            .iter()
            .filter_map(|path| self.note(path))
            .map(|note| &note.path)
            .collect();
        let mut spelled = notes.iter().filter(|path| {
            self.note(path.as_str())
                .is_some_and(|note| is_spelled(note))
        });
        let only = notes.first().filter(|_| notes.len() == 1);
        match (only.or(spelled.next()), spelled.next()) {
            (Some(only), None) => NameMatch::Note((*only).clone()),
            _ => NameMatch::Several(notes.into_iter().cloned().collect()),
        }
    }

    /// Returns the notes whose name, alias or, failing those, title has the same words.
    fn by_words(&self, name: &str) -> Option<NameMatch> {
        let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
        let (folder, wanted) = (words_of(folder), words_of(without_extension(last)));
        // A leading sign that names do not start with may have a meaning unknown here, so nothing is guessed.
        let begins_like_a_name = |c: char| c.is_alphanumeric() || "\"'([".contains(c);
        if wanted.is_empty() || !name.starts_with(begins_like_a_name) {
            return None;
        }
        let is_below = |note: &&Arc<NoteRecord>| {
            let above = words_of(note.path.folder().unwrap_or_default());
            folder.is_empty() || above == folder || above.ends_with(&format!(" {folder}"))
        };
        let found = self.names.get(words_key(&wanted)).iter().filter(is_below);
        let has_name = |note: &NoteRecord| {
            let stem = without_extension(note.path.file_name());
            let aliases = note.properties.aliases.iter().map(String::as_str);
            aliases.chain([stem]).any(|name| words_of(name) == wanted)
        };
        let (named, others): (Vec<&Arc<NoteRecord>>, Vec<&Arc<NoteRecord>>) =
            found.partition(|note| has_name(note));
        let titled = others
            .into_iter()
            .filter(|note| words_of(&note.title) == wanted);
        let found = match named.is_empty() {
            true => titled.collect(),
            false => named,
        };
        let paths: Vec<String> = found.iter().map(|note| note.path.to_string()).collect();
        match paths.as_slice() {
            [] => None,
            _ => Some(self.chosen(&paths, |note| note.title == name)),
        }
    }
}

/// Returns all keys of a note but its path.
fn keys_of(note: &NoteRecord) -> Vec<TableKey> {
    let names = name_keys(note.path.as_str());
    let mut keys: Vec<TableKey> = names
        .iter()
        .map(|name| TableKey::new(KeyKind::Name, name))
        .collect();
    let stem = without_extension(note.path.file_name());
    let aliases = note.properties.aliases.iter().map(String::as_str);
    for alias in aliases.clone() {
        keys.push(TableKey::new(KeyKind::Alias, &name_key(alias)));
    }
    for name in aliases.chain([stem, note.title.as_str()]) {
        let words = words_of(name);
        let key = words_key(&words);
        if !words.is_empty() && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn file_keys(path: &NotePath) -> impl Iterator<Item = TableKey> {
    let names = name_keys(path.as_str()).into_iter();
    let names = names.map(|name| TableKey::new(KeyKind::Name, &name));
    names.chain([path_key(path.as_str())])
}

fn path_key(path: &str) -> TableKey {
    TableKey::new(KeyKind::Path, path)
}

fn words_key(words: &str) -> TableKey {
    TableKey::new(KeyKind::Words, words)
}

/// Returns the words of a name in one case, with a space between them.
fn words_of(name: &str) -> String {
    let folded = name_key(name);
    let words = folded.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn without_extension(name: &str) -> &str {
    let stem = |extension: &&str| {
        let at = name.len().checked_sub(extension.len())?;
        let end = name.get(at..)?;
        end.eq_ignore_ascii_case(extension).then(|| &name[..at])
    };
    EXTENSIONS.iter().find_map(stem).unwrap_or(name)
}

/// The names of files for links, as [`resolve_target`] asks for them.
impl LinkNames for NameIndex {
    fn has_file(&self, path: &str) -> bool {
        let is_it = |file: &NotePath| file.as_str() == path;
        self.note(path).is_some() || self.files.get(path_key(path)).iter().any(is_it)
    }

    fn has_folder(&self, path: &str) -> bool {
        self.folders.at(path).is_some()
    }

    fn by_name(&self, name: &str) -> Vec<String> {
        let mut found = NotesOnly(self).by_name(name);
        let key = name_key(name);
        let files = self.files.get(TableKey::new(KeyKind::Name, &key)).iter();
        let files = files.filter(|path| name_keys(path.as_str()).contains(&key));
        found.extend(files.map(NotePath::to_string));
        found
    }

    fn by_alias(&self, alias: &str) -> Vec<String> {
        let key = name_key(alias);
        let has_it = |note: &&Arc<NoteRecord>| {
            let aliases = note.properties.aliases.iter();
            aliases.into_iter().any(|alias| name_key(alias) == key)
        };
        let found = self.names.get(TableKey::new(KeyKind::Alias, &key)).iter();
        let found = found.filter(has_it);
        found.map(|note| note.path.to_string()).collect()
    }
}

/// The names of notes alone.
struct NotesOnly<'i>(&'i NameIndex);

impl LinkNames for NotesOnly<'_> {
    fn has_file(&self, path: &str) -> bool {
        self.0.note(path).is_some()
    }

    fn has_folder(&self, _: &str) -> bool {
        false
    }

    fn by_name(&self, name: &str) -> Vec<String> {
        let key = name_key(name);
        let found = self.0.names.get(TableKey::new(KeyKind::Name, &key)).iter();
        let found = found.filter(|note| name_keys(note.path.as_str()).contains(&key));
        found.map(|note| note.path.to_string()).collect()
    }

    fn by_alias(&self, alias: &str) -> Vec<String> {
        self.0.by_alias(alias)
    }
}

impl FolderNames {
    fn new(folders: &[NotePath]) -> Self {
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, folder) in folders.iter().enumerate() {
            let name = name_key(folder.file_name());
            by_name.entry(name).or_default().push(index);
        }
        Self {
            all: folders.to_vec(),
            by_name,
        }
    }

    fn at(&self, path: &str) -> Option<&NotePath> {
        let at = self
            .all
            .binary_search_by(|folder| folder.as_str().cmp(path));
        at.ok().map(|at| &self.all[at])
    }

    /// Returns the folders whose path ends in `path`, ignoring case.
    fn named(&self, path: &str) -> Option<NameMatch> {
        let wanted = name_key(path);
        let name = wanted.rsplit_once('/').map_or(&*wanted, |(_, name)| name);
        let indices = self.by_name.get(name)?.iter();
        let ends = |folder: &&NotePath| {
            let folder = name_key(folder.as_str());
            let rest = folder.strip_suffix(&wanted);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let found: Vec<&NotePath> = indices.map(|at| &self.all[*at]).filter(ends).collect();
        match found.as_slice() {
            [] => None,
            [only] => Some(NameMatch::Folder((*only).clone())),
            _ => Some(NameMatch::Several(found.into_iter().cloned().collect())),
        }
    }
}

#[cfg(test)]
mod tests;
