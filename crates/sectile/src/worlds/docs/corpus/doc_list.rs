//! A list of documents that is cheap to copy: two versions share all parts that are equal in both.

use std::{ops::Index, sync::Arc};

use sectile_markdown::Digest;

use super::{Doc, DocRole};

/// The number of documents that are copied and summed up together. A change of one among 10,000 copies 64 of them, and
/// the list of 157 parts.
const PART: usize = 64;

/// Documents, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocList {
    parts: Vec<Arc<DocListPart>>,
}

/// Consecutive documents, and what is known of all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DocListPart {
    docs: Vec<Arc<Doc>>,
    /// Their size in bytes.
    bytes: u64,
    /// The digest of everything that an answer can show of them.
    shown: Digest,
    /// For each role, whether one has it.
    roles: [bool; DocRole::ALL.len()],
}

impl DocListPart {
    fn new(docs: Vec<Arc<Doc>>) -> Self {
        let mut roles = [false; DocRole::ALL.len()];
        for doc in &docs {
            roles[doc.role as usize] = true;
        }
        Self {
            bytes: docs.iter().map(|doc| doc.bytes).sum(),
            shown: shown_together(docs.iter()),
            roles,
            docs,
        }
    }
}

impl DocList {
    pub(crate) fn new(docs: Vec<Arc<Doc>>) -> Self {
        let parts = docs.chunks(PART);
        let parts = parts.map(|docs| Arc::new(DocListPart::new(docs.to_vec())));
        Self {
            parts: parts.collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        let last = self.parts.last().map_or(0, |part| part.docs.len());
        self.parts.len().saturating_sub(1) * PART + last
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Doc>> {
        self.parts.iter().flat_map(|part| &part.docs)
    }

    /// Puts a document in the place of another.
    pub(crate) fn replace(&mut self, at: usize, doc: Doc) {
        let part = &mut self.parts[at / PART];
        let mut docs = part.docs.clone();
        docs[at % PART] = Arc::new(doc);
        *part = Arc::new(DocListPart::new(docs));
    }

    /// Returns the size of all documents together, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns how many roles the documents have.
    pub(crate) fn roles(&self) -> usize {
        let has = |role: &DocRole| self.parts.iter().any(|part| part.roles[*role as usize]);
        DocRole::ALL.iter().filter(|role| has(role)).count()
    }

    /// Returns the documents that are not the same in another version of the list, each with the one in its place.
    pub(crate) fn changes<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (&'a Arc<Doc>, &'a Arc<Doc>)> {
        let parts = before.parts.iter().zip(&self.parts);
        let parts = parts.filter(|(one, other)| !Arc::ptr_eq(one, other));
        let pairs = parts.flat_map(|(one, other)| one.docs.iter().zip(&other.docs));
        pairs.filter(|(one, other)| !Arc::ptr_eq(one, other))
    }

    /// Returns the digests of everything that an answer can show of the documents at these positions, one for every
    /// 64 of them, whether all documents are among them or only some.
    pub(crate) fn shown(&self, positions: &[usize]) -> Vec<Digest> {
        if positions.len() == self.len() {
            return self.parts.iter().map(|part| part.shown).collect();
        }
        let parts = positions.chunks(PART);
        parts
            .map(|part| shown_together(part.iter().map(|at| &self[*at])))
            .collect()
    }
}

impl Index<usize> for DocList {
    type Output = Arc<Doc>;

    fn index(&self, at: usize) -> &Arc<Doc> {
        &self.parts[at / PART].docs[at % PART]
    }
}

fn shown_together<'a>(docs: impl Iterator<Item = &'a Arc<Doc>>) -> Digest {
    let shown: Vec<u8> = docs.flat_map(|doc| *doc.shown.as_bytes()).collect();
    Digest::of(&shown)
}

#[cfg(test)]
mod tests {
    use sectile_library::live_manual::PageNumber;
    use sectile_markdown::{NotePath, PageFormat};

    use super::*;
    use crate::worlds::docs::corpus::DocOrigin;

    fn doc(number: usize, role: DocRole) -> Doc {
        let digest = Digest::of(&number.to_le_bytes());
        Doc {
            slug: format!("doc-{number}"),
            title: String::new(),
            role,
            description: String::new(),
            page: PageNumber::in_memory(number),
            digest,
            bytes: number as u64,
            format: PageFormat::default(),
            origin: DocOrigin::Extra,
            label: String::new(),
            path: NotePath::parse_vault("a.md").unwrap(),
            url: None,
            section: None,
            shown: digest,
        }
    }

    fn docs(count: usize) -> Vec<Arc<Doc>> {
        let docs = 0..count;
        docs.map(|number| Arc::new(doc(number, DocRole::Pattern)))
            .collect()
    }

    #[test]
    fn a_list_is_like_the_documents_it_is_made_from() {
        for count in [0, 1, 63, 64, 65, 128, 200] {
            let docs = docs(count);
            let list = DocList::new(docs.clone());
            assert_eq!((list.len(), list.is_empty()), (count, count == 0));
            assert!(list.iter().eq(&docs));
            assert!((0..count).all(|at| list[at] == docs[at]));
            let bytes: u64 = docs.iter().map(|doc| doc.bytes).sum();
            assert_eq!((list.bytes(), list.roles()), (bytes, count.min(1)));
        }
    }

    #[test]
    fn versions_share_what_is_equal() {
        let before = DocList::new(docs(200));
        let mut now = before.clone();
        now.replace(70, doc(1_000, DocRole::Ontology));
        let pairs = before.parts.iter().zip(&now.parts);
        let shared = pairs.filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!(shared.count(), 3);
        let changes: Vec<_> = now.changes(&before).collect();
        assert_eq!(changes, [(&before[70], &now[70])]);
        assert_eq!((now.bytes(), now.roles()), (before.bytes() + 930, 2));
        // As if it had been made from the documents.
        let again = DocList::new(now.iter().cloned().collect());
        let all: Vec<usize> = (0..200).collect();
        assert_eq!(now.shown(&all), again.shown(&all));
        assert_ne!(now.shown(&all), before.shown(&all));
    }

    /// Receipts do not depend on what else there is that a caller may not see.
    #[test]
    fn the_digest_of_some_documents_is_that_of_a_list_of_them() {
        let list = DocList::new(docs(200));
        let some: Vec<usize> = (0..200).filter(|at| at % 3 != 0).collect();
        let only = DocList::new(some.iter().map(|at| Arc::clone(&list[*at])).collect());
        let all: Vec<usize> = (0..some.len()).collect();
        assert_eq!(list.shown(&some), only.shown(&all));
    }
}
