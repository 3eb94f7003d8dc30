//! The ids of documents that were read and never edited.
//!
//! They are in a file of their own, so that reading does not touch the journal: one line for each document, replaced
//! when the document changes and dropped when it is first edited. The file is rewritten when half of it is stale, so it
//! grows with the folder and not with the number of reads. Losing it costs ids, never text.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    fs::PrivateFolder,
    ids,
    journal::{
        Durability, Header, IDS, Journal, JournalError, JournalKey, JournalUpdate, Line,
        LineOrigin, Record, Sighting,
    },
};

/// The contents of the id file.
#[derive(Debug)]
pub(crate) struct Sightings {
    file: Journal,
    cards: HashMap<String, SightingCard>,
    /// The paths of documents, by the digest of their bytes.
    by_hash: HashMap<String, BTreeSet<String>>,
    /// The paths of documents that hold ids of a batch.
    by_batch: HashMap<u64, BTreeSet<String>>,
    /// Number of bytes of the file that are not stale.
    live: u64,
}

/// A sighting without its ids, and their location.
#[derive(Clone, Debug)]
pub(crate) struct SightingCard {
    pub(crate) hash: String,
    pub(crate) created: Option<i64>,
    pub(crate) offset: u64,
    len: usize,
    batches: BTreeSet<u64>,
}

/// Number of stale bytes below which rewriting the file does not pay off.
const WORTH_REWRITING: u64 = 256 << 10;

impl Sightings {
    pub(crate) fn new(key: JournalKey) -> Self {
        Self {
            file: Journal::new(IDS, key),
            cards: HashMap::new(),
            by_hash: HashMap::new(),
            by_batch: HashMap::new(),
            live: 0,
        }
    }

    /// Forgets everything, because the file no longer exists.
    pub(crate) fn forget(&mut self) {
        self.file.forget();
        self.clear();
    }

    fn clear(&mut self) {
        self.cards.clear();
        self.by_hash.clear();
        self.by_batch.clear();
        self.live = 0;
    }

    /// Reads what other processes have written.
    pub(crate) fn take_news(&mut self, folder: &PrivateFolder) -> Result<(), JournalError> {
        let read = match self.file.news(folder)? {
            JournalUpdate::More(read) => read,
            JournalUpdate::Anew(read) => {
                self.clear();
                read
            }
        };
        // A damaged line means a document whose sections get new ids.
        read.lines.into_iter().for_each(|line| self.apply(line));
        Ok(())
    }

    fn apply(&mut self, line: Line) {
        match line.record {
            Record::Sighting(sighting) => {
                if line.origin == LineOrigin::Foreign && !self.is_sound(&sighting) {
                    return;
                }
                self.remove(&sighting.path);
                let card = SightingCard {
                    hash: sighting.hash,
                    created: sighting.created,
                    offset: line.offset,
                    len: line.len,
                    batches: sighting
                        .ids
                        .iter()
                        .filter_map(|id| ids::batch(id))
                        .collect(),
                };
                let path = sighting.path;
                let same = self.by_hash.entry(card.hash.clone()).or_default();
                same.insert(path.clone());
                for batch in &card.batches {
                    let holders = self.by_batch.entry(*batch).or_default();
                    holders.insert(path.clone());
                }
                self.live += card.len as u64;
                self.cards.insert(path, card);
            }
            Record::Forget { path } => self.remove(&path),
            _ => {}
        }
    }

    /// Returns whether the ids of a sighting are distinct, and no other document holds any of their batches.
    fn is_sound(&self, sighting: &Sighting) -> bool {
        let distinct: HashSet<&String> = sighting.ids.iter().collect();
        let is_free = |id: &String| {
            let holders = ids::batch(id).and_then(|batch| self.by_batch.get(&batch));
            holders.is_none_or(|paths| paths.iter().all(|path| *path == sighting.path))
        };
        distinct.len() == sighting.ids.len() && sighting.ids.iter().all(is_free)
    }

    fn remove(&mut self, path: &str) {
        let Some(card) = self.cards.remove(path) else {
            return;
        };
        self.live -= card.len as u64;
        drop_from(&mut self.by_hash, &card.hash, path);
        for batch in &card.batches {
            drop_from(&mut self.by_batch, batch, path);
        }
    }

    /// Returns the record of the document at `path`.
    pub(crate) fn card(&self, path: &str) -> Option<&SightingCard> {
        self.cards.get(path)
    }

    /// Returns the paths of all documents, in no particular order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        self.cards.keys().cloned()
    }

    /// Returns the number of documents.
    pub(crate) fn len(&self) -> usize {
        self.cards.len()
    }

    /// Returns the paths of documents with this digest, in order.
    pub(crate) fn paths_with_hash(&self, hash: &str) -> Vec<String> {
        let paths = self.by_hash.get(hash).into_iter().flatten();
        paths.cloned().collect()
    }

    /// Returns the paths of documents that may hold the section with this id.
    pub(crate) fn paths_for_id(&self, id: &str) -> Vec<String> {
        let holders = ids::batch(id).and_then(|batch| self.by_batch.get(&batch));
        holders.into_iter().flatten().cloned().collect()
    }

    /// Returns whether ids of this batch were handed out.
    pub(crate) fn has_batch(&self, batch: u64) -> bool {
        self.by_batch.contains_key(&batch)
    }

    /// Reads the full sighting of the document at `path`.
    pub(crate) fn load(
        &self,
        folder: &PrivateFolder,
        path: &str,
    ) -> Result<Option<Sighting>, JournalError> {
        let Some(card) = self.cards.get(path) else {
            return Ok(None);
        };
        match self.file.read_at(folder, card.offset, card.len)? {
            Some(Record::Sighting(sighting)) if sighting.path == path => Ok(Some(*sighting)),
            _ => Ok(None),
        }
    }

    /// Appends records. The caller holds the journal's lock and has read all news.
    pub(crate) fn append(
        &mut self,
        folder: &PrivateFolder,
        records: &[Record],
    ) -> Result<(), JournalError> {
        if records.is_empty() {
            return Ok(());
        }
        let is_new = self.file.len() == 0;
        let header = is_new.then(|| Record::Header(Header::default()));
        let records: Vec<Record> = header.into_iter().chain(records.iter().cloned()).collect();
        // Flushing for every document that is read would be a high price for ids that can be handed out again.
        let lines = self.file.append(folder, &records, Durability::Written)?;
        lines.into_iter().for_each(|line| self.apply(line));
        let surplus = self.file.len().saturating_sub(self.live);
        if surplus > WORTH_REWRITING.max(self.live) {
            self.rewrite(folder, Some)?;
        }
        Ok(())
    }

    /// Rewrites the file with the result of `keep` for each sighting.
    pub(crate) fn rewrite(
        &mut self,
        folder: &PrivateFolder,
        keep: impl Fn(Sighting) -> Option<Sighting>,
    ) -> Result<(), JournalError> {
        let paths: BTreeSet<String> = self.cards.keys().cloned().collect();
        let mut records = Vec::with_capacity(paths.len());
        for path in &paths {
            if let Some(sighting) = self.load(folder, path)?.and_then(&keep) {
                records.push((LineOrigin::Own, Record::Sighting(Box::new(sighting))));
            }
        }
        let header = self.file.header().cloned().unwrap_or_default();
        let lines = self.file.rewrite(folder, header, records)?;
        self.clear();
        lines.into_iter().for_each(|line| self.apply(line));
        Ok(())
    }
}

fn drop_from<K: std::hash::Hash + Eq>(map: &mut HashMap<K, BTreeSet<String>>, key: &K, path: &str) {
    if let Some(paths) = map.get_mut(key) {
        paths.remove(path);
        if paths.is_empty() {
            map.remove(key);
        }
    }
}
