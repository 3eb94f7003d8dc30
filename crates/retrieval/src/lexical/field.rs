//! The fields of a passage, and the weight of a term in each of them: BM25F in integer arithmetic.

use crate::fixed_point::ONE;

/// The fields of a passage, in the order of a position's highest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Heading,
    Trail,
    Body,
}

pub(super) const FIELDS: [Field; 3] = [Field::Heading, Field::Trail, Field::Body];

/// Number of words in each field of a passage, or of occurrences of a term.
pub(super) type Lengths = [u32; FIELDS.len()];

impl Field {
    /// Returns the weight of one occurrence.
    fn weight(self) -> u64 {
        match self {
            Self::Heading => 2 * ONE,
            Self::Trail | Self::Body => ONE,
        }
    }

    /// Returns the strength of length normalisation (the `b` of BM25), in quarters: a word says less in a long text
    /// than in a short one.
    fn length_quarters(self) -> u64 {
        match self {
            Self::Heading | Self::Trail => 1,
            Self::Body => 3,
        }
    }
}

/// Bits of a position that number the words of a field.
const PLACE_BITS: u32 = 28;

/// Encodes a position: the field, and the number of the word in it.
pub(super) fn place(field: Field, at: u32) -> u32 {
    (field as u32) << PLACE_BITS | at.min((1 << PLACE_BITS) - 1)
}

/// Returns the field of a position.
pub(super) fn field_of(place: u32) -> usize {
    ((place >> PLACE_BITS) as usize).min(FIELDS.len() - 1)
}

/// Returns the number of the word in its field.
pub(super) fn number_in_field(place: u32) -> u32 {
    place & ((1 << PLACE_BITS) - 1)
}

/// Counts the occurrences in each field, from their positions.
pub(super) fn counts(places: impl Iterator<Item = u32>) -> Lengths {
    let mut counts = [0; FIELDS.len()];
    for place in places {
        counts[field_of(place)] += 1;
    }
    counts
}

/// How quickly further occurrences stop counting: the `k1` of BM25, at its usual value of 1.2. With 1.5 and 1.8, the mean of
/// fifteen sets of questions is 0.2 better, and manuals are found a little worse.
const SATURATION: u32 = (ONE * 6 / 5) as u32;
/// The limit of the score by occurrences.
const MOST_BY_COUNT: u32 = ONE as u32 + SATURATION;
/// Bonus for a term in the heading. Larger ones make one weak word of a heading outrank several in a text: of 0, 0.5, 1 and
/// 2.2, this was best on nine sets of questions (`bench/manuals`, `bench/k8s-docs`, `docs/questions.toml` and others).
const IN_HEADING: u32 = ONE as u32 / 2;
/// Bonus for a term in the trail, well below that of the heading.
const IN_TRAIL: u32 = IN_HEADING / 4;
/// The most that a term can weigh in a passage.
pub(crate) const MOST_WEIGHT: u64 = (MOST_BY_COUNT + IN_HEADING + IN_TRAIL) as u64;

/// Extra fractional bits of a norm.
const NORM_DIGITS: u32 = 6;
/// Number of occurrences, in 1024ths, at which a term's weight is saturated.
const ENOUGH: u64 = 1 << 20;

/// The weight of one occurrence in each field of a passage, which depends on the lengths of all passages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Norms([u32; FIELDS.len()]);

/// Totals over all live passages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) passages: u64,
    words: [u64; FIELDS.len()],
}

impl Totals {
    /// Creates the totals of this many passages, whose fields have this many words.
    pub(super) fn of(passages: u64, words: [u64; FIELDS.len()]) -> Self {
        Self { passages, words }
    }

    pub(super) fn add(&mut self, lengths: &Lengths) {
        self.passages += 1;
        for (total, length) in self.words.iter_mut().zip(lengths) {
            *total += u64::from(*length);
        }
    }

    /// Takes back [`Self::add`].
    pub(super) fn remove(&mut self, lengths: &Lengths) {
        self.passages = self.passages.saturating_sub(1);
        for (total, length) in self.words.iter_mut().zip(lengths) {
            *total = total.saturating_sub(u64::from(*length));
        }
    }

    /// Adds the totals of other passages.
    pub(super) fn add_all(&mut self, other: &Self) {
        self.passages += other.passages;
        for (total, more) in self.words.iter_mut().zip(other.words) {
            *total = total.saturating_add(more);
        }
    }

    /// Returns the norms of a passage with these lengths.
    pub(super) fn norms(&self, lengths: &Lengths) -> Norms {
        Norms(FIELDS.map(|field| self.norm(field, lengths[field as usize])))
    }

    /// Returns the norm of a field with this length.
    fn norm(&self, field: Field, length: u32) -> u32 {
        let total = self.words[field as usize];
        let quarters = field.length_quarters();
        // The average length over (1 - b) averages and b lengths, where b is in quarters. Lengths from a file may be
        // anything, and enough of them overflow 64 bits.
        let (total, passages) = (u128::from(total), u128::from(self.passages));
        let (quarters, weight) = (u128::from(quarters), u128::from(field.weight()));
        let divisor = (4 - quarters) * total + quarters * u128::from(length) * passages;
        let norm = (weight << NORM_DIGITS) * 4 * total / divisor.max(1);
        u32::try_from(norm).unwrap_or(u32::MAX)
    }
}

/// The counts of a term that only the body has, and once.
const ONCE: Lengths = [0, 0, 1];

/// Norms by length: passages have few different lengths, and a division for each passage would cost more.
#[derive(Debug, Default)]
pub(super) struct NormTables {
    totals: Totals,
    tables: [Vec<u32>; FIELDS.len()],
    /// The weight of a term that only the body has, and once, by the length of the body: most terms of a passage.
    once: Vec<u32>,
}

impl NormTables {
    /// Longer fields are rare; their norms are computed each time.
    const LONGEST: u32 = 512;

    /// Creates the tables for fields that have at most these lengths.
    pub(super) fn new(totals: Totals, longest: &Lengths) -> Self {
        let tables = FIELDS.map(|field| {
            let longest = longest[field as usize].min(Self::LONGEST);
            let lengths = 0..=longest;
            let norms = lengths.map(|length| totals.norm(field, length));
            norms.collect::<Vec<u32>>()
        });
        let once = tables[Field::Body as usize].iter();
        let once = once.map(|norm| Norms([0, 0, *norm]).weight(&ONCE));
        Self {
            totals,
            once: once.collect(),
            tables,
        }
    }

    /// Returns the totals of the passages that the norms are about.
    pub(super) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the weight of a term with these counts in a passage with these lengths.
    #[inline]
    pub(super) fn weight(&self, lengths: &Lengths, counts: &Lengths) -> u32 {
        if *counts == ONCE
            && let Some(weight) = self.once.get(lengths[Field::Body as usize] as usize)
        {
            return *weight;
        }
        let norms = FIELDS.map(|field| {
            let length = lengths[field as usize];
            let known = self.tables[field as usize].get(length as usize).copied();
            known.unwrap_or_else(|| self.totals.norm(field, length))
        });
        Norms(norms).weight(counts)
    }
}

impl Norms {
    /// Returns the weight of a term with these counts in the passage.
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
