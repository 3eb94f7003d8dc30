//! Answers as the audit log and people see them.

use sectile_mcp::{AnswerFacts, JsonObject};

use super::{DocsSearchAnswer, FoundBy, FoundSection, Score, skipped};

/// A section of an answer, formatted for people.
pub(crate) struct ShownSection<'a> {
    pub(crate) uri: &'a str,
    /// The title of the document, the headings above, and the heading.
    pub(crate) place: Vec<&'a str>,
    pub(crate) content: &'a str,
    /// The parts of the score, if requested.
    pub(crate) parts: Vec<String>,
}

impl DocsSearchAnswer {
    /// The facts that the audit log may hold.
    pub(crate) fn facts(&self) -> AnswerFacts {
        AnswerFacts {
            sections: Some(self.sections.len()),
            truncated: self.sections.iter().any(|section| section.truncated),
            ..AnswerFacts::default()
        }
    }

    /// The `_meta` of the answer.
    pub(crate) fn meta(&self, namespace: &str) -> JsonObject {
        skipped::meta(namespace, self.skipped_total, &[])
    }

    /// The sections, formatted for people.
    pub(crate) fn shown(&self) -> impl Iterator<Item = ShownSection<'_>> {
        self.sections.iter().map(|section| {
            let place = section.trail.iter().chain([&section.heading]);
            ShownSection {
                uri: &section.uri,
                place: place.map(String::as_str).collect(),
                content: &section.content,
                parts: section.parts(),
            }
        })
    }

    /// Remarks about the search, one line each.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self
            .corrected
            .iter()
            .map(|one| {
                format!(
                    "\"{}\" is not in the documents; searched for {}.",
                    one.term,
                    one.used.join(", ")
                )
            })
            .collect();
        if !self.suggested.is_empty() {
            remarks.push(format!("Did you mean {}?", self.suggested.join(", ")));
        }
        if !self.unknown_terms.is_empty() {
            remarks.push(format!(
                "Not in the documents: {}.",
                self.unknown_terms.join(", ")
            ));
        }
        if !self.dropped_terms.is_empty() {
            remarks.push(format!(
                "Not searched for, because the query is long: {}.",
                self.dropped_terms.join(", ")
            ));
        }
        if self.phrases_ignored {
            remarks.push("The words in quotes do not occur together anywhere.".to_owned());
        }
        if self.found_by == Some(FoundBy::Meaning) {
            remarks.push(
                "No section has these words; these sections are the nearest in meaning.".to_owned(),
            );
        }
        if let Some(help) = &self.help {
            remarks.push(help.message.clone());
            remarks.extend(
                help.closest_headings
                    .iter()
                    .map(|one| format!("{}  {}", one.heading, one.uri)),
            );
        }
        remarks.extend(self.suggested_followups.iter().cloned());
        remarks
    }
}

impl FoundSection {
    /// The reasons why the section is in the answer, one line each.
    fn parts(&self) -> Vec<String> {
        let score = self.score.iter().flat_map(Score::lines);
        let nearness = self.nearness.iter();
        score
            .chain(nearness.map(|nearness| format!("{nearness:>7}  near in meaning")))
            .collect()
    }
}

impl Score {
    /// The parts of the score, one line each.
    fn lines(&self) -> Vec<String> {
        let terms = self.terms.iter().map(|term| {
            let place = if term.in_heading {
                ", in the heading"
            } else {
                ""
            };
            format!("{:>7}  {} ({}{place})", term.score, term.term, term.form)
        });
        let others = [(self.together, "words together"), (self.role_bonus, "role")];
        let others = others.into_iter().filter(|(score, _)| *score > 0);
        terms
            .chain(others.map(|(score, what)| format!("{score:>7}  {what}")))
            .chain([format!("{:>7}  in all", self.total)])
            .collect()
    }
}
