//! A manual that is read while it is being written: documents in memory and folders of pages, searched together.

use std::{borrow::Cow, sync::Arc};

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::{
    Bytes, Corpus, DocumentLocation, Embedder, NearChunk, Query, SearchResults, Segment,
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
    pub fn corpus(&self, pages: &[PageNumber]) -> Corpus {
        let tier = self.tier();
        let empty;
        let base = match self.folders.first() {
            Some(folder) => folder.corpus(tier),
            None => {
                empty = Corpus::new(Vec::new(), &[]);
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
        base.with_changes(&[], added, &places)
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
