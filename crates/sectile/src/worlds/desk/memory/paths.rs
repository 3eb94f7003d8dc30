//! Paths of the memory tool, which start with `/memories`, and the documents that they name.
//!
//! A memory is Markdown here, whatever its name. One that does not end in `.md` gets that ending on disk: `notes.txt` is
//! the file `notes.txt.md`, and a view lists it as `notes.txt` again. So the names that models are used to work, and every
//! memory has history and links like any other note.

use sectile_vault::{NotePath, editor::is_markdown};

/// The folder that holds all memories.
pub(super) const TOP: &str = "/memories";

/// A path that a caller gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MemoryPath {
    /// The folder of all memories.
    Top,
    /// Something below it.
    Below {
        /// The path as a folder.
        folder: NotePath,
        /// The path as a document.
        document: NotePath,
    },
}

/// Parses a path. Anything that could lead out of the folder is refused, even if it would lead back in.
pub(super) fn parse(given: &str) -> Option<MemoryPath> {
    let rest = given.strip_prefix(TOP)?;
    if rest.is_empty() {
        return Some(MemoryPath::Top);
    }
    let rest = rest.strip_prefix('/')?.trim_end_matches('/');
    if rest.is_empty() {
        return Some(MemoryPath::Top);
    }
    let is_plain = |segment: &str| !segment.is_empty() && !segment.starts_with('.');
    if rest.contains('\\') || !rest.split('/').all(is_plain) {
        return None;
    }
    let folder = NotePath::parse_vault(rest).ok()?;
    let document = match is_markdown(&folder) {
        true => folder.clone(),
        false => NotePath::parse_vault(&format!("{rest}.md")).ok()?,
    };
    Some(MemoryPath::Below { folder, document })
}

/// Returns the name that a view lists for a file or folder at `path`.
pub(super) fn shown(path: &str) -> String {
    let shown = match path.strip_suffix(".md") {
        Some(without) if has_ending(without) => without,
        _ => path,
    };
    format!("{TOP}/{shown}")
}

/// Returns whether the name of a file has an ending of its own, such as `.txt`.
fn has_ending(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=8).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphabetic())
            && !ending.eq_ignore_ascii_case("md")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(given: &str) -> Option<String> {
        match parse(given)? {
            MemoryPath::Top => Some(String::new()),
            MemoryPath::Below { document, .. } => Some(document.as_str().to_owned()),
        }
    }

    #[test]
    fn every_memory_is_a_markdown_document() {
        for (given, expected) in [
            ("/memories", ""),
            ("/memories/", ""),
            ("/memories/a.md", "a.md"),
            ("/memories/a/b.markdown", "a/b.markdown"),
            ("/memories/notes.txt", "notes.txt.md"),
            ("/memories/preferences.xml", "preferences.xml.md"),
            ("/memories/todo", "todo.md"),
        ] {
            assert_eq!(document(given).as_deref(), Some(expected), "{given}");
        }
        for (path, listed) in [
            ("a.md", "/memories/a.md"),
            ("x/notes.txt.md", "/memories/x/notes.txt"),
            ("todo.md", "/memories/todo.md"),
            ("v1.2.md", "/memories/v1.2.md"),
            (".txt.md", "/memories/.txt.md"),
        ] {
            assert_eq!(shown(path), listed);
        }
    }

    /// What a view lists can be given back.
    #[test]
    fn a_listed_name_leads_back() {
        for path in [
            "a.md",
            "x/notes.txt.md",
            "todo.md",
            "v1.2.md",
            "a.b.json.md",
        ] {
            assert_eq!(document(&shown(path)).as_deref(), Some(path));
        }
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        for given in [
            "",
            "/",
            "memories/a.md",
            "/memory/a.md",
            "/memoriesx/a.md",
            "/memories/../a.md",
            "/memories/a/../b.md",
            "/memories/./a.md",
            "/memories//a.md",
            "/memories/..",
            "/memories/.sectile/journal",
            "/memories/a\\..\\b.md",
            "/memories/a\0.md",
            "/etc/passwd",
        ] {
            assert_eq!(parse(given), None, "{given:?}");
        }
    }
}
