//! An updated corpus answers like one built from scratch, and like the index in memory.

use proptest::prelude::*;
use sectile_markdown::Span;

use super::*;
use crate::analysis::{is_filler, words};
use crate::{
    Bytes, Embedder as _, Index, Lexicon, Passage, Query, Statistics, Vocabulary, container,
};

fn passage<'a>(body: &'a str) -> Passage<'a> {
    let heading = body.split(' ').next().unwrap_or_default();
    Passage {
        heading,
        trail: vec!["the title", "above"],
        body,
    }
}

/// Builds a segment of documents, each of several bodies.
fn segment(documents: &[&Vec<String>]) -> Segment {
    let mut builder = SegmentBuilder::new(None);
    for document in documents {
        builder.document();
        for (at, body) in document.iter().enumerate() {
            let chunk = Chunk {
                span: Span::new(at, at + body.len()),
                digest: ChunkDigest::of(body.as_bytes()),
                line: at,
            };
            builder.chunk(&chunk, &passage(body));
        }
    }
    Segment::open(&Bytes::new(builder.finish()), None).unwrap()
}

fn answers(corpus: &Corpus, query: &str) -> Vec<ChunkHit> {
    let parsed = Query::parse(query).unwrap();
    corpus.search(&parsed, query, None, 50).hits
}

/// Returns how often a text has a word.
fn words_in(text: &str, word: &str) -> usize {
    words(text).iter().filter(|one| *one == word).count()
}

fn documents() -> impl Strategy<Value = Vec<Vec<String>>> {
    let body = "([a-c]{1,3}(ing|s)? ?|漢字? ?|Max_[ab] |MaxA |maxa ){0,7}";
    proptest::collection::vec(proptest::collection::vec(body, 1..4), 1..7)
}

/// Builds a corpus with vectors, of a segment for each list of documents. The last document comes first.
fn embedded(files: &[Vec<Vec<String>>]) -> Corpus {
    let model = crate::built_in().unwrap();
    let mut of_file = model.reader();
    let mut segments = Vec::new();
    let mut places = Vec::new();
    for (number, documents) in files.iter().enumerate() {
        let mut builder = SegmentBuilder::new(Some((model, &mut *of_file)));
        for (at, document) in documents.iter().enumerate() {
            builder.document();
            for body in document {
                let body = format!("{body} fixing an automobile");
                let span = Span::new(0, body.len());
                let digest = ChunkDigest::of(body.as_bytes());
                let chunk = Chunk {
                    span,
                    digest,
                    line: 1,
                };
                builder.chunk(&chunk, &passage(&body));
            }
            places.push(place(number, at));
        }
        segments.push(Segment::open(&Bytes::new(builder.finish()), Some(model)).unwrap());
    }
    places.reverse();
    Corpus::new(segments, &places)
}

fn place(segment: usize, document: usize) -> DocumentLocation {
    DocumentLocation { segment, document }
}

proptest! {
    #[test]
    fn an_index_that_grew_ranks_like_one_made_afresh(
        first in documents(),
        changed in documents(),
        query in "([a-c]{1,3} |\"[ab] [ab]\" |漢 |max_a ){1,4}",
    ) {
        // Every second document was replaced, in another segment.
        let all: Vec<&Vec<String>> = first.iter().collect();
        let other: Vec<&Vec<String>> = changed.iter().collect();
        let mut now = Vec::new();
        let mut places = Vec::new();
        for (at, document) in all.iter().enumerate() {
            if at % 2 == 1 && at < other.len() {
                now.push(other[at]);
                places.push(place(1, at));
            } else {
                now.push(document);
                places.push(place(0, at));
            }
        }
        let grown = Corpus::new(vec![segment(&all), segment(&other)], &places);
        let fresh_places: Vec<DocumentLocation> = (0..now.len()).map(|at| place(0, at)).collect();
        let fresh = Corpus::new(vec![segment(&now)], &fresh_places);
        prop_assert_eq!(answers(&grown, &query), answers(&fresh, &query));
        // The same by two changes, the first of which leaves a document out.
        let before: Vec<DocumentLocation> = (0..all.len()).rev().map(|at| place(0, at)).collect();
        let changed = Corpus::new(vec![segment(&all)], &before);
        let changed = changed.with_changes(&[], vec![], &before[1..]);
        let changed = changed.with_changes(&[], vec![segment(&other)], &places);
        prop_assert_eq!(answers(&changed, &query), answers(&fresh, &query));
        prop_assert_eq!(changed.len(), fresh.len());
        // The same, with segments that are dropped.
        let in_third: Vec<DocumentLocation> = (0..all.len()).map(|at| place(2, at)).collect();
        let dropped = Corpus::new(vec![segment(&other), segment(&all), segment(&all)], &in_third);
        let dropped = dropped.with_changes(&[0, 1], vec![segment(&other)], &places);
        prop_assert_eq!(answers(&dropped, &query), answers(&fresh, &query));
        prop_assert_eq!(dropped.segments().len(), 2);
        for number in 0..fresh.len() {
            prop_assert_eq!(changed.chunk(number), fresh.chunk(number));
            prop_assert_eq!(dropped.chunk(number), fresh.chunk(number));
            prop_assert_eq!(grown.chunk(number), fresh.chunk(number));
            prop_assert_eq!(grown.path(number), fresh.path(number));
            prop_assert_eq!(grown.document_of(number), fresh.document_of(number));
        }
    }

    /// Words of German, French, Russian, Japanese, Chinese and Arabic notes are mixed, and meaning counts.
    #[test]
    fn a_phrase_copied_from_a_note_finds_it_first(
        bodies in proptest::collection::vec(
            "((boat|harbour|the|pier|of|a|Straße|für|l'eau|déjà|гавань|лодки|и|築地市場|東京都|港|مرفأ|قارب),? ){4,14}",
            2..12,
        ),
        from in any::<prop::sample::Index>(),
        start in any::<prop::sample::Index>(),
        length in 5..9_usize,
    ) {
        let model = crate::built_in().unwrap();
        let mut reader = model.reader();
        let mut builder = SegmentBuilder::new(Some((model, &mut *reader)));
        for body in &bodies {
            builder.document();
            let span = Span::new(0, body.len());
            let digest = ChunkDigest::of(body.as_bytes());
            builder.chunk(&Chunk { span, digest, line: 1 }, &Passage { heading: "", trail: vec![], body });
        }
        let segment = Segment::open(&Bytes::new(builder.finish()), Some(model)).unwrap();
        let places: Vec<DocumentLocation> = (0..bodies.len()).map(|at| place(0, at)).collect();
        let corpus = Corpus::new(vec![segment], &places);
        let written: Vec<&str> = from.get(&bodies).split(' ').collect();
        let start = start.index(written.len());
        let phrase = written[start..written.len().min(start + length)].join(" ");
        let phrase_words = words(&phrase);
        let telling = phrase_words.iter().filter(|word| !is_filler(word)).count();
        prop_assume!((5..=32).contains(&phrase_words.len()) && telling > 2);
        let (query, _) = corpus.lenient_query(&phrase);
        let found = corpus.search(&query, &phrase, Some(&mut *model.reader()), 20);
        let has_phrase = |chunk: usize| {
            words(&bodies[chunk]).windows(phrase_words.len()).any(|some| some == phrase_words)
        };
        let with: Vec<bool> = found.hits.iter().map(|hit| has_phrase(hit.chunk)).collect();
        prop_assert!(with[0], "{phrase}: {:?}", found.hits);
        prop_assert!(with.is_sorted_by(|one, next| one >= next));
        let is_marked = found.hits.iter().map(|hit| hit.is_verbatim);
        prop_assert_eq!(is_marked.collect::<Vec<_>>(), with);
    }

    #[test]
    fn a_search_within_documents_finds_what_they_have(
        first in documents(),
        more in documents(),
        allowed in any::<u16>(),
        query in "([a-c]{1,3} |漢 |max_a |car ){1,4}",
    ) {
        let corpus = embedded(&[first, more]);
        let model = crate::built_in().unwrap();
        let parsed = Query::parse(&query).unwrap();
        let is_allowed = |document: usize| allowed >> (document % 16) & 1 == 1;
        let all = corpus.search(&parsed, &query, Some(&mut *model.reader()), 1_000);
        let within = |allowed: Option<&dyn Fn(usize) -> bool>| {
            corpus.search_within(&parsed, &query, Some(&mut *model.reader()), 1_000, allowed)
        };
        prop_assert_eq!(&within(None).hits, &all.hits);
        let some = within(Some(&is_allowed));
        let found = |hits: &[ChunkHit]| {
            let found = hits.iter().filter(|hit| is_allowed(corpus.document_of(hit.chunk)));
            let mut found: Vec<(usize, u64, Vec<_>)> = found
                .map(|hit| (hit.chunk, hit.semantic, hit.matches.clone()))
                .collect();
            found.sort_by_key(|found| found.0);
            found
        };
        prop_assert_eq!(found(&some.hits), found(&all.hits));
        prop_assert_eq!(some.hits.len(), found(&all.hits).len());
        prop_assert_eq!(some.total, some.hits.len());
        // Two threads that share the work compute the same.
        if let Some(vector) = model.reader().embed(&[&query]) {
            for slots in [corpus.slots(&is_allowed), corpus.slots(&|_| true)] {
                let (_, shared) = corpus.ranked_beside_meanings(|| (), &vector, &slots, 2);
                prop_assert_eq!(shared, corpus.meanings(&vector, &slots));
            }
        }
    }

    /// An explanation has the ranks of the searches by both, by words and by meaning, and scores whose parts add up.
    #[test]
    fn a_hit_is_explained_by_the_numbers_that_ranked_it(
        first in documents(),
        more in documents(),
        allowed in any::<u16>(),
        most in 1..30_usize,
        query in "([a-c]{1,3}(ing)? |\"[ab]\" |漢 |max_a |car ){1,5}",
    ) {
        let texts: Vec<String> = first.iter().chain(&more).rev().flatten().cloned().collect();
        let corpus = embedded(&[first, more]);
        let model = crate::built_in().unwrap();
        let parsed = Query::parse(&query).unwrap();
        let is_allowed = |document: usize| allowed >> (document % 16) & 1 == 1;
        let allowed = Some(&is_allowed as &dyn Fn(usize) -> bool);
        let hits = corpus.search_within(&parsed, &query, Some(&mut *model.reader()), most, allowed).hits;
        let by_words = corpus.search_within(&parsed, &query, None, most, allowed).hits;
        let chunks: Vec<usize> = hits.iter().map(|hit| hit.chunk).collect();
        let mut reader = model.reader();
        let explained = corpus.explain_within(&parsed, (&query, Some(&mut *reader)), most, allowed, &chunks);
        let basis = explained.basis;
        prop_assert_eq!(basis.words_weight + basis.meaning_weight, 1_000_000);
        prop_assert_eq!(basis.chunks, corpus.len());
        for (at, (hit, why)) in hits.iter().zip(&explained.hits).enumerate() {
            let why = why.as_ref().unwrap();
            prop_assert_eq!(why.fused, RankedScore { rank: at + 1, score: hit.fused });
            let (words, meaning) = (why.words.map_or(0, |one| one.score), why.meaning.map_or(0, |one| one.score));
            prop_assert_eq!((words, meaning), (hit.lexical, hit.semantic));
            let sum = (words * basis.words_weight + meaning * basis.meaning_weight) / 1_000_000;
            prop_assert_eq!(hit.fused, if why.is_verbatim { 1_000_000 } else { sum });
            let share = why.word_score() * 1_000_000 / basis.reachable.max(1);
            prop_assert!(words.abs_diff(share.min(1_000_000)) <= 1, "{} {}", words, share);
            let rank = by_words.iter().position(|other| other.chunk == hit.chunk);
            match rank {
                Some(rank) => prop_assert_eq!(why.words.unwrap().rank, rank + 1),
                None => prop_assert!(why.words.is_none_or(|words| words.rank > by_words.len())),
            }
            let terms: Vec<_> = why.terms.iter().map(|one| (&one.asked, one.form, one.in_heading > 0, one.score)).collect();
            let matches: Vec<_> = hit.matches.iter().map(|one| (&one.asked, one.form, one.in_heading, one.score)).collect();
            prop_assert_eq!(terms, matches);
            for term in &why.terms {
                prop_assert!(term.in_heading + term.in_trail + term.in_body > 0, "{:?}", term);
                prop_assert!((1..=corpus.len()).contains(&term.passages), "{:?}", term);
                if term.form == crate::Form::Exact && !term.found.contains(['m', '漢']) {
                    let times = words_in(&texts[hit.chunk], &term.found);
                    prop_assert_eq!(term.in_body as usize, times, "{:?}", term);
                }
            }
        }
        // By meaning, nearer ones come first, and no two are in one place.
        let mut near: Vec<RankedScore> = explained.hits.iter().flatten().filter_map(|why| why.meaning).collect();
        near.sort_by_key(|one| one.rank);
        prop_assert!(near.windows(2).all(|two| two[0].rank < two[1].rank && two[0].score >= two[1].score));
    }

    #[test]
    fn files_rank_like_the_index_in_memory(
        documents in documents(),
        query in "([a-c]{1,3}(ing)? |maxa |\"[ab] [ab]\" |漢 |max_a |abtove |titel |above ){1,4}",
    ) {
        let all: Vec<&Vec<String>> = documents.iter().collect();
        let places: Vec<DocumentLocation> = (0..all.len()).map(|at| place(0, at)).collect();
        let corpus = Corpus::new(vec![segment(&all)], &places);
        let index = Index::new(documents.iter().flatten().map(|body| passage(body))).unwrap();
        let query = Query::parse(&query).unwrap();
        let in_memory = index.rank(&query, |_| 0);
        let in_files = corpus
            .words
            .rank(&query, crate::lexical::Phrases::Preferred, |_| 0);
        prop_assert_eq!(in_memory.hits(20), in_files.hits(20));
        prop_assert_eq!(in_memory.remarks, in_files.remarks);
    }

    #[test]
    fn a_damaged_file_never_panics(
        documents in documents(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..6),
        query in "[a-c]{1,3}( [a-c]{1,3}ing)?",
    ) {
        let mut builder = SegmentBuilder::new(None);
        for document in &documents {
            builder.document();
            for body in document {
                let span = Span::new(0, 1);
                let chunk = Chunk { span, digest: ChunkDigest::of(b""), line: 1 };
                builder.chunk(&chunk, &passage(body));
            }
        }
        let whole = builder.finish();
        let mut bytes = whole.clone();
        for (at, flip) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        let parts = container::parts(&whole);
        let head = 24 + parts.len() * 32;
        let is_padding = |at: usize| at >= head && !parts.iter().any(|(_, range)| range.contains(&at));
        let is_damaged = (0..whole.len()).any(|at| bytes[at] != whole[at] && !is_padding(at));
        prop_assert_eq!(Segment::open(&Bytes::new(bytes), None).is_err(), is_damaged);
        // An attacker recomputes the checksums of a damaged file. Only the dictionaries, which a library reads, may
        // panic.
        let mut bytes = whole.clone();
        let is_ours = |name: &[u8; 8]| ![*b"words   ", *b"names   ", *b"stems   "].contains(name);
        let ours: Vec<usize> = parts
            .into_iter()
            .filter(|(name, _)| is_ours(name))
            .flat_map(|(_, range)| range)
            .collect();
        for (at, flip) in flips {
            bytes[ours[at.index(ours.len())]] ^= flip;
        }
        container::seal(&mut bytes);
        if let Ok(segment) = Segment::open(&Bytes::new(bytes), None) {
            let documents = (0..segment.documents() + 2).chain(0..segment.documents());
            let places: Vec<DocumentLocation> = documents.map(|at| place(0, at)).collect();
            let chunks = segment.chunks();
            let corpus = Corpus::new(vec![segment], &places);
            prop_assert!(corpus.len() <= chunks);
            answers(&corpus, &query);
        }
    }
}

#[test]
fn quoted_words_are_required_within() {
    let bodies = ["red boat in harbour", "boat red harbour", "a car"];
    let documents: Vec<Vec<String>> = bodies.iter().map(|body| vec![(*body).to_owned()]).collect();
    let all: Vec<&Vec<String>> = documents.iter().collect();
    let places = [place(0, 0), place(0, 1), place(0, 2)];
    let corpus = Corpus::new(vec![segment(&all)], &places);
    let found = |query: &str, allowed: Option<&dyn Fn(usize) -> bool>| {
        let parsed = Query::parse(query).unwrap();
        let found = corpus.search_within(&parsed, query, None, 9, allowed);
        let chunks: Vec<usize> = found.hits.iter().map(|hit| hit.chunk).collect();
        (chunks, found.total)
    };
    assert_eq!(found("\"red boat\"", None), (vec![0], 1));
    assert_eq!(found("\"red boat\" car", None), (vec![0], 1));
    assert_eq!(found("\"red car\"", None), (vec![], 0));
    assert_eq!(
        found("\"red boat\"", Some(&|document| document > 0)),
        (vec![], 0)
    );
    assert_eq!(
        found("harbour", Some(&|document| document > 0)),
        (vec![1], 1)
    );
    assert_eq!(answers(&corpus, "\"red car\"").len(), 3);
}

#[test]
fn a_long_question_is_answered() {
    let documents = [
        vec!["harbour boat and red red".to_owned()],
        vec!["red boat".to_owned()],
        vec!["red".to_owned()],
    ];
    let all: Vec<&Vec<String>> = documents.iter().collect();
    let places = [place(0, 0), place(0, 1), place(0, 2)];
    let corpus = Corpus::new(vec![segment(&all)], &places);
    let many: String = (0..31)
        .map(|number| format!("z{} ", "q".repeat(number)))
        .collect();
    let (query, dropped) = corpus.lenient_query(&format!("red boat harbour {many}"));
    let expected = [29, 30].map(|number| format!("z{}", "q".repeat(number)));
    assert_eq!(dropped, expected);
    let hits = corpus.search(&query, "", None, 9).hits;
    assert_eq!(
        hits.iter().map(|hit| hit.chunk).collect::<Vec<_>>(),
        [0, 1, 2]
    );
}

#[test]
fn a_long_question_keeps_words_that_occur_in_another_form() {
    let documents = [vec!["we configured many boats".to_owned()]];
    let corpus = Corpus::new(vec![segment(&[&documents[0]])], &[place(0, 0)]);
    let many: String = (0..40)
        .map(|number| format!("z{} ", "q".repeat(number)))
        .collect();
    let (query, dropped) = corpus.lenient_query(&format!("{many} configuring boat"));
    assert!(
        ["configuring", "boat"]
            .iter()
            .all(|word| query.terms().any(|term| term == *word))
    );
    assert_eq!(dropped.len(), 42 - crate::MAX_QUERY_WORDS);
    assert_eq!(corpus.search(&query, "", None, 9).hits.len(), 1);
    // Without a word that can be looked for there is nothing to find.
    for text in ["🚢 ".repeat(3_000), "\"\" ".repeat(3_000), String::new()] {
        let (query, dropped) = corpus.lenient_query(&text);
        assert!(query.is_empty() && dropped.is_empty());
        assert_eq!(corpus.search(&query, "", None, 9).total, 0);
    }
}

/// Returns the statistics that a database would have of all records.
fn statistics(records: &[Record], query: &Query) -> Statistics {
    let mut statistics = Statistics {
        passages: records.len() as u64,
        ..Statistics::default()
    };
    let mut all = std::collections::BTreeMap::new();
    let lookup = query.lookup();
    for record in records {
        for (sum, length) in statistics.words.iter_mut().zip(record.words.lengths) {
            *sum += u64::from(length);
        }
        let mut lexicon = Lexicon::default();
        let found_by = lexicon.found_by(&record.words.lengths, &record.words.encoded);
        let (terms, stems) = (found_by.terms.clone(), found_by.stems.clone());
        for term in terms {
            let term = lexicon.term(term.number as usize);
            *all.entry(term.to_owned()).or_insert(0) += 1;
        }
        for (stem, _) in stems {
            let stem = lexicon.stem(stem as usize).to_owned();
            if lookup.stems.contains(&stem) {
                statistics.stems.entry(stem).or_default().0 += 1;
            }
        }
    }
    for term in all.keys() {
        let stem = crate::analysis::stem(term);
        if let Some((_, forms)) = stem.and_then(|stem| statistics.stems.get_mut(&*stem)) {
            forms.push(term.clone());
        }
    }
    let vocabulary = Vocabulary::new(all.iter().map(|(term, count)| (term.clone(), *count)));
    statistics.terms = all.into_iter().collect();
    for word in statistics.unknown(query) {
        let nearest = vocabulary.nearest(&word);
        statistics.nearest.insert(word, nearest);
    }
    statistics
}

proptest! {
    #[test]
    fn records_of_all_chunks_are_ranked_like_a_corpus_of_them(
        documents in documents(),
        query in "([a-c]{1,3}(ing)? |\"[ab] [ab]\" |漢 |max_a |MaxA |house |abcab |car |garrage |repiaring ){1,5}",
    ) {
        let model = crate::built_in().unwrap();
        let bodies = ["The car is at the house.", "Repairing an automobile in the garage", ""];
        let bodies = bodies.map(str::to_owned);
        let documents: Vec<Vec<String>> = documents.into_iter().chain([bodies.to_vec()]).collect();
        let (mut of_file, mut of_query) = (model.reader(), model.reader());
        let mut recorder = RecordBuilder::new(model);
        let mut builder = SegmentBuilder::new(Some((model, &mut *of_file)));
        let mut records = Vec::new();
        for document in &documents {
            builder.document();
            for body in document {
                let chunk = Chunk { span: Span::new(0, body.len()), digest: ChunkDigest::of(body.as_bytes()), line: 1 };
                builder.chunk(&chunk, &passage(body));
                let digest = sectile_markdown::Digest::of(body.as_bytes());
                records.push(recorder.record(&chunk, digest, &passage(body)));
            }
        }
        let segment = Segment::open(&Bytes::new(builder.finish()), Some(model)).unwrap();
        let places: Vec<DocumentLocation> = (0..documents.len()).map(|document| place(0, document)).collect();
        let corpus = Corpus::new(vec![segment], &places);
        let parsed = Query::parse(&query).unwrap();
        let vector = of_query.embed(&[&query]);
        let candidates: Vec<Candidate> = records.iter().map(|record| {
            let product = |vector: &crate::Vector| {
                let pairs = record.vector.iter().zip(vector);
                pairs.map(|(one, other)| i32::from(*one) * i32::from(*other)).sum()
            };
            Candidate {
                lengths: record.words.lengths,
                encoded: record.words.encoded.clone(),
                product: vector.as_ref().map_or(0, product),
                square: record.square(),
            }
        }).collect();
        let expected = corpus.search(&parsed, &query, Some(&mut *of_query), 50);
        let statistics = statistics(&records, &parsed);
        let found = search_candidates(&candidates, &statistics, &parsed, vector.as_deref().map(|vector| (vector, model.weight_of(&query))), 50);
        prop_assert_eq!(&found.hits, &expected.hits);
        prop_assert_eq!(found.total, expected.total);
        prop_assert_eq!(found.has_meaning, expected.has_meaning);
        prop_assert_eq!(found.remarks, expected.remarks);
        for (number, record) in records.iter().enumerate() {
            prop_assert_eq!(Some(record.path.clone()), corpus.path(number));
        }
    }
}
