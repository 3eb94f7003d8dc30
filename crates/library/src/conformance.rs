//! Conformance tests for storages and indexes: the rules that all of them share, checked from outside.
//!
//! The author of a storage calls [`check_storage`] in its tests, with an empty storage and a way to put files into it; the
//! author of an index outside this process calls [`check_index`].

mod index;
mod tenants;

use std::collections::BTreeSet;

use sectile_markdown::NotePath;

pub use self::index::{IndexHandles, check_index};
pub use self::tenants::check_tenant_store;

use crate::storage::{
    ArtifactStorage, NotebookFile, NotebookStamp, NotebookStorage, StorageError, TOP,
};

/// Direct access to the files behind a storage. Paths are `collection/path/of/file`. Each call panics on failure.
pub trait Files {
    /// Creates or replaces a file atomically.
    fn put(&self, path: &str, bytes: &[u8]);
    /// Removes a file.
    fn remove(&self, path: &str);
    /// Removes a collection with everything in it.
    fn remove_collection(&self, name: &str);
}

/// Names that are easily mangled by path handling.
const ODD_NAMES: &[&str] = &[
    "a b.md",
    " a.md",
    "a&b=c;d.md",
    "a+b.md",
    "a%2Fb.md",
    "a%20b.md",
    "%.md",
    "a?b#c.md",
    "'quoted' \"twice\".md",
    "<a>.md",
    "{a}[b](c)!$@,^`|~.md",
    "*.md",
    "C:x.md",
    "Café.md",
    "Cafe\u{301}.md",
    "日本語/ノート.md",
    "🦀.md",
    "e\u{200b}.md",
    "-.md",
    "_a/_b.md",
    "x..md",
    "a.md.md",
];

/// Checks an empty storage against every shared rule. `max_note_bytes` is the limit it was created with: at least 100.
///
/// # Panics
/// When the storage breaks a rule.
pub fn check_storage<S>(storage: &S, max_note_bytes: usize, files: &dyn Files)
where
    S: NotebookStorage + ArtifactStorage,
{
    let check = Check { storage, files };
    check.nothing();
    check.collections_and_notebooks();
    check.exact_names_only();
    check.what_is_not_read(max_note_bytes);
    check.changes();
    check.artifacts();
    check.the_top();
    check.odd_names();
    check.nothing();
}

struct Check<'a, S> {
    storage: &'a S,
    files: &'a dyn Files,
}

impl<S: NotebookStorage + ArtifactStorage> Check<'_, S> {
    fn put(&self, paths: &[&str]) {
        for path in paths {
            self.files.put(path, path.as_bytes());
        }
    }

    fn list(&self, collection: &str) -> Vec<NotebookFile> {
        match self.storage.notebooks(collection, &|| false) {
            Ok(listed) => listed,
            Err(error) => panic!("{collection:?} cannot be listed: {error}"),
        }
    }

    fn names(&self, collection: &str) -> Vec<String> {
        let listed = self.list(collection).into_iter();
        listed.map(|one| one.notebook.to_string()).collect()
    }

    fn stamp(&self, collection: &str, notebook: &str) -> NotebookStamp {
        let listed = self.list(collection);
        let found = listed.iter().find(|one| one.notebook.as_str() == notebook);
        match found {
            Some(one) => one.stamp,
            None => panic!("{notebook:?} is not listed"),
        }
    }

    #[track_caller]
    fn has(&self, collection: &str, file: &str, bytes: &[u8]) {
        let path = path(file);
        let expected = Ok(Some(bytes.to_vec()));
        let found = self.storage.read(collection, &path);
        assert_eq!(found, expected, "{file:?} in {collection:?}");
        let found = self.storage.read_listed(collection, &path);
        assert_eq!(found, expected, "{file:?} in {collection:?}, listed");
    }

    #[track_caller]
    fn has_not(&self, collection: &str, file: &str) {
        let found = self.storage.read(collection, &path(file));
        assert_eq!(found, Ok(None), "{file:?} in {collection:?}");
    }

    #[track_caller]
    fn is_no_collection(&self, name: &str) {
        let missing = StorageError::CollectionNotFound;
        let notebooks = self.storage.notebooks(name, &|| false);
        assert_eq!(notebooks, Err(missing.clone()), "notebooks of {name:?}");
        let read = self.storage.read(name, &path("x.md"));
        assert_eq!(read, Err(missing.clone()), "a file of {name:?}");
        let files = self.storage.artifact_files(name, &|| false);
        assert_eq!(files, Err(missing.clone()), "artifacts of {name:?}");
        let required = self.storage.require(name);
        assert_eq!(required, Err(missing), "{name:?} itself");
    }

    fn nothing(&self) {
        assert_eq!(self.storage.ready(), Ok(()));
        assert_eq!(self.storage.collections(), Ok(Vec::new()));
        for name in ["a", "b", "", "none"] {
            self.is_no_collection(name);
        }
    }

    fn collections_and_notebooks(&self) {
        self.put(&[
            "b/deep/er/x.md",
            "b/deep.md",
            "b/a.MD",
            "b/Z.md",
            "b/a.markdown",
            "b/md",
            "b/.md",
            "b/collection.toml",
            "b/_artifacts/s/summary.md",
            "b/in/_artifacts/x.md",
            "b/_artifacts.md",
            "b/.hidden/x.md",
            "b/deep/.hidden.md",
            "ba/x.md",
            "a/note.md",
            "_shared/x.md",
            ".hidden/x.md",
            "loose.md",
        ]);
        let collections = self.storage.collections();
        assert_eq!(
            collections,
            Ok([TOP, "a", "b", "ba"].map(str::to_owned).to_vec())
        );
        let expected = [
            "Z.md",
            "_artifacts.md",
            "a.MD",
            "deep.md",
            "deep/er/x.md",
            "in/_artifacts/x.md",
        ];
        assert_eq!(self.names("b"), expected);
        for notebook in expected {
            let whole = format!("b/{notebook}");
            self.has("b", notebook, whole.as_bytes());
            assert_eq!(self.stamp("b", notebook).bytes, whole.len() as u64);
        }
        // Files that are not notebooks can be read nonetheless.
        self.has("b", "collection.toml", b"b/collection.toml");
        let stopped = self.storage.notebooks("b", &|| true);
        assert_eq!(stopped, Err(StorageError::Cancelled));
        for name in ["a", "b", "ba"] {
            assert_eq!(self.storage.require(name), Ok(()), "{name}");
        }
        self.files.remove("loose.md");
        for name in ["a", "b", "ba", "_shared", ".hidden"] {
            self.files.remove_collection(name);
        }
    }

    fn exact_names_only(&self) {
        self.put(&["Café/x.md", "Café/in/x.md", "_shared/x.md", "loose.md"]);
        for name in [
            "",
            "./",
            "./.",
            "..",
            "/",
            "café",
            "CAFÉ",
            "Caf",
            "Café ",
            "Cafe\u{301}",
            "Сafé",
            "Café/",
            "Café/in",
            "./Café",
            "Café/..",
            "Café\0",
            " Café",
            "Café\u{200b}",
            "Caf%C3%A9",
            "Café\\",
            "../Café",
            "_shared",
            "loose.md",
        ] {
            self.is_no_collection(name);
        }
        self.has("Café", "x.md", "Café/x.md".as_bytes());
        self.files.remove("loose.md");
        self.files.remove_collection("Café");
        self.files.remove_collection("_shared");
    }

    fn what_is_not_read(&self, max_note_bytes: usize) {
        self.put(&["a/x.md", "a/.git/config", "a/in/.x.md", "other/x.md"]);
        for file in [
            "none.md",
            "in/none.md",
            "x.md/y.md",
            "X.md",
            "x",
            ".git/config",
            "in/.x.md",
            "other/x.md",
            "a/x.md",
        ] {
            self.has_not("a", file);
            let is_too_large = self.storage.is_too_large("a", &path(file));
            assert_eq!(is_too_large, Ok(false), "{file:?}");
        }
        let largest = self.storage.max_notebook_bytes();
        assert_eq!(usize::try_from(largest).ok(), Some(max_note_bytes));
        let most = vec![b'x'; max_note_bytes];
        let too_large = [&most[..], b"x"].concat();
        self.files.put("a/x.md", &most);
        self.has("a", "x.md", &most);
        assert_eq!(self.storage.is_too_large("a", &path("x.md")), Ok(false));
        self.files.put("a/x.md", &too_large);
        self.has_not("a", "x.md");
        assert_eq!(self.storage.is_too_large("a", &path("x.md")), Ok(true));
        // Files that are not notebooks are not reported.
        for hidden in ["in/.x.md", ".git/config", "_artifacts/s/x.md"] {
            self.files.put(&format!("a/{hidden}"), &too_large);
            let is_too_large = self.storage.is_too_large("a", &path(hidden));
            assert_eq!(is_too_large, Ok(false), "{hidden:?}");
        }
        self.files.put("a/x.md", b"");
        self.has("a", "x.md", b"");
        assert_eq!(self.stamp("a", "x.md").bytes, 0);
        let bytes: Vec<u8> = (0..100).map(|one| one ^ 0xaa).collect();
        self.files.put("a/x.md", &bytes);
        self.has("a", "x.md", &bytes);
        self.files.remove_collection("a");
        self.is_no_collection("a");
        self.has("other", "x.md", b"other/x.md");
        self.files.remove_collection("other");
    }

    fn changes(&self) {
        self.put(&["a/x.md", "a/y.md"]);
        let (x, y) = (self.stamp("a", "x.md"), self.stamp("a", "y.md"));
        assert_eq!(self.stamp("a", "x.md"), x, "nothing happened");
        assert!(x.modified > 0, "there is a time");
        // A read returns the current bytes, whatever was listed.
        self.files.put("a/x.md", b"other bytes");
        self.has("a", "x.md", b"other bytes");
        let changed = self.stamp("a", "x.md");
        assert_ne!(changed.state, x.state);
        assert_eq!(changed.bytes, 11);
        assert_eq!(self.stamp("a", "y.md"), y, "nothing happened to it");
        self.files.remove("a/x.md");
        self.has_not("a", "x.md");
        assert_eq!(self.names("a"), ["y.md"]);
        self.put(&["a/x.md", "a/w.md"]);
        assert_eq!(self.names("a"), ["w.md", "x.md", "y.md"]);
        self.files.remove_collection("a");
    }

    fn artifacts(&self) {
        self.put(&[
            "a/_artifacts/s/set.toml",
            "a/_artifacts/s/summary.md",
            "a/_artifacts/loose.txt",
            "a/_artifacts/s/.hidden",
            "a/_artifacts/.s/set.toml",
            "a/in/_artifacts/x.toml",
            "a/x.md",
            "b/x.md",
        ]);
        let expected = [
            "_artifacts/loose.txt",
            "_artifacts/s/set.toml",
            "_artifacts/s/summary.md",
        ];
        let found = self.storage.artifact_files("a", &|| false);
        assert_eq!(found, Ok(expected.map(path).to_vec()));
        for file in expected {
            let found = self.storage.read_artifact("a", &path(file));
            assert_eq!(found, Ok(Some(format!("a/{file}").into_bytes())), "{file}");
        }
        for file in [
            "_artifacts",
            "_artifacts/none",
            "_artifacts/s/.hidden",
            "_artifacts/.s/set.toml",
            "in/_artifacts/x.toml",
            "x.md",
        ] {
            let found = self.storage.read_artifact("a", &path(file));
            assert_eq!(found, Ok(None), "{file}");
        }
        assert_eq!(self.names("a"), ["x.md"]);
        assert_eq!(self.storage.artifact_files("b", &|| false), Ok(Vec::new()));
        self.files.remove_collection("a");
        self.files.remove_collection("b");
    }

    /// Notebooks at the top, beside the folders, form a collection of their own that contains nothing else.
    fn the_top(&self) {
        self.put(&["a/x.md", "_shared/x.md", "_artifacts/s/set.toml"]);
        assert_eq!(self.storage.collections(), Ok(vec!["a".to_owned()]));
        let missing = Err(StorageError::CollectionNotFound);
        assert_eq!(self.storage.notebooks(TOP, &|| false), missing);
        assert_eq!(
            self.storage.require(TOP),
            Err(StorageError::CollectionNotFound)
        );
        self.put(&["b.md", "A.MD", ".hidden.md", "x.txt", "collection.toml"]);
        let collections = self.storage.collections();
        assert_eq!(collections, Ok([TOP, "a"].map(str::to_owned).to_vec()));
        assert_eq!(self.storage.require(TOP), Ok(()));
        assert_eq!(self.names(TOP), ["A.MD", "b.md"]);
        assert_eq!(self.stamp(TOP, "b.md").bytes, 4);
        self.has(TOP, "b.md", b"b.md");
        self.has(TOP, "collection.toml", b"collection.toml");
        for file in ["a/x.md", "_shared/x.md", ".hidden.md", "none.md", "B.md"] {
            self.has_not(TOP, file);
        }
        for file in ["a/x.md", "_shared/x.md"] {
            let listed = self.storage.read_listed(TOP, &path(file));
            assert_eq!(listed, Ok(None), "{file:?}");
        }
        let set = "_artifacts/s/set.toml";
        let found = self.storage.artifact_files(TOP, &|| false);
        assert_eq!(found, Ok(vec![path(set)]));
        let found = self.storage.read_artifact(TOP, &path(set));
        assert_eq!(found, Ok(Some(set.as_bytes().to_vec())));
        let found = self.storage.read_artifact(TOP, &path("b.md"));
        assert_eq!(found, Ok(None));
        let stopped = self.storage.notebooks(TOP, &|| true);
        assert_eq!(stopped, Err(StorageError::Cancelled));
        self.has_not("a", "b.md");
        for file in ["b.md", "A.MD", ".hidden.md", "x.txt", "collection.toml"] {
            self.files.remove(file);
        }
        for name in ["a", "_shared", "_artifacts"] {
            self.files.remove_collection(name);
        }
    }

    fn odd_names(&self) {
        const COLLECTION: &str = "An odd & long+name, 100 % é";
        for name in ODD_NAMES {
            let whole = format!("{COLLECTION}/{name}");
            self.files.put(&whole, whole.as_bytes());
        }
        let collections = self.storage.collections();
        assert_eq!(collections, Ok(vec![COLLECTION.to_owned()]));
        let sorted: BTreeSet<String> = ODD_NAMES.iter().map(|&name| name.to_owned()).collect();
        let names = self.names(COLLECTION);
        assert_eq!(names, sorted.into_iter().collect::<Vec<_>>());
        for name in ODD_NAMES {
            let whole = format!("{COLLECTION}/{name}");
            self.has(COLLECTION, name, whole.as_bytes());
        }
        for name in ["a/b.md", "a%2fb.md", "a%252Fb.md", "a%2Bb.md", "e.md"] {
            self.has_not(COLLECTION, name);
        }
        self.files.remove_collection(COLLECTION);
    }
}

fn path(text: &str) -> NotePath {
    match NotePath::parse_vault(text) {
        Ok(path) => path,
        Err(error) => panic!("{text:?}: {error}"),
    }
}
