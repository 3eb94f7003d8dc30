//! Anchors as the generators of published manuals make them.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

use super::heading_names::github_anchor;
use crate::work;

/// The program whose rules make the anchors of a document's headings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnchorStyle {
    /// GitHub, whose anchors come from the text alone: `{#id}` after a heading is text.
    #[default]
    GitHub,
    /// mdBook 0.5, with smart punctuation, which is its default.
    MdBook,
    /// MkDocs: Python-Markdown with the extensions `toc` and `attr_list`. Anchors are ASCII.
    MkDocs,
    /// Docusaurus: those of GitHub, and ids that authors give.
    Docusaurus,
    /// VitePress.
    VitePress,
}

impl AnchorStyle {
    /// All styles.
    pub const ALL: [Self; 5] = [
        Self::GitHub,
        Self::MdBook,
        Self::MkDocs,
        Self::Docusaurus,
        Self::VitePress,
    ];

    /// Returns the anchor that is made from the visible text of a heading, before it is made unique.
    #[must_use]
    pub fn slug(self, text: &str) -> String {
        match self {
            Self::GitHub | Self::Docusaurus => github_anchor(text),
            Self::MdBook => mdbook_slug(text),
            Self::MkDocs => mkdocs_slug(text),
            Self::VitePress => vitepress_slug(text),
        }
    }

    /// Returns whether a heading can be given an id: `{#id}`.
    #[must_use]
    pub fn has_heading_ids(self) -> bool {
        self != Self::GitHub
    }

    /// Returns what is between an anchor and the number that makes it unique.
    fn separator(self) -> char {
        match self {
            Self::MkDocs => '_',
            _ => '-',
        }
    }
}

/// Keeps letters, digits, `_` and `-` in lower case, and makes each white space a `-`.
fn mdbook_slug(text: &str) -> String {
    let kept = text.trim().chars().filter_map(|c| match c {
        _ if c.is_alphanumeric() || matches!(c, '_' | '-') => Some(c),
        _ => c.is_whitespace().then_some('-'),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Keeps what is ASCII after a compatibility decomposition, and of that letters, digits and `_`. Runs of white space and
/// `-` become one `-`.
fn mkdocs_slug(text: &str) -> String {
    let is_space = |c: char| c.is_ascii_whitespace() || matches!(c, '\x0b' | '\x1c'..='\x1f');
    let kept: String = text
        .nfkd()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || is_space(*c))
        .collect();
    let mut slug = String::with_capacity(kept.len());
    for c in kept.trim_matches(is_space).chars() {
        if c != '-' && !is_space(c) {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug
}

/// Drops accents and control characters of a compatibility decomposition, and makes each run of white space and ASCII
/// punctuation one `-`, with none at the ends. `_` stands before a digit at the start.
fn vitepress_slug(text: &str) -> String {
    let is_dropped = |c: char| matches!(c, '\0'..='\x1f' | '\u{300}'..='\u{36f}');
    // `\s` of JavaScript has the byte order mark, and not the next line character.
    let is_special = |c: char| {
        (c.is_whitespace() && c != '\u{85}')
            || c.is_ascii_punctuation()
            || matches!(c, '\u{feff}' | '“' | '”' | '‘' | '’')
    };
    let mut slug = String::with_capacity(text.len());
    for c in text.nfkd().filter(|c| !is_dropped(*c)) {
        if !is_special(c) {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    if slug.ends_with('-') {
        slug.pop();
    }
    if slug.starts_with(|c: char| c.is_ascii_digit()) {
        slug.insert(0, '_');
    }
    slug.to_lowercase()
}

/// Makes anchors so that no two of a document are equal.
#[derive(Debug, Default)]
pub(super) struct UniqueAnchors {
    style: AnchorStyle,
    taken: HashSet<String>,
    /// For a taken anchor with a number, a number after it up to which all others are taken too. The search for a free
    /// one jumps along these, so that many equal headings do not take quadratic time.
    jumps: HashMap<String, u64>,
}

impl UniqueAnchors {
    pub(super) fn new(style: AnchorStyle) -> Self {
        Self {
            style,
            ..Self::default()
        }
    }

    /// Returns the anchor of the next heading, whose visible text is `text`.
    pub(super) fn next(&mut self, text: &str) -> String {
        let slug = self.style.slug(text);
        self.free(slug)
    }

    /// Takes an anchor that was not made here.
    pub(super) fn reserve(&mut self, anchor: &str) {
        self.taken.insert(anchor.to_owned());
    }

    /// Returns `anchor` with the first number that makes it unique, or without one.
    pub(super) fn free(&mut self, anchor: String) -> String {
        let may_be_empty = self.style != AnchorStyle::MkDocs;
        if !self.taken.contains(&anchor) && (may_be_empty || !anchor.is_empty()) {
            self.taken.insert(anchor.clone());
            return anchor;
        }
        let (base, mut number) = match self.style {
            AnchorStyle::MkDocs => without_number(&anchor),
            _ => (anchor.as_str(), 0),
        };
        let separator = self.style.separator();
        number += 1;
        let mut passed = Vec::new();
        let mut free = format!("{base}{separator}{number}");
        while self.taken.contains(&free) {
            work::count(1);
            number = self.jumps.get(&free).copied().unwrap_or(number + 1);
            let next = format!("{base}{separator}{number}");
            passed.push(std::mem::replace(&mut free, next));
        }
        for one in passed {
            self.jumps.insert(one, number + 1);
        }
        self.taken.insert(free.clone());
        free
    }
}

/// Splits the number off an anchor that already has one: `name_7`.
fn without_number(anchor: &str) -> (&str, u64) {
    let split = anchor.rsplit_once('_').and_then(|(base, digits)| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // Nobody counts that far; the rest of such an anchor is a name.
        let number = digits.parse::<u32>().ok().filter(|_| is_number)?;
        Some((base, u64::from(number)))
    });
    split.unwrap_or((anchor, 0))
}
