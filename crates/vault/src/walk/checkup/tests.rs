//! Findings of a checkup of a whole folder.

#![expect(clippy::disallowed_methods, reason = "tests create files")]

use std::{fs, path::Path};

use super::*;

fn tree(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x\n").unwrap();
    }
    folder
}

fn checked(folder: &Path, most: usize) -> Checkup {
    let root = Root::open(folder).unwrap();
    root.check_up(&Walk::default(), most).unwrap()
}

#[test]
fn second_histories_are_found_below_and_above() {
    let tree = tree(&[
        ".sectile/journal",
        "a/.sectile/journal",
        "a/b/.sectile/ids",
        "ignored/.sectile/journal",
        ".gitignore",
        // An index alone is not a history, and neither is the content of a hidden folder.
        "library/.sectile/notebook/x",
        ".trash/.sectile/journal",
    ]);
    fs::write(tree.path().join(".gitignore"), "ignored/\n").unwrap();
    let found = checked(tree.path(), 1000);
    assert_eq!(found.histories, ["a", "a/b", "ignored"]);
    assert_eq!(found.histories_above, [0_usize; 0]);
    assert!(!found.is_cut);
    assert_eq!(checked(&tree.path().join("a"), 1000).histories_above, [1]);
    let inner = checked(&tree.path().join("a/b"), 1000);
    assert_eq!(inner.histories_above, [1, 2]);
    let inner = Root::open(&tree.path().join("library")).unwrap();
    assert_eq!(inner.nearest_history_above(), Some(1));
}

#[test]
fn a_look_has_an_end_and_says_so() {
    let names: Vec<String> = (0..50).map(|number| format!("f{number}/a.md")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tree = tree(&names);
    assert!(checked(tree.path(), 20).is_cut);
    assert!(!checked(tree.path(), 1000).is_cut);
}
