//! Keeps the journal within bounds, and removes secrets from it for good.

use std::collections::HashMap;

use sectile_markdown::{Source, align, slug};

use super::DocumentHistory;
use crate::{
    NotePath,
    editor::{
        EditorError,
        read::past::before,
        store::{MOST_SIGHTED_SECTIONS, take_news},
    },
    fs::{PrivateFolder, RESCUED},
    ids,
    journal::{
        Bytes, Checkpoint, Entry, Header, LineOrigin, Prints, Record, Sighting, Splice, Step,
        VERSION,
    },
    ledger::{DocumentState, Ledger},
};

/// Number of deleted sections that are remembered as deleted when the journal is rewritten. Ids are never reused, so
/// forgetting one costs a better error message and nothing else.
const MOST_DELETED: usize = 50_000;
/// Shortest prefix of a secret, at the end of an id, that gives anything away.
const TELLING_PREFIX: usize = 8;

impl DocumentHistory {
    /// Shortens the journal when it has grown beyond its limit and to twice the length that the last rewrite left, so
    /// that a journal that cannot get shorter is not rewritten with every change.
    pub(crate) fn shorten_journal_if_needed(&self) {
        let cut = {
            let state = self.store.state();
            let left_last_time = state
                .journal
                .header()
                .map_or(0, |header| header.rewritten_bytes);
            let limit = self.max_journal_bytes.max(left_last_time.saturating_mul(2));
            if state.journal.len() <= limit {
                return;
            }
            let mut kept = 0;
            let mut cut = state.ledger.next().entry;
            for card in state.ledger.entries().rev() {
                kept += card.len as u64;
                if kept > self.max_journal_bytes / 2 {
                    break;
                }
                cut = card.number;
            }
            cut
        };
        // A journal that is too long still works, so after a failure this can wait until the next time.
        match self.drop_entries_before(cut, None) {
            Ok(()) | Err(_) => {}
        }
    }

    /// Forgets history, and verifies that it is gone.
    pub(crate) fn purge(
        &self,
        path: Option<&NotePath>,
        text: Option<&str>,
    ) -> Result<usize, EditorError> {
        let text = text.filter(|text| !text.is_empty());
        let folder = self.folder.private()?;
        // Leftovers of a process that died may hold the text too.
        self.store.recover()?;
        let numbers: Vec<u64> = {
            let state = self.store.current_state()?;
            if state.ledger.foreign_lines() > 0 {
                return Err(EditorError::ForeignHistory);
            }
            state.ledger.entries().map(|card| card.number).collect()
        };
        let document = match path {
            Some(path) => {
                let real = self.folder.locate(path)?.path().clone();
                let state = self.store.state();
                let known = state.ledger.document(real.as_str());
                Some(known.map(|known| known.id).unwrap_or_default())
            }
            None => None,
        };
        let mut cut = 0;
        for number in &numbers {
            // An entry that cannot be read does not survive the rewrite.
            let Ok(entry) = self.store.entry(*number) else {
                continue;
            };
            let concerns = document
                .is_none_or(|document| entry.steps.iter().any(|step| step.document == document));
            if concerns && text.is_none_or(|text| holds(&entry, text)) {
                cut = number + 1;
            }
        }
        if let Some(text) = text {
            self.check_gone(text)?;
            cut = cut.max(self.last_state_with(document, text) + 1);
        }
        // Replaced files hold old texts. Whatever another program has written to them since is rescued, and checked
        // next.
        let swept = folder.sweep_displaced(None);
        swept?;
        // Ids contain words of headings, even in documents that were only read, so everything is rewritten in any case.
        self.drop_entries_before(cut, text)?;
        self.rewrite_sightings(&folder, text)?;
        self.drop_rescued(|number, bytes| {
            let is_all = path.is_none() && text.is_none();
            let holds = |text: &str| String::from_utf8_lossy(bytes).contains(text);
            is_all || number.is_some_and(|number| number < cut) || text.is_some_and(holds)
        })?;
        if let Some(text) = text {
            let found = folder.file_holding(&[text.as_bytes(), escaped(text).as_bytes()])?;
            if let Some(name) = found {
                return Err(EditorError::NotPurged { name });
            }
        }
        Ok(numbers.iter().filter(|number| **number < cut).count())
    }

    /// Returns the last entry before which a document held `text`, so that the history must not start there; 0 if there
    /// is none.
    fn last_state_with(&self, document: Option<u64>, text: &str) -> u64 {
        let documents: Vec<DocumentState> = {
            let state = self.store.state();
            state.ledger.documents().into_iter().cloned().collect()
        };
        let meant = |known: &&DocumentState| document.is_none_or(|document| known.id == document);
        let mut last = 0;
        for known in documents.iter().filter(meant) {
            let mut bytes = self.reader.text_of(known);
            for number in known.entries.iter().rev() {
                // A text that cannot be rebuilt is not kept either.
                let Ok(step) = self.store.step(*number, known.id) else {
                    break;
                };
                let Ok(older) = before(&step, bytes.as_deref()) else {
                    break;
                };
                let held = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains(text);
                if older.as_ref().is_some_and(held) {
                    last = last.max(*number);
                    break;
                }
                bytes = older;
            }
        }
        last
    }

    /// Rewrites the id file, without the words of `text`.
    fn rewrite_sightings(
        &self,
        folder: &PrivateFolder,
        text: Option<&str>,
    ) -> Result<(), EditorError> {
        let words = text.map(SecretWords::of);
        let _lock = self.store.lock_journal(folder)?;
        let mut state = self.store.state();
        take_news(&mut state, folder)?;
        state.sightings.rewrite(folder, |mut sighting| {
            if let Some(words) = &words {
                words.cleanse_all(&mut sighting.ids);
            }
            let holds = |text: &str| sighting.path.contains(text);
            (!text.is_some_and(holds)).then_some(sighting)
        })?;
        Ok(())
    }

    /// Removes the rescued files that `is_meant` selects by entry number and bytes.
    fn drop_rescued(
        &self,
        is_meant: impl Fn(Option<u64>, &[u8]) -> bool,
    ) -> Result<(), EditorError> {
        let folder = self.folder.private()?;
        for name in folder.rescued_files()? {
            let rest = name.strip_prefix(RESCUED).unwrap_or_default();
            let number = rest
                .split('-')
                .next()
                .and_then(|digits| digits.parse().ok());
            let bytes = folder.read_file(&name).unwrap_or_default();
            if is_meant(number, &bytes) {
                folder.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Refuses to forget text that a document still holds, because the next entry would bring it back.
    fn check_gone(&self, text: &str) -> Result<(), EditorError> {
        let paths: Vec<String> = {
            let state = self.store.state();
            let recorded = state.ledger.documents().into_iter();
            let recorded = recorded.filter_map(|known| known.path.clone());
            let mut paths: Vec<String> = recorded.chain(state.sightings.paths()).collect();
            paths.sort();
            paths
        };
        for path in paths {
            let Ok(note) = NotePath::parse_vault(&path) else {
                continue;
            };
            if let Ok(bytes) = self.folder.read(&note)
                && String::from_utf8_lossy(&bytes).contains(text)
            {
                return Err(EditorError::StillThere { path });
            }
        }
        Ok(())
    }

    /// Rewrites the journal without the entries before `cut`, and without the words of `text` in ids. A document
    /// without remaining entries moves to the id file. Damaged lines are dropped.
    fn drop_entries_before(&self, cut: u64, text: Option<&str>) -> Result<(), EditorError> {
        let words = text.map(SecretWords::of);
        let folder = self.folder.private()?;
        let _lock = self.store.lock_journal(&folder)?;
        take_news(&mut self.store.state(), &folder)?;
        let (header, deleted, documents, cards, pending) = {
            let state = self.store.state();
            let old = state.journal.header();
            let header = Header {
                version: VERSION,
                generation: old.map_or(0, |header| header.generation) + 1,
                created: self.store.now(),
                first_id: 0,
                first_entry: cut.max(state.ledger.first_entry()),
                rewritten_bytes: 0,
            };
            let documents: Vec<DocumentState> =
                state.ledger.documents().into_iter().cloned().collect();
            let kept = state.ledger.entries().filter(|card| card.number >= cut);
            let cards: Vec<(u64, LineOrigin)> =
                kept.map(|card| (card.number, card.origin)).collect();
            let deleted = remembered_deletions(&state.ledger);
            let pending = state.ledger.pending(None);
            (header, deleted, documents, cards, pending)
        };
        let mut origins: HashMap<u64, LineOrigin> = cards.iter().copied().collect();
        let mut entries: Vec<Entry> = Vec::with_capacity(cards.len());
        for (number, _) in &cards {
            match self.store.entry(*number) {
                Ok(entry) => entries.push(entry),
                // A damaged line loses its entry; where a chain breaks, a history ends.
                Err(EditorError::TextUnknown | EditorError::EntryNotFound) => {}
                Err(error) => return Err(error),
            }
        }
        let mut records = vec![Record::Checkpoint(Box::new(Checkpoint {
            deleted,
            ..Checkpoint::default()
        }))];
        let mut sightings = Vec::new();
        for known in documents.iter().filter(|known| known.id != 0) {
            match self.checkpoint(known, &mut entries) {
                RetainedRecord::Checkpoint(checkpoint) => {
                    records.push(Record::Checkpoint(checkpoint))
                }
                RetainedRecord::Sighting(sighting) => sightings.push(Record::Sighting(sighting)),
                RetainedRecord::Nothing => {}
            }
        }
        entries.retain(|entry| !entry.steps.is_empty());
        let done = entries.into_iter().map(|entry| Record::Done(entry.into()));
        records.extend(done);
        records.extend(pending.into_iter().map(|entry| {
            origins.insert(entry.number, LineOrigin::Own);
            Record::Intent(Box::new(entry))
        }));
        if let Some(words) = &words {
            records.iter_mut().for_each(|record| words.cleanse(record));
            sightings
                .iter_mut()
                .for_each(|record| words.cleanse(record));
        }
        let origin = |record: &Record| match record {
            Record::Done(entry) => origins.get(&entry.number).copied(),
            _ => Some(LineOrigin::Own),
        };
        let records: Vec<(LineOrigin, Record)> = records
            .into_iter()
            .map(|record| (origin(&record).unwrap_or(LineOrigin::Foreign), record))
            .collect();
        let mut state = self.store.state();
        state.sightings.append(&folder, &sightings)?;
        let lines = state.journal.rewrite(&folder, header, records)?;
        state.ledger = Ledger::counting_from(state.ledger.next());
        lines.into_iter().for_each(|line| state.ledger.apply(line));
        Ok(())
    }

    /// Returns the record to keep for a document: its state before the first of `entries` that concerns it, which gets
    /// a snapshot. If the text at that time cannot be rebuilt, its history ends now.
    fn checkpoint(&self, known: &DocumentState, entries: &mut [Entry]) -> RetainedRecord {
        let text = self.reader.text_of(known);
        let mut at = Checkpoint {
            document: known.id,
            path: known.path.clone(),
            hash: known.hash.clone(),
            created: known.created,
            ids: known.ids.clone(),
            ..Checkpoint::default()
        };
        let mut bytes = text.clone();
        let mut first = None;
        for (index, entry) in entries.iter().enumerate().rev() {
            let Some(step) = entry.steps.iter().find(|step| step.document == known.id) else {
                continue;
            };
            let older = match (&bytes, step.after.is_some()) {
                _ if step.after != at.hash => Err(EditorError::TextUnknown),
                (None, true) => Err(EditorError::TextUnknown),
                (bytes, _) => before(step, bytes.as_deref()),
            };
            let (Ok(older), Some(ids)) = (older, step.ids.inverse().apply(&at.ids)) else {
                drop_steps(entries, known.id);
                return without_entries(known, text.as_deref());
            };
            bytes = older;
            at.ids = ids;
            at.hash.clone_from(&step.before);
            at.path = step.before.as_ref().map(|_| step.path.clone());
            first = Some(index);
        }
        match first {
            Some(index) => {
                for step in &mut entries[index].steps {
                    if step.document == known.id {
                        step.snapshot = bytes.clone().map(Bytes);
                    }
                }
                RetainedRecord::Checkpoint(Box::new(at))
            }
            None => without_entries(known, text.as_deref()),
        }
    }
}

/// The record that is kept for a document when the journal is rewritten.
enum RetainedRecord {
    /// The document stays in the journal, starting from this state.
    Checkpoint(Box<Checkpoint>),
    /// The document no longer has a history, so only its ids are kept.
    Sighting(Box<Sighting>),
    /// The document no longer exists.
    Nothing,
}

/// Returns the record to keep for a document without entries.
fn without_entries(known: &DocumentState, text: Option<&[u8]>) -> RetainedRecord {
    let (Some(path), Some(hash)) = (&known.path, &known.hash) else {
        return RetainedRecord::Nothing;
    };
    let prints = match text {
        Some(text) => Prints::of(&align::fingerprints(text, &Source::new(text).parse())),
        None => known.prints.clone(),
    };
    let (path, hash) = (path.clone(), hash.clone());
    let (created, ids) = (known.created, known.ids.clone());
    if ids.len() <= MOST_SIGHTED_SECTIONS {
        return RetainedRecord::Sighting(Box::new(Sighting {
            path,
            hash,
            created,
            ids,
            prints,
            was_emptied: false,
        }));
    }
    RetainedRecord::Checkpoint(Box::new(Checkpoint {
        document: known.id,
        path: Some(path),
        hash: Some(hash),
        created,
        ids,
        prints,
        ..Checkpoint::default()
    }))
}

/// The sections that are remembered as deleted, in a deterministic order.
fn remembered_deletions(ledger: &Ledger) -> Vec<(String, u64)> {
    let mut deleted: Vec<(String, u64)> = ledger
        .deleted()
        .iter()
        .map(|(id, entry)| (id.clone(), *entry))
        .collect();
    deleted.sort_by(|(id, entry), (other_id, other)| (other, id).cmp(&(entry, other_id)));
    deleted.truncate(MOST_DELETED);
    deleted.sort();
    deleted
}

fn drop_steps(entries: &mut [Entry], document: u64) {
    for entry in entries {
        entry.steps.retain(|step| step.document != document);
    }
}

/// The words of the purged text, as they appear in ids.
struct SecretWords {
    slug: String,
}

impl SecretWords {
    fn of(text: &str) -> Self {
        Self { slug: slug(text) }
    }

    /// Returns whether the words of an id give the text away, or as much of it as fits into an id.
    fn stand_in(&self, id: &str) -> bool {
        let words = ids::words(id);
        let begins_at_end = |length: usize| {
            self.slug
                .get(..length)
                .is_some_and(|start| words.ends_with(start))
        };
        !self.slug.is_empty()
            && (words.contains(&self.slug) || (TELLING_PREFIX..self.slug.len()).any(begins_at_end))
    }

    fn cleanse_all(&self, ids: &mut [String]) {
        for id in ids.iter_mut().filter(|id| self.stand_in(id)) {
            *id = ids::without_words(id);
        }
    }

    fn cleanse_step(&self, step: &mut Step) {
        let Splice {
            removed, inserted, ..
        } = &mut step.ids;
        for ids in [removed, inserted, &mut step.touched, &mut step.section_ids] {
            self.cleanse_all(ids);
        }
        for mark in &mut step.marks {
            self.cleanse_all(std::slice::from_mut(&mut mark.id));
        }
    }

    /// Removes the words from the ids of a record.
    fn cleanse(&self, record: &mut Record) {
        match record {
            Record::Checkpoint(checkpoint) => {
                self.cleanse_all(&mut checkpoint.ids);
                checkpoint.deleted.retain(|(id, _)| !self.stand_in(id));
            }
            Record::Sighting(sighting) => self.cleanse_all(&mut sighting.ids),
            Record::Intent(entry) | Record::Done(entry) => {
                entry
                    .steps
                    .iter_mut()
                    .for_each(|step| self.cleanse_step(step));
            }
            Record::Adopt(adopt) => {
                for mark in &mut adopt.sections {
                    self.cleanse_all(std::slice::from_mut(&mut mark.id));
                }
            }
            Record::Header(_)
            | Record::Commit { .. }
            | Record::Abort { .. }
            | Record::Forget { .. } => {}
        }
    }
}

/// Returns `text` as it appears inside a string of the journal.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_matches('"').to_owned()
}

fn holds(entry: &Entry, text: &str) -> bool {
    let within = |bytes: &Bytes| String::from_utf8_lossy(&bytes.0).contains(text);
    let in_step = |step: &Step| {
        let mut changes = step.changes.iter().flatten();
        step.snapshot.as_ref().is_some_and(within)
            || changes.any(|(_, old, new)| within(old) || within(new))
            || step.marks.iter().any(|mark| mark.heading.contains(text))
            || step.path.contains(text)
            || step
                .moved_to
                .as_ref()
                .is_some_and(|path| path.contains(text))
    };
    let said = [
        Some(&entry.actor),
        Some(&entry.operation),
        entry.reason.as_ref(),
    ];
    let request = entry.request.as_ref().map(|request| &request.id);
    let mut said = said.into_iter().chain([request]).flatten();
    said.any(|said| said.contains(text)) || entry.steps.iter().any(in_step)
}
