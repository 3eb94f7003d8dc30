//! The records of an index in a service: their ids and their bodies, which are JSON.
//!
//! | id | record |
//! |---|---|
//! | `head` | the number of a recent manifest: a hint |
//! | `lease` | the writer, and until when |
//! | `unclean` | a mark that there may be records that no generation needs |
//! | `m/G` | the manifest of generation G: creating it is the commit |
//! | `G/R/c/S/N` | chunk N of the notebook that was the Sth to be written by run R for generation G |
//! | `G/R/n/K`, `G/R/t/K` | shard K of the list of notebooks, and of the word counts |
//!
//! A run is a random number, so that nothing a killed writer left behind can be taken for what another one wrote. Records
//! are never changed, apart from `head`, `lease` and `unclean`. A body that is too long for one record continues in `ID/1`, `ID/2` and so
//! on; the first record then starts with `+`, the number of further ones, and a line break.
//!
//! Bodies are read back as untrusted input.

use base64::{Engine, prelude::BASE64_STANDARD};
use sectile_library::{IndexedNotebook, LocatedChunk, StorageError};
use sectile_markdown::{Digest, NotePath, Span};
use sectile_retrieval::{Candidate, Chunk, Record};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::service::{SearchKeys, ServiceRecord};

/// The version of this format.
pub(super) const FORMAT: u32 = 1;
/// The id of the hint.
pub(super) const HEAD: &str = "head";
/// The id of the lease.
pub(super) const LEASE: &str = "lease";
/// The id of the mark of a run that has not cleaned up.
pub(super) const UNCLEAN: &str = "unclean";
/// The most records that one body is spread over.
const MAX_PARTS: usize = 4_096;

/// A generation of a collection, as one run of a writer wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) generation: u32,
    pub(super) run: u64,
}

impl Version {
    fn id(self, rest: &str) -> String {
        format!("{:08x}/{:016x}/{rest}", self.generation, self.run)
    }

    /// Returns the id of a shard of word counts.
    pub(super) fn terms(self, shard: usize) -> String {
        self.id(&format!("t/{shard:x}"))
    }

    /// Returns the id of a shard of the list of notebooks.
    pub(super) fn notebooks(self, shard: usize) -> String {
        self.id(&format!("n/{shard:x}"))
    }

    /// Returns the id of a chunk.
    pub(super) fn chunk(self, place: u32, number: u32) -> String {
        self.id(&format!("c/{place:x}/{number:x}"))
    }
}

/// Returns the id of a manifest.
pub(super) fn manifest_id(generation: u32) -> String {
    format!("m/{generation:08x}")
}

/// Returns the version, place and number of a chunk from its id.
pub(super) fn parse_chunk_id(id: &str) -> Option<(Version, u32, u32)> {
    let mut parts = id.split('/');
    let mut next = || parts.next();
    let generation = u32::from_str_radix(next()?, 16).ok()?;
    let run = u64::from_str_radix(next()?, 16).ok()?;
    let kind = next()?;
    let place = u32::from_str_radix(next()?, 16).ok()?;
    let number = u32::from_str_radix(next()?, 16).ok()?;
    let version = Version { generation, run };
    (kind == "c" && next().is_none()).then_some((version, place, number))
}

/// Returns the id of a further part of a record.
pub(super) fn part_id(id: &str, part: usize) -> String {
    format!("{id}/{part:x}")
}

/// The failure for a body that this program did not write. An indexing run then rebuilds the index.
pub(super) fn damaged() -> StorageError {
    StorageError::OtherRules {
        message: "The index in the vector service is damaged, or of another version. Run `sectile notebook index` to rebuild it."
            .to_owned(),
    }
}

/// Encodes a body.
pub(super) fn encode<T: Serialize>(body: &T) -> Result<String, StorageError> {
    serde_json::to_string(body).map_err(|_| damaged())
}

/// Decodes a body.
pub(super) fn decode<T: DeserializeOwned>(body: &str) -> Result<T, StorageError> {
    serde_json::from_str(body).map_err(|_| damaged())
}

/// Splits a record whose body is longer than `most` bytes of JSON. The first one comes last, so that whatever can be seen of
/// it is complete.
pub(super) fn split(
    record: ServiceRecord,
    most: usize,
) -> Result<Vec<ServiceRecord>, StorageError> {
    let most = most.saturating_sub(16).max(64);
    if json_bytes(&record.body) <= most {
        return Ok(vec![record]);
    }
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut bytes = 2;
    for c in record.body.chars() {
        let width = json_bytes_of(c);
        if bytes + width > most {
            pieces.push(std::mem::take(&mut piece));
            bytes = 2;
        }
        bytes += width;
        piece.push(c);
    }
    pieces.push(piece);
    if pieces.len() > MAX_PARTS {
        return Err(StorageError::failed(
            "A notebook has a passage that is too long for the vector service. Split the passage.",
        ));
    }
    let further = pieces.len() - 1;
    let mut records = Vec::new();
    for (part, body) in pieces.iter().enumerate().skip(1) {
        records.push(ServiceRecord {
            id: part_id(&record.id, part),
            born: record.born,
            keys: None,
            body: body.clone(),
        });
    }
    let body = format!("+{further}\n{}", pieces[0]);
    records.push(ServiceRecord { body, ..record });
    Ok(records)
}

/// Returns the number of further parts of a body, and its beginning.
pub(super) fn parts_of(body: &str) -> Result<(usize, &str), StorageError> {
    let Some(rest) = body.strip_prefix('+') else {
        return Ok((0, body));
    };
    let (parts, beginning) = rest.split_once('\n').ok_or_else(damaged)?;
    let parts: usize = parts.parse().map_err(|_| damaged())?;
    match parts {
        1..=MAX_PARTS => Ok((parts, beginning)),
        _ => Err(damaged()),
    }
}

/// Returns the length of a string in JSON, with its quotes.
pub(super) fn json_bytes(text: &str) -> usize {
    2 + text.chars().map(json_bytes_of).sum::<usize>()
}

fn json_bytes_of(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

/// The commit of a generation: everything that a reader has to know first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// The name of the collection, which the name of its tenant is a digest of.
    pub(super) collection: String,
    /// The rules and the model that its records were made by.
    pub(super) rules: String,
    pub(super) version: Version,
    /// The oldest generation that chunks can belong to.
    pub(super) base: u32,
    pub(super) as_of: i64,
    pub(super) notebooks: u64,
    pub(super) chunks: u64,
    /// The number of words in the headings, trails and bodies of its chunks.
    pub(super) words: [u64; 3],
    /// Number of records of the chunks, without their further parts.
    pub(super) records: u64,
    /// The versions that the shards belong to.
    pub(super) versions: Vec<Version>,
    /// For each shard of the word counts, the index of its version.
    pub(super) term_shards: Vec<u32>,
    /// The same for the list of notebooks.
    pub(super) notebook_shards: Vec<u32>,
}

impl Manifest {
    /// Returns the id of each shard of the word counts.
    pub(super) fn term_ids(&self) -> Result<Vec<String>, StorageError> {
        self.ids(&self.term_shards, Version::terms)
    }

    /// Returns the id of each shard of the list of notebooks.
    pub(super) fn notebook_ids(&self) -> Result<Vec<String>, StorageError> {
        self.ids(&self.notebook_shards, Version::notebooks)
    }

    fn ids(
        &self,
        shards: &[u32],
        id: impl Fn(Version, usize) -> String,
    ) -> Result<Vec<String>, StorageError> {
        let ids = shards.iter().enumerate().map(|(shard, version)| {
            let version = self.versions.get(*version as usize).ok_or_else(damaged)?;
            Ok(id(*version, shard))
        });
        ids.collect()
    }
}

/// The writer of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lease {
    /// A random number.
    pub(super) owner: u64,
    /// When it ends, in milliseconds since 1970 by the writer's clock.
    pub(super) until: u64,
}

/// A notebook in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NotebookRow {
    pub(super) path: String,
    pub(super) stamp: [u64; 4],
    pub(super) digest: String,
    pub(super) version: Version,
    /// Its place among the notebooks of that run.
    pub(super) place: u32,
    pub(super) chunks: u32,
    /// The most further parts that one of its chunks has.
    pub(super) parts: u32,
}

impl NotebookRow {
    pub(super) fn indexed(&self) -> Result<IndexedNotebook, StorageError> {
        Ok(IndexedNotebook {
            notebook: note_path(&self.path)?,
            stamp: self.stamp,
            digest: Digest::parse(&self.digest).ok_or_else(damaged)?,
        })
    }

    /// Returns the ids of its chunks, in order.
    pub(super) fn chunk_ids(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.chunks).map(|number| self.version.chunk(self.place, number))
    }

    /// Returns the ids of all its records.
    pub(super) fn record_ids(&self) -> impl Iterator<Item = String> + '_ {
        self.chunk_ids().flat_map(|id| {
            let parts = (1..=self.parts as usize).map(|part| part_id(&id, part));
            let parts: Vec<String> = parts.collect();
            std::iter::once(id).chain(parts)
        })
    }
}

fn note_path(path: &str) -> Result<NotePath, StorageError> {
    NotePath::parse_vault(path).map_err(|_| damaged())
}

/// The body of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChunkBody {
    path: String,
    /// The digest of the notebook.
    of: String,
    span: [usize; 2],
    line: usize,
    digest: String,
    headings: Vec<String>,
    lengths: [u32; 3],
    words: String,
    vector: String,
}

impl ChunkBody {
    pub(super) fn new(entry: &IndexedNotebook, record: &Record) -> Self {
        let vector: Vec<u8> = record.vector.iter().map(|v| v.cast_unsigned()).collect();
        Self {
            path: entry.notebook.as_str().to_owned(),
            of: entry.digest.to_string(),
            span: [record.chunk.span.start, record.chunk.span.end],
            line: record.chunk.line,
            digest: record.digest.to_string(),
            headings: record.path.clone(),
            lengths: record.words.lengths,
            words: BASE64_STANDARD.encode(&record.words.encoded),
            vector: BASE64_STANDARD.encode(vector),
        }
    }

    /// Checks what was read back.
    pub(super) fn stored(self) -> Result<StoredChunk, StorageError> {
        let digest = |text: &str| Digest::parse(text).ok_or_else(damaged);
        let bytes = |text: &str| BASE64_STANDARD.decode(text).map_err(|_| damaged());
        let [start, end] = self.span;
        if start > end {
            return Err(damaged());
        }
        let whole = digest(&self.digest)?;
        let vector = bytes(&self.vector)?.into_iter().map(u8::cast_signed);
        let vector: Vec<i8> = vector.collect();
        if vector.iter().any(|value| value.unsigned_abs() > 7) {
            return Err(damaged());
        }
        Ok(StoredChunk {
            located: LocatedChunk {
                notebook: note_path(&self.path)?,
                notebook_digest: digest(&self.of)?,
                chunk: Chunk {
                    span: Span::new(start, end),
                    digest: whole.into(),
                    line: self.line,
                },
                path: self.headings,
            },
            digest: whole,
            lengths: self.lengths,
            encoded: bytes(&self.words)?,
            vector,
        })
    }
}

/// A chunk as it was read back.
#[derive(Clone, Debug)]
pub(super) struct StoredChunk {
    pub(super) located: LocatedChunk,
    pub(super) digest: Digest,
    pub(super) lengths: [u32; 3],
    pub(super) encoded: Vec<u8>,
    vector: Vec<i8>,
}

impl StoredChunk {
    /// Returns it in the form that the search takes, for a query with this vector.
    pub(super) fn candidate(&self, query: Option<&[i8]>) -> Candidate {
        let pairs = query.unwrap_or_default().iter().zip(&self.vector);
        let square = self.vector.iter().map(|value| i64::from(*value).pow(2));
        Candidate {
            lengths: self.lengths,
            encoded: self.encoded.clone(),
            product: pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum(),
            square: u64::try_from(square.sum::<i64>()).unwrap_or_default(),
        }
    }

    /// Returns roughly how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let headings = self.located.path.iter().map(|step| step.len() + 24);
        self.encoded.len() + self.vector.len() + headings.sum::<usize>() + 256
    }
}

/// Returns the keys that a service finds a chunk by.
pub(super) fn search_keys(record: &Record, words: Vec<(u32, u16)>) -> SearchKeys {
    SearchKeys {
        vector: unit(&record.vector),
        words,
        digest: first_bits(&record.digest),
    }
}

/// Returns a vector of length 1 in the same direction, or nothing if it has none.
pub(super) fn unit(vector: &[i8]) -> Vec<f32> {
    let square: i64 = vector.iter().map(|value| i64::from(*value).pow(2)).sum();
    if square == 0 {
        return Vec::new();
    }
    let length = (square as f64).sqrt();
    let values = vector
        .iter()
        .map(|value| (f64::from(*value) / length) as f32);
    values.collect()
}

/// Returns the values of a vector as they are sent: with eight decimals, which is all that an `f32` has. As they are, they would
/// take twice as many digits.
pub(super) fn decimals(vector: &[f32]) -> Vec<f64> {
    let values = vector.iter();
    let values = values.map(|value| (f64::from(*value) * 1e8).round() / 1e8);
    values.collect()
}

/// Returns the first 48 bits of a digest, which every service can compare as a number.
fn first_bits(digest: &Digest) -> u64 {
    let first = digest.as_bytes().iter().take(6);
    first.fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// Returns the first and the last number that [`first_bits`] can be for digests that start with these digits.
pub(super) fn digest_range(digits: &str) -> Option<(u64, u64)> {
    let is_lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() > 64 || !digits.bytes().all(is_lower) {
        return None;
    }
    let digits = &digits[..digits.len().min(12)];
    let number = |with: &str| {
        let filled = format!("{digits}{}", with.repeat(12 - digits.len()));
        u64::from_str_radix(&filled, 16).ok()
    };
    Some((number("0")?, number("f")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bodies_are_split_and_put_together() {
        let body = "a\"\n漢\\ ".repeat(500);
        let record = ServiceRecord {
            id: "x".to_owned(),
            born: Some(7),
            keys: Some(SearchKeys::default()),
            body: body.clone(),
        };
        let records = split(record.clone(), 300).unwrap();
        assert!(records.len() > 5);
        let lengths = records.iter().map(|one| encode(&one.body).unwrap().len());
        assert!(lengths.max().unwrap() <= 300);
        let (last, others) = records.split_last().unwrap();
        assert_eq!((last.id.as_str(), &last.keys), ("x", &record.keys));
        let (parts, beginning) = parts_of(&last.body).unwrap();
        assert_eq!(parts, others.len());
        let rest = others.iter().enumerate().map(|(at, one)| {
            assert_eq!((&one.id, one.born), (&part_id("x", at + 1), Some(7)));
            one.body.as_str()
        });
        let whole: String = std::iter::once(beginning).chain(rest).collect();
        assert_eq!(whole, body);
        assert_eq!(split(record.clone(), 100_000).unwrap(), [record]);
        for bad in ["+", "+x\n", "+0\n", "+99999999\n", "+1"] {
            assert_eq!(parts_of(bad), Err(damaged()), "{bad:?}");
        }
    }

    #[test]
    fn ids_of_chunks_are_read_back() {
        let version = Version {
            generation: 3,
            run: u64::MAX,
        };
        let id = version.chunk(18, 255);
        assert_eq!(id, "00000003/ffffffffffffffff/c/12/ff");
        assert_eq!(parse_chunk_id(&id), Some((version, 18, 255)));
        for other in [part_id(&id, 1), version.terms(1), "head".to_owned()] {
            assert_eq!(parse_chunk_id(&other), None);
        }
    }

    #[test]
    fn digests_are_found_by_their_first_digits() {
        let digest = Digest::of(b"text");
        let bits = first_bits(&digest);
        let digits = digest.to_string();
        for length in [0, 1, 5, 12, 16, 64] {
            let (first, last) = digest_range(&digits[..length]).unwrap();
            assert!((first..=last).contains(&bits), "{length}");
        }
        for digits in ["0A", "g", "\u{e9}", "'; DROP TABLE", &"0".repeat(65)] {
            assert_eq!(digest_range(digits), None);
        }
    }

    #[test]
    fn vectors_are_sent_with_few_digits() {
        let vector: Vec<i8> = (0..256).map(|at| (at % 15) as i8 - 7).collect();
        let unit = unit(&vector);
        let sent = decimals(&unit);
        assert!(encode(&sent).unwrap().len() <= 256 * 13);
        for (one, other) in sent.iter().zip(unit) {
            assert!((one - f64::from(other)).abs() < 1e-8);
        }
    }

    #[test]
    fn bodies_that_others_wrote_are_refused() {
        let good = ChunkBody {
            path: "a.md".to_owned(),
            of: Digest::of(b"a").to_string(),
            span: [1, 2],
            line: 1,
            digest: Digest::of(b"b").to_string(),
            headings: Vec::new(),
            lengths: [0; 3],
            words: String::new(),
            vector: BASE64_STANDARD.encode([7_u8, 249]),
        };
        assert!(good.clone().stored().is_ok());
        let changes: [fn(&mut ChunkBody); 6] = [
            |body| body.path = "../../etc/passwd".to_owned(),
            |body| body.of = "x".to_owned(),
            |body| body.digest.truncate(10),
            |body| body.span = [2, 1],
            |body| body.words = "?".to_owned(),
            |body| body.vector = BASE64_STANDARD.encode([8_u8]),
        ];
        for change in changes {
            let mut body = good.clone();
            change(&mut body);
            assert_eq!(body.clone().stored().err(), Some(damaged()), "{body:?}");
        }
    }
}
