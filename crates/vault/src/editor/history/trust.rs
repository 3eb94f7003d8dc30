//! History that came with a folder, and how a person declares it their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Instant,
};

use crate::{
    PathTarget, RootError,
    editor::{EditorError, EditorOptions, store::JOURNAL_LOCK},
    journal::{Entry, JOURNAL, Journal, JournalUpdate, LineOrigin, Record},
};

/// A summary of the history that a folder brought along, and the effect of trusting it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignHistory {
    /// Lines of the journal that this user did not write.
    pub lines: usize,
    /// Changes in those lines, finished or not.
    pub entries: usize,
    /// The documents of changes that were begun and never finished. Trusting the history finishes them or rolls them
    /// back.
    pub unfinished: Vec<String>,
}

/// The result of [`trust`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustOutcome {
    /// There is no history.
    Nothing,
    /// The whole history was this user's already.
    Already,
    /// The history counts as this user's from now on.
    Now(ForeignHistory),
}

/// Adopts the history of the folder or document at `location` as this user's own: it can be undone and purged, and
/// changes that it left half done are settled when the folder is next opened. With `read_only` set, it only reports
/// what there is.
///
/// # Errors
/// [`EditorError`] when the journal cannot be read or written.
pub fn trust(location: &Path, options: &EditorOptions) -> Result<TrustOutcome, EditorError> {
    let root = match PathTarget::at(location) {
        Ok(PathTarget::Folder(root) | PathTarget::File(root, _)) => root,
        Ok(PathTarget::Other) => return Err(EditorError::DocumentNotFound),
        Err(RootError::Unreadable(kind)) => return Err(EditorError::Io(kind)),
        Err(_) => return Err(EditorError::DocumentNotFound),
    };
    let Some(folder) = root.private_folder()? else {
        return Ok(TrustOutcome::Nothing);
    };
    let _lock = if options.read_only {
        None
    } else {
        root.make_private_folder()?;
        let deadline = Instant::now() + options.limits.lock_timeout;
        let lock = folder.lock(JOURNAL_LOCK, deadline, &|| false)?;
        Some(lock.ok_or(EditorError::Busy)?)
    };
    let mut journal = Journal::new(JOURNAL, options.key.clone());
    let lines = match journal.news(&folder)? {
        JournalUpdate::More(read) | JournalUpdate::Anew(read) => read.lines,
    };
    if lines.is_empty() {
        return Ok(TrustOutcome::Nothing);
    }
    let foreign = lines
        .iter()
        .filter(|line| line.origin == LineOrigin::Foreign);
    let foreign = described(foreign.map(|line| &line.record));
    if foreign.lines == 0 {
        return Ok(TrustOutcome::Already);
    }
    if !options.read_only {
        let header = journal.header().cloned().unwrap_or_default();
        let records = lines.into_iter().map(|line| line.record);
        let records = records.filter(|record| !matches!(record, Record::Header(_)));
        let records = records.map(|record| (LineOrigin::Own, record)).collect();
        journal.rewrite(&folder, header, records)?;
    }
    Ok(TrustOutcome::Now(foreign))
}

fn described<'a>(records: impl Iterator<Item = &'a Record>) -> ForeignHistory {
    let mut history = ForeignHistory::default();
    let mut open: BTreeMap<u64, &Entry> = BTreeMap::new();
    for record in records {
        history.lines += 1;
        match record {
            Record::Intent(entry) => {
                history.entries += 1;
                open.insert(entry.number, entry);
            }
            Record::Done(_) => history.entries += 1,
            Record::Commit { entry } | Record::Abort { entry } => {
                open.remove(entry);
            }
            _ => {}
        }
    }
    let steps = open.into_values().flat_map(|entry| &entry.steps);
    let paths = steps.flat_map(|step| [Some(&step.path), step.moved_to.as_ref()]);
    let paths: BTreeSet<&String> = paths.flatten().collect();
    history.unfinished = paths.into_iter().cloned().collect();
    history
}
