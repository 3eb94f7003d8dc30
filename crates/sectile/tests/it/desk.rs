//! The desk, through the real binary.

/// Callers that are bound to roots.
mod callers;
/// The codes of errors, and what they say.
mod errors;
/// What `fetch` answers: exact bytes, budgets, pages, several ids, and the form for connectors.
mod fetch;
/// What clients are told when they connect, and what they are offered.
mod greeting;
/// What is hidden cannot be told from what does not exist.
mod hidden;
/// The edges of `links`.
mod links;
/// The lists of `outline` and `changes`.
mod lists;
/// The memory preset.
mod memory;
/// Several roots, their rules, and settings that are refused.
mod roots;
/// What `search` answers.
mod search;
/// Reading a desk with several roots.
mod several_roots;
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
