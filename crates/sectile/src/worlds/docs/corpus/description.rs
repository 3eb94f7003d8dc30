//! Slug, title, role and description of a document: from its front matter, else from the list, else from its text.

use std::collections::HashSet;

use sectile_markdown::{Digest, Mapping, Source, Value, is_slug, slug};

use super::{DocRole, DocsDocument, is_md};

pub(crate) const MAX_SLUG: usize = 64;
/// Longest title, in characters.
const MAX_TITLE: usize = 200;
/// Longest description that was written as one, in characters.
const MAX_WRITTEN_DESCRIPTION: usize = 1000;
/// Longest description taken from the first sentence, in characters.
const MAX_DERIVED_DESCRIPTION: usize = 200;

pub(super) struct DocDescription {
    pub(super) slug: String,
    pub(super) title: String,
    pub(super) role: DocRole,
    pub(super) description: String,
    /// Sentences about parts of the front matter that cannot be used.
    pub(super) problems: Vec<String>,
}

pub(super) fn describe(
    bytes: &[u8],
    file_name: &str,
    listed: Option<&DocsDocument>,
) -> DocDescription {
    let source = Source::new(bytes);
    let stem = stem(file_name);
    let mut front_matter = DocFrontMatter::read(&source);
    let written_title = front_matter
        .text("title", MAX_TITLE)
        .or_else(|| one_line(listed?.title.as_deref()?, MAX_TITLE));
    let written_description = front_matter
        .text("description", MAX_WRITTEN_DESCRIPTION)
        .or_else(|| one_line(listed?.description.as_deref()?, MAX_WRITTEN_DESCRIPTION));
    DocDescription {
        slug: front_matter
            .slug()
            .or_else(|| listed?.slug.clone())
            .unwrap_or_else(|| derived_slug(stem)),
        role: front_matter
            .role()
            .or(listed.map(|listed| listed.role))
            .unwrap_or(DocRole::Pattern),
        title: written_title.unwrap_or_else(|| derived_title(&source, stem)),
        description: written_description.unwrap_or_else(|| derived_description(&source)),
        problems: front_matter.problems,
    }
}

/// The slug of a document that does not give one, made from the file name.
pub(super) fn slug_of_file(file_name: &str) -> String {
    derived_slug(if is_md(file_name) {
        stem(file_name)
    } else {
        file_name
    })
}

/// The file name without its extension, which is `.md` in any case.
fn stem(file_name: &str) -> &str {
    let end = file_name.len().checked_sub(".md".len());
    end.and_then(|end| file_name.get(..end))
        .unwrap_or(file_name)
}

/// Returns `wanted`, or the first of `wanted-2`, `wanted-3`... that is not taken.
pub(super) fn free_slug(wanted: &str, taken: &HashSet<String>) -> String {
    let numbered = (2_usize..).map(|number| {
        let suffix = format!("-{number}");
        let kept = wanted.len().min(MAX_SLUG - suffix.len());
        let kept = wanted[..kept].trim_end_matches('-');
        format!("{kept}{suffix}")
    });
    std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|slug| !taken.contains(slug))
        .unwrap_or_default()
}

/// The front matter, and the problems in it.
struct DocFrontMatter {
    values: Mapping,
    problems: Vec<String>,
}

impl DocFrontMatter {
    fn read(source: &Source<'_>) -> Self {
        let mut problems = Vec::new();
        let values = match source.front_matter_value() {
            Some(Ok(Value::Map(values))) => values,
            Some(Err(_)) => {
                problems.push(
                    "the front matter is not valid YAML, so nothing is taken from it. Correct it."
                        .to_owned(),
                );
                Mapping::default()
            }
            _ => Mapping::default(),
        };
        Self { values, problems }
    }

    fn text(&mut self, key: &str, most: usize) -> Option<String> {
        let text = match self.values.get(key)? {
            Value::Null => return None,
            Value::String(text) => one_line(text, most),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(switch) => Some(switch.to_string()),
            Value::Timestamp(time) => Some(time.as_written().to_owned()),
            Value::List(_) | Value::Map(_) => None,
        };
        if text.is_none() {
            self.refuse(key, "text");
        }
        text
    }

    fn slug(&mut self) -> Option<String> {
        let found = match self.values.get("slug")? {
            Value::Null => return None,
            Value::String(text) if is_slug(text, MAX_SLUG) => Some(text.clone()),
            Value::Number(number) => {
                Some(number.to_string()).filter(|text| is_slug(text, MAX_SLUG))
            }
            _ => None,
        };
        if found.is_none() {
            self.refuse(
                "slug",
                "1 to 64 lower-case letters, digits and hyphens, starting with a letter or a digit",
            );
        }
        found
    }

    fn role(&mut self) -> Option<DocRole> {
        let found = match self.values.get("role")? {
            Value::Null => return None,
            Value::String(text) => DocRole::parse(text),
            _ => None,
        };
        if found.is_none() {
            self.refuse(
                "role",
                &format!("one of {}", DocRole::ALL.map(DocRole::as_str).join(", ")),
            );
        }
        found
    }

    fn refuse(&mut self, key: &str, expected: &str) {
        self.problems.push(format!(
            "`{key}` in the front matter must be {expected}, so it is not used. Correct it."
        ));
    }
}

/// Makes a slug from a file stem. A stem without a letter or digit gets one that depends on the stem alone.
fn derived_slug(stem: &str) -> String {
    let slug = slug(stem);
    let kept = slug[..slug.len().min(MAX_SLUG)].trim_end_matches('-');
    if kept.is_empty() {
        let digest = Digest::of(stem.as_bytes()).to_string();
        format!("doc-{}", &digest[..8])
    } else {
        kept.to_owned()
    }
}

fn derived_title(source: &Source<'_>, stem: &str) -> String {
    let document = source.parse();
    let heading = document
        .top_level()
        .find(|(_, section, _)| section.level == 1)
        .and_then(|(_, section, _)| one_line(&section.text, MAX_TITLE));
    heading
        .or_else(|| one_line(stem, MAX_TITLE))
        .unwrap_or_else(|| "Untitled".to_owned())
}

fn derived_description(source: &Source<'_>) -> String {
    source
        .first_paragraph()
        .and_then(|text| one_line(first_sentence(&text), MAX_DERIVED_DESCRIPTION))
        .unwrap_or_default()
}

/// The text up to the first mark that ends a sentence, or the first hard line break.
fn first_sentence(text: &str) -> &str {
    for (at, mark) in text.char_indices() {
        let end = at + mark.len_utf8();
        let before_space = || text[end..].chars().next().is_none_or(char::is_whitespace);
        let ends = match mark {
            '\n' | '。' | '！' | '？' => true,
            '!' | '?' => before_space(),
            '.' => before_space() && !is_abbreviation(&text[..at]),
            _ => false,
        };
        if ends {
            return &text[..end];
        }
    }
    text
}

/// Returns whether the dot after `text` belongs to its last word, as in `e.g.`.
fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    let word = word.trim_start_matches(['(', '"', '\'']);
    let is_initials = word.split('.').all(|part| part.chars().count() == 1);
    is_initials || ["approx", "cf", "etc", "resp", "vs"].contains(&word)
}

/// Returns `text` as one line of at most `most` characters; `None` if it is empty.
fn one_line(text: &str, most: usize) -> Option<String> {
    let words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return None;
    }
    let Some((end, _)) = line.char_indices().nth(most) else {
        return Some(line);
    };
    // One character less, to leave room for the ellipsis.
    let kept = line[..end]
        .char_indices()
        .next_back()
        .map_or(0, |(at, _)| at);
    let kept = &line[..kept];
    let kept = kept.rsplit_once(' ').map_or(kept, |(before, _)| before);
    Some(format!("{kept}…"))
}

#[cfg(test)]
mod tests;
