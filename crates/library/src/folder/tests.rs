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

#[test]
fn an_undivided_folder_is_one_collection_with_everything_below() {
    let files = [
        (".gitignore", "drafts/\n"),
        (".sectile/x.md", "private"),
        ("a/deep/x.md", "text"),
        ("a/_artifacts/x.md", "kept"),
        ("_artifacts/s/set.toml", "set"),
        ("_artifacts/s/summary.md", "derived"),
        ("_b/x.md", ""),
        ("drafts/x.md", "draft"),
        ("top.md", ""),
    ];
    let (folder, divided) = storage(&files);
    let whole = FolderStorage::whole(folder.path(), Walk::default(), 100).unwrap();
    assert_eq!(divided.collections().unwrap(), [TOP, "a"]);
    assert_eq!(whole.collections().unwrap(), [TOP]);
    let listed = whole.notebooks(TOP, &|| false).unwrap();
    let names: Vec<&str> = listed.iter().map(|one| one.notebook.as_str()).collect();
    assert_eq!(
        names,
        ["_b/x.md", "a/_artifacts/x.md", "a/deep/x.md", "top.md"]
    );
    assert_eq!(listed[2].stamp.bytes, 4);
    for one in &listed {
        let file = &one.notebook;
        assert!(whole.read(TOP, file).unwrap().is_some(), "{file}");
        assert!(whole.read_listed(TOP, file).unwrap().is_some(), "{file}");
    }
    for file in ["drafts/x.md", ".sectile/x.md", "deep/x.md"] {
        assert_eq!(whole.read(TOP, &path(file)), Ok(None), "{file}");
    }
    assert_eq!(
        whole.artifact_files(TOP, &|| false).unwrap(),
        [
            path("_artifacts/s/set.toml"),
            path("_artifacts/s/summary.md")
        ]
    );
    for name in ["a", "", "..", "_b"] {
        let missing = StorageError::CollectionNotFound;
        assert_eq!(whole.notebooks(name, &|| false), Err(missing.clone()));
        assert_eq!(whole.read(name, &path("x.md")), Err(missing.clone()));
        assert_eq!(whole.artifact_files(name, &|| false), Err(missing));
    }
    for (file, _) in files {
        fs::remove_file(folder.path().join(file)).unwrap();
    }
    assert_eq!(whole.collections().unwrap(), [TOP], "nothing in it yet");
    assert_eq!(whole.notebooks(TOP, &|| false), Ok(Vec::new()));
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(matches!(whole.ready(), Err(StorageError::Failed { .. })));
}

#[test]
fn what_happens_in_hidden_folders_is_not_a_change() {
    let root = Path::new("/notes");
    for file in ["/notes/.git/HEAD", "/notes/a/.sectile/deep/journal"] {
        assert!(is_in_hidden_folder(root, Path::new(file)), "{file}");
    }
    for file in [
        "/notes",
        "/notes/.gitignore",
        "/notes/a/.gitignore",
        "/notes/a/x.md",
        "/.b/x.md",
    ] {
        assert!(!is_in_hidden_folder(root, Path::new(file)), "{file}");
    }
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
