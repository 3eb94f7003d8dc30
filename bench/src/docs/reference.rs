//! The scoring rules of the plan's own implementation, rewritten from a description of its behaviour, as a baseline:
//! sections by lines that start with `## ` or `### `, substrings, three points for the heading and one for the body, a
//! bonus for the role.

use super::Document;

pub(super) struct ScannedSection {
    label: String,
    role: usize,
    heading: String,
    body: String,
}

const ROLES: [(&str, &[&str]); 4] = [
    (
        "reasoning",
        &["why", "trust", "evidence", "security", "invariant"],
    ),
    (
        "decision",
        &[
            "which tool",
            "precheck",
            "scenario",
            "runpack",
            "start",
            "next",
        ],
    ),
    (
        "ontology",
        &[
            "schema",
            "provider",
            "comparator",
            "condition",
            "ret",
            "jsonpath",
        ],
    ),
    (
        "pattern",
        &["playbook", "workflow", "recipe", "integration", "example"],
    ),
];

pub(super) fn sections(documents: &[Document]) -> Vec<ScannedSection> {
    let mut all = Vec::new();
    for document in documents {
        let role = ROLES.iter().position(|(role, _)| *role == document.role);
        // The labels come from the section model, which yields the same sections unless a fence is in the way.
        let mut labels = document
            .sections
            .iter()
            .map(|section| match &section.anchor {
                Some(anchor) => format!("{}#{anchor}", document.slug),
                None => document.slug.clone(),
            });
        let mut scanned = ScannedSection {
            label: labels.next().unwrap_or_default(),
            role: role.unwrap_or(3),
            heading: document.slug.clone(),
            body: String::new(),
        };
        for line in document.text.lines() {
            let heading = line
                .strip_prefix("## ")
                .or_else(|| line.strip_prefix("### "));
            if let Some(heading) = heading {
                let next = ScannedSection {
                    label: labels.next().unwrap_or_default(),
                    role: scanned.role,
                    heading: heading.to_lowercase(),
                    body: String::new(),
                };
                all.push(std::mem::replace(&mut scanned, next));
            } else {
                scanned.body.push_str(&line.to_lowercase());
                scanned.body.push('\n');
            }
        }
        all.push(scanned);
    }
    all
}

pub(super) fn search(sections: &[ScannedSection], query: &str, most: usize) -> Vec<String> {
    let query = query.trim().to_lowercase();
    let terms: Vec<&str> = query.split_whitespace().collect();
    let cues = ROLES.map(|(_, cues)| cues.iter().filter(|cue| query.contains(**cue)).count());
    let most_cues = cues.iter().copied().max().unwrap_or(0);
    let first = cues.iter().position(|count| *count == most_cues);
    let mut scored: Vec<(usize, usize)> = Vec::new();
    for (at, section) in sections.iter().enumerate() {
        let score: usize = terms
            .iter()
            .map(|term| {
                3 * usize::from(section.heading.contains(term))
                    + usize::from(section.body.contains(term))
            })
            .sum();
        if score > 0 {
            let bonus = match cues[section.role] {
                0 => 0,
                _ if first == Some(section.role) => 2,
                _ => 1,
            };
            scored.push((score + bonus, at));
        }
    }
    scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    scored
        .iter()
        .take(most)
        .map(|(_, at)| sections[*at].label.clone())
        .collect()
}
