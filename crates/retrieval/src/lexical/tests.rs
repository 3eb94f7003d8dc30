//! The guarantees of the ranking, by example and by property.

use proptest::prelude::*;

use super::*;

fn index(passages: &[(&str, &str, &str)]) -> Index {
    let passages = passages.iter().map(|(heading, trail, body)| Passage {
        heading,
        trail: vec![trail],
        body,
    });
    Index::new(passages).unwrap()
}

/// Hits and remarks.
struct Found {
    hits: Vec<Hit>,
    remarks: Remarks,
}

fn found(index: &Index, query: &str) -> Found {
    let query = Query::parse(query).unwrap();
    let ranked = index.rank(&query, |_| 0);
    Found {
        hits: ranked.hits(10),
        remarks: ranked.remarks,
    }
}

fn order(index: &Index, query: &str) -> Vec<usize> {
    found(index, query)
        .hits
        .iter()
        .map(|hit| hit.passage)
        .collect()
}

#[test]
fn a_heading_beats_a_body_but_not_several_words_of_one() {
    let index = index(&[
        ("Other", "T", "the lane along the canal, and another lane"),
        ("Lane", "T", "nothing here but a long text about boats"),
        ("Boats", "T", "how the tide moves boats at the canal"),
    ]);
    assert_eq!(order(&index, "lane"), [1, 0]);
    // One word of a heading does not outrank three others in a text.
    assert_eq!(order(&index, "lane tide moves canal")[0], 2);
}

#[test]
fn a_rare_word_beats_a_frequent_one() {
    let index = index(&[
        ("A", "", "the section has a comparator"),
        ("B", "", "the section section section"),
        ("C", "", "the section again"),
    ]);
    assert_eq!(order(&index, "section comparator")[0], 0);
}

#[test]
fn punctuation_hides_no_word_and_parts_are_found() {
    let index = index(&[
        (
            "Limits",
            "Config",
            "Set `max_doc_bytes` to bound a document.",
        ),
        ("Types", "Code", "A ToolSpec describes server.tools."),
        ("Other", "", "doc of bytes at max"),
    ]);
    assert_eq!(order(&index, "max_doc_bytes")[0], 0);
    assert_eq!(order(&index, "(max_doc_bytes)?")[0], 0);
    assert_eq!(order(&index, "ToolSpec"), [1]);
    assert_eq!(order(&index, "toolspec,"), [1]);
    assert_eq!(order(&index, "tool spec"), [1]);
    assert_eq!(order(&index, "server.tools"), [1]);
}

#[test]
fn the_form_that_was_asked_for_is_preferred() {
    let index = index(&[
        ("A", "", "he ran comparing them"),
        ("B", "", "we compare them"),
        ("C", "", "nothing"),
    ]);
    let found = found(&index, "compare");
    assert_eq!(found.hits.len(), 2);
    assert_eq!(found.hits[0].passage, 1);
    assert_eq!(found.hits[0].matches[0].form, Form::Exact);
    assert_eq!(found.hits[1].matches[0].form, Form::Stem);
}

#[test]
fn quotation_marks_keep_words_together() {
    let index = index(&[
        ("A", "", "lanes of trust"),
        ("B", "", "there are trust lanes here"),
        ("C", "", "no road"),
    ]);
    assert_eq!(order(&index, "\"trust lanes\""), [1]);
    assert_eq!(order(&index, "trust lanes"), [1, 0]);
    let apart = found(&index, "\"trust road\"");
    assert!(apart.remarks.phrases_ignored);
    assert_eq!(apart.hits.len(), 3);
}

#[test]
fn words_that_almost_match_are_a_last_resort() {
    let index = index(&[("Comparator", "", "text"), ("Provider", "", "text")]);
    let found = found(&index, "comparater");
    assert_eq!(found.hits[0].passage, 0);
    assert_eq!(found.remarks.corrected[0].used, ["comparator"]);
    let nothing = self::found(&index, "xylophone");
    assert_eq!(
        (nothing.hits.len(), nothing.remarks.unknown.as_slice()),
        (0, &["xylophone".to_owned()][..])
    );
}

/// Words that others have been taken for, and one that is in none of the passages.
fn manual() -> Index {
    index(&[
        (
            "Locked files",
            "Guide",
            "The editor keeps a locked file on disk until the installation ends.",
        ),
        (
            "Configuration",
            "Guide",
            "The configuration of the editor, and its container, is on one page.",
        ),
        (
            "Recommended",
            "Guide",
            "Port 8081 receives what the repository separates; the flash burns.",
        ),
    ])
}

#[test]
fn a_good_word_is_not_taken_for_another() {
    let index = manual();
    for word in [
        // Words of the language and names of tools, which are spelt almost like words of the manual.
        "docker",
        "docked",
        "auditor",
        "auditors",
        "own",
        "files's",
        "contained",
        "edition",
        "parts",
        // The first letter is another, the word is too short, or it is a number.
        "roncontainer",
        "bocked",
        "dosk",
        "fles",
        "pge",
        "8080",
        "8018",
        // One letter too many is wrong.
        "flahses",
        "instolotion",
    ] {
        let alone = found(&index, word);
        assert!(
            alone.remarks.corrected.is_empty(),
            "{word}: {:?}",
            alone.remarks
        );
        let beside = found(&index, &format!("{word} repository"));
        assert!(
            beside.remarks.suggested.is_empty(),
            "{word}: {:?}",
            beside.remarks
        );
    }
}

#[test]
fn a_misspelt_word_alone_is_repaired() {
    let index = manual();
    for (asked, used) in [
        ("isntallation", "installation"),
        ("confguration", "configuration"),
        ("ocnfiguration", "configuration"),
        ("configuartion", "configuration"),
        ("recomended", "recommended"),
        ("repositry", "repository"),
        ("contianer", "container"),
        ("pgae", "page"),
        ("flsh", ""),
    ] {
        let found = found(&index, asked);
        let corrected: Vec<&String> = found
            .remarks
            .corrected
            .iter()
            .flat_map(|one| &one.used)
            .collect();
        let expected: Vec<&str> = Some(used)
            .filter(|used| !used.is_empty())
            .into_iter()
            .collect();
        assert_eq!(corrected, expected, "{asked}");
        assert_eq!(found.hits.is_empty(), used.is_empty(), "{asked}");
        assert!(found.remarks.suggested.is_empty());
    }
    // This one has the same stem.
    assert_eq!(order(&index, "instalation"), [0]);
    // Several, and words that say nothing.
    let several = found(&index, "how do I do an isntallation of the confguration");
    assert_eq!(
        (several.remarks.corrected.len(), several.hits.len()),
        (2, 2)
    );
    assert!(several.remarks.unknown.is_empty());
}

#[test]
fn beside_words_that_occur_a_correction_is_a_suggestion() {
    let index = manual();
    let found = found(&index, "repositry of the editor xylophone");
    let right = self::found(&index, "of the editor");
    let order = |found: &Found| {
        found
            .hits
            .iter()
            .map(|hit| (hit.passage, hit.score))
            .collect::<Vec<_>>()
    };
    assert_eq!(order(&found), order(&right));
    assert!(found.remarks.corrected.is_empty());
    assert_eq!(found.remarks.unknown, ["repositry", "xylophone"]);
    let [suggestion] = found.remarks.suggested.as_slice() else {
        panic!("{:?}", found.remarks);
    };
    assert_eq!(suggestion.asked, "repositry");
    assert_eq!(suggestion.candidates, ["repository"]);
    assert_eq!(
        self::found(&index, "repositry of the editor xylophone").remarks,
        found.remarks
    );
}

#[test]
fn at_most_a_few_words_are_corrected() {
    let index = manual();
    let many: String = (b'a'..=b'l')
        .map(|letter| format!("confi{}guration ", char::from(letter)))
        .collect();
    let remarks = found(&index, &format!("{many} editor")).remarks;
    assert_eq!(
        (remarks.corrected.len(), remarks.suggested.len()),
        (0, MOST_CORRECTED)
    );
    let remarks = found(&index, &many).remarks;
    assert_eq!(
        (remarks.corrected.len(), remarks.unknown.len()),
        (MOST_CORRECTED, 4)
    );
}

#[test]
fn fillers_count_only_when_there_is_nothing_else() {
    let index = index(&[
        ("How", "", "how do I"),
        ("Provider", "", "write a provider"),
    ]);
    assert_eq!(order(&index, "how do I write a provider?"), [1]);
    assert_eq!(order(&index, "how do I"), [0]);
}

#[test]
fn equal_passages_keep_their_order() {
    let index = index(&[("A", "", "same"), ("A", "", "same"), ("A", "", "same")]);
    assert_eq!(order(&index, "same"), [0, 1, 2]);
}

#[test]
fn favour_moves_but_lets_nobody_in() {
    let index = index(&[("A", "", "same"), ("A", "", "same"), ("B", "", "other")]);
    let query = Query::parse("same").unwrap();
    let favour = |passage| if passage > 0 { 20 } else { 0 };
    let hits = index.rank(&query, favour).hits(10);
    let order: Vec<usize> = hits.iter().map(|hit| hit.passage).collect();
    assert_eq!(order, [1, 0]);
    assert_eq!(
        index.rank(&query, favour).best(|passage| passage != 1),
        Some(0)
    );
}

#[test]
fn a_question_that_is_too_long_is_refused() {
    assert_eq!(
        Query::parse(&"x".repeat(MAX_QUERY_BYTES + 1)),
        Err(QueryError::TooLong)
    );
    assert_eq!(
        Query::parse(&"x ".repeat(MAX_QUERY_WORDS + 1)),
        Err(QueryError::TooManyWords)
    );
    assert!(Query::parse("\u{0}\u{1b}[31m \t").is_ok());
}

#[test]
fn too_many_passages_are_refused() {
    let passages = (0..=MAX_PASSAGES).map(|_| Passage::default());
    assert_eq!(
        Index::new(passages).unwrap_err(),
        IndexError::TooManyPassages
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_parts_of_a_score_are_the_score(
        bodies in proptest::collection::vec("([a-d]{1,3} ){0,8}", 1..12),
        query in "([a-d]{1,3} ){0,4}",
    ) {
        let passages = bodies.iter().map(|body| Passage { heading: "x", trail: vec![], body });
        let index = Index::new(passages).unwrap();
        let found = found(&index, &query);
        for pair in found.hits.windows(2) {
            prop_assert!((pair[1].score, pair[0].passage) < (pair[0].score, pair[1].passage) || pair[0].score > pair[1].score);
        }
        for hit in &found.hits {
            let sum: u64 = hit.matches.iter().map(|one| one.score).sum();
            prop_assert_eq!(sum + hit.together + hit.favour, hit.score);
        }
    }

    #[test]
    fn a_phrase_is_where_its_words_stand_together(
        bodies in proptest::collection::vec("([ab] ){0,6}", 1..12),
        phrase in "[abc]( [abc]){0,2}",
    ) {
        let passages = bodies.iter().map(|body| Passage { heading: "x", trail: vec!["a b"], body });
        let index = Index::new(passages).unwrap();
        let quoted = found(&index, &format!("\"{phrase}\""));
        prop_assume!(bodies.len() <= 10);
        let expected: Vec<usize> = (0..bodies.len())
            .filter(|at| "a b".contains(&phrase) || bodies[*at].trim().contains(&phrase))
            .collect();
        let mut order: Vec<usize> = quoted.hits.iter().map(|hit| hit.passage).collect();
        order.sort_unstable();
        if !quoted.remarks.phrases_ignored {
            prop_assert_eq!(order, expected.into_iter().take(10).collect::<Vec<_>>());
        } else {
            prop_assert_eq!(expected, [0; 0]);
        }
    }

    #[test]
    fn any_question_has_an_answer(query in "\\PC{0,200}", body in "\\PC{0,200}") {
        let index = Index::new([Passage { heading: "h", trail: vec!["t"], body: &body }]).unwrap();
        if let Ok(query) = Query::parse(&query) {
            let hits = index.rank(&query, |_| 7).hits(3);
            prop_assert!(hits.len() <= 1);
        }
    }

    #[test]
    fn what_a_passage_says_finds_it(body in "[a-zA-Z]{3,8}( [a-zA-Z_.]{3,8}){0,6}") {
        let index = Index::new([Passage { heading: "h", trail: vec![], body: &body }]).unwrap();
        let found = found(&index, &body);
        prop_assert_eq!(found.hits.len(), 1);
        prop_assert!(found.remarks.unknown.is_empty() && found.remarks.corrected.is_empty());
    }

    #[test]
    fn a_word_that_does_not_occur_moves_nothing(
        bodies in proptest::collection::vec("((harbour|harbours|configuration|installed|container) ){1,6}", 1..8),
        known in "((harbour|configuration|installation|containers) ){1,4}",
        missing in "(harbuor|confguration|contianer|zzzzz|docker)",
    ) {
        let passages = bodies.iter().map(|body| Passage { heading: "x", trail: vec![], body });
        let index = Index::new(passages).unwrap();
        let without = found(&index, &known);
        let with = found(&index, &format!("{known} {missing}"));
        // Whatever all words of the query find is found in the same order, with the same score.
        prop_assert!(without.remarks.suggested.is_empty() || !without.remarks.unknown.is_empty());
        if !without.hits.is_empty() && without.remarks.corrected.is_empty() {
            prop_assert_eq!(&with.hits, &without.hits);
            prop_assert!(with.remarks.corrected.is_empty());
            prop_assert!(with.remarks.unknown.contains(&missing));
        }
    }

    #[test]
    fn words_that_all_occur_are_taken_as_they_are(
        bodies in proptest::collection::vec("((harbour|harbuor|confguration|configuration|contianer|container) ){1,6}", 1..8),
        query in "((harbour|harbuor|confguration|configuration|contianer|container) ){1,4}",
    ) {
        let passages = bodies.iter().map(|body| Passage { heading: "x", trail: vec![], body });
        let index = Index::new(passages).unwrap();
        prop_assume!(query.split_whitespace().all(|word| bodies.iter().any(|body| body.contains(word))));
        let found = found(&index, &query);
        let remarks = &found.remarks;
        prop_assert!(remarks.unknown.is_empty() && remarks.corrected.is_empty() && remarks.suggested.is_empty());
        prop_assert!(found.hits.iter().flat_map(|hit| &hit.matches).all(|one| one.form == Form::Exact));
    }
}
