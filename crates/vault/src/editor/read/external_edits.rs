//! Changes by other programs to documents that have a history: detected by hash, and entered there.

use std::collections::{HashMap, HashSet, VecDeque};

use sectile_markdown::{
    Source,
    align::{self, Fingerprint},
    line_changes,
};

use super::{
    DocumentReader,
    past::before,
    view::{AssignedIds, NewDocument},
};
use crate::{
    editor::EditorError,
    journal::{Adoption, Bytes, Entry, EntryKind, Mark, Prints, Record, Splice, Step, written},
    ledger::DocumentState,
};

/// Number of foreign entries that are searched for a section that is back.
const MOST_ENTRIES_BACK: usize = 8;

/// Bytes of changes since the last snapshot below which no new snapshot is needed.
const SNAPSHOT_AFTER: usize = 64 << 10;

impl DocumentReader {
    /// Returns the fingerprints of a document's sections.
    pub(super) fn prints_of(&self, known: &DocumentState) -> Vec<Fingerprint> {
        match self.text_of(known) {
            Some(text) => align::fingerprints(&text, &Source::new(&text).parse()),
            None => known.prints.fingerprints(),
        }
    }

    /// Returns sections that other programs removed from a document since our last change, latest first, in case they
    /// are put back. A program that empties a file and writes it again does just that.
    fn ghosts(&self, known: &DocumentState, text: Option<Vec<u8>>) -> Vec<(Fingerprint, String)> {
        let mut ghosts: Vec<(Fingerprint, String)> = Vec::new();
        let mut met: HashSet<String> = known.ids.iter().cloned().collect();
        let (mut text, mut ids) = (text, known.ids.clone());
        let chain = known.entries.get(known.chain_start..).unwrap_or_default();
        for number in chain.iter().rev().take(MOST_ENTRIES_BACK) {
            let is_foreign = {
                let state = self.store.state();
                let card = state.ledger.entry(*number);
                card.is_some_and(|card| card.kind == EntryKind::Foreign)
            };
            let Some(step) = is_foreign.then(|| self.store.step(*number, known.id)) else {
                break;
            };
            let Ok(step) = step else { break };
            let (Ok(older), Some(older_ids)) = (
                before(&step, text.as_deref()),
                step.ids.inverse().apply(&ids),
            ) else {
                break;
            };
            let bytes = older.clone().unwrap_or_default();
            let prints = align::fingerprints(&bytes, &Source::new(&bytes).parse());
            let gone = prints.into_iter().zip(&older_ids);
            let gone = gone.filter(|(_, id)| met.insert((*id).clone()));
            ghosts.extend(gone.map(|(print, id)| (print, id.clone())));
            (text, ids) = (older, older_ids);
        }
        let state = self.store.state();
        ghosts.retain(|(_, id)| state.ledger.deleted_by(id).is_some());
        ghosts
    }

    /// Enters the change that another program made to a document. A document that is not in the journal yet, which has
    /// the number 0, is adopted first.
    pub(super) fn enter_foreign_edit(
        &self,
        known: &DocumentState,
        new: &NewDocument<'_>,
    ) -> Result<AssignedIds, EditorError> {
        let old_text = self.text_of(known);
        let old_prints = match &old_text {
            Some(text) => align::fingerprints(text, &Source::new(text).parse()),
            None => known.prints.fingerprints(),
        };
        let same_list = old_prints.len() == known.ids.len();
        let lineage = if same_list {
            align::align(&old_prints, new.prints)
        } else {
            vec![None; new.prints.len()]
        };
        let mut ids: Vec<Option<String>> = lineage
            .iter()
            .map(|origin| origin.map(|at| known.ids[at].clone()))
            .collect();
        if ids.contains(&None) {
            revive(self.ghosts(known, old_text.clone()), new.prints, &mut ids);
        }
        let changes = old_text
            .as_ref()
            .map(|old| written(&line_changes(old, new.bytes), old));
        let old_path = known.path.clone().unwrap_or_default();
        let ids = self.store.record(|state| {
            let now = state.ledger.document_by_number(known.id);
            let same = match known.id {
                0 => state.ledger.document(&old_path).is_none(),
                _ => now.is_some_and(|now| (&now.path, &now.hash) == (&known.path, &known.hash)),
            };
            if !same {
                // The document was also found at another path, and that call was faster.
                return Err(EditorError::KeepsChanging);
            }
            let ids = state.completed_ids(ids.into_iter().zip(new.headings()))?;
            let mut records = Vec::new();
            let document = match known.id {
                0 => {
                    let document = state.ledger.next().document;
                    records.push(Record::Adopt(adopted(document, known)));
                    document
                }
                document => document,
            };
            let touched = touched((&known.ids, &old_prints), (&ids, new.prints), &lineage);
            let moved_to = (old_path != new.path.as_str()).then(|| new.path.as_str().to_owned());
            let mut step = Step {
                document,
                path: old_path.clone(),
                moved_to,
                before: known.hash.clone(),
                after: Some(new.hash.to_string()),
                changes,
                ids: Splice::between(&known.ids, &ids),
                touched,
                ..Step::default()
            };
            match &old_text {
                // The next process must find the text to tell the sections apart.
                Some(old) => step.snapshot = needs_snapshot(known, old).then(|| Bytes(old.clone())),
                None => {
                    step.prints = Prints::of(new.prints);
                    step.section_ids.clone_from(&ids);
                }
            }
            let entry = Entry {
                folder: None,
                number: state.ledger.next().entry,
                time: self.store.now(),
                actor: "another program".to_owned(),
                operation: "external_edit".to_owned(),
                reason: None,
                request: None,
                kind: EntryKind::Foreign,
                steps: vec![step],
            };
            records.push(Record::Done(Box::new(entry)));
            Ok((records, ids))
        })?;
        Ok(ids.into())
    }
}

/// Returns whether the next step of a document must carry its text: the journal has none yet, or much has changed
/// since.
pub(crate) fn needs_snapshot(known: &DocumentState, text: &[u8]) -> bool {
    known
        .weight_since_snapshot
        .is_none_or(|weight| weight > text.len().max(SNAPSHOT_AFTER))
}

/// Returns the record that adopts a document into the journal. Its text comes with the entry that follows.
pub(crate) fn adopted(document: u64, known: &DocumentState) -> Adoption {
    let sections = known.ids.iter().map(|id| Mark {
        id: id.clone(),
        ..Mark::default()
    });
    Adoption {
        document,
        path: known.path.clone().unwrap_or_default(),
        hash: known.hash.clone().unwrap_or_default(),
        created: known.created,
        sections: sections.collect(),
    }
}

/// Gives sections that another program removed and put back their old ids.
fn revive(ghosts: Vec<(Fingerprint, String)>, prints: &[Fingerprint], ids: &mut [Option<String>]) {
    type Key<'a> = (u64, u64, u64, &'a [u64]);
    fn key(print: &Fingerprint) -> Key<'_> {
        (print.heading, print.path, print.body, &print.lines)
    }
    let mut free: HashMap<Key<'_>, VecDeque<&String>> = HashMap::new();
    for (print, id) in &ghosts {
        free.entry(key(print)).or_default().push_back(id);
    }
    for (slot, print) in ids.iter_mut().zip(prints) {
        if slot.is_none()
            && let Some(id) = free.get_mut(&key(print)).and_then(VecDeque::pop_front)
        {
            *slot = Some(id.clone());
        }
    }
}

/// Returns the sections that a foreign edit changed, added or removed.
fn touched(
    (old_ids, old): (&[String], &[Fingerprint]),
    (ids, new): (&[String], &[Fingerprint]),
    lineage: &[Option<usize>],
) -> Vec<String> {
    const MOST: usize = 64;
    let is_touched = |(origin, print): (&Option<usize>, &Fingerprint)| {
        let was = origin.and_then(|at| old.get(at));
        was.is_none_or(|was| was.body != print.body || was.heading != print.heading)
    };
    let touched = lineage.iter().zip(new).map(is_touched);
    let changed = ids.iter().zip(touched).filter(|(_, touched)| *touched);
    let kept: HashSet<&String> = ids.iter().collect();
    let gone = old_ids.iter().filter(|id| !kept.contains(id));
    changed
        .map(|(id, _)| id)
        .chain(gone)
        .take(MOST)
        .cloned()
        .collect()
}
