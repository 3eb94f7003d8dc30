//! The files that the settings of the docs world name, and the documents in them as they are now.

use std::{
    borrow::Cow,
    cell::Cell,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use parking_lot::Mutex;
use sectile_library::{
    LibraryError, clock,
    live_folder::{
        CacheFolder, ChangeDetection, FolderState, LiveFolder, LiveFolderOptions, SecondTierUse,
    },
    live_manual::{ManualSnapshot, PageNumber, PageText, PagesInMemory},
    manual_page::NoteCut,
    manual_site::{ManualSite, SiteFiles},
};
use sectile_manual::ManualPage;
use sectile_markdown::{Digest, Mapping, NotePath, Source, Value};
use sectile_vault::{PathTarget, Root, RootError, Survey, Walk, WalkError};

use super::{
    DocsPath, DocsRanking, DocsSettings, SiteSetting,
    corpus::{DocOrigin, DocsCorpus, SkipReason, SkippedDoc, file_name, is_page, label},
};
use crate::files;

/// Most folders below one extra path, so that a path given by mistake cannot keep the server from starting.
const MOST_FOLDERS: usize = 100_000;
/// Clocks of files are coarse: one that changed this shortly before it was read may change again without a new time.
const COARSE: Duration = Duration::from_secs(3);
/// The number of hexadecimal digits in the name of a folder's index.
const CACHE_DIGITS: usize = 32;

/// How the documents are kept up to date.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SourceOptions<'a> {
    /// The folder of all indexes; without one they are only in memory.
    pub(crate) cache: Option<&'a Path>,
    /// The most bytes of that folder.
    pub(crate) cache_limit: u64,
    /// Whether work may be done that no call waits for.
    pub(crate) background: bool,
}

/// A part of the documents, in the order in which they count.
#[derive(PartialEq, Eq)]
pub(super) enum DocsPart {
    Named(NamedDoc),
    /// The number of a folder.
    Folder(usize),
    Skipped(SkippedDoc),
}

/// A document that is named itself: one of the manual, one in the list, or one given as a path.
#[derive(PartialEq, Eq)]
pub(super) struct NamedDoc {
    pub(super) label: String,
    pub(super) file_name: String,
    pub(super) origin: DocOrigin,
    /// Its number in the list of the settings.
    pub(super) listed: Option<usize>,
    /// Its file, with links resolved.
    pub(super) place: Option<PathBuf>,
    pub(super) page: Result<PageNumber, SkipReason>,
}

/// A folder of documents.
#[derive(Clone)]
pub(super) struct FolderSource {
    pub(super) label: String,
    pub(super) root: Arc<Root>,
    pub(super) live: Arc<LiveFolder>,
    /// Everything that could have been a document but is not.
    pub(super) survey: Arc<Survey>,
    /// How it is published.
    pub(super) site: Arc<ManualSite>,
    /// The files that say so, as they were when they were last looked at.
    site_files: Arc<SiteFiles>,
    /// The changes of other files in the folder that they were looked at after.
    seen_changes: u64,
    /// Whether it must be found out again how it is published.
    is_site_old: bool,
}

/// Everything that the settings name.
pub(crate) struct DocsSources {
    settings: DocsSettings,
    embedded: &'static [ManualPage],
    /// The folders among the extra paths, by the number of the path.
    folders: Vec<(usize, FolderSource)>,
    /// Those that cannot be served, with the reason.
    refused: Vec<(usize, SkipReason)>,
    /// Labels of named paths that do not exist. The world is not served without them.
    pub(crate) missing: Vec<String>,
    now: Mutex<Option<Current>>,
}

/// The documents as they were when they were last looked at.
struct Current {
    files: Vec<FileState>,
    folders: Vec<FolderSource>,
    parts: Vec<DocsPart>,
    corpus: Arc<DocsCorpus>,
}

/// The state of a file, as far as the system tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    length_and_time: Option<(u64, SystemTime)>,
    /// Whether it may have changed without a new time, so that it must be read to find out.
    is_recent: bool,
}

impl Current {
    /// Returns whether these are the files that it was made from, as far as can be told without reading them.
    fn has_files(&self, files: &[FileState]) -> bool {
        self.files == files && files.iter().all(|file| !file.is_recent)
    }

    /// Finds out which folders may be published in another way than when it was made, now that they have these states.
    fn look_at_sites(&mut self, states: &[Arc<FolderState>]) {
        for (folder, state) in self.folders.iter_mut().zip(states) {
            folder.look_at_site(state);
        }
        let pages = &self.corpus.pages;
        let changed = pages.changed_pages(states).unwrap_or_default();
        for (folder, page) in changed.into_iter().filter_map(PageNumber::place_in_folder) {
            let (before, now) = (
                &pages.folders()[folder].notes()[page],
                &states[folder].notes()[page],
            );
            let has_other_fields = before.properties.fields != now.properties.fields;
            let folder = &mut self.folders[folder];
            folder.is_site_old |= folder
                .site
                .depends_on(&folder.root, &now.path, has_other_fields);
        }
    }

    fn has_old_site(&self) -> bool {
        self.folders.iter().any(|folder| folder.is_site_old)
    }

    /// Returns the documents with these states of the folders, if only the text of some pages has changed. Otherwise it is
    /// returned as it was.
    fn patched(
        self,
        states: &[Arc<FolderState>],
        settings: &DocsSettings,
    ) -> Result<Self, Box<Self>> {
        let changed = match self.has_old_site() {
            true => None,
            false => self.corpus.pages.changed_pages(states),
        };
        match changed.and_then(|changed| self.corpus.patched(settings, states, &changed)) {
            Some(corpus) => Ok(Self {
                corpus: Arc::new(corpus),
                ..self
            }),
            None => Err(Box::new(self)),
        }
    }
}

impl DocsSources {
    /// Opens everything that the settings name. What does not exist is [`Self::missing`].
    pub(crate) fn open(
        settings: &DocsSettings,
        embedded: &'static [ManualPage],
        options: SourceOptions<'_>,
    ) -> Self {
        let mut sources = Self {
            settings: settings.clone(),
            embedded,
            folders: Vec::new(),
            refused: Vec::new(),
            missing: Vec::new(),
            now: Mutex::new(None),
        };
        // Documents are expected in it, so it is a mistake if it does not exist.
        let roots = settings.root.iter().chain(&settings.extra_paths);
        for path in roots {
            if let Err(RootError::NotFound) = PathTarget::at(&path.location) {
                sources.missing.push(label(&path.written));
            }
        }
        for (number, path) in settings.extra_paths.iter().enumerate() {
            if let Ok(PathTarget::Folder(root)) = PathTarget::at(&path.location) {
                match FolderSource::open(path, root, settings, options) {
                    Ok(folder) => sources.folders.push((number, folder)),
                    Err(reason) => sources.refused.push((number, reason)),
                }
            }
        }
        sources
    }

    /// Returns the documents as they are now. A change of many pages is waited for.
    ///
    /// # Errors
    /// [`LibraryError`] when a folder cannot be read, or the caller no longer waits.
    pub(crate) fn current(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<DocsCorpus>, LibraryError> {
        self.look(|live| live.complete(stop))
    }

    /// As [`Self::current`], for a thread that nobody waits for.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub(crate) fn follow(
        &self,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Arc<DocsCorpus>, LibraryError> {
        self.look(|live| live.follow(stop))
    }

    fn look(
        &self,
        state: impl Fn(&LiveFolder) -> Result<Arc<FolderState>, LibraryError>,
    ) -> Result<Arc<DocsCorpus>, LibraryError> {
        let states = self.folders.iter().map(|(_, folder)| state(&folder.live));
        let states = states.collect::<Result<Vec<Arc<FolderState>>, LibraryError>>()?;
        let files: Vec<FileState> = self.named_files().map(FileState::of).collect();
        let mut now = self.now.lock();
        if let Some(then) = now.as_mut() {
            then.look_at_sites(&states);
        }
        let then = match now.take() {
            Some(then) if then.has_files(&files) => then,
            then => {
                let (parts, texts) = self.read_named();
                match then {
                    // They had to be read to find out that they are the same.
                    Some(then) if then.parts == parts && then.corpus.pages.memory().has(&texts) => {
                        Current { files, ..then }
                    }
                    then => {
                        let folders = match then {
                            Some(then) => then.folders,
                            None => self.opened_folders(&states),
                        };
                        let memory = Arc::new(PagesInMemory::new(texts)?);
                        let tier = self.settings.written.ranking.best_tier();
                        let pages = ManualSnapshot::new(memory, states, tier)?;
                        return Ok(self.publish(&mut now, (files, parts), folders, pages));
                    }
                }
            }
        };
        if then.corpus.pages.has_folders(&states) && !then.has_old_site() {
            let corpus = Arc::clone(&then.corpus);
            *now = Some(then);
            return Ok(corpus);
        }
        match then.patched(&states, &self.settings) {
            Ok(patched) => {
                let corpus = Arc::clone(&patched.corpus);
                *now = Some(patched);
                Ok(corpus)
            }
            Err(then) => {
                let pages = then.corpus.pages.with_folders(states);
                Ok(self.publish(&mut now, (then.files, then.parts), then.folders, pages))
            }
        }
    }

    /// Returns the folders as they were opened, compared with the disk, now that they have these states.
    fn opened_folders(&self, states: &[Arc<FolderState>]) -> Vec<FolderSource> {
        let folders = self.folders.iter().map(|(_, folder)| folder.clone());
        let mut folders: Vec<FolderSource> = folders.collect();
        for (folder, state) in folders.iter_mut().zip(states) {
            folder.look_at_site(state);
        }
        folders
    }

    /// Assembles the documents of these pages, and keeps them as the current ones.
    fn publish(
        &self,
        now: &mut Option<Current>,
        (files, parts): (Vec<FileState>, Vec<DocsPart>),
        folders: Vec<FolderSource>,
        pages: ManualSnapshot,
    ) -> Arc<DocsCorpus> {
        let folders: Vec<FolderSource> = folders
            .into_iter()
            .zip(pages.folders())
            .map(|(folder, state)| folder.followed(state, self.settings.written.site))
            .collect();
        let corpus = DocsCorpus::assemble(&self.settings, &parts, &folders, pages);
        let corpus = Arc::new(corpus);
        *now = Some(Current {
            files,
            folders,
            parts,
            corpus: Arc::clone(&corpus),
        });
        corpus
    }

    /// Waits until everything is indexed and in the cache.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub(crate) fn settle(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(), LibraryError> {
        self.folders
            .iter()
            .try_for_each(|(_, folder)| folder.live.settle(stop))
    }

    /// Returns the folders, each with the name that people know it by.
    pub(crate) fn folders(&self) -> impl Iterator<Item = (&str, &LiveFolder)> {
        let folders = self.folders.iter();
        folders.map(|(_, folder)| (folder.label.as_str(), &*folder.live))
    }

    /// Returns the paths that are not folders.
    fn named_files(&self) -> impl Iterator<Item = &Path> {
        let listed = self.settings.documents.iter().map(|listed| &listed.path);
        let extra = self.settings.extra_paths.iter().enumerate();
        let extra = extra.filter(|(number, _)| self.folder(*number).is_none());
        let paths = listed.chain(extra.map(|(_, path)| path));
        paths.map(|path| path.location.as_path())
    }

    fn folder(&self, number: usize) -> Option<usize> {
        self.folders.iter().position(|(known, _)| *known == number)
    }

    /// Reads all documents that are named themselves.
    fn read_named(&self) -> (Vec<DocsPart>, Vec<PageText>) {
        let mut named = NamedReader {
            limit: self.settings.written.max_doc_bytes,
            parts: Vec::new(),
            texts: Vec::new(),
        };
        if self.settings.written.include_default_docs {
            for document in self.embedded {
                named.embedded(document);
            }
        }
        for (number, listed) in self.settings.documents.iter().enumerate() {
            named.listed(number, &listed.path, listed.title.as_deref());
        }
        for (number, path) in self.settings.extra_paths.iter().enumerate() {
            match self.folder(number) {
                Some(folder) => named.parts.push(DocsPart::Folder(folder)),
                None => {
                    let refused = self.refused.iter().find(|(known, _)| *known == number);
                    named.extra(path, refused.map(|(_, reason)| *reason));
                }
            }
        }
        (named.parts, named.texts)
    }
}

/// Reads documents that are named themselves.
struct NamedReader {
    /// The largest of them, in bytes.
    limit: u64,
    parts: Vec<DocsPart>,
    texts: Vec<PageText>,
}

impl NamedReader {
    fn embedded(&mut self, document: &ManualPage) {
        let name = file_name(document.name);
        let page = match document.bytes.len() as u64 > self.limit {
            true => Err(SkipReason::TooLarge { limit: self.limit }),
            false => self.text(name, None, Cow::Borrowed(document.bytes)),
        };
        self.parts.push(DocsPart::Named(NamedDoc {
            label: document.name.to_owned(),
            file_name: name.to_owned(),
            origin: DocOrigin::Manual,
            listed: None,
            place: None,
            page,
        }));
    }

    fn listed(&mut self, number: usize, path: &DocsPath, title: Option<&str>) {
        let skipped = match PathTarget::at(&path.location) {
            Ok(PathTarget::File(root, note)) => {
                return self.file((&root, &note), path, Some(number), title);
            }
            Ok(PathTarget::Folder(_)) => SkipReason::FolderInList,
            Ok(_) => SkipReason::NotAFile,
            Err(error) => error.into(),
        };
        self.named(path, Some(number), Err(skipped), None);
    }

    /// Reads a file, or skips a folder that could not be opened for this reason when the server started.
    fn extra(&mut self, path: &DocsPath, refused: Option<SkipReason>) {
        let reason = match PathTarget::at(&path.location) {
            Ok(PathTarget::File(root, note)) => return self.file((&root, &note), path, None, None),
            // Without a reason, it was not there then.
            Ok(PathTarget::Folder(_)) => refused.unwrap_or(SkipReason::Missing),
            Ok(_) => SkipReason::NotAFile,
            Err(error) => error.into(),
        };
        let label = label(&path.written);
        let name = file_name(&label).to_owned();
        self.parts.push(DocsPart::Skipped(SkippedDoc::new(
            label, &name, None, reason,
        )));
    }

    /// Reads a file. Its name is taken as written, even if that is a link.
    fn file(
        &mut self,
        (root, note): (&Root, &NotePath),
        path: &DocsPath,
        listed: Option<usize>,
        title: Option<&str>,
    ) {
        let written = Path::new(&path.written).file_name();
        let name = written.and_then(|name| name.to_str());
        let name = name.unwrap_or(note.file_name());
        let page = match is_page(name) {
            false => Err(SkipReason::NotMarkdown),
            true => match root.read(note, self.limit) {
                Ok(bytes) => self.text(name, title, Cow::Owned(bytes)),
                Err(error) => Err(error.into()),
            },
        };
        let place = root.location().join(note.as_str());
        self.named(path, listed, page, Some((name.to_owned(), place)));
    }

    fn named(
        &mut self,
        path: &DocsPath,
        listed: Option<usize>,
        page: Result<PageNumber, SkipReason>,
        file: Option<(String, PathBuf)>,
    ) {
        let label = label(&path.written);
        let (file_name, place) = match file {
            Some((file_name, place)) => (file_name, Some(place)),
            None => (file_name(&label).to_owned(), None),
        };
        self.parts.push(DocsPart::Named(NamedDoc {
            label,
            file_name,
            origin: DocOrigin::Extra,
            listed,
            place,
            page,
        }));
    }

    /// Keeps the text of a document.
    fn text(
        &mut self,
        file_name: &str,
        title: Option<&str>,
        bytes: Cow<'static, [u8]>,
    ) -> Result<PageNumber, SkipReason> {
        let name = NotePath::parse_vault(file_name).map_err(|_| SkipReason::OddName)?;
        self.texts.push(PageText {
            name,
            title: title.map(str::to_owned),
            bytes,
        });
        Ok(PageNumber::in_memory(self.texts.len() - 1))
    }
}

impl FolderSource {
    fn open(
        path: &DocsPath,
        root: Root,
        settings: &DocsSettings,
        options: SourceOptions<'_>,
    ) -> Result<Self, SkipReason> {
        let location = root.location().to_path_buf();
        let shared_vectors = options
            .cache
            .map(|cache| CacheFolder::new(cache).shared_vectors(options.cache_limit));
        let cache = options.cache.map(|cache| {
            let key = format!("{}\0pages", location.display());
            let mut name = Digest::of(key.as_bytes()).to_string();
            name.truncate(CACHE_DIGITS);
            cache.join(name)
        });
        let live = LiveFolder::open(LiveFolderOptions {
            location,
            walk: walk(),
            cut: NoteCut::Pages,
            max_note_bytes: settings.written.max_doc_bytes,
            cache,
            shared_vectors,
            clock: clock::now,
            second_tier: match settings.written.ranking {
                DocsRanking::Words | DocsRanking::Static => SecondTierUse::Unused,
                DocsRanking::Meaning if options.background => SecondTierUse::Filled,
                DocsRanking::Meaning => SecondTierUse::Read,
            },
        })?;
        // At the same time as the index is read.
        let survey = Self::surveyed(&root)?;
        let seen_changes = live.other_changes();
        let site = site(&root, &survey.documents, settings.written.site, None);
        Ok(Self {
            label: label(&path.written),
            site_files: Arc::new(site.files.clone()),
            site: Arc::new(site),
            seen_changes,
            is_site_old: false,
            survey: Arc::new(survey),
            root: Arc::new(root),
            live,
        })
    }

    /// Lists everything in a folder that could be a document.
    fn surveyed(root: &Root) -> Result<Survey, SkipReason> {
        let folders = Cell::new(0_usize);
        let stop = || {
            folders.set(folders.get() + 1);
            folders.get() > MOST_FOLDERS
        };
        root.survey(&walk(), &stop).map_err(|error| match error {
            WalkError::Unreadable(kind) => SkipReason::Unreadable(kind),
            WalkError::TooManyOpenFiles => SkipReason::Unreadable(io::ErrorKind::Other),
            _ => SkipReason::TooManyFolders {
                limit: MOST_FOLDERS,
            },
        })
    }

    /// Returns whether the pages are those of this state, whatever is in them.
    fn has_pages_of(&self, state: &FolderState) -> bool {
        let known = self.survey.documents.iter();
        known.eq(state.notes().iter().map(|note| &note.path))
    }

    /// Compares the files that say how it is published with the disk. The folder's state must be up to date.
    fn look_at_site(&mut self, state: &FolderState) {
        let changes = self.live.other_changes();
        // A folder that is listed with every call does not know which of its other files have changed.
        let is_reported = state.progress().detection == ChangeDetection::Events;
        let has_changes = changes != self.seen_changes || !is_reported;
        self.seen_changes = changes;
        let files = Arc::make_mut(&mut self.site_files);
        self.is_site_old |= !files.are_current(&self.root, has_changes);
    }

    /// Returns the folder with this state. What is not a page, and how the pages are published, is looked up again when a
    /// page appeared or disappeared, or a file changed that says how they are published.
    fn followed(self, state: &FolderState, wanted: SiteSetting) -> Self {
        if self.has_pages_of(state) && !self.is_site_old {
            return self;
        }
        let mut survey = Self::surveyed(&self.root).unwrap_or_default();
        survey.documents = state.notes().iter().map(|note| note.path.clone()).collect();
        let site = site(&self.root, &survey.documents, wanted, Some(state));
        Self {
            site_files: Arc::new(site.files.clone()),
            site: Arc::new(site),
            is_site_old: false,
            survey: Arc::new(survey),
            ..self
        }
    }
}

/// Selects the documents of a folder.
fn walk() -> Walk {
    Walk::default().with_mdx()
}

/// Finds out how the documents of a folder are published.
fn site(
    root: &Root,
    documents: &[NotePath],
    wanted: SiteSetting,
    state: Option<&FolderState>,
) -> ManualSite {
    let kind = match wanted.kind() {
        Some(sectile_library::manual_site::SiteKind::Plain) => return ManualSite::default(),
        kind => kind,
    };
    // Only the start of a page is needed; large ones are not read for it.
    const MOST_READ: u64 = 1 << 20;
    ManualSite::find(root, documents, kind, |path| {
        let bytes = match state {
            Some(state) => state.read(path),
            None => root.read(path, MOST_READ).ok(),
        };
        let bytes = bytes.unwrap_or_default();
        match Source::new(&bytes).front_matter_value() {
            Some(Ok(Value::Map(values))) => values,
            _ => Mapping::default(),
        }
    })
}

impl FileState {
    fn of(location: &Path) -> Self {
        let length_and_time = files::length_and_time(location);
        let is_old = |(_, time): (u64, SystemTime)| time.elapsed().is_ok_and(|age| age >= COARSE);
        Self {
            is_recent: !length_and_time.is_none_or(is_old),
            length_and_time,
        }
    }
}
