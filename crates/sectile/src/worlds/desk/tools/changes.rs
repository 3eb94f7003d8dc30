//! `changes`: who changed what, and when.

use schemars::JsonSchema;
use sectile_library::{clock, editable_folder::FoundTarget};
use sectile_markdown::{DiffOptions, Digest, unified_diff};
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool, quoted, visible};
use sectile_vault::editor::{CallHooks, ChangeFilter, HistoryEntry};
use serde::{Deserialize, Serialize};

use super::super::{
    DeskWorld,
    diffs::{DiffRoom, DocumentDiff, Moved, short_diff},
    errors::{CHANGE_NOT_FOUND, INVALID_ARGUMENTS, failure, library_failure},
    lists::{FittedList, LIST_TOKENS},
    paging::{PageCursor, cursor},
    roots::{DeskRoot, VisibleRoots},
    since::PeriodStart,
};
use crate::worlds::timestamp;

/// Maximum number of ids that are listed for a change.
const MAX_IDS: usize = 4;
/// Maximum number of tokens for the diff of a change.
const MAX_DIFF_TOKENS: usize = 300;
/// Maximum number of lines in the diff of a change.
const MAX_DIFF_LINES: usize = 60;
/// Maximum length of the diff of one document, in bytes.
const MAX_DIFF_BYTES: usize = 1_200;
/// Maximum number of documents whose lines are shown for a change. Each costs a look into the history.
const MAX_DIFF_DOCUMENTS: usize = 8;
/// Maximum length of the name of an author, in characters.
const MAX_NAME_CHARS: usize = 60;

pub(super) fn tool() -> Tool<DeskWorld> {
    Tool::read(
        "changes",
        "Changes",
        "List who changed what and when, newest first, by which tool; edits by other programs too.",
    )
    .alias("path", "id")
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangesParams {
    /// None: everything.
    id: Option<String>,
    /// Date, time, age (7d) or change.
    since: Option<String>,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    cursor: Option<String>,
    /// Show the lines.
    #[serde(default)]
    diff: bool,
}

fn default_limit() -> usize {
    20
}

#[derive(Debug, Serialize, JsonSchema)]
struct ChangesAnswer {
    changes: Vec<ListedChange>,
    /// Cursor for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedChange {
    /// For `undo`.
    change: String,
    time: String,
    by: String,
    tool: String,
    ids: Vec<String>,
    /// Number of ids not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
    /// By another program.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    external: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    undone: bool,
    /// The change that it undid.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<String>,
    /// Came with the folder; cannot be undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unverified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// What changes are asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct ChangeSelection<'p> {
    /// What they concern; empty for everything.
    pub(in super::super) id: &'p str,
    /// The start of the period, as callers write it.
    pub(in super::super) since: Option<&'p str>,
    /// Only changes by this author.
    pub(in super::super) by: Option<&'p str>,
    /// Most changes of one root.
    pub(in super::super) limit: usize,
}

/// Changes of several roots, taken one by one, newest first.
pub(in super::super) struct SelectedChanges<'a> {
    found: Vec<RootChanges<'a>>,
    /// Where the list starts in each root: after the entry with this number.
    start: Vec<u64>,
    /// Number of entries of each root that were taken.
    taken: Vec<usize>,
}

/// The changes of one root, newest first.
struct RootChanges<'a> {
    root: &'a DeskRoot,
    entries: Vec<HistoryEntry>,
    has_more: bool,
}

/// A root and what it is asked for.
struct AskedRoot<'a> {
    root: &'a DeskRoot,
    filter: ChangeFilter,
    /// Only changes after this one.
    after: Option<u64>,
}

fn handle(
    world: &DeskWorld,
    params: ChangesParams,
    context: &CallContext,
) -> Result<(ChangesAnswer, AnswerFacts), Failure> {
    let roots = world.roots_for(context);
    let selection = ChangeSelection {
        id: params.id.as_deref().unwrap_or_default(),
        since: params.since.as_deref(),
        by: None,
        limit: params.limit,
    };
    let asked = asked(&roots, &selection)?;
    let start = PageCursor::parse(params.cursor.as_deref(), asked.len())?;
    let state = state_of(&params, &asked);
    start.check(&state)?;
    let mut changes = SelectedChanges::new(&roots, &asked, start.positions, &selection)?;
    let mut list = FittedList::new(LIST_TOKENS);
    while list.items.len() < params.limit
        && let Some((root, entry)) = changes.next()
    {
        if !list.add(listed(&roots, root, entry, params.diff)) {
            break;
        }
        changes.take();
    }
    let next = changes.rest().map(|positions| cursor(&positions, &state));
    let facts = AnswerFacts {
        sections: Some(list.items.len()),
        truncated: next.is_some(),
        ..AnswerFacts::default()
    };
    let answer = ChangesAnswer {
        changes: list.items,
        next,
    };
    Ok((answer, facts))
}

impl<'a> SelectedChanges<'a> {
    /// Finds the changes that are asked for, in each root those before the entry at `start`.
    pub(in super::super) fn find(
        roots: &VisibleRoots<'a>,
        selection: &ChangeSelection<'_>,
        start: Vec<u64>,
    ) -> Result<Self, Failure> {
        Self::new(roots, &asked(roots, selection)?, start, selection)
    }

    fn new(
        roots: &VisibleRoots<'a>,
        asked: &[AskedRoot<'a>],
        start: Vec<u64>,
        selection: &ChangeSelection<'_>,
    ) -> Result<Self, Failure> {
        let mut found = Vec::new();
        for (index, one) in asked.iter().enumerate() {
            roots.context().check()?;
            let before = start.get(index).copied();
            found.push(root_changes(roots, one, before, selection)?);
        }
        Ok(Self {
            taken: vec![0; found.len()],
            found,
            start,
        })
    }

    /// Returns the newest change that was not taken, with its root.
    pub(in super::super) fn next(&self) -> Option<(&'a DeskRoot, &HistoryEntry)> {
        let of = &self.found[self.newest()?];
        let taken = self.taken[self.newest()?];
        Some((of.root, of.entries.get(taken)?))
    }

    /// Takes the change that [`Self::next`] returns.
    pub(in super::super) fn take(&mut self) {
        if let Some(newest) = self.newest() {
            self.taken[newest] += 1;
        }
    }

    /// Returns where a list of the rest starts in each root; `None` if everything was taken.
    pub(in super::super) fn rest(&self) -> Option<Vec<u64>> {
        let all = || self.found.iter().zip(&self.taken).enumerate();
        if all().all(|(_, (of, taken))| *taken == of.entries.len() && !of.has_more) {
            return None;
        }
        let position = |(index, (of, taken)): (usize, (&RootChanges<'_>, &usize))| match taken
            .checked_sub(1)
        {
            Some(last) => of.entries[last].number,
            None => self.start.get(index).copied().unwrap_or(u64::MAX),
        };
        Some(all().map(position).collect())
    }

    /// Returns the root whose next entry is the newest; of several at the same time, the first.
    fn newest(&self) -> Option<usize> {
        let next = |index: usize| self.found[index].entries.get(self.taken[index]);
        let roots = (0..self.found.len()).filter(|index| next(*index).is_some());
        roots
            .rev()
            .max_by_key(|index| next(*index).map(|entry| entry.time))
    }
}

/// Returns what cursors depend on: entries never change, so only what was asked for.
fn state_of(params: &ChangesParams, asked: &[AskedRoot<'_>]) -> Digest {
    let names: Vec<&str> = asked.iter().map(|one| one.root.name.as_str()).collect();
    let (id, since) = (params.id.as_deref(), params.since.as_deref());
    Digest::of(format!("{id:?} {since:?} {names:?}").as_bytes())
}

/// Returns the roots to ask, and what each is asked for.
fn asked<'a>(
    roots: &VisibleRoots<'a>,
    selection: &ChangeSelection<'_>,
) -> Result<Vec<AskedRoot<'a>>, Failure> {
    let all = |filter: ChangeFilter, root| AskedRoot {
        root,
        filter,
        after: None,
    };
    let mut asked: Vec<AskedRoot<'_>> = match VisibleRoots::is_everything(selection.id) {
        true => roots
            .iter()
            .map(|root| all(ChangeFilter::default(), root))
            .collect(),
        false => {
            let (root, filter) = named(roots, selection.id)?;
            vec![all(filter, root)]
        }
    };
    for one in &mut asked {
        one.filter.actor = selection.by.map(str::to_owned);
    }
    let Some(since) = selection.since else {
        return Ok(asked);
    };
    match PeriodStart::parse(since, clock::now()) {
        Some(PeriodStart::Time(time)) => {
            asked
                .iter_mut()
                .for_each(|one| one.filter.since = Some(time));
        }
        Some(PeriodStart::Change(name, number)) => {
            after_change(roots, &mut asked, since, (&name, number))?;
        }
        None => {
            let what = format!(
                "`since` is {}, which is not a date (2026-01-31), a time (2026-01-31T12:00:00Z), an age (7d) or a change.",
                quoted(since)
            );
            return Err(failure(&INVALID_ARGUMENTS, what, ""));
        }
    }
    Ok(asked)
}

/// Asks for what came after a change. In other roots that is what came after its time.
fn after_change(
    roots: &VisibleRoots<'_>,
    asked: &mut [AskedRoot<'_>],
    since: &str,
    (name, number): (&str, u64),
) -> Result<(), Failure> {
    let all: Vec<&DeskRoot> = roots.iter().collect();
    let of = match (name, &all[..]) {
        ("", [root]) => Some(*root),
        (name, all) => all.iter().copied().find(|root| root.name == name),
    };
    let unknown = || {
        failure(
            &CHANGE_NOT_FOUND,
            format!("There is no change {}.", quoted(since)),
            "",
        )
    };
    let of = of.ok_or_else(unknown)?;
    let entry = of.folder.editor.entry(number).map_err(|_| unknown())?;
    for one in asked {
        match std::ptr::eq(one.root, of) {
            true => one.after = Some(number),
            false => one.filter.since = Some(entry.time),
        }
    }
    Ok(())
}

/// Returns the root and the filter for what an id names. A document that was deleted still has changes.
fn named<'a>(
    roots: &VisibleRoots<'a>,
    given: &str,
) -> Result<(&'a DeskRoot, ChangeFilter), Failure> {
    let (root, filter) = match roots.locate(given) {
        Ok(located) => {
            let filter = match located.target {
                FoundTarget::Top => ChangeFilter::default(),
                FoundTarget::Folder(path) | FoundTarget::Document(path) => ChangeFilter {
                    under: Some(path),
                    ..ChangeFilter::default()
                },
                FoundTarget::Section { path, id } => ChangeFilter {
                    under: Some(path),
                    section_id: Some(id),
                    ..ChangeFilter::default()
                },
            };
            (located.root, filter)
        }
        Err(missing) => {
            let (root, path) = roots.place(given).map_err(|_| missing.clone())?;
            let filter = ChangeFilter {
                under: Some(path),
                limit: 1,
                ..ChangeFilter::default()
            };
            let stop = || roots.context().cancelled.is_cancelled();
            let known = root.folder.editor.changes(&filter, CallHooks::until(&stop));
            if known.is_ok_and(|(entries, _)| entries.is_empty()) {
                return Err(missing);
            }
            (root, filter)
        }
    };
    Ok((root, filter))
}

/// Asks one root.
fn root_changes<'a>(
    roots: &VisibleRoots<'a>,
    asked: &AskedRoot<'a>,
    before: Option<u64>,
    selection: &ChangeSelection<'_>,
) -> Result<RootChanges<'a>, Failure> {
    let root = asked.root;
    let stop = || roots.context().cancelled.is_cancelled();
    let state = root.folder.index.current(&stop);
    state.map_err(|error| library_failure(&error))?;
    // Whatever other programs did to a note that is known here becomes a change of its own.
    for path in root.folder.index.take_external_changes() {
        // A note that is gone or cannot be read has no new change.
        drop(root.folder.editor.view(&path));
    }
    let filter = ChangeFilter {
        before,
        limit: selection.limit,
        ..asked.filter.clone()
    };
    let stop = || roots.context().cancelled.is_cancelled();
    let found = root.folder.editor.changes(&filter, CallHooks::until(&stop));
    let (mut entries, mut has_more) =
        found.map_err(|error| roots.editor_failure(root, &error, selection.id))?;
    if let Some(after) = asked.after {
        let count = entries.len();
        entries.retain(|entry| entry.number > after);
        has_more &= entries.len() == count;
    }
    Ok(RootChanges {
        root,
        entries,
        has_more,
    })
}

/// Returns the ids of what a change concerns.
pub(in super::super) fn ids_of(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    entry: &HistoryEntry,
) -> Vec<String> {
    let folder = || {
        let paths = root.folder.editor.entry_paths(entry.number);
        let (_, to) = paths.ok()?.folder?;
        Some(format!("{to}/"))
    };
    // The sections are named where they can only be in one document.
    match (&entry.documents[..], &entry.sections[..]) {
        ([path], sections @ [_, ..]) => sections
            .iter()
            .map(|section| roots.id_of(root, path, Some(section)))
            .collect(),
        ([path], []) => vec![roots.id_of(root, path, None)],
        (documents, _) => {
            // A folder that was renamed stands for the documents in it.
            let folder = folder();
            let is_inside = |path: &&String| {
                let folder = folder.as_deref();
                folder.is_some_and(|folder| path.starts_with(folder))
            };
            let others = documents.iter().filter(|path| !is_inside(path));
            let all = folder.iter().chain(others);
            all.map(|path| roots.id_of(root, path, None)).collect()
        }
    }
}

fn listed(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    entry: &HistoryEntry,
    with_diff: bool,
) -> ListedChange {
    let ids = ids_of(roots, root, entry);
    ListedChange {
        change: roots.change_id(root, entry.number),
        // Nobody needs more than seconds.
        time: timestamp(entry.time.div_euclid(1_000) * 1_000),
        by: visible(&entry.actor, MAX_NAME_CHARS),
        tool: visible(&entry.operation, MAX_NAME_CHARS),
        more: ids.len().checked_sub(MAX_IDS).filter(|more| *more > 0),
        ids: ids.into_iter().take(MAX_IDS).collect(),
        external: entry.is_foreign,
        undone: entry.is_undone,
        undoes: entry.undoes.map(|number| roots.change_id(root, number)),
        unverified: entry.is_unverified,
        diff: with_diff.then(|| diff(roots, root, entry)),
    }
}

/// Returns what a change moved and the lines that it changed, as far as they are kept.
fn diff(roots: &VisibleRoots<'_>, root: &DeskRoot, entry: &HistoryEntry) -> String {
    let id = |path: &str| roots.id_of(root, path, None);
    let editor = &root.folder.editor;
    // An entry that is listed has paths, unless the history has just become unreadable.
    let paths = editor.entry_paths(entry.number).unwrap_or_default();
    let folder = paths
        .folder
        .map(|(from, to)| (id(&format!("{from}/")), id(&format!("{to}/"))));
    let moved = paths.documents.iter().filter_map(|one| {
        let from = one.moved_from.as_ref()?;
        Some((id(from), id(one.document.path())))
    });
    let moved: Vec<Moved> = folder.into_iter().chain(moved).collect();
    let edited = paths.documents.iter().filter(|one| one.is_edited);
    let texts = edited.take(MAX_DIFF_DOCUMENTS).filter_map(|one| {
        let (old, changes) = editor.entry_changes(&one.document, entry.number).ok()?;
        let options = DiffOptions {
            old_name: "before",
            new_name: "after",
            context: 1,
            max_bytes: MAX_DIFF_BYTES,
        };
        let diff = unified_diff(&old, &changes, options);
        Some(DocumentDiff {
            id: id(one.document.path()),
            text: diff.text,
            is_cut: diff.truncated,
        })
    });
    let texts: Vec<DocumentDiff> = texts.collect();
    let room = DiffRoom {
        tokens: MAX_DIFF_TOKENS,
        lines: MAX_DIFF_LINES,
        is_brief: false,
    };
    short_diff(&moved, &texts, room).0
}
