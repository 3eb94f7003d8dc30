//! Parses queries.

use crate::analysis::{Token, is_filler, tokens};

/// The longest query, in bytes.
pub const MAX_QUERY_BYTES: usize = 2_048;
/// The most words in a query.
pub const MAX_QUERY_WORDS: usize = 32;

/// The reason why a query is refused, before any work is done for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// It has more bytes than [`MAX_QUERY_BYTES`].
    #[error("The query is longer than {MAX_QUERY_BYTES} bytes.")]
    TooLong,
    /// It has more words than [`MAX_QUERY_WORDS`].
    #[error("The query has more than {MAX_QUERY_WORDS} words.")]
    TooManyWords,
}

/// A parsed query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The items to look for, each once, in the order of the query.
    pub(super) items: Vec<Item>,
    /// Words in quotation marks, which must be adjacent.
    pub(super) phrases: Vec<Vec<String>>,
    /// Pairs of adjacent words.
    pub(super) neighbours: Vec<(String, String)>,
}

/// An item to look for: a word, or a name with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) term: String,
    pub(super) parts: Vec<String>,
}

impl Query {
    /// Parses a query.
    ///
    /// # Errors
    /// [`QueryError`] when it is too long.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(QueryError::TooLong);
        }
        let mut query = Self::default();
        let mut all = Vec::new();
        let mut names: Vec<(usize, Item)> = Vec::new();
        // Every second piece is in quotation marks; an unclosed last one does not count as quoted.
        let pieces: Vec<&str> = text.split(['"', '“', '”', '„']).collect();
        for (number, piece) in pieces.iter().enumerate() {
            let first = all.len();
            tokens(piece, |token| match token {
                Token::Word { term, .. } => all.push(term),
                Token::Name { term, at, words } => {
                    let start = first + at as usize;
                    let parts = all.get(start..start + words as usize);
                    if let Some(parts) = parts.filter(|parts| parts.len() > 1) {
                        let parts = parts.to_vec();
                        names.push((start, Item { term, parts }));
                    }
                }
            });
            let is_quoted = number % 2 == 1 && number + 1 < pieces.len();
            if is_quoted && all.len() > first {
                query.phrases.push(all[first..].to_vec());
            }
        }
        if all.len() > MAX_QUERY_WORDS {
            return Err(QueryError::TooManyWords);
        }
        let in_names = |at: usize| {
            names
                .iter()
                .any(|(start, name)| (*start..start + name.parts.len()).contains(&at))
        };
        let in_phrase = |word: &String| query.phrases.iter().any(|phrase| phrase.contains(word));
        let only_fillers = all.iter().all(|word| is_filler(word));
        let mut items: Vec<(usize, Item)> = Vec::new();
        for (at, word) in all.iter().enumerate() {
            let counts = only_fillers || !is_filler(word) || in_phrase(word);
            if counts && !in_names(at) {
                let parts = Vec::new();
                let term = word.clone();
                items.push((at, Item { term, parts }));
            }
        }
        query.neighbours = all
            .windows(2)
            .filter(|pair| pair.iter().any(|word| !is_filler(word)))
            .map(|pair| (pair[0].clone(), pair[1].clone()))
            .collect();
        query.neighbours.sort();
        query.neighbours.dedup();
        items.append(&mut names);
        items.sort_by_key(|(at, _)| *at);
        for (_, item) in items {
            if !query.items.iter().any(|known| known.term == item.term) {
                query.items.push(item);
            }
        }
        Ok(query)
    }

    /// Returns `true` if there are no words in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
