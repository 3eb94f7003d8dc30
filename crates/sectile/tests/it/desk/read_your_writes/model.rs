//! What the test knows about the folder: texts by path, and what follows from them in the grammar that the test writes.
//!
//! A note has a stem and headings that no other note has, words that start with `zq`, and links in two forms.

use std::collections::{BTreeMap, BTreeSet};

/// Notes by path.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Model {
    pub(super) notes: BTreeMap<String, String>,
}

/// A link, and where it leads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ModelLink {
    pub(super) from: String,
    /// As it is written in the note.
    pub(super) raw: String,
    /// The note that it names, if there is one.
    pub(super) note: Option<String>,
    /// The heading that it names.
    pub(super) heading: Option<String>,
    pub(super) is_broken: bool,
}

pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn joined(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name)
}

/// The words of a text that the test made up.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let own = words.filter(|word| word.starts_with("zq"));
    own.map(str::to_owned).collect()
}

/// The heading lines of a text without their marks, in order.
pub(super) fn headings(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    lines
        .map(|line| line.trim_start_matches('#').trim().to_owned())
        .collect()
}

/// The value of the only field that the test sets.
pub(super) fn status(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix("---\n")?.split_once("status: ")?;
    rest.lines().next()
}

/// A text with one blank between words, as snippets and sentences are compared.
pub(super) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The relative path of a link in a note of `from` to the note at `to`.
pub(super) fn relative(from: &str, to: &str) -> String {
    let above = folder_of(from)
        .split('/')
        .filter(|part| !part.is_empty())
        .count();
    format!("{}{to}", "../".repeat(above))
}

impl Model {
    pub(super) fn paths(&self) -> Vec<String> {
        self.notes.keys().cloned().collect()
    }

    /// Folders that hold notes, directly or not.
    pub(super) fn folders(&self) -> Vec<String> {
        let mut folders = BTreeSet::new();
        for path in self.notes.keys() {
            let mut folder = folder_of(path);
            while !folder.is_empty() {
                folders.insert(folder.to_owned());
                folder = folder_of(folder);
            }
        }
        folders.into_iter().collect()
    }

    /// The notes that contain a word.
    pub(super) fn with_word(&self, word: &str) -> BTreeSet<String> {
        let with = |(_, text): &(&String, &String)| words(text).contains(word);
        let found = self.notes.iter().filter(with);
        found.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn with_status(&self, value: &str) -> BTreeSet<String> {
        let with = |(_, text): &(&String, &String)| status(text) == Some(value);
        let found = self.notes.iter().filter(with);
        found.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn words(&self) -> BTreeSet<String> {
        self.notes.values().flat_map(|text| words(text)).collect()
    }

    pub(super) fn statuses(&self) -> BTreeSet<String> {
        let values = self.notes.values().filter_map(|text| status(text));
        values.map(str::to_owned).collect()
    }

    /// The note that has this heading.
    pub(super) fn with_heading(&self, heading: &str) -> Option<&str> {
        let has = |text: &str| headings(text).iter().any(|found| found == heading);
        let mut notes = self.notes.iter();
        notes
            .find(|(_, text)| has(text))
            .map(|(path, _)| path.as_str())
    }

    /// The links of a note, in the order of the text.
    pub(super) fn links_of(&self, path: &str) -> Vec<ModelLink> {
        let text = &self.notes[path];
        let mut links = Vec::new();
        for (at, _) in text.match_indices('[') {
            let rest = &text[at..];
            if let Some(wiki) = rest.strip_prefix("[[") {
                let inside = wiki.split("]]").next().unwrap();
                let (name, heading) = inside.split_once('#').unwrap_or((inside, ""));
                let note = self.notes.keys().find(|path| stem_of(path) == name);
                links.push(self.link(path, format!("[[{inside}]]"), note, heading));
            } else if let Some((label, rest)) = rest[1..].split_once("](")
                && label.starts_with("to ")
            {
                let target = rest.split(')').next().unwrap();
                let resolved = resolved(path, target);
                let note = self.notes.keys().find(|path| **path == resolved);
                links.push(self.link(path, format!("[{label}]({target})"), note, ""));
            }
        }
        links
    }

    fn link(&self, from: &str, raw: String, note: Option<&String>, heading: &str) -> ModelLink {
        let has_heading = note.is_some_and(|note| {
            heading.is_empty() || headings(&self.notes[note]).iter().any(|h| h == heading)
        });
        ModelLink {
            from: from.to_owned(),
            raw,
            note: note.cloned(),
            heading: (!heading.is_empty()).then(|| heading.to_owned()),
            is_broken: !has_heading,
        }
    }

    /// All links that lead to a note.
    pub(super) fn links_to(&self, path: &str) -> Vec<ModelLink> {
        let all = self.notes.keys().flat_map(|from| self.links_of(from));
        all.filter(|link| link.note.as_deref() == Some(path))
            .collect()
    }
}

/// The path that a relative link names.
fn resolved(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder_of(from)
        .split('/')
        .filter(|p| !p.is_empty())
        .collect();
    for part in target.split('/') {
        match part {
            ".." => {
                // Above the root there is no note.
                if parts.pop().is_none() {
                    return String::new();
                }
            }
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}
