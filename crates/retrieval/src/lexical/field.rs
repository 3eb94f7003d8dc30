//! The parts of a passage, and how much a term in each of them says: BM25F with whole numbers.

use crate::fixed::ONE;

/// The parts of a passage, in the order of a place's highest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Heading,
    Trail,
    Body,
}

pub(super) const FIELDS: [Field; 3] = [Field::Heading, Field::Trail, Field::Body];

/// How many words the fields of a passage have, or how often they have a term.
pub(super) type Lengths = [u32; FIELDS.len()];

impl Field {
    /// How much one occurrence counts.
    fn weight(self) -> u64 {
        match self {
            Self::Heading => 2 * ONE,
            Self::Trail | Self::Body => ONE,
        }
    }

    /// How much of its length counts, in quarters: in a long text a word says less than in a short one.
    fn length_quarters(self) -> u64 {
        match self {
            Self::Heading | Self::Trail => 1,
            Self::Body => 3,
        }
    }
}

/// Bits of a place that number the words of a field.
const PLACE_BITS: u32 = 28;

/// Where a word is: its field, and which of the words there it is.
pub(super) fn place(field: Field, at: u32) -> u32 {
    (field as u32) << PLACE_BITS | at.min((1 << PLACE_BITS) - 1)
}

/// The number of the field that a place is in.
pub(super) fn field_of(place: u32) -> usize {
    ((place >> PLACE_BITS) as usize).min(FIELDS.len() - 1)
}

/// How often each field has the term that is at `places`.
pub(super) fn counts(places: impl Iterator<Item = u32>) -> Lengths {
    let mut counts = [0; FIELDS.len()];
    for place in places {
        counts[field_of(place)] += 1;
    }
    counts
}

/// How soon more occurrences stop to count: the `k1` of BM25, 1.2.
const SATURATION: u32 = (ONE * 6 / 5) as u32;
/// The most that occurrences can come to.
const MOST_BY_COUNT: u32 = ONE as u32 + SATURATION;
/// What a term in the heading counts besides: as much as it ever can in the body, so that the heading always wins.
const IN_HEADING: u32 = MOST_BY_COUNT;
/// What a term in the trail counts besides.
const IN_TRAIL: u32 = ONE as u32 / 2;

/// More binary digits of a norm than of other numbers.
const NORM_DIGITS: u32 = 6;
/// A term that occurs so often, in 1024ths, says as much as it can.
const ENOUGH: u64 = 1 << 20;

/// What one occurrence in each field of a passage counts, which depends on the lengths of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Norms([u32; FIELDS.len()]);

/// The words of all passages that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) passages: u64,
    words: [u64; FIELDS.len()],
}

impl Totals {
    /// Of so many passages, whose fields have so many words.
    pub(super) fn of(passages: u64, words: [u64; FIELDS.len()]) -> Self {
        Self { passages, words }
    }

    pub(super) fn add(&mut self, lengths: &Lengths) {
        self.passages += 1;
        for (total, length) in self.words.iter_mut().zip(lengths) {
            *total += u64::from(*length);
        }
    }

    /// For a passage with these lengths.
    pub(super) fn norms(&self, lengths: &Lengths) -> Norms {
        Norms(FIELDS.map(|field| {
            let (total, length) = (self.words[field as usize], lengths[field as usize]);
            let quarters = field.length_quarters();
            // The average length over (1 - b) averages and b lengths, where b is so many quarters.
            // Lengths from a file may be anything, and enough of them come to more than 64 bits.
            let (total, passages) = (u128::from(total), u128::from(self.passages));
            let (quarters, weight) = (u128::from(quarters), u128::from(field.weight()));
            let divisor = (4 - quarters) * total + quarters * u128::from(length) * passages;
            let norm = (weight << NORM_DIGITS) * 4 * total / divisor.max(1);
            u32::try_from(norm).unwrap_or(u32::MAX)
        }))
    }
}

impl Norms {
    /// How much a term that occurs so often says of the passage.
    #[inline]
    pub(super) fn weight(&self, counts: &Lengths) -> u32 {
        let part =
            |field: Field| u64::from(self.0[field as usize]) * u64::from(counts[field as usize]);
        let by_count = |sum: u64| {
            let sum = (sum >> NORM_DIGITS).min(ENOUGH) as u32;
            sum * MOST_BY_COUNT / (sum + SATURATION)
        };
        let has = |field: Field| counts[field as usize] > 0;
        if !has(Field::Heading) && !has(Field::Trail) {
            return by_count(part(Field::Body));
        }
        let sum = FIELDS.into_iter().map(part).fold(0, u64::saturating_add);
        let by_count = by_count(sum);
        let heading = if has(Field::Heading) { IN_HEADING } else { 0 };
        let trail = if has(Field::Trail) { IN_TRAIL } else { 0 };
        by_count + heading + trail
    }
}
