//! A folder is searched as it is now.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::fs;

use crate::{clock, folder::MAX_NOTE_BYTES, live_folder::*};

fn options(folder: &tempfile::TempDir) -> LiveFolderOptions {
    LiveFolderOptions {
        location: folder.path().to_owned(),
        walk: Walk::default(),
        max_note_bytes: MAX_NOTE_BYTES,
        cache: None,
        clock: clock::now,
        background: false,
    }
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

fn found(state: &FolderState, query: &str) -> Vec<String> {
    let query = FolderQuery::parse(query, 0, &|_| false).unwrap();
    let hits = state.search(&query, 0..10, &|| false).unwrap();
    hits.hits.iter().map(|hit| hit.path.to_string()).collect()
}

#[test]
fn edits_are_seen_by_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    fs::write(folder.path().join("a/one.md"), "# One\n\nA quince.\n").unwrap();
    fs::write(folder.path().join("two.markdown"), "# Two\n\nA medlar.\n").unwrap();
    fs::write(folder.path().join("picture.png"), "").unwrap();
    let live = LiveFolder::open(options(&folder)).unwrap();
    let state = live.complete(&|| false).unwrap();
    assert_eq!(found(&state, "quince"), ["a/one.md"]);
    assert_eq!(found(&state, "medlar"), ["two.markdown"]);
    assert_eq!(found(&state, ""), ["a/one.md", "two.markdown"]);
    assert_eq!(state.other_files(), [path("picture.png")]);
    assert_eq!(state.folders(), [path("a")]);
    assert!(live.take_external_changes().is_empty());
    fs::write(folder.path().join("a/one.md"), "# One\n\nA plum.\n").unwrap();
    let state = live.current(&|| false).unwrap();
    assert!(found(&state, "quince").is_empty());
    assert_eq!(found(&state, "plum"), ["a/one.md"]);
    assert_eq!(live.take_external_changes(), [path("a/one.md")]);
    fs::write(folder.path().join("a/one.md"), "# One\n\nA sloe.\n").unwrap();
    live.written(&[path("a/one.md")]).unwrap();
    let state = live.current(&|| false).unwrap();
    assert_eq!(found(&state, "sloe"), ["a/one.md"]);
    assert!(live.take_external_changes().is_empty());
}
