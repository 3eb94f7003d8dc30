//! What is a collection, what is a notebook, and what cannot be read.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::{fs, os::unix::fs::symlink};

use tempfile::TempDir;

use crate::{
    conformance::{Files, check_storage},
    folder::*,
};

fn storage(files: &[(&str, &str)]) -> (TempDir, FolderStorage) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let storage = FolderStorage::open(folder.path(), Walk::default(), 100).unwrap();
    (folder, storage)
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

#[test]
fn collections_and_their_notebooks() {
    let (folder, storage) = storage(&[
        (".gitignore", "drafts/\n"),
        ("b/deep/x.md", "text"),
        ("b/a.MD", ""),
        ("b/a.markdown", ""),
        ("b/drafts/x.md", ""),
        ("b/_artifacts/s/summary.md", ""),
        ("b/_artifacts/s/set.toml", ""),
        ("b/in/_artifacts/x.md", ""),
        ("a/note.md", ""),
        ("_shared/x.md", ""),
        (".hidden/x.md", ""),
        ("loose.md", ""),
    ]);
    symlink("b", folder.path().join("link")).unwrap();
    assert_eq!(storage.collections().unwrap(), [TOP, "a", "b"]);
    let listed = storage.notebooks("b", &|| false).unwrap();
    let names: Vec<&str> = listed.iter().map(|one| one.notebook.as_str()).collect();
    assert_eq!(names, ["a.MD", "deep/x.md", "in/_artifacts/x.md"]);
    assert_eq!(listed[1].stamp.bytes, 4);
    assert_eq!(
        storage.artifact_files("b", &|| false).unwrap(),
        [
            path("_artifacts/s/set.toml"),
            path("_artifacts/s/summary.md")
        ]
    );
    assert_eq!(storage.artifact_files("a", &|| false).unwrap(), []);
    assert_eq!(
        storage.notebooks("a", &|| true),
        Err(StorageError::Cancelled)
    );
}

#[test]
fn only_the_exact_name_is_a_collection() {
    let (folder, storage) = storage(&[
        ("Café/x.md", "text"),
        ("_shared/x.md", "text"),
        ("loose.md", ""),
    ]);
    symlink("Café", folder.path().join("link")).unwrap();
    for name in [
        "",
        "./",
        "..",
        "café",
        "CAFÉ",
        "Cafe\u{301}",
        "Сafé",
        "Café/",
        "./Café",
        "Café/..",
        "Café\0",
        " Café",
        "Café\u{200b}",
        "_shared",
        "link",
        "loose.md",
        "Café\\",
        "../Café",
    ] {
        let missing = StorageError::CollectionNotFound;
        let notebooks = storage.notebooks(name, &|| false);
        assert_eq!(notebooks, Err(missing.clone()), "{name:?}");
        let read = storage.read(name, &path("x.md"));
        assert_eq!(read, Err(missing.clone()), "{name:?}");
        let files = storage.artifact_files(name, &|| false);
        assert_eq!(files, Err(missing), "{name:?}");
    }
    assert_eq!(
        storage.read("Café", &path("x.md")).unwrap().as_deref(),
        Some(&b"text"[..])
    );
}

#[test]
fn what_is_not_listed_is_not_read() {
    let (folder, storage) = storage(&[
        (".gitignore", "drafts/\n"),
        ("a/x.md", "text"),
        ("a/drafts/x.md", "draft"),
        ("a/.git/config", "secret"),
        ("a/big.md", &"x".repeat(101)),
        ("other/x.md", "other"),
    ]);
    symlink("../other/x.md", folder.path().join("a/link.md")).unwrap();
    symlink("../other", folder.path().join("a/folder")).unwrap();
    for file in [
        "none.md",
        "drafts/x.md",
        ".git/config",
        "big.md",
        "link.md",
        "folder/x.md",
        "x.md/y.md",
    ] {
        assert_eq!(storage.read("a", &path(file)), Ok(None), "{file}");
    }
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    assert_eq!(
        storage.read("a", &path("x.md")),
        Err(StorageError::CollectionNotFound)
    );
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(matches!(
        storage.collections(),
        Err(StorageError::Failed { .. })
    ));
}

#[test]
fn patterns_say_which_notebooks_count() {
    let (folder, _) = storage(&[("a/x.md", "x"), ("a/y.md", "y"), ("a/collection.toml", "")]);
    let walk = Walk::new(vec!["x.md".to_owned()], Vec::new()).unwrap();
    let storage = FolderStorage::open(folder.path(), walk, 100).unwrap();
    assert_eq!(storage.notebooks("a", &|| false).unwrap().len(), 1);
    assert_eq!(storage.read("a", &path("y.md")), Ok(None));
    assert!(storage.read("a", &path("x.md")).unwrap().is_some());
    let manifest = storage.read("a", &path("collection.toml")).unwrap();
    assert!(manifest.is_some());
}

/// The folder itself, past the storage.
struct Folder(TempDir);

impl Files for Folder {
    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.0.path().join(path)).unwrap();
    }

    fn remove_collection(&self, name: &str) {
        fs::remove_dir_all(self.0.path().join(name)).unwrap();
    }
}

#[test]
fn a_folder_keeps_the_rules_of_all_storages() {
    let (folder, storage) = storage(&[]);
    check_storage(&storage, 100, &Folder(folder));
}
