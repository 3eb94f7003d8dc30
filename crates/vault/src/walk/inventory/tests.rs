//! An inventory has what a walk finds, and each item alone is what the inventory has.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::{fs, os::unix::fs::symlink};

use super::*;

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

fn fixture() -> (tempfile::TempDir, Root) {
    let temp = tempfile::tempdir().unwrap();
    let at = |name: &str| temp.path().join(name);
    for folder in ["a/b", "ignored", ".hidden", "a/secret"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for file in [
        "top.md",
        "a/one.md",
        "a/picture.png",
        "a/b/two.markdown",
        "ignored/three.md",
        ".hidden/four.md",
        "a/secret/five.md",
        "a/b/draft.md",
    ] {
        fs::write(at(file), "x").unwrap();
    }
    fs::write(at(".gitignore"), "ignored/\n").unwrap();
    fs::write(at("a/.ignore"), "draft.md\n").unwrap();
    symlink("one.md", at("a/link.md")).unwrap();
    symlink("b", at("a/linked")).unwrap();
    let root = Root::open(temp.path()).unwrap();
    (temp, root)
}

#[test]
fn each_item_is_what_the_inventory_has() {
    let (_temp, root) = fixture();
    let walk = Walk::new(Vec::new(), vec!["secret/".to_owned()]).unwrap();
    let mut entered = Vec::new();
    let all = root
        .inventory(None, &walk, &|| false, &mut |folder| {
            entered.push(folder.to_owned());
        })
        .unwrap();
    let documents: Vec<&str> = all
        .documents
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!(documents, ["a/b/two.markdown", "a/one.md", "top.md"]);
    assert_eq!(all.others, [path("a/picture.png")]);
    assert_eq!(all.folders, [path("a"), path("a/b")]);
    entered.sort();
    assert_eq!(entered, ["", "a", "a/b"]);
    assert_eq!(root.walk(&walk, &|| false).unwrap().len(), 3);
    for (document, stamp) in &all.documents {
        let item = root.inventory_item(document, &walk).unwrap();
        assert_eq!(item, Some(InventoryItem::Document(*stamp)));
        let (bytes, read) = root.read_settled(document, 10).unwrap().unwrap();
        assert_eq!((bytes.as_slice(), read), (b"x".as_slice(), *stamp));
    }
    let item = |text: &str| root.inventory_item(&path(text), &walk).unwrap();
    assert_eq!(item("a/picture.png"), Some(InventoryItem::Other));
    assert_eq!(item("a/b"), Some(InventoryItem::Folder));
    for absent in [
        "ignored",
        "ignored/three.md",
        ".hidden/four.md",
        "a/secret/five.md",
        "a/b/draft.md",
        "a/link.md",
        "a/linked/two.markdown",
        "none.md",
        "top.md/below.md",
        ".gitignore",
    ] {
        assert_eq!(item(absent), None, "{absent}");
    }
}

#[test]
fn a_folder_is_listed_by_the_rules_above_it() {
    let (temp, root) = fixture();
    let walk = Walk::default();
    let list = |folder: &str| {
        root.inventory(Some(&path(folder)), &walk, &|| false, &mut |_| {})
            .map(|all| all.documents.into_iter().map(|(path, _)| path.to_string()))
            .map(Iterator::collect::<Vec<_>>)
    };
    assert_eq!(list("a/b").unwrap(), ["a/b/two.markdown"]);
    assert!(list("ignored").is_err() && list("a/linked").is_err() && list("none").is_err());
    let before = root.identity();
    assert!(before.is_some());
    fs::rename(temp.path().join("a"), temp.path().join("c")).unwrap();
    assert_eq!(root.identity(), before);
}
