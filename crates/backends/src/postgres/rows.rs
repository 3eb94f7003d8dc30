//! Conversion between the rows of the tables and their types.

use sectile_library::{BackendState, IndexedNotebook, LocatedChunk, NotebookGap, tiers::Tier};
use sectile_markdown::{Digest, NotePath, Span};
use sectile_retrieval::{Candidate, Chunk, VectorKey};
use tokio_postgres::Row;

use super::{PostgresTuning, SecondModel, cache::is_cached, failure::PostgresFailure};

/// The columns that [`located`] reads.
pub(super) const LOCATED: &str =
    "c.path, c.span_start, c.span_end, c.line, c.digest, c.notebook_digest, c.headings";

/// The additional columns that [`candidate`] reads, apart from the product and the squared length of the vector.
pub(super) const WORDS: &str = "c.heading_words, c.trail_words, c.body_words, c.words";

/// The failure for a row that this program did not write.
pub(super) fn damaged() -> PostgresFailure {
    PostgresFailure::other(
        "The index in PostgreSQL is damaged. Run `sectile notebook index --to postgres` to rebuild it.",
    )
}

/// Converts a number that cannot be negative.
fn whole<T: TryFrom<i64>>(number: i64) -> Result<T, PostgresFailure> {
    T::try_from(number).map_err(|_| damaged())
}

fn digest(bytes: &[u8]) -> Result<Digest, PostgresFailure> {
    bytes
        .try_into()
        .map(Digest::from_bytes)
        .map_err(|_| damaged())
}

fn note_path(path: &str) -> Result<NotePath, PostgresFailure> {
    NotePath::parse_vault(path).map_err(|_| damaged())
}

/// The row of a collection.
#[derive(Clone, Debug)]
pub(super) struct CollectionRow {
    pub(super) id: i64,
    pub(super) rules: String,
    pub(super) as_of: i64,
    pub(super) revision: i64,
    pub(super) notebooks: i64,
    pub(super) chunks: i64,
    /// The number of words in the headings, trails and bodies of its chunks.
    pub(super) words: [i64; 3],
    pub(super) next_chunk: i32,
    pub(super) next_block: i32,
    pub(super) has_graph: bool,
    /// The number of the collection's vectors of the second tier.
    pub(super) meaning: i64,
    /// The fingerprint of the model whose second tier is complete, if there is one.
    pub(super) tier: Option<Vec<u8>>,
    pub(super) tier_graph: bool,
    pub(super) tombstones: i64,
    pub(super) compacted: i64,
}

impl CollectionRow {
    /// Reads a row in which either all columns or none are set.
    pub(super) fn of(row: &Row) -> Result<Option<Self>, PostgresFailure> {
        let Some(id) = row.try_get::<_, Option<i64>>("id")? else {
            return Ok(None);
        };
        Ok(Some(Self {
            id,
            rules: row.try_get("rules")?,
            as_of: row.try_get("as_of")?,
            revision: row.try_get("revision")?,
            notebooks: row.try_get("notebooks")?,
            chunks: row.try_get("chunks")?,
            words: [
                row.try_get("heading_words")?,
                row.try_get("trail_words")?,
                row.try_get("body_words")?,
            ],
            next_chunk: row.try_get("next_chunk")?,
            next_block: row.try_get("next_block")?,
            has_graph: row.try_get("has_graph")?,
            meaning: row.try_get("meaning")?,
            tier: row.try_get("tier")?,
            tier_graph: row.try_get("tier_graph")?,
            tombstones: row.try_get("tombstones")?,
            compacted: row.try_get("compacted")?,
        }))
    }

    /// Returns the model of the second tier if that tier answers.
    pub(super) fn answering<'r>(&self, rules: &'r PostgresTuning) -> Option<&'r SecondModel> {
        let second = rules.second.as_ref();
        second.filter(|second| self.tier.as_ref() == Some(&second.fingerprint))
    }

    pub(super) fn state(&self, rules: &PostgresTuning) -> Result<BackendState, PostgresFailure> {
        let second = self.answering(rules);
        let (tier, model, has_graph) = match second {
            Some(second) => (Tier::Transformer, second.model, self.tier_graph),
            None => (Tier::Static, rules.first, self.has_graph),
        };
        let dimensions = model.dimensions();
        Ok(BackendState {
            as_of: self.as_of,
            notebooks: whole(self.notebooks)?,
            chunks: whole(self.chunks)?,
            is_exact: !has_graph || is_cached(rules.cache_bytes, self.chunks, dimensions),
            unseen: 0,
            tier,
            model: model.name(),
        })
    }

    /// Returns [`Self::words`] in the type that a search takes.
    pub(super) fn all_words(&self) -> Result<[u64; 3], PostgresFailure> {
        let [heading, trail, body] = self.words;
        Ok([whole(heading)?, whole(trail)?, whole(body)?])
    }
}

/// Reads a chunk and its location.
pub(super) fn located(row: &Row) -> Result<LocatedChunk, PostgresFailure> {
    let number = |column: &str| row.try_get::<_, i64>(column);
    Ok(LocatedChunk {
        notebook: note_path(row.try_get("path")?)?,
        notebook_digest: digest(row.try_get("notebook_digest")?)?,
        chunk: Chunk {
            span: Span::new(whole(number("span_start")?)?, whole(number("span_end")?)?),
            digest: digest(row.try_get("digest")?)?.into(),
            line: whole(number("line")?)?,
        },
        path: steps(row.try_get("headings")?).ok_or_else(damaged)?,
    })
}

/// Reads the numbers of words of a chunk.
pub(super) fn lengths(row: &Row) -> Result<[u32; 3], PostgresFailure> {
    let number = |column: &str| -> Result<u32, PostgresFailure> {
        whole(i64::from(row.try_get::<_, i32>(column)?))
    };
    Ok([
        number("heading_words")?,
        number("trail_words")?,
        number("body_words")?,
    ])
}

/// Reads a chunk in the form that the search takes.
pub(super) fn candidate(row: &Row) -> Result<Candidate, PostgresFailure> {
    // A sum of integers small enough to be exact.
    let product: f64 = row.try_get("product")?;
    Ok(Candidate {
        lengths: lengths(row)?,
        encoded: row.try_get("words")?,
        product: product as i32,
        square: whole(i64::from(row.try_get::<_, i32>("square")?))?,
    })
}

/// Reads a notebook.
pub(super) fn notebook(row: &Row) -> Result<IndexedNotebook, PostgresFailure> {
    let stamp: &[u8] = row.try_get("stamp")?;
    let (parts, rest) = stamp.as_chunks::<8>();
    let parts: [[u8; 8]; 4] = parts.try_into().map_err(|_| damaged())?;
    if !rest.is_empty() {
        return Err(damaged());
    }
    Ok(IndexedNotebook {
        notebook: note_path(row.try_get("path")?)?,
        stamp: parts.map(u64::from_be_bytes),
        digest: digest(row.try_get("digest")?)?,
    })
}

/// Reads a notebook whose chunks do not all have a vector.
pub(super) fn gap(row: &Row) -> Result<NotebookGap, PostgresFailure> {
    Ok(NotebookGap {
        notebook: note_path(row.try_get("path")?)?,
        digest: digest(row.try_get("digest")?)?,
        chunks: whole(row.try_get("chunks")?)?,
        missing: whole(row.try_get("missing")?)?,
    })
}

/// Reads the key of a vector.
pub(super) fn key(row: &Row) -> Result<VectorKey, PostgresFailure> {
    let bytes: &[u8] = row.try_get("key")?;
    let bytes = bytes.try_into().map_err(|_| damaged())?;
    Ok(VectorKey::from_bytes(bytes))
}

/// Encodes [`IndexedNotebook::stamp`] for storage.
pub(super) fn stamp(entry: &IndexedNotebook) -> Vec<u8> {
    entry.stamp.map(u64::to_be_bytes).concat()
}

/// Encodes headings for storage. They may contain anything, so each follows its length.
pub(super) fn headings(path: &[String]) -> Vec<u8> {
    let mut kept = Vec::new();
    for step in path {
        let length = u32::try_from(step.len()).unwrap_or(u32::MAX);
        kept.extend(length.to_be_bytes());
        kept.extend(step.as_bytes());
    }
    kept
}

fn steps(mut kept: &[u8]) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    while !kept.is_empty() {
        let (length, rest) = kept.split_first_chunk::<4>()?;
        let (step, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        steps.push(String::from_utf8(step.to_vec()).ok()?);
        kept = rest;
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_come_back_whatever_they_are() {
        for path in [vec![], vec![""], vec!["a", "b\nc\0", "漢"]] {
            let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
            assert_eq!(steps(&headings(&path)), Some(path));
        }
        assert_eq!(steps(&[0, 0, 0, 9, b'a']), None);
        assert_eq!(steps(&[0]), None);
    }
}
