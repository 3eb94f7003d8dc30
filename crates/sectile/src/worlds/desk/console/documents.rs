//! The page of documents: the tree of folders, a document as people read it, and what is known about it.

use std::{collections::HashMap, sync::Arc};

use maud::{Markup, PreEscaped, html};
use sectile_library::{clock, editable_folder::FoundTarget, live_folder};
use sectile_markdown::{
    HrefResolution, HtmlOptions, LinkTarget, PageTargets, Source, estimate_tokens, render_html,
    section_anchor,
};
use sectile_mcp::{CallContext, Failure, PageAnswer, PageRequest, visible};
use sectile_vault::{
    NotePath,
    editor::{View, short_hash},
};

use super::{
    super::{
        DeskWorld,
        errors::library_failure,
        roots::{DeskRoot, VisibleRoots},
        tools::links::{DocumentLinks, links_of_document},
    },
    folders::{FolderPlace, folder_page, name_of, trail, tree},
    layout::{CHANGES, address, address_of, counted, grouped, id_link, page},
    times::ago,
};

/// Number of bytes of a document that are shown at once. Browsers lay out a few megabytes without a pause.
const PART_BYTES: usize = 1 << 20;
/// Most bytes of HTML for one part.
const MAX_HTML_BYTES: usize = 8 << 20;
/// Most sections that the list beside a document names; of more, only the outer ones.
const MOST_SECTIONS: usize = 1_500;
/// Most links of each direction that are listed.
const MOST_LINKS: usize = 50;
/// Longest heading or value of a field in a list, in characters.
const MAX_TEXT_CHARS: usize = 120;

pub(super) fn render(
    world: &DeskWorld,
    request: &PageRequest,
    context: &CallContext,
) -> Result<PageAnswer, Failure> {
    let roots = world.roots_for(context);
    let given = request.field("id");
    if VisibleRoots::is_everything(given) {
        let mut all = roots.iter();
        let root = match (all.next(), all.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        };
        return show_folder(&roots, request, FolderPlace { root, path: "" });
    }
    let located = roots.locate(given)?;
    let root = Some(located.root);
    match located.target {
        FoundTarget::Top => show_folder(&roots, request, FolderPlace { root, path: "" }),
        FoundTarget::Folder(path) => {
            let path = &format!("{path}/");
            show_folder(&roots, request, FolderPlace { root, path })
        }
        FoundTarget::Document(path) => show_document(&roots, request, (located.root, &path)),
        // The page of its document, at its place.
        FoundTarget::Section { path, id } => {
            let view = roots.view(located.root, &path, given)?;
            let part = part_of_section(&view, &id);
            let document = roots.id_of(located.root, view.path().as_str(), None);
            let place = section_address(&document, &id, part);
            Ok(PageAnswer::Redirect(place))
        }
    }
}

fn show_folder(
    roots: &VisibleRoots<'_>,
    request: &PageRequest,
    place: FolderPlace<'_>,
) -> Result<PageAnswer, Failure> {
    let name = match place.path.trim_end_matches('/') {
        "" => place.root.map_or("", |root| root.name.as_str()),
        path => name_of(path),
    };
    let title = if name.is_empty() { "Documents" } else { name };
    let content = html! {
        div.desk {
            (tree(roots, place, None)?)
            div.body {
                (trail(roots, place))
                h1 { bdi { (title) } }
                (folder_page(roots, request, place)?)
            }
        }
    };
    Ok(page(request, title, &content))
}

/// A document that is shown.
struct ShownDocument<'a> {
    roots: &'a VisibleRoots<'a>,
    root: &'a DeskRoot,
    view: Arc<View>,
    id: String,
}

fn show_document(
    roots: &VisibleRoots<'_>,
    request: &PageRequest,
    (root, path): (&DeskRoot, &NotePath),
) -> Result<PageAnswer, Failure> {
    let named = roots.id_of(root, path.as_str(), None);
    let view = roots.view(root, path, &named)?;
    let shown = ShownDocument {
        roots,
        root,
        id: roots.id_of(root, view.path().as_str(), None),
        view,
    };
    let path = shown.view.path().clone();
    let stop = || roots.context().cancelled.is_cancelled();
    let state = root.folder.index.current(&stop);
    let state = state.map_err(|error| library_failure(&error))?;
    let note = state.note(&path);
    let title = note.map_or(name_of(path.as_str()), |note| note.title.as_str());
    let folder = path
        .folder()
        .map_or_else(String::new, |folder| format!("{folder}/"));
    let place = FolderPlace {
        root: Some(root),
        path: &folder,
    };
    let [out, into] = links_of_document(roots, root, &path, MOST_LINKS)?;
    let parts = parts(&shown.view);
    let part = request
        .field("part")
        .parse::<usize>()
        .unwrap_or(0)
        .min(parts.len() - 1);
    let sections = SectionTokens::of(&shown.view);
    let content = html! {
        div.desk {
            (tree(roots, place, Some(&path))?)
            article.body {
                (trail(roots, place))
                h1 dir="auto" { (visible(title, MAX_TEXT_CHARS)) }
                p.facts-line {
                    code { (shown.id) } " · " (counted(sections.whole, "token", "tokens")) " · "
                    (counted(shown.view.bytes().len(), "byte", "bytes"))
                    @if let Some(note) = note { " · modified " (ago(note.stamp.modified, clock::now())) }
                    " · base " code { (short_hash(shown.view.hash())) } " · "
                    a href=(address(CHANGES, &[("id", &shown.id)])) { "its changes" }
                }
                (part_links(&shown.id, part, parts.len()))
                div.note { (shown.text(&parts[part])?) }
                (part_links(&shown.id, part, parts.len()))
            }
            aside.about aria-label="About this document" {
                (shown.fields(note.map(|note| &**note)))
                (sections.render(&shown, &parts))
                (link_list("Links in it", &out, |link| &link.to))
                (link_list("Links to it", &into, |link| &link.from))
            }
        }
    };
    Ok(page(request, title, &content))
}

/// Splits a document into parts that can be shown at once, at top-level sections. Returns the start and the end of each.
fn parts(view: &View) -> Vec<(usize, usize)> {
    let length = view.bytes().len();
    let mut parts = Vec::new();
    let mut start = 0;
    for (_, section, _) in view.document().top_level() {
        let next = section.heading.start;
        // The next section begins a part if the part so far is long enough.
        if next - start >= PART_BYTES {
            parts.push((start, next));
            start = next;
        }
    }
    parts.push((start, length));
    parts
}

/// Returns the number of the part that a section is in.
fn part_of_section(view: &View, id: &str) -> usize {
    let position = view.position_of(id).unwrap_or(0);
    let section = view.document().top_level().nth(position);
    let at = section.map_or(0, |(_, section, _)| section.heading.start);
    part_at(&parts(view), at)
}

fn part_at(parts: &[(usize, usize)], offset: usize) -> usize {
    let after = parts.partition_point(|(start, _)| *start <= offset);
    after.saturating_sub(1)
}

/// Returns the address of a section in a part of its document.
fn section_address(document: &str, section: &str, part: usize) -> String {
    let whole = address_of(&format!("{document}#{section}"));
    match (part, whole.split_once('#')) {
        (0, _) | (_, None) => whole,
        (part, Some((page, anchor))) => format!("{page}&part={part}#{anchor}"),
    }
}

fn part_links(id: &str, part: usize, count: usize) -> Markup {
    let link = |part: usize| address("documents", &[("id", id), ("part", &part.to_string())]);
    html! {
        @if count > 1 {
            nav.parts aria-label="Parts of this document" {
                @if part > 0 { a href=(link(part - 1)) rel="prev" { "Previous part" } }
                span { "Part " (part + 1) " of " (count) }
                @if part + 1 < count { a href=(link(part + 1)) rel="next" { "Next part" } }
            }
        }
    }
}

impl ShownDocument<'_> {
    /// Renders the text of a part.
    fn text(&self, (start, end): &(usize, usize)) -> Result<Markup, Failure> {
        let bytes = &self.view.bytes()[*start..*end];
        let source = Source::new(bytes);
        let parsed;
        let document = match *start == 0 && *end == self.view.bytes().len() {
            true => self.view.document(),
            false => {
                parsed = source.parse();
                &parsed
            }
        };
        let targets = self.targets(*start, document)?;
        let options = HtmlOptions {
            max_bytes: MAX_HTML_BYTES,
            ..HtmlOptions::default()
        };
        let rendered = render_html(&source, document, &targets, options);
        Ok(html! {
            // Made by the renderer, which escapes everything that is in the note.
            (PreEscaped(rendered.html))
            @if rendered.is_truncated {
                p.problem { "The rest is too long to be shown here." }
            }
        })
    }

    /// Returns the ids of the sections from `start` on, and where the links of the document lead.
    fn targets(
        &self,
        start: usize,
        document: &sectile_markdown::Document,
    ) -> Result<DocumentTargets, Failure> {
        let before = self.view.document().top_level();
        let before = before
            .take_while(|(_, section, _)| section.heading.start < start)
            .count();
        let ids = document.top_level().zip(&self.view.ids()[before..]);
        let ids = ids.map(|((index, ..), id)| (index, id.clone())).collect();
        let stop = || self.roots.context().cancelled.is_cancelled();
        let state = self.root.folder.index.current(&stop);
        let state = state.map_err(|error| library_failure(&error))?;
        let edges = self.root.folder.links(&state).out_of(self.view.path());
        let mut hrefs = HashMap::new();
        for edge in edges {
            let href = self.href(&state, &edge.to);
            hrefs.insert((edge.link.path, edge.link.fragment), href);
        }
        Ok(DocumentTargets { ids, hrefs })
    }

    fn href(
        &self,
        state: &live_folder::FolderState,
        target: &live_folder::LinkTarget,
    ) -> HrefResolution {
        use live_folder::LinkTarget;
        let (roots, root) = (self.roots, self.root);
        match target {
            LinkTarget::Note { path, heading, .. } => {
                let id = roots.id_of(root, path.as_str(), None);
                let heading = heading.and_then(|heading| state.note(path)?.headings.get(heading));
                let section = heading.and_then(|heading| {
                    let view = root.folder.editor.view(path).ok()?;
                    let sections = view.document().top_level();
                    let at = sections
                        .take_while(|(_, section, _)| section.heading.start <= heading.start);
                    let id = view.ids().get(at.count().checked_sub(1)?)?;
                    Some((id.clone(), part_of_section(&view, id)))
                });
                HrefResolution::Href(match section {
                    Some((section, part)) => section_address(&id, &section, part),
                    None => address_of(&id),
                })
            }
            LinkTarget::Folder(path) => {
                HrefResolution::Href(address_of(&roots.id_of(root, &format!("{path}/"), None)))
            }
            LinkTarget::Ambiguous(_) => HrefResolution::Ambiguous,
            // A file that is not a note exists, but the console does not show it.
            LinkTarget::File(_) | LinkTarget::FolderAbove => HrefResolution::Href(address_of(
                &roots.id_of(root, self.view.path().as_str(), None),
            )),
            LinkTarget::Missing(_) | LinkTarget::Outside => HrefResolution::Broken,
        }
    }

    /// Renders the fields of the front matter and the tags.
    fn fields(&self, note: Option<&live_folder::NoteRecord>) -> Markup {
        let Some(note) = note else {
            return html! {};
        };
        let properties = &note.properties;
        html! {
            @if !properties.fields.is_empty() || !properties.tags.is_empty() {
                details.panel open {
                    summary { "Front matter" }
                    dl {
                        @for field in &properties.fields {
                            dt { bdi { (visible(&field.name, MAX_TEXT_CHARS)) } }
                            dd dir="auto" {
                                @for (index, value) in field.values.iter().enumerate() {
                                    @if index > 0 { ", " } (visible(value, MAX_TEXT_CHARS))
                                }
                            }
                        }
                        @if !properties.tags.is_empty() {
                            dt { "All tags" }
                            dd { @for tag in &properties.tags { span.tag { bdi { "#" (visible(tag, MAX_TEXT_CHARS)) } } " " } }
                        }
                    }
                }
            }
        }
    }
}

/// What the renderer asks about a document.
struct DocumentTargets {
    /// Ids of the sections, by their index among all headings.
    ids: HashMap<usize, String>,
    /// Where links lead, by path and fragment.
    hrefs: HashMap<(String, String), HrefResolution>,
}

impl PageTargets for DocumentTargets {
    fn section_id(&self, index: usize) -> Option<&str> {
        self.ids.get(&index).map(String::as_str)
    }

    fn href(&self, link: &LinkTarget<'_>) -> HrefResolution {
        let key = (
            link.path.to_owned(),
            link.fragment.unwrap_or_default().to_owned(),
        );
        self.hrefs
            .get(&key)
            .cloned()
            .unwrap_or(HrefResolution::Broken)
    }
}

/// The tokens of the sections of a document.
struct SectionTokens {
    /// Of the whole document.
    whole: usize,
    /// Of each section with its subsections.
    sections: Vec<usize>,
}

impl SectionTokens {
    fn of(view: &View) -> Self {
        let sections: Vec<_> = view.document().top_level().collect();
        let tokens = |bytes: &[u8]| estimate_tokens(&String::from_utf8_lossy(bytes));
        let end = |index: usize| {
            let next = sections.get(index + 1);
            next.map_or(view.bytes().len(), |(_, section, _)| section.heading.start)
        };
        // Each byte is looked at once: a section has the tokens of its own text and of its subsections.
        let mut sums = vec![0; sections.len()];
        let first = sections
            .first()
            .map_or(view.bytes().len(), |(_, section, _)| section.heading.start);
        let mut whole = tokens(&view.bytes()[..first]);
        for index in (0..sections.len()).rev() {
            let (_, section, extent) = &sections[index];
            let own = tokens(&view.bytes()[section.heading.start..end(index)]);
            whole += own;
            sums[index] += own;
            let parent = extent.parent.and_then(|parent| {
                sections
                    .binary_search_by_key(&parent, |(index, ..)| *index)
                    .ok()
            });
            if let Some(parent) = parent {
                sums[parent] += sums[index];
            }
        }
        Self {
            whole,
            sections: sums,
        }
    }

    /// Renders the list of sections, with ids and tokens.
    fn render(&self, shown: &ShownDocument<'_>, parts: &[(usize, usize)]) -> Markup {
        let sections: Vec<_> = shown.view.document().top_level().collect();
        let deepest = (1..=6).rev().find(|level| {
            let listed = sections
                .iter()
                .filter(|(_, section, _)| section.level <= *level);
            listed.count() <= MOST_SECTIONS
        });
        let deepest = deepest.unwrap_or(1);
        let listed = sections.iter().zip(&self.sections).zip(shown.view.ids());
        let listed = listed.filter(|(((_, section, _), _), _)| section.level <= deepest);
        let listed: Vec<_> = listed.take(MOST_SECTIONS).collect();
        let left_out = sections.len() - listed.len();
        html! {
            @if !sections.is_empty() {
                details.panel open {
                    summary { (counted(sections.len(), "section", "sections")) }
                    ul.sections {
                        @for (((_, section, _), tokens), id) in &listed {
                            @let part = part_at(parts, section.heading.start);
                            li class={ "level-" (section.level) } {
                                a href=(section_address(&shown.id, id, part)) title=(section_anchor(id)) {
                                    bdi { (visible(&section.text, MAX_TEXT_CHARS)) }
                                }
                                " " span.quiet { (grouped(**tokens)) span.unseen { " tokens, id " } }
                                code.id { (id) }
                            }
                        }
                    }
                    @if left_out > 0 { p.quiet { "and " (counted(left_out, "more section", "more sections")) } }
                }
            }
        }
    }
}

/// Renders links with the sentences around them. Broken ones are marked.
fn link_list(
    title: &str,
    links: &DocumentLinks,
    other: fn(&super::super::tools::links::ListedLink) -> &String,
) -> Markup {
    let broken = links
        .links
        .iter()
        .filter(|link| link.broken.is_some())
        .count();
    html! {
        details.panel open[links.total > 0] {
            summary {
                (title) ": " (grouped(links.total))
                @if broken > 0 { " " span.broken-count { "(" (broken) " broken)" } }
            }
            ul.links {
                @for link in &links.links {
                    li {
                        @match link.broken {
                            Some(reason) => {
                                span.broken-link { bdi { (other(link)) } } " " span.quiet { (reason) }
                                @if !link.candidates.is_empty() {
                                    ": " @for (index, id) in link.candidates.iter().enumerate() {
                                        @if index > 0 { ", " } (id_link(id))
                                    }
                                }
                            }
                            None => { (id_link(other(link))) }
                        }
                        @if !link.text.is_empty() { p.sentence dir="auto" { (link.text) } }
                    }
                }
            }
            @if links.total > links.links.len() {
                p.quiet { "and " (grouped(links.total - links.links.len())) " more" }
            }
        }
    }
}
