//! Terms and where they are, in the form that a file has.
//!
//! Parts: three dictionaries (words; names; stems), where each list of passages starts, the lists, the places, the words of each
//! stem, and the lengths of the passages. A list is a run of records: the distance from the last passage, how often the term
//! is in the body with two bits that say whether heading and trail have it too, how often these have it, and how many bytes
//! its places take.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use fst::Map;

use super::{
    Passage,
    collect::{Collected, Occurrence},
    field::{FIELDS, Lengths, counts, field_of, place},
    terms::{Counted, NO_PLACES},
};
use crate::{
    bytes::Bytes,
    container::{Container, FormatError, Name, u32_at},
    varint::{self, Numbers},
};

const WORDS: Name = *b"words   ";
const NAMES: Name = *b"names   ";
const STEMS: Name = *b"stems   ";
const STARTS: Name = *b"starts  ";
const LISTS: Name = *b"lists   ";
const PLACES: Name = *b"places  ";
const FORM_STARTS: Name = *b"formstar";
const FORMS: Name = *b"forms   ";
const LENGTHS: Name = *b"lengths ";

/// Passages on their way into a file.
#[derive(Default)]
pub(crate) struct LexicalBuilder(Collected);

impl LexicalBuilder {
    pub(crate) fn add(&mut self, passage: &Passage<'_>) {
        self.0.add(passage);
    }

    /// How many words and names were read: what the memory that it takes depends on.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The parts of the file.
    pub(crate) fn finish(self) -> Vec<(Name, Vec<u8>)> {
        let collected = self.0;
        let by_term = collected.by_term();
        let (words, names) = (sorted(&collected.words), sorted(&collected.names));
        let stems = sorted(&collected.stems);
        // Terms are numbered by the alphabet in a file, names behind words.
        let mut new_numbers = vec![0_u32; collected.terms()];
        let (mut starts, mut lists, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (new, (_, old)) in (0..).zip(words.iter().chain(&names)) {
            new_numbers[*old as usize] = new;
            starts.extend_from_slice(&offset(lists.len()));
            starts.extend_from_slice(&offset(places.len()));
            let has_places = (new as usize) < words.len();
            write_list(by_term.of(*old), has_places, &mut lists, &mut places);
        }
        starts.extend_from_slice(&offset(lists.len()));
        starts.extend_from_slice(&offset(places.len()));
        let forms_of = collected.forms();
        let (mut form_starts, mut forms) = (Vec::new(), Vec::new());
        for (_, old) in &stems {
            form_starts.extend_from_slice(&offset(forms.len() / 4));
            let mut numbers: Vec<u32> = forms_of[*old as usize]
                .iter()
                .map(|form| new_numbers[*form as usize])
                .collect();
            numbers.sort_unstable();
            numbers
                .iter()
                .for_each(|form| forms.extend_from_slice(&form.to_le_bytes()));
        }
        form_starts.extend_from_slice(&offset(forms.len() / 4));
        let lengths = collected.lengths.iter().flatten();
        let lengths = lengths.flat_map(|length| length.to_le_bytes()).collect();
        vec![
            (WORDS, dictionary(&words, 0)),
            (NAMES, dictionary(&names, words.len())),
            (STEMS, dictionary(&stems, 0)),
            (STARTS, starts),
            (LISTS, lists),
            (PLACES, places),
            (FORM_STARTS, form_starts),
            (FORMS, forms),
            (LENGTHS, lengths),
        ]
    }
}

fn offset(at: usize) -> [u8; 4] {
    u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes()
}

fn sorted(terms: &HashMap<Box<str>, u32, RandomState>) -> Vec<(&str, u32)> {
    let mut sorted: Vec<(&str, u32)> = terms
        .iter()
        .map(|(term, number)| (&**term, *number))
        .collect();
    sorted.sort_unstable();
    sorted
}

/// Each key with its place in the alphabet, counted from `first`.
fn dictionary(sorted: &[(&str, u32)], first: usize) -> Vec<u8> {
    let numbered = (first as u64..)
        .zip(sorted)
        .map(|(number, (key, _))| (key, number));
    // They are in order and different, which is all that is asked of them.
    Map::from_iter(numbered)
        .map(|map| map.into_fst().into_inner())
        .unwrap_or_default()
}

fn write_list(
    occurrences: &[Occurrence],
    has_places: bool,
    lists: &mut Vec<u8>,
    places: &mut Vec<u8>,
) {
    let mut last = 0;
    for together in occurrences.chunk_by(|one, next| one.passage == next.passage) {
        let [heading, trail, body] = counts(together.iter().map(|one| one.place));
        let passage = together[0].passage;
        varint::write(lists, passage - last);
        last = passage;
        let flags = u32::from(heading > 0) | u32::from(trail > 0) << 1;
        varint::write(lists, body << 2 | flags);
        if heading > 0 {
            varint::write(lists, heading);
        }
        if trail > 0 {
            varint::write(lists, trail);
        }
        let start = places.len();
        if has_places {
            write_places(together, places);
        }
        varint::write(
            lists,
            u32::try_from(places.len() - start).unwrap_or(u32::MAX),
        );
    }
}

/// How many there are; then for each its field, and how far behind the last one of that field it is.
fn write_places(together: &[Occurrence], places: &mut Vec<u8>) {
    varint::write(places, u32::try_from(together.len()).unwrap_or(u32::MAX));
    let mut last = FIELDS.map(|field| place(field, 0));
    for at in together.iter().map(|one| one.place) {
        let field = field_of(at);
        varint::write(places, (at - last[field]) << 2 | field as u32);
        last[field] = at;
    }
}

/// The words of a file.
#[derive(Debug)]
pub(crate) struct Lexical {
    words: Map<Bytes>,
    names: Map<Bytes>,
    stems: Map<Bytes>,
    starts: Bytes,
    lists: Bytes,
    places: Bytes,
    form_starts: Bytes,
    forms: Bytes,
    lengths: Bytes,
}

impl Lexical {
    /// Opens the words of a file. What the dictionaries are walked by is compared with its checksum now: a walk through
    /// damaged ones has no bounds of its own.
    pub(crate) fn open(container: &Container) -> Result<Self, FormatError> {
        let dictionary =
            |name| Map::new(container.checked_part(name)?).map_err(|_| FormatError::Damaged);
        Ok(Self {
            words: dictionary(&WORDS)?,
            names: dictionary(&NAMES)?,
            stems: dictionary(&STEMS)?,
            starts: container.part(&STARTS)?,
            lists: container.part(&LISTS)?,
            places: container.part(&PLACES)?,
            form_starts: container.part(&FORM_STARTS)?,
            forms: container.part(&FORMS)?,
            lengths: container.part(&LENGTHS)?,
        })
    }

    /// How many passages there are.
    pub(crate) fn passages(&self) -> usize {
        self.lengths.as_ref().len() / (4 * FIELDS.len())
    }

    pub(super) fn lengths(&self, passage: usize) -> Lengths {
        let lengths = self.lengths.as_ref();
        std::array::from_fn(|field| {
            u32_at(lengths, passage * FIELDS.len() + field).unwrap_or_default()
        })
    }

    /// The dictionaries of words and of names.
    pub(super) fn dictionaries(&self) -> [&Map<Bytes>; 2] {
        [&self.words, &self.names]
    }

    /// The numbers of a term: as a word, and as a name.
    pub(super) fn term(&self, term: &str) -> Vec<usize> {
        let numbers = self.dictionaries().map(|dictionary| dictionary.get(term));
        let numbers = numbers.into_iter().flatten();
        numbers
            .filter_map(|number| usize::try_from(number).ok())
            .collect()
    }

    /// The numbers of the words with a stem.
    pub(super) fn forms(&self, stem: &str) -> Vec<usize> {
        let forms = || {
            let number = usize::try_from(self.stems.get(stem)?).ok()?;
            let start = u32_at(self.form_starts.as_ref(), number)? as usize;
            let end = u32_at(self.form_starts.as_ref(), number + 1)? as usize;
            let forms = (start..end).map_while(|at| u32_at(self.forms.as_ref(), at));
            Some(forms.map(|form| form as usize).collect())
        };
        forms().unwrap_or_default()
    }

    /// Calls `take` for every passage with the term of this number, in order.
    pub(super) fn list(&self, number: usize, mut take: impl FnMut(Counted)) {
        let read = || {
            let start = |at: usize| u32_at(self.starts.as_ref(), at);
            let range = start(number * 2)? as usize..start(number * 2 + 2)? as usize;
            Some((
                Numbers::new(self.lists.as_ref().get(range)?),
                start(number * 2 + 1)?,
            ))
        };
        let Some((mut numbers, mut first_place)) = read() else {
            return;
        };
        let mut passage = 0_u32;
        while !numbers.is_at_end() {
            let Some((distance, counts, place_bytes)) = record(&mut numbers) else {
                return;
            };
            passage = passage.saturating_add(distance);
            take(Counted {
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

    /// The places that start at `first_place`.
    pub(super) fn places(&self, first_place: u32) -> Vec<u32> {
        let bytes = self.places.as_ref();
        let mut numbers = Numbers::new(bytes.get(first_place as usize..).unwrap_or_default());
        let count = numbers.next().unwrap_or_default() as usize;
        let mut last = FIELDS.map(|field| place(field, 0));
        let read = numbers.take(count).map_while(|number| {
            let last = last.get_mut((number & 3) as usize)?;
            *last = last.saturating_add(number >> 2);
            Some(*last)
        });
        read.collect()
    }
}

/// The distance from the last passage, how often each field has the term, and how many bytes the places take.
#[inline]
fn record(numbers: &mut Numbers<'_>) -> Option<(u32, Lengths, u32)> {
    let distance = numbers.next()?;
    let flags = numbers.next()?;
    let heading = if flags & 1 == 0 { 0 } else { numbers.next()? };
    let trail = if flags & 2 == 0 { 0 } else { numbers.next()? };
    Some((distance, [heading, trail, flags >> 2], numbers.next()?))
}
