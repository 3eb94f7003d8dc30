//! Hybrid search: ranks chunks by words and meaning together.
//!
//! Each chunk has a lexical score, as a fraction of what the query could reach, and a cosine similarity to the query. Their
//! weighted sum decides, so meaning does where the words fail; ties are broken by the order of the chunks. A chunk that has
//! the whole query word for word comes before all others.

use std::{cmp::Reverse, ops::Range};

use parking_lot::Mutex;

use super::{Corpus, CorpusSegment};
use crate::{
    embedding::{
        EmbeddingReader, MeaningWeight, Vector,
        vectors::{WHOLE, nearnesses},
    },
    lexical::{Match, Phrases, Query, RankedPassages, Remarks},
};

/// The name of these ranking rules. It changes whenever an answer may.
pub const FUSION: &str = "sectile-fusion-5";

/// The name of the rules of [`Corpus::near`]. It changes whenever an answer may.
pub const NEARNESS: &str = "sectile-meaning-1";

/// Minimum similarity, in millionths, for a chunk without any of the words to match: a cosine of 0.35, as
/// `docs/notebook.md` promises. Changing it changes answers, and so the name in [`FUSION`].
const NEAR_ENOUGH: u64 = 350_000;
/// Minimum similarity, in millionths, where no chunk has any of the words. It is lower, because a query that ends up there
/// is mostly a word or two. One in ten queries about something else altogether still comes this near to one of some hundred
/// chunks.
const NEAR_ALONE: u64 = 220_000;
/// With this many chunks, comparing their vectors takes longer than starting a thread for it.
const MANY: usize = 16_384;
/// The most chunks whose vectors are compared before a thread looks for more work.
const STRETCH: usize = 4_096;
/// The chunks whose lexical scores tell how far words single out the best: the lead of the first over the last of them.
/// Of two to fifty, this was best on eight sets of questions (`docs/decisions/0038`).
const LEADERS: usize = 5;
/// Chunks that are looked at together when the best are chosen.
const BLOCK: usize = 64;
/// Adjacent query words are looked for in this many of the best chunks.
const MOST_COMPARED: usize = 64;

/// The results of one search.
#[derive(Clone, Debug)]
pub struct SearchResults {
    /// The best chunks, best first.
    pub hits: Vec<ChunkHit>,
    /// Number of chunks that match at all.
    pub total: usize,
    /// Whether meaning counted, that is, whether the model finds meaning in the query.
    pub has_meaning: bool,
    /// Remarks about the words of the query.
    pub remarks: Remarks,
}

/// A chunk found by a search. Scores are in millionths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkHit {
    /// Its number.
    pub chunk: usize,
    /// Its lexical score, as a fraction of what the query could reach.
    pub lexical: u64,
    /// Its cosine similarity to the query.
    pub semantic: u64,
    /// Their weighted sum; one if it is verbatim.
    pub fused: u64,
    /// Whether it has all words of the query side by side, in the same order.
    pub is_verbatim: bool,
    /// The part of its lexical score for adjacent words, in 1024ths like that of each query item.
    pub together: u64,
    /// The part of its lexical score for the caller's boost, in 1024ths.
    pub favour: u64,
    /// The score of each query item in it.
    pub matches: Vec<Match>,
}

/// A chunk near a query in meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearChunk {
    /// Its number.
    pub chunk: usize,
    /// Its cosine similarity to the query, in millionths.
    pub nearness: u64,
}

impl Corpus {
    /// Returns the `most` best chunks for a query. `reader` embeds the query's text; without it only words count.
    #[must_use]
    pub fn search(
        &self,
        query: &Query,
        text: &str,
        reader: Option<&mut dyn EmbeddingReader>,
        most: usize,
    ) -> SearchResults {
        let rank = || self.words.rank(query, Phrases::Preferred, |_| 0);
        self.found(self.ranked(rank, self.all_slots(), text, reader), most)
    }

    /// Returns the `most` best chunks for a query, as [`Self::search`] does. `favour` is the boost of the lexical score in
    /// each document, in percent. If a chunk has the words in quotation marks side by side, only such chunks match.
    #[must_use]
    pub fn search_favouring(
        &self,
        query: &Query,
        text: &str,
        reader: Option<&mut dyn EmbeddingReader>,
        most: usize,
        favour: &dyn Fn(usize) -> u64,
    ) -> SearchResults {
        self.found(self.ranked_favouring(query, text, reader, favour), most)
    }

    /// Ranks the chunks for [`Self::search_favouring`].
    pub(super) fn ranked_favouring<'a>(
        &'a self,
        query: &Query,
        text: &str,
        reader: Option<&mut dyn EmbeddingReader>,
        favour: &'a dyn Fn(usize) -> u64,
    ) -> RankedChunks<'a, impl Fn(usize) -> u64 + use<'a>> {
        let favour = |slot: usize| favour(self.document_of(self.number_of(slot)));
        let rank = || self.words.rank(query, Phrases::Preferred, favour);
        if query.phrases().next().is_none() {
            return self.ranked(rank, self.all_slots(), text, reader);
        }
        let words = rank();
        let slots = match words.remarks.total == 0 || words.remarks.phrases_ignored {
            true => self.all_slots(),
            false => {
                let scores = words.scores().iter().enumerate();
                let found = scores.filter(|(_, score)| **score > 0);
                found.map(|(slot, _)| slot..slot + 1).collect()
            }
        };
        let meanings =
            embedded(text, reader).map(|(vector, weight)| (self.meanings(&vector, &slots), weight));
        RankedChunks {
            words,
            meanings,
            slots,
        }
    }

    /// Ranks the chunks in `slots`, where a query has no words in quotation marks.
    fn ranked<'a, F: Fn(usize) -> u64>(
        &'a self,
        rank: impl FnOnce() -> RankedPassages<'a, F>,
        slots: Vec<Range<usize>>,
        text: &str,
        reader: Option<&mut dyn EmbeddingReader>,
    ) -> RankedChunks<'a, F> {
        let Some((vector, weight)) = embedded(text, reader) else {
            return RankedChunks {
                words: rank(),
                meanings: None,
                slots,
            };
        };
        let (words, meanings) = self.ranked_with_meanings(rank, &vector, &slots);
        RankedChunks {
            words,
            meanings: Some((meanings, weight)),
            slots,
        }
    }

    /// Ranks words and computes meanings, at the same time if there is much to do. Neither depends on the other, so the
    /// results are the same.
    fn ranked_with_meanings<T>(
        &self,
        rank: impl FnOnce() -> T,
        vector: &[i8],
        slots: &[Range<usize>],
    ) -> (T, Vec<u32>) {
        match slots.iter().map(Range::len).sum::<usize>() < MANY {
            true => (rank(), self.meanings(vector, slots)),
            false => self.ranked_beside_meanings(rank, vector, slots, STRETCH),
        }
    }

    /// Ranks words in this thread and computes meanings in another one and in this one, `most` chunks at a time.
    pub(super) fn ranked_beside_meanings<T>(
        &self,
        rank: impl FnOnce() -> T,
        vector: &[i8],
        slots: &[Range<usize>],
        most: usize,
    ) -> (T, Vec<u32>) {
        let mut meanings = vec![0; self.end()];
        let stretches = self.stretches(slots, &mut meanings, most);
        let stretches = Mutex::new(stretches.into_iter());
        // Whichever thread is free takes the next stretch; without a second one, this one takes all.
        let compare = || {
            let next = || stretches.lock().next();
            while let Some(stretch) = next() {
                stretch.compare(vector);
            }
        };
        let (ranked, is_whole) = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, compare);
            let ranked = rank();
            compare();
            let is_whole = thread.map_or(true, |thread| thread.join().is_ok());
            (ranked, is_whole)
        });
        drop(stretches);
        if !is_whole {
            // The thread failed in the middle of a stretch.
            meanings = self.meanings(vector, slots);
        }
        (ranked, meanings)
    }

    /// Returns the `most` best chunks of the documents that `allowed` accepts, by their numbers; `None` accepts all.
    /// How rare a word is still depends on all documents. Unlike in [`Self::search`], words in quotation marks are
    /// required: a chunk that does not have them side by side never matches.
    #[must_use]
    pub fn search_within(
        &self,
        query: &Query,
        text: &str,
        reader: Option<&mut dyn EmbeddingReader>,
        most: usize,
        allowed: Option<&dyn Fn(usize) -> bool>,
    ) -> SearchResults {
        self.found(self.ranked_within(query, text, reader, allowed), most)
    }

    /// Ranks the chunks for [`Self::search_within`].
    pub(super) fn ranked_within<'a>(
        &'a self,
        query: &Query,
        text: &str,
        reader: Option<&mut dyn EmbeddingReader>,
        allowed: Option<&dyn Fn(usize) -> bool>,
    ) -> RankedChunks<'a, impl Fn(usize) -> u64 + use<'a>> {
        let rank = || self.words.rank(query, Phrases::Required, |_| 0);
        let mut slots = allowed.map_or_else(|| self.all_slots(), |allowed| self.slots(allowed));
        if query.phrases().next().is_none() {
            return self.ranked(rank, slots, text, reader);
        }
        let words = rank();
        if let Some(required) = words.required() {
            let required = required.iter().copied();
            let required = required.filter(|slot| is_in(&slots, *slot));
            slots = required.map(|slot| slot..slot + 1).collect();
        }
        let meanings =
            embedded(text, reader).map(|(vector, weight)| (self.meanings(&vector, &slots), weight));
        RankedChunks {
            words,
            meanings,
            slots,
        }
    }

    /// Returns the chunks near enough to `text` in meaning to answer a query of which no chunk has a word, nearest first.
    pub fn near(&self, text: &str, reader: &mut dyn EmbeddingReader) -> Vec<NearChunk> {
        let Some((vector, _)) = embedded(text, Some(reader)) else {
            return Vec::new();
        };
        let meanings = self.meanings(&vector, &self.all_slots());
        let near = meanings.into_iter().enumerate();
        let near = near.filter(|(_, meaning)| u64::from(*meaning) >= NEAR_ALONE);
        let mut near: Vec<NearChunk> = near
            .map(|(slot, meaning)| NearChunk {
                chunk: self.number_of(slot),
                nearness: u64::from(meaning),
            })
            .collect();
        near.sort_by_key(|one| (Reverse(one.nearness), one.chunk));
        near
    }

    fn all_slots(&self) -> Vec<Range<usize>> {
        self.files.iter().map(CorpusSegment::slots).collect()
    }

    /// Returns the slots of the documents that `allowed` accepts, in order.
    pub(super) fn slots(&self, allowed: &dyn Fn(usize) -> bool) -> Vec<Range<usize>> {
        let documents = (0..self.documents.len()).filter(|document| allowed(*document));
        let slots = documents.map(|document| self.slots_of(document));
        let mut slots: Vec<Range<usize>> = slots.filter(|slots| !slots.is_empty()).collect();
        slots.sort_unstable_by_key(|slots| slots.start);
        // Neighbours in one file are compared together.
        slots.dedup_by(|next, last| {
            let is_next = last.end == next.start
                && self.files.iter().all(|file| file.first_slot != next.start);
            if is_next {
                last.end = next.end;
            }
            is_next
        });
        slots
    }

    fn found<F: Fn(usize) -> u64>(
        &self,
        ranked: RankedChunks<'_, F>,
        most: usize,
    ) -> SearchResults {
        let number_of = |slot: usize| self.number_of(slot);
        let mut found = fused(ranked, most, number_of);
        for hit in &mut found.hits {
            hit.chunk = self.number_of(hit.chunk);
        }
        found
    }

    /// Returns the similarity of the chunk in each slot, in millionths; 0 if its cosine is negative, if the slot is not
    /// among `slots`, and if the chunk is not live.
    pub(super) fn meanings(&self, vector: &[i8], slots: &[Range<usize>]) -> Vec<u32> {
        let mut meanings = vec![0; self.end()];
        for stretch in self.stretches(slots, &mut meanings, usize::MAX) {
            stretch.compare(vector);
        }
        meanings
    }

    /// Divides `slots`, which are in order, into stretches of at most `most`, each with its part of `meanings`.
    fn stretches<'c>(
        &'c self,
        slots: &[Range<usize>],
        mut meanings: &'c mut [u32],
        most: usize,
    ) -> Vec<Stretch<'c>> {
        let mut stretches = Vec::new();
        let mut at = 0;
        for range in slots {
            let Some(file) = self.file_of(range.start) else {
                continue;
            };
            let end = range.end.min(file.slots().end);
            let mut start = range.start.max(at);
            while start < end {
                let next = end.min(start.saturating_add(most));
                let (_, from_start) = std::mem::take(&mut meanings).split_at_mut(start - at);
                let (here, behind) = from_start.split_at_mut(next - start);
                stretches.push(Stretch {
                    file,
                    chunks: start - file.first_slot..next - file.first_slot,
                    meanings: here,
                });
                meanings = behind;
                (start, at) = (next, next);
            }
        }
        stretches
    }

    /// Returns the end of the last slot.
    fn end(&self) -> usize {
        self.files.last().map_or(0, |file| file.slots().end)
    }
}

/// Neighbouring slots of one file, and the similarities of their chunks.
struct Stretch<'c> {
    file: &'c CorpusSegment,
    /// The numbers of the chunks in the file.
    chunks: Range<usize>,
    meanings: &'c mut [u32],
}

impl Stretch<'_> {
    /// Computes the similarities.
    fn compare(self, vector: &[i8]) {
        let Self {
            file,
            chunks,
            meanings,
        } = self;
        let (vectors, inverse_lengths) = file.segment.vectors_of(chunks.clone());
        nearnesses(vector, vectors, inverse_lengths, meanings);
        if !file.living.is_all() {
            for (meaning, chunk) in meanings.iter_mut().zip(chunks) {
                *meaning *= u32::from(file.living.has(chunk));
            }
        }
    }
}

/// Returns the vector of a query, and the weight of meaning.
fn embedded(
    text: &str,
    reader: Option<&mut dyn EmbeddingReader>,
) -> Option<(Vector, MeaningWeight)> {
    let reader = reader?;
    let vector = reader.embed(&[text])?;
    Some((vector, reader.model().weight_of(text)))
}

/// Returns whether a slot is in one of these ranges, which are in order.
fn is_in(slots: &[Range<usize>], slot: usize) -> bool {
    let behind = slots.partition_point(|range| range.start <= slot);
    let range = behind.checked_sub(1).map(|at| &slots[at]);
    range.is_some_and(|range| range.contains(&slot))
}

/// The words and meanings of the chunks that may answer a query, by their slots.
pub(super) struct RankedChunks<'a, F> {
    pub(super) words: RankedPassages<'a, F>,
    /// The similarity of each chunk, in millionths, and the weight of meaning; without it only words count.
    pub(super) meanings: Option<(Vec<u32>, MeaningWeight)>,
    /// The chunks that may match, in order.
    pub(super) slots: Vec<Range<usize>>,
}

/// Returns the `most` best of these chunks. `number_of` returns the number that breaks ties. Chunks are returned by their
/// slots.
pub(super) fn fused<F: Fn(usize) -> u64>(
    ranked: RankedChunks<'_, F>,
    most: usize,
    number_of: impl Fn(usize) -> usize,
) -> SearchResults {
    let RankedChunks {
        words,
        meanings,
        slots,
    } = ranked;
    let has_meaning = meanings.is_some();
    let (meanings, weight) =
        meanings.unwrap_or_else(|| (vec![0; words.scores().len()], MeaningWeight::default()));
    let rule = FusionRule::of(&words, weight, &slots);
    let (mut hits, total) = best_chunks(&words, (&meanings, rule), &slots, most, number_of);
    for hit in &mut hits {
        hit.matches = words.matches(hit.chunk);
    }
    SearchResults {
        hits,
        total,
        has_meaning,
        remarks: words.remarks,
    }
}

/// Returns the `most` best of the chunks in `slots` by a rule, without the query items in them, and how many match. Chunks are
/// returned by their slots.
pub(super) fn best_chunks<F: Fn(usize) -> u64>(
    ranked: &RankedPassages<'_, F>,
    (meanings, rule): (&[u32], FusionRule),
    slots: &[Range<usize>],
    most: usize,
    number_of: impl Fn(usize) -> usize,
) -> (Vec<ChunkHit>, usize) {
    let words = ranked.scores();
    // Not more than there are can be found, and space is reserved for all of them.
    let most = most.min(words.len());
    let mut best = TopChunks::new(MOST_COMPARED.max(most), &number_of);
    let totals = slots.iter().map(|range| {
        let (words, meanings) = (&words[range.clone()], &meanings[range.clone()]);
        best.choose(range.start, words, meanings, rule)
    });
    let total = totals.sum();
    let mut chosen = best.finish();
    let is_verbatim = |chunk: &usize| ranked.verbatim().binary_search(chunk).is_ok();
    let quoting = ranked.verbatim().iter().copied();
    let is_new =
        |chunk: &usize| is_in(slots, *chunk) && chosen.iter().all(|(known, _)| known != chunk);
    let quoting: Vec<usize> = quoting.filter(is_new).take(MOST_COMPARED).collect();
    chosen.extend(quoting.into_iter().map(|chunk| (chunk, number_of(chunk))));
    let (chunks, numbers): (Vec<usize>, Vec<usize>) = chosen.into_iter().unzip();
    // Adjacent query words raise the score of the best chunks.
    let boosts: Vec<(u64, u64)> = chunks
        .iter()
        .map(|chunk| {
            let together = ranked.together(*chunk);
            let words = u64::from(words[*chunk]) + together;
            (together, ranked.favour(*chunk, words))
        })
        .collect();
    let mut hits: Vec<((u64, usize), ChunkHit)> = chunks
        .iter()
        .zip(boosts)
        .zip(numbers)
        .map(|((chunk, (together, favour)), number)| {
            let words = u64::from(words[*chunk]) + together + favour;
            let lexical = rule.lexical(words).min(WHOLE);
            let semantic = u64::from(meanings[*chunk]);
            let sum = rule.fused(lexical, semantic) / WHOLE;
            let is_verbatim = is_verbatim(chunk);
            let hit = ChunkHit {
                chunk: *chunk,
                lexical,
                semantic,
                fused: if is_verbatim { WHOLE } else { sum },
                is_verbatim,
                together,
                favour,
                matches: Vec::new(),
            };
            ((sum, number), hit)
        })
        .collect();
    // Among those that are verbatim, the sum decides.
    hits.sort_by_key(|((sum, number), hit)| (Reverse((hit.is_verbatim, *sum)), *number));
    hits.truncate(most);
    (hits.into_iter().map(|(_, hit)| hit).collect(), total)
}

/// How the scores of words and meaning become one.
#[derive(Clone, Copy)]
pub(super) struct FusionRule {
    /// The reciprocal of the lexical score that the query could reach, in millionths with 32 fractional bits: a division
    /// for each chunk would cost more.
    factor: u64,
    /// The weight of words, in millionths.
    pub(super) words: u64,
    /// The weight of meaning, in millionths.
    pub(super) meaning: u64,
}

impl FusionRule {
    /// Returns the rule for the chunks in `slots`.
    pub(super) fn of<F: Fn(usize) -> u64>(
        ranked: &RankedPassages<'_, F>,
        weight: MeaningWeight,
        slots: &[Range<usize>],
    ) -> Self {
        let best = best_words(ranked.scores(), slots);
        Self::new(weight, ranked.reachable(), best)
    }

    /// Creates the rule for a query that could reach a lexical score, given the best that chunks have, best first.
    pub(super) fn new(weight: MeaningWeight, reachable: u64, best: [u32; LEADERS]) -> Self {
        let factor = (WHOLE << 32).div_ceil(reachable.max(1));
        let lexical = |words: u32| ((u64::from(words) * factor) >> 32).min(WHOLE);
        // How far words single out the best few: where they fail, all chunks are about equally bad.
        let lead = lexical(best[0]) - lexical(best[LEADERS - 1]);
        let meaning = weight.with_lead(lead).min(WHOLE);
        Self {
            factor,
            words: WHOLE - meaning,
            meaning,
        }
    }

    /// Returns the rule by which only words count.
    pub(super) fn words_alone() -> Self {
        Self {
            factor: 1 << 32,
            words: WHOLE,
            meaning: 0,
        }
    }

    /// Returns the rule by which only meaning counts.
    pub(super) fn meaning_alone() -> Self {
        Self {
            factor: 0,
            words: 0,
            meaning: WHOLE,
        }
    }

    /// Returns a lexical score in millionths of what the query could reach.
    pub(super) fn lexical(self, words: u64) -> u64 {
        (words * self.factor) >> 32
    }

    /// Returns the weighted sum, in units of 1/[`WHOLE`] of a score.
    fn fused(self, lexical: u64, semantic: u64) -> u64 {
        lexical * self.words + semantic * self.meaning
    }

    /// Returns [`Self::fused`] of a chunk whose lexical score is far below 2^32 millionths, as that of every query is, with
    /// factors of 32 bits: processors multiply several of these at once.
    #[inline(always)]
    fn score(self, words: u32, semantic: u32) -> u64 {
        let product = |one: u32, other: u64| u64::from(one) * u64::from(other as u32);
        let lexical = product(words, self.factor >> 32) + (product(words, self.factor) >> 32);
        product(lexical as u32, self.words) + product(semantic, self.meaning)
    }
}

/// Returns the best lexical scores of the chunks in `slots`, best first; 0 where there are no more.
pub(super) fn best_words(words: &[u32], slots: &[Range<usize>]) -> [u32; LEADERS] {
    let mut best = [0; LEADERS];
    for range in slots {
        for block in words[range.clone()].chunks(BLOCK) {
            let most = pulp::Arch::new().dispatch(
                #[inline(always)]
                || block.iter().fold(0, |most, score| (*score).max(most)),
            );
            if most <= best[LEADERS - 1] {
                continue;
            }
            for score in block {
                let behind = best.partition_point(|better| better >= score);
                if behind < LEADERS {
                    best[behind..].rotate_right(1);
                    best[behind] = *score;
                }
            }
        }
    }
    best
}

/// Returns whether a chunk matches at all.
#[inline(always)]
fn is_match(words: u32, semantic: u32) -> bool {
    (words > 0) | (u64::from(semantic) >= NEAR_ENOUGH)
}

/// Returns how many chunks match, and whether one of them has at least this score. Neither depends on a branch, because
/// which chunks match is unpredictable.
#[inline(always)]
fn count_matches(
    words: &[u32; BLOCK],
    meanings: &[u32; BLOCK],
    rule: FusionRule,
    least: u64,
) -> (u32, bool) {
    let (mut total, mut good) = (0, 0);
    for at in 0..BLOCK {
        let is_match = is_match(words[at], meanings[at]);
        let is_good = rule.score(words[at], meanings[at]).cast_signed() >= least.cast_signed();
        total += u32::from(is_match);
        good |= u32::from(is_match & is_good);
    }
    (total, good > 0)
}

/// Selects the best chunks, by score and then by number. Scores are in units of 1/[`WHOLE`].
pub(super) struct TopChunks<N> {
    most: usize,
    number_of: N,
    /// Scores, numbers and slots: more than are wanted, so that the worst need not be found each time.
    kept: Vec<(Reverse<u64>, usize, usize)>,
    /// The lowest score that may still be among the best.
    least: u64,
}

impl<N: Fn(usize) -> usize> TopChunks<N> {
    pub(super) fn new(most: usize, number_of: N) -> Self {
        Self {
            most,
            number_of,
            kept: Vec::with_capacity(most * 4),
            least: 0,
        }
    }

    /// Considers the chunks from slot `first` on, and returns how many match.
    pub(super) fn choose(
        &mut self,
        first: usize,
        words: &[u32],
        meanings: &[u32],
        rule: FusionRule,
    ) -> usize {
        let (words, last_words) = words.as_chunks::<BLOCK>();
        let (meanings, last_meanings) = meanings.as_chunks::<BLOCK>();
        let mut total = 0;
        for (number, (words, meanings)) in words.iter().zip(meanings).enumerate() {
            let least = self.least;
            let (matching, has_good) = pulp::Arch::new().dispatch(
                #[inline(always)]
                || count_matches(words, meanings, rule, least),
            );
            total += matching as usize;
            if has_good {
                self.offer_all(first + number * BLOCK, words, meanings, rule);
            }
        }
        let behind = first + words.len() * BLOCK;
        total + self.offer_all(behind, last_words, last_meanings, rule)
    }

    /// Considers these chunks one by one, and returns how many match.
    fn offer_all(
        &mut self,
        first: usize,
        words: &[u32],
        meanings: &[u32],
        rule: FusionRule,
    ) -> usize {
        let mut total = 0;
        for (slot, (words, meaning)) in (first..).zip(words.iter().zip(meanings)) {
            if is_match(*words, *meaning) {
                total += 1;
                let score = rule.score(*words, *meaning);
                if score >= self.least {
                    self.offer(score, slot);
                }
            }
        }
        total
    }

    fn offer(&mut self, score: u64, slot: usize) {
        let number = (self.number_of)(slot);
        self.kept.push((Reverse(score / WHOLE), number, slot));
        if self.kept.len() == self.most * 4 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.kept.len() > self.most {
            let (_, worst, _) = self.kept.select_nth_unstable(self.most - 1);
            // One with an equal score may have a lower number.
            self.least = worst.0.0 * WHOLE;
            self.kept.truncate(self.most);
        }
    }

    /// Returns the slots and numbers of the best, best first.
    pub(super) fn finish(mut self) -> Vec<(usize, usize)> {
        self.cut();
        self.kept.sort_unstable();
        let kept = self.kept.into_iter();
        kept.map(|(_, number, slot)| (slot, number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Scores made of factors of 32 bits are those of the rule, and blocks find the same chunks as one after the other.
        #[test]
        fn chunks_are_chosen_in_blocks_as_one_by_one(
            scores in proptest::collection::vec((0..200_000_u32, 0..=1_000_000_u32), 0..300),
            reachable in 200_000..4_000_000_u64,
            weight in (0..=WHOLE, 0..=WHOLE),
            most in 1..20_usize,
        ) {
            let words: Vec<u32> = scores.iter().map(|(words, _)| words.saturating_sub(150_000)).collect();
            let all = 0..words.len();
            let mut sorted = words.clone();
            sorted.sort_unstable_by_key(|score| Reverse(*score));
            sorted.resize(sorted.len().max(LEADERS), 0);
            let best = best_words(&words, &[all]);
            prop_assert_eq!(&best[..], &sorted[..LEADERS]);
            let weight = MeaningWeight { most: weight.0, discount: weight.1 };
            let rule = FusionRule::new(weight, reachable, best);
            let meanings: Vec<u32> = scores.iter().map(|(_, meaning)| *meaning).collect();
            let mut expected: Vec<(Reverse<u64>, usize)> = Vec::new();
            for (slot, (words, meaning)) in words.iter().zip(&meanings).enumerate() {
                let lexical = rule.lexical(u64::from(*words));
                let score = rule.fused(lexical, u64::from(*meaning));
                prop_assert_eq!(rule.score(*words, *meaning), score);
                if *words > 0 || u64::from(*meaning) >= NEAR_ENOUGH {
                    expected.push((Reverse(score / WHOLE), slot));
                }
            }
            let mut best = TopChunks::new(most, |slot| slot);
            prop_assert_eq!(best.choose(0, &words, &meanings, rule), expected.len());
            expected.sort_unstable();
            expected.truncate(most);
            let expected: Vec<(usize, usize)> = expected.into_iter().map(|(_, slot)| (slot, slot)).collect();
            prop_assert_eq!(best.finish(), expected);
        }
    }
}
