//! The state that the journal's lines add up to: the documents, the ids of their sections, and their history entries.
//!
//! The ledger is a function of the journal's lines and nothing else. Every process that reads the same journal has the
//! same ledger; memory only holds a copy.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{
    ids,
    journal::{
        Adoption, Checkpoint, Damage, Entry, EntryKind, FolderMove, Header, JournalBatch, Line,
        LineOrigin, Mark, Prints, Record, Splice, Step,
    },
};

/// The state of a root, according to its journal.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    documents: HashMap<u64, DocumentState>,
    by_path: HashMap<String, u64>,
    /// The document that holds the section, by id.
    by_id: HashMap<String, u64>,
    /// Ids of deleted sections, with the entry that deleted them.
    deleted: HashMap<String, u64>,
    entries: BTreeMap<u64, EntryCard>,
    /// The entries that were undone and not redone.
    taken_back: HashSet<u64>,
    pending: BTreeMap<u64, PendingIntent>,
    requests: HashMap<String, (String, u64)>,
    /// The batches of all ids that were ever handed out.
    batches: HashSet<u64>,
    next: Numbers,
    first_entry: u64,
    damage: Vec<Damage>,
    foreign_lines: usize,
}

/// The next free number of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) entry: u64,
    pub(crate) document: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            entry: 1,
            document: 1,
        }
    }
}

/// The state of a document, according to the journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentState {
    pub(crate) id: u64,
    /// `None` if it was deleted.
    pub(crate) path: Option<String>,
    /// Digest of its bytes; `None` if it was deleted.
    pub(crate) hash: Option<String>,
    /// When its file was created, in milliseconds since 1970.
    pub(crate) created: Option<i64>,
    /// The ids of its sections, in order.
    pub(crate) ids: Vec<String>,
    /// Fingerprints of its sections, if its text is not in the journal.
    pub(crate) prints: Prints,
    /// Its entries, oldest first.
    pub(crate) entries: Vec<u64>,
    /// Entries before this index do not connect to the present text.
    pub(crate) chain_start: usize,
    /// Own entries that are in force, in the order in which they came into force.
    pub(crate) done: Vec<u64>,
    /// Entries that were undone and can be redone.
    pub(crate) undone: Vec<u64>,
    /// Bytes of changes since the last snapshot, or `None` if there is no snapshot.
    pub(crate) weight_since_snapshot: Option<usize>,
}

/// An entry without the bytes it carries, and their location.
#[derive(Clone, Debug)]
pub(crate) struct EntryCard {
    pub(crate) number: u64,
    pub(crate) time: i64,
    pub(crate) actor: String,
    pub(crate) operation: String,
    pub(crate) reason: Option<String>,
    pub(crate) kind: EntryKind,
    pub(crate) origin: LineOrigin,
    pub(crate) folder: Option<FolderMove>,
    pub(crate) steps: Vec<StepCard>,
    pub(crate) offset: u64,
    pub(crate) len: usize,
}

/// A step without the bytes it carries.
#[derive(Clone, Debug)]
pub(crate) struct StepCard {
    pub(crate) document: u64,
    pub(crate) path: String,
    pub(crate) moved_to: Option<String>,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) touched: Vec<String>,
    pub(crate) has_snapshot: bool,
    pub(crate) is_silent: bool,
}

/// An intent without a commit or abort record.
#[derive(Clone, Debug)]
pub(crate) struct PendingIntent {
    pub(crate) entry: Entry,
    pub(crate) origin: LineOrigin,
    offset: u64,
    len: usize,
}

impl Ledger {
    /// An empty ledger that continues from these numbers.
    pub(crate) fn counting_from(next: Numbers) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }

    /// Applies a batch of lines, in order.
    pub(crate) fn take_in(&mut self, read: JournalBatch) {
        let mut damage = read.damage.into_iter().peekable();
        for line in read.lines {
            while let Some(earlier) = damage.next_if(|one| one.offset < line.offset) {
                self.add_damage(earlier);
            }
            self.apply(line);
        }
        damage.for_each(|one| self.add_damage(one));
    }

    /// Applies one line. A foreign line that would let an id name two sections is damage.
    pub(crate) fn apply(&mut self, line: Line) {
        if line.origin == LineOrigin::Foreign {
            self.foreign_lines += 1;
            if !self.is_sound(&line.record) {
                self.damage.push(Damage {
                    offset: line.offset,
                    len: line.len as u64,
                });
                return;
            }
        }
        match line.record {
            Record::Header(header) => self.header(&header),
            Record::Adopt(adopt) => self.adopt(adopt),
            Record::Checkpoint(checkpoint) => self.checkpoint(*checkpoint),
            Record::Intent(entry) => {
                self.end_earlier(&entry);
                self.count_ids(&entry);
                self.next.entry = self.next.entry.max(entry.number.saturating_add(1));
                let pending = PendingIntent {
                    entry: *entry,
                    origin: line.origin,
                    offset: line.offset,
                    len: line.len,
                };
                self.pending.insert(pending.entry.number, pending);
            }
            Record::Commit { entry } => {
                if let Some(pending) = self.pending.remove(&entry) {
                    self.commit(&pending);
                }
            }
            Record::Abort { entry } => {
                self.pending.remove(&entry);
            }
            Record::Done(entry) => {
                self.end_earlier(&entry);
                self.count_ids(&entry);
                self.next.entry = self.next.entry.max(entry.number.saturating_add(1));
                self.commit(&PendingIntent {
                    entry: *entry,
                    origin: line.origin,
                    offset: line.offset,
                    len: line.len,
                });
            }
            // These belong in the id file.
            Record::Sighting(_) | Record::Forget { .. } => {}
        }
    }

    /// Returns whether the ids that a record gives to sections are free, and each is given once.
    fn is_sound(&self, record: &Record) -> bool {
        fn are_distinct<'a>(mut ids: impl Iterator<Item = &'a String>) -> bool {
            let mut met = HashSet::new();
            ids.all(|id| met.insert(id))
        }
        let is_free_for = |document: u64| {
            move |id: &String| self.by_id.get(id).is_none_or(|holder| *holder == document)
        };
        match record {
            Record::Adopt(adopt) => {
                let ids = || adopt.sections.iter().map(|mark| &mark.id);
                are_distinct(ids()) && ids().all(is_free_for(adopt.document))
            }
            Record::Checkpoint(checkpoint) => {
                are_distinct(checkpoint.ids.iter())
                    && checkpoint.ids.iter().all(is_free_for(checkpoint.document))
            }
            Record::Intent(entry) | Record::Done(entry) => {
                let steps = || entry.steps.iter();
                let removed: HashSet<&String> =
                    steps().flat_map(|step| &step.ids.removed).collect();
                let inserted = || steps().flat_map(|step| &step.ids.inserted);
                let is_free = |id: &String| removed.contains(id) || !self.by_id.contains_key(id);
                are_distinct(inserted())
                    && inserted().all(is_free)
                    && steps().all(|step| are_distinct(step.section_ids.iter()))
            }
            _ => true,
        }
    }

    fn add_damage(&mut self, damage: Damage) {
        // Numbers that were given out there are not reused. Each of them took more than a byte.
        let Numbers { entry, document } = &mut self.next;
        for next in [entry, document] {
            *next = next.saturating_add(damage.len);
        }
        self.damage.push(damage);
    }

    pub(crate) fn damage(&self) -> &[Damage] {
        &self.damage
    }

    pub(crate) fn next(&self) -> Numbers {
        self.next
    }

    /// Returns the number of lines that came with the folder and were not written by this user.
    pub(crate) fn foreign_lines(&self) -> usize {
        self.foreign_lines
    }

    /// Returns whether ids of this batch were handed out.
    pub(crate) fn has_batch(&self, batch: u64) -> bool {
        self.batches.contains(&batch)
    }

    /// Returns whether an id names a section of the journal, or did once.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.by_id.contains_key(id) || self.deleted.contains_key(id)
    }

    /// Returns the first entry that was not dropped.
    pub(crate) fn first_entry(&self) -> u64 {
        self.first_entry
    }

    pub(crate) fn document(&self, path: &str) -> Option<&DocumentState> {
        self.by_path
            .get(path)
            .and_then(|document| self.documents.get(document))
    }

    /// Returns the document that was last deleted at `path`.
    pub(crate) fn deleted_at(&self, path: &str) -> Option<&DocumentState> {
        let deleted = self.entries.values().rev().find_map(|card| {
            let gone = |step: &&StepCard| step.after.is_none() && step.path == path;
            card.steps.iter().find(gone)
        })?;
        let known = self.documents.get(&deleted.document)?;
        known.path.is_none().then_some(known)
    }

    pub(crate) fn document_by_number(&self, document: u64) -> Option<&DocumentState> {
        self.documents.get(&document)
    }

    /// Returns all documents, in a deterministic order.
    pub(crate) fn documents(&self) -> Vec<&DocumentState> {
        let mut all: Vec<&DocumentState> = self.documents.values().collect();
        all.sort_by_key(|document| document.id);
        all
    }

    /// Returns the documents whose bytes have this digest.
    pub(crate) fn documents_with(&self, hash: &str) -> impl Iterator<Item = &DocumentState> {
        self.documents
            .values()
            .filter(move |document| document.hash.as_deref() == Some(hash))
    }

    /// Returns the document that holds a section.
    pub(crate) fn document_of(&self, id: &str) -> Option<&DocumentState> {
        self.by_id
            .get(id)
            .and_then(|document| self.documents.get(document))
    }

    /// Returns the entry that deleted the section with this id.
    pub(crate) fn deleted_by(&self, id: &str) -> Option<u64> {
        self.deleted.get(id).copied()
    }

    pub(crate) fn deleted(&self) -> &HashMap<String, u64> {
        &self.deleted
    }

    pub(crate) fn entry(&self, number: u64) -> Option<&EntryCard> {
        self.entries.get(&number)
    }

    /// Returns whether an entry was undone and not redone.
    pub(crate) fn is_taken_back(&self, number: u64) -> bool {
        self.taken_back.contains(&number)
    }

    /// Returns the entries before `before`, or all of them, oldest first.
    pub(crate) fn entries_before(
        &self,
        before: Option<u64>,
    ) -> impl DoubleEndedIterator<Item = &EntryCard> {
        let end = before.unwrap_or(u64::MAX);
        self.entries.range(..end).map(|(_, card)| card)
    }

    /// Returns all entries, oldest first.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = &EntryCard> {
        self.entries.values()
    }

    pub(crate) fn request(&self, id: &str) -> Option<&(String, u64)> {
        self.requests.get(id)
    }

    /// Returns own intents without an end that concern the document at `path`, or all of them. Foreign ones are never
    /// acted on.
    pub(crate) fn pending(&self, path: Option<&str>) -> Vec<Entry> {
        let concerns = |entry: &Entry| {
            path.is_none_or(|path| {
                entry
                    .steps
                    .iter()
                    .any(|step| step.path == path || step.moved_to.as_deref() == Some(path))
            })
        };
        self.pending
            .values()
            .filter(|pending| pending.origin == LineOrigin::Own)
            .map(|pending| &pending.entry)
            .filter(|entry| concerns(entry))
            .cloned()
            .collect()
    }

    /// Returns the number of intents without an end that came with the folder.
    pub(crate) fn foreign_intents(&self) -> usize {
        let foreign = |pending: &&PendingIntent| pending.origin == LineOrigin::Foreign;
        self.pending.values().filter(foreign).count()
    }

    pub(crate) fn is_pending(&self, entry: u64) -> bool {
        self.pending.contains_key(&entry)
    }

    /// Ends intents whose end is missing. Nobody touches a document before its half-done changes are settled, so a
    /// later entry about it shows that they were, and how.
    fn end_earlier(&mut self, entry: &Entry) {
        let follows = |earlier: &Step, later: &Step| {
            let path = earlier.moved_to.as_ref().unwrap_or(&earlier.path);
            later.before == earlier.after && (later.before.is_none() || later.path == *path)
        };
        let pairs = |earlier: &Entry| -> Vec<bool> {
            let both = earlier.steps.iter().flat_map(|one| {
                let same = entry
                    .steps
                    .iter()
                    .filter(|other| other.document == one.document);
                same.map(|other| follows(one, other)).collect::<Vec<_>>()
            });
            both.collect()
        };
        let ended: Vec<(u64, bool)> = self
            .pending
            .values()
            .map(|pending| (pending.entry.number, pairs(&pending.entry)))
            .filter(|(_, pairs)| !pairs.is_empty())
            .map(|(number, pairs)| (number, pairs.into_iter().all(|follows| follows)))
            .collect();
        for (number, was_made) in ended {
            if let Some(pending) = self.pending.remove(&number) {
                self.damage.push(Damage {
                    offset: pending.offset,
                    len: pending.len as u64,
                });
                if was_made {
                    self.commit(&pending);
                }
            }
        }
    }

    fn header(&mut self, header: &Header) {
        self.next.entry = self.next.entry.max(header.first_entry.max(1));
        self.first_entry = header.first_entry;
    }

    fn adopt(&mut self, adopt: Adoption) {
        let ids: Vec<String> = adopt.sections.iter().map(|mark| mark.id.clone()).collect();
        self.saw_ids(ids.iter());
        self.place(adopt.document, Some(adopt.path));
        for id in &ids {
            self.by_id.insert(id.clone(), adopt.document);
        }
        let state = self.documents.entry(adopt.document).or_default();
        state.id = adopt.document;
        state.hash = Some(adopt.hash);
        state.created = adopt.created;
        state.ids = ids;
        state.prints = Prints::of_marks(&adopt.sections);
        state.chain_start = state.entries.len();
        state.weight_since_snapshot = None;
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) {
        self.saw_ids(checkpoint.ids.iter());
        self.saw_ids(checkpoint.deleted.iter().map(|(id, _)| id));
        self.place(checkpoint.document, checkpoint.path);
        for id in &checkpoint.ids {
            self.by_id.insert(id.clone(), checkpoint.document);
        }
        self.deleted.extend(checkpoint.deleted);
        let state = self.documents.entry(checkpoint.document).or_default();
        state.id = checkpoint.document;
        state.hash = checkpoint.hash;
        state.created = checkpoint.created;
        state.ids = checkpoint.ids;
        state.prints = known_by(checkpoint.prints, &checkpoint.marks);
    }

    /// Records the path of a document, and takes the path from any other document that had it.
    fn place(&mut self, document: u64, path: Option<String>) {
        self.next.document = self.next.document.max(document.saturating_add(1));
        let state = self.documents.entry(document).or_default();
        state.id = document;
        if let Some(old) = state.path.take()
            && self.by_path.get(&old) == Some(&document)
        {
            self.by_path.remove(&old);
        }
        if let Some(path) = path {
            if let Some(other) = self.by_path.insert(path.clone(), document)
                && other != document
                && let Some(displaced) = self.documents.get_mut(&other)
            {
                displaced.path = None;
                displaced.hash = None;
                for id in &displaced.ids {
                    self.by_id.remove(id);
                }
            }
            if let Some(state) = self.documents.get_mut(&document) {
                state.path = Some(path);
            }
        }
    }

    fn commit(&mut self, pending: &PendingIntent) {
        let PendingIntent {
            entry,
            origin,
            offset,
            len,
        } = pending;
        let kept_elsewhere: HashSet<&String> = entry
            .steps
            .iter()
            .flat_map(|step| &step.ids.inserted)
            .collect();
        for step in &entry.steps {
            let final_path = step.moved_to.as_ref().unwrap_or(&step.path);
            let path = step.after.as_ref().map(|_| final_path.clone());
            self.place(step.document, path);
            let state = self.documents.entry(step.document).or_default();
            let connected = state.hash == step.before;
            if step.before.is_none() && state.created.is_none() {
                state.created = Some(entry.time);
            }
            if !connected && (state.hash.is_some() || state.entries.is_empty()) {
                // A line between the two is missing entirely.
                self.damage.push(Damage {
                    offset: *offset,
                    len: *len as u64,
                });
            }
            state.hash.clone_from(&step.after);
            state.entries.push(entry.number);
            match step.ids.apply(&state.ids) {
                Some(ids) if connected => state.ids = ids,
                _ => {
                    // The line that connects them is damaged. Whatever can be recovered is taken from the entry.
                    state.ids = if step.section_ids.is_empty() {
                        step.marks.iter().map(|mark| mark.id.clone()).collect()
                    } else {
                        step.section_ids.clone()
                    };
                    state.hash = if state.ids.is_empty() {
                        None
                    } else {
                        step.after.clone()
                    };
                }
            }
            if !connected || step.changes.is_none() {
                state.chain_start = state.entries.len() - usize::from(step.changes.is_some());
                state.weight_since_snapshot = None;
            }
            state.prints = known_by(step.prints.clone(), &step.marks);
            state.weight_since_snapshot = match step.snapshot {
                Some(_) => Some(step.weight()),
                None => state
                    .weight_since_snapshot
                    .map(|weight| weight + step.weight()),
            };
            let document = step.document;
            for id in &step.ids.removed {
                if self.by_id.get(id) == Some(&document) {
                    self.by_id.remove(id);
                }
                if !kept_elsewhere.contains(id) {
                    self.deleted.insert(id.clone(), entry.number);
                }
            }
        }
        for step in &entry.steps {
            for id in &step.ids.inserted {
                self.deleted.remove(id);
                self.by_id.insert(id.clone(), step.document);
            }
            self.stacks(step.document, entry);
        }
        // A stranger's claim to have done something already must not stand in for what is asked now.
        if let Some(request) = &entry.request
            && *origin == LineOrigin::Own
        {
            self.requests
                .insert(request.id.clone(), (request.digest.clone(), entry.number));
        }
        match entry.kind {
            EntryKind::Undo(target) => self.taken_back.insert(target),
            EntryKind::Redo(target) => self.taken_back.remove(&target),
            EntryKind::Edit | EntryKind::Foreign => false,
        };
        self.entries.insert(entry.number, EntryCard::of(pending));
    }

    fn stacks(&mut self, document: u64, entry: &Entry) {
        let Some(state) = self.documents.get_mut(&document) else {
            return;
        };
        match entry.kind {
            EntryKind::Edit => {
                state.done.push(entry.number);
                state.undone.clear();
            }
            EntryKind::Undo(target) => {
                state.done.retain(|number| *number != target);
                if self.entries.contains_key(&target) {
                    state.undone.push(target);
                }
            }
            EntryKind::Redo(target) => {
                state.undone.retain(|number| *number != target);
                if self.entries.contains_key(&target) {
                    state.done.push(target);
                }
            }
            EntryKind::Foreign => {}
        }
    }

    fn count_ids(&mut self, entry: &Entry) {
        for Splice {
            removed, inserted, ..
        } in entry.steps.iter().map(|step| &step.ids)
        {
            self.saw_ids(removed.iter().chain(inserted));
        }
        for step in &entry.steps {
            self.next.document = self.next.document.max(step.document.saturating_add(1));
        }
    }

    fn saw_ids<'a>(&mut self, ids: impl Iterator<Item = &'a String>) {
        self.batches.extend(ids.filter_map(|id| ids::batch(id)));
    }
}

/// Returns the fingerprints of sections, whichever version wrote them.
fn known_by(prints: Prints, marks: &[Mark]) -> Prints {
    if prints.is_empty() {
        Prints::of_marks(marks)
    } else {
        prints
    }
}

impl EntryCard {
    fn of(pending: &PendingIntent) -> Self {
        let entry = &pending.entry;
        Self {
            number: entry.number,
            time: entry.time,
            actor: entry.actor.clone(),
            operation: entry.operation.clone(),
            reason: entry.reason.clone(),
            kind: entry.kind,
            origin: pending.origin,
            folder: entry.folder.clone(),
            steps: entry
                .steps
                .iter()
                .map(|step| StepCard {
                    document: step.document,
                    path: step.path.clone(),
                    moved_to: step.moved_to.clone(),
                    before: step.before.clone(),
                    after: step.after.clone(),
                    touched: step.touched.clone(),
                    has_snapshot: step.snapshot.is_some(),
                    is_silent: step.is_silent,
                })
                .collect(),
            offset: pending.offset,
            len: pending.len,
        }
    }

    pub(crate) fn step(&self, document: u64) -> Option<&StepCard> {
        self.steps.iter().find(|step| step.document == document)
    }
}
