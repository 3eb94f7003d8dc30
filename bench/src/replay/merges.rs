//! Merges of two sides, by us, by git and by people.

use std::{collections::HashMap, path::Path};

use anyhow::{Context as _, Result};
use sectile_markdown::merge;

use super::{
    Figures, Replay,
    git::{FileChange, Repository, git},
};

#[derive(Default)]
struct MergeCounts {
    documents: usize,
    /// Merged by both, to the same bytes.
    same: usize,
    /// Merged by both, to different bytes.
    different: usize,
    /// Refused by us, merged by git.
    only_git: usize,
    /// Refused by git, merged by us.
    only_ours: usize,
    /// Refused by both.
    refused: usize,
    /// Merged by us as people did.
    as_people: usize,
}

pub(super) fn replay(
    replay: &Replay,
    repository: &mut Repository,
    figures: &mut Figures,
) -> Result<()> {
    let folder = tempfile::tempdir_in(&replay.place)?;
    let mut counts = MergeCounts::default();
    for merged in repository.merges(replay.most)? {
        let Some(base) = repository.base(&merged.parents) else {
            continue;
        };
        let [ours, theirs] = &merged.parents;
        let theirs: HashMap<String, FileChange> = repository
            .between(&base, theirs)?
            .into_iter()
            .map(|change| (change.path.clone(), change))
            .collect();
        for ours in repository.between(&base, ours)? {
            let Some(theirs) = theirs.get(&ours.path) else {
                continue;
            };
            let names = [&ours.before, &ours.after, &theirs.after].map(Option::as_ref);
            let [Some(base), Some(left), Some(right)] = names else {
                continue;
            };
            if left == right {
                continue;
            }
            let mut read = |name: &str| repository.object(name)?.context("an object is missing");
            let sides = [read(base)?, read(left)?, read(right)?];
            let people = repository.object(&format!("{}:{}", merged.commit, ours.path))?;
            let what = format!("{} {}", merged.commit, ours.path);
            counts.merge(folder.path(), &sides, people.as_deref(), &what, figures)?;
        }
    }
    counts.report(figures);
    Ok(())
}

impl MergeCounts {
    fn merge(
        &mut self,
        folder: &Path,
        sides: &[Vec<u8>; 3],
        people: Option<&[u8]>,
        what: &str,
        figures: &mut Figures,
    ) -> Result<()> {
        self.documents += 1;
        let [base, ours, theirs] = sides;
        let by_us = merge(base, ours, theirs).ok();
        let by_git = merged_by_git(folder, sides)?;
        if let Some(merged) = &by_us
            && let Some(lost) = lost_line(sides, merged)
        {
            figures
                .failures
                .push(format!("{what}: the merge lost `{lost}`"));
        }
        let is_as_people = by_us.as_deref() == people;
        let (count, remark) = match (&by_us, &by_git) {
            (Some(one), Some(other)) if one == other => (&mut self.same, None),
            (Some(_), Some(_)) => (&mut self.different, Some("merged differently by git")),
            (None, Some(_)) => (&mut self.only_git, Some("refused, but merged by git")),
            (Some(_), None) => (&mut self.only_ours, Some("merged, but refused by git")),
            (None, None) => (&mut self.refused, None),
        };
        *count += 1;
        let edited = (by_us.is_some() && !is_as_people).then_some("merged otherwise by people");
        for remark in remark.into_iter().chain(edited) {
            figures.remarks.push(format!("{what}: {remark}"));
        }
        self.as_people += usize::from(by_us.is_some() && is_as_people);
        Ok(())
    }

    fn report(&self, figures: &mut Figures) {
        let merged = self.same + self.different + self.only_ours;
        figures.row("documents merged from two sides", self.documents);
        figures.share(
            "merged by us and by git, to the same bytes",
            self.same,
            self.documents,
        );
        figures.share(
            "merged by both, to different bytes",
            self.different,
            self.documents,
        );
        figures.share(
            "merged by git, refused by us",
            self.only_git,
            self.documents,
        );
        figures.share(
            "merged by us, refused by git",
            self.only_ours,
            self.documents,
        );
        figures.share("refused by both", self.refused, self.documents);
        figures.share(
            "of those merged by us, as they were committed",
            self.as_people,
            merged,
        );
    }
}

/// Returns the merge of `git merge-file`, or `None` if it found a conflict.
fn merged_by_git(folder: &Path, [base, ours, theirs]: &[Vec<u8>; 3]) -> Result<Option<Vec<u8>>> {
    for (name, bytes) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        std::fs::write(folder.join(name), bytes)?;
    }
    let output = git(folder)
        .args(["merge-file", "-p", "-q", "ours", "base", "theirs"])
        .output()?;
    Ok(output.status.success().then_some(output.stdout))
}

/// Returns a line that is missing from a merge: one that neither side removed, or that a side added.
fn lost_line([base, ours, theirs]: &[Vec<u8>; 3], merged: &[u8]) -> Option<String> {
    let [base, ours, theirs, merged] = [base, ours, theirs, merged].map(|text| line_counts(text));
    let of =
        |lines: &HashMap<&[u8], usize>, line: &[u8]| lines.get(line).copied().unwrap_or_default();
    let mut lines: Vec<&[u8]> = base
        .keys()
        .chain(ours.keys())
        .chain(theirs.keys())
        .copied()
        .collect();
    lines.sort_unstable();
    let lost = lines.into_iter().find(|line| {
        let (base, ours, theirs) = (of(&base, line), of(&ours, line), of(&theirs, line));
        // A line that both sides touched may be there as often as on either.
        let least = if ours < base && theirs < base {
            (ours + theirs).saturating_sub(base)
        } else if ours < base || theirs < base {
            ours.min(theirs)
        } else {
            ours.max(theirs)
        };
        of(&merged, line) < least
    })?;
    Some(String::from_utf8_lossy(lost).into_owned())
}

fn line_counts(text: &[u8]) -> HashMap<&[u8], usize> {
    let mut counts = HashMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_line_is_found() {
        let sides = ["a\nb\nc\n", "a\nx\nb\nc\n", "a\nb\n"].map(|text| text.as_bytes().to_vec());
        assert_eq!(lost_line(&sides, b"a\nx\nb\n"), None);
        assert_eq!(lost_line(&sides, b"a\nb\n").as_deref(), Some("x"));
        assert_eq!(lost_line(&sides, b"a\nx\n").as_deref(), Some("b"));
    }
}
