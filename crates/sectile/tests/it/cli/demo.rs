//! `sectile demo`: it shows what it promises, and leaves nothing behind.

use std::fs;

use super::Home;

/// Text of the sample that no answer about structure may hold: bodies, and front matter that is not among the facets.
const PRIVATE: [&str; 5] = [
    "Three days in June",
    "The details are still private",
    "Boats at nine",
    "Nobody outside the team",
    "not-for-agents",
];

const SAMPLE: &str = include_str!("../../../src/cli/demo/plan.md");

#[test]
fn the_demo_finds_reads_edits_and_undoes_then_shows_structure_and_a_verified_quote() {
    let home = Home::new();
    let ran = home.run(&["demo"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
    let (desk, rest) = ran
        .stdout
        .split_once("Another client may see only structure")
        .unwrap();
    let (structure, rest) = rest.split_once("The same notes as a library").unwrap();
    for shown in [
        "| # Harbour festival",
        "\"id\":\"projects/harbour/plan.md#saturday-",
        "     Boats at nine, music at noon.\n",
        "     -Boats at nine, music at noon.\n",
        "     +Boats at ten, music at noon.\n",
        "<- conflict: ",
        "\"repaired\":1",
        "     +### Day one\n",
        "     -### Day one\n",
    ] {
        assert!(desk.contains(shown), "{shown} is not in {desk}");
    }
    for shown in [
        "h1-harbour-festival-0001",
        "Invalid path: path must be vault-relative and cannot escape vault",
    ] {
        assert!(structure.contains(shown), "{shown} is not in {structure}");
    }
    for text in PRIVATE {
        assert!(SAMPLE.contains(text), "{text} is gone");
        assert!(!structure.contains(text), "{text} leaks: {structure}");
    }
    for shown in [
        "\"reference_id\": \"projects/harbour/plan.md@",
        "\"exact_text\": \"Boats at ten, music at noon.\"",
        "\"verified\":true",
        "sectile://docs/",
        "\"ranking\":\"sectile-docs-2+sectile-bm25f-5+sectile-fusion-5+static-",
    ] {
        assert!(rest.contains(shown), "{shown} is not in {rest}");
    }
    let folder = home.path("");
    assert!(!ran.stdout.contains(folder.to_str().unwrap()), "{ran:?}");
    let left = fs::read_dir(home.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "the sample folder is removed");
    assert_eq!(fs::read_dir(home.path("home")).unwrap().count(), 0);
}
