//! The desk, through the real binary.

/// Callers that are bound to roots.
mod callers;
/// The codes of errors, and what they say.
mod errors;
/// Several roots, their rules, and settings that are refused.
mod roots;
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
