//! Folders: the tree beside every document, and the list of what is in one.

use maud::{Markup, html};
use sectile_library::{
    clock,
    live_folder::{FolderState, IndexProgress, NoteRecord},
};
use sectile_mcp::{Failure, PageRequest, visible};
use sectile_vault::NotePath;

use super::{
    super::{
        describe::progress_text,
        errors::library_failure,
        roots::{DeskRoot, VisibleRoots},
    },
    layout::{DOCUMENTS, address, address_of, counted, grouped},
    times::ago,
};

/// Number of documents on one page of a folder.
const PAGE: usize = 200;
/// Most folders that the tree lists in one folder, and most documents in the one that is looked at.
const MOST_IN_TREE: usize = 200;
/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 100;

/// A folder of the desk; without a root, the desk itself.
#[derive(Clone, Copy)]
pub(super) struct FolderPlace<'a> {
    pub(super) root: Option<&'a DeskRoot>,
    /// The path of the folder with a slash at its end; empty for the root.
    pub(super) path: &'a str,
}

/// What is in a folder, without what is further down.
struct FolderListing<'s> {
    folders: Vec<&'s str>,
    notes: Vec<&'s NoteRecord>,
}

impl<'s> FolderListing<'s> {
    fn of(state: &'s FolderState, folder: &str) -> Self {
        let is_inside = |path: &str| {
            let below = path.strip_prefix(folder);
            below.is_some_and(|below| !below.is_empty() && !below.contains('/'))
        };
        let folders = state.folders().iter().map(NotePath::as_str);
        let notes = state.notes();
        // The notes of a folder and of those below it are next to each other.
        let start = notes.partition_point(|note| note.path.as_str() < folder);
        let below = notes[start..].iter();
        let below = below.take_while(|note| note.path.as_str().starts_with(folder));
        Self {
            folders: folders.filter(|path| is_inside(path)).collect(),
            notes: below
                .filter(|note| is_inside(note.path.as_str()))
                .map(|note| &**note)
                .collect(),
        }
    }
}

/// Renders the page of a folder: what it holds, by name.
pub(super) fn folder_page(
    roots: &VisibleRoots<'_>,
    request: &PageRequest,
    place: FolderPlace<'_>,
) -> Result<Markup, Failure> {
    let Some(root) = place.root else {
        return desk_page(roots);
    };
    let stop = || roots.context().cancelled.is_cancelled();
    let state = root.folder.index.current(&stop);
    let state = state.map_err(|error| library_failure(&error))?;
    let listing = FolderListing::of(&state, place.path);
    let from = request.field("from").parse::<usize>().unwrap_or(0);
    let notes = listing.notes.iter().skip(from).take(PAGE);
    let next = from.saturating_add(PAGE);
    let has_more = listing.notes.len() > next;
    let id = |path: &str| roots.id_of(root, path, None);
    let count = counted(listing.notes.len(), "document", "documents");
    let next = address(
        DOCUMENTS,
        &[
            ("id", &folder_id(roots, place)),
            ("from", &next.to_string()),
        ],
    );
    Ok(html! {
        @if place.path.is_empty() { (summary(&state)) }
        @if !listing.folders.is_empty() && from == 0 {
            h2 { "Folders" }
            ul.folders {
                @for path in listing.folders.iter().take(PAGE) {
                    li { a href=(address_of(&id(&format!("{path}/")))) { bdi { (name_of(path)) "/" } } }
                }
            }
            @if listing.folders.len() > PAGE {
                p.quiet { "and " (counted(listing.folders.len() - PAGE, "more folder", "more folders")) }
            }
        }
        h2 { (count) }
        div.table role="region" aria-label=(count) tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { "Document" } th scope="col" { "Title" }
                        th.number scope="col" { "Tokens" } th scope="col" { "Modified" }
                    }
                }
                tbody {
                    @for note in notes {
                        tr {
                            td { a href=(address_of(&id(note.path.as_str()))) { bdi { (note.path.file_name()) } } }
                            td { bdi { (visible(&note.title, MAX_TITLE_CHARS)) } }
                            td.number { (grouped(note.tokens as usize)) }
                            td { (ago(note.stamp.modified, clock::now())) }
                        }
                    }
                }
            }
        }
        @if has_more { p.more { a href=(next) rel="next" { "More documents" } } }
    })
}

/// Renders the roots of a desk that has several.
fn desk_page(roots: &VisibleRoots<'_>) -> Result<Markup, Failure> {
    let mut rows = Vec::new();
    for root in roots.iter() {
        let stop = || roots.context().cancelled.is_cancelled();
        let state = root.folder.index.current(&stop);
        let state = state.map_err(|error| library_failure(&error))?;
        rows.push((root, state.notes().len()));
    }
    Ok(html! {
        h2 { "Roots" }
        ul.folders {
            @for (root, notes) in rows {
                li {
                    a href=(address_of(&roots.prefix(root))) { bdi { (root.name) } } " "
                    span.quiet { (counted(notes, "note", "notes")) }
                }
            }
        }
    })
}

/// Says how much is in a root, and how far its index has come.
fn summary(state: &FolderState) -> Markup {
    let progress: IndexProgress = state.progress();
    let tier = progress.tier.name();
    let reading = progress_text(std::slice::from_ref(&progress));
    html! {
        p {
            (counted(state.notes().len(), "note", "notes")) " in "
            (counted(state.folders().len() + 1, "folder", "folders")) ". "
            "Search ranks by words and the " (tier) " model."
            @if let Some(reading) = reading { " Still reading: " (reading) "." }
        }
    }
}

/// Renders the tree of folders: those on the way to the one that is looked at are open.
pub(super) fn tree(
    roots: &VisibleRoots<'_>,
    place: FolderPlace<'_>,
    document: Option<&NotePath>,
) -> Result<Markup, Failure> {
    let all: Vec<&DeskRoot> = roots.iter().collect();
    let stop = || roots.context().cancelled.is_cancelled();
    let mut branches = Vec::new();
    for root in &all {
        let is_open = place.root.is_none_or(|open| std::ptr::eq(open, *root));
        let state = root.folder.index.current(&stop);
        let state = state.map_err(|error| library_failure(&error))?;
        let path = if is_open { place.path } else { "" };
        let branch = match is_open && place.root.is_some() || all.len() == 1 {
            true => branch(roots, root, &state, ("", path), document),
            false => html! {},
        };
        branches.push((root, branch));
    }
    Ok(html! {
        nav.tree aria-label="Folders" {
            @match &branches[..] {
                [(_, only)] => {
                    a.top-folder href={ "/" (DOCUMENTS) } aria-current=[is_here(place, document, "")] { "All notes" }
                    (only)
                }
                several => {
                    ul {
                        @for (root, branch) in several {
                            li { a href=(address_of(&roots.prefix(root))) { bdi { (root.name) } } (branch) }
                        }
                    }
                }
            }
        }
    })
}

fn is_here(
    place: FolderPlace<'_>,
    document: Option<&NotePath>,
    folder: &str,
) -> Option<&'static str> {
    (document.is_none() && place.path == folder).then_some("page")
}

/// Renders what is in `folder`, and in the folders on the way to `open`.
fn branch(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    state: &FolderState,
    (folder, open): (&str, &str),
    document: Option<&NotePath>,
) -> Markup {
    let listing = FolderListing::of(state, folder);
    let is_last = folder == open;
    let notes: &[&NoteRecord] = if is_last { &listing.notes } else { &[] };
    let place = FolderPlace {
        root: Some(root),
        path: open,
    };
    let left_out = listing.folders.len().saturating_sub(MOST_IN_TREE)
        + notes.len().saturating_sub(MOST_IN_TREE);
    html! {
        ul {
            @for path in listing.folders.iter().take(MOST_IN_TREE) {
                @let below = format!("{path}/");
                li.folder {
                    a href=(address_of(&roots.id_of(root, &below, None))) aria-current=[is_here(place, document, &below)] {
                        bdi { (name_of(path)) "/" }
                    }
                    @if open.starts_with(&below) { (branch(roots, root, state, (&below, open), document)) }
                }
            }
            @for note in notes.iter().take(MOST_IN_TREE) {
                @let is_shown = document == Some(&note.path);
                li {
                    a href=(address_of(&roots.id_of(root, note.path.as_str(), None)))
                        aria-current=[is_shown.then_some("page")] { bdi { (name_of(note.path.as_str())) } }
                }
            }
            @if left_out > 0 { li.quiet { "and " (grouped(left_out)) " more" } }
        }
    }
}

/// Renders the way from the top to a folder.
pub(super) fn trail(roots: &VisibleRoots<'_>, place: FolderPlace<'_>) -> Markup {
    let mut steps = Vec::new();
    if let Some(root) = place.root {
        let prefix = roots.prefix(root);
        if !prefix.is_empty() {
            steps.push((root.name.clone(), address_of(&prefix)));
        }
        for (end, _) in place.path.match_indices('/') {
            let folder = &place.path[..end];
            let id = roots.id_of(root, &place.path[..=end], None);
            steps.push((name_of(folder).to_owned(), address_of(&id)));
        }
    }
    html! {
        nav.trail aria-label="Place" {
            ol {
                li { a href={ "/" (DOCUMENTS) } { "All notes" } }
                @for (name, address) in steps { li { a href=(address) { bdi { (name) } } } }
            }
        }
    }
}

/// Returns the id of a folder; that of a single root is empty.
pub(super) fn folder_id(roots: &VisibleRoots<'_>, place: FolderPlace<'_>) -> String {
    let root = place.root;
    root.map_or_else(String::new, |root| roots.id_of(root, place.path, None))
}

/// Returns the last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
