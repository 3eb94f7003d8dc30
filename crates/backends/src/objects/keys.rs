//! Mapping between object keys and the files of collections.
//!
//! A key counts if it is exactly the prefix, a collection and a valid path, joined with slashes. Everything else is hidden:
//! neither listed nor read.

use object_store::path::Path;
use sectile_library::{TOP, is_at_top, is_collection_name};
use sectile_markdown::NotePath;

/// The longest key in S3, which rejects requests for longer ones.
pub(super) const MAX_KEY_BYTES: usize = 1024;

/// The folder inside the bucket that holds the collections: empty, or ending in a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyPrefix {
    prefix: String,
}

impl KeyPrefix {
    /// Returns `None` if no object could have a key below `folder`. Slashes around it do not matter.
    pub(super) fn below(folder: &str) -> Option<Self> {
        let folder = folder.trim_matches('/');
        let prefix = match folder {
            "" => String::new(),
            _ => format!("{folder}/"),
        };
        plain(folder).map(|_| Self { prefix })
    }

    /// Returns the prefix that all keys share.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the prefix that all keys of a collection share, if `name` is a valid collection.
    pub(super) fn of_collection(&self, name: &str) -> Option<String> {
        if name == TOP {
            return Some(self.prefix.clone());
        }
        self.key(name, "x")
            .map(|_| format!("{}{name}/", self.prefix))
    }

    /// Returns the collection whose keys all start with `common`.
    pub(super) fn collection<'a>(&self, common: &'a str) -> Option<&'a str> {
        let name = common.strip_prefix(&self.prefix)?.strip_suffix('/')?;
        self.key(name, "x").map(|_| name)
    }

    /// Returns the key of a file of a collection, if it can have one.
    pub(super) fn of_file(&self, collection: &str, file: &NotePath) -> Option<Path> {
        if collection == TOP {
            let is_one = is_at_top(file) && !is_hidden(file.as_str());
            return plain(&format!("{}{file}", self.prefix)).filter(|_| is_one);
        }
        self.key(collection, file.as_str())
    }

    /// Returns the key of a blob, if it can have one. Hidden names are allowed: nobody else chooses them.
    pub(super) fn of_blob(&self, key: &str) -> Option<Path> {
        let is_plain = !key.is_empty() && !key.contains(|c: char| c.is_control() || c == '\\');
        plain(&format!("{}{key}", self.prefix)).filter(|_| is_plain)
    }

    /// Returns the file of a collection that has this key. `folder` comes from [`Self::of_collection`].
    pub(super) fn file(folder: &str, key: &str) -> Option<NotePath> {
        let rest = key.strip_prefix(folder)?;
        let file = NotePath::parse_vault(rest).ok()?;
        let is_exact = file.as_str() == rest && !is_hidden(rest);
        (is_exact && plain(key).is_some()).then_some(file)
    }

    fn key(&self, collection: &str, file: &str) -> Option<Path> {
        let below = format!("{collection}/{file}");
        let is_exact = NotePath::parse_vault(&below).is_ok_and(|path| path.as_str() == below);
        if !is_exact || !is_collection_name(collection) || is_hidden(file) {
            return None;
        }
        plain(&format!("{}{below}", self.prefix))
    }
}

/// Returns a key in the library's form, if that spells exactly the same key.
fn plain(key: &str) -> Option<Path> {
    let path = Path::parse(key).ok()?;
    (path.as_ref() == key && key.len() <= MAX_KEY_BYTES).then_some(path)
}

fn is_hidden(file: &str) -> bool {
    file.split('/').any(|segment| segment.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_keys_are_files() {
        let keys = KeyPrefix::below("/in/here/").unwrap();
        let folder = keys.of_collection("a").unwrap();
        assert_eq!(folder, "in/here/a/");
        for file in [
            "x.md",
            "b/x.md",
            " x.md",
            "a&b + c%2F\"'?#.md",
            "Caf\u{e9}.md",
            "c:x.md",
            "x..md",
            "~",
        ] {
            let key = format!("{folder}{file}");
            let path = KeyPrefix::file(&folder, &key).unwrap();
            assert_eq!(path.as_str(), file);
            assert_eq!(keys.of_file("a", &path).unwrap().as_ref(), key);
        }
        for key in [
            "in/here/a/",
            "in/here/a",
            "in/here/ab/x.md",
            "in/here/a//x.md",
            "in/here/a/b//x.md",
            "in/here/a/x.md/",
            "in/here/a/../x.md",
            "in/here/a/b/../x.md",
            "in/here/a/./x.md",
            "in/here/a/.x.md",
            "in/here/a/.b/x.md",
            "in/here/a/..x.md",
            "in/here/a/b\\x.md",
            "in/here/a/c:/x.md",
            "in/here/a/x\t.md",
            "in/here/a/x\0.md",
            "/in/here/a/x.md",
            "a/x.md",
        ] {
            assert_eq!(KeyPrefix::file(&folder, key), None, "{key:?}");
        }
        let hidden = NotePath::parse_vault("b/.git/config").unwrap();
        assert_eq!(keys.of_file("a", &hidden), None);
        let longest = "x".repeat(MAX_KEY_BYTES - folder.len());
        let path = NotePath::parse_vault(&longest).unwrap();
        assert!(keys.of_file("a", &path).is_some());
        assert!(KeyPrefix::file(&folder, &format!("{folder}{longest}")).is_some());
        let path = NotePath::parse_vault(&format!("{longest}x")).unwrap();
        assert_eq!(keys.of_file("a", &path), None);
        assert_eq!(KeyPrefix::file(&folder, &format!("{folder}{path}")), None);
    }

    #[test]
    fn files_at_the_top() {
        let keys = KeyPrefix::below("in").unwrap();
        assert_eq!(keys.of_collection(TOP).unwrap(), "in/");
        let of = |file: &str| keys.of_file(TOP, &NotePath::parse_vault(file).unwrap());
        assert_eq!(of("x.md").unwrap().as_ref(), "in/x.md");
        let artifact = "_artifacts/s/set.toml";
        assert_eq!(of(artifact).unwrap().as_ref(), format!("in/{artifact}"));
        for file in ["a/x.md", ".x.md", "_artifacts/.s/x", "_shared/x.md"] {
            assert_eq!(of(file), None, "{file}");
        }
        for common in ["in/./", "in/", "./"] {
            assert_eq!(keys.collection(common), None, "{common}");
        }
    }

    #[test]
    fn collections_and_prefixes() {
        let keys = KeyPrefix::below("").unwrap();
        assert_eq!(keys.prefix(), "");
        assert_eq!(keys.collection("a/"), Some("a"));
        assert_eq!(keys.collection("\u{e9} %2F+&/"), Some("\u{e9} %2F+&"));
        for common in [
            "a", "/", "//", "_a/", ".a/", "../", "a/b/", "a\\/", "c:/", "a\n/", "",
        ] {
            assert_eq!(keys.collection(common), None, "{common:?}");
        }
        let keys = KeyPrefix::below("in").unwrap();
        assert_eq!(keys.collection("in/a/"), Some("a"));
        assert_eq!(keys.collection("a/"), None);
        for folder in ["a//b", ".", "a/../b", "a\nb"] {
            assert_eq!(KeyPrefix::below(folder), None, "{folder:?}");
        }
    }
}
