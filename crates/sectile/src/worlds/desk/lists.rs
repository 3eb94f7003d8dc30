//! Lists that fit into a budget: as many items as there is room for, then a cursor.

use sectile_markdown::estimate_tokens;
use serde::Serialize;

/// Maximum number of tokens in an answer with a list.
pub(super) const LIST_TOKENS: usize = 1_500;
/// Tokens reserved for everything in an answer around its list.
const FRAME_TOKENS: usize = 100;

/// The items of a list, and the tokens that are left for more.
#[derive(Debug)]
pub(super) struct FittedList<T> {
    pub(super) items: Vec<T>,
    left: usize,
}

impl<T: Serialize> FittedList<T> {
    /// Makes an empty list in an answer of `tokens`.
    pub(super) fn new(tokens: usize) -> Self {
        Self {
            items: Vec::new(),
            left: tokens.saturating_sub(FRAME_TOKENS),
        }
    }

    /// Returns the tokens that are left.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Adds an item if there is room, and returns whether there was. The first item always has room: an answer without
    /// any would not get anyone further.
    pub(super) fn add(&mut self, item: T) -> bool {
        let tokens = json_tokens(&item) + 1;
        if tokens > self.left && !self.items.is_empty() {
            return false;
        }
        self.left = self.left.saturating_sub(tokens);
        self.items.push(item);
        true
    }
}

/// Returns the tokens of a value as JSON.
pub(super) fn json_tokens(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| estimate_tokens(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_ends_when_its_room_does() {
        let mut list = FittedList::new(LIST_TOKENS);
        let mut added = 0;
        while added < 10_000 && list.add("some words of an item") {
            added += 1;
        }
        assert!((50..1_000).contains(&added), "{added}");
        assert!(json_tokens(&list.items) <= LIST_TOKENS);
        let mut small = FittedList::new(0);
        assert!(small.add("first") && !small.add("second"));
    }
}
