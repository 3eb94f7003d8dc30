//! Changes that are based on an older text: merged with the present text if that is clean, refused otherwise.

use sectile_markdown::{Digest, Document, Source, Span, merge};

use super::{DocumentWriter, operation::Scope, transaction::Transaction};
use crate::{
    editor::{
        Conflict, EditorError, View,
        draft::{Draft, SectionLocation},
        read::{
            part::{check_whole, hash_matches, short_hash},
            past::before,
            section::{Parts, lines, parts_of},
        },
    },
    ids,
};

/// Number of entries that are searched for the base of a change.
const MOST_ENTRIES_BACK: usize = 256;
/// Number of bytes of older texts that all operations of a request together may read while searching for bases:
/// sixteen documents of the largest default size.
pub(super) const MOST_BYTES_BACK: usize = 256 << 20;

/// The text that a hash covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HashScope {
    /// A section's own text. A hash of the subtree or of the document is accepted too, because it covers that text: a
    /// caller that has read the whole section, or the whole document, knows only this one.
    Own,
    /// Heading, text and subsections. A hash of the document is accepted too, and so is one of the own text of a section
    /// that has no subsections.
    Subtree,
}

/// Returns the digest of the text that `hashed` covers, and the text that a caller may replace in that scope.
fn texts(
    bytes: &[u8],
    document: &Document,
    position: usize,
    hashed: HashScope,
    scope: Scope,
) -> Option<(Digest, Vec<u8>)> {
    let parts = parts_of(bytes, document, position)?;
    let hashed = match hashed {
        HashScope::Own => parts.content,
        HashScope::Subtree => parts.subtree,
    };
    let text = replaceable(&parts, scope).slice(bytes);
    Some((Digest::of(hashed.slice(bytes)), text.to_vec()))
}

/// Returns whether `expected` is a hash of the section at `position` that `hashed` accepts.
fn is_hash_of(
    expected: &str,
    bytes: &[u8],
    document: &Document,
    position: usize,
    hashed: HashScope,
) -> bool {
    let matches = |span: Span| hash_matches(expected, &Digest::of(span.slice(bytes)));
    parts_of(bytes, document, position).is_some_and(|parts| {
        let is_all = hashed == HashScope::Own || parts.content == parts.below;
        (is_all && matches(parts.content))
            || matches(parts.subtree)
            || matches(Span::new(0, bytes.len()))
    })
}

impl View {
    /// Returns whether `hash` is that of the section at `position`, with or without its subsections, or of the whole
    /// document.
    #[must_use]
    pub fn is_hash_of_section(&self, position: usize, hash: &str) -> bool {
        is_hash_of(
            hash,
            self.bytes(),
            self.document(),
            position,
            HashScope::Own,
        )
    }
}

fn replaceable(parts: &Parts, scope: Scope) -> Span {
    match scope {
        Scope::Body => parts.content,
        Scope::Subtree => parts.below,
    }
}

impl Transaction<'_> {
    /// Returns whether the section is still the one that the caller based its change on.
    pub(super) fn is_current(
        &self,
        found: &SectionLocation,
        expected: Option<&str>,
        hashed: HashScope,
    ) -> Result<bool, EditorError> {
        let Some(expected) = expected else {
            return if self.writer.limits.require_hash {
                Err(EditorError::HashRequired)
            } else {
                Ok(true)
            };
        };
        let draft = &self.drafts[&found.path];
        let same = |bytes: &[u8], document: &Document, position: usize| {
            is_hash_of(expected, bytes, document, position, hashed)
        };
        if same(draft.text(), &draft.document, found.position) {
            return Ok(true);
        }
        // Earlier operations of the same request may have changed it; the caller could not know the result.
        Ok(draft.base.as_ref().is_some_and(|base| {
            base.position_of(&found.id)
                .is_some_and(|position| same(base.bytes(), base.document(), position))
        }))
    }

    /// Returns the text to write when the caller wants `ours` and based it on a text with the hash `expected`.
    pub(super) fn merged(
        &self,
        found: &SectionLocation,
        expected: &str,
        hashed: HashScope,
        scope: Scope,
        ours: &str,
    ) -> Result<String, EditorError> {
        let draft = &self.drafts[&found.path];
        let theirs = texts(draft.text(), &draft.document, found.position, hashed, scope)
            .map(|(_, text)| text)
            .unwrap_or_default();
        let mut room = self.room_back.get();
        let base = self
            .writer
            .base_of(draft, &found.id, expected, (hashed, scope), &mut room);
        self.room_back.set(room);
        let base = base?;
        if let Some(base) = &base {
            let limit = self.writer.limits.max_shown_bytes;
            check_whole(&String::from_utf8_lossy(base), ours, Some(expected), limit)?;
        }
        if let Some(base) = &base
            && let Ok(merged) = merge(&lines(base), &lines(ours.as_bytes()), &lines(&theirs))
            && let Ok(merged) = String::from_utf8(merged)
        {
            return Ok(merged);
        }
        Err(self.conflict(found, hashed, base, Some(ours), &theirs))
    }

    /// Returns the error for a change that cannot be merged with the present text.
    pub(super) fn conflict(
        &self,
        found: &SectionLocation,
        hashed: HashScope,
        base: Option<Vec<u8>>,
        ours: Option<&str>,
        theirs: &[u8],
    ) -> EditorError {
        let draft = &self.drafts[&found.path];
        let hash = texts(
            draft.text(),
            &draft.document,
            found.position,
            hashed,
            Scope::Body,
        )
        .map(|(digest, _)| short_hash(&digest))
        .unwrap_or_default();
        EditorError::Conflict(Box::new(Conflict {
            section_id: ids::shown(&found.id),
            hash,
            base: base.map(|base| String::from_utf8_lossy(&base).into_owned()),
            ours: ours.map(str::to_owned),
            theirs: String::from_utf8_lossy(theirs).into_owned(),
        }))
    }

    /// Returns the text of a section that a caller may replace in this scope.
    pub(super) fn present(&self, found: &SectionLocation, scope: Scope) -> String {
        let text = self.part(found, |parts| replaceable(parts, scope));
        String::from_utf8_lossy(text).into_owned()
    }

    /// Returns the whole present subtree, for a conflict about it.
    pub(super) fn subtree_text(&self, found: &SectionLocation) -> Vec<u8> {
        self.part(found, |parts| parts.subtree).to_vec()
    }

    fn part(&self, found: &SectionLocation, which: impl Fn(&Parts) -> Span) -> &[u8] {
        let draft = &self.drafts[&found.path];
        let parts = parts_of(draft.text(), &draft.document, found.position);
        parts
            .map(|parts| which(&parts).slice(draft.text()))
            .unwrap_or_default()
    }
}

impl DocumentWriter {
    /// Returns the text that had the hash `expected`, if it is in the journal and can be reached by reading at most
    /// `room` bytes of older texts.
    fn base_of(
        &self,
        draft: &Draft,
        id: &str,
        expected: &str,
        (hashed, scope): (HashScope, Scope),
        room: &mut usize,
    ) -> Result<Option<Vec<u8>>, EditorError> {
        let Some(view) = &draft.base else {
            return Ok(None);
        };
        let known = {
            let state = self.store.state();
            match state.ledger.document(view.path().as_str()) {
                Some(known) => known.clone(),
                None => return Ok(None),
            }
        };
        let mut bytes = view.bytes().to_vec();
        let mut ids = known.ids.clone();
        let chain = known.entries.get(known.chain_start..).unwrap_or_default();
        for number in chain.iter().rev().take(MOST_ENTRIES_BACK) {
            let step = match self.store.step(*number, known.id) {
                Ok(step) => step,
                Err(EditorError::TextUnknown) => return Ok(None),
                Err(error) => return Err(error),
            };
            let (Ok(Some(older)), Some(older_ids)) =
                (before(&step, Some(&bytes)), step.ids.inverse().apply(&ids))
            else {
                return Ok(None);
            };
            (bytes, ids) = (older, older_ids);
            match room.checked_sub(bytes.len()) {
                Some(left) => *room = left,
                None => return Ok(None),
            }
            if let Some(position) = ids.iter().position(|known| known == id) {
                let document = Source::new(&bytes).parse();
                if is_hash_of(expected, &bytes, &document, position, hashed) {
                    let found = texts(&bytes, &document, position, hashed, scope);
                    return Ok(found.map(|(_, text)| text));
                }
            }
        }
        Ok(None)
    }
}
