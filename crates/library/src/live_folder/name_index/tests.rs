//! Names as people say them.

use proptest::prelude::*;

use super::*;
use crate::live_folder::testing::{changes, contents, path, texts};

fn index(files: &[(&str, &str)]) -> NameIndex {
    NameIndex::new(&contents(&texts(files)))
}

/// The meaning of a name in one line.
fn told(index: &NameIndex, name: &str) -> String {
    let list = |paths: Vec<NotePath>| {
        let paths: Vec<&str> = paths.iter().map(NotePath::as_str).collect();
        paths.join(", ")
    };
    match index.resolve(name) {
        NameMatch::Note(path) => path.to_string(),
        NameMatch::Folder(path) => format!("{path}/"),
        NameMatch::Several(paths) => format!("several: {}", list(paths)),
        NameMatch::None { nearest } => format!("none: {}", list(nearest)),
    }
}

fn farm() -> NameIndex {
    index(&[
        (
            "farm/winter-feed.md",
            "---\naliases: [Futter, Hay Plan]\n---\n",
        ),
        ("farm/sheep.markdown", ""),
        ("projects/plan.md", "---\ntitle: The great plan\n---\n"),
        ("projects/harbour/Plan B.md", ""),
        ("projects/harbour/notes.md", ""),
        ("other/notes.md", "---\nalias: hay plan\n---\n"),
        ("a/Readme.md", ""),
        ("b/readme.md", ""),
        ("b/readme.png", ""),
        ("people.md", ""),
        ("people/ada.md", "---\ntitle: Ada L.\n---\n"),
    ])
}

#[test]
fn names_as_people_say_them() {
    let farm = farm();
    for (name, expected) in [
        // Paths, with and without the extension.
        ("farm/winter-feed.md", "farm/winter-feed.md"),
        ("farm/winter-feed", "farm/winter-feed.md"),
        ("farm/sheep", "farm/sheep.markdown"),
        ("FARM/Winter-Feed.MD", "farm/winter-feed.md"),
        // Names and ends of paths, as links use them.
        ("winter-feed", "farm/winter-feed.md"),
        ("Winter-Feed.md", "farm/winter-feed.md"),
        ("harbour/plan b", "projects/harbour/Plan B.md"),
        ("plan", "projects/plan.md"),
        ("sheep", "farm/sheep.markdown"),
        // Words, whatever is between them.
        ("Winter feed", "farm/winter-feed.md"),
        ("winter_feed", "farm/winter-feed.md"),
        ("plan-b", "projects/harbour/Plan B.md"),
        ("Projects/Harbour/plan-b", "projects/harbour/Plan B.md"),
        (
            "other/plan-b",
            "none: projects/harbour/Plan B.md, farm/winter-feed.md, other/notes.md, projects/plan.md",
        ),
        // Aliases; the spelling given wins.
        ("futter", "farm/winter-feed.md"),
        ("Hay Plan", "farm/winter-feed.md"),
        ("hay plan", "other/notes.md"),
        ("HAY PLAN", "several: farm/winter-feed.md, other/notes.md"),
        // Titles.
        ("The great plan", "projects/plan.md"),
        ("ada l", "people/ada.md"),
        // Several.
        (
            "notes",
            "several: other/notes.md, projects/harbour/notes.md",
        ),
        ("other/notes", "other/notes.md"),
        ("readme", "b/readme.md"),
        ("Readme", "a/Readme.md"),
        ("README", "several: a/Readme.md, b/readme.md"),
        // Folders.
        ("projects", "projects/"),
        ("projects/", "projects/"),
        ("Projects/", "projects/"),
        ("harbour", "projects/harbour/"),
        ("people", "people.md"),
        ("people/", "people/"),
        // Not notes.
        ("readme.png", "none: a/Readme.md, b/readme.md"),
        ("", "none: "),
        ("///", "none: "),
        ("!?", "none: "),
        ("wintr feed", "none: farm/winter-feed.md"),
        ("winter-fed", "none: farm/winter-feed.md"),
        ("zzzz", "none: "),
    ] {
        assert_eq!(told(&farm, name), expected, "{name:?}");
    }
    let long = "x".repeat(100_000);
    assert_eq!(told(&farm, &long), "none: ");
}

#[test]
fn a_change_of_one_note_shows_in_its_names() {
    let mut files = texts(&[
        ("a.md", "---\ntitle: One\nalias: eins\n---\n"),
        ("b/c.md", ""),
    ]);
    let before = contents(&files);
    let mut names = NameIndex::new(&before);
    let old = names.clone();
    files.insert("a.md".into(), "---\ntitle: Two\nalias: eins\n---\n".into());
    files.remove("b/c.md");
    files.insert("d/e.md".into(), String::new());
    let mut after = contents(&files);
    let changes = changes(&before, &mut after);
    names.apply(&after, &changes);
    for (name, expected) in [
        ("Two", "a.md"),
        ("eins", "a.md"),
        ("one", "none: "),
        ("c", "none: "),
        ("b/", "none: "),
        ("e", "d/e.md"),
        ("d", "d/"),
    ] {
        assert_eq!(told(&names, name), expected, "{name:?}");
    }
    assert_eq!(told(&old, "one"), "a.md");
    let record = names.note("a.md").unwrap();
    assert!(Arc::ptr_eq(record, &after.notes[0]));
}

#[test]
fn similar_names_are_found_among_many() {
    let mut files = texts(&[("deep/Harbour budget 2026.md", "")]);
    for number in 0..3_000 {
        files.insert(format!("n/note {number}.md"), String::new());
    }
    let names = NameIndex::new(&contents(&files));
    assert_eq!(
        told(&names, "harbor budget 2026"),
        "none: deep/Harbour budget 2026.md"
    );
    assert_eq!(told(&names, "budget"), "none: deep/Harbour budget 2026.md");
}

const NAMES: [&str; 10] = [
    "a.md",
    "A.md",
    "x/a.md",
    "x/b c.md",
    "x/B-c.md",
    "b c.markdown",
    "x.md",
    "x/y/a.md",
    "p.png",
    "x/p.png",
];
const TEXTS: [&str; 5] = [
    "",
    "---\nalias: a\n---\n",
    "---\ntitle: B c\n---\n",
    "---\naliases: [x, Q]\n---\n",
    "---\ntitle: a\nalias: b c\n---\n",
];

proptest! {
    /// An index that was brought up to date gives the answers of one that was made from scratch.
    #[test]
    fn updates_are_like_building_again(
        steps in proptest::collection::vec((0..NAMES.len(), proptest::option::of(0..TEXTS.len())), 1..24),
    ) {
        let mut files = texts(&[]);
        let mut state = contents(&files);
        let mut names = NameIndex::new(&state);
        for (name, text) in steps {
            match text {
                Some(text) => files.insert(NAMES[name].to_owned(), TEXTS[text].to_owned()),
                None => files.remove(NAMES[name]),
            };
            let mut after = contents(&files);
            let changes = changes(&state, &mut after);
            names.apply(&after, &changes);
            state = after;
        }
        let again = NameIndex::new(&state);
        for name in NAMES.iter().copied().chain(["a", "b c", "B-c", "x", "x/", "q", "Q", "p.png", "X/A", "b"]) {
            prop_assert_eq!(names.resolve(name), again.resolve(name), "{}", name);
            prop_assert_eq!(names.by_name(name), again.by_name(name));
            prop_assert_eq!(names.by_alias(name), again.by_alias(name));
            prop_assert_eq!(names.has_file(name), state.others.contains(&path("p.png")) && name == "p.png"
                || files.contains_key(name));
        }
        // Every note is found by its path, and never by a guess.
        for note in &state.notes {
            prop_assert_eq!(names.resolve(note.path.as_str()), NameMatch::Note(note.path.clone()));
        }
    }

    /// Any text has a meaning or none.
    #[test]
    fn any_text_can_be_looked_up(name in ".{0,40}") {
        if let NameMatch::Note(found) = farm().resolve(&name) {
            prop_assert!(!found.as_str().is_empty());
        }
    }
}
