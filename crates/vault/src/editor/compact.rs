//! Keeping the journal within bounds, and taking secrets out of it for good.

use std::time::Instant;

use sectile_markdown::{Source, align};

use super::{
    Editor, EditorError,
    history::before,
    store::{JOURNAL_LOCK, take_news},
    view::marks,
};
use crate::{
    NotePath,
    fs::RESCUED,
    journal::{Bytes, Checkpoint, Entry, Header, Mark, Record, VERSION},
    ledger::DocumentState,
};

impl Editor {
    /// Shortens the journal when it has grown too long. A journal with damage is left alone.
    pub(super) fn shorten_journal_if_needed(&self) {
        let cut = {
            let state = self.state();
            if state.journal.len() <= self.limits.max_journal_bytes
                || !state.ledger.damage().is_empty()
            {
                return;
            }
            let mut kept = 0;
            let mut cut = state.ledger.next().entry;
            for card in state.ledger.entries().rev() {
                kept += card.len as u64;
                if kept > self.limits.max_journal_bytes / 2 {
                    break;
                }
                cut = card.number;
            }
            cut
        };
        // A journal that is too long works as well as a short one, so a failure can wait for the next time.
        match self.drop_entries_before(cut) {
            Ok(()) | Err(_) => {}
        }
    }

    /// Forgets the history up to the last entry that holds `text`, or that concerns `path`, or all of it. Answers the
    /// number of entries that are gone. Rescued files that belong to these or hold the text go too.
    ///
    /// # Errors
    /// [`EditorError::StillThere`] when a document holds the text now; other errors when the journal cannot be written.
    pub fn purge(&self, path: Option<&NotePath>, text: Option<&str>) -> Result<usize, EditorError> {
        // What a process that died left half done may hold the text too.
        self.recover()?;
        let document = match path {
            Some(path) => {
                let real = self.locate(path)?.path().clone();
                let state = self.state();
                Some(
                    state
                        .ledger
                        .document(real.as_str())
                        .map(|known| known.id)
                        .ok_or(EditorError::DocumentNotFound)?,
                )
            }
            None => None,
        };
        let numbers: Vec<u64> = {
            let mut state = self.state();
            self.catch_up(&mut state)?;
            state.ledger.entries().map(|card| card.number).collect()
        };
        let mut cut = 0;
        for number in &numbers {
            let entry = self.entry(*number)?;
            let concerns = document
                .is_none_or(|document| entry.steps.iter().any(|step| step.document == document));
            if concerns && text.is_none_or(|text| holds(&entry, text)) {
                cut = number + 1;
            }
        }
        if let Some(text) = text {
            self.check_gone(text)?;
        }
        // Files that were replaced hold old texts. What another program wrote to them since is rescued, and looked at next.
        let swept = self.private()?.sweep_displaced(None);
        swept.map_err(|error| EditorError::io(&error))?;
        // Headings of documents that were only read stand in the journal too, so it is written anew in any case.
        self.drop_entries_before(cut)?;
        self.drop_rescued(|number, bytes| {
            let is_all = path.is_none() && text.is_none();
            let holds = |text: &str| String::from_utf8_lossy(bytes).contains(text);
            is_all || number.is_some_and(|number| number < cut) || text.is_some_and(holds)
        })?;
        Ok(numbers.iter().filter(|number| **number < cut).count())
    }

    /// Removes the rescued files that are meant, each told by the number of its entry and its bytes.
    fn drop_rescued(
        &self,
        is_meant: impl Fn(Option<u64>, &[u8]) -> bool,
    ) -> Result<(), EditorError> {
        let io = |error: std::io::Error| EditorError::io(&error);
        let folder = self.private()?;
        for name in folder.rescued_files().map_err(io)? {
            let rest = name.strip_prefix(RESCUED).unwrap_or_default();
            let number = rest
                .split('-')
                .next()
                .and_then(|digits| digits.parse().ok());
            let bytes = folder.read_file(&name).unwrap_or_default();
            if is_meant(number, &bytes) {
                folder.remove(&name).map_err(io)?;
            }
        }
        Ok(())
    }

    /// Refuses to forget a text that a document still holds: the next entry would bring it back.
    fn check_gone(&self, text: &str) -> Result<(), EditorError> {
        let paths: Vec<String> = {
            let state = self.state();
            let known = state.ledger.documents().into_iter();
            known.filter_map(|known| known.path.clone()).collect()
        };
        for path in paths {
            let Ok(note) = NotePath::parse_vault(&path) else {
                continue;
            };
            if let Ok(bytes) = self.read(&note)
                && String::from_utf8_lossy(&bytes).contains(text)
            {
                return Err(EditorError::StillThere { path });
            }
        }
        Ok(())
    }

    /// Writes the journal anew, without the entries before `cut`.
    fn drop_entries_before(&self, cut: u64) -> Result<(), EditorError> {
        let folder = self.private()?;
        let deadline = Instant::now() + self.limits.lock_timeout;
        let _lock = folder
            .lock(JOURNAL_LOCK, deadline, &|| false)
            .map_err(|error| EditorError::io(&error))?
            .ok_or(EditorError::Busy)?;
        take_news(&mut self.state(), &folder)?;
        let (mut records, documents, numbers, pending) = {
            let state = self.state();
            let old = state.journal.header();
            let header = Header {
                version: VERSION,
                generation: old.map_or(0, |header| header.generation) + 1,
                created: (self.clock)(),
                first_id: state.ledger.next().id,
                first_entry: cut.max(state.ledger.first_entry()),
            };
            let mut deleted: Vec<(String, u64)> = state
                .ledger
                .deleted()
                .iter()
                .map(|(id, entry)| (id.clone(), *entry))
                .collect();
            deleted.sort();
            let records = vec![
                Record::Header(header),
                Record::Checkpoint(Box::new(Checkpoint {
                    deleted,
                    ..Checkpoint::default()
                })),
            ];
            let documents: Vec<DocumentState> =
                state.ledger.documents().into_iter().cloned().collect();
            let kept = state.ledger.entries().map(|card| card.number);
            let numbers: Vec<u64> = kept.filter(|number| *number >= cut).collect();
            (records, documents, numbers, state.ledger.pending(None))
        };
        let mut entries = numbers
            .iter()
            .map(|number| self.entry(*number))
            .collect::<Result<Vec<Entry>, _>>()?;
        for known in documents.iter().filter(|known| known.id != 0) {
            let checkpoint = self.checkpoint(known, &mut entries)?;
            records.push(Record::Checkpoint(Box::new(checkpoint)));
        }
        entries.retain(|entry| !entry.steps.is_empty());
        records.extend(
            entries
                .into_iter()
                .map(|entry| Record::Done(Box::new(entry))),
        );
        records.extend(
            pending
                .into_iter()
                .map(|entry| Record::Intent(Box::new(entry))),
        );
        let mut state = self.state();
        let lines = state.journal.rewrite(&folder, &records)?;
        state.ledger = crate::ledger::Ledger::counting_from(state.ledger.next());
        lines.into_iter().for_each(|line| state.ledger.apply(line));
        Ok(())
    }

    /// A document before the first of `entries` that concerns it, which gets a snapshot. Where the text of that time
    /// cannot be made, its history ends now.
    fn checkpoint(
        &self,
        known: &DocumentState,
        entries: &mut [Entry],
    ) -> Result<Checkpoint, EditorError> {
        let now = Checkpoint {
            document: known.id,
            path: known.path.clone(),
            hash: known.hash.clone(),
            created: known.created,
            ids: known.ids.clone(),
            deleted: Vec::new(),
            marks: known.marks.clone(),
        };
        let text = self.text_of(known);
        let mut at = now.clone();
        let mut bytes = text.clone();
        let mut first = None;
        for (index, entry) in entries.iter().enumerate().rev() {
            let Some(step) = entry.steps.iter().find(|step| step.document == known.id) else {
                continue;
            };
            let older = match (&bytes, step.after.is_some()) {
                (None, true) => Err(EditorError::TextUnknown),
                (bytes, _) => before(step, bytes.as_deref()),
            };
            let (Ok(older), Some(ids)) = (older, step.ids.inverse().apply(&at.ids)) else {
                drop_steps(entries, known.id);
                return Ok(with_marks(now, text.as_deref()));
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
                at.marks = Vec::new();
                Ok(at)
            }
            None => Ok(with_marks(at, text.as_deref())),
        }
    }
}

fn drop_steps(entries: &mut [Entry], document: u64) {
    for entry in entries {
        entry.steps.retain(|step| step.document != document);
    }
}

fn with_marks(mut checkpoint: Checkpoint, text: Option<&[u8]>) -> Checkpoint {
    if let Some(text) = text {
        let prints = align::fingerprints(text, &Source::new(text).parse());
        let made: Vec<Mark> = marks(&checkpoint.ids, &prints);
        checkpoint.marks = made;
    }
    checkpoint
}

fn holds(entry: &Entry, text: &str) -> bool {
    let within = |bytes: &Bytes| String::from_utf8_lossy(&bytes.0).contains(text);
    entry
        .reason
        .as_deref()
        .is_some_and(|reason| reason.contains(text))
        || entry.steps.iter().any(|step| {
            step.snapshot.as_ref().is_some_and(within)
                || step
                    .changes
                    .iter()
                    .flatten()
                    .any(|(_, old, new)| within(old) || within(new))
                || step.marks.iter().any(|mark| mark.heading.contains(text))
                || step.path.contains(text)
        })
}
