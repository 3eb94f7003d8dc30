//! The title of a note: from its front matter, or else derived from its file name. Never its first heading.

use super::{Note, scalar_text};
use crate::{Value, trim};

/// Returns the whole title, or `None` if it is empty even after falling back to the file name.
pub(super) fn title(note: &Note<'_>) -> Option<String> {
    from_front_matter(note).or_else(|| from_file_name(note.path))
}

fn from_front_matter(note: &Note<'_>) -> Option<String> {
    match note.front_matter.get("title")? {
        Value::Null | Value::Map(_) => None,
        value => Some(trim(&scalar_text(value)).to_owned()).filter(|title| !title.is_empty()),
    }
}

fn from_file_name(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    let stem = [".md", ".markdown"]
        .iter()
        .find_map(|suffix| lower.strip_suffix(suffix))
        .map_or(name, |stem| &name[..stem.len()]);
    let words: Vec<&str> = stem.split(['-', '_']).collect();
    let mut title = String::with_capacity(stem.len());
    for (index, word) in words.iter().enumerate() {
        // A run of separators becomes one space.
        if index > 0 && !title.ends_with(' ') {
            title.push(' ');
        }
        title.push_str(word);
    }
    Some(trim(&title).to_owned()).filter(|title| !title.is_empty())
}
