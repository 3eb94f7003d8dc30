//! The words of a segment, in the form of a file.
//!
//! Parts: three dictionaries (words, names, stems), the start of each posting list, the lists, the positions, and the
//! lengths of the passages. A stem with one word shares the list of that word, any other has a list of its own. A list
//! is a sequence of records: the distance from the last passage, the number of occurrences in the body with two bits
//! for whether heading and trail have any, the numbers of those, and the length of its positions in bytes.

use fst::Map;

use super::{
    Passage,
    collect::{Occurrence, TermCollector},
    field::{FIELDS, Lengths, field_of, place},
    terms::{NO_PLACES, TermCount},
};
use crate::{
    bytes::{Bytes, LazyBytes},
    container::{Container, FormatError, Name, u32_at},
    table::Texts,
    varint::{self, Numbers},
};

const WORDS: Name = *b"words   ";
const NAMES: Name = *b"names   ";
const STEMS: Name = *b"stems   ";
const STARTS: Name = *b"starts  ";
const LISTS: Name = *b"lists   ";
const PLACES: Name = *b"places  ";
const LENGTHS: Name = *b"lengths ";

/// Most words are so rare in a passage that their positions fit into this many bytes.
const FEW_PLACES: usize = 64;

/// Builds the words of a file.
#[derive(Default)]
pub(crate) struct LexicalBuilder(TermCollector);

impl LexicalBuilder {
    pub(crate) fn add(&mut self, passage: &Passage<'_>) {
        self.0.add(passage);
    }

    /// Returns the parts of the file.
    pub(crate) fn finish(self) -> Vec<(Name, Vec<u8>)> {
        let collected = self.0;
        let by_term = collected.by_term();
        let all = 0..collected.terms.len();
        let (words, names): (Vec<usize>, Vec<usize>) =
            all.partition(|number| collected.is_word(*number as u32));
        let (words, names) = (
            sorted(&collected.terms, words),
            sorted(&collected.terms, names),
        );
        let stems = sorted(
            &collected.stem_texts,
            (0..collected.stem_texts.len()).collect(),
        );
        // Terms are numbered alphabetically in a file, names after words.
        let mut new_numbers = vec![0_u32; collected.terms.len()];
        let mut lists = PostingListWriter::default();
        for (new, (_, old)) in (0..).zip(words.iter().chain(&names)) {
            new_numbers[*old as usize] = new;
            lists.begin();
            let occurrences = by_term.of(*old);
            for together in occurrences.chunk_by(|one, next| one.passage == next.passage) {
                let is_word = (new as usize) < words.len();
                lists.add(&TermCount::of(together), is_word.then_some(together));
            }
        }
        let forms = collected.forms();
        let mut merged = Vec::new();
        let mut list_of_stem = Vec::with_capacity(stems.len());
        for (stem, old) in &stems {
            let list = match forms.of(*old) {
                [one] => new_numbers[*one as usize] as usize,
                several => {
                    by_term.count(several, &mut merged);
                    let list = lists.begin();
                    merged.iter().for_each(|counted| lists.add(counted, None));
                    list
                }
            };
            list_of_stem.push((*stem, list as u64));
        }
        lists.begin();
        let PostingListWriter {
            starts,
            lists,
            places,
            ..
        } = lists;
        let lengths = collected.lengths.iter().flatten();
        let lengths = lengths.flat_map(|length| length.to_le_bytes()).collect();
        vec![
            (WORDS, dictionary(numbered(&words, 0))),
            (NAMES, dictionary(numbered(&names, words.len()))),
            (STEMS, dictionary(list_of_stem)),
            (STARTS, starts),
            (LISTS, lists),
            (PLACES, places),
            (LENGTHS, lengths),
        ]
    }
}

fn offset(at: usize) -> [u8; 4] {
    u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes()
}

/// Returns the strings with these numbers, sorted alphabetically.
fn sorted(texts: &Texts, numbers: Vec<usize>) -> Vec<(&str, u32)> {
    let mut sorted: Vec<(&str, u32)> = numbers
        .into_iter()
        .map(|number| (texts.get(number), number as u32))
        .collect();
    sorted.sort_unstable();
    sorted
}

/// Numbers the keys in order, starting at `first`.
fn numbered<'k>(sorted: &[(&'k str, u32)], first: usize) -> Vec<(&'k str, u64)> {
    let keys = sorted.iter().map(|(key, _)| *key);
    keys.zip(first as u64..).collect()
}

fn dictionary(sorted: Vec<(&str, u64)>) -> Vec<u8> {
    // They are sorted and distinct, which is all that is required of them.
    Map::from_iter(sorted)
        .map(|map| map.into_fst().into_inner())
        .unwrap_or_default()
}

/// Builds the posting lists of a file.
#[derive(Default)]
struct PostingListWriter {
    starts: Vec<u8>,
    lists: Vec<u8>,
    places: Vec<u8>,
    /// The last passage of the current list.
    last: u32,
}

impl PostingListWriter {
    /// Starts a list and returns its number.
    fn begin(&mut self) -> usize {
        let number = self.starts.len() / 8;
        self.starts.extend_from_slice(&offset(self.lists.len()));
        self.starts.extend_from_slice(&offset(self.places.len()));
        self.last = 0;
        number
    }

    fn add(&mut self, counted: &TermCount, places: Option<&[Occurrence]>) {
        let [heading, trail, body] = counted.counts;
        varint::write(&mut self.lists, counted.passage - self.last);
        self.last = counted.passage;
        let flags = u32::from(heading > 0) | u32::from(trail > 0) << 1;
        varint::write(&mut self.lists, body << 2 | flags);
        for count in [heading, trail] {
            if count > 0 {
                varint::write(&mut self.lists, count);
            }
        }
        let start = self.places.len();
        if let Some(together) = places {
            write_places(together, &mut self.places);
        }
        let length = self.places.len() - start;
        varint::write(&mut self.lists, u32::try_from(length).unwrap_or(u32::MAX));
    }
}

/// Writes the number of positions; then for each its field, and the distance from the previous one in that field.
fn write_places(together: &[Occurrence], places: &mut Vec<u8>) {
    varint::write(places, u32::try_from(together.len()).unwrap_or(u32::MAX));
    let mut last = FIELDS.map(|field| place(field, 0));
    for at in together.iter().map(|one| one.place) {
        let field = field_of(at);
        varint::write(places, (at - last[field]) << 2 | field as u32);
        last[field] = at;
    }
}

/// The words of an open file.
#[derive(Debug)]
pub(crate) struct LexicalSegment {
    words: Map<Bytes>,
    names: Map<Bytes>,
    stems: Map<Bytes>,
    starts: Bytes,
    lists: LazyBytes,
    places: LazyBytes,
    lengths: Vec<Lengths>,
    longest: Lengths,
}

impl LexicalSegment {
    /// Opens the words of a file.
    pub(crate) fn open(container: &Container) -> Result<Self, FormatError> {
        let dictionary = |name| Map::new(container.part(name)?).map_err(|_| FormatError::Damaged);
        let lengths = lengths(container.part(&LENGTHS)?.as_ref());
        let mut longest = [0; FIELDS.len()];
        for here in &lengths {
            for (longest, here) in longest.iter_mut().zip(here) {
                *longest = (*here).max(*longest);
            }
        }
        Ok(Self {
            lengths,
            longest,
            words: dictionary(&WORDS)?,
            names: dictionary(&NAMES)?,
            stems: dictionary(&STEMS)?,
            starts: container.part(&STARTS)?,
            lists: container.stretch(&LISTS)?,
            places: container.stretch(&PLACES)?,
        })
    }

    /// Returns whether a read found that lists or positions have changed since the file was opened.
    pub(crate) fn is_damaged(&self) -> bool {
        self.lists.is_damaged() || self.places.is_damaged()
    }

    /// Re-reads lists and positions; returns whether they are unchanged since the file was opened.
    pub(crate) fn is_whole(&self) -> bool {
        self.lists.is_whole() && self.places.is_whole()
    }

    /// Returns the number of passages.
    pub(crate) fn passages(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the length of each field of a passage.
    #[inline]
    pub(super) fn lengths(&self, passage: usize) -> Lengths {
        self.lengths.get(passage).copied().unwrap_or_default()
    }

    /// Returns the greatest length of each field.
    pub(super) fn longest(&self) -> Lengths {
        self.longest
    }

    /// Returns the dictionaries of words and of names.
    pub(super) fn dictionaries(&self) -> [&Map<Bytes>; 2] {
        [&self.words, &self.names]
    }

    /// Returns the numbers of a term: as a word, and as a name.
    pub(super) fn term(&self, term: &str) -> Vec<usize> {
        let numbers = self.dictionaries().map(|dictionary| dictionary.get(term));
        let numbers = numbers.into_iter().flatten();
        numbers
            .filter_map(|number| usize::try_from(number).ok())
            .collect()
    }

    /// Returns the number of the list of a stem.
    pub(super) fn stem(&self, stem: &str) -> Option<usize> {
        usize::try_from(self.stems.get(stem)?).ok()
    }

    /// Returns whether `word` is the only word with this stem, and is not also a name.
    pub(super) fn has_no_form_but(&self, stem: &str, word: &str) -> bool {
        self.stem(stem).is_none_or(|list| self.term(word) == [list])
    }

    /// Calls `take` for every passage with the term of this number, in order, at most once each.
    #[inline]
    pub(super) fn list(&self, number: usize, mut take: impl FnMut(TermCount)) {
        let read = || {
            let start = |at: usize| u32_at(self.starts.as_ref(), at);
            let range = start(number * 2)? as usize..start(number * 2 + 2)? as usize;
            Some((self.lists.read(range)?, start(number * 2 + 1)?))
        };
        let Some((list, mut first_place)) = read() else {
            return;
        };
        let mut numbers = Numbers::new(&list);
        let mut passage = 0_u32;
        let mut is_first = true;
        while !numbers.is_at_end() {
            let Some((distance, counts, place_bytes)) = record(&mut numbers) else {
                return;
            };
            if distance == 0 && !is_first {
                return;
            }
            is_first = false;
            passage = passage.saturating_add(distance);
            take(TermCount {
                passage,
                counts,
                first_place: if place_bytes == 0 {
                    NO_PLACES
                } else {
                    first_place
                },
            });
            first_place = first_place.saturating_add(place_bytes);
        }
    }

    /// Reads the positions that start at `first_place`.
    pub(super) fn places(&self, first_place: u32) -> Vec<u32> {
        let start = first_place as usize;
        let rest = self.places.len().saturating_sub(start);
        let mut length = rest.min(FEW_PLACES);
        loop {
            let Some(bytes) = self.places.read(start..start + length) else {
                return Vec::new();
            };
            let (places, is_complete) = read_places(&bytes);
            if is_complete || length == rest {
                return places;
            }
            length = rest.min(length * 8);
        }
    }
}

fn lengths(part: &[u8]) -> Vec<Lengths> {
    let (numbers, _) = part.as_chunks::<4>();
    let (passages, _) = numbers.as_chunks::<{ FIELDS.len() }>();
    let passages = passages.iter();
    passages
        .map(|lengths| lengths.map(u32::from_le_bytes))
        .collect()
}

/// Reads the positions at the start of these bytes; returns them, and whether they are complete.
fn read_places(bytes: &[u8]) -> (Vec<u32>, bool) {
    let mut numbers = Numbers::new(bytes);
    let count = numbers.next().map(|count| count as usize);
    let mut last = FIELDS.map(|field| place(field, 0));
    let read = numbers.take(count.unwrap_or_default()).map_while(|number| {
        let last = last.get_mut((number & 3) as usize)?;
        *last = last.saturating_add(number >> 2);
        Some(*last)
    });
    let places: Vec<u32> = read.collect();
    let is_complete = count.is_some_and(|count| count == places.len());
    (places, is_complete)
}

/// Reads a record: the distance from the last passage, the occurrences in each field, and the length of its positions.
#[inline(always)]
fn record(numbers: &mut Numbers<'_>) -> Option<(u32, Lengths, u32)> {
    let distance = numbers.next()?;
    let flags = numbers.next()?;
    let heading = if flags & 1 == 0 { 0 } else { numbers.next()? };
    let trail = if flags & 2 == 0 { 0 } else { numbers.next()? };
    Some((distance, [heading, trail, flags >> 2], numbers.next()?))
}
