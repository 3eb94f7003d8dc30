//! Pages that were read for an answer, with their sections.

use std::sync::Arc;

use parking_lot::Mutex;
use sectile_library::manual_page::searchable;
use sectile_markdown::{Digest, PageFormat};
use sectile_retrieval::{Section, sections};

use super::corpus::{Doc, DocsCorpus};

/// A page, and its sections.
#[derive(Debug)]
pub(super) struct ReadPage {
    pub(super) bytes: Vec<u8>,
    pub(super) sections: Vec<Section>,
}

/// The pages that were read last.
#[derive(Default)]
pub(super) struct PageCache {
    /// The page used last comes last.
    pages: Mutex<Vec<(PageKey, Arc<ReadPage>)>>,
}

/// Everything that the sections of a page depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PageKey {
    digest: Digest,
    title: String,
    format: PageFormat,
}

/// The most pages and bytes of pages that are kept.
const MOST_PAGES: usize = 64;
const MOST_BYTES: usize = 16 << 20;

impl PageCache {
    /// Returns a page; `None` if its file has changed since.
    pub(super) fn read(&self, all: &DocsCorpus, doc: &Doc) -> Option<Arc<ReadPage>> {
        let key = PageKey {
            digest: doc.digest,
            title: doc.title.clone(),
            format: doc.format,
        };
        {
            let mut pages = self.pages.lock();
            if let Some(at) = pages.iter().position(|(known, _)| *known == key) {
                let found = pages.remove(at);
                pages.push(found.clone());
                return Some(found.1);
            }
        }
        let bytes = all.pages.read(doc.page)?.into_owned();
        let page = Arc::new(ReadPage {
            sections: sections(&bytes, &doc.title, doc.format),
            bytes,
        });
        let mut pages = self.pages.lock();
        pages.push((key, Arc::clone(&page)));
        let size = |pages: &[(PageKey, Arc<ReadPage>)]| {
            pages
                .iter()
                .map(|(_, page)| page.bytes.len())
                .sum::<usize>()
        };
        while pages.len() > 1 && (pages.len() > MOST_PAGES || size(&pages) > MOST_BYTES) {
            pages.remove(0);
        }
        Some(page)
    }
}

impl ReadPage {
    /// Returns a section with text, by its number among those.
    pub(super) fn section(&self, number: usize) -> Option<&Section> {
        searchable(&self.sections).nth(number)
    }

    /// Returns the section with this anchor; without one, the introduction.
    pub(super) fn at_anchor(&self, anchor: Option<&str>) -> Option<&Section> {
        let mut sections = self.sections.iter();
        match anchor {
            None => sections.next(),
            Some(anchor) => sections.find(|section| section.anchor.as_deref() == Some(anchor)),
        }
    }
}
