//! Folders in memory for the tests of their indexes.

use std::{collections::BTreeMap, sync::Arc};

use sectile_markdown::NotePath;

use crate::{
    live_folder::{FolderChanges, FolderContents, NoteChange, NoteRecord},
    storage::NotebookStamp,
};

pub(super) fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

pub(super) fn note(at: &str, text: &str) -> Arc<NoteRecord> {
    let stamp = NotebookStamp {
        bytes: text.len() as u64,
        ..NotebookStamp::default()
    };
    Arc::new(NoteRecord::new(path(at), stamp, text.as_bytes()))
}

/// Texts by path. Whatever does not end in `.md` or `.markdown` is another file.
pub(super) type Texts = BTreeMap<String, String>;

fn is_note(path: &str) -> bool {
    path.ends_with(".md") || path.ends_with(".markdown")
}

/// Returns a folder with these files.
pub(super) fn contents(texts: &Texts) -> FolderContents {
    let mut contents = FolderContents::default();
    for (at, text) in texts {
        let mut above = at.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            contents.folders.push(path(folder));
            above = folder;
        }
        match is_note(at) {
            true => contents.notes.push(note(at, text)),
            false => contents.others.push(path(at)),
        }
    }
    contents
        .notes
        .sort_by(|one, other| one.path.cmp(&other.path));
    contents.others.sort();
    contents.folders.sort();
    contents.folders.dedup();
    contents
}

/// Returns what leads from one state to another. Records that did not change are taken over.
pub(super) fn changes(before: &FolderContents, after: &mut FolderContents) -> FolderChanges {
    let mut changes = FolderChanges::default();
    let find = |contents: &FolderContents, path: &NotePath| {
        let notes = contents.notes.iter();
        notes.into_iter().find(|note| note.path == *path).cloned()
    };
    for note in &mut after.notes {
        match find(before, &note.path) {
            Some(known) if known == *note => *note = known,
            known => changes.notes.push(NoteChange {
                before: known,
                after: Some(Arc::clone(note)),
            }),
        }
    }
    for note in &before.notes {
        if find(after, &note.path).is_none() {
            changes.notes.push(NoteChange {
                before: Some(Arc::clone(note)),
                after: None,
            });
        }
    }
    let only = |one: &[NotePath], other: &[NotePath]| -> Vec<NotePath> {
        let only = one.iter().filter(|path| !other.contains(path));
        only.cloned().collect()
    };
    changes.others = only(&before.others, &after.others);
    changes.others.extend(only(&after.others, &before.others));
    changes
}

/// Returns a folder with notes of these texts.
pub(super) fn texts(files: &[(&str, &str)]) -> Texts {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}
