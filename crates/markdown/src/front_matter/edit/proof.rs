//! Proves an edit: the changed note, parsed again, differs in what was requested and in nothing else.

use super::{FrontMatterError, NewValue, mapping, reads_as};
use crate::{
    Change, Changes, Mapping, Source, Value,
    front_matter::{byte_order_mark_len, emit::DateStyle},
};

/// The state before the change, and the intended result.
pub(super) struct Proof<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) before: &'a Mapping,
    pub(super) key: &'a str,
    /// The new value, or `None` if the key is to be removed.
    pub(super) asked: Option<NewValue<'a>>,
}

impl Proof<'_> {
    /// Converts `changes` of the decoded text into changes of `bytes`, provided that they have the intended effect.
    pub(super) fn of(
        &self,
        bytes: &[u8],
        changes: Vec<Change>,
    ) -> Result<Changes, FrontMatterError> {
        let changes = changes.into_iter().map(|change| Change {
            span: self.source.offsets.span_to_raw(change.span),
            ..change
        });
        let changes = Changes::new(changes).ok_or(FrontMatterError::Unsafe)?;
        let changed = changes.apply(bytes).ok_or(FrontMatterError::Unsafe)?;
        let source = Source::new(&changed);
        let after = match mapping(&source) {
            Ok(after) => after,
            Err(FrontMatterError::TooLarge) => return Err(FrontMatterError::TooLarge),
            Err(_) => return Err(FrontMatterError::Unsafe),
        };
        let holds = self.key_is_as_asked(&after)
            && self.other_keys_are_the_same(&after)
            && self.surroundings_are_the_same(bytes, &changed, &source)
            && self.sections_are_the_same(bytes.len(), changed.len(), &source);
        if holds {
            Ok(changes)
        } else {
            Err(FrontMatterError::Unsafe)
        }
    }

    fn key_is_as_asked(&self, after: &Mapping) -> bool {
        match (self.asked, after.get(self.key)) {
            (Some(asked), Some(read)) => reads_as(asked.value, read, DateStyle::AsDates),
            (None, None) => true,
            _ => false,
        }
    }

    fn other_keys_are_the_same(&self, after: &Mapping) -> bool {
        let place = |mapping: &Mapping| mapping.iter().position(|(key, _)| key == self.key);
        let (old_place, new_place) = (place(self.before), place(after));
        let stays = old_place.is_none() || new_place.is_none() || old_place == new_place;
        let others = |mapping: &Mapping| -> Mapping {
            mapping
                .iter()
                .filter(|(key, _)| *key != self.key)
                .map(|(key, value)| (key.to_owned(), value.clone()))
                .collect()
        };
        let (before, after) = (others(self.before), others(after));
        stays && reads_as(&Value::Map(before), &Value::Map(after), DateStyle::AsDates)
    }

    /// Returns whether nothing outside the YAML differs, apart from the delimiter lines of a new block and a blank line
    /// after it.
    fn surroundings_are_the_same(&self, before: &[u8], after: &[u8], changed: &Source<'_>) -> bool {
        let Some(new) = changed.front_matter() else {
            return false;
        };
        match self.source.front_matter() {
            Some(old) => {
                before[..old.yaml.start] == after[..new.yaml.start]
                    && before[old.yaml.end..] == after[new.yaml.end..]
            }
            None => {
                let (mark, body) = before.split_at(byte_order_mark_len(&self.source.text));
                let behind = &after[new.block.end..];
                *mark == after[..new.block.start]
                    && behind
                        .strip_suffix(body)
                        .is_some_and(|gap| matches!(gap, b"" | b"\n" | b"\r\n" | b"\r"))
            }
        }
    }

    fn sections_are_the_same(&self, old_len: usize, new_len: usize, changed: &Source<'_>) -> bool {
        // The text grows only above the first heading.
        let moved = |at: usize| (at + new_len).checked_sub(old_len);
        let (old, new) = (self.source.parse(), changed.parse());
        old.sections().len() == new.sections().len()
            && old
                .sections()
                .iter()
                .zip(new.sections())
                .all(|(old, new)| old.moved(moved).as_ref() == Some(new))
    }
}
