//! `links`: what leads to a document, section or folder, and where its own links lead.

use std::{collections::HashMap, sync::Arc};

use schemars::JsonSchema;
use sectile_library::editable_folder::FoundTarget;
use sectile_library::left_out::WhyLeftOut;
use sectile_library::live_folder::{FolderState, IndexProgress, LinkEdge, LinkTarget};
use sectile_markdown::{Digest, NamedBlock, Span, sentence_around};
use sectile_mcp::{AnswerFacts, CallContext, Failure, Tool, visible};
use sectile_vault::{
    NotePath,
    editor::{View, ViewBatch},
};
use serde::{Deserialize, Serialize};

use super::super::{
    DeskWorld,
    describe::progress_text,
    errors::library_failure,
    fetched::{ReadItem, section_at},
    lists::{FittedList, LIST_TOKENS},
    paging::{PageCursor, cursor},
    roots::{DeskRoot, VisibleRoots},
};

/// Maximum length of the sentence around a link, in characters.
const MAX_SENTENCE_CHARS: usize = 240;
/// Maximum length of the destination of a broken link, in characters.
const MAX_TARGET_CHARS: usize = 160;
/// Maximum number of candidates for an ambiguous link.
const MAX_CANDIDATES: usize = 5;

pub(super) fn tool() -> Tool<DeskWorld> {
    Tool::read(
        "links",
        "Links",
        "List the links of a document, section or folder (`.`: everything), each with the sentence around it. Broken and ambiguous ones are marked.",
    )
    .alias("path", "id")
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinksParams {
    id: String,
    #[serde(default)]
    direction: DirectionWord,
    /// Only broken ones.
    #[serde(default)]
    broken: bool,
    cursor: Option<String>,
}

/// Where links lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum DirectionWord {
    In,
    Out,
    #[default]
    Both,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LinksAnswer {
    links: Vec<ListedLink>,
    /// Number of links in all.
    total: usize,
    /// Cursor for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Progress, while notes are still being read; notes whose own links are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(in super::super) struct ListedLink {
    pub(in super::super) from: String,
    /// Id, or what is written where that leads nowhere.
    pub(in super::super) to: String,
    /// The sentence around it.
    pub(in super::super) text: String,
    /// The reason why it leads nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) broken: Option<&'static str>,
    /// The documents that it may mean.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in super::super) candidates: Vec<String>,
}

/// The links of one document, in one direction.
#[derive(Debug)]
pub(in super::super) struct DocumentLinks {
    /// As many of them as were asked for.
    pub(in super::super) links: Vec<ListedLink>,
    /// The number of all.
    pub(in super::super) total: usize,
}

/// Returns the links in a document and those that lead to it, at most `most` of each with the sentences around them.
pub(in super::super) fn links_of_document(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    path: &NotePath,
    most: usize,
) -> Result<[DocumentLinks; 2], Failure> {
    let stop = || roots.context().cancelled.is_cancelled();
    let state = root.folder.index.current(&stop);
    let state = state.map_err(|error| library_failure(&error))?;
    let graph = root.folder.links(&state);
    let (into, into_total) = graph.links_to(path, 0..most);
    let edges = graph.out_of(path);
    let out_total = edges.len();
    let found = [(edges, out_total), (into, into_total)].map(|(mut edges, total)| {
        edges.truncate(most);
        let of = RootLinks {
            root,
            state: Arc::clone(&state),
            views: root.folder.editor.view_batch(),
            edges,
            unread: Vec::new(),
        };
        let mut views = QuotedDocuments::default();
        let links = of.edges.iter();
        let links = links.filter_map(|edge| listed(roots, &of, edge, &mut views));
        DocumentLinks {
            links: links.collect(),
            total,
        }
    });
    Ok(found)
}

/// Notes that are not indexed, and why.
type UnreadNotes = Vec<(NotePath, WhyLeftOut)>;

/// The links of one root.
struct RootLinks<'a> {
    root: &'a DeskRoot,
    state: Arc<FolderState>,
    views: ViewBatch<'a>,
    edges: Vec<LinkEdge>,
    /// The documents that were asked about and are not indexed, if their own links were asked for.
    unread: UnreadNotes,
}

fn handle(
    world: &DeskWorld,
    params: LinksParams,
    context: &CallContext,
) -> Result<(LinksAnswer, AnswerFacts), Failure> {
    let roots = world.roots_for(context);
    let start = PageCursor::parse(params.cursor.as_deref(), 1)?;
    let given = params.id.as_str();
    let asked: Vec<(&DeskRoot, FoundTarget)> = match VisibleRoots::is_everything(given) {
        true => roots.iter().map(|root| (root, FoundTarget::Top)).collect(),
        false => {
            let located = roots.locate(given)?;
            vec![(located.root, located.target)]
        }
    };
    let stop = || context.cancelled.is_cancelled();
    let mut found = Vec::new();
    for (root, target) in asked {
        let state = root.folder.index.current(&stop);
        let state = state.map_err(|error| library_failure(&error))?;
        let (edges, unread) = edges(&roots, root, &state, &target, &params)?;
        found.push(RootLinks {
            views: root.folder.editor.view_batch(),
            root,
            state,
            edges,
            unread,
        });
    }
    let state = state_of(&params, &found);
    start.check(&state)?;
    let all = found
        .iter()
        .flat_map(|of| of.edges.iter().map(move |edge| (of, edge)));
    let mut list = FittedList::new(LIST_TOKENS);
    let mut views = QuotedDocuments::default();
    let mut end = start.position(0);
    for (of, edge) in all.skip(end) {
        context.check()?;
        // A link that was changed a moment ago is not quoted.
        if !listed(&roots, of, edge, &mut views).is_none_or(|link| list.add(link)) {
            break;
        }
        end += 1;
    }
    let total: usize = found.iter().map(|of| of.edges.len()).sum();
    let next = (end < total).then(|| cursor(&[u64::try_from(end).unwrap_or(u64::MAX)], &state));
    let progress: Vec<IndexProgress> = found.iter().map(|of| of.state.progress()).collect();
    let facts = AnswerFacts {
        sections: Some(list.items.len()),
        truncated: next.is_some(),
        ..AnswerFacts::default()
    };
    let answer = LinksAnswer {
        links: list.items,
        total,
        next,
        index: joined(progress_text(&progress), unread_text(&roots, &found)),
    };
    Ok((answer, facts))
}

/// Returns a digest of the arguments and of all links, which cursors depend on.
fn state_of(params: &LinksParams, found: &[RootLinks<'_>]) -> Digest {
    let mut text = format!("{} {:?} {}\n", params.id, params.direction, params.broken);
    for of in found {
        for edge in &of.edges {
            let (root, span) = (&of.root.name, edge.link.span);
            text += &format!("{root}:{} {} {}\n", edge.from, span.start, span.end);
        }
    }
    Digest::of(text.as_bytes())
}

/// Returns a sentence about the documents that were asked about and are not indexed, if there are any.
fn unread_text(roots: &VisibleRoots<'_>, found: &[RootLinks<'_>]) -> Option<String> {
    let all = found.iter().flat_map(|of| {
        let unread = of.unread.iter();
        unread.map(|(path, why)| (roots.id_of(of.root, path.as_str(), None), *why))
    });
    let all: Vec<(String, WhyLeftOut)> = all.collect();
    match all.as_slice() {
        [] => None,
        [(id, why)] => {
            let why = match why {
                WhyLeftOut::TooLarge => "is too large to be indexed",
                WhyLeftOut::Unreadable => "cannot be read",
            };
            let id = visible(id, MAX_TARGET_CHARS);
            Some(format!("{id} {why}, so its own links are not known"))
        }
        several => Some(format!(
            "{} notes are too large to be indexed or cannot be read, so their own links are not known",
            several.len()
        )),
    }
}

/// Joins two sentences, as far as they are there.
fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

/// Returns the links that are asked for: first those that lead out, by document and place, then those that lead in. With
/// them are the documents whose own links are not known.
fn edges(
    roots: &VisibleRoots<'_>,
    root: &DeskRoot,
    state: &FolderState,
    target: &FoundTarget,
    params: &LinksParams,
) -> Result<(Vec<LinkEdge>, UnreadNotes), Failure> {
    let graph = root.folder.links(state);
    let (documents, section) = match target {
        FoundTarget::Top => (below(state, ""), None),
        FoundTarget::Folder(path) => (below(state, &format!("{path}/")), None),
        FoundTarget::Document(path) => (vec![path.clone()], None),
        FoundTarget::Section { path, id } => {
            let named = roots.id_of(root, path.as_str(), Some(id));
            let view = roots.view(root, path, &named)?;
            let item = ReadItem {
                document_id: String::new(),
                section: view.position_of(id),
                view,
            };
            (vec![path.clone()], Some(item.span()))
        }
    };
    let is_inside = |offset: usize| section.is_none_or(|span: Span| span.range().contains(&offset));
    let (mut edges, mut unread) = (Vec::new(), Vec::new());
    if params.direction != DirectionWord::In {
        for path in &documents {
            let why = state.note(path).and_then(|note| note.left_out);
            unread.extend(why.map(|why| (path.clone(), why)));
            let out = graph.out_of(path).into_iter();
            edges.extend(out.filter(|edge| is_inside(edge.link.span.start)));
        }
    }
    if params.direction != DirectionWord::Out {
        for path in &documents {
            let leads_here = |edge: &LinkEdge| {
                section.is_none() || target_offset(state, &edge.to).is_some_and(is_inside)
            };
            // What both leads out of and into the documents is listed once.
            let is_listed = |edge: &LinkEdge| {
                params.direction == DirectionWord::Both
                    && documents.binary_search(&edge.from).is_ok()
                    && is_inside(edge.link.span.start)
            };
            let (into, _) = graph.links_to(path, 0..usize::MAX);
            let into = into.into_iter();
            edges.extend(into.filter(|edge| leads_here(edge) && !is_listed(edge)));
        }
    }
    if params.broken {
        edges.retain(|edge| edge.to.problem().is_some());
    }
    Ok((edges, unread))
}

/// Returns the documents whose paths start with `top`, sorted.
fn below(state: &FolderState, top: &str) -> Vec<NotePath> {
    let paths = state.notes().iter().map(|note| &note.path);
    paths
        .filter(|path| path.as_str().starts_with(top))
        .cloned()
        .collect()
}

/// Returns the offset in its document that a link leads to, if it names a heading or a block.
fn target_offset(state: &FolderState, target: &LinkTarget) -> Option<usize> {
    let LinkTarget::Note {
        path,
        heading,
        block,
    } = target
    else {
        return None;
    };
    let note = state.note(path)?;
    let heading = heading.and_then(|heading| note.headings.get(heading));
    let is_named = |named: &&NamedBlock| block.as_ref() == Some(&named.name);
    let named = || note.blocks.iter().find(is_named).map(|named| named.start);
    heading.map(|heading| heading.start).or_else(named)
}

/// The documents that one answer quotes. Each is read once, however many of its links are listed.
#[derive(Default)]
struct QuotedDocuments<'l>(HashMap<(&'l str, &'l NotePath), Option<Arc<View>>>);

impl<'l> QuotedDocuments<'l> {
    /// Returns a document as it is in this call; `None` if it cannot be read.
    fn of(&mut self, of: &'l RootLinks<'_>, path: &'l NotePath) -> Option<Arc<View>> {
        let read = || of.views.view(path).ok();
        self.0
            .entry((&of.root.name, path))
            .or_insert_with(read)
            .clone()
    }
}

/// Returns a link with the sentence around it, as it is in the file now; `None` if it is not there any more.
fn listed<'l>(
    roots: &VisibleRoots<'_>,
    of: &'l RootLinks<'_>,
    edge: &'l LinkEdge,
    views: &mut QuotedDocuments<'l>,
) -> Option<ListedLink> {
    let view = views.of(of, &edge.from)?;
    if of.state.note(&edge.from)?.digest != *view.hash() {
        return None;
    }
    let id = |path: &NotePath| roots.id_of(of.root, path.as_str(), None);
    let written = || match edge.link.fragment.as_str() {
        "" => visible(&edge.link.path, MAX_TARGET_CHARS),
        fragment => visible(&format!("{}#{fragment}", edge.link.path), MAX_TARGET_CHARS),
    };
    let to = match &edge.to {
        LinkTarget::Note { path, .. } => note_id(roots, of, path, &edge.to, views),
        LinkTarget::File(path) => id(path),
        LinkTarget::Folder(path) => format!("{}/", id(path)),
        LinkTarget::FolderAbove
        | LinkTarget::Missing(_)
        | LinkTarget::Ambiguous(_)
        | LinkTarget::Outside => written(),
    };
    let candidates: &[NotePath] = match &edge.to {
        LinkTarget::Ambiguous(paths) => &paths[..paths.len().min(MAX_CANDIDATES)],
        _ => &[],
    };
    Some(ListedLink {
        from: section_id(roots, of.root, &view, edge.link.span.start),
        to,
        text: sentence(&view, edge.link.span),
        broken: edge.to.problem(),
        candidates: candidates.iter().map(id).collect(),
    })
}

/// Returns the id of a document, or of the section in it that a link leads to.
fn note_id<'l>(
    roots: &VisibleRoots<'_>,
    of: &'l RootLinks<'_>,
    path: &'l NotePath,
    target: &LinkTarget,
    views: &mut QuotedDocuments<'l>,
) -> String {
    let offset = target_offset(&of.state, target);
    let section = offset.and_then(|offset| Some((offset, views.of(of, path)?)));
    match section {
        Some((offset, view)) => section_id(roots, of.root, &view, offset),
        None => roots.id_of(of.root, path.as_str(), None),
    }
}

/// Returns the id of the section at `offset`, or of the document before its first section.
fn section_id(roots: &VisibleRoots<'_>, root: &DeskRoot, view: &View, offset: usize) -> String {
    let section = section_at(view, offset).and_then(|position| view.ids().get(position));
    roots.id_of(root, view.path().as_str(), section.map(String::as_str))
}

/// Returns the sentence around a link.
fn sentence(view: &View, link: Span) -> String {
    let text = match std::str::from_utf8(view.bytes()) {
        Ok(text) => &text[sentence_around(text, link).range()],
        // Offsets in text with replaced bytes would be others.
        Err(_) => std::str::from_utf8(link.slice(view.bytes())).unwrap_or_default(),
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    visible(&words.join(" "), MAX_SENTENCE_CHARS)
}
