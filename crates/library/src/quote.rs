//! Quotes: a passage read from the storage, hashed, and answered from the very bytes that were hashed.

use sectile_markdown::{Digest, NotePath};

use crate::{
    clock::Clock,
    error::{Gone, LibraryError},
    facts::{body_start, notebook_facts, timestamp},
    ids::SourceId,
    library::Library,
    shelf::{Known, Shelf, looked_up, moved_in},
    storage::is_notebook,
};

/// Places that are looked at for a passage that moved. What many notebooks say is in one of the first.
pub const MOST_CANDIDATES: usize = 16;

/// A passage that is what its id says.
#[derive(Clone, Debug)]
pub struct Quote {
    /// The id that was asked for.
    pub id: SourceId,
    /// The bytes of the passage, as text.
    pub text: String,
    /// At most so many characters as were asked for, cut at characters.
    pub before: String,
    /// The same for what follows the passage.
    pub after: String,
    /// Of the passage's bytes.
    pub digest: Digest,
    /// Of the whole notebook.
    pub notebook_digest: Digest,
    /// The title of the notebook.
    pub notebook_title: String,
    /// Title and headings above, outermost first.
    pub heading_path: Vec<String>,
    /// 1-based line of the passage's first byte.
    pub line: usize,
    /// The moment that the passage speaks of: a date in its headings or front matter, in milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// From front matter.
    pub author: Option<String>,
    /// When the bytes were read and hashed, in milliseconds since 1970.
    pub verified_at: i64,
}

/// Quotes the passage `id` with `context` characters around it. `shelf`, where there is one, helps to find a passage that
/// moved to another notebook.
pub fn quote(
    storage: &Library,
    shelf: Option<&Shelf>,
    id: &SourceId,
    context: usize,
    clock: Clock,
) -> Result<Quote, LibraryError> {
    // Only notebooks are quoted: an artifact that were would lose its label.
    let bytes = match is_notebook(&id.notebook) {
        true => storage.read(&id.collection, &id.notebook)?,
        false => storage.require(&id.collection).map(|()| None)?,
    };
    let Some(bytes) = bytes else {
        let reason =
            match storage.ask(|storage| storage.is_too_large(&id.collection, &id.notebook))? {
                true => Gone::TooLarge,
                false => Gone::Deleted,
            };
        return Err(gone(storage, shelf, id, reason, None));
    };
    let body_start = body_start(&bytes);
    // Nothing is said of the bytes of front matter, not even whether they have the digest of an id.
    let is_in_body = id.span.start >= body_start;
    let passage = bytes.get(id.span.range()).filter(|_| is_in_body);
    let digest = passage.map(Digest::of).filter(|digest| id.is_of(digest));
    let text = passage.and_then(|passage| std::str::from_utf8(passage).ok());
    let (Some(digest), Some(text)) = (digest, text) else {
        return Err(gone(storage, shelf, id, Gone::Changed, Some(&bytes)));
    };
    let notebook_digest = Digest::of(&bytes);
    let facts = notebook_facts(&bytes, &id.notebook);
    let known = shelf.and_then(|shelf| shelf.known(&id.notebook, &notebook_digest, id.span));
    let Known { heading_path, line } =
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

/// Why a passage is not where its id says: it may be elsewhere in its notebook, or in another one of its collection.
fn gone(
    storage: &Library,
    shelf: Option<&Shelf>,
    id: &SourceId,
    otherwise: Gone,
    bytes: Option<&[u8]>,
) -> LibraryError {
    let here = bytes.and_then(|bytes| moved_to(bytes, id, &id.notebook));
    let new = here.or_else(|| {
        // Where the passage went is only a help; that it is gone is known without it.
        let candidates = shelf?.chunks_with(id.digits()).ok()?;
        candidates.iter().take(MOST_CANDIDATES).find_map(|located| {
            let (notebook, chunk) = (&located.notebook, &located.chunk);
            let bytes = storage.read(&id.collection, notebook).ok().flatten()?;
            let passage = bytes.get(chunk.span.range());
            let is_there = passage.is_some_and(|passage| Digest::of(passage) == chunk.digest);
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
            Gone::Moved
        } else {
            otherwise
        },
        new_source_id: new,
    }
}

/// The id of the same passage in a notebook as it is now.
fn moved_to(bytes: &[u8], id: &SourceId, notebook: &NotePath) -> Option<SourceId> {
    let (chunk, _) = moved_in(bytes, notebook, |digest| id.is_of(digest))?;
    Some(SourceId::new(
        &id.collection,
        notebook,
        chunk.span,
        &chunk.digest,
    ))
}

/// The last `most` characters of bytes that may not all be text.
fn last_characters(bytes: &[u8], most: usize) -> String {
    // A character has four bytes at most.
    let start = bytes.len().saturating_sub(most * 4 + 3);
    let text = String::from_utf8_lossy(&bytes[start..]);
    let count = text.chars().count();
    text.chars().skip(count.saturating_sub(most)).collect()
}

/// The first `most` characters of bytes that may not all be text.
fn first_characters(bytes: &[u8], most: usize) -> String {
    let end = bytes.len().min(most * 4 + 3);
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests;
