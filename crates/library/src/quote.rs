//! Quotes: a passage is read from the storage and hashed, and the quote is made from exactly those bytes.

use sectile_markdown::{Digest, NotePath};
use sectile_retrieval::ChunkDigest;

use crate::{
    clock::Clock,
    error::{GoneReason, LibraryError},
    facts::{body_start, notebook_facts, timestamp},
    ids::SourceId,
    library::Library,
    open_collection::{OpenCollection, PassageLocation, looked_up, moved_in},
    storage::is_notebook,
};

/// The most locations tried for a passage that moved. A passage that many notebooks contain is found among the first.
pub const MOST_CANDIDATES: usize = 16;

/// A passage that matches its id.
#[derive(Clone, Debug)]
pub struct Quote {
    /// The requested id.
    pub id: SourceId,
    /// The passage.
    pub text: String,
    /// The text before the passage, at most as many characters as requested.
    pub before: String,
    /// The text after the passage, at most as many characters as requested.
    pub after: String,
    /// The digest of the passage.
    pub digest: Digest,
    /// The digest of the whole notebook.
    pub notebook_digest: Digest,
    /// The title of the notebook.
    pub notebook_title: String,
    /// The title and the headings above the passage, outermost first.
    pub heading_path: Vec<String>,
    /// The 1-based line on which the passage starts.
    pub line: usize,
    /// The time that the passage is about, from its headings or the front matter, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The author, from the front matter.
    pub author: Option<String>,
    /// When the bytes were read and hashed, in milliseconds since 1970.
    pub verified_at: i64,
}

/// Quotes the passage `id` with `context` characters on both sides. `open collection`, if given, helps to find a passage that
/// moved to another notebook.
pub fn quote(
    storage: &Library,
    open_collection: Option<&OpenCollection>,
    id: &SourceId,
    context: usize,
    clock: Clock,
) -> Result<Quote, LibraryError> {
    // Only notebooks are quoted: a quote from an artifact would lose its label.
    let bytes = match is_notebook(&id.notebook) {
        true => storage.read(&id.collection, &id.notebook)?,
        false => storage.require(&id.collection).map(|()| None)?,
    };
    let Some(bytes) = bytes else {
        let reason =
            match storage.ask(|storage| storage.is_too_large(&id.collection, &id.notebook))? {
                true => GoneReason::TooLarge,
                false => GoneReason::Deleted,
            };
        return Err(gone(storage, open_collection, id, reason, None));
    };
    let body_start = body_start(&bytes);
    // Nothing about the bytes of front matter is revealed, not even whether they match the digest of an id.
    let is_in_body = id.span.start >= body_start;
    let passage = bytes.get(id.span.range()).filter(|_| is_in_body);
    let digest = passage.map(Digest::of).filter(|digest| id.is_of(digest));
    let text = passage.and_then(|passage| std::str::from_utf8(passage).ok());
    let (Some(digest), Some(text)) = (digest, text) else {
        return Err(gone(
            storage,
            open_collection,
            id,
            GoneReason::Changed,
            Some(&bytes),
        ));
    };
    let notebook_digest = Digest::of(&bytes);
    let facts = notebook_facts(&bytes, &id.notebook);
    let known = open_collection
        .and_then(|open_collection| open_collection.known(&id.notebook, &notebook_digest, id.span));
    let PassageLocation { heading_path, line } =
        known.unwrap_or_else(|| looked_up(&bytes, &id.notebook, id.span.start));
    let timestamp = timestamp(&heading_path, &facts);
    Ok(Quote {
        id: id.clone(),
        text: text.to_owned(),
        before: last_characters(&bytes[body_start..id.span.start], context),
        after: first_characters(&bytes[id.span.end..], context),
        digest,
        notebook_digest,
        notebook_title: facts.title,
        heading_path,
        line,
        timestamp,
        author: facts.author,
        verified_at: clock(),
    })
}

/// Returns the error for a passage that is not where its id says, after looking for it elsewhere in its notebook and in
/// the rest of the collection.
fn gone(
    storage: &Library,
    open_collection: Option<&OpenCollection>,
    id: &SourceId,
    otherwise: GoneReason,
    bytes: Option<&[u8]>,
) -> LibraryError {
    let here = bytes.and_then(|bytes| moved_to(bytes, id, &id.notebook));
    let new = here.or_else(|| {
        // The new location is only a hint; the passage is gone either way, so failures are ignored.
        let candidates = open_collection?.chunks_with(id.digits()).ok()?;
        candidates.iter().take(MOST_CANDIDATES).find_map(|located| {
            let (notebook, chunk) = (&located.notebook, &located.chunk);
            let bytes = storage.read(&id.collection, notebook).ok().flatten()?;
            let passage = bytes.get(chunk.span.range());
            let is_there = passage.is_some_and(|passage| ChunkDigest::of(passage) == chunk.digest);
            if is_there {
                return Some(SourceId::new(
                    &id.collection,
                    notebook,
                    chunk.span,
                    &chunk.digest,
                ));
            }
            moved_to(&bytes, id, notebook)
        })
    });
    LibraryError::SourceNotFound {
        source_id: id.to_string(),
        reason: if new.is_some() {
            GoneReason::Moved
        } else {
            otherwise
        },
        new_source_id: new,
    }
}

/// Returns the id of the same passage in the current bytes of a notebook.
fn moved_to(bytes: &[u8], id: &SourceId, notebook: &NotePath) -> Option<SourceId> {
    let (chunk, _) = moved_in(bytes, notebook, |digest| id.is_of(digest))?;
    Some(SourceId::new(
        &id.collection,
        notebook,
        chunk.span,
        &chunk.digest,
    ))
}

/// Returns the last `most` characters of bytes that need not be valid UTF-8.
fn last_characters(bytes: &[u8], most: usize) -> String {
    // A character has at most four bytes.
    let start = bytes.len().saturating_sub(most * 4 + 3);
    let text = String::from_utf8_lossy(&bytes[start..]);
    let count = text.chars().count();
    text.chars().skip(count.saturating_sub(most)).collect()
}

/// Returns the first `most` characters of bytes that need not be valid UTF-8.
fn first_characters(bytes: &[u8], most: usize) -> String {
    let end = bytes.len().min(most * 4 + 3);
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests;
