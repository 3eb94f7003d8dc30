//! A folder under a script, and a model of its contents: the bytes and sections after every step, and every id that was
//! ever given out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    super::*,
    generators::{Act, Outside, ScriptStep},
    operations::{is_refusal, operation},
};
use crate::{ids, journal::EntryKind};

/// A section as the model remembers it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) id: String,
    heading: String,
    level: u8,
    parent: Option<String>,
    content: String,
    subtree_end: usize,
}

/// All documents at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Snapshot {
    pub(super) bytes: BTreeMap<String, Vec<u8>>,
    pub(super) sections: BTreeMap<String, Vec<Known>>,
}

/// A history entry, and the state before and after it, if the script could see both.
struct Made {
    kind: EntryKind,
    documents: Vec<u64>,
    paths: BTreeSet<String>,
    before: Option<Snapshot>,
    after: Option<Snapshot>,
}

pub(super) struct World {
    pub(super) folder: TempDir,
    pub(super) editor: Editor,
    pub(super) now: Snapshot,
    /// Every id ever seen, with the section that it last named.
    ever: HashMap<String, Known>,
    made: BTreeMap<u64, Made>,
    /// Whether another program has written, and nobody has looked since.
    unseen: bool,
    counter: usize,
}

impl Snapshot {
    fn take(editor: &Editor, folder: &Path) -> Self {
        let mut snapshot = Self {
            bytes: files(folder),
            ..Self::default()
        };
        for path in snapshot.bytes.keys() {
            let view = editor.view(&note(path)).unwrap();
            let sections = view.sections().into_iter().map(|section| Known {
                content: view.content(section.position, false).unwrap(),
                subtree_end: section.position + section.descendants + 1,
                id: section.id,
                heading: section.heading,
                level: section.level,
                parent: section.parent,
            });
            snapshot.sections.insert(path.clone(), sections.collect());
        }
        snapshot
    }

    fn all(&self) -> impl Iterator<Item = &Known> {
        self.sections.values().flatten()
    }

    fn find(&self, id: &str) -> Option<&Known> {
        self.all().find(|known| known.id == id)
    }

    /// The ids of a section and all below it.
    fn subtree(&self, path: &str, position: usize) -> BTreeSet<String> {
        let sections = &self.sections[path];
        let all = sections.iter().skip(position);
        all.take(sections[position].subtree_end - position)
            .map(|known| known.id.clone())
            .collect()
    }
}

/// The documents in the folder itself.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

impl World {
    pub(super) fn new(documents: &[String]) -> Self {
        let folder = scratch();
        for (name, text) in ["a.md", "b.md"].iter().zip(documents) {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self::in_folder(folder)
    }

    /// Another world that starts in the state of this one, with the same ids.
    pub(super) fn copied(&self) -> Self {
        let folder = scratch();
        copy_folder(self.folder.path(), folder.path());
        Self::in_folder(folder)
    }

    fn in_folder(folder: TempDir) -> Self {
        let editor = open(folder.path());
        let now = Snapshot::take(&editor, folder.path());
        let mut world = Self {
            folder,
            editor,
            now: Snapshot::default(),
            ever: HashMap::new(),
            made: BTreeMap::new(),
            unseen: false,
            counter: 0,
        };
        world.enter(now, EntryKind::Edit);
        world
    }

    /// Returns whether an id was there at the last look.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.now.find(id).is_some()
    }

    /// Takes a step and checks everything that can be said about it.
    pub(super) fn step(&mut self, step: &ScriptStep) {
        let paths: Vec<String> = files(self.folder.path()).into_keys().collect();
        let path = (!paths.is_empty()).then(|| paths[step.document % paths.len()].clone());
        match (&step.act, path) {
            (Act::Reopen, _) => {
                self.editor = open(self.folder.path());
                self.look(EntryKind::Foreign);
            }
            (Act::Outside { edit, look }, Some(path)) => self.outside(&path, edit, *look),
            (Act::Undo | Act::Redo, Some(path)) => {
                self.take_back(&path, None, matches!(step.act, Act::Redo));
            }
            (Act::UndoEntry { nth }, Some(path)) => {
                let document = self.number_of(&path);
                let about = self.made.iter().filter(|(_, made)| {
                    made.documents.contains(&document)
                        && matches!(made.kind, EntryKind::Edit | EntryKind::Foreign)
                });
                let numbers: Vec<u64> = about.map(|(number, _)| *number).collect();
                if !numbers.is_empty() {
                    self.take_back(&path, Some(numbers[nth % numbers.len()]), false);
                }
            }
            (act, path) => self.edit(act, path.as_deref()),
        }
    }

    /// Looks at everything, and records what is new.
    fn look(&mut self, kind: EntryKind) {
        let now = Snapshot::take(&self.editor, self.folder.path());
        self.enter(now, kind);
        self.unseen = false;
    }

    /// The last number that was given to an entry.
    fn last_number(&self) -> u64 {
        self.made.keys().next_back().copied().unwrap_or(0)
    }

    fn number_of(&self, path: &str) -> u64 {
        let state = self.editor.store.state();
        state.ledger.document(path).map_or(0, |known| known.id)
    }

    /// Advances to `now`, checking the ids on the way. `kind` says what was done.
    fn enter(&mut self, now: Snapshot, kind: EntryKind) {
        let mut unique = BTreeSet::new();
        for known in now.all() {
            assert!(unique.insert(&known.id), "{} names two sections", known.id);
            let number = ids::number(&known.id).unwrap();
            match self.ever.get(&known.id) {
                None => assert_eq!(ids::id(&known.heading, number), known.id, "a new id"),
                Some(last) if self.now.find(&known.id).is_none() => {
                    assert!(
                        kind != EntryKind::Edit || self.unseen,
                        "{} is back",
                        known.id
                    );
                    if kind == EntryKind::Foreign {
                        let same = last.heading == known.heading && last.content == known.content;
                        assert!(same || self.unseen, "{last:?} is back as {known:?}");
                    }
                }
                Some(_) => {}
            }
        }
        for known in now.all() {
            self.ever.insert(known.id.clone(), known.clone());
        }
        let last = self.last_number();
        let cards: Vec<_> = {
            let state = self.editor.store.state();
            let new = state.ledger.entries().filter(|card| card.number > last);
            new.cloned().collect()
        };
        let whole = cards.len() == 1 && !self.unseen;
        for card in cards {
            let steps = card.steps.iter();
            let made = Made {
                kind: card.kind,
                documents: steps.clone().map(|step| step.document).collect(),
                paths: steps
                    .flat_map(|step| std::iter::once(&step.path).chain(&step.moved_to).cloned())
                    .collect(),
                before: whole.then(|| self.now.clone()),
                after: whole.then(|| now.clone()),
            };
            self.made.insert(card.number, made);
        }
        self.now = now;
    }

    /// Makes an edit, or sees it refused.
    fn edit(&mut self, act: &Act, path: Option<&str>) {
        self.counter += 1;
        let fresh = format!("n{}.md", self.counter);
        let Some(operation) = operation(&self.now, act, path, &fresh) else {
            return;
        };
        let on_disk = files(self.folder.path());
        match write(&self.editor, vec![operation]) {
            Err(error) => {
                assert!(is_refusal(&error), "{act:?}: {error:?}");
                assert_eq!(files(self.folder.path()), on_disk, "{act:?}: {error:?}");
                if self.unseen {
                    self.look(EntryKind::Foreign);
                }
            }
            Ok(report) => {
                let now = Snapshot::take(&self.editor, self.folder.path());
                for document in &report.documents {
                    let view = document.view.as_ref().map(|view| view.bytes());
                    let there = now.bytes.get(&document.path).map(Vec::as_slice);
                    assert_eq!(view, there, "{act:?}");
                }
                if let (Some(path), false) = (path, self.unseen) {
                    self.check_untouched(act, path, &now);
                }
                if matches!(act, Act::WriteBack { .. }) && !self.unseen {
                    assert_eq!(now.bytes, on_disk, "{act:?}");
                    assert_eq!(report.entry, None, "{act:?}");
                }
                self.enter(now, EntryKind::Edit);
                self.unseen = false;
            }
        }
    }

    /// Checks that sections an edit does not concern are unchanged, in the same order, with the same parents.
    fn check_untouched(&self, act: &Act, path: &str, now: &Snapshot) {
        let at = |section: usize| section % self.now.sections[path].len().max(1);
        let one = |section: usize| -> BTreeSet<String> {
            let known = &self.now.sections[path][at(section)];
            std::iter::once(known.id.clone()).collect()
        };
        let touched: BTreeSet<String> = match act {
            Act::Update {
                section,
                subtree: false,
                ..
            }
            | Act::Rename {
                section,
                level: None,
                ..
            } => one(*section),
            Act::Update { section, .. }
            | Act::Rename { section, .. }
            | Act::Delete { section }
            | Act::Move { section, .. }
            | Act::EditText {
                section: Some(section),
                ..
            } => self.now.subtree(path, at(*section)),
            Act::EditText { section: None, .. } | Act::DeleteDocument | Act::RenameDocument => {
                let sections = self.now.sections[path].iter();
                sections.map(|known| known.id.clone()).collect()
            }
            _ => BTreeSet::new(),
        };
        let without_place = |known: &Known| Known {
            subtree_end: 0,
            ..known.clone()
        };
        for (path, sections) in &self.now.sections {
            let before: Vec<Known> = sections
                .iter()
                .filter(|known| !touched.contains(&known.id))
                .map(without_place)
                .collect();
            let old: BTreeSet<&String> = before.iter().map(|known| &known.id).collect();
            let after: Vec<Known> = now
                .sections
                .get(path)
                .into_iter()
                .flatten()
                .filter(|known| old.contains(&known.id))
                .map(without_place)
                .collect();
            assert_eq!(before, after, "{act:?} in {path}");
        }
        if let Act::Move { .. } | Act::Rename { .. } = act {
            let all = |snapshot: &Snapshot| -> BTreeSet<String> {
                snapshot.all().map(|known| known.id.clone()).collect()
            };
            assert_eq!(all(&self.now), all(now), "{act:?}");
            for known in now.all() {
                let was = self.now.find(&known.id).unwrap();
                // In another document, lines end as they do there.
                let text = |known: &Known| known.content.replace("\r\n", "\n").replace('\r', "\n");
                assert_eq!(text(was), text(known), "{act:?}");
            }
        }
    }

    /// The entries of a document that the model says can be undone and redone.
    fn stacks(&self, document: u64) -> (Vec<u64>, Vec<u64>) {
        let (mut done, mut undone) = (Vec::new(), Vec::new());
        for (number, made) in &self.made {
            if !made.documents.contains(&document) {
                continue;
            }
            match made.kind {
                EntryKind::Edit => {
                    done.push(*number);
                    undone.clear();
                }
                EntryKind::Undo(target) => {
                    done.retain(|known| *known != target);
                    undone.push(target);
                }
                EntryKind::Redo(target) => {
                    undone.retain(|known| *known != target);
                    done.push(target);
                }
                EntryKind::Foreign => {}
            }
        }
        (done, undone)
    }

    fn take_back(&mut self, path: &str, entry: Option<u64>, redo: bool) {
        if self.unseen {
            self.look(EntryKind::Foreign);
            if !self.now.bytes.contains_key(path) {
                return;
            }
        }
        let (done, undone) = self.stacks(self.number_of(path));
        let expected = entry.or(if redo { undone.last() } else { done.last() }.copied());
        let request = UndoRequest {
            entry,
            ..undo(path, redo)
        };
        let before = self.now.clone();
        match take_back(&self.editor, &request) {
            Err(error) => {
                self.look(EntryKind::Foreign);
                assert_eq!(self.now, before, "{error:?}");
                self.check_refused_undo(expected, entry.is_some(), &error);
            }
            Ok(report) => {
                let target = expected.expect("there was something to undo");
                let reverted = self.last_about(target);
                let is_direct = self.is_last(reverted);
                self.look(EntryKind::Undo(target));
                assert!(report.entry.is_some());
                let kind = if redo {
                    EntryKind::Redo(target)
                } else {
                    EntryKind::Undo(target)
                };
                assert_eq!(self.made[&self.last_number()].kind, kind);
                if is_direct && let Some(old) = self.made[&reverted].before.clone() {
                    for path in &self.made[&reverted].paths {
                        assert_eq!(self.now.bytes.get(path), old.bytes.get(path), "{path}");
                        assert_eq!(self.now.sections.get(path), old.sections.get(path));
                    }
                }
                self.there_and_back(target, redo, &before);
            }
        }
    }

    /// Checks that undo after redo, and redo after undo, are identities for bytes and ids.
    fn there_and_back(&mut self, target: u64, redo: bool, before: &Snapshot) {
        let here = self.now.clone();
        for (redo, expected) in [(!redo, before), (redo, &here)] {
            let request = UndoRequest {
                path: None,
                entry: Some(target),
                ..undo("a.md", redo)
            };
            take_back(&self.editor, &request).unwrap();
            self.look(EntryKind::Undo(target));
            assert_eq!(self.now, *expected);
        }
    }

    /// The last entry that made, undid or redid `target`.
    fn last_about(&self, target: u64) -> u64 {
        let about =
            |made: &Made| [EntryKind::Undo(target), EntryKind::Redo(target)].contains(&made.kind);
        let last = self.made.iter().rev().find(|(_, made)| about(made));
        last.map_or(target, |(number, _)| *number)
    }

    /// Returns whether nothing came after an entry in its documents.
    fn is_last(&self, number: u64) -> bool {
        let made = &self.made[&number];
        let later = self.made.range(number + 1..);
        let is_apart = |other: &Made| {
            other.paths.is_disjoint(&made.paths)
                && !other
                    .documents
                    .iter()
                    .any(|one| made.documents.contains(one))
        };
        later.map(|(_, other)| other).all(is_apart)
    }

    fn check_refused_undo(&self, expected: Option<u64>, by_entry: bool, error: &EditorError) {
        match (expected, error) {
            (None, EditorError::NothingToUndo | EditorError::NothingToRedo) => {}
            (Some(_), EditorError::AlreadyUndone) if by_entry => {}
            (
                Some(target),
                EditorError::UndoOverlaps { .. }
                | EditorError::TextUnknown
                | EditorError::DocumentNotFound
                | EditorError::DocumentExists,
            ) => {
                let reverted = self.last_about(target);
                let made = &self.made[&reverted];
                // An entry whose result nobody has touched since can be undone, unless a file is in the way.
                let in_the_way = made.before.as_ref().is_none_or(|before| {
                    let mut paths = made.paths.iter();
                    paths.any(|path| {
                        let gone = made
                            .after
                            .as_ref()
                            .is_some_and(|after| !after.bytes.contains_key(path));
                        gone && before.bytes.contains_key(path) && self.now.bytes.contains_key(path)
                    })
                });
                let there = made.after.as_ref().is_some_and(|after| {
                    let mut paths = made.paths.iter();
                    paths.all(|path| after.bytes.get(path) == self.now.bytes.get(path))
                });
                let must_work = self.is_last(reverted) && there && !in_the_way;
                assert!(!must_work, "{error:?}");
            }
            other => panic!("{other:?}"),
        }
    }

    /// Another program changes a file.
    fn outside(&mut self, path: &str, edit: &Outside, look: bool) {
        if self.unseen {
            self.look(EntryKind::Foreign);
            if !self.now.bytes.contains_key(path) {
                return;
            }
        }
        self.counter += 1;
        let file = self.folder.path().join(path);
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let changed = match edit {
            Outside::Append(more) => format!("{text}\n{more}\n"),
            Outside::Prepend(more) => format!("{more}\n\n{text}"),
            Outside::RemoveLine(_) | Outside::ChangeLine(..) if lines.is_empty() => return,
            Outside::RemoveLine(at) => {
                let at = at % lines.len();
                [&lines[..at], &lines[at + 1..]].concat().concat()
            }
            Outside::ChangeLine(at, line) => {
                let mut lines = lines.clone();
                let line = format!("{line}\n");
                let at = at % lines.len();
                lines[at] = &line;
                lines.concat()
            }
            Outside::Replace(text) => text.clone(),
            Outside::MoveFile => {
                let target = self.folder.path().join(format!("m{}.md", self.counter));
                fs::rename(&file, target).unwrap();
                return self.noticed(look);
            }
            Outside::RemoveFile => {
                fs::remove_file(&file).unwrap();
                return self.noticed(look);
            }
        };
        if changed == text {
            return;
        }
        if self.counter.is_multiple_of(2) {
            fs::write(&file, changed).unwrap();
        } else {
            let beside = self.folder.path().join(".beside");
            fs::write(&beside, changed).unwrap();
            fs::rename(beside, file).unwrap();
        }
        let before = self.now.clone();
        self.noticed(look);
        if look {
            check_kept(&before.sections[path], &self.now.sections[path]);
        }
    }

    fn noticed(&mut self, look: bool) {
        if look {
            self.look(EntryKind::Foreign);
        } else {
            self.unseen = true;
        }
    }

    /// Checks the properties that hold at the end of every script.
    pub(super) fn finish(&mut self) {
        if self.unseen {
            self.look(EntryKind::Foreign);
        }
        assert!(
            self.editor.damage().is_empty(),
            "{:?}",
            self.editor.damage()
        );
        let other = open(self.folder.path());
        assert_eq!(Snapshot::take(&other, self.folder.path()), self.now);
        for path in self.now.bytes.keys() {
            self.check_history(&other, path);
        }
        let alive: BTreeSet<&String> = self.now.all().map(|known| &known.id).collect();
        let dead = self.ever.keys().filter(|id| !alive.contains(id)).take(3);
        for id in dead {
            let update = Operation::Update(UpdateSection {
                path: None,
                section: by_id(id),
                content: "x".to_owned(),
                scope: Scope::Body,
                headings: PayloadHeadings::Inside,
                expected_hash: None,
            });
            let error = write(&other, vec![update]).unwrap_err();
            assert!(
                matches!(
                    error,
                    EditorError::SectionDeleted { .. }
                        | EditorError::SectionNotFound { .. }
                        | EditorError::DocumentNotFound
                ),
                "{error:?}"
            );
        }
    }

    /// Checks that every earlier text that the script has seen is still known.
    fn check_history(&self, editor: &Editor, path: &str) {
        // A document that nobody edited has no history.
        let Some(known) = editor.store.state().ledger.document(path).cloned() else {
            return;
        };
        for (at, number) in known.entries.iter().enumerate() {
            let revision = match editor.revision(&note(path), *number) {
                Ok(revision) => revision,
                // A text that was not stored when another program changed it.
                Err(EditorError::TextUnknown) if at < known.chain_start => continue,
                Err(error) => panic!("{path} {number}: {error:?}"),
            };
            if let Some(after) = &self.made[number].after {
                assert_eq!(
                    revision.bytes.as_ref(),
                    after.bytes.get(&revision.path),
                    "{path} {number}"
                );
            }
        }
    }
}

/// Checks that an id kept through a foreign edit names a section that shares something with the old one.
fn check_kept(before: &[Known], after: &[Known]) {
    fn path_of(all: &[Known], one: &Known) -> Vec<String> {
        let parent = one.parent.as_ref();
        let above = parent.and_then(|id| all.iter().find(|known| known.id == *id));
        let mut path = above.map_or_else(Vec::new, |above| path_of(all, above));
        path.push(one.heading.clone());
        path
    }
    let key = |all: &[Known], one: &Known| (path_of(all, one), one.content.clone());
    let count = |all: &[Known], wanted: &(Vec<String>, String)| {
        all.iter().filter(|one| key(all, one) == *wanted).count()
    };
    for old in before {
        let wanted = key(before, old);
        if count(before, &wanted) == 1 && count(after, &wanted) == 1 {
            let new = after.iter().find(|one| key(after, one) == wanted).unwrap();
            assert_eq!(new.id, old.id, "nothing happened to {wanted:?}");
        }
        if let Some(new) = after.iter().find(|new| new.id == old.id) {
            let lines = |text: &str| -> BTreeSet<String> {
                let lines = text.split(['\n', '\r']).map(|line| line.trim().to_owned());
                lines.filter(|line| !line.is_empty()).collect()
            };
            let shares = !lines(&old.content).is_disjoint(&lines(&new.content));
            assert!(
                new.heading == old.heading || new.content == old.content || shares,
                "{old:?} became {new:?}"
            );
        }
    }
}
