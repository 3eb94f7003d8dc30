//! Posting lists and positions of a file, in few bits.
//!
//! A list begins with the number of its passages. Then follow, for each, the distance from the last one (its lower bits
//! plain, the rest in unary: how many are lower follows from the distances before it, because a word that was just used
//! is often used again), and one bit that says that the body has the term once and nothing else does; otherwise what
//! has it, and how often. Positions are only stored for words in
//! bodies, each in as many bits as the longest position in that body needs. Where a list begins is found from lengths,
//! and from sums of these for every few lists.

use super::{
    collect::Occurrence,
    field::{Field, Lengths, field_of, number_in_field},
    terms::{NO_PLACES, TermCount},
};
use crate::{
    bits::{BitReader, BitWriter},
    bytes::{Bytes, LazyBytes},
    container::{Container, FormatError, Name, u32_at},
    varint::{self, Numbers},
};

const SUMS: Name = *b"sums    ";
const SIZES: Name = *b"sizes   ";
const LISTS: Name = *b"lists   ";
const PLACES: Name = *b"places  ";

/// Lists that share a sum.
const TOGETHER: usize = 32;
/// Numbers of a sum: offsets among the lengths, the lists and the positions.
const SUM: usize = 3;

/// A moving average of distances, which says how many bits of the next one are plain.
struct AverageDistance(u64);

impl AverageDistance {
    /// Fractional bits.
    const DIGITS: u32 = 4;

    /// Starts a list of `length` among `passages`.
    fn new(passages: usize, length: usize) -> Self {
        Self(((passages as u64) << Self::DIGITS) / (length as u64).max(1))
    }

    #[inline(always)]
    fn low_bits(&self) -> u32 {
        // Seven tenths of the average, as for a geometric distribution.
        let most = (self.0 * 11) >> (4 + Self::DIGITS);
        most.max(1).ilog2().min(24)
    }

    #[inline(always)]
    fn add(&mut self, distance: u32) {
        self.0 = self.0 - (self.0 >> 3) + ((u64::from(distance) << Self::DIGITS) >> 3);
    }
}

/// Returns the bits of a position in a body of this length.
#[inline(always)]
fn place_bits(length: u32) -> u32 {
    u32::BITS - length.saturating_sub(1).leading_zeros()
}

/// Writes posting lists.
pub(super) struct ListWriter<'l> {
    lengths: &'l [Lengths],
    sums: Vec<u8>,
    sizes: Vec<u8>,
    lists: BitWriter,
    places: BitWriter,
    count: usize,
}

impl<'l> ListWriter<'l> {
    /// Starts the lists of passages with these lengths.
    pub(super) fn new(lengths: &'l [Lengths]) -> Self {
        Self {
            lengths,
            sums: Vec::new(),
            sizes: Vec::new(),
            lists: BitWriter::default(),
            places: BitWriter::default(),
            count: 0,
        }
    }

    /// Adds a list, with positions or without.
    pub(super) fn add(&mut self, occurrences: &[Occurrence], has_places: bool) {
        let starts = [
            self.sizes.len(),
            self.lists.bytes.len(),
            self.places.bytes.len(),
        ];
        if self.count.is_multiple_of(TOGETHER) {
            let starts = starts.map(|start| u32::try_from(start).unwrap_or(u32::MAX));
            self.sums
                .extend(starts.iter().flat_map(|start| start.to_le_bytes()));
        }
        self.count += 1;
        let by_passage = || occurrences.chunk_by(|one, next| one.passage == next.passage);
        let length = by_passage().count();
        let mut average = AverageDistance::new(self.lengths.len(), length);
        self.lists.gamma(u32::try_from(length).unwrap_or(u32::MAX));
        let mut next = 0;
        for together in by_passage() {
            let counted = TermCount::of(together);
            let distance = counted.passage - next;
            self.lists.rice(distance, average.low_bits());
            average.add(distance);
            next = counted.passage + 1;
            self.counts(&counted.counts);
            if has_places {
                self.places(counted.passage, together);
            }
        }
        self.lists.align();
        self.places.align();
        let size = |end: usize, start: usize| u32::try_from(end - start).unwrap_or(u32::MAX);
        let list = size(self.lists.bytes.len(), starts[1]);
        varint::write(&mut self.sizes, list);
        if has_places {
            let places = size(self.places.bytes.len(), starts[2]);
            varint::write(&mut self.sizes, places);
        }
    }

    fn counts(&mut self, counts: &Lengths) {
        let [heading, trail, body] = *counts;
        let is_simple = *counts == [0, 0, 1];
        self.lists.write(u32::from(is_simple), 1);
        if is_simple {
            return;
        }
        self.lists
            .write(u32::from(heading > 0) | u32::from(trail > 0) << 1, 2);
        self.lists.gamma(body.saturating_add(1));
        for count in [heading, trail] {
            if count > 0 {
                self.lists.gamma(count);
            }
        }
    }

    fn places(&mut self, passage: u32, together: &[Occurrence]) {
        let bits = place_bits(body_length(self.lengths, passage));
        for one in together {
            if field_of(one.place) == Field::Body as usize {
                self.places.write(number_in_field(one.place), bits);
            }
        }
    }

    /// Returns the parts of the file.
    pub(super) fn finish(self) -> Vec<(Name, Vec<u8>)> {
        vec![
            (SUMS, self.sums),
            (SIZES, self.sizes),
            (LISTS, self.lists.bytes),
            (PLACES, self.places.bytes),
        ]
    }
}

fn body_length(lengths: &[Lengths], passage: u32) -> u32 {
    let lengths = lengths.get(passage as usize);
    lengths.map_or(0, |lengths| lengths[Field::Body as usize])
}

/// The posting lists of an open file.
#[derive(Debug)]
pub(super) struct Lists {
    sums: Bytes,
    sizes: Bytes,
    lists: LazyBytes,
    places: LazyBytes,
    /// Number of lists that have positions. They come first.
    words: usize,
}

impl Lists {
    /// Opens the lists of a file with this many words.
    pub(super) fn open(container: &Container, words: usize) -> Result<Self, FormatError> {
        Ok(Self {
            words,
            sums: container.part(&SUMS)?,
            sizes: container.part(&SIZES)?,
            lists: container.stretch(&LISTS)?,
            places: container.stretch(&PLACES)?,
        })
    }

    /// Returns whether a read found that lists or positions have changed since the file was opened.
    pub(super) fn is_damaged(&self) -> bool {
        self.lists.is_damaged() || self.places.is_damaged()
    }

    /// Re-reads lists and positions; returns whether they are unchanged since the file was opened.
    pub(super) fn is_whole(&self) -> bool {
        self.lists.is_whole() && self.places.is_whole()
    }

    /// Returns where a list begins and ends, and where its positions begin.
    fn find(&self, number: usize) -> Option<(usize, usize, usize)> {
        let sums = self.sums.as_ref();
        let sum = |at: usize| Some(u32_at(sums, number / TOGETHER * SUM + at)? as usize);
        let mut sizes = Numbers::new(self.sizes.as_ref().get(sum(0)?..)?);
        let (mut list, mut places) = (sum(1)?, sum(2)?);
        for before in number / TOGETHER * TOGETHER..number {
            list = list.checked_add(sizes.next()? as usize)?;
            if before < self.words {
                places = places.checked_add(sizes.next()? as usize)?;
            }
        }
        Some((list, list.checked_add(sizes.next()? as usize)?, places))
    }

    /// Calls `take` for every passage with the term of this number, in order, at most once each.
    #[inline]
    pub(super) fn each(&self, number: usize, lengths: &[Lengths], mut take: impl FnMut(TermCount)) {
        let found = self.find(number);
        let read = found.and_then(|(start, end, places)| {
            Some((self.lists.read(start..end)?, places.checked_mul(8)?))
        });
        let Some((list, first_place)) = read else {
            return;
        };
        let mut first_place = u32::try_from(first_place).unwrap_or(NO_PLACES);
        let mut reader = BitReader::new(&list, 0);
        let length = reader.gamma() as usize;
        let mut average = AverageDistance::new(lengths.len(), length);
        let mut next = 0_u32;
        for _ in 0..length {
            if reader.is_at_end() {
                return;
            }
            let distance = reader.rice(average.low_bits());
            average.add(distance);
            let passage = next.saturating_add(distance);
            let Some(here) = lengths.get(passage as usize) else {
                return;
            };
            next = passage + 1;
            let counts = match reader.read(1) {
                1 => [0, 0, 1],
                _ => counts(&mut reader),
            };
            let body = counts[Field::Body as usize];
            let is_placed = number < self.words && body > 0 && first_place != NO_PLACES;
            take(TermCount {
                passage,
                counts,
                first_place: if is_placed { first_place } else { NO_PLACES },
                places: if is_placed { body } else { 0 },
            });
            let bits = place_bits(here[Field::Body as usize]);
            first_place = first_place.saturating_add(bits.saturating_mul(body));
        }
    }

    /// Reads `count` positions in a body of this length, which start at the bit `first_place`.
    pub(super) fn places(&self, first_place: u32, count: u32, length: u32) -> Vec<u32> {
        let (start, bits) = (first_place as usize, place_bits(length));
        // A body does not have more words than it is long, whatever a list says.
        let count = count.min(length);
        let end = start.saturating_add(bits as usize * count as usize);
        let Some(bytes) = self.places.read(start / 8..end.div_ceil(8)) else {
            return Vec::new();
        };
        let mut reader = BitReader::new(&bytes, start % 8);
        (0..count).map(|_| reader.read(bits)).collect()
    }
}

/// Reads how often the fields have a term, unless that is once in the body.
fn counts(reader: &mut BitReader<'_>) -> Lengths {
    let flags = reader.read(2);
    let body = reader.gamma() - 1;
    let heading = if flags & 1 == 0 { 0 } else { reader.gamma() };
    let trail = if flags & 2 == 0 { 0 } else { reader.gamma() };
    [heading, trail, body]
}
