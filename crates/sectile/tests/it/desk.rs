//! The desk, through the real binary.

/// What `fetch` answers: exact bytes, budgets, pages, several ids, and the form for connectors.
mod fetch;
/// The lists of `outline` and `changes`.
mod lists;
/// What `search` answers.
mod search;

/// Notes of all kinds.
const NOTES: &[(&str, &str)] = &[
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
