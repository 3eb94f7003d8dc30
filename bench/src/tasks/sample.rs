//! The folder that the jobs are done in: a small vault, the same every time.

use std::{fs, path::Path};

use anyhow::Result;

use crate::corpus::ordinary_notes;

/// The notes that the jobs are about.
const NOTES: [(&str, &str); 6] = [
    (
        "projects/harbour/plan.md",
        "---\ntitle: Harbour festival\nstatus: draft\ntags: [festival]\n---\n\n# Harbour festival\n\nThree days in June at \
         the old harbour. See also [[crew]].\n\n## Programme\n\n### Saturday\n\nBoats at ten, music at two.\n\n### \
         Sunday\n\nRegatta at nine.\n\n## Budget\n\nThe stage costs 4,000 and the pilot 350 a day. Insurance is still \
         open.\n\n- [ ] Ask the insurer for an offer\n- [x] Book the stage\n\n## Risks\n\nStorm, and a quay that is not \
         repaired in time.\n",
    ),
    (
        "projects/harbour/crew.md",
        "---\ntitle: Crew\nstatus: draft\n---\n\n# Crew\n\nWho does what, as of [the budget](plan.md#budget).\n\n- [ ] \
         Find a second pilot\n- [ ] Print the badges\n",
    ),
    (
        "projects/harbour/suppliers.md",
        "# Suppliers\n\nStage: Nordlicht. Their offer is in [[plan#Budget]].\n\n- [ ] Sign the contract with Nordlicht\n",
    ),
    (
        "areas/insurance.md",
        "# Insurance\n\nAll policies. The festival is under [[plan#Budget|its budget]].\n",
    ),
    (
        "people/ann.md",
        "---\naliases: [Ann Berg]\n---\n\n# Ann\n\nRuns [[plan|the festival]] since 2024.\n",
    ),
    (
        "inbox/ideas.md",
        "# Ideas\n\n## Lanterns\n\nPaper lanterns along the quay at night.\n\n## Tombola\n\nFor the museum.\n",
    ),
];

/// Folders with other notes, and the number of notes in each.
const OTHERS: [(&str, usize); 4] = [
    ("journal", 60),
    ("areas", 20),
    ("people", 20),
    ("projects/house", 20),
];
/// The usual length of a note, in bytes.
const LENGTH: usize = 3_000;

pub(super) fn write(root: &Path) -> Result<()> {
    let count = OTHERS.iter().map(|(_, count)| count).sum();
    let mut texts = ordinary_notes(count, LENGTH).into_iter();
    for (folder, count) in OTHERS {
        fs::create_dir_all(root.join(folder))?;
        for (number, text) in texts.by_ref().take(count).enumerate() {
            fs::write(root.join(format!("{folder}/note-{number:02}.md")), text)?;
        }
    }
    for (path, text) in NOTES {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap_or(root))?;
        fs::write(file, text)?;
    }
    Ok(())
}
