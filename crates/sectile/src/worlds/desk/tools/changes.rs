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
    let asked = asked(&roots, &params)?;
    let start = PageCursor::parse(params.cursor.as_deref(), asked.len())?;
    let state = state_of(&params, &asked);
    start.check(&state)?;
    let mut found = Vec::new();
    for (index, one) in asked.iter().enumerate() {
        context.check()?;
        let before = start.positions.get(index).copied();
        found.push(root_changes(&roots, one, before, &params)?);
    }
    let mut list = FittedList::new(LIST_TOKENS);
    // The number of entries of each root that are in the answer.
    let mut taken = vec![0; found.len()];
    while list.items.len() < params.limit
        && let Some(newest) = newest(&found, &taken)
    {
        let entry = &found[newest].entries[taken[newest]];
        if !list.add(listed(&roots, found[newest].root, entry, params.diff)) {
            break;
        }
        taken[newest] += 1;
    }
    let is_all = found
        .iter()
        .zip(&taken)
        .all(|(of, taken)| *taken == of.entries.len() && !of.has_more);
    let next = (!is_all).then(|| {
        let position = |(index, of): (usize, &RootChanges<'_>)| match taken[index].checked_sub(1) {
            Some(last) => of.entries[last].number,
            None => start.positions.get(index).copied().unwrap_or(u64::MAX),
        };
        let positions: Vec<u64> = found.iter().enumerate().map(position).collect();
        cursor(&positions, &state)
    });
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

/// Returns what cursors depend on: entries never change, so only what was asked for.
fn state_of(params: &ChangesParams, asked: &[AskedRoot<'_>]) -> Digest {
    let names: Vec<&str> = asked.iter().map(|one| one.root.name.as_str()).collect();
    let (id, since) = (params.id.as_deref(), params.since.as_deref());
    Digest::of(format!("{id:?} {since:?} {names:?}").as_bytes())
}

/// Returns the roots to ask, and what each is asked for.
fn asked<'a>(
    roots: &VisibleRoots<'a>,
    params: &ChangesParams,
) -> Result<Vec<AskedRoot<'a>>, Failure> {
    let all = |filter: ChangeFilter, root| AskedRoot {
        root,
        filter,
        after: None,
    };
    let given = params.id.as_deref().unwrap_or_default();
    let mut asked: Vec<AskedRoot<'_>> = match VisibleRoots::is_everything(given) {
        true => roots
            .iter()
            .map(|root| all(ChangeFilter::default(), root))
            .collect(),
        false => {
            let (root, filter) = named(roots, given)?;
            vec![all(filter, root)]
        }
    };
    let Some(since) = params.since.as_deref() else {
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
    params: &ChangesParams,
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
        limit: params.limit,
        ..asked.filter.clone()
    };
    let stop = || roots.context().cancelled.is_cancelled();
    let found = root.folder.editor.changes(&filter, CallHooks::until(&stop));
    let (mut entries, mut has_more) = found.map_err(|error| {
        let id = params.id.as_deref().unwrap_or_default();
        roots.editor_failure(root, &error, id)
    })?;
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

/// Returns the root whose next entry is the newest; of several at the same time, the first.
fn newest(found: &[RootChanges<'_>], taken: &[usize]) -> Option<usize> {
    let next = |index: usize| found[index].entries.get(taken[index]);
    let roots = (0..found.len()).filter(|index| next(*index).is_some());
    roots
        .rev()
        .max_by_key(|index| next(*index).map(|entry| entry.time))
}

fn listed(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    entry: &HistoryEntry,
    with_diff: bool,
) -> ListedChange {
    let folder = || {
        let paths = root.folder.editor.entry_paths(entry.number);
        let (_, to) = paths.ok()?.folder?;
        Some(format!("{to}/"))
    };
    // The sections are named where they can only be in one document.
    let ids: Vec<String> = match (&entry.documents[..], &entry.sections[..]) {
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
    };
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
