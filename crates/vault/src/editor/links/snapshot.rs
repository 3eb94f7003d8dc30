//! The documents before and after a transaction, as links see them: which ones exist, by path and by name, and their
//! headings.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, HashMap, HashSet},
    rc::Rc,
};

use sectile_markdown::{
    Anchors, FragmentResolution, Link, LinkNames, Source, TargetResolution, name_key, name_keys,
    resolve_target,
};

use super::{
    BrokenLink,
    aliases::{self, Aliases},
    reason,
};
use crate::{
    NotePath,
    editor::{
        EditorError, NameSource,
        draft::Draft,
        folder::{DocumentFolder, FileVisibility},
        is_markdown,
    },
    fs::PathEntry,
    journal::FolderMove,
    walk::{ExclusionReason, Files},
    work,
};

/// A point in time: before or after the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// A document that a link names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A document that the transaction has a draft of, by its index.
    Drafted(usize),
    /// Any other file or folder, by its path without links.
    Other(String),
}

/// The destination of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkDestination {
    pub(super) document: Target,
    /// The heading, by its index; `None` for the document as a whole, or for a location in it that is not a heading.
    pub(super) heading: Option<usize>,
}

/// The reason a link leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkFailure {
    /// The link is broken, for this reason.
    Because(&'static str),
    /// The link leads to something that is not examined.
    Unseen,
}

/// The source of headings in documents without a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadingSource {
    /// Headings are unchanged, so a link to them need not be looked up.
    Trusted,
    Read,
}

/// Number of names beyond which searching for them takes longer than parsing the links.
const MOST_NEEDLES: usize = 8;
/// A bound in bytes that no system's paths exceed.
const LONGEST_PATH: usize = 1 << 12;

/// A draft with the headings of its document.
pub(super) struct DraftAnchors<'t> {
    pub(super) draft: &'t Draft,
    before: OnceCell<Anchors>,
    after: OnceCell<Anchors>,
    tops_before: OnceCell<Vec<usize>>,
    /// Aliases before and after.
    aliases: [OnceCell<Vec<String>>; 2],
}

pub(super) struct LinkSnapshot<'t> {
    pub(super) folder: &'t DocumentFolder,
    pub(super) stop: &'t dyn Fn() -> bool,
    pub(super) sight: FileVisibility,
    /// An index of the visible documents, if there is one.
    source: Option<&'t dyn NameSource>,
    /// The folder that moves. After the move, everything in it has a new path.
    pub(super) folder_move: Option<&'t FolderMove>,
    pub(super) drafts: Vec<DraftAnchors<'t>>,
    before: HashMap<&'t str, usize>,
    after: HashMap<&'t str, usize>,
    /// The drafts by the names of their documents, before and after.
    named: [HashMap<String, Vec<usize>>; 2],
    names: OnceCell<Result<FileNames, EditorError>>,
    aliases: OnceCell<Result<Aliases, EditorError>>,
    /// The entries on disk that were looked up so far.
    things: RefCell<HashMap<String, Option<PathEntry>>>,
    /// The targets of links in the folder being scanned, on both sides: a link that occurs a thousand times is followed
    /// once.
    followed: [RefCell<FolderTargets>; 2],
    anchors: RefCell<HashMap<String, Option<Rc<Anchors>>>>,
}

/// The documents that links of one folder name, by their spelling.
#[derive(Default)]
struct FolderTargets {
    folder: String,
    /// Keyed by path and whether it is in a wiki link.
    targets: HashMap<(bool, String), Result<Target, LinkFailure>>,
}

/// The files of the folder, by name.
struct FileNames {
    files: Files,
    paths: HashSet<String>,
    /// Folders that were read, by [`name_key`]: whether two cases are the same is for the disk itself to say.
    folders: HashSet<String>,
    /// Everything else that exists, keyed in the same way.
    keys: HashSet<String>,
    /// Files by name, with and without the extension of a document.
    by_name: HashMap<String, Vec<String>>,
}

impl<'t> LinkSnapshot<'t> {
    pub(super) fn new(
        folder: &'t DocumentFolder,
        drafts: &'t BTreeMap<String, Draft>,
        stop: &'t dyn Fn() -> bool,
    ) -> Self {
        Self::of(folder, drafts.values().collect(), stop)
    }

    /// Returns the snapshot as callers with this sight have it, with a folder that moves.
    pub(super) fn seeing(self, sight: FileVisibility, folder_move: Option<&'t FolderMove>) -> Self {
        let drafts = self.drafts.iter().map(|drafted| drafted.draft);
        let drafts = drafts.filter(|draft| sight == FileVisibility::Everything || !draft.is_silent);
        Self {
            sight,
            folder_move,
            ..Self::of(self.folder, drafts.collect(), self.stop)
        }
    }

    /// Returns the snapshot with what an index knows about names.
    pub(super) fn knowing(self, source: Option<&'t dyn NameSource>) -> Self {
        Self { source, ..self }
    }

    /// Returns what an index knows about what this snapshot sees.
    pub(super) fn source(&self) -> Option<&'t dyn NameSource> {
        self.source
            .filter(|_| self.sight == FileVisibility::Visible)
    }

    /// Returns the documents without a draft that may have links to the drafts in `concerned`, if an index knows them.
    pub(super) fn known_links_to(&self, concerned: &[usize]) -> Option<HashSet<NotePath>> {
        let source = self.source().filter(|_| self.folder_move.is_none())?;
        let has_links = self
            .names()
            .is_ok_and(|names| !names.files.links.is_empty());
        // Links may name documents by links of the file system.
        if has_links {
            return None;
        }
        let mut names = Vec::new();
        for drafted in concerned.iter().map(|index| &self.drafts[*index]) {
            for path in [&drafted.draft.path, drafted.draft.final_path()] {
                names.extend(name_keys(path.as_str()));
            }
            for side in [Side::Before, Side::After] {
                names.extend_from_slice(drafted.aliases(side));
            }
        }
        let known = source.documents_with_links(&names, self.documents().ok()?)?;
        Some(known.into_iter().collect())
    }

    fn of(folder: &'t DocumentFolder, drafts: Vec<&'t Draft>, stop: &'t dyn Fn() -> bool) -> Self {
        let drafts: Vec<DraftAnchors<'t>> = drafts.into_iter().map(DraftAnchors::new).collect();
        let all = || drafts.iter().map(|drafted| drafted.draft).enumerate();
        let by_path = |side: Side| {
            all()
                .filter_map(|(index, draft)| Some((side.path(draft)?.as_str(), index)))
                .collect()
        };
        let (before, after) = (by_path(Side::Before), by_path(Side::After));
        let mut named = [HashMap::new(), HashMap::new()];
        for side in [Side::Before, Side::After] {
            for (index, draft) in all() {
                let path = side.path(draft);
                for key in path
                    .map(|path| name_keys(path.as_str()))
                    .unwrap_or_default()
                {
                    let there: &mut Vec<usize> = named[side as usize].entry(key).or_default();
                    there.push(index);
                }
            }
        }
        Self {
            folder,
            stop,
            sight: FileVisibility::Visible,
            folder_move: None,
            source: None,
            before,
            after,
            named,
            drafts,
            names: OnceCell::new(),
            aliases: OnceCell::new(),
            things: RefCell::default(),
            followed: Default::default(),
            anchors: RefCell::default(),
        }
    }

    /// The draft of the document that was at `path` before.
    pub(super) fn draft_from(&self, path: &str) -> Option<usize> {
        self.before.get(path).copied()
    }

    /// All documents of the folder as it is on disk.
    pub(super) fn documents(&self) -> Result<&[NotePath], EditorError> {
        match self.names() {
            Ok(names) => Ok(&names.files.documents),
            Err(error) => Err(error.clone()),
        }
    }

    /// Returns strings of which a text must contain one if a link in it names one of the drafts in `concerned`; `None`
    /// if that cannot be said.
    pub(super) fn needles(&self, concerned: &[usize]) -> Option<Vec<String>> {
        // Links may name any file of a folder that moves.
        if self.folder_move.is_some() {
            return None;
        }
        let links = match self.names() {
            Ok(names) => names.files.links.iter().map(String::as_str),
            Err(_) => return None,
        };
        let drafts = concerned.iter().map(|index| self.drafts[*index].draft);
        let paths = drafts.flat_map(|draft| [draft.path.as_str(), draft.final_path().as_str()]);
        let aliases = concerned.iter().flat_map(|index| {
            let aliases = |side| self.drafts[*index].aliases(side).iter().map(String::as_str);
            aliases(Side::Before).chain(aliases(Side::After))
        });
        // Anything behind a link may be named by it.
        let mut needles: Vec<String> = paths.chain(links).map(needle).collect();
        needles.extend(aliases.map(word));
        needles.sort();
        needles.dedup();
        let tells = needles.len() <= MOST_NEEDLES && needles.iter().all(|one| !one.is_empty());
        tells.then_some(needles)
    }

    /// Folders that could not be read, whose documents were not scanned.
    pub(super) fn unread_folders(&self) -> Vec<BrokenLink> {
        let passed_over = match self.names() {
            Ok(names) => names.files.passed_over.as_slice(),
            // Reported by `trouble`.
            Err(_) => &[],
        };
        let mut unread: Vec<BrokenLink> = passed_over
            .iter()
            .filter(|(_, why)| is_unreadable(*why))
            .map(|(path, _)| BrokenLink::of_whole(path, reason::UNREADABLE_FOLDER))
            .collect();
        unread.sort_by(|one, other| one.path.cmp(&other.path));
        unread
    }

    /// File system links to documents that the transaction moves away from their paths.
    pub(super) fn links_left(&self) -> Vec<BrokenLink> {
        let links = match self.names() {
            Ok(names) => names.files.links.as_slice(),
            // Reported by `trouble`.
            Err(_) => &[],
        };
        let leaves = |draft: &Draft| draft.base.is_some() && draft.final_path() != &draft.path;
        let goes = |draft: &Draft| draft.base.is_some() && draft.bytes.is_none();
        let drafts = self.drafts.iter().map(|drafted| drafted.draft);
        if !drafts.clone().any(|draft| leaves(draft) || goes(draft)) {
            return Vec::new();
        }
        let mut left = Vec::new();
        for link in links {
            // The scan checks again, and ends the call.
            if (self.stop)() {
                break;
            }
            let Some(PathEntry::File(real)) = self.thing(link) else {
                continue;
            };
            let draft = self.before.get(real.as_str());
            let draft = draft.map(|index| self.drafts[*index].draft);
            if draft.is_some_and(|draft| leaves(draft) || goes(draft)) {
                left.push(BrokenLink {
                    target: real.as_str().to_owned(),
                    ..BrokenLink::of_whole(link, reason::LINK_LEFT)
                });
            }
        }
        left.sort_by(|one, other| one.path.cmp(&other.path));
        left
    }

    /// The error that occurred while names were looked up, if any.
    pub(super) fn trouble(&self) -> Option<EditorError> {
        let names = self.names.get().and_then(|names| names.as_ref().err());
        let aliases = || self.aliases.get()?.as_ref().err();
        names.or_else(aliases).cloned()
    }

    /// The aliases of all documents without a draft.
    pub(super) fn aliases(&self) -> Result<&Aliases, &EditorError> {
        self.aliases.get_or_init(|| Aliases::read(self)).as_ref()
    }

    /// Returns whether the aliases were needed and could not be read.
    fn aliases_failed(&self) -> bool {
        self.aliases.get().is_some_and(Result::is_err)
    }

    fn names(&self) -> Result<&FileNames, &EditorError> {
        self.names
            .get_or_init(|| Ok(FileNames::new(self.folder.files(self.sight, self.stop)?)))
            .as_ref()
    }

    /// Looks up `path` on disk.
    fn thing(&self, path: &str) -> Option<PathEntry> {
        if path.len() > LONGEST_PATH {
            return None;
        }
        if self.sight == FileVisibility::Visible && self.folder.hides_something() {
            // Only a walk knows whether anything in a folder is visible.
            self.names().ok()?;
        }
        if let Some(Ok(names)) = self.names.get() {
            if names.paths.contains(path) {
                return NotePath::parse_vault(path).ok().map(PathEntry::File);
            }
            if names.is_absent(path) {
                return None;
            }
        }
        if let Some(known) = self.things.borrow().get(path) {
            return known.clone();
        }
        let note = NotePath::parse_vault(path).ok();
        let note = note.filter(|note| note.as_str() == path);
        let thing = note.and_then(|note| self.folder.root.find(&note));
        let thing = thing
            .filter(|thing| self.sight == FileVisibility::Everything || self.is_visible(thing));
        self.things
            .borrow_mut()
            .insert(path.to_owned(), thing.clone());
        thing
    }

    fn is_visible(&self, thing: &PathEntry) -> bool {
        match thing {
            PathEntry::File(path) => !self.folder.is_hidden(path),
            PathEntry::Folder(path) => self.folder.sees_folder(path),
        }
    }

    /// Returns whether a folder that moves takes the document at `path` along.
    pub(super) fn is_taken_along(&self, path: &str) -> bool {
        let folder = self.folder_move;
        folder.is_some_and(|folder| folder.moved(path).is_some())
    }

    /// Returns the path on disk of what is at `path` on this side, or `None` if a folder took it away.
    fn on_disk(&self, side: Side, path: &str) -> Option<String> {
        match self.folder_move.filter(|_| side == Side::After) {
            Some(folder) => match folder.origin(path) {
                Some(origin) => Some(origin),
                None if folder.moved(path).is_some() => None,
                None => Some(path.to_owned()),
            },
            None => Some(path.to_owned()),
        }
    }

    /// Returns the path on this side of what is at `path` on disk.
    fn path_on(&self, side: Side, path: String) -> String {
        let folder = self.folder_move.filter(|_| side == Side::After);
        folder
            .and_then(|folder| folder.moved(&path))
            .unwrap_or(path)
    }

    /// Returns whether the walk found `path`, and the transaction does not affect it.
    fn is_listed(&self, path: &str) -> bool {
        let names = self.names.get().and_then(|names| names.as_ref().ok());
        names.is_some_and(|names| names.paths.contains(path)) && !self.before.contains_key(path)
    }

    /// The file at `path`.
    fn file(&self, side: Side, path: &str) -> Option<Target> {
        if self.folder_move.is_none() && self.is_listed(path) {
            return Some(Target::Other(path.to_owned()));
        }
        if side == Side::After
            && let Some(index) = self.after.get(path)
        {
            return Some(Target::Drafted(*index));
        }
        let path = self.on_disk(side, path)?;
        if self.is_listed(&path) {
            return Some(Target::Other(path));
        }
        let Some(PathEntry::File(real)) = self.thing(&path) else {
            return None;
        };
        if side == Side::After && self.leads_into_moved(&path, real.as_str()) {
            return None;
        }
        match (self.before.get(real.as_str()), side) {
            (Some(index), Side::Before) => Some(Target::Drafted(*index)),
            // Behind a link is whatever stayed at its path.
            (Some(index), Side::After) => {
                let draft = self.drafts[*index].draft;
                let stayed = draft.bytes.is_some() && draft.moved_to.is_none();
                stayed.then_some(Target::Drafted(*index))
            }
            (None, _) => Some(Target::Other(real.as_str().to_owned())),
        }
    }

    fn folder(&self, side: Side, path: &str) -> Option<Target> {
        let path = self.on_disk(side, path)?;
        match self.thing(&path)? {
            PathEntry::Folder(real)
                if side == Side::After && self.leads_into_moved(&path, real.as_str()) =>
            {
                None
            }
            PathEntry::Folder(real) => Some(Target::Other(real.as_str().to_owned())),
            PathEntry::File(_) => None,
        }
    }

    /// Returns whether a link of the file system at `path` leads to `real` in a folder that moves away from there.
    fn leads_into_moved(&self, path: &str, real: &str) -> bool {
        self.is_taken_along(real) && !self.is_taken_along(path)
    }

    fn by_name(&self, side: Side, name: &str) -> Vec<String> {
        let key = name_key(name);
        let mut found: Vec<String> = match self.names() {
            Ok(names) => names.by_name.get(&key).cloned().unwrap_or_default(),
            // Reported by `trouble`.
            Err(_) => return Vec::new(),
        };
        work::count(found.len());
        found.retain(|path| !self.before.contains_key(path.as_str()));
        let mut found: Vec<String> = found
            .into_iter()
            .map(|path| self.path_on(side, path))
            .collect();
        let named = self.named[side as usize].get(&key).into_iter().flatten();
        let paths = named.filter_map(|index| side.path(self.drafts[*index].draft));
        found.extend(paths.map(|path| path.as_str().to_owned()));
        found
    }

    /// Returns whether no other document has the name of the one at `path`.
    pub(super) fn is_unique_name(&self, path: &str) -> bool {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let stem = name.strip_suffix(".md").unwrap_or(name);
        self.by_name(Side::After, stem).len() == 1
    }

    /// Finds the document that `link` names, in the document at `from`, which is `own`.
    pub(super) fn document(
        &self,
        side: Side,
        from: &str,
        own: &Target,
        link: &Link,
    ) -> Result<Target, LinkFailure> {
        if link.path.text.is_empty() {
            return Ok(own.clone());
        }
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let key = (link.form.is_wiki(), link.path.text.clone());
        {
            let mut followed = self.followed[side as usize].borrow_mut();
            if followed.folder != folder {
                *followed = FolderTargets {
                    folder: folder.to_owned(),
                    targets: HashMap::new(),
                };
            }
            if let Some(known) = followed.targets.get(&key) {
                return known.clone();
            }
        }
        work::count(1);
        let target = self.follow(side, from, own, link);
        let mut followed = self.followed[side as usize].borrow_mut();
        followed.targets.insert(key, target.clone());
        target
    }

    fn follow(
        &self,
        side: Side,
        from: &str,
        own: &Target,
        link: &Link,
    ) -> Result<Target, LinkFailure> {
        let names = SideNames { world: self, side };
        let missing = LinkFailure::Because(reason::NO_DOCUMENT);
        match resolve_target(from, link.form, &link.path.text, &names) {
            TargetResolution::SameDocument => Ok(own.clone()),
            TargetResolution::File(path) => self.file(side, &path).ok_or(missing),
            // A caller that sees one document must not learn what else exists.
            _ if self.folder.only.is_some() => Err(LinkFailure::Unseen),
            TargetResolution::Folder(path) => self.folder(side, &path).ok_or(missing),
            // Reported by `trouble`.
            TargetResolution::Missing if self.aliases_failed() => Err(LinkFailure::Unseen),
            TargetResolution::Missing => Err(missing),
            TargetResolution::FolderAbove => Err(LinkFailure::Unseen),
            TargetResolution::SeveralFiles(_) => {
                Err(LinkFailure::Because(reason::SEVERAL_DOCUMENTS))
            }
            TargetResolution::SeveralAliases(_) => {
                Err(LinkFailure::Because(reason::SEVERAL_ALIASES))
            }
            TargetResolution::OutsideRoot => Err(LinkFailure::Because(reason::OUTSIDE)),
        }
    }

    /// Finds the destination of `link` in `document`, which it names.
    pub(super) fn place(
        &self,
        side: Side,
        document: Target,
        link: &Link,
        others: HeadingSource,
    ) -> Result<LinkDestination, LinkFailure> {
        let fragment = link.fragment_text();
        let resolution = match &document {
            _ if fragment.is_empty() => FragmentResolution::TopOfDocument,
            Target::Drafted(index) => self
                .anchors(side, *index)
                .map_or(FragmentResolution::Missing, |anchors| {
                    anchors.resolve(link.form, fragment)
                }),
            Target::Other(_) if others == HeadingSource::Trusted => {
                FragmentResolution::TopOfDocument
            }
            Target::Other(path) => self
                .other_anchors(path)
                .map_or(FragmentResolution::TopOfDocument, |anchors| {
                    anchors.resolve(link.form, fragment)
                }),
        };
        let heading = match resolution {
            FragmentResolution::Missing => return Err(LinkFailure::Because(reason::NO_HEADING)),
            FragmentResolution::MissingBlock => return Err(LinkFailure::Because(reason::NO_BLOCK)),
            FragmentResolution::Heading(index) => Some(index),
            FragmentResolution::TopOfDocument
            | FragmentResolution::Block
            | FragmentResolution::Html => None,
        };
        Ok(LinkDestination { document, heading })
    }

    /// The headings of a draft's document.
    pub(super) fn anchors(&self, side: Side, index: usize) -> Option<&Anchors> {
        let DraftAnchors {
            draft,
            before,
            after,
            ..
        } = self.drafts.get(index)?;
        let (cell, bytes) = match side {
            Side::Before => (before, draft.base.as_ref()?.bytes()),
            Side::After => (after, draft.bytes.as_deref()?),
        };
        Some(cell.get_or_init(|| Anchors::new(&Source::new(bytes))))
    }

    /// The headings of a document without a draft; `None` for something that is not a document, or cannot be read.
    fn other_anchors(&self, path: &str) -> Option<Rc<Anchors>> {
        if let Some(known) = self.anchors.borrow().get(path) {
            return known.clone();
        }
        let note = NotePath::parse_vault(path).ok().filter(is_markdown);
        let bytes = note.and_then(|note| self.folder.read(&note).ok());
        let anchors = bytes.map(|bytes| Rc::new(Anchors::new(&Source::new(&bytes))));
        self.anchors
            .borrow_mut()
            .insert(path.to_owned(), anchors.clone());
        anchors
    }

    /// The path that a document has after the transaction.
    pub(super) fn final_path(&self, document: &Target) -> String {
        match document {
            Target::Drafted(index) => self.drafts[*index].draft.final_path().as_str().to_owned(),
            Target::Other(path) => self.path_on(Side::After, path.clone()),
        }
    }
}

/// Returns whether a walk passed over a folder that exists but cannot be read.
fn is_unreadable(why: ExclusionReason) -> bool {
    matches!(why, ExclusionReason::Unreadable(kind) if kind != std::io::ErrorKind::NotFound)
}

/// The files on one side of the transaction, by the names that links use. A caller that sees one document finds no other.
struct SideNames<'s, 't> {
    world: &'s LinkSnapshot<'t>,
    side: Side,
}

impl SideNames<'_, '_> {
    fn only(&self) -> Option<&str> {
        self.world.folder.only.as_ref().map(NotePath::as_str)
    }
}

impl LinkNames for SideNames<'_, '_> {
    fn has_file(&self, path: &str) -> bool {
        match self.only() {
            Some(only) => path == only,
            None => self.world.is_listed(path) || self.world.file(self.side, path).is_some(),
        }
    }

    fn has_folder(&self, path: &str) -> bool {
        self.only().is_none() && self.world.folder(self.side, path).is_some()
    }

    fn by_name(&self, name: &str) -> Vec<String> {
        match self.only() {
            Some(_) => Vec::new(),
            None => self.world.by_name(self.side, name),
        }
    }

    fn by_alias(&self, alias: &str) -> Vec<String> {
        match self.only() {
            Some(_) => Vec::new(),
            None => self.world.by_alias(self.side, alias),
        }
    }
}

impl Side {
    /// The path of a draft's document on this side, if it exists there.
    pub(super) fn path(self, draft: &Draft) -> Option<&NotePath> {
        match self {
            Self::Before => draft.base.as_ref().map(|_| &draft.path),
            Self::After => draft.bytes.as_ref().map(|_| draft.final_path()),
        }
    }
}

impl<'t> DraftAnchors<'t> {
    fn new(draft: &'t Draft) -> Self {
        Self {
            draft,
            before: OnceCell::new(),
            after: OnceCell::new(),
            tops_before: OnceCell::new(),
            aliases: Default::default(),
        }
    }

    /// The aliases of the document, normalized as names are for comparison.
    pub(super) fn aliases(&self, side: Side) -> &[String] {
        self.aliases[side as usize].get_or_init(|| {
            let bytes = match side {
                Side::Before => self.draft.base.as_ref().map(|base| base.bytes()),
                Side::After => self.draft.bytes.as_deref(),
            };
            bytes.map(aliases::of).unwrap_or_default()
        })
    }

    /// The indices of the top-level headings before, ordered by position.
    pub(super) fn tops_before(&self) -> &[usize] {
        self.tops_before.get_or_init(|| {
            let base = self.draft.base.iter();
            let tops = base.flat_map(|base| base.document().top_level());
            let tops: Vec<usize> = tops.map(|(index, _, _)| index).collect();
            work::count(tops.len());
            tops
        })
    }
}

impl FileNames {
    fn new(files: Files) -> Self {
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        let mut paths = HashSet::new();
        let mut keys_of_paths = HashSet::new();
        keys_of_paths.extend(files.skipped.iter().map(|path| name_key(path)));
        for path in files.documents.iter().chain(&files.others) {
            paths.insert(path.as_str().to_owned());
            keys_of_paths.insert(name_key(path.as_str()));
            for key in name_keys(path.as_str()) {
                let named = by_name.entry(key).or_default();
                named.push(path.as_str().to_owned());
            }
        }
        Self {
            folders: files.folders.iter().map(|path| name_key(path)).collect(),
            keys: keys_of_paths,
            files,
            paths,
            by_name,
        }
    }

    /// Returns whether the walk saw that nothing is at `path`. `false` does not mean that something is.
    fn is_absent(&self, path: &str) -> bool {
        let key = name_key(path);
        let ends = key.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([key.len()]) {
            let part = &key[..end];
            if !self.folders.contains(part) {
                return !self.keys.contains(part);
            }
        }
        false
    }
}

/// Returns the part of a file's name that every link to it contains, unless it is written with escapes.
fn needle(path: &str) -> String {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let key = name_key(name);
    word(key.strip_suffix(".md").unwrap_or(&key))
}

/// Returns the longest word of a name that can be written in only one way.
fn word(name: &str) -> String {
    let key = name_key(name);
    let words = key.split(|c: char| !c.is_ascii_alphanumeric());
    words.max_by_key(|word| word.len()).unwrap_or("").to_owned()
}
