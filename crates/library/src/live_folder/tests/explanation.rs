//! Why hits are where they are.

use sectile_retrieval::Form;

use super::*;
use crate::tiers::RankingChoice;

const NOTES: [(&str, &str); 6] = [
    (
        "boats.md",
        "# Boats\n\n## Anchoring\n\nDrop the anchor, then anchor again. The anchor holds.\n",
    ),
    (
        "harbour.md",
        "# Harbour\n\nThe pilot anchored outside and waited.\n",
    ),
    (
        "garage.md",
        "---\ntags: [car]\n---\n# Garage\n\nFixing an automobile takes a mechanic.\n",
    ),
    ("cake.md", "# Apple cake\n\nFlour, butter and apples.\n"),
    ("bread.md", "# Bread\n\nFlour, water, salt and time.\n"),
    ("tasks.md", "# Tasks\n\n- [ ] Buy an anchor\n- [ ] Call\n"),
];

fn notes() -> (TempDir, Arc<FolderState>) {
    let folder = folder_with(&NOTES);
    let state = opened(folder.path()).complete(&|| false).unwrap();
    (folder, state)
}

fn explained(state: &FolderState, query: &str, ranking: RankingChoice) -> FolderHits {
    let query = FolderQuery::parse(query, 0, &|_| false).unwrap();
    let options = SearchOptions {
        explain: true,
        ranking,
    };
    state
        .search_with(&query, 0..10, options, &|| false)
        .unwrap()
}

fn full(state: &FolderState, query: &str) -> FolderHits {
    explained(state, query, RankingChoice::Full)
}

fn why<'h>(found: &'h FolderHits, path: &str) -> &'h HitExplanation {
    let hit = found.hits.iter().find(|hit| hit.path.as_str() == path);
    hit.unwrap().explanation.as_deref().unwrap()
}

#[test]
fn a_word_is_explained_by_its_form_its_places_and_its_rarity() {
    let (_folder, state) = notes();
    let found = full(&state, "anchor");
    let boats = why(&found, "boats.md");
    let [term] = boats.terms.as_slice() else {
        panic!("{boats:?}");
    };
    assert_eq!((term.asked.as_str(), term.form), ("anchor", Form::Exact));
    assert_eq!((term.in_heading, term.in_trail, term.in_body), (0, 0, 3));
    assert_eq!(boats.words.unwrap().rank, 1);
    assert_eq!(term.passages, 2, "{term:?}");
    // Another form of the word is found by its stem, which more passages have.
    let harbour = &why(&found, "harbour.md").terms[0];
    assert_eq!(
        (harbour.found.as_str(), harbour.form),
        ("anchor", Form::Stem)
    );
    assert_eq!((harbour.in_body, harbour.passages), (1, 3));
    assert!(harbour.rarity < term.rarity && harbour.score < term.score);
    let anchored = full(&state, "anchored boats");
    let boats = &why(&anchored, "boats.md").terms;
    let stem = &boats[0];
    assert_eq!((stem.found.as_str(), stem.form), ("anchor", Form::Stem));
    assert_eq!((stem.in_heading, stem.in_body), (1, 3));
    // The title, which is the name of the file, and the heading above.
    assert_eq!((boats[1].asked.as_str(), boats[1].in_trail), ("boats", 2));
}

#[test]
fn a_paraphrase_is_explained_by_meaning_alone() {
    let (_folder, state) = notes();
    let found = full(&state, "car repair");
    assert_eq!(found.hits[0].path.as_str(), "garage.md");
    let garage = why(&found, "garage.md");
    assert_eq!((garage.words, garage.terms.len()), (None, 0));
    assert_eq!(garage.meaning.unwrap().rank, 1);
    assert_eq!(found.tier, Some(Tier::Static));
    assert!(found.basis.unwrap().has_meaning);
    // By words there is nothing to find.
    let by_words = explained(&state, "car repair", RankingChoice::Words);
    assert!(by_words.hits.is_empty(), "{:?}", by_words.hits);
    assert_eq!(by_words.tier, None);
}

#[test]
fn the_order_is_that_of_the_search_and_follows_from_the_parts() {
    let (_folder, state) = notes();
    for text in [
        "anchor",
        "flour for an apple cake",
        "car repair harbour",
        "\"the pilot\"",
    ] {
        for ranking in [
            RankingChoice::Words,
            RankingChoice::Static,
            RankingChoice::Full,
        ] {
            let found = explained(&state, text, ranking);
            let query = FolderQuery::parse(text, 0, &|_| false).unwrap();
            let options = SearchOptions {
                explain: false,
                ranking,
            };
            let plain = state
                .search_with(&query, 0..10, options, &|| false)
                .unwrap();
            assert!(
                plain.basis.is_none() && plain.hits.iter().all(|hit| hit.explanation.is_none())
            );
            let place = |hit: &FolderHit| (hit.path.clone(), hit.span, hit.score);
            let places = |found: &FolderHits| found.hits.iter().map(place).collect::<Vec<_>>();
            assert_eq!(places(&found), places(&plain), "{text}");
            let basis = found.basis.unwrap();
            assert_eq!(basis.has_meaning, ranking != RankingChoice::Words);
            for (at, hit) in found.hits.iter().enumerate() {
                let why = hit.explanation.as_deref().unwrap();
                assert_eq!(why.fused.rank, at + 1);
                let words = why.words.map_or(0, |one| one.score) * basis.words_weight;
                let meaning = why.meaning.map_or(0, |one| one.score) * basis.meaning_weight;
                assert_eq!(hit.score, (words + meaning) / 1_000_000, "{text}: {why:?}");
            }
            // The same again is the same.
            assert_eq!(explained(&state, text, ranking).hits, found.hits);
        }
        // Without a second tier, the full ranking is the static one.
        let hits = |ranking| explained(&state, text, ranking).hits;
        assert_eq!(hits(RankingChoice::Full), hits(RankingChoice::Static));
    }
}

#[test]
fn filters_alone_explain_themselves() {
    let (_folder, state) = notes();
    for text in ["tag:car", "is:task", "sort:modified"] {
        let found = full(&state, text);
        assert!(!found.hits.is_empty(), "{text}");
        assert!(found.hits.iter().all(|hit| hit.explanation.is_none()));
        assert_eq!((found.tier, found.basis), (None, None));
    }
    let filters = |text: &str| FolderQuery::filters_in(text, 0, &|name| name == "status").unwrap();
    assert_eq!(
        filters("boats tag:car -status:done http://x \"tag:y\" path:\"a b/\" sort:path"),
        ["tag:car", "-status:done", "path:\"a b/\"", "sort:path"]
    );
}

/// In another order, a hit keeps its rank by relevance; a task has that of its passage.
#[test]
fn other_orders_and_tasks_are_explained_by_their_passages() {
    let (_folder, state) = notes();
    let by_path = full(&state, "anchor sort:path");
    assert!(by_path.hits.is_sorted_by_key(|hit| hit.path.clone()));
    let relevant = full(&state, "anchor");
    assert!(!relevant.hits.is_sorted_by_key(|hit| hit.path.clone()));
    assert_eq!(by_path.hits.len(), relevant.hits.len());
    for hit in &relevant.hits {
        let explanation = hit.explanation.as_deref();
        assert_eq!(Some(why(&by_path, hit.path.as_str())), explanation);
    }
    let tasks = full(&state, "is:task anchor");
    assert_eq!(tasks.hits.len(), 1);
    assert_eq!(why(&tasks, "tasks.md").terms[0].in_body, 1);
}

#[test]
fn each_tier_can_be_asked_for_once_it_is_complete() {
    let (folder, cache) = (folder_with(&NOTES), tempfile::tempdir().unwrap());
    let models = Models {
        second: Some(SecondTierModel::new("explained")),
        ..Models::built_in().unwrap()
    };
    let open = || {
        let options = LiveFolderOptions {
            second_tier: SecondTierUse::Read,
            ..options(folder.path(), Some(cache.path()))
        };
        LiveFolder::open_with(options, models, LIMITS).unwrap()
    };
    let live = open();
    live.settle(&|| false).unwrap();
    let before = full(&live.now(), "car repair");
    assert_eq!(before.tier, Some(Tier::Static));
    live.fill(1, &|| false, &|_| {}).unwrap();
    drop(live);
    let state = open().complete(&|| false).unwrap();
    assert_eq!(state.progress().tier, Tier::Transformer);
    assert_eq!(full(&state, "car repair").tier, Some(Tier::Transformer));
    let first = explained(&state, "car repair", RankingChoice::Static);
    assert_eq!((first.tier, first.hits), (Some(Tier::Static), before.hits));
}
