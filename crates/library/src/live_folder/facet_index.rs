//! The notes of a folder by their tags, fields, folders and tasks, so that a filter need not look at all of them.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use sectile_markdown::name_key;

use super::{
    folder_query::{Facet, value_key},
    note_table::{KeyKind, Table, TableKey},
};
use crate::live_folder::{FolderChanges, FolderContents, FolderQuery, NoteRecord};

/// The notes of a folder by what filters ask for. Copies are cheap and share what is equal.
#[derive(Clone, Debug, Default)]
pub struct FacetIndex {
    notes: Table<Arc<NoteRecord>>,
}

impl FacetIndex {
    /// Arranges all notes.
    pub(super) fn new(contents: &FolderContents) -> Self {
        let mut index = Self::default();
        contents.notes.iter().for_each(|note| index.add(note));
        index
    }

    /// Brings it up to date.
    pub(super) fn apply(&mut self, changes: &FolderChanges) {
        for change in &changes.notes {
            if let Some(before) = &change.before {
                for key in keys_of(before) {
                    self.notes.remove(key, &before.path);
                }
            }
            if let Some(after) = &change.after {
                self.add(after);
            }
        }
    }

    fn add(&mut self, note: &Arc<NoteRecord>) {
        for key in keys_of(note) {
            self.notes.insert(key, note);
        }
    }

    /// Returns whether any note has a field of this name, or fields inside one.
    pub fn has_field(&self, name: &str) -> bool {
        let key = key_of(&Facet::Field(name_key(name)));
        !self.notes.get(key).is_empty()
    }

    /// Returns notes, sorted by path, among which are all that a query can match; `None` if these are all notes. A
    /// query with words searches only in them.
    pub fn candidates(&self, query: &FolderQuery) -> Option<&[Arc<NoteRecord>]> {
        let wanted = query.facets().filter(|(_, excludes)| !excludes);
        let lists = wanted.map(|(facet, _)| self.notes.get(key_of(&facet)));
        lists.min_by_key(|list| list.len())
    }

    /// Returns those of `notes`, which are all notes of the folder, that pass the filters of a query, in their order.
    pub fn select<'n>(
        &'n self,
        query: &FolderQuery,
        notes: &'n [Arc<NoteRecord>],
    ) -> Vec<&'n Arc<NoteRecord>> {
        if let Some(candidates) = self.candidates(query) {
            let found = candidates.iter().filter(|note| query.matches(note));
            return found.collect();
        }
        // What is excluded is looked up, so that only dates have to be compared in every note.
        let excluded: HashSet<*const NoteRecord> = query
            .facets()
            .filter(|(_, excludes)| *excludes)
            .flat_map(|(facet, _)| self.notes.get(key_of(&facet)))
            .filter(|note| query.is_excluded(note))
            .map(Arc::as_ptr)
            .collect();
        let is_in = |note: &&Arc<NoteRecord>| {
            !excluded.contains(&Arc::as_ptr(note)) && query.matches_rest(note)
        };
        notes.iter().filter(is_in).collect()
    }
}

/// Returns the tags of `notes` and the number of notes that have each, most used first. Letter case does not matter.
pub fn tag_counts(notes: &[Arc<NoteRecord>]) -> Vec<(String, usize)> {
    let tags = notes.iter().flat_map(|note| &note.properties.tags);
    counted(tags.map(String::as_str))
}

/// Returns the fields of `notes` and the number of notes that have each, most used first. Letter case does not matter.
pub fn field_counts(notes: &[Arc<NoteRecord>]) -> Vec<(String, usize)> {
    let fields = notes.iter().flat_map(|note| &note.properties.fields);
    counted(fields.map(|field| field.name.as_str()))
}

fn counted<'n>(names: impl Iterator<Item = &'n str>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for name in names {
        counts.entry(name_key(name)).or_insert((name, 0)).1 += 1;
    }
    let counts = counts.into_values();
    let mut counts: Vec<(String, usize)> = counts
        .map(|(name, count)| (name.to_owned(), count))
        .collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts
}

fn key_of(facet: &Facet) -> TableKey {
    match facet {
        Facet::Tag(tag) => TableKey::new(KeyKind::Tag, tag),
        Facet::Folder(folder) => TableKey::new(KeyKind::Folder, folder),
        Facet::Field(name) => TableKey::new(KeyKind::Field, name),
        Facet::Value(value) => TableKey::new(KeyKind::Value, value),
        Facet::Task(kind) => TableKey::new(KeyKind::Task, kind),
    }
}

/// Returns the keys of all facets of a note.
fn keys_of(note: &NoteRecord) -> HashSet<TableKey> {
    let mut keys = HashSet::new();
    let mut add = |facet: Facet| keys.insert(key_of(&facet));
    for tag in &note.properties.tags {
        for part in parts(&name_key(tag), '/') {
            add(Facet::Tag(part.to_owned()));
        }
    }
    for folder in note
        .path
        .folder()
        .iter()
        .flat_map(|folder| parts(folder, '/'))
    {
        add(Facet::Folder(name_key(folder)));
    }
    for field in &note.properties.fields {
        let name = name_key(&field.name);
        for value in &field.values {
            add(Facet::value(&name, &value_key(value)));
        }
        for part in parts(&name, '.') {
            add(Facet::Field(part.to_owned()));
        }
    }
    for task in &note.properties.tasks {
        add(Facet::task(task.is_done));
    }
    keys
}

/// Returns `name` and everything above it: `a/b` and `a`.
fn parts(name: &str, separator: char) -> Vec<&str> {
    let above = name.match_indices(separator).map(|(at, _)| &name[..at]);
    above.chain([name]).collect()
}

#[cfg(test)]
mod tests;
