//! `sectile demo`: it shows what it promises, and leaves nothing behind.

use std::fs;

use super::Home;

/// Text of the sample that no answer may hold: bodies, and front matter that is not among the facets.
const PRIVATE: [&str; 7] = [
    "Three days in June",
    "The details are still private",
    "Boats at nine",
    "Nobody outside the team",
    "not-for-agents",
    "A pattern language",
    "Noch nichts für andere Augen",
];

const SAMPLE: [&str; 3] = [
    include_str!("../../../src/cli/demo/plan.md"),
    include_str!("../../../src/cli/demo/reading-list.md"),
    include_str!("../../../src/cli/demo/ideen.md"),
];

#[test]
fn the_demo_shows_structure_without_text_then_an_edit_its_undo_and_a_verified_quote() {
    let home = Home::new();
    let ran = home.run(&["demo"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
    let (introduction, calls) = ran.stdout.split_once("->").unwrap();
    let (calls, edits) = calls.split_once("Another agent may edit").unwrap();
    for shown in [
        "\"content\": \"Boats at nine, music at noon.\"",
        "-Boats at nine, music at noon.\n",
        "+Boats at ten, music at noon.\n",
        "\"code\": -32000",
        "-Boats at ten, music at noon.\n",
        "sectile://docs/recipes#",
        "\"ranking\":\"sectile-docs-1+sectile-bm25f-2\"",
        "\"reference_id\": \"projects/harbour/plan.md@",
        "\"exact_text\": \"Boats at nine, music at noon.\"",
        "\"verified\":true",
    ] {
        assert!(edits.contains(shown), "{shown} is not in {edits}");
    }
    assert!(
        introduction.contains("| # Harbour festival"),
        "{introduction}"
    );
    assert_eq!(calls.matches("<-").count(), 4, "{calls}");
    for shown in [
        "h1-harbour-festival-0001",
        "Später",
        "\"project\":\"harbour\"",
        "Invalid path: path must be vault-relative and cannot escape vault",
    ] {
        assert!(calls.contains(shown), "{shown} is not in {calls}");
    }
    for text in PRIVATE {
        assert!(
            SAMPLE.iter().any(|note| note.contains(text)),
            "{text} is gone"
        );
        assert!(!calls.contains(text), "{text} leaks: {calls}");
    }
    let folder = home.path("");
    assert!(!ran.stdout.contains(folder.to_str().unwrap()), "{ran:?}");
    let left = fs::read_dir(home.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "the sample folder is removed");
}
