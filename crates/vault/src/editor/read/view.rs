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
    /// Where the ids stand in the file of ids, when they are from there.
    pub(super) sighted_at: Option<u64>,
    outline: OnceLock<Vec<Outline>>,
    hashes: OnceLock<Vec<OnceLock<Hashes>>>,
}

/// A section in terms of positions.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(crate) heading: String,
    pub(crate) level: u8,
    pub(crate) parent: Option<usize>,
    pub(crate) content: Span,
    /// Text with subsections.
    pub(crate) below: Span,
    /// Heading and everything below, without blank lines behind it.
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

    /// The same with ids that stand in the file of ids, if at all, at `offset`.
    pub(super) fn with_sighting(self, offset: Option<u64>) -> Self {
        Self {
            sighted_at: offset,
            ..self
        }
    }

    /// About how much memory it takes. What is made of small sections is many times their text.
    fn weight(&self) -> usize {
        const OF_SECTION: usize = 256;
        self.bytes.len() + self.ids.len() * OF_SECTION
    }

    /// Where the file is, below the root.
    #[must_use]
    pub fn path(&self) -> &NotePath {
        &self.path
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their digest.
    #[must_use]
    pub fn hash(&self) -> &Digest {
        &self.hash
    }

    /// Its sections.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The ids of its sections, in order.
    #[must_use]
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// The number of the last entry of its history; 0 before the first.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn outline(&self) -> &[Outline] {
        self.outline
            .get_or_init(|| outline(&self.bytes, &self.document))
    }

    /// The hashes of one section, made when somebody asks for them: all of them would be many times the document.
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

/// Views that were made lately, and texts that callers were given.
#[derive(Debug, Default)]
pub(super) struct Cache {
    views: HashMap<String, (u64, Arc<View>)>,
    bytes: usize,
    clock: u64,
}

/// Views of about this many bytes are kept.
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

/// A document as it was just read.
pub(crate) struct NewDocument<'a> {
    pub(crate) path: &'a NotePath,
    pub(crate) bytes: &'a [u8],
    pub(crate) hash: Digest,
    pub(crate) document: &'a Document,
    pub(crate) prints: &'a [Fingerprint],
}

impl NewDocument<'_> {
    /// The headings of its sections, in order.
    pub(crate) fn headings(&self) -> impl Iterator<Item = &str> {
        let sections = self.document.top_level();
        sections.map(|(_, section, _)| section.text.as_str())
    }
}

/// The ids that the sections of a document have, and where they stand when that is the file of ids.
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
