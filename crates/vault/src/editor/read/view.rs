//! A document at one moment: its bytes, its sections and their ids.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use sectile_markdown::{Digest, Document, Span, align::Fingerprint, edit::content_span};

use crate::NotePath;

/// A document at one moment.
#[derive(Debug)]
pub struct View {
    path: NotePath,
    bytes: Vec<u8>,
    hash: Digest,
    document: Document,
    ids: Vec<String>,
    revision: u64,
    /// Offset of the ids in the id file, if they are from there.
    pub(super) sighted_at: Option<u64>,
    outline: OnceLock<Vec<Outline>>,
    hashes: OnceLock<Vec<OnceLock<Hashes>>>,
}

/// The shape of a section: its spans, and the positions of related sections.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(crate) heading: String,
    pub(crate) level: u8,
    pub(crate) parent: Option<usize>,
    pub(crate) content: Span,
    /// Text with subsections.
    pub(crate) below: Span,
    /// Heading and everything below, without blank lines after it.
    pub(crate) subtree: Span,
    pub(crate) subtree_end: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Hashes {
    pub(crate) own: Digest,
    pub(crate) subtree: Digest,
}

impl View {
    pub(crate) fn new(
        path: NotePath,
        bytes: Vec<u8>,
        hash: Digest,
        document: Document,
        ids: Vec<String>,
        revision: u64,
    ) -> Self {
        Self {
            path,
            bytes,
            hash,
            document,
            ids,
            revision,
            sighted_at: None,
            outline: OnceLock::new(),
            hashes: OnceLock::new(),
        }
    }

    /// Returns the view with the `offset` of its ids in the id file, if they are there.
    pub(super) fn with_sighting(self, offset: Option<u64>) -> Self {
        Self {
            sighted_at: offset,
            ..self
        }
    }

    /// Returns the approximate memory use in bytes. The structures for small sections are many times their text.
    fn weight(&self) -> usize {
        const OF_SECTION: usize = 256;
        self.bytes.len() + self.ids.len() * OF_SECTION
    }

    /// Returns the path of the file, relative to the root.
    #[must_use]
    pub fn path(&self) -> &NotePath {
        &self.path
    }

    /// Returns the bytes of the document.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the digest of the bytes.
    #[must_use]
    pub fn hash(&self) -> &Digest {
        &self.hash
    }

    /// Returns the parsed sections.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Returns the ids of the sections, in order.
    #[must_use]
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Returns the number of the last entry of its history; 0 before the first.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn outline(&self) -> &[Outline] {
        self.outline
            .get_or_init(|| outline(&self.bytes, &self.document))
    }

    /// Returns the hashes of one section, computed on demand: all of them would be many times the size of the document.
    pub(super) fn hashes(&self, position: usize) -> Option<&Hashes> {
        let outline = self.outline().get(position)?;
        let all = self
            .hashes
            .get_or_init(|| self.outline().iter().map(|_| OnceLock::new()).collect());
        Some(all.get(position)?.get_or_init(|| Hashes {
            own: Digest::of(outline.content.slice(&self.bytes)),
            subtree: Digest::of(outline.subtree.slice(&self.bytes)),
        }))
    }
}

pub(super) fn outline(bytes: &[u8], document: &Document) -> Vec<Outline> {
    let mut position_of: HashMap<usize, usize> = HashMap::new();
    let mut result: Vec<Outline> = Vec::new();
    let mut ends = Vec::new();
    let mut starts = Vec::new();
    for (index, section, extent) in document.top_level() {
        position_of.insert(index, result.len());
        starts.push(section.heading.start);
        ends.push(extent.subtree.end);
        result.push(Outline {
            heading: section.text.clone(),
            level: section.level,
            parent: extent
                .parent
                .and_then(|parent| position_of.get(&parent).copied()),
            content: content_span(bytes, extent.own_body),
            below: content_span(bytes, Span::new(section.heading.end, extent.subtree.end)),
            subtree: content_span(bytes, extent.subtree),
            subtree_end: 0,
        });
    }
    for (one, end) in result.iter_mut().zip(ends) {
        one.subtree_end = starts.partition_point(|start| *start < end);
    }
    result
}

/// Recently made views, and texts that callers were given.
#[derive(Debug, Default)]
pub(super) struct Cache {
    views: HashMap<String, (u64, Arc<View>)>,
    bytes: usize,
    clock: u64,
}

/// Approximate number of bytes of views that are kept: four documents of the largest default size.
const CACHE_BYTES: usize = 64 << 20;

impl Cache {
    pub(crate) fn get(&mut self, path: &str) -> Option<Arc<View>> {
        self.clock += 1;
        let (used, view) = self.views.get_mut(path)?;
        *used = self.clock;
        Some(Arc::clone(view))
    }

    pub(crate) fn put(&mut self, view: &Arc<View>) {
        self.clock += 1;
        self.bytes += view.weight();
        let key = view.path.as_str().to_owned();
        if let Some((_, old)) = self.views.insert(key, (self.clock, Arc::clone(view))) {
            self.bytes -= old.weight();
        }
        while self.bytes > CACHE_BYTES && self.views.len() > 1 {
            let oldest = self
                .views
                .iter()
                .min_by_key(|(_, (used, _))| *used)
                .map(|(path, _)| path.clone());
            if let Some((_, old)) = oldest.and_then(|path| self.views.remove(&path)) {
                self.bytes -= old.weight();
            }
        }
    }

    pub(crate) fn forget(&mut self, path: &str) {
        if let Some((_, old)) = self.views.remove(path) {
            self.bytes -= old.weight();
        }
    }
}

/// A document that was just read.
pub(crate) struct NewDocument<'a> {
    pub(crate) path: &'a NotePath,
    pub(crate) bytes: &'a [u8],
    pub(crate) hash: Digest,
    pub(crate) document: &'a Document,
    pub(crate) prints: &'a [Fingerprint],
}

impl NewDocument<'_> {
    /// Returns the headings of its sections, in order.
    pub(crate) fn headings(&self) -> impl Iterator<Item = &str> {
        let sections = self.document.top_level();
        sections.map(|(_, section, _)| section.text.as_str())
    }
}

/// The ids of a document's sections, and their offset if they are in the id file.
pub(super) struct AssignedIds {
    pub(crate) ids: Vec<String>,
    pub(super) sighted_at: Option<u64>,
}

impl From<Vec<String>> for AssignedIds {
    fn from(ids: Vec<String>) -> Self {
        Self {
            ids,
            sighted_at: None,
        }
    }
}
