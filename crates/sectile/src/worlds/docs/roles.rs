//! The roles of documents, and the words of a query that ask for them.

use super::corpus::DocRole;

impl DocRole {
    /// The content of documents of this role, as a phrase for callers.
    pub(super) fn tells(self) -> &'static str {
        match self {
            Self::Reasoning => "why it works this way and what is promised",
            Self::Decision => "which tool or step to choose",
            Self::Ontology => "exact names, types, errors and settings",
            Self::Pattern => "a worked example",
        }
    }

    /// Words of a query that ask for this role, as the text analysis normalizes them.
    fn cues(self) -> &'static [&'static str] {
        match self {
            Self::Reasoning => &[
                "why",
                "guarantee",
                "guarantees",
                "promise",
                "trust",
                "safe",
                "security",
                "secure",
                "invariant",
                "evidence",
                "threat",
                "risk",
                "principle",
            ],
            Self::Decision => &[
                "which", "choose", "instead", "versus", "vs", "start", "first", "next", "order",
                "precheck", "scenario", "runpack", "tool",
            ],
            Self::Ontology => &[
                "schema",
                "field",
                "type",
                "format",
                "error",
                "code",
                "setting",
                "config",
                "default",
                "limit",
                "provider",
                "comparator",
                "condition",
                "ret",
                "jsonpath",
                "syntax",
                "argument",
            ],
            Self::Pattern => &[
                "example",
                "recipe",
                "workflow",
                "playbook",
                "integration",
                "integrate",
                "sample",
                "template",
                "steps",
            ],
        }
    }
}

/// The bonus for sections of each role, in percent: ten for the role that most words of the query ask for, five for
/// other roles that some words ask for.
pub(super) fn favours(words: &[String]) -> [u64; DocRole::ALL.len()] {
    let counts = DocRole::ALL.map(|role| {
        let asks = |word: &&String| role.cues().contains(&word.as_str());
        words.iter().filter(asks).count()
    });
    let most = counts.iter().copied().max().unwrap_or(0);
    let first = counts.iter().position(|count| *count == most);
    std::array::from_fn(|at| match counts[at] {
        0 => 0,
        _ if Some(at) == first => 10,
        _ => 5,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_favour_roles_and_the_first_wins_a_tie() {
        let of = |query: &str| favours(&sectile_retrieval::words(query));
        assert_eq!(of("anything else"), [0, 0, 0, 0]);
        assert_eq!(of("Why is this the default error?"), [5, 0, 10, 0]);
        assert_eq!(of("example schema"), [0, 0, 10, 5]);
        assert_eq!(of("secret"), [0, 0, 0, 0]);
    }
}
