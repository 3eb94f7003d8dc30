//! The desk, through the real binary.

use serde_json::Value;

/// Bad input of every kind.
mod bad_input;
/// Bases: what one answer gives, every tool takes.
mod bases;
/// Callers that are bound to roots.
pub(crate) mod callers;
/// The card on which people review changes.
mod card;
/// Listings, schemas and sample answers, pinned.
mod contract;
/// The codes of errors, and what they say.
mod errors;
/// What `fetch` answers: exact bytes, budgets, pages, several ids, and the form for connectors.
mod fetch;
/// What clients are told when they connect, and what they are offered.
mod greeting;
/// What is hidden answers like what does not exist.
mod hidden;
/// What many clients see at the same time.
mod linearizable;
/// The edges of `links`.
mod links;
/// The lists of `outline` and `changes`.
mod lists;
/// The memory preset.
mod memory;
/// Both eras, both transports, and budgets.
mod protocol;
/// Random edits by the desk and by other programs, each seen by the next call.
mod read_your_writes;
/// Several roots, their rules, and settings that are refused.
mod roots;
/// What `search` answers.
mod search;
/// Reading a desk with several roots.
mod several_roots;
/// Skills in the folder, and the desk's own.
mod skills;
/// Desks of many tenants: isolation, quotas, faults of the store, kills, and the commands.
#[cfg(feature = "backends")]
mod tenants;
/// Folders that are not what they seem, and disks that cannot be written.
mod untrusted;
/// The tools that write.
mod writes;

/// A few notes that link to each other.
const NOTES: &[(&str, &str)] = &[
    (
        "projects/plan.md",
        "---\ntags: [harbour]\nstatus: open\n---\n# Plan\n\nIntro text.\n\n## Budget\n\nForty euros.\n\n### Catering\n\nSandwiches.\n\n\
         ## Dates\n\nIn spring.\n",
    ),
    (
        "index.md",
        "# Index\n\nSee [[plan#Budget]] and [the plan](projects/plan.md).\n",
    ),
    ("projects/other.md", "# Other\n\n## Notes\n\nNothing yet.\n"),
];

/// Notes with text, links, tasks and fields to find.
const READ_NOTES: &[(&str, &str)] = &[
    (
        "projects/plan.md",
        "---\ntitle: Harbour plan\nstatus: open\ntags: [harbour, money]\n---\n# Harbour plan\n\nThe plan for the new harbour.\n\n## Budget\n\nThe budget is 40 euros for ropes and paint.\n\n### Catering\n\nSoup for everyone, as [[Winter feed]] says.\n\n## Tasks\n\n- [ ] Buy ropes\n- [x] Ask the mayor\n- [ ] Paint the quay #paint\n",
    ),
    (
        "projects/Winter feed.md",
        "# Winter feed\n\nHay and oats for the horses. See [the budget](plan.md#budget).\n",
    ),
    ("inbox.md", "Loose thoughts about boats.\n"),
    ("AGENTS.md", "# Guide\n\nWrite short notes.\n"),
];

/// An answer as text, without what differs between any two folders: the ends of the ids of sections, which are made up when
/// a document is first seen, and the times of changes.
fn settled(answer: &Value) -> String {
    let text = answer.to_string();
    let (mut settled, mut rest) = (String::new(), text.as_str());
    while let Some(at) = rest.find(['#', 'T']) {
        let is_time = rest[at..].starts_with('T');
        let is_part = |c: char| match is_time {
            true => c.is_ascii_digit() || ":.Z".contains(c),
            false => c.is_alphanumeric() || c == '-',
        };
        let word = rest[at + 1..].split(|c| !is_part(c)).next().unwrap();
        let (start, end) = word.rsplit_once('-').unwrap_or((word, ""));
        settled += &rest[..at];
        // As in 2026-01-31T10:00:00.5Z and in projects/plan.md#budget-2ijasjab8etc1.
        match (is_time, end.len()) {
            (true, _) if word.len() >= 9 && word.ends_with('Z') => {
                settled.truncate(settled.len() - "2026-01-31".len());
                settled += "[time]";
            }
            (false, 8..=14) => settled += &format!("#{start}-[id]"),
            _ => settled += &rest[at..=at + word.len()],
        }
        rest = &rest[at + 1 + word.len()..];
    }
    settled + rest
}
