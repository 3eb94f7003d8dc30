//! The links between the notes of a folder, in both directions.
//!
//! Links are resolved when they are asked for, by the rule that the editor follows, so that a change of one note never
//! makes an answer about another one wrong. What is kept is which notes mention a name: those are the only ones whose
//! links can lead to a note that has it.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    fmt,
    ops::Range,
    sync::Arc,
};

use sectile_markdown::{
    Anchors, FragmentResolution, LinkNames, NotePath, TargetResolution, block_key, joined_path,
    name_key, name_keys, resolve_target,
};
use sectile_vault::{PathEntry, editor::link_reason};

use super::note_table::{KeyKind, Table, TableEntry, TableKey};
use crate::live_folder::{FolderChanges, FolderContents, LinkRecord, NameIndex, NoteRecord};

/// The extension that links may leave out.
const EXTENSION: &str = ".md";
/// A bound in bytes that no system's paths exceed.
const LONGEST_PATH: usize = 1 << 12;

/// The links of a folder.
#[derive(Clone, Debug)]
pub struct LinkGraph {
    names: Arc<NameIndex>,
    mentions: Arc<LinkMentions>,
    disk: Option<DiskLookup>,
}

/// The notes of a folder by the names that their links mention. Copies are cheap and share what is equal.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkMentions(Table<Mention>);

/// Finds what is at a path that is not among the files of the folder: something ignored, or behind a link.
#[derive(Clone)]
pub struct DiskLookup(Arc<FindOnDisk>);

type FindOnDisk = dyn Fn(&NotePath) -> Option<PathEntry> + Send + Sync;

/// A link and where it leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkEdge {
    /// The note that contains it.
    pub from: NotePath,
    /// The link.
    pub link: LinkRecord,
    /// Its target.
    pub to: LinkTarget,
}

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// A note, or a place in it.
    Note {
        /// The note.
        path: NotePath,
        /// The heading, by its index among all headings of the note.
        heading: Option<usize>,
        /// The name of the block.
        block: Option<String>,
    },
    /// Another file.
    File(NotePath),
    /// A folder.
    Folder(NotePath),
    /// A folder named by dots alone, which is not examined.
    FolderAbove,
    /// Nothing, for this reason.
    Missing(&'static str),
    /// Several notes or files that match equally well, sorted.
    Ambiguous(Vec<NotePath>),
    /// A path that leads out of the folder.
    Outside,
}

/// The links of one note that mention a name.
#[derive(Clone, Debug)]
struct Mention {
    note: Arc<NoteRecord>,
    links: LinkNumbers,
}

/// The indices of links, in order. Most names are mentioned once in a note.
#[derive(Clone, Debug)]
enum LinkNumbers {
    One(u32),
    Several(Arc<[u32]>),
}

impl LinkNumbers {
    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

impl TableEntry for Mention {
    fn path(&self) -> &NotePath {
        &self.note.path
    }
}

impl DiskLookup {
    /// Creates the lookup from a function that returns the file or folder at a path. It must not find anything hidden
    /// from callers.
    pub fn new(find: impl Fn(&NotePath) -> Option<PathEntry> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }
}

impl fmt::Debug for DiskLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskLookup").finish_non_exhaustive()
    }
}

impl LinkTarget {
    /// Returns the reason why the link is broken, if it is.
    pub fn problem(&self) -> Option<&'static str> {
        match self {
            Self::Missing(reason) => Some(reason),
            Self::Ambiguous(_) => Some(link_reason::SEVERAL_DOCUMENTS),
            Self::Outside => Some(link_reason::OUTSIDE),
            Self::Note { .. } | Self::File(_) | Self::Folder(_) | Self::FolderAbove => None,
        }
    }

    /// Returns the file or folder that it leads to.
    pub fn path(&self) -> Option<&NotePath> {
        match self {
            Self::Note { path, .. } | Self::File(path) | Self::Folder(path) => Some(path),
            _ => None,
        }
    }
}

impl LinkMentions {
    /// Collects the links of all notes.
    pub(super) fn new(contents: &FolderContents) -> Self {
        let mut mentions = Self::default();
        contents.notes.iter().for_each(|note| mentions.add(note));
        mentions
    }

    /// Brings it up to date.
    pub(super) fn apply(&mut self, changes: &FolderChanges) {
        for change in &changes.notes {
            if let Some(before) = &change.before {
                for key in mentions(before).into_keys() {
                    self.0.remove(key, &before.path);
                }
            }
            if let Some(after) = &change.after {
                self.add(after);
            }
        }
    }

    fn add(&mut self, note: &Arc<NoteRecord>) {
        for (key, links) in mentions(note) {
            let links = match links.as_slice() {
                [one] => LinkNumbers::One(*one),
                several => LinkNumbers::Several(several.into()),
            };
            let note = Arc::clone(note);
            self.0.insert(key, &Mention { note, links });
        }
    }
}

impl LinkGraph {
    /// Creates the graph of a folder with these names, in which links mention them.
    pub(super) fn new(names: Arc<NameIndex>, mentions: Arc<LinkMentions>) -> Self {
        Self {
            names,
            mentions,
            disk: None,
        }
    }

    /// Returns the graph with a way to find files that are not in the index.
    #[must_use]
    pub fn with_disk(self, disk: DiskLookup) -> Self {
        Self {
            disk: Some(disk),
            ..self
        }
    }

    /// Returns the links in the note at `path`, in order.
    pub fn out_of(&self, path: &NotePath) -> Vec<LinkEdge> {
        let Some(note) = self.names.note(path.as_str()) else {
            return Vec::new();
        };
        let follower = Follower::new(self);
        let links = note.links.iter();
        let edges = links.map(|link| follower.edge(note, link)).collect();
        follower.at_fragments(edges)
    }

    /// Returns the links that lead to the note, file or folder at `path`, or to a place in it, by path and position.
    /// Those in the note itself are among them.
    pub fn into(&self, path: &NotePath) -> Vec<LinkEdge> {
        self.links_to(path, 0..usize::MAX).0
    }

    /// Returns those of the links that [`Self::into`] returns that are in `range`, and how many there are in all.
    pub fn links_to(&self, path: &NotePath, range: Range<usize>) -> (Vec<LinkEdge>, usize) {
        let follower = Follower::new(self);
        let mut edges = Vec::new();
        let mut total = 0;
        for (note, links) in self.candidates(path) {
            for number in links {
                let Some(link) = note.links.get(number as usize) else {
                    continue;
                };
                let to = follower.document(note, link);
                if to.path() != Some(path) {
                    continue;
                }
                if range.contains(&total) {
                    edges.push(LinkEdge {
                        from: note.path.clone(),
                        link: link.clone(),
                        to,
                    });
                }
                total += 1;
            }
        }
        (follower.at_fragments(edges), total)
    }

    /// Returns the broken links of `notes` that are in `range`, in order, and how many there are in all.
    pub fn broken(&self, notes: &[Arc<NoteRecord>], range: Range<usize>) -> (Vec<LinkEdge>, usize) {
        let follower = Follower::new(self);
        let all = notes
            .iter()
            .flat_map(|note| note.links.iter().map(move |link| (note, link)));
        let mut broken: Vec<Option<(&Arc<NoteRecord>, &LinkRecord, LinkTarget)>> = Vec::new();
        // Headings are looked up document by document, so that those of only one are in memory.
        let mut waiting: BTreeMap<NotePath, Vec<usize>> = BTreeMap::new();
        for (note, link) in all {
            let to = follower.document(note, link);
            match &to {
                LinkTarget::Note { path, .. } if !link.fragment.is_empty() => {
                    waiting.entry(path.clone()).or_default().push(broken.len());
                    broken.push(Some((note, link, to)));
                }
                _ if to.problem().is_some() => broken.push(Some((note, link, to))),
                _ => {}
            }
        }
        for (path, indices) in waiting {
            let anchors = self.anchors(&path);
            for index in indices {
                let found = broken[index].take();
                broken[index] = found.and_then(|(note, link, _)| {
                    let to = at_fragment(&path, link, anchors.as_ref());
                    to.problem().is_some().then_some((note, link, to))
                });
            }
        }
        let broken: Vec<(&Arc<NoteRecord>, &LinkRecord, LinkTarget)> =
            broken.into_iter().flatten().collect();
        let total = broken.len();
        let shown = broken.into_iter().enumerate();
        let shown = shown.filter(|(number, _)| range.contains(number));
        let edges = shown.map(|(_, (note, link, to))| LinkEdge {
            from: note.path.clone(),
            link: link.clone(),
            to,
        });
        (edges.collect(), total)
    }

    /// Returns the links that may lead to `path`: their notes by path, and their indices in order.
    fn candidates(&self, path: &NotePath) -> Vec<(&Arc<NoteRecord>, Vec<u32>)> {
        let text = path.as_str();
        let stem = text.strip_suffix(EXTENSION);
        let paths = stem.into_iter().chain([text]);
        let mut keys: Vec<TableKey> = paths
            .map(|path| TableKey::new(KeyKind::Path, path))
            .collect();
        let names = name_keys(text).into_iter();
        keys.extend(names.map(|name| TableKey::new(KeyKind::Name, &name)));
        let aliases = self.names.note(text).map(|note| &note.properties.aliases);
        let aliases = aliases.into_iter().flatten();
        keys.extend(aliases.map(|alias| TableKey::new(KeyKind::Alias, &name_key(alias))));
        let mut found: BTreeMap<&NotePath, (&Arc<NoteRecord>, Vec<u32>)> = BTreeMap::new();
        for key in keys {
            for Mention { note, links } in self.mentions.0.get(key) {
                let there = found.entry(&note.path);
                let (_, numbers) = there.or_insert_with(|| (note, Vec::new()));
                numbers.extend(links.as_slice());
            }
        }
        let mut found: Vec<(&Arc<NoteRecord>, Vec<u32>)> = found.into_values().collect();
        for (_, numbers) in &mut found {
            numbers.sort_unstable();
            numbers.dedup();
        }
        found
    }

    /// Returns the headings and blocks of a note; `None` if its text is not known.
    fn anchors(&self, path: &NotePath) -> Option<Anchors> {
        let note = self.names.note(path.as_str())?;
        note.left_out.is_none().then(|| note.anchors())
    }
}

/// Returns the keys of the names that the links of a note mention, each with the indices of those links.
fn mentions(note: &NoteRecord) -> HashMap<TableKey, Vec<u32>> {
    let mut mentions: HashMap<TableKey, Vec<u32>> = HashMap::new();
    let folder = note.path.folder().unwrap_or_default();
    for (number, link) in (0_u32..).zip(&note.links) {
        let mut mention = |kind: KeyKind, text: &str| {
            let numbers = mentions.entry(TableKey::new(kind, text)).or_default();
            if numbers.last() != Some(&number) {
                numbers.push(number);
            }
        };
        if link.path.is_empty() {
            mention(KeyKind::Path, note.path.as_str());
        } else if link.form.is_wiki() {
            // Whatever it leads to has the last part of its path for a name, or all of it for an alias.
            mention(KeyKind::Alias, &name_key(&link.path));
            let base = if link.path.starts_with('.') {
                folder
            } else {
                ""
            };
            let path = joined_path(base, &link.path).unwrap_or_default();
            let name = name_key(path.rsplit_once('/').map_or(&path, |(_, name)| name));
            mention(KeyKind::Name, name.strip_suffix(EXTENSION).unwrap_or(&name));
            mention(KeyKind::Name, &name);
        } else if let Some(path) = joined_path(folder, &link.path) {
            mention(KeyKind::Path, &path);
        }
    }
    mentions
}

/// Follows links during one call. What was found on disk is kept until then.
struct Follower<'g> {
    graph: &'g LinkGraph,
    found: RefCell<HashMap<String, Option<PathEntry>>>,
}

impl<'g> Follower<'g> {
    fn new(graph: &'g LinkGraph) -> Self {
        Self {
            graph,
            found: RefCell::default(),
        }
    }

    fn edge(&self, note: &NoteRecord, link: &LinkRecord) -> LinkEdge {
        LinkEdge {
            from: note.path.clone(),
            link: link.clone(),
            to: self.document(note, link),
        }
    }

    /// Returns the document that a link leads to, without the place in it.
    fn document(&self, note: &NoteRecord, link: &LinkRecord) -> LinkTarget {
        let paths = |paths: Vec<String>| {
            let paths = paths.iter();
            let mut paths: Vec<NotePath> = paths
                .filter_map(|path| NotePath::parse_vault(path).ok())
                .collect();
            paths.sort();
            LinkTarget::Ambiguous(paths)
        };
        let from = note.path.as_str();
        match resolve_target(from, link.form, &link.path, self) {
            TargetResolution::SameDocument => whole(&note.path),
            TargetResolution::File(path) => self.file(&path),
            TargetResolution::Folder(path) => self.folder(&path),
            TargetResolution::FolderAbove => LinkTarget::FolderAbove,
            TargetResolution::Missing => LinkTarget::Missing(link_reason::NO_DOCUMENT),
            TargetResolution::SeveralFiles(several) | TargetResolution::SeveralAliases(several) => {
                paths(several)
            }
            TargetResolution::OutsideRoot => LinkTarget::Outside,
        }
    }

    fn file(&self, path: &str) -> LinkTarget {
        if let Some(note) = self.graph.names.note(path) {
            return whole(&note.path);
        }
        let file = match self.graph.names.has_file(path) {
            true => NotePath::parse_vault(path).ok(),
            false => match self.on_disk(path) {
                Some(PathEntry::File(real)) => Some(real),
                _ => None,
            },
        };
        match file {
            // A link of the file system may lead to a note.
            Some(real) if self.graph.names.note(real.as_str()).is_some() => whole(&real),
            Some(real) => LinkTarget::File(real),
            None => LinkTarget::Missing(link_reason::NO_DOCUMENT),
        }
    }

    fn folder(&self, path: &str) -> LinkTarget {
        let known = self.graph.names.folder(path).cloned();
        let folder = known.or_else(|| match self.on_disk(path)? {
            PathEntry::Folder(real) => Some(real),
            PathEntry::File(_) => None,
        });
        folder.map_or(
            LinkTarget::Missing(link_reason::NO_DOCUMENT),
            LinkTarget::Folder,
        )
    }

    /// Looks up a path that is not in the index.
    fn on_disk(&self, path: &str) -> Option<PathEntry> {
        let disk = self.graph.disk.as_ref()?;
        if path.len() > LONGEST_PATH {
            return None;
        }
        if let Some(known) = self.found.borrow().get(path) {
            return known.clone();
        }
        let note = NotePath::parse_vault(path).ok();
        let note = note.filter(|note| note.as_str() == path);
        let entry = note.and_then(|note| disk.0(&note));
        let mut found = self.found.borrow_mut();
        found.insert(path.to_owned(), entry.clone());
        entry
    }

    /// Adds the places in documents that the links lead to.
    fn at_fragments(&self, mut edges: Vec<LinkEdge>) -> Vec<LinkEdge> {
        let mut known: HashMap<NotePath, Option<Anchors>> = HashMap::new();
        for LinkEdge { link, to, .. } in &mut edges {
            let LinkTarget::Note { path, .. } = &*to else {
                continue;
            };
            if link.fragment.is_empty() {
                continue;
            }
            let anchors = known
                .entry(path.clone())
                .or_insert_with(|| self.graph.anchors(path));
            let found = at_fragment(path, link, anchors.as_ref());
            *to = found;
        }
        edges
    }
}

impl LinkNames for Follower<'_> {
    fn has_file(&self, path: &str) -> bool {
        self.graph.names.has_file(path) || matches!(self.on_disk(path), Some(PathEntry::File(_)))
    }

    fn has_folder(&self, path: &str) -> bool {
        self.graph.names.has_folder(path)
            || matches!(self.on_disk(path), Some(PathEntry::Folder(_)))
    }

    fn by_name(&self, name: &str) -> Vec<String> {
        self.graph.names.by_name(name)
    }

    fn by_alias(&self, alias: &str) -> Vec<String> {
        self.graph.names.by_alias(alias)
    }
}

fn whole(path: &NotePath) -> LinkTarget {
    LinkTarget::Note {
        path: path.clone(),
        heading: None,
        block: None,
    }
}

/// Returns the place in the note at `path` that a link leads to.
fn at_fragment(path: &NotePath, link: &LinkRecord, anchors: Option<&Anchors>) -> LinkTarget {
    let Some(anchors) = anchors else {
        return whole(path);
    };
    let (mut heading, mut block) = (None, None);
    match anchors.resolve(link.form, &link.fragment) {
        FragmentResolution::Heading(index) => heading = Some(index),
        FragmentResolution::Block => block = block_key(&link.fragment),
        FragmentResolution::MissingBlock => return LinkTarget::Missing(link_reason::NO_BLOCK),
        FragmentResolution::Missing => return LinkTarget::Missing(link_reason::NO_HEADING),
        FragmentResolution::TopOfDocument | FragmentResolution::Html => {}
    }
    LinkTarget::Note {
        path: path.clone(),
        heading,
        block,
    }
}

#[cfg(test)]
mod tests;
