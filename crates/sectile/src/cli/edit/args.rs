//! The arguments of `sectile edit`.

use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};

/// Edit documents section by section.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A SECTION is a section_id from `sectile edit list`, or a heading that only one section has.
Examples:
  sectile edit list plan.md
  echo 'New text.' | sectile edit update plan.md Beta
  sectile edit insert plan.md 'Open points' --after Beta --content 'None yet.'
  sectile edit undo plan.md")]
pub(in crate::cli) struct EditArgs {
    #[command(subcommand)]
    pub(super) command: EditCommand,
    /// Folder whose .sectile keeps ids and history [default: the nearest one upward from the document that has .sectile,
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
        target: Target,
        /// With all subsections.
        #[arg(long)]
        subtree: bool,
    },
    /// Insert a new section; its text comes from --content, standard input or your editor.
    Insert {
        /// The document.
        path: PathBuf,
        /// Its heading, without # marks.
        heading: String,
        #[command(flatten)]
        place: Place,
        /// Its level, 1 to 6, if not the one that the place suggests.
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=6))]
        level: Option<u8>,
        /// Its text.
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        content: Option<String>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Replace the text of a section, from --content, standard input or your editor. Subsections stay.
    Update {
        #[command(flatten)]
        target: Target,
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
        target: Target,
        #[command(flatten)]
        place: Place,
        /// Into this document.
        #[arg(long, value_name = "PATH")]
        into: Option<PathBuf>,
        /// Its level there, 1 to 6, if not the one that the place suggests.
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=6))]
        level: Option<u8>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Delete a section with its subsections.
    Delete {
        #[command(flatten)]
        target: Target,
        /// Also when it is large.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Change the heading of a section, and repair the links to it.
    Rename {
        #[command(flatten)]
        target: Target,
        /// The new heading, without # marks.
        heading: String,
        /// Leave links as they are.
        #[arg(long)]
        keep_links: bool,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Take back the last change, or the one of an entry.
    Undo {
        /// The document.
        path: PathBuf,
        /// Number of an entry of the history.
        #[arg(long)]
        entry: Option<u64>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Make again what was undone.
    Redo {
        /// The document.
        path: PathBuf,
        /// Number of an entry of the history.
        #[arg(long)]
        entry: Option<u64>,
        #[command(flatten)]
        write: WriteFlags,
    },
    /// Show what was done to a document, newest first.
    History {
        /// The document.
        path: PathBuf,
        /// Only what concerns this section.
        #[arg(long, allow_hyphen_values = true)]
        section: Option<String>,
        /// At most so many entries.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=200))]
        limit: u64,
        /// Show what each entry changed.
        #[arg(long)]
        diff: bool,
    },
    /// Forget history for good, for instance because a secret is in it.
    ///
    /// Everything up to the last entry about the document, or up to the last one that holds the text, is dropped, and so
    /// are the files .sectile/rescued-* that belong to these entries or hold the text. The documents themselves do not
    /// change.
    Purge {
        /// Only up to the last entry about this document.
        path: Option<PathBuf>,
        /// Only up to the last entry that holds the text on standard input.
        #[arg(long)]
        containing: bool,
        /// It is really meant.
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
pub(super) struct Target {
    /// The document.
    pub(super) path: PathBuf,
    /// Id or heading of the section.
    pub(super) section: String,
}

#[derive(Debug, ClapArgs)]
#[group(multiple = false)]
pub(super) struct Place {
    /// Index in the list of sections, from 0 [default: the end].
    #[arg(long, value_name = "POSITION")]
    pub(super) at: Option<u64>,
    /// Before this section.
    #[arg(long, value_name = "SECTION", allow_hyphen_values = true)]
    pub(super) before: Option<String>,
    /// After this section and its subsections.
    #[arg(long, value_name = "SECTION", allow_hyphen_values = true)]
    pub(super) after: Option<String>,
    /// As the first subsection of this section.
    #[arg(long, value_name = "SECTION", allow_hyphen_values = true)]
    pub(super) first_child: Option<String>,
    /// As the last subsection of this section.
    #[arg(long, value_name = "SECTION", allow_hyphen_values = true)]
    pub(super) last_child: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct WriteFlags {
    /// Only show what would change.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Why, for the history.
    #[arg(long, allow_hyphen_values = true)]
    pub(super) reason: Option<String>,
}
