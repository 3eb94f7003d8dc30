//! The page of changes: what changed, when and by whom, with a way back.

use std::collections::BTreeMap;

use maud::{Markup, html};
use sectile_library::clock;
use sectile_mcp::{CallContext, Failure, PageAnswer, PageRequest, visible};
use sectile_vault::{
    NotePath,
    editor::{HistoryDocument, HistoryEntry},
};

use super::{
    super::{
        DeskWorld,
        roots::{DeskRoot, VisibleRoots},
        tools::{
            changes::{ChangeSelection, SelectedChanges, ids_of},
            undo::undo_change,
        },
    },
    change_view::DocumentChange,
    layout::{CHANGES, UNDO, address, counted, form_token, id_link, page},
    times::ago,
};

/// Number of changes on a page.
const PAGE: usize = 25;
/// Most changes that are put together into one view.
const MOST_TOGETHER: usize = 2_000;
/// Most documents whose lines are shown for one change.
const MOST_DOCUMENTS: usize = 8;
/// Most documents whose lines are shown in one view of a period.
const MOST_DOCUMENTS_TOGETHER: usize = 100;
/// Most ids that are named for one change.
const MOST_IDS: usize = 6;
/// Longest name of an author or a tool, in characters.
const MAX_NAME_CHARS: usize = 60;

/// What the person asked for.
struct ChangesQuery<'r> {
    id: &'r str,
    by: &'r str,
    since: &'r str,
    /// Whether the period is shown as one change.
    is_together: bool,
}

impl<'r> ChangesQuery<'r> {
    fn of(request: &'r PageRequest) -> Self {
        Self {
            id: request.field("id").trim(),
            by: request.field("by").trim(),
            since: request.field("since").trim(),
            is_together: request.field("together") == "yes",
        }
    }

    fn selection(&self, limit: usize) -> ChangeSelection<'_> {
        ChangeSelection {
            id: self.id,
            since: Some(self.since).filter(|since| !since.is_empty()),
            by: Some(self.by).filter(|by| !by.is_empty()),
            limit,
        }
    }

    fn address(&self, more: &[(&str, &str)]) -> String {
        let together = if self.is_together { "yes" } else { "" };
        let own = [
            ("id", self.id),
            ("by", self.by),
            ("since", self.since),
            ("together", together),
        ];
        address(CHANGES, &[&own, more].concat())
    }
}

pub(super) fn render(
    world: &DeskWorld,
    request: &PageRequest,
    context: &CallContext,
) -> Result<PageAnswer, Failure> {
    let roots = world.roots_for(context);
    let query = ChangesQuery::of(request);
    let content = match query.is_together {
        true => together(&roots, &query)?,
        false => one_by_one(&roots, request, &query)?,
    };
    let content = html! {
        h1 { "Changes" }
        (filters(&query))
        (content)
    };
    Ok(page(request, "Changes", &content))
}

/// Undoes or redoes a change through the checks of the editor, and shows the list again.
pub(super) fn undo(
    world: &DeskWorld,
    request: &PageRequest,
    context: &CallContext,
) -> Result<PageAnswer, Failure> {
    undo_change(world, request.field("change"), context)?;
    Ok(PageAnswer::Redirect(ChangesQuery::of(request).address(&[])))
}

fn filters(query: &ChangesQuery<'_>) -> Markup {
    let day = ChangesQuery {
        since: "1d",
        is_together: true,
        ..*query
    };
    html! {
        form.filters method="get" action={ "/" (CHANGES) } {
            div { label for="id" { "Document or folder" } input #id name="id" value=(query.id) dir="auto"; }
            div { label for="by" { "Author" } input #by name="by" value=(query.by) dir="auto"; }
            div {
                label for="since" { "Since" }
                input #since name="since" value=(query.since) placeholder="7d, 2026-01-31" size="12";
            }
            div.check {
                input #together type="checkbox" name="together" value="yes" checked[query.is_together];
                label for="together" { "As one view" }
            }
            button type="submit" { "Show" }
        }
        p.shortcuts {
            a href={ "/" (CHANGES) } { "All changes" } " · "
            a href=(day.address(&[])) { "Everything since yesterday" }
        }
    }
}

/// Lists changes, newest first.
fn one_by_one(
    roots: &VisibleRoots<'_>,
    request: &PageRequest,
    query: &ChangesQuery<'_>,
) -> Result<Markup, Failure> {
    let before = request.field("before");
    let start = before.split('.').filter_map(|part| part.parse().ok());
    let mut changes = SelectedChanges::find(roots, &query.selection(PAGE), start.collect())?;
    let mut entries = Vec::new();
    while entries.len() < PAGE
        && let Some((root, entry)) = changes.next()
    {
        roots.context().check()?;
        entries.push(change(roots, root, entry, (request, query)));
        changes.take();
    }
    let next = changes.rest().map(|positions| {
        let positions: Vec<String> = positions.iter().map(u64::to_string).collect();
        query.address(&[("before", &positions.join("."))])
    });
    Ok(html! {
        @if entries.is_empty() {
            p.empty { "Nothing was changed" @if before.is_empty() { "" } @else { " before that" } "." }
        }
        ol.changes { @for entry in &entries { (entry) } }
        @if let Some(next) = next { p.more { a href=(next) rel="next" { "Older changes" } } }
    })
}

fn change(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    entry: &HistoryEntry,
    (request, query): (&PageRequest, &ChangesQuery<'_>),
) -> Markup {
    let name = roots.change_id(root, entry.number);
    let ids = ids_of(roots, root, entry);
    let author = visible(&entry.actor, MAX_NAME_CHARS);
    let by = ChangesQuery {
        by: &entry.actor,
        ..*query
    };
    html! {
        li.change.undone[entry.is_undone] id={ "change-" (name.replace(':', "-")) } {
            div.head {
                span.what {
                    strong { (visible(&entry.operation, MAX_NAME_CHARS)) } " "
                    @for (index, id) in ids.iter().take(MOST_IDS).enumerate() {
                        @if index > 0 { ", " } (id_link(id))
                    }
                    @if ids.len() > MOST_IDS { " and " (ids.len() - MOST_IDS) " more" }
                }
                span.who {
                    @match entry.is_foreign {
                        true => { "by another program" }
                        false => { "by " a href=(by.address(&[])) { bdi { (author) } } }
                    }
                    ", " (ago(entry.time, clock::now())) ", change " (name)
                }
                @if let Some(undone) = entry.undoes {
                    span.mark {
                        @if entry.operation == "redo" { "redoes" } @else { "undoes" } " change "
                        (roots.change_id(root, undone))
                    }
                }
                @if entry.is_undone { span.mark { "undone" } }
                @if entry.is_unverified { span.mark { "came with the folder" } }
                (undo_button(roots, entry, &name, (request, query)))
            }
            (lines(roots, root, entry))
        }
    }
}

/// Returns the button that undoes a change, or redoes what an undo reverted; nothing where neither can be done.
fn undo_button(
    roots: &VisibleRoots<'_>,
    entry: &HistoryEntry,
    name: &str,
    (request, query): (&PageRequest, &ChangesQuery<'_>),
) -> Markup {
    if entry.is_undone || entry.is_unverified || !roots.context().may_use("undo") {
        return html! {};
    }
    let is_undo = entry.undoes.is_some() && entry.operation != "redo";
    let word = if is_undo { "Redo" } else { "Undo" };
    html! {
        form.action method="post" action={ "/" (UNDO) } {
            (form_token(request))
            input type="hidden" name="change" value=(name);
            input type="hidden" name="id" value=(query.id);
            input type="hidden" name="by" value=(query.by);
            input type="hidden" name="since" value=(query.since);
            button type="submit" { (word) span.unseen { " change " (name) } }
        }
    }
}

/// Returns what a change moved and the lines that it changed, as far as they are kept.
fn lines(roots: &VisibleRoots<'_>, root: &DeskRoot, entry: &HistoryEntry) -> Markup {
    let editor = &root.folder.editor;
    // An entry that is listed has paths, unless the history has just become unreadable.
    let paths = editor.entry_paths(entry.number).unwrap_or_default();
    let id = |path: &str| roots.id_of(root, path, None);
    let folder = paths.folder.as_ref();
    let folder = folder.map(|(from, to)| (format!("{from}/"), format!("{to}/")));
    let moved = paths.documents.iter().filter_map(|one| {
        let from = one.moved_from.clone()?;
        Some((from, one.document.path().to_owned()))
    });
    let moved: Vec<(String, String)> = folder.into_iter().chain(moved).collect();
    let edited = paths.documents.iter().filter(|one| one.is_edited);
    let count = edited.clone().count();
    let shown = edited.take(MOST_DOCUMENTS).filter_map(|one| {
        let (old, changes) = editor.entry_changes(&one.document, entry.number).ok()?;
        Some(DocumentChange::new(id(one.document.path()), &old, &changes))
    });
    let shown: Vec<DocumentChange> = shown.filter(|change| !change.is_empty()).collect();
    html! {
        @if !moved.is_empty() {
            ul.moves {
                @for (from, to) in moved.iter().take(MOST_DOCUMENTS) {
                    li { bdi { (id(from)) } " → " (id_link(&id(to))) }
                }
                @if moved.len() > MOST_DOCUMENTS { li { "and " (moved.len() - MOST_DOCUMENTS) " more" } }
            }
        }
        @for change in &shown { (change.render(shown.len() > 1 || !moved.is_empty())) }
        @if count > MOST_DOCUMENTS {
            p.quiet { (counted(count - MOST_DOCUMENTS, "more document", "more documents")) " changed." }
        }
    }
}

/// The document of a root that changed in a period.
struct PeriodDocument<'a> {
    root: &'a DeskRoot,
    document: HistoryDocument,
    /// Its first change in the period.
    first: u64,
    changes: usize,
}

/// Shows what all changes of a period did together, document by document.
fn together(roots: &VisibleRoots<'_>, query: &ChangesQuery<'_>) -> Result<Markup, Failure> {
    let mut changes = SelectedChanges::find(roots, &query.selection(MOST_TOGETHER), Vec::new())?;
    let mut documents: BTreeMap<(String, String), PeriodDocument<'_>> = BTreeMap::new();
    let mut count = 0;
    while count < MOST_TOGETHER
        && let Some((root, entry)) = changes.next()
    {
        roots.context().check()?;
        let paths = root.folder.editor.entry_paths(entry.number);
        for one in paths.unwrap_or_default().documents {
            let key = (root.name.clone(), one.document.path().to_owned());
            // Newest first: the last entry that is seen is the first of the period.
            let known = documents.entry(key).or_insert_with(|| PeriodDocument {
                root,
                document: one.document.clone(),
                first: entry.number,
                changes: 0,
            });
            known.changes += 1;
            known.first = entry.number;
            known.document = one.document;
        }
        count += 1;
        changes.take();
    }
    let is_cut = changes.rest().is_some();
    let mut views = Vec::new();
    for ((_, path), changed) in documents.iter().take(MOST_DOCUMENTS_TOGETHER) {
        roots.context().check()?;
        views.push((changed, net_change(roots, path, changed)));
    }
    let named = documents.len();
    Ok(html! {
        p {
            (counted(count, "change", "changes")) " in " (counted(named, "document", "documents")) "."
            @if is_cut { " Older changes of the period are left out." }
        }
        @if views.is_empty() { p.empty { "Nothing was changed." } }
        @for (changed, change) in &views {
            section.change {
                h2 { (id_link(&roots.id_of(changed.root, changed.document.path(), None))) }
                p.quiet { (counted(changed.changes, "change", "changes")) }
                @match change {
                    Some(change) if change.is_empty() => { p.quiet { "It is as it was before." } }
                    Some(change) => { (change.render(false)) }
                    None => { p.quiet { "What it was before is not kept any more." } }
                }
            }
        }
        @if named > views.len() {
            p.quiet { (counted(named - views.len(), "more document", "more documents")) " changed." }
        }
    })
}

/// Compares a document as it is now with what it was before its first change of a period.
fn net_change(
    roots: &VisibleRoots<'_>,
    path: &str,
    changed: &PeriodDocument<'_>,
) -> Option<DocumentChange> {
    let editor = &changed.root.folder.editor;
    let (old, _) = editor
        .entry_changes(&changed.document, changed.first)
        .ok()?;
    let now = NotePath::parse_vault(path)
        .ok()
        .and_then(|path| editor.view(&path).ok());
    let new = now.as_ref().map_or(&[][..], |view| view.bytes());
    let id = roots.id_of(changed.root, path, None);
    Some(DocumentChange::between(id, &old, new))
}
