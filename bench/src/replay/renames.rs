//! Renamed documents: the links that we repair, and those that people repaired in the same commit.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::Result;
use sectile_markdown::{Link, NotePath, Source, links};
use sectile_vault::{
    Editor,
    editor::{CallHooks, Operation, RenameDocument, WriteRequest},
};

use super::{
    Figures, Replay,
    git::{FileChange, Repository},
};
use crate::editor::options;

/// Larger trees are left out: every file of a commit's tree is made on disk.
const MOST_FILES: usize = 20_000;

#[derive(Default)]
struct RenameCounts {
    documents: usize,
    refused: BTreeMap<String, usize>,
    links: usize,
    as_people: usize,
    left_by_people: usize,
    otherwise: usize,
}

pub(super) fn replay(
    replay: &Replay,
    repository: &mut Repository,
    figures: &mut Figures,
) -> Result<()> {
    let renames = repository.renames(replay.most)?;
    let mut counts = RenameCounts::default();
    for renames in renames.chunk_by(|one, other| one.commit == other.commit) {
        counts.commit(replay, repository, renames, figures)?;
    }
    counts.report(figures);
    Ok(())
}

impl RenameCounts {
    /// Renames the documents of one commit in the tree before it, and compares the links with those after it.
    fn commit(
        &mut self,
        replay: &Replay,
        repository: &mut Repository,
        renames: &[FileChange],
        figures: &mut Figures,
    ) -> Result<()> {
        let Some(commit) = renames.first().map(|rename| rename.commit.clone()) else {
            return Ok(());
        };
        let files = repository.files(&format!("{commit}^"))?;
        if files.len() > MOST_FILES {
            *self
                .refused
                .entry("the tree is too large to replay".to_owned())
                .or_default() += renames.len();
            return Ok(());
        }
        let folder = tempfile::tempdir_in(&replay.place)?;
        let before = checkout(repository, &files, folder.path())?;
        let editor = Editor::folder(folder.path(), options())?;
        let mut moved = BTreeMap::new();
        for rename in renames {
            let Some(new) = &rename.renamed_to else {
                continue;
            };
            self.documents += 1;
            match rename_document(&editor, &rename.path, new) {
                Ok(0) => _ = moved.insert(rename.path.as_str(), new.as_str()),
                Ok(broken) => {
                    let (path, commit) = (&rename.path, &rename.commit);
                    figures
                        .failures
                        .push(format!("{commit} {path}: the rename broke {broken} links"));
                }
                Err(why) => *self.refused.entry(why).or_default() += 1,
            }
        }
        for (path, before) in &before {
            let now = moved.get(path.as_str()).copied().unwrap_or(path);
            let ours = fs::read(folder.path().join(now))?;
            if ours != *before
                && let Some(people) = repository.object(&format!("{commit}:{now}"))?
            {
                self.compare(before, &ours, &people);
            }
        }
        Ok(())
    }

    fn compare(&mut self, before: &[u8], ours: &[u8], people: &[u8]) {
        let targets = |text: &[u8]| -> Vec<String> {
            links(&Source::new(text)).iter().map(Link::target).collect()
        };
        let (before, ours, people) = (targets(before), targets(ours), targets(people));
        for (before, ours) in before
            .iter()
            .zip(&ours)
            .filter(|(before, ours)| before != ours)
        {
            self.links += 1;
            if people.contains(ours) {
                self.as_people += 1;
            } else if people.contains(before) {
                self.left_by_people += 1;
            } else {
                self.otherwise += 1;
            }
        }
    }

    fn report(&self, figures: &mut Figures) {
        figures.row("documents renamed", self.documents);
        for (why, count) in &self.refused {
            figures.row(format!("not renamed: {why}"), count);
        }
        figures.row("links repaired by us", self.links);
        figures.share("repaired as people did", self.as_people, self.links);
        figures.share("left broken by people", self.left_by_people, self.links);
        figures.share("rewritten or removed by people", self.otherwise, self.links);
    }
}

/// Writes the files of a commit, other than Markdown without their content, and returns the Markdown.
fn checkout(
    repository: &mut Repository,
    files: &[(String, String)],
    folder: &Path,
) -> Result<Vec<(String, Vec<u8>)>> {
    let mut notes = Vec::new();
    for (path, object) in files {
        // What is in our private folder, or leads out of the folder, is not a file of the repository.
        let Ok(note) = NotePath::parse_vault(path) else {
            continue;
        };
        if note.as_str() != path || path.starts_with(".sectile") {
            continue;
        }
        let place = folder.join(path);
        if let Some(above) = place.parent() {
            fs::create_dir_all(above)?;
        }
        let is_markdown = sectile_vault::editor::is_markdown(&note);
        let bytes = if is_markdown {
            repository.object(object)?
        } else {
            None
        };
        fs::write(place, bytes.as_deref().unwrap_or_default())?;
        notes.extend(bytes.map(|bytes| (path.clone(), bytes)));
    }
    Ok(notes)
}

/// Renames a document with all links to it, and returns the number of links that no longer lead anywhere.
fn rename_document(editor: &Editor, old: &str, new: &str) -> Result<usize, String> {
    let path = |path: &str| NotePath::parse_vault(path).map_err(|error| error.to_string());
    let rename = RenameDocument {
        path: path(old)?,
        new_path: path(new)?,
        repair_links: true,
    };
    let request = WriteRequest::new(
        vec![Operation::RenameDocument(rename)],
        "rename_document",
        "replay",
    );
    let report = editor
        .write(&request, CallHooks::none())
        .map_err(|error| error.to_string())?;
    Ok(report.broken_links.len() + report.broken_links_more)
}
