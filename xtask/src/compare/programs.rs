//! The programs that are compared, with exact versions, and what each can be asked to do.

mod bare;
mod basic_memory;
mod filesystem;
mod iwe;
mod patchloom;
mod qmd;
mod quantalogic;
mod sectile;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::client::{Client, Reply};
use super::notes::Workspace;
use crate::install;
use crate::process::{self, Repo};

/// The Node packages, and a Node that all of them run on.
const NODE_PACKAGES: &[(&str, &str)] = &[
    ("node", "22.23.3"),
    (filesystem::PACKAGE.0, filesystem::PACKAGE.1),
    (qmd::PACKAGE.0, qmd::PACKAGE.1),
];

/// A program under comparison.
///
/// Each operation is the shortest sensible sequence of calls for a model that knows the tools and the note, with the safest
/// tool that the program offers for it.
pub(super) trait Program: Sync {
    fn facts(&self) -> ProgramFacts;

    /// Installs the program; returns what is missing on this machine, if anything.
    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>>;

    /// Returns the command that serves the notes of a workspace on stdio.
    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command>;

    /// Brings an index up to date, for a program that does not do it by itself.
    fn index(&self, _tools: &Tools<'_>, _workspace: &Workspace) -> Result<()> {
        Ok(())
    }

    /// Makes the cheapest call there is.
    fn nothing(&self, _client: &mut Client) -> Result<Reply> {
        Ok(Reply::Cannot)
    }

    fn search(&self, _client: &mut Client, _words: &str) -> Result<Reply> {
        Ok(Reply::Cannot)
    }

    /// Looks for a passage, in any way.
    fn find(&self, client: &mut Client, _workspace: &Workspace, words: &str) -> Result<Reply> {
        self.search(client, words)
    }

    /// Reads a section, or as little around it as possible.
    fn read(&self, _client: &mut Client, _at: &SectionAddress<'_>) -> Result<Reply> {
        Ok(Reply::Cannot)
    }

    /// Replaces a passage inside a section.
    fn replace(
        &self,
        _: &mut Client,
        _at: &SectionAddress<'_>,
        _old: &str,
        _new: &str,
    ) -> Result<Reply> {
        Ok(Reply::Cannot)
    }

    /// Adds a paragraph to a section.
    fn append(&self, _: &mut Client, _at: &SectionAddress<'_>, _text: &str) -> Result<Reply> {
        Ok(Reply::Cannot)
    }

    /// Replaces the body of a section by its heading, whatever it is.
    fn set_section(&self, _: &mut Client, _at: &SectionAddress<'_>, _body: &str) -> Result<Reply> {
        Ok(Reply::Cannot)
    }

    /// Replaces the body of a section that was read as `seen`, by the safest tool that there is.
    fn rewrite(
        &self,
        client: &mut Client,
        at: &SectionAddress<'_>,
        seen: &SeenSection<'_>,
        body: &str,
    ) -> Result<Reply> {
        self.replace(client, at, seen.body, body)
    }

    /// Renames a heading.
    fn rename(&self, _: &mut Client, _at: &SectionAddress<'_>, _to: &str) -> Result<Reply> {
        Ok(Reply::Cannot)
    }

    /// Takes back the last change.
    fn undo(&self, _: &mut Client) -> Result<Reply> {
        Ok(Reply::Cannot)
    }
}

/// A program's identity, as the page shows it.
pub(super) struct ProgramFacts {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) registry: &'static str,
    /// The purpose of the program, as an end of a sentence that begins with its name.
    pub(super) purpose: &'static str,
}

/// A section of level 2 in a note of a workspace.
#[derive(Clone, Copy)]
pub(super) struct SectionAddress<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) note: &'a str,
    pub(super) heading: &'a str,
}

impl SectionAddress<'_> {
    fn path(&self) -> PathBuf {
        self.workspace.path(self.note)
    }

    /// Returns the note without its extension, as programs name it that do not show files.
    fn key(&self) -> &str {
        self.note.strip_suffix(".md").unwrap_or(self.note)
    }

    /// Returns the last line of this section in the text of its note, as a reader of the whole note sees it.
    fn last_line<'t>(&self, text: &'t str) -> Option<&'t str> {
        let (_, after) = text.split_once(&format!("## {}\n", self.heading))?;
        let body = after.split("\n## ").next()?;
        body.lines().rfind(|line| !line.trim().is_empty())
    }
}

/// A section as it was read.
pub(super) struct SeenSection<'a> {
    /// The answer of the program.
    pub(super) answer: &'a str,
    /// The body in the file at that time.
    pub(super) body: &'a str,
}

/// The folders and programs that the comparison works with.
pub(super) struct Tools<'a> {
    pub(super) repo: &'a Repo,
    /// Folder for installed programs.
    pub(super) folder: PathBuf,
    pub(super) sectile: PathBuf,
    /// A Python for programs that ask for a newer one than the system's.
    pub(super) python: String,
}

impl Tools<'_> {
    fn node(&self) -> Result<Option<String>> {
        install::node_packages(&self.folder, "node", NODE_PACKAGES)
    }

    fn node_command(&self, script: &str, workspace: &Workspace) -> Command {
        let modules = self.folder.join("node/node_modules");
        let mut command = command(&modules.join("node/bin/node"), workspace);
        command.arg(modules.join(script));
        command
    }
}

/// Returns a command that keeps all of its state in a workspace, and runs in the folder of its notes.
fn command(program: &Path, workspace: &Workspace) -> Command {
    let mut command = process::isolated(program, &workspace.home);
    command
        .env("HOME", &workspace.home)
        .env("XDG_CONFIG_HOME", workspace.home.join("config"))
        .env("XDG_CACHE_HOME", workspace.home.join("cache"))
        .env("XDG_DATA_HOME", workspace.home.join("data"))
        .current_dir(&workspace.root);
    command
}

/// Returns all programs, in the order of the page.
pub(super) fn all() -> Vec<Box<dyn Program>> {
    vec![
        Box::new(sectile::Sectile),
        Box::new(filesystem::Filesystem),
        Box::new(quantalogic::Quantalogic),
        Box::new(patchloom::Patchloom),
        Box::new(iwe::Iwe),
        Box::new(basic_memory::BasicMemory),
        Box::new(qmd::Qmd),
        Box::new(bare::BarePython),
        Box::new(bare::BareRust),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_that_of_the_section() {
        let workspace = Workspace {
            root: PathBuf::new(),
            home: PathBuf::new(),
        };
        let at = SectionAddress {
            workspace: &workspace,
            note: "a.md",
            heading: "One",
        };
        let text = "# T\n\n## One\n\nfirst\n\nlast\n\n## Two\n\nother\n";
        assert_eq!(at.last_line(text), Some("last"));
    }
}
