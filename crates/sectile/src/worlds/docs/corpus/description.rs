//! Slug, title, role and description of a document: from its front matter, else from the list, else from its text.

use std::collections::{HashMap, HashSet};

use sectile_library::{
    live_folder::NoteRecord,
    manual_page::{MAX_TITLE, one_line, stem},
};
use sectile_markdown::{Digest, Field, is_slug, slug};

use super::{DocRole, DocsDocument, is_page};

pub(crate) const MAX_SLUG: usize = 64;
/// Longest description that was written as one, in characters.
const MAX_WRITTEN_DESCRIPTION: usize = 1000;

pub(super) struct DocDescription {
    pub(super) slug: String,
    pub(super) title: String,
    pub(super) role: DocRole,
    pub(super) description: String,
    /// Sentences about parts of the front matter that cannot be used.
    pub(super) problems: Vec<String>,
}

pub(super) fn describe(
    record: &NoteRecord,
    file_name: &str,
    listed: Option<&DocsDocument>,
) -> DocDescription {
    let mut front_matter = DocFrontMatter::of(record);
    let written_description = front_matter
        .text("description", MAX_WRITTEN_DESCRIPTION)
        .or_else(|| one_line(listed?.description.as_deref()?, MAX_WRITTEN_DESCRIPTION));
    front_matter.text("title", MAX_TITLE);
    let summary = || record.page.as_ref().map(|page| page.summary.clone());
    DocDescription {
        slug: front_matter
            .slug()
            .or_else(|| listed?.slug.clone())
            .unwrap_or_else(|| slug_of_file(file_name)),
        role: front_matter
            .role()
            .or(listed.map(|listed| listed.role))
            .unwrap_or(DocRole::Pattern),
        title: record.title.clone(),
        description: written_description.or_else(summary).unwrap_or_default(),
        problems: front_matter.problems,
    }
}

/// The slug of a document that does not give one, made from the name of its file or its path.
pub(super) fn slug_of_file(name: &str) -> String {
    derived_slug(match is_page(name) {
        true => stem(name),
        false => name,
    })
}

/// The slugs that are taken.
#[derive(Default)]
pub(super) struct TakenSlugs {
    taken: HashSet<String>,
    /// The last number that was added to a slug, so that thousands of equal names do not try all numbers each.
    numbers: HashMap<String, usize>,
}

impl TakenSlugs {
    /// Takes `wanted`, or the first of `wanted-2`, `wanted-3`... that is not taken.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        if self.taken.insert(wanted.to_owned()) {
            return wanted.to_owned();
        }
        let number = self.numbers.entry(wanted.to_owned()).or_insert(1);
        loop {
            *number += 1;
            let suffix = format!("-{number}");
            let kept = wanted.len().min(MAX_SLUG - suffix.len());
            let slug = format!("{}{suffix}", wanted[..kept].trim_end_matches('-'));
            if self.taken.insert(slug.clone()) {
                return slug;
            }
        }
    }
}

/// The front matter, and the problems in it.
struct DocFrontMatter<'a> {
    fields: &'a [Field],
    problems: Vec<String>,
}

impl<'a> DocFrontMatter<'a> {
    fn of(record: &'a NoteRecord) -> Self {
        let page = record.page.as_ref();
        let is_invalid = page.is_some_and(|page| page.has_invalid_front_matter);
        let problem =
            "the front matter is not valid YAML, so nothing is taken from it. Correct it.";
        Self {
            fields: &record.properties.fields,
            problems: is_invalid.then(|| problem.to_owned()).into_iter().collect(),
        }
    }

    /// Returns the value of a key, if it has one: an error if that is a list or a mapping.
    fn value(&self, key: &str) -> Option<Result<&'a str, ()>> {
        let is_inside = |name: &str| {
            let rest = name.strip_prefix(key);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let mut fields = self.fields.iter();
        let field = fields.find(|field| field.name == key || is_inside(&field.name))?;
        match field.values.as_slice() {
            _ if field.name != key => Some(Err(())),
            [] => None,
            [value] => Some(Ok(value)),
            _ => Some(Err(())),
        }
    }

    fn text(&mut self, key: &str, most: usize) -> Option<String> {
        let text = self.value(key)?.ok().and_then(|text| one_line(text, most));
        if text.is_none() {
            self.refuse(key, "text");
        }
        text
    }

    fn slug(&mut self) -> Option<String> {
        let found = self.value("slug")?.ok();
        let found = found.filter(|text| is_slug(text, MAX_SLUG));
        if found.is_none() {
            self.refuse(
                "slug",
                "1 to 64 lower-case letters, digits and hyphens, starting with a letter or a digit",
            );
        }
        found.map(str::to_owned)
    }

    fn role(&mut self) -> Option<DocRole> {
        let found = self.value("role")?.ok().and_then(DocRole::parse);
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

/// Makes a slug from the name of a file or its path, without the ending. A name without a letter or digit gets one that
/// depends on the name alone, and so does the end of a path that is too long, since many of those begin alike.
fn derived_slug(stem: &str) -> String {
    const DIGITS: usize = 8;
    let slug = slug(stem);
    let digest = || Digest::of(stem.as_bytes()).to_string()[..DIGITS].to_owned();
    let most = match stem.contains('/') && slug.len() > MAX_SLUG {
        true => MAX_SLUG - DIGITS - 1,
        false => MAX_SLUG,
    };
    let kept = slug[..slug.len().min(most)].trim_end_matches('-');
    match kept {
        "" => format!("doc-{}", digest()),
        kept if most < MAX_SLUG => format!("{kept}-{}", digest()),
        kept => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests;
