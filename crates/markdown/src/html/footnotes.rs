//! The numbers of footnotes, in the order in which a reader meets them.

use std::collections::HashMap;

/// The footnotes met so far, by their labels.
#[derive(Debug, Default)]
pub(super) struct Footnotes(HashMap<String, Footnote>);

/// A footnote that the text refers to or defines.
#[derive(Debug)]
pub(super) struct Footnote {
    number: usize,
    references: usize,
    is_defined: bool,
}

/// The anchors of a footnote. Notes cannot choose them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FootnoteAnchors {
    pub(super) number: String,
    /// The `id` of the definition.
    pub(super) definition: String,
    /// The `id` of the reference: the one just met or, for a definition, the first.
    pub(super) reference: String,
    /// Whether there is a reference before.
    pub(super) is_referenced: bool,
    /// Whether there is a definition before. Of two with the same label, the first counts.
    pub(super) is_defined: bool,
}

impl Footnotes {
    /// Meets a reference.
    pub(super) fn refer(&mut self, label: &str) -> FootnoteAnchors {
        let footnote = self.of(label);
        footnote.references += 1;
        footnote.anchors(footnote.references)
    }

    /// Meets a definition.
    pub(super) fn define(&mut self, label: &str) -> FootnoteAnchors {
        let footnote = self.of(label);
        let anchors = footnote.anchors(1);
        footnote.is_defined = true;
        anchors
    }

    fn of(&mut self, label: &str) -> &mut Footnote {
        let number = self.0.len() + 1;
        self.0.entry(label.to_owned()).or_insert(Footnote {
            number,
            references: 0,
            is_defined: false,
        })
    }
}

impl Footnote {
    fn anchors(&self, reference: usize) -> FootnoteAnchors {
        let number = self.number;
        FootnoteAnchors {
            number: number.to_string(),
            definition: format!("footnote-{number}"),
            reference: format!("footnote-reference-{number}-{reference}"),
            is_referenced: self.references > 0,
            is_defined: self.is_defined,
        }
    }
}
