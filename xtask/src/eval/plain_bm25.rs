//! The yardstick: plain BM25 over the sections of a manual or the documents of a test set, without a rule of ours.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rust_stemmers::{Algorithm, Stemmer};
use sectile_markdown::{AnchorStyle, PageFormat, PageSyntax, Source};
use sectile_retrieval::sections;

/// The usual parameters.
const K1: f64 = 1.2;
const B: f64 = 0.75;
const DEPTH: usize = 10;
/// Words that do not count where words are stemmed.
const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// What counts as the same word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordRule {
    /// The same letters.
    Letters,
    /// The same English stem; stop words and single letters do not count.
    Stems,
}

/// The sections of a manual, as bags of words.
pub(super) struct PlainIndex {
    sections: Vec<PlainSection>,
    /// In how many sections each word is.
    frequencies: HashMap<String, usize>,
    mean_length: f64,
    rule: WordRule,
}

struct PlainSection {
    /// `page.md#anchor`, or `page.md` for an introduction.
    label: String,
    words: HashMap<String, usize>,
    length: usize,
}

impl PlainIndex {
    /// Indexes every page below a folder.
    pub(super) fn of_folder(folder: &Path, anchors: AnchorStyle) -> Result<Self> {
        let mut index = Self::new(WordRule::Letters);
        for page in pages(folder)? {
            let bytes = fs::read(folder.join(&page)).context("a page")?;
            let syntax = PageSyntax::of_file(&page);
            index.add(&page, &bytes, PageFormat { syntax, anchors });
        }
        Ok(index.finish())
    }

    /// Indexes the documents of a test set by their stems.
    pub(super) fn of_documents(texts: impl Iterator<Item = String>) -> Self {
        let mut index = Self::new(WordRule::Stems);
        texts.for_each(|text| index.add_text(String::new(), &text));
        index.finish()
    }

    fn new(rule: WordRule) -> Self {
        Self {
            sections: Vec::new(),
            frequencies: HashMap::new(),
            mean_length: 0.0,
            rule,
        }
    }

    fn finish(mut self) -> Self {
        let lengths: usize = self.sections.iter().map(|section| section.length).sum();
        self.mean_length = lengths as f64 / self.sections.len().max(1) as f64;
        self
    }

    fn add(&mut self, page: &str, bytes: &[u8], format: PageFormat) {
        let document = Source::new(bytes).parse();
        let title = document.sections().first();
        let title = title.map_or(page, |section| section.text.as_str());
        for section in sections(bytes, title, format) {
            if section.plain.is_empty() {
                continue;
            }
            let anchor = section.anchor.as_deref();
            let text = format!(
                "{} {} {}",
                section.heading,
                section.trail.join(" "),
                section.plain
            );
            let label = anchor.map_or(page.to_owned(), |anchor| format!("{page}#{anchor}"));
            self.add_text(label, &text);
        }
    }

    fn add_text(&mut self, label: String, text: &str) {
        let mut counted = HashMap::new();
        let mut length = 0;
        for word in self.words(text) {
            *counted.entry(word).or_insert(0) += 1;
            length += 1;
        }
        for word in counted.keys() {
            *self.frequencies.entry(word.clone()).or_insert(0) += 1;
        }
        self.sections.push(PlainSection {
            label,
            words: counted,
            length,
        });
    }

    pub(super) fn len(&self) -> usize {
        self.sections.len()
    }

    /// Returns the rank of the first expected section, from 1, if it is among the first ten.
    pub(super) fn rank(&self, ask: &str, expected: &[String]) -> Option<usize> {
        let mut best = self.best(ask).into_iter();
        let found = best.position(|at| expected.contains(&self.sections[at].label));
        found.map(|at| at + 1)
    }

    /// Returns the numbers of the ten best sections, best first.
    pub(super) fn best(&self, ask: &str) -> Vec<usize> {
        let words = self.words(ask);
        let scores = self.sections.iter().enumerate();
        let mut scores: Vec<(f64, usize)> = scores
            .map(|(at, section)| (self.score(&words, section), at))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scores.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        scores.into_iter().take(DEPTH).map(|(_, at)| at).collect()
    }

    fn score(&self, words: &[String], section: &PlainSection) -> f64 {
        let all = self.sections.len() as f64;
        let length = section.length as f64 / self.mean_length;
        let of_word = |word: &String| {
            let count = *section.words.get(word)? as f64;
            let with = *self.frequencies.get(word)? as f64;
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            Some(rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length)))
        };
        words.iter().filter_map(of_word).sum()
    }
}

impl PlainIndex {
    /// Returns the words of a text.
    fn words(&self, text: &str) -> Vec<String> {
        let words = words(text);
        match self.rule {
            WordRule::Letters => words.collect(),
            WordRule::Stems => {
                let stemmer = Stemmer::create(Algorithm::English);
                let counts = |word: &String| {
                    word.chars().count() > 1 && !STOP_WORDS.contains(&word.as_str())
                };
                let words = words.filter(counts);
                words.map(|word| stemmer.stem(&word).into_owned()).collect()
            }
        }
    }
}

/// Returns the paths of all pages below a folder, sorted.
fn pages(root: &Path) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = match folder.as_str() {
                "" => name.clone(),
                folder => format!("{folder}/{name}"),
            };
            if name.starts_with('.') {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if name.ends_with(".md") || name.ends_with(".mdx") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// Returns the words of a text, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rare_word_outranks_a_frequent_one() {
        let mut index = PlainIndex::new(WordRule::Letters);
        index.mean_length = 6.0;
        let page = b"# Gates\n\nA gate is a gate.\n\n## Water\n\nWater at the gate.\n\n## Wheel\n\nOne gate.\n";
        index.add("gates.md", page, PageFormat::default());
        assert_eq!(index.len(), 3);
        let rank = |ask, label: &str| index.rank(ask, &[label.to_owned()]);
        assert_eq!(rank("the water gate", "gates.md#water"), Some(1));
        assert_eq!(rank("Wheel", "gates.md#wheel"), Some(1));
        assert_eq!(rank("Wheel", "gates.md#water"), None);
        assert_eq!(rank("gate", "gates.md"), Some(1));
    }

    #[test]
    fn forms_of_a_word_are_the_same_where_stems_count() {
        let texts = ["The boats sail.", "A boat is at the pier, a boat."];
        let index = PlainIndex::of_documents(texts.map(str::to_owned).into_iter());
        assert_eq!(index.best("boat"), [1, 0]);
        assert_eq!(index.best("sailing"), [0]);
        assert_eq!(index.best("the is a"), [0_usize; 0]);
    }
}
