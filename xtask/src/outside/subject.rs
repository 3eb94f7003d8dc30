//! The subjects of the checks: the worlds, and the documents that they serve.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Bench;
use super::hosted::{Store, notes_of_user};

/// Text that no answer of the vault world and no log may contain: it is in bodies and in a private front matter key.
pub(super) const SENTINELS: [&str; 2] = ["SENTINEL-BODY-5d1c", "SENTINEL-SECRET-90ab"];

/// The note that tools are called with.
pub(super) const NOTE: &str = "inbox/example.md";

const NOTES: &[(&str, &str)] = &[
    (
        NOTE,
        "---\ntitle: An example\ntags: [alpha, beta]\napi_key: SENTINEL-SECRET-90ab\n---\n\
         SENTINEL-BODY-5d1c before the first heading.\n\n# First\n\nSENTINEL-BODY-5d1c\n\n## Inner\n\n\
         - SENTINEL-BODY-5d1c\n\n#### Deep\n\n```\n# SENTINEL-BODY-5d1c in a fence\n```\n\n# Second\n",
    ),
    (
        "projects/plan/plan.md",
        "Plan\n====\n\nSENTINEL-BODY-5d1c\n\n> ## Quoted\n\nNext\n----\n",
    ),
    (
        "日本語/メモ.md",
        "# 概要\n\nSENTINEL-BODY-5d1c\n\n## 背景と目的\n\n本文\n",
    ),
];

/// A skill with files of several kinds, which the desk has in addition.
const SKILL: &[(&str, &[u8])] = &[
    (
        "skills/release-notes/SKILL.md",
        b"---\nname: release-notes\ndescription: Write the notes of a release from its changes.\n\
          license: MIT\nmetadata:\n  version: \"1.10\"\n  since: 2026-01-01\n---\n# Release notes\n\n\
          Keep to [the style](references/style.md).\n",
    ),
    (
        "skills/release-notes/references/style.md",
        b"# Style\n\nShort sentences.\n",
    ),
    (
        "skills/release-notes/scripts/collect.sh",
        b"git log --oneline\n",
    ),
    (
        "skills/release-notes/assets/seal.bin",
        b"\x00\xff\xfenot text",
    ),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SubjectKind {
    Vault,
    Desk,
    EditorFolder,
    EditorDocument,
    Docs,
    Notebook,
    Hosted,
}

/// A server to check.
pub(super) struct Subject {
    pub(super) kind: SubjectKind,
    /// Name in reports and log files.
    pub(super) name: &'static str,
    /// Name of the world on the command line.
    pub(super) world: &'static str,
    /// The folder or document that is served.
    pub(super) location: PathBuf,
    /// Settings file, if the defaults do not suffice.
    pub(super) settings: Option<PathBuf>,
    /// Address of the HTTP server, once it listens.
    pub(super) url: String,
    /// The note store behind the world, if it has one.
    pub(super) store: Option<Store>,
}

impl Subject {
    /// Returns the arguments that make the binary serve it with default settings, on stdio unless told otherwise.
    pub(super) fn arguments(&self) -> Vec<String> {
        let location = self.location.to_string_lossy().into_owned();
        let mut arguments = vec!["serve".to_owned(), self.world.to_owned()];
        if self.store.is_some() {
            arguments.push("--config".to_owned());
        }
        arguments.push(location);
        arguments
    }

    /// Returns the same arguments with its own settings.
    pub(super) fn arguments_with_settings(&self) -> Vec<String> {
        let mut arguments = self.arguments();
        if let Some(settings) = &self.settings {
            arguments.push("--config".to_owned());
            arguments.push(settings.to_string_lossy().into_owned());
        }
        arguments
    }

    /// Returns whether it can be served on stdio.
    pub(super) fn is_on_stdio(&self) -> bool {
        self.store.is_none()
    }

    /// Returns the value of the `Authorization` header; empty if no sign-in is needed.
    pub(super) fn authorization(&self) -> &str {
        self.store.as_ref().map_or("", |store| &store.authorization)
    }

    /// Returns the whole command line of a server on stdio.
    pub(super) fn command_line(&self, bench: &Bench) -> Vec<String> {
        let mut words = vec![bench.binary.to_string_lossy().into_owned()];
        words.extend(self.arguments_with_settings());
        words
    }

    /// Returns whether its answers never contain the text of a note.
    pub(super) fn is_body_free(&self) -> bool {
        matches!(self.kind, SubjectKind::Vault | SubjectKind::Hosted)
    }
}

/// Returns all servers to check, each with freshly written documents of its own.
pub(super) fn all(bench: &Bench) -> Result<Vec<Subject>> {
    fs::create_dir_all(bench.folder.join("home"))?;
    // Reachable by a path that escapes from a root.
    let outside = format!("# {}\n", SENTINELS[0]);
    fs::write(bench.folder.join("outside.md"), outside)?;
    // A large deletion needs a confirmation only if a setting says so.
    let editor_settings = bench.folder.join("editor.toml");
    fs::write(&editor_settings, "[editor]\nconfirm_delete_bytes = 65536\n")?;
    // The questions are about the manual, which a folder on the command line replaces unless a setting says otherwise.
    let docs_settings = bench.folder.join("docs.toml");
    fs::write(&docs_settings, "[docs]\ninclude_default_docs = true\n")?;
    let subject = |kind, name, world, document: &str| -> Result<Subject> {
        let folder = bench.folder.join(name);
        write_notes(&folder)?;
        if kind == SubjectKind::Desk {
            write_files(&folder, SKILL)?;
        }
        Ok(Subject {
            kind,
            name,
            world,
            location: folder.join(document),
            settings: match world {
                "editor" => Some(editor_settings.clone()),
                "docs" => Some(docs_settings.clone()),
                _ => None,
            },
            url: String::new(),
            store: None,
        })
    };
    Ok(vec![
        subject(SubjectKind::Vault, "vault", "vault", "")?,
        subject(SubjectKind::Desk, "desk", "desk", "")?,
        subject(SubjectKind::EditorFolder, "editor-folder", "editor", "")?,
        subject(
            SubjectKind::EditorDocument,
            "editor-document",
            "editor",
            NOTE,
        )?,
        subject(SubjectKind::Docs, "docs", "docs", "")?,
        // Each folder is a collection; the walk adds one of its own.
        subject(SubjectKind::Notebook, "notebook", "notebook", "")?,
        hosted(bench)?,
    ])
}

/// Returns the hosted world in front of a store. Its location is its settings file.
fn hosted(bench: &Bench) -> Result<Subject> {
    let folder = bench.folder.join("hosted");
    write_notes(&notes_of_user(&folder))?;
    let settings = folder.join("sectile.toml");
    let store = Store::start(bench, &folder, &settings)?;
    Ok(Subject {
        kind: SubjectKind::Hosted,
        name: "hosted",
        world: "hosted",
        location: settings,
        settings: None,
        url: String::new(),
        store: Some(store),
    })
}

fn write_notes(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        fs::remove_dir_all(folder)?;
    }
    write_files(folder, NOTES)
}

fn write_files(folder: &Path, files: &[(&str, impl AsRef<[u8]>)]) -> Result<()> {
    for (path, bytes) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_hides_something() {
        for (path, text) in NOTES {
            assert!(
                SENTINELS.iter().any(|sentinel| text.contains(sentinel)),
                "{path}"
            );
        }
    }
}
