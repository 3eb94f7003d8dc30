//! Paths of notes. The two parsers here are the only way to create one, so a value of this type is safe to resolve.

use std::{error, fmt, sync::Arc};

use crate::trim;

/// The path of a note below a root: `/` between segments, relative, never leading out of the root. Copies share their text:
/// an index has several of each path, and copies them with every change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NotePath(Arc<str>);

/// The path is empty, absolute, or leads out of its root. Carries no text, so that an unsafe path is never echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathError;

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the path is not a relative path below the root")
    }
}

impl error::Error for PathError {}

impl NotePath {
    /// Parses by the rules of a local vault: inner `..` is resolved, nothing is trimmed, and a path that still starts
    /// with two dots, even if only in a name, is refused.
    ///
    /// # Errors
    /// [`PathError`] for anything that does not name something below the root.
    pub fn parse_vault(input: &str) -> Result<Self, PathError> {
        if is_canonical(input) {
            return Ok(Self(input.into()));
        }
        Self::resolve_vault(input)
    }

    fn resolve_vault(input: &str) -> Result<Self, PathError> {
        let path = relative_with_slashes(input)?;
        let mut segments: Vec<&str> = Vec::new();
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => {
                    segments.pop().ok_or(PathError)?;
                }
                name => segments.push(name),
            }
        }
        match segments.as_slice() {
            [first, rest @ ..] if !first.starts_with("..") && !is_drive(first, rest) => {
                Ok(Self(segments.join("/").into()))
            }
            _ => Err(PathError),
        }
    }

    /// Parses by the rules of a hosted store: surrounding white space is trimmed, any `..` segment is refused, and `.`
    /// segments stay, as long as there is also a name.
    ///
    /// # Errors
    /// [`PathError`] for anything that does not name something in the store.
    pub fn parse_hosted(input: &str) -> Result<Self, PathError> {
        let path = relative_with_slashes(trim(input))?;
        let segments: Vec<&str> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .collect();
        let first_name = segments.iter().position(|segment| *segment != ".");
        match first_name.map(|at| segments.split_at(at).1) {
            Some([first, rest @ ..]) if !is_drive(first, rest) && !segments.contains(&"..") => {
                Ok(Self(segments.join("/").into()))
            }
            _ => Err(PathError),
        }
    }

    /// Returns the path with `/` between segments.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Iterates over the segments, outermost first.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the folder of the note, or `None` at the root.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(folder, _)| folder)
    }

    /// Returns this path relative to `folder`, if that contains it. Something like `c:/x` is not a path on its own.
    #[must_use]
    pub fn below(&self, folder: &str) -> Option<Self> {
        let rest = self.0.strip_prefix(folder)?.strip_prefix('/')?;
        Self::parse_vault(rest)
            .ok()
            .filter(|path| path.as_str() == rest)
    }

    /// Returns the last segment.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }
}

impl fmt::Display for NotePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns whether a path certainly stays as it is by the rules of a local vault, as those that are listed and stored do.
fn is_canonical(path: &str) -> bool {
    let is_plain = |byte: u8| byte != b'\\' && byte != 0;
    let may_be_drive = path.as_bytes().get(1) == Some(&b':');
    let is_name = |segment: &str| !matches!(segment, "" | "." | "..");
    path.bytes().all(is_plain)
        && !may_be_drive
        && !path.starts_with("..")
        && path.split('/').all(is_name)
}

/// Applies the rules that both parsers share: no NUL, no root (which covers UNC), no drive; backslashes count as
/// slashes.
fn relative_with_slashes(input: &str) -> Result<String, PathError> {
    let path = input.replace('\\', "/");
    let has_drive = path
        .split_once('/')
        .is_some_and(|(first, rest)| is_drive(first, &[rest]));
    if path.contains('\0') || path.starts_with('/') || has_drive {
        Err(PathError)
    } else {
        Ok(path)
    }
}

/// Returns whether a path of these segments starts with a drive. A lone `C:`, or `C:x.md`, is only an odd name.
fn is_drive(first: &str, rest: &[&str]) -> bool {
    !rest.is_empty() && matches!(first.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vault(input: &str) -> Option<String> {
        NotePath::parse_vault(input)
            .ok()
            .map(|path| path.to_string())
    }

    #[test]
    fn vault_rules() {
        for (input, expected) in [
            ("inbox/one.md", "inbox/one.md"),
            ("./inbox//one.md/", "inbox/one.md"),
            ("inbox\\one.md", "inbox/one.md"),
            ("a/../b.md", "b.md"),
            ("a/..x.md", "a/..x.md"),
            (" a.md ", " a.md "),
            ("C:x.md", "C:x.md"),
            ("~/a.md", "~/a.md"),
            ("%2e%2e/a.md", "%2e%2e/a.md"),
        ] {
            assert_eq!(vault(input).as_deref(), Some(expected), "{input:?}");
        }
        for input in [
            "",
            ".",
            "./",
            "a/..",
            "..",
            "../a.md",
            "a/../../b.md",
            "a\\..\\..\\b.md",
            "..x.md",
            "...",
            "a/../..x.md",
            "/etc/passwd",
            "//server/share",
            "\\\\server\\share",
            "\\a.md",
            "C:/a.md",
            "c:\\a.md",
            "./c:/x.md",
            "a/../c:/x.md",
            "c:/",
            "a\0.md",
        ] {
            assert_eq!(vault(input), None, "{input:?}");
        }
    }

    /// The table of the contract's vectors, and the design's additions to it.
    #[test]
    fn hosted_rules() {
        let hosted = |input: &str| {
            NotePath::parse_hosted(input)
                .ok()
                .map(|path| path.to_string())
        };
        for (input, expected) in [
            ("inbox/one.md", "inbox/one.md"),
            ("inbox//one.md", "inbox/one.md"),
            ("inbox/./one.md", "inbox/./one.md"),
            ("a/", "a"),
            ("C:x.md", "C:x.md"),
            (" hello world.md\n", "hello world.md"),
            ("a?b#c%d.md", "a?b#c%d.md"),
            ("..x.md", "..x.md"),
        ] {
            assert_eq!(hosted(input).as_deref(), Some(expected), "{input:?}");
        }
        for input in [
            "",
            "   ",
            ".",
            "./.",
            "..",
            "a/../b.md",
            "/srv/o/s.md",
            "C:\\o\\s.md",
            "./c:/x.md",
            "\\\\server\\share",
            "a\0b",
        ] {
            assert_eq!(hosted(input), None, "{input:?}");
        }
    }

    #[test]
    fn parts_of_a_path() {
        let path = NotePath::parse_vault("a/b/c.md").unwrap();
        assert_eq!((path.folder(), path.file_name()), (Some("a/b"), "c.md"));
        let path = NotePath::parse_vault("c.md").unwrap();
        assert_eq!((path.folder(), path.file_name()), (None, "c.md"));
    }

    proptest! {
        #[test]
        fn what_is_canonical_stays_as_it_is(input in "([a-c.:\\\\\\x00 ]{0,3}/){0,3}[a-c.:]{0,3}") {
            prop_assert_eq!(NotePath::parse_vault(&input), NotePath::resolve_vault(&input));
        }

        #[test]
        fn an_accepted_path_stays_below_its_root(input in r"[a./\\:C\x00 ]{0,16}") {
            for parsed in [NotePath::parse_vault(&input), NotePath::parse_hosted(&input)].into_iter().flatten() {
                prop_assert!(!parsed.as_str().contains(['\\', '\0']) && !parsed.as_str().starts_with('/'));
                prop_assert!(parsed.segments().all(|segment| !segment.is_empty() && segment != ".."));
            }
        }

        #[test]
        fn parsing_again_changes_nothing(input in r"[a./\\ ]{0,16}") {
            if let Ok(path) = NotePath::parse_vault(&input) {
                prop_assert_eq!(NotePath::parse_vault(path.as_str()), Ok(path));
            }
        }
    }
}
