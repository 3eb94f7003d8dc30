//! The notes that may have a passage: those that the index proposes, and, where it found nothing, all of them.

use std::sync::Arc;

use sectile_markdown::{NotePath, TextFolding};

use super::{
    MAX_PLACES, OpenPassage, QuoteCheck,
    locate::{ComparedNote, WantedPassage},
    place,
};
use crate::{error::LibraryError, live_folder::FolderState};

/// The most words of a passage that the index is asked for side by side. More find the same notes, and a passage may be
/// cut where the index cuts.
const MAX_PHRASE_WORDS: usize = 8;

/// A search for passages in all folders.
pub(super) struct CandidateSearch<'a> {
    check: &'a QuoteCheck<'a>,
    states: Vec<Arc<FolderState>>,
}

impl<'a> CandidateSearch<'a> {
    /// Brings the indexes of all folders up to date.
    pub(super) fn new(check: &'a QuoteCheck<'a>) -> Result<Self, LibraryError> {
        let states = check.folders.iter();
        let states = states.map(|folder| folder.index.complete(check.stop));
        Ok(Self {
            check,
            states: states.collect::<Result<_, _>>()?,
        })
    }

    /// Looks for a passage in the notes that have the words of its longest line.
    pub(super) fn propose(&self, passage: &mut OpenPassage) -> Result<(), LibraryError> {
        let line = without_marks(passage.wanted.longest_line());
        let words: Vec<&str> = line.split_whitespace().take(MAX_PHRASE_WORDS).collect();
        let phrase = words.join(" ");
        let most = self.check.limits.candidates;
        for (folder, state) in self.states.iter().enumerate() {
            let Some(mut paths) = state.notes_with(&phrase, Some(&phrase), most)? else {
                continue;
            };
            passage.has_more |= paths.len() == most;
            paths.sort();
            for path in paths {
                self.check.go_on()?;
                if let Some(bytes) = state.read(&path) {
                    self.look(passage, folder, &path, &ComparedNote::new(&bytes));
                }
            }
        }
        Ok(())
    }

    /// Looks for the passages that were not found in all notes. Returns the number of notes that were not read.
    pub(super) fn scan(&self, open: &mut [Option<OpenPassage>]) -> Result<usize, LibraryError> {
        let is_missing = |passage: &OpenPassage| passage.places.is_empty();
        let mut missing: Vec<&mut OpenPassage> = open.iter_mut().flatten().collect();
        missing.retain(|passage| is_missing(passage));
        if missing.is_empty() {
            return Ok(0);
        }
        let mut left = self.check.limits.scanned_bytes;
        let mut unread = 0;
        for (folder, state) in self.states.iter().enumerate() {
            for note in state.notes() {
                self.check.go_on()?;
                let bytes = left
                    .checked_sub(note.stamp.bytes)
                    .and_then(|_| state.read(&note.path));
                let Some(bytes) = bytes else {
                    unread += 1;
                    continue;
                };
                left = left.saturating_sub(bytes.len() as u64);
                let compared = ComparedNote::new(&bytes);
                for passage in &mut missing {
                    self.look(passage, folder, &note.path, &compared);
                }
            }
        }
        Ok(unread)
    }

    /// Returns the notes that have most words of a passage.
    pub(super) fn alike(
        &self,
        wanted: &WantedPassage,
    ) -> Result<Vec<(usize, NotePath)>, LibraryError> {
        let text = without_marks(&wanted.read(TextFolding::ALL));
        let mut alike = Vec::new();
        for (folder, state) in self.states.iter().enumerate() {
            let paths = state.notes_with(&text, None, self.check.limits.compared)?;
            let mut paths = paths.unwrap_or_default();
            paths.sort();
            alike.extend(paths.into_iter().map(|path| (folder, path)));
        }
        Ok(alike)
    }

    /// Adds the places of a passage in one note. `note` says whether the document is worth viewing; only what the editor
    /// reads then counts.
    fn look(
        &self,
        passage: &mut OpenPassage,
        folder: usize,
        path: &NotePath,
        note: &ComparedNote<'_>,
    ) {
        if passage.places.len() >= MAX_PLACES {
            passage.has_more = true;
            return;
        }
        let is_there = !passage.wanted.find_in(note, note.whole()).is_empty();
        let view = is_there.then(|| self.check.view(folder, path)).flatten();
        let Some(view) = view else {
            return;
        };
        let now = ComparedNote::new(view.bytes());
        for found in passage.wanted.find_in(&now, now.whole()) {
            if passage.places.len() >= MAX_PLACES {
                passage.has_more = true;
                return;
            }
            passage.places.extend(place(folder, &view, &found));
        }
    }
}

/// Returns text without quotation marks, between which a query requires words side by side.
fn without_marks(text: &str) -> String {
    let is_mark = |c: char| matches!(c, '"' | '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}');
    text.replace(is_mark, " ")
}
