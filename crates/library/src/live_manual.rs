//! A manual that is read while it is being written: documents in memory and folders of pages, searched together.

use std::{borrow::Cow, sync::Arc};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{
    Bytes, Corpus, DocumentLocation, Embedder, NearChunk, Query, SearchExplanation, SearchResults,
    Segment,
};

use crate::{
    error::LibraryError,
    indexing::build_segment,
    live_folder::{FolderState, NoteRecord},
    manual_page,
    open_collection::{readers::ReaderPool, snapshot::unharmed},
    storage::{NotebookFile, NotebookStamp},
    tiers::{Models, Tier},
};

/// A document that is kept in memory.
#[derive(Clone, Debug)]
pub struct PageText {
    /// Its name.
    pub name: NotePath,
    /// Its title, if its front matter does not give one.
    pub title: Option<String>,
    /// Its bytes.
    pub bytes: Cow<'static, [u8]>,
}

/// Documents in memory, and the index of their text.
pub struct PagesInMemory {
    pages: Vec<(Arc<NoteRecord>, Cow<'static, [u8]>)>,
    segment: Segment,
}

/// The number of a page in a [`ManualSnapshot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber {
    /// 0 for documents in memory, and 1 and above for the folders.
    part: usize,
    page: usize,
}

/// The pages of a manual at one moment.
#[derive(Clone)]
pub struct ManualSnapshot {
    memory: Arc<PagesInMemory>,
    folders: Vec<Arc<FolderState>>,
    models: Models,
    /// Whether the second tier may answer.
    may_be_second: bool,
    readers: Arc<ReaderPool>,
}

impl PagesInMemory {
    /// Indexes documents.
    ///
    /// # Errors
    /// [`LibraryError`] when the models cannot be used.
    pub fn new(texts: Vec<PageText>) -> Result<Self, LibraryError> {
        let model = models()?.first;
        let mut cuts = Vec::with_capacity(texts.len());
        let mut pages = Vec::with_capacity(texts.len());
        for text in texts {
            let stamp = NotebookStamp {
                bytes: text.bytes.len() as u64,
                ..NotebookStamp::default()
            };
            let listed = NotebookFile {
                notebook: text.name,
                stamp,
            };
            let (record, cut) = manual_page::page(&listed, &text.bytes, text.title.as_deref());
            cuts.push(cut);
            pages.push((Arc::new(record), text.bytes));
        }
        let texts = pages.iter().map(|(_, bytes)| bytes.as_ref()).zip(&cuts);
        let file = build_segment(model, &mut *model.reader(), texts);
        let segment = Segment::open(&Bytes::new(file), Some(model)).map_err(unusable)?;
        Ok(Self { pages, segment })
    }

    /// Returns whether these are its documents, in the same order. Titles are not compared: settings give them, not files.
    pub fn has(&self, texts: &[PageText]) -> bool {
        let is_same = |(known, text): (&(Arc<NoteRecord>, Cow<'static, [u8]>), &PageText)| {
            known.0.path == text.name && known.1 == text.bytes
        };
        self.pages.len() == texts.len() && self.pages.iter().zip(texts).all(is_same)
    }

    /// Returns the records of the documents, in the order in which they were given.
    pub fn records(&self) -> impl Iterator<Item = &Arc<NoteRecord>> {
        self.pages.iter().map(|(record, _)| record)
    }
}

impl PageNumber {
    /// Returns the number of a document in memory.
    pub fn in_memory(page: usize) -> Self {
        Self { part: 0, page }
    }

    /// Returns the number of a page in a folder.
    pub fn in_folder(folder: usize, page: usize) -> Self {
        Self {
            part: folder + 1,
            page,
        }
    }

    /// Returns the number of its folder, and its number there; `None` for a document in memory.
    pub fn place_in_folder(self) -> Option<(usize, usize)> {
        Some((self.part.checked_sub(1)?, self.page))
    }
}

impl ManualSnapshot {
    /// Returns the pages of these parts, searched with the first tier, or with the second once every page has it.
    ///
    /// # Errors
    /// [`LibraryError`] when the models cannot be used.
    pub fn new(
        memory: Arc<PagesInMemory>,
        folders: Vec<Arc<FolderState>>,
        best: Tier,
    ) -> Result<Self, LibraryError> {
        Ok(Self {
            memory,
            folders,
            may_be_second: best == Tier::Transformer,
            models: models()?,
            readers: Arc::default(),
        })
    }

    /// Returns these pages with other states of the folders.
    #[must_use]
    pub fn with_folders(&self, folders: Vec<Arc<FolderState>>) -> Self {
        Self {
            folders,
            ..self.clone()
        }
    }

    /// Returns whether these are the same states of the folders.
    pub fn has_folders(&self, folders: &[Arc<FolderState>]) -> bool {
        let pairs = self.folders.iter().zip(folders);
        self.folders.len() == folders.len()
            && pairs
                .into_iter()
                .all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// Returns the pages whose records are others in these states of the folders; `None` if a page has come or gone. It
    /// compares addresses, so that its cost hardly grows with the number of pages.
    pub fn changed_pages(&self, folders: &[Arc<FolderState>]) -> Option<Vec<PageNumber>> {
        let mut changed = Vec::new();
        for (folder, (before, now)) in self.folders.iter().zip(folders).enumerate() {
            let (before, now) = (before.notes(), now.notes());
            if before.len() != now.len() {
                return None;
            }
            let pairs = before.iter().zip(now).enumerate();
            for (page, (one, other)) in pairs.filter(|(_, (one, other))| !Arc::ptr_eq(one, other)) {
                if one.path != other.path {
                    return None;
                }
                changed.push(PageNumber::in_folder(folder, page));
            }
        }
        (self.folders.len() == folders.len()).then_some(changed)
    }

    /// Returns the states of the folders.
    pub fn folders(&self) -> &[Arc<FolderState>] {
        &self.folders
    }

    /// Returns the documents in memory.
    pub fn memory(&self) -> &PagesInMemory {
        &self.memory
    }

    /// Returns the tier that answers: the second if every page has it. Documents in memory only have the first.
    pub fn tier(&self) -> Tier {
        let is_second = self.may_be_second
            && self.memory.pages.is_empty()
            && !self.folders.is_empty()
            && self
                .folders
                .iter()
                .all(|folder| folder.progress().tier == Tier::Transformer);
        match is_second {
            true => Tier::Transformer,
            false => Tier::Static,
        }
    }

    /// Returns the model of the tier that answers.
    pub fn model(&self) -> &'static dyn Embedder {
        match self.tier() {
            Tier::Transformer => self.models.second.unwrap_or(self.models.first),
            Tier::Static => self.models.first,
        }
    }

    /// Returns what is known about a page.
    pub fn record(&self, number: PageNumber) -> Option<&Arc<NoteRecord>> {
        match number.part.checked_sub(1) {
            None => self.memory.pages.get(number.page).map(|(record, _)| record),
            Some(folder) => self.folders.get(folder)?.notes().get(number.page),
        }
    }

    /// Returns the bytes of a page; `None` if its file has changed since.
    pub fn read(&self, number: PageNumber) -> Option<Cow<'_, [u8]>> {
        let Some(folder) = number.part.checked_sub(1) else {
            let (_, bytes) = self.memory.pages.get(number.page)?;
            return Some(Cow::Borrowed(bytes));
        };
        let folder = self.folders.get(folder)?;
        let record = folder.notes().get(number.page)?;
        let bytes = folder.read(&record.path)?;
        (Digest::of(&bytes) == record.digest).then_some(Cow::Owned(bytes))
    }

    /// Returns the searchable text of these pages; they are its documents, in this order.
    #[must_use]
    pub fn corpus(&self, pages: &[PageNumber]) -> Arc<Corpus> {
        let tier = self.tier();
        if let [folder] = self.folders.as_slice()
            && pages.len() == folder.notes().len()
            && pages
                .iter()
                .zip(0..)
                .all(|(number, page)| *number == PageNumber::in_folder(0, page))
        {
            // They are the documents of the folder's own index.
            return Arc::clone(folder.corpus(tier));
        }
        let empty;
        let base = match self.folders.first() {
            Some(folder) => folder.corpus(tier),
            None => {
                empty = Arc::new(Corpus::new(Vec::new(), &[]));
                &empty
            }
        };
        let mut added = vec![self.memory.segment.clone()];
        // The first segment of the documents in memory, of the first folder, and of the others.
        let mut firsts = vec![base.segments().len(), 0];
        for folder in self.folders.iter().skip(1) {
            firsts.push(base.segments().len() + added.len());
            added.extend(folder.corpus(tier).segments().cloned());
        }
        let places = pages.iter().map(|number| {
            let place = match number.part.checked_sub(1) {
                None => Some(DocumentLocation {
                    segment: 0,
                    document: number.page,
                }),
                Some(folder) => {
                    let folder = self.folders.get(folder);
                    folder.and_then(|folder| folder.place(number.page))
                }
            };
            let nowhere = DocumentLocation {
                segment: usize::MAX,
                document: 0,
            };
            place.map_or(nowhere, |place| DocumentLocation {
                segment: place.segment.saturating_add(firsts[number.part]),
                ..place
            })
        });
        let places: Vec<DocumentLocation> = places.collect();
        Arc::new(base.with_changes(&[], added, &places))
    }

    /// Returns the `most` best sections in a corpus of these pages. Without `is_by_meaning` only words count; `favour` is
    /// the boost of each document's words, in percent.
    ///
    /// # Errors
    /// [`LibraryError::IndexDamaged`] when a file of the index was changed meanwhile.
    pub fn search(
        &self,
        corpus: &Corpus,
        (query, text): (&Query, &str),
        is_by_meaning: bool,
        most: usize,
        favour: &dyn Fn(usize) -> u64,
    ) -> Result<SearchResults, LibraryError> {
        let found = unharmed(|| match is_by_meaning {
            false => corpus.search_favouring(query, text, None, most, favour),
            true => self.readers.with(self.model(), |reader| {
                corpus.search_favouring(query, text, Some(reader), most, favour)
            }),
        });
        let found = found.filter(|_| !corpus.is_damaged());
        found.ok_or(LibraryError::IndexDamaged)
    }

    /// Explains hits of [`Self::search`], which was called with the same arguments, by their numbers.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn explain(
        &self,
        corpus: &Corpus,
        (query, text): (&Query, &str),
        is_by_meaning: bool,
        (most, favour): (usize, &dyn Fn(usize) -> u64),
        chunks: &[usize],
    ) -> Result<SearchExplanation, LibraryError> {
        let explained = unharmed(|| match is_by_meaning {
            false => corpus.explain_favouring(query, (text, None), most, favour, chunks),
            true => self.readers.with(self.model(), |reader| {
                corpus.explain_favouring(query, (text, Some(reader)), most, favour, chunks)
            }),
        });
        let explained = explained.filter(|_| !corpus.is_damaged());
        explained.ok_or(LibraryError::IndexDamaged)
    }

    /// Returns the sections of a corpus of these pages that are near enough to `text` in meaning to answer a query of which no
    /// section has a word, nearest first.
    ///
    /// # Errors
    /// As [`Self::search`].
    pub fn near(&self, corpus: &Corpus, text: &str) -> Result<Vec<NearChunk>, LibraryError> {
        let found = unharmed(|| {
            self.readers
                .with(self.model(), |reader| corpus.near(text, reader))
        });
        let found = found.filter(|_| !corpus.is_damaged());
        found.ok_or(LibraryError::IndexDamaged)
    }
}

fn models() -> Result<Models, LibraryError> {
    Models::built_in().map_err(unusable)
}

fn unusable(error: impl std::fmt::Display) -> LibraryError {
    LibraryError::of_process(format!("The index in memory cannot be used: {error}."))
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::disallowed_methods,
        reason = "tests make the folders that they look at"
    )]

    use sectile_vault::Walk;
    use tempfile::TempDir;

    use super::*;
    use crate::{
        clock,
        live_folder::{LiveFolder, LiveFolderOptions, SecondTierUse},
        manual_page::NoteCut,
    };

    fn opened(folder: &TempDir) -> Arc<LiveFolder> {
        let options = LiveFolderOptions {
            location: folder.path().to_path_buf(),
            walk: Walk::default(),
            cut: NoteCut::Pages,
            max_note_bytes: 1 << 20,
            cache: None,
            shared_vectors: None,
            clock: clock::now,
            second_tier: SecondTierUse::Read,
        };
        LiveFolder::open(options).unwrap()
    }

    fn write(folder: &TempDir, page: usize, word: &str) {
        let text =
            format!("# Page {page}\n\nThe harbour.\n\n## Part\n\nA {word} and a boat{page}.\n");
        std::fs::write(folder.path().join(format!("p{page}.md")), text).unwrap();
    }

    /// The index of a folder answers for a manual that is this folder as one that is put together does, also after a change.
    #[test]
    fn a_whole_folder_is_searched_as_its_pages_are() {
        let (folder, nothing) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        (0..20).for_each(|page| write(&folder, page, "walrus"));
        let (live, empty) = (opened(&folder), opened(&nothing));
        let memory = Arc::new(PagesInMemory::new(Vec::new()).unwrap());
        let pages: Vec<PageNumber> = (0..20).map(|page| PageNumber::in_folder(0, page)).collect();
        let mut before: Option<ManualSnapshot> = None;
        for changed in 0..4 {
            write(&folder, changed, "narwhal");
            let state = live.complete(&|| false).unwrap();
            let other = empty.complete(&|| false).unwrap();
            let manual =
                |folders| ManualSnapshot::new(Arc::clone(&memory), folders, Tier::Static).unwrap();
            if let Some(before) = before {
                let now = before.changed_pages(&[Arc::clone(&state)]).unwrap();
                let notes = state.notes().iter();
                let name = format!("p{changed}.md");
                let at = notes
                    .map(|note| note.path.as_str())
                    .position(|path| path == name);
                assert_eq!(now, [PageNumber::in_folder(0, at.unwrap())]);
            }
            let (one, two) = (
                manual(vec![Arc::clone(&state)]),
                manual(vec![Arc::clone(&state), other]),
            );
            let (whole, assembled) = (one.corpus(&pages), two.corpus(&pages));
            assert!(Arc::ptr_eq(&whole, state.corpus(Tier::Static)));
            for text in [
                "walrus",
                "narwhal",
                "boat7 harbour",
                "a boat in the harbour",
            ] {
                let found = |manual: &ManualSnapshot, corpus: &Corpus| {
                    let query = corpus.lenient_query(text).0;
                    let found = manual.search(corpus, (&query, text), true, 50, &|_| 0);
                    let hits = found.unwrap().hits.into_iter();
                    let hits = hits.map(|hit| (hit.chunk, hit.semantic, hit.together));
                    hits.collect::<Vec<_>>()
                };
                assert_eq!(found(&one, &whole), found(&two, &assembled), "{text}");
            }
            before = Some(one);
        }
    }
}
