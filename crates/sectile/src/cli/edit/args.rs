//! The arguments of `sectile edit`.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};

use super::super::desk::EditTextArgs;

/// Edit a document or a section.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
An ID is a path, a path with a heading or section id after #, or a name as links use it. For the subcommands, a SECTION is
a section_id from `sectile edit list`, or a heading that only one section has.
Examples:
  sectile edit plan.md#Budget --old 4,000 --new 4,500
  echo 'Insurance: 300.' | sectile edit 'plan#Budget' --place append
  sectile edit list plan.md
  echo 'New text.' | sectile edit update plan.md Beta
  sectile edit insert plan.md 'Open points' --after Beta --content 'None yet.'
  sectile edit undo plan.md")]
pub(in crate::cli) struct EditArgs {
    #[command(subcommand)]
    pub(super) command: Option<EditCommand>,
    #[command(flatten)]
    pub(super) text: EditTextArgs,
    /// Folder whose .sectile holds ids and history [default: the nearest one upward from the document that has .sectile,
    /// .obsidian or .git, else the document's own folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum EditCommand {
    /// List the sections of a document with their ids.
    List {
        /// The document.
        path: PathBuf,
    },
    /// Print the text of a section.
    Get {
        #[command(flatten)]
        target: SectionArgs,
        /// Include all subsections.
        #[arg(long)]
        subtree: bool,
    },
    /// Insert a new section; its text comes from --content, standard input or your editor.
    Insert {
        /// The document.
        path: PathBuf,
        /// Heading of the new section, without # marks.
        heading: String,
        #[command(flatten)]
        place: PlacementArgs,
        /// Level of the heading, 1 to 6 [default: the one that fits the position].
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=6))]
        level: Option<u8>,
        /// Text of the section.
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        content: Option<String>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Replace the text of a section, from --content, standard input or your editor. Subsections stay.
    Update {
        #[command(flatten)]
        target: SectionArgs,
        /// Replace the subsections too.
        #[arg(long)]
        subtree: bool,
        /// The new text.
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        content: Option<String>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Move a section with its subsections.
    Move {
        #[command(flatten)]
        target: SectionArgs,
        #[command(flatten)]
        place: PlacementArgs,
        /// Move it into this document.
        #[arg(long, value_name = "PATH")]
        into: Option<PathBuf>,
        /// Level of the heading there, 1 to 6 [default: the one that fits the position].
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=6))]
        level: Option<u8>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Delete a section with its subsections.
    Delete {
        #[command(flatten)]
        target: SectionArgs,
        /// Delete it even if it is large.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Change the heading of a section, and repair the links to it.
    Rename {
        #[command(flatten)]
        target: SectionArgs,
        /// The new heading, without # marks.
        heading: String,
        /// Leave links unchanged.
        #[arg(long)]
        keep_links: bool,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Undo the last change, or the one with a given number.
    Undo {
        /// The document.
        path: PathBuf,
        /// Number of a history entry.
        #[arg(long)]
        entry: Option<u64>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Redo a change that was undone.
    Redo {
        /// The document.
        path: PathBuf,
        /// Number of a history entry.
        #[arg(long)]
        entry: Option<u64>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Show the changes to a document, newest first.
    History {
        /// The document.
        path: PathBuf,
        /// Only changes to this section.
        #[arg(long, allow_hyphen_values = true)]
        section: Option<String>,
        /// Maximum number of entries.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=200))]
        limit: u64,
        /// Show the diff of each entry.
        #[arg(long)]
        diff: bool,
    },
    /// Permanently delete history, for instance because it contains a secret.
    ///
    /// Everything up to the last entry about the document, or up to the last one that contains the text, is deleted, and so
    /// are the files .sectile/rescued-* that belong to these entries or contain the text. The documents themselves do not
    /// change.
    Purge {
        /// Only up to the last entry about this document.
        path: Option<PathBuf>,
        /// Only up to the last entry that contains the text on standard input.
        #[arg(long)]
        containing: bool,
        /// Confirm the deletion.
        #[arg(long)]
        yes: bool,
    },
}

impl EditCommand {
    /// Returns the document that a command works on.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::List { path }
            | Self::Insert { path, .. }
            | Self::Undo { path, .. }
            | Self::Redo { path, .. }
            | Self::History { path, .. } => path,
            Self::Get { target, .. }
            | Self::Update { target, .. }
            | Self::Move { target, .. }
            | Self::Delete { target, .. }
            | Self::Rename { target, .. } => &target.path,
            Self::Purge { path, .. } => path.as_deref().unwrap_or(Path::new(".")),
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(super) struct SectionArgs {
    /// The document.
    pub(super) path: PathBuf,
    /// Id or heading of the section; without one, the one that the document's name leads to, as in `Plan#Budget`.
    pub(super) section: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[group(multiple = false)]
pub(super) struct PlacementArgs {
    /// Index in the list of sections, from 0 [default: the end].
    #[arg(long, value_name = "POSITION")]
    pub(super) at: Option<u64>,
    /// Place it before this section.
    #[arg(long, value_name = "SECTION", allow_hyphen_values = true)]
    pub(super) before: Option<String>,
    /// Place it after this section and its subsections.
    #[arg(long, value_name = "SECTION", allow_hyphen_values = true)]
    pub(super) after: Option<String>,
    /// Place it as the first subsection of this section.
    #[arg(long, value_name = "SECTION", allow_hyphen_values = true)]
    pub(super) first_child: Option<String>,
    /// Place it as the last subsection of this section.
    #[arg(long, value_name = "SECTION", allow_hyphen_values = true)]
    pub(super) last_child: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct WriteFlags {
    /// Only show what would change.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Reason for the change, recorded in the history.
    #[arg(long, allow_hyphen_values = true)]
    pub(super) reason: Option<String>,
}
