//! The aliases of documents: names in their front matter that wiki links may use where no file has the name.

use std::collections::{BTreeSet, HashMap};

use sectile_markdown::{Source, aliases, name_key};

use super::snapshot::{LinkSnapshot, Side};
use crate::{NotePath, editor::EditorError, work};

/// The documents without a draft, by alias.
#[derive(Debug, Default)]
pub(super) struct Aliases(HashMap<String, BTreeSet<String>>);

/// Usual upper bound of front matter in bytes; the rest of a document need not be read for its aliases.
const USUAL_FRONT_MATTER: u64 = 8 << 10;

impl Aliases {
    pub(super) fn read(world: &LinkSnapshot<'_>) -> Result<Self, EditorError> {
        let mut found = Self::default();
        let documents = world.documents()?;
        let others = documents
            .iter()
            .filter(|path| world.draft_from(path.as_str()).is_none());
        for path in others {
            if (world.stop)() {
                return Err(EditorError::Cancelled);
            }
            work::count(1);
            // A document that cannot be read is reported when its links are scanned.
            for alias in front_matter_of(world, path)
                .as_deref()
                .map(of)
                .unwrap_or_default()
            {
                let there = found.0.entry(alias).or_default();
                there.insert(path.as_str().to_owned());
            }
        }
        Ok(found)
    }
}

/// Returns the aliases in the document `bytes`, normalized as names are for comparison.
pub(super) fn of(bytes: &[u8]) -> Vec<String> {
    let mut keys: Vec<String> = aliases(&Source::new(bytes))
        .iter()
        .map(|alias| name_key(alias))
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Returns the start of a document, with all of its front matter.
fn front_matter_of(world: &LinkSnapshot<'_>, path: &NotePath) -> Option<Vec<u8>> {
    let start = world
        .folder
        .root
        .read_start(path, USUAL_FRONT_MATTER)
        .ok()?;
    let is_cut = start.len() as u64 == USUAL_FRONT_MATTER;
    let begins = start.starts_with(b"---") || start.starts_with(b"\xef\xbb\xbf---");
    if is_cut && begins && Source::new(&start).front_matter().is_none() {
        return world.folder.read(path).ok();
    }
    Some(start)
}

impl LinkSnapshot<'_> {
    /// The paths of the documents with the alias `name`, sorted.
    pub(super) fn by_alias(&self, side: Side, name: &str) -> Vec<String> {
        let key = name_key(name);
        let mut found: Vec<String> = self
            .drafts
            .iter()
            .filter(|drafted| drafted.aliases(side).binary_search(&key).is_ok())
            .filter_map(|drafted| Some(side.path(drafted.draft)?.as_str().to_owned()))
            .collect();
        let known = self
            .source()
            .and_then(|source| source.documents_with_alias(name, self.documents().ok()?));
        if let Some(known) = known {
            let others = known.into_iter().filter(|path| {
                self.draft_from(path.as_str()).is_none() && !self.folder.is_hidden(path)
            });
            let paths: BTreeSet<NotePath> = others.collect();
            let has_alias = |path: &NotePath| {
                work::count(1);
                let start = front_matter_of(self, path);
                start.is_some_and(|start| of(&start).binary_search(&key).is_ok())
            };
            let paths = paths.into_iter().filter(has_alias);
            found.extend(paths.map(|path| path.as_str().to_owned()));
        } else if let Ok(aliases) = self.aliases() {
            // A failure is reported by `trouble`.
            found.extend(aliases.0.get(&key).into_iter().flatten().cloned());
        }
        found.sort();
        found
    }
}
