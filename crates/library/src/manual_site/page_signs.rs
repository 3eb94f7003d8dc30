//! Finds out from the pages themselves what program they are written for, where no settings say it.

use std::collections::BTreeMap;

use sectile_markdown::NotePath;
use sectile_vault::Root;

use super::{MOST_PROBED, SiteKind};

/// Larger pages are not looked at.
const MOST_BYTES: u64 = 256 << 10;
/// The names of boxes that VitePress and Docusaurus know. Others, such as `::: module.name`, belong to plugins of other
/// programs.
const BOXES: [&str; 10] = [
    "caution",
    "code-group",
    "danger",
    "details",
    "important",
    "info",
    "note",
    "raw",
    "tip",
    "warning",
];
/// The programs that can be told by their syntax; of those with equally many pages, the first counts.
const KINDS: [SiteKind; 3] = [SiteKind::MkDocs, SiteKind::VitePress, SiteKind::Docusaurus];

/// The programs, of those that can be told by their syntax, that a page is written for.
pub(super) type PageSigns = [bool; KINDS.len()];

/// Returns the signs of up to 64 pages that are spread over the folder.
pub(super) fn probe(root: &Root, documents: &[NotePath]) -> BTreeMap<NotePath, PageSigns> {
    let step = documents.len().div_ceil(MOST_PROBED).max(1);
    let probed = documents.iter().step_by(step);
    probed
        .map(|path| (path.clone(), signs(root, path)))
        .collect()
}

/// Returns the program that most of these pages are written for.
pub(super) fn kind(pages: &BTreeMap<NotePath, PageSigns>) -> SiteKind {
    let count = |at: usize| pages.values().filter(|signs| signs[at]).count();
    let counts: [usize; KINDS.len()] = std::array::from_fn(count);
    let most = counts.into_iter().max().unwrap_or_default();
    let first = counts.iter().position(|count| *count == most && most > 0);
    first.map_or(SiteKind::Plain, |at| KINDS[at])
}

/// Returns the signs of a page. One that cannot be read has none.
pub(super) fn signs(root: &Root, path: &NotePath) -> PageSigns {
    let Ok(bytes) = root.read(path, MOST_BYTES) else {
        return PageSigns::default();
    };
    let text = String::from_utf8_lossy(&bytes);
    let is_mdx = path.as_str().ends_with(".mdx") && !text.trim().is_empty();
    let found: Vec<SiteKind> = outside_fences(&text).filter_map(sign).collect();
    KINDS.map(|kind| found.contains(&kind) || (is_mdx && kind == SiteKind::Docusaurus))
}

/// Returns the program that a line is written for, if only one understands it.
fn sign(line: &str) -> Option<SiteKind> {
    let starts = |signs: &[&str]| signs.iter().any(|sign| line.starts_with(sign));
    let is_box = |name: &str| {
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        BOXES.contains(&&name[..end.unwrap_or(name.len())])
    };
    let is_word = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic());
    // A line of the syntax of MkDocs and its common extensions: a mark, a space and a name.
    let marked = |marks: &[&str]| {
        let mut rests = marks.iter().filter_map(|mark| line.strip_prefix(mark));
        rests.any(is_word)
    };
    let has_attributes = line.starts_with('#')
        && line.ends_with('}')
        && (line.contains("{ #") || line.contains("{: #"));
    if has_attributes
        || marked(&["!!! ", "??? ", "???+ ", "/// "])
        || starts(&["=== \"", "=== '", "--8<--"])
    {
        return Some(SiteKind::MkDocs);
    }
    if line.strip_prefix("::: ").is_some_and(is_box)
        || starts(&["<script setup", "<<< ", "[[toc]]"])
        || line.contains("<Badge ")
    {
        return Some(SiteKind::VitePress);
    }
    let is_import = line.starts_with("import ")
        && [
            " from '@theme",
            " from \"@theme",
            " from '@site",
            " from \"@site",
        ]
        .iter()
        .any(|source| line.contains(source));
    let is_docusaurus = is_import || line.strip_prefix(":::").is_some_and(is_box);
    is_docusaurus.then_some(SiteKind::Docusaurus)
}

/// Returns the lines that are not in fenced code, without white space around them.
fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    text.lines().map(str::trim).filter(move |line| {
        let mark = line
            .chars()
            .next()
            .filter(|first| matches!(first, '`' | '~'));
        let mark = mark.map_or("", |mark| {
            &line[..line.len() - line.trim_start_matches(mark).len()]
        });
        match fence {
            Some(open) => {
                let is_end = mark.starts_with(open) && line.len() == mark.len();
                fence = fence.filter(|_| !is_end);
                false
            }
            None if mark.len() >= 3 => {
                fence = Some(mark);
                false
            }
            None => true,
        }
    })
}
