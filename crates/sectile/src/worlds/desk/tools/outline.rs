//! `outline`: what is in the desk, in a folder, in a document or in a section.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use sectile_library::editable_folder::FoundTarget;
use sectile_library::live_folder::{IndexProgress, NoteRecord};
use sectile_markdown::{Digest, estimate_tokens};
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool, visible};
use sectile_vault::{
    NotePath,
    editor::{View, part_hash, short_hash},
};
use serde::{Deserialize, Serialize};

use super::super::{
    DeskWorld,
    describe::progress_text,
    errors::library_failure,
    lists::{FittedList, LIST_TOKENS},
    paging::{PageCursor, cursor},
    roots::{DeskRoot, VisibleRoots},
};

/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 100;

pub(super) fn tool() -> Tool<DeskWorld> {
    Tool::read(
        "outline",
        "Outline",
        "List folders and documents, or the headings of a document or section: id, tokens, number of children, base.",
    )
    .alias("path", "id")
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OutlineParams {
    /// None: everything.
    id: Option<String>,
    /// Levels to show.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 9))]
    depth: usize,
    cursor: Option<String>,
}

fn default_depth() -> usize {
    2
}

#[derive(Debug, Serialize, JsonSchema)]
struct OutlineAnswer {
    items: Vec<OutlineItem>,
    /// Number of items in all.
    total: usize,
    /// Cursor for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Progress, while notes are still being read.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
struct OutlineItem {
    id: String,
    /// Left out where the id says it.
    #[serde(skip_serializing_if = "String::is_empty")]
    title: String,
    tokens: usize,
    children: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
}

/// What an outline lists: all of its items, or those of a document, which are made when they are shown.
enum Listing {
    Items(Vec<OutlineItem>),
    Headings(HeadingList),
}

/// Headings of a document.
struct HeadingList {
    document_id: String,
    view: Arc<View>,
    positions: Vec<usize>,
    /// Number of direct subsections of each section of the document.
    children: Vec<usize>,
}

fn handle(
    world: &DeskWorld,
    params: OutlineParams,
    context: &CallContext,
) -> Result<(OutlineAnswer, AnswerFacts), Failure> {
    let roots = world.roots_for(context);
    let start = PageCursor::parse(params.cursor.as_deref(), 1)?;
    let given = params.id.as_deref().unwrap_or_default();
    let mut progress = Vec::new();
    let listing = match VisibleRoots::is_everything(given) {
        true => Listing::Items(desk_items(&roots, params.depth, &mut progress)?),
        false => located(&roots, given, params.depth, &mut progress)?,
    };
    let state = listing.state(given, params.depth);
    start.check(&state)?;
    let (first, total) = (start.position(0), listing.len());
    let mut list = FittedList::new(LIST_TOKENS);
    for index in first..total {
        context.check()?;
        if !listing.item(index).is_none_or(|item| list.add(item)) {
            break;
        }
    }
    let end = first.saturating_add(list.items.len());
    let next = (end < total).then(|| cursor(&[u64::try_from(end).unwrap_or(u64::MAX)], &state));
    let facts = AnswerFacts {
        sections: Some(list.items.len()),
        truncated: next.is_some(),
        ..AnswerFacts::default()
    };
    let answer = OutlineAnswer {
        items: list.items,
        total,
        next,
        index: progress_text(&progress),
    };
    Ok((answer, facts))
}

/// Lists what an id names.
fn located(
    roots: &VisibleRoots<'_>,
    given: &str,
    depth: usize,
    progress: &mut Vec<IndexProgress>,
) -> Result<Listing, Failure> {
    let located = roots.locate(given)?;
    let root = located.root;
    let id = roots.id_of_target(root, &located.target);
    let (path, section) = match located.target {
        FoundTarget::Top => {
            let items = folder_items(roots, root, None, depth, progress)?;
            return Ok(Listing::Items(items));
        }
        FoundTarget::Folder(path) => {
            let items = folder_items(roots, root, Some(&path), depth, progress)?;
            return Ok(Listing::Items(items));
        }
        FoundTarget::Document(path) => (path, None),
        FoundTarget::Section { path, id } => (path, Some(id)),
    };
    let view = roots.view(root, &path, &id)?;
    let below = section.and_then(|section| view.position_of(&section));
    Ok(Listing::Headings(HeadingList {
        document_id: roots.id_of(root, view.path().as_str(), None),
        positions: positions_below(&view, below, depth),
        children: children(&view),
        view,
    }))
}

impl Listing {
    fn len(&self) -> usize {
        match self {
            Self::Items(items) => items.len(),
            Self::Headings(headings) => headings.positions.len(),
        }
    }

    fn item(&self, index: usize) -> Option<OutlineItem> {
        match self {
            Self::Items(items) => items.get(index).cloned(),
            Self::Headings(headings) => headings.item(*headings.positions.get(index)?),
        }
    }

    /// Returns a digest of what is listed, which cursors depend on.
    fn state(&self, given: &str, depth: usize) -> Digest {
        let mut text = format!("{given}\n{depth}\n");
        match self {
            Self::Items(items) => {
                for item in items {
                    text += &item.id;
                    text.push('\n');
                }
            }
            Self::Headings(headings) => text += &headings.view.hash().to_string(),
        }
        Digest::of(text.as_bytes())
    }
}

impl HeadingList {
    fn item(&self, position: usize) -> Option<OutlineItem> {
        let info = self.view.section(position)?;
        let (_, _, extent) = self.view.document().top_level().nth(position)?;
        let text = String::from_utf8_lossy(extent.subtree.slice(self.view.bytes()));
        Some(OutlineItem {
            id: format!("{}#{}", self.document_id, info.id),
            title: visible(&info.heading, MAX_TITLE_CHARS),
            tokens: estimate_tokens(&text),
            children: self.children.get(position).copied().unwrap_or(0),
            base: Some(part_hash(&info.subtree_hash)),
        })
    }
}

/// Returns the number of direct subsections of each section.
fn children(view: &View) -> Vec<usize> {
    let sections: Vec<_> = view.document().top_level().collect();
    let mut counts = vec![0; sections.len()];
    for (_, _, extent) in &sections {
        let parent = extent.parent.and_then(|parent| {
            sections
                .binary_search_by_key(&parent, |(index, ..)| *index)
                .ok()
        });
        if let Some(parent) = parent {
            counts[parent] += 1;
        }
    }
    counts
}

/// Returns the positions of the sections below the one at `below`, or of all in the document, down to `depth` levels.
fn positions_below(view: &View, below: Option<usize>, depth: usize) -> Vec<usize> {
    let mut positions = Vec::new();
    // The sections above the one that is looked at, outermost first.
    let mut open: Vec<(usize, u8)> = Vec::new();
    for (position, (_, section, _)) in view.document().top_level().enumerate() {
        while open.pop_if(|(_, level)| *level >= section.level).is_some() {}
        let above = match below {
            None => Some(open.len()),
            Some(below) => {
                let at = open.iter().position(|(position, _)| *position == below);
                at.map(|at| open.len() - at - 1)
            }
        };
        if above.is_some_and(|above| above < depth) {
            positions.push(position);
        }
        open.push((position, section.level));
    }
    positions
}

/// Lists the roots, and what is in them; a single root is not listed itself.
fn desk_items(
    roots: &VisibleRoots<'_>,
    depth: usize,
    progress: &mut Vec<IndexProgress>,
) -> Result<Vec<OutlineItem>, Failure> {
    let all: Vec<&DeskRoot> = roots.iter().collect();
    if let [root] = all[..] {
        return folder_items(roots, root, None, depth, progress);
    }
    let mut items = Vec::new();
    for root in all {
        let below = folder_items(roots, root, None, 1, progress)?;
        items.push(OutlineItem {
            id: roots.id_of_target(root, &FoundTarget::Top),
            title: String::new(),
            tokens: below.iter().map(|item| item.tokens).sum(),
            children: below.len(),
            base: None,
        });
        match depth {
            0 | 1 => {}
            2 => items.extend(below),
            _ => items.extend(folder_items(roots, root, None, depth - 1, &mut Vec::new())?),
        }
    }
    Ok(items)
}

/// Lists the folders and documents in a folder, down to `depth` levels.
fn folder_items(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    folder: Option<&NotePath>,
    depth: usize,
    progress: &mut Vec<IndexProgress>,
) -> Result<Vec<OutlineItem>, Failure> {
    let stop = || roots.context().cancelled.is_cancelled();
    let state = root.folder.index.current(&stop);
    let state = state.map_err(|error| library_failure(&error))?;
    progress.push(state.progress());
    let top = folder.map_or_else(String::new, |folder| format!("{folder}/"));
    // Folders end in a slash, so that a folder comes before what is in it.
    let mut items: BTreeMap<String, OutlineItem> = BTreeMap::new();
    let mut count = |path: &str, is_folder: bool, notes: usize, tokens: usize| {
        let Some(below) = path.strip_prefix(&top).filter(|below| !below.is_empty()) else {
            return;
        };
        let ends = below.match_indices('/').map(|(end, _)| top.len() + end + 1);
        for (level, end) in ends.take(depth).enumerate() {
            let above = items.entry(path[..end].to_owned()).or_default();
            above.tokens += tokens;
            let is_direct = !path[end..].contains('/');
            above.children += notes * usize::from(is_direct && level < depth);
        }
        if is_folder && below.matches('/').count() < depth {
            items.entry(format!("{path}/")).or_default();
        }
    };
    for folder in state.folders() {
        count(folder.as_str(), true, 1, 0);
    }
    // Notes of one folder are counted at once: there may be many, and few folders.
    let is_beside =
        |one: &Arc<NoteRecord>, other: &Arc<NoteRecord>| one.path.folder() == other.path.folder();
    for notes in state.notes().chunk_by(is_beside) {
        let tokens = notes.iter().map(|note| note.tokens as usize).sum();
        count(notes[0].path.as_str(), false, notes.len(), tokens);
    }
    for note in state.notes() {
        let below = note.path.as_str().strip_prefix(&top);
        if below.is_some_and(|below| below.matches('/').count() < depth) {
            items.insert(note.path.as_str().to_owned(), note_item(note));
        }
    }
    let items = items.into_iter().map(|(path, item)| OutlineItem {
        id: roots.id_of(root, &path, None),
        ..item
    });
    Ok(items.collect())
}

/// Returns the item of a document, without its id.
fn note_item(note: &NoteRecord) -> OutlineItem {
    let name = note.path.file_name();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut highest = u8::MAX;
    let is_outermost = |level: u8| {
        let is_outermost = level <= highest;
        highest = highest.min(level);
        is_outermost
    };
    let levels = note.headings.iter().map(|heading| heading.level);
    OutlineItem {
        id: String::new(),
        title: match note.title == stem {
            true => String::new(),
            false => visible(&note.title, MAX_TITLE_CHARS),
        },
        tokens: note.tokens as usize,
        children: levels.map(is_outermost).filter(|is| *is).count(),
        base: note
            .left_out
            .is_none()
            .then(|| part_hash(&short_hash(&note.digest))),
    }
}
