//! Vectors and posting lists of large collections, in memory: candidates are selected here, and only their rows are fetched.
//!
//! Chunk numbers are never used twice and lists only grow until they are compacted, so what was read stays right. A search
//! reads what is newer in its own snapshot: the chunks and list rows that were added, and the tombstones of those removed.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use sectile_retrieval::PackedVectors;
use tokio_postgres::{
    Row,
    types::{FromSql, ToSql, Type},
};

use super::{
    failure::PostgresFailure,
    rows::damaged,
    search::{ReadTransaction, SecondTierRows},
    terms::hash_of_row,
};

/// The number of chunks whose vectors are read at a time, some 5 MB. Twice as many are not faster.
const PAGE: i64 = 8_192;
/// A block with fewer chunks than this is copied when others are added, so that edits do not make thousands of blocks.
const SMALL_BLOCK: usize = 4_096;
/// The bytes of a chunk beside its vector.
const CHUNK_BYTES: usize = size_of::<i32>();
/// The bytes of a posting, and those of a list without any.
const POSTING_BYTES: usize = size_of::<u32>() + size_of::<u16>();
const LIST_BYTES: usize = 128;

/// The share of the memory for lists that is filled with the longest ones when vectors are read: 16 MB by default, or the
/// lists of the hundred most frequent words of 100,000 chunks. A shorter list takes little longer than its round trip.
const READ_AHEAD: usize = 4;
/// The most words whose lists are read ahead.
const MOST_AHEAD: i64 = 2_000;
/// The number of postings that are read ahead at a time, some 4 MB.
const AHEAD_AT_ONCE: i64 = 250_000;

const VECTORS: &str =
    "SELECT id, vector FROM sectile.chunk WHERE collection = $1 AND id >= $2 ORDER BY id LIMIT $3";
const SECOND_VECTORS: &str = "SELECT c.id, m.vector FROM sectile.chunk c
    JOIN sectile.meaning m ON m.collection = $4 AND m.model = $5 AND m.key = c.key
    WHERE c.collection = $1 AND c.id >= $2 ORDER BY c.id LIMIT $3";
const TOMBSTONES: &str =
    "SELECT chunk, revision FROM sectile.tombstone WHERE collection = $1 AND revision > $2";
const LISTS: &str = "SELECT k.number, p.chunks, p.weights FROM unnest($2::int8[], $3::int4[], $4::int4[]) AS k (hash, number, block)
    JOIN sectile.posting p ON p.collection = $1 AND p.hash = k.hash AND p.block >= k.block
    ORDER BY k.number, p.block";

const FREQUENT: &str = "SELECT kind, term, chunks FROM sectile.term WHERE collection = $1 ORDER BY chunks DESC LIMIT $2";

/// The cached parts of collections, within a limit of bytes.
pub(super) struct CandidateCache {
    most_bytes: usize,
    contents: Mutex<CacheContents>,
    /// Held while vectors are read, so that searches that start together read them once.
    reading: tokio::sync::Mutex<()>,
    /// The number of times that all vectors of a collection were read.
    loads: AtomicU64,
}

#[derive(Default)]
struct CacheContents {
    /// Most recently used last.
    chunks: Vec<Arc<CachedChunks>>,
    lists: HashMap<(u64, i64), UsedList>,
    list_bytes: usize,
    /// Counts uses of lists.
    clock: u64,
}

struct UsedList {
    list: Arc<CachedList>,
    used: u64,
}

/// The collection and the tier whose vectors are cached.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CacheKey {
    collection: i64,
    model: Option<Vec<u8>>,
}

/// The chunks of a collection at one revision. A chunk is known by its slot: its place among those that were read, in the
/// order of their numbers.
pub(super) struct CachedChunks {
    /// Changes when slots do.
    load: u64,
    key: CacheKey,
    dimensions: usize,
    /// The revision at which all chunks were read, and the one up to which changes were added.
    since: i64,
    revision: i64,
    next_chunk: i32,
    blocks: Vec<Arc<ChunkBlock>>,
    /// The slots of removed chunks, and the revision without them.
    removed: Vec<(u32, i64)>,
}

/// Neighbouring slots.
struct ChunkBlock {
    first_slot: usize,
    ids: Vec<i32>,
    vectors: PackedVectors,
}

/// A posting list by slots, in order.
pub(super) struct CachedList {
    slots: Vec<u32>,
    weights: Vec<u16>,
    /// The first block that was not read.
    next_block: i32,
}

/// A vector of small integers as the database sends it.
struct CoarseVector(Vec<i8>);

impl<'a> FromSql<'a> for CoarseVector {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        // The number of dimensions, two unused bytes, and the numbers.
        let (_, numbers) = raw.split_at_checked(4).ok_or("too short")?;
        let (numbers, _) = numbers.as_chunks::<2>();
        let number = |bytes: &[u8; 2]| small_integer(u16::from_be_bytes(*bytes));
        let numbers: Option<Vec<i8>> = numbers.iter().map(number).collect();
        Ok(Self(numbers.ok_or("not a small integer")?))
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "halfvec"
    }
}

/// The elements of an array as the database sends it, of `N` bytes each. Reading them one by one as values of their type takes
/// twice as long.
struct FlatArray<'a, const N: usize>(&'a [u8]);

impl<'a, const N: usize> FlatArray<'a, N> {
    fn elements(&self) -> impl ExactSizeIterator<Item = [u8; N]> + use<'a, N> {
        let length = size_of::<i32>();
        let elements = self.0.chunks_exact(length + N);
        elements.map(move |element| {
            let mut value = [0; N];
            value.copy_from_slice(&element[length..]);
            value
        })
    }
}

impl<'a, const N: usize> FromSql<'a> for FlatArray<'a, N> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        // The number of dimensions, whether there are nulls, the type, the length and the first number of the dimension.
        let (head, rest) = raw.split_at_checked(12).ok_or("too short")?;
        let elements = match head[..4] {
            [0, 0, 0, 0] => rest,
            [0, 0, 0, 1] => rest.get(8..).ok_or("too short")?,
            _ => return Err("several dimensions".into()),
        };
        let length = u32::try_from(N)?.to_be_bytes();
        let mut all = elements.chunks_exact(length.len() + N);
        let is_plain = all.all(|element| element.starts_with(&length));
        match is_plain && elements.len().is_multiple_of(length.len() + N) {
            true => Ok(Self(elements)),
            false => Err("a null".into()),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!((kind, N), (&Type::INT4_ARRAY, 4) | (&Type::INT2_ARRAY, 2))
    }
}

/// Returns the integer from -7 to 7 that is this number in half precision, if it is one.
fn small_integer(bits: u16) -> Option<i8> {
    let size = match bits & 0x7fff {
        0 => 0,
        0x3c00 => 1,
        0x4000 => 2,
        0x4200 => 3,
        0x4400 => 4,
        0x4500 => 5,
        0x4600 => 6,
        0x4700 => 7,
        _ => return None,
    };
    Some(if bits >> 15 == 0 { size } else { -size })
}

/// Returns whether this many chunks with vectors of these dimensions are cached: half of the memory is for lists.
pub(super) fn is_cached(most_bytes: usize, chunks: i64, dimensions: usize) -> bool {
    let each = PackedVectors::bytes_each(dimensions) + CHUNK_BYTES;
    let chunks = usize::try_from(chunks).unwrap_or_default();
    chunks.saturating_mul(each) <= most_bytes / 2
}

impl CandidateCache {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            contents: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
            loads: AtomicU64::default(),
        }
    }

    /// Returns the chunks in the snapshot of a transaction, with their vectors in the tier that answers. Returns `None` if
    /// there are too many, or if the cached ones are newer than the snapshot and do not tell what it contains.
    pub(super) async fn chunks(
        &self,
        reading: &ReadTransaction,
        second: Option<&SecondTierRows>,
        dimensions: usize,
    ) -> Result<Option<Arc<CachedChunks>>, PostgresFailure> {
        let row = &reading.collection;
        if !is_cached(self.most_bytes, row.chunks, dimensions) {
            return Ok(None);
        }
        let key = CacheKey {
            collection: row.id,
            model: second.map(|second| second.model.clone()),
        };
        if let Some(known) = self.known(&key)
            && known.revision >= row.revision
        {
            return Ok((known.since <= row.revision).then_some(known));
        }
        let _reading = self.reading.lock().await;
        let known = self.known(&key);
        if let Some(known) = &known
            && known.revision >= row.revision
        {
            return Ok((known.since <= row.revision).then(|| Arc::clone(known)));
        }
        reading.plan_for_values().await?;
        // Lists that were compacted since then have lost removed chunks that the cached ones do not know of.
        let usable = known.filter(|known| known.revision >= row.compacted);
        let is_new = usable.is_none();
        let mut chunks = match usable {
            Some(known) => known.next(reading).await?,
            None => CachedChunks {
                load: self.loads.fetch_add(1, Ordering::Relaxed),
                key,
                dimensions,
                since: row.revision,
                revision: row.revision,
                next_chunk: 0,
                blocks: Vec::new(),
                removed: Vec::new(),
            },
        };
        if !chunks.read(reading, second, self.most_bytes / 2).await? {
            return Ok(None);
        }
        let chunks = Arc::new(chunks);
        self.keep(&chunks);
        if is_new {
            self.read_ahead(reading, &chunks).await?;
        }
        Ok(Some(chunks))
    }

    /// Reads the longest lists, so that the first search with a frequent word does not take much longer than the next. What
    /// is in memory already stays.
    async fn read_ahead(
        &self,
        reading: &ReadTransaction,
        chunks: &CachedChunks,
    ) -> Result<(), PostgresFailure> {
        let lists = self.most_bytes / 2;
        let free = lists.saturating_sub(self.contents.lock().list_bytes);
        let mut left = i64::try_from(free.min(lists / READ_AHEAD)).unwrap_or(i64::MAX);
        let rows = reading
            .query(FREQUENT, &[&reading.collection.id, &MOST_AHEAD])
            .await?;
        let (mut hashes, mut postings) = (Vec::new(), 0);
        for row in &rows {
            let count: i64 = row.try_get("chunks")?;
            left = left.saturating_sub(count.saturating_mul(POSTING_BYTES as i64));
            if left < 0 {
                break;
            }
            hashes.extend(hash_of_row(row.try_get("kind")?, row.try_get("term")?));
            postings += count;
            if postings >= AHEAD_AT_ONCE {
                self.read_lists(reading, chunks, &hashes).await?;
                hashes.clear();
                postings = 0;
            }
        }
        // A damaged list is reported to a search that needs it.
        self.read_lists(reading, chunks, &hashes).await?;
        Ok(())
    }

    fn known(&self, key: &CacheKey) -> Option<Arc<CachedChunks>> {
        let mut contents = self.contents.lock();
        let at = contents.chunks.iter().position(|one| one.key == *key)?;
        let found = contents.chunks.remove(at);
        contents.chunks.push(Arc::clone(&found));
        Some(found)
    }

    fn keep(&self, chunks: &Arc<CachedChunks>) {
        let mut contents = self.contents.lock();
        contents.chunks.retain(|one| one.key != chunks.key);
        contents.chunks.push(Arc::clone(chunks));
        let bytes = |all: &[Arc<CachedChunks>]| all.iter().map(|one| one.bytes()).sum::<usize>();
        while contents.chunks.len() > 1 && bytes(&contents.chunks) > self.most_bytes / 2 {
            contents.chunks.remove(0);
        }
        let loads: Vec<u64> = contents.chunks.iter().map(|one| one.load).collect();
        contents.lists.retain(|(load, _), _| loads.contains(load));
        contents.list_bytes = contents.lists.values().map(|one| one.list.bytes()).sum();
    }

    /// Returns the lists of these hashes in the snapshot of a transaction, in the same order.
    pub(super) async fn lists(
        &self,
        reading: &ReadTransaction,
        chunks: &CachedChunks,
        hashes: &[i64],
    ) -> Result<Vec<Arc<CachedList>>, PostgresFailure> {
        let lists = self.read_lists(reading, chunks, hashes).await?;
        lists.into_iter().collect()
    }

    /// Returns each of these lists, or says what is wrong with it.
    async fn read_lists(
        &self,
        reading: &ReadTransaction,
        chunks: &CachedChunks,
        hashes: &[i64],
    ) -> Result<Vec<Result<Arc<CachedList>, PostgresFailure>>, PostgresFailure> {
        let row = &reading.collection;
        let lists: Vec<Arc<CachedList>> = {
            let mut contents = self.contents.lock();
            contents.clock += 1;
            let used = contents.clock;
            let known = hashes.iter().map(|hash| {
                let known = contents.lists.get_mut(&(chunks.load, *hash))?;
                known.used = used;
                Some(Arc::clone(&known.list))
            });
            known.map(Option::unwrap_or_default).collect()
        };
        let stale: Vec<usize> = (0..lists.len())
            .filter(|number| lists[*number].next_block < row.next_block)
            .collect();
        let mut found: Vec<_> = lists.iter().map(|list| Ok(Arc::clone(list))).collect();
        if stale.is_empty() {
            return Ok(found);
        }
        let wanted: Vec<i64> = stale.iter().map(|number| hashes[*number]).collect();
        let numbers: Vec<i32> = (0..).take(stale.len()).collect();
        let blocks: Vec<i32> = stale.iter().map(|at| lists[*at].next_block).collect();
        let rows = reading
            .query(LISTS, &[&row.id, &wanted, &numbers, &blocks])
            .await?;
        let mut longer: Vec<Result<CachedList, PostgresFailure>> = stale
            .iter()
            .map(|number| {
                Ok(CachedList {
                    slots: lists[*number].slots.clone(),
                    weights: lists[*number].weights.clone(),
                    next_block: row.next_block,
                })
            })
            .collect();
        for row in &rows {
            let number = usize::try_from(row.try_get::<_, i32>("number")?).ok();
            let list = number.and_then(|number| longer.get_mut(number));
            let list = list.ok_or_else(damaged)?;
            if let Ok(known) = list
                && let Err(failure) = known.extend(row, chunks)
            {
                *list = Err(failure);
            }
        }
        for (number, list) in stale.into_iter().zip(longer) {
            found[number] = list.map(Arc::new);
            if let Ok(list) = &found[number] {
                self.keep_list((chunks.load, hashes[number]), list);
            }
        }
        Ok(found)
    }

    fn keep_list(&self, key: (u64, i64), list: &Arc<CachedList>) {
        let mut contents = self.contents.lock();
        if !contents.chunks.iter().any(|one| one.load == key.0) {
            return;
        }
        let used = contents.clock;
        let list = Arc::clone(list);
        contents.list_bytes += list.bytes();
        if let Some(before) = contents.lists.insert(key, UsedList { list, used }) {
            contents.list_bytes -= before.list.bytes();
        }
        if contents.list_bytes > self.most_bytes / 2 {
            contents.drop_lists(self.most_bytes / 8 * 3);
        }
    }
}

impl CacheContents {
    /// Drops the lists that were not used for the longest time, until at most this many bytes are left.
    fn drop_lists(&mut self, most_bytes: usize) {
        let mut uses: Vec<(u64, (u64, i64))> = self
            .lists
            .iter()
            .map(|(key, one)| (one.used, *key))
            .collect();
        uses.sort_unstable();
        for (_, key) in uses {
            if self.list_bytes <= most_bytes {
                break;
            }
            if let Some(dropped) = self.lists.remove(&key) {
                self.list_bytes -= dropped.list.bytes();
            }
        }
    }
}

impl CachedChunks {
    /// Returns what is still right at the revision of a later snapshot. Chunks that were added are missing.
    async fn next(&self, reading: &ReadTransaction) -> Result<Self, PostgresFailure> {
        let row = &reading.collection;
        let mut removed = self.removed.clone();
        let parameters: [&(dyn ToSql + Sync); 2] = [&row.id, &self.revision];
        for tombstone in reading.query(TOMBSTONES, &parameters).await? {
            // One that was added and removed since then was never seen.
            if let Some(slot) = self.slot_of(tombstone.try_get("chunk")?) {
                removed.push((slot, tombstone.try_get("revision")?));
            }
        }
        Ok(Self {
            load: self.load,
            key: self.key.clone(),
            dimensions: self.dimensions,
            since: self.since,
            revision: row.revision,
            next_chunk: self.next_chunk,
            blocks: self.blocks.clone(),
            removed,
        })
    }

    /// Reads the chunks that are missing. Returns `false` if they take more than `most_bytes`.
    async fn read(
        &mut self,
        reading: &ReadTransaction,
        second: Option<&SecondTierRows>,
        most_bytes: usize,
    ) -> Result<bool, PostgresFailure> {
        let row = &reading.collection;
        while self.next_chunk < row.next_chunk {
            let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&row.id, &self.next_chunk, &PAGE];
            let statement = match second {
                None => VECTORS,
                Some(second) => {
                    parameters.extend([&second.collection as &(dyn ToSql + Sync), &second.model]);
                    SECOND_VECTORS
                }
            };
            let rows = reading.query(statement, &parameters).await?;
            let is_last = rows.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
            if !rows.is_empty() {
                self.add(&rows)?;
            }
            if self.bytes() > most_bytes {
                return Ok(false);
            }
            if is_last {
                self.next_chunk = row.next_chunk;
            }
        }
        Ok(true)
    }

    /// Adds a page of chunks.
    fn add(&mut self, rows: &[Row]) -> Result<(), PostgresFailure> {
        let mut block = ChunkBlock {
            first_slot: self.len(),
            ids: Vec::with_capacity(rows.len()),
            vectors: PackedVectors::new(self.dimensions),
        };
        if let Some(last) = self.blocks.pop_if(|last| last.ids.len() < SMALL_BLOCK) {
            block.first_slot = last.first_slot;
            block.ids.extend_from_slice(&last.ids);
            block.vectors.append(&last.vectors);
        }
        for row in rows {
            let id: i32 = row.try_get("id")?;
            let CoarseVector(vector) = row.try_get("vector").map_err(|_| damaged())?;
            let is_next = id >= self.next_chunk;
            if !is_next || !block.vectors.push(&vector) {
                return Err(damaged());
            }
            block.ids.push(id);
            self.next_chunk = id.checked_add(1).ok_or_else(damaged)?;
        }
        self.blocks.push(Arc::new(block));
        Ok(())
    }

    /// Returns the number of slots.
    pub(super) fn len(&self) -> usize {
        let last = self.blocks.last();
        last.map_or(0, |last| last.first_slot + last.ids.len())
    }

    fn bytes(&self) -> usize {
        self.len() * (PackedVectors::bytes_each(self.dimensions) + CHUNK_BYTES)
    }

    /// Returns the slot of a chunk, if it was there when chunks were read.
    fn slot_of(&self, id: i32) -> Option<u32> {
        let behind = self
            .blocks
            .partition_point(|block| block.ids.first() <= Some(&id));
        let block = &self.blocks[behind.checked_sub(1)?];
        // Most often there are no gaps.
        let first = *block.ids.first()?;
        let guess = usize::try_from(id - first).ok()?;
        let at = match block.ids.get(guess) {
            Some(there) if *there == id => guess,
            _ => block.ids.binary_search(&id).ok()?,
        };
        u32::try_from(block.first_slot + at).ok()
    }

    fn block_of(&self, slot: usize) -> Option<(&ChunkBlock, usize)> {
        let behind = self
            .blocks
            .partition_point(|block| block.first_slot <= slot);
        let block = self.blocks.get(behind.checked_sub(1)?)?;
        Some((block, slot - block.first_slot))
    }

    /// Returns the number of the chunk in a slot.
    pub(super) fn id_of(&self, slot: usize) -> Option<i32> {
        let (block, at) = self.block_of(slot)?;
        block.ids.get(at).copied()
    }

    /// Returns the vector of a chunk.
    pub(super) fn vector_of(&self, id: i32) -> Option<Vec<i8>> {
        let slot = self.slot_of(id)?;
        let (block, at) = self.block_of(slot as usize)?;
        block.vectors.get(at)
    }

    /// Returns the number of slots whose chunks were added before `next_chunk`.
    pub(super) fn len_before(&self, next_chunk: i32) -> usize {
        let mut length = self.len();
        for block in self.blocks.iter().rev() {
            let before = block.ids.partition_point(|id| *id < next_chunk);
            length = block.first_slot + before;
            if before > 0 {
                break;
            }
        }
        length
    }

    /// Returns the slots of the chunks that a revision does not have.
    pub(super) fn removed_at(&self, revision: i64) -> impl Iterator<Item = usize> {
        let removed = self.removed.iter();
        let removed = removed.filter(move |(_, since)| *since <= revision);
        removed.map(|(slot, _)| *slot as usize)
    }

    /// Computes how near each chunk is to `query`, in millionths, as far as there is room in `found`.
    pub(super) fn compare(&self, query: &[i8], found: &mut [u32]) {
        for block in &self.blocks {
            let end = found.len().min(block.first_slot + block.ids.len());
            if let Some(found) = found.get_mut(block.first_slot..end) {
                block.vectors.compare(query, found);
            }
        }
    }
}

impl Default for CachedList {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            weights: Vec::new(),
            next_block: -1,
        }
    }
}

impl CachedList {
    /// Adds the part of the list in one block.
    fn extend(&mut self, row: &Row, chunks: &CachedChunks) -> Result<(), PostgresFailure> {
        let ids: FlatArray<'_, 4> = row.try_get("chunks").map_err(|_| damaged())?;
        let weights: FlatArray<'_, 2> = row.try_get("weights").map_err(|_| damaged())?;
        let (ids, weights) = (ids.elements(), weights.elements());
        if ids.len() != weights.len() {
            return Err(damaged());
        }
        self.slots.reserve(ids.len());
        self.weights.reserve(ids.len());
        for (id, weight) in ids.zip(weights) {
            // A chunk that was removed before the others were read has no slot.
            if let Some(slot) = chunks.slot_of(i32::from_be_bytes(id)) {
                self.slots.push(slot);
                let weight = i16::from_be_bytes(weight);
                self.weights.push(u16::try_from(weight).unwrap_or_default());
            }
        }
        // A chunk is in a list once.
        if self.slots.len() > chunks.len() {
            return Err(damaged());
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        LIST_BYTES + self.slots.len() * POSTING_BYTES
    }

    /// Returns the slots with their weights.
    pub(super) fn postings(&self) -> impl Iterator<Item = (usize, u32)> {
        let weights = self.weights.iter().map(|weight| u32::from(*weight));
        self.slots.iter().map(|slot| *slot as usize).zip(weights)
    }
}
