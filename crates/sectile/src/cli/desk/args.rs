//! The arguments of the desk's commands.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use sectile_library::tiers::RankingChoice;

/// The desk that a command works on, and the form of its output.
#[derive(Debug, Default, ClapArgs)]
pub(in crate::cli) struct DeskArgs {
    /// Folder of the notes [default: the nearest one upward that has .sectile, .obsidian or .git, else the current one].
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Settings file, for a desk of several roots [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub(super) config: Option<PathBuf>,
    /// Print the JSON that a client gets.
    #[arg(long)]
    pub(super) json: bool,
}

impl DeskArgs {
    pub(in crate::cli) fn new(root: Option<PathBuf>, config: Option<PathBuf>, json: bool) -> Self {
        Self { root, config, json }
    }

    /// Returns the settings file, if one is named.
    pub(in crate::cli) fn config(&self) -> Option<PathBuf> {
        crate::cli::settings::named(self.config.as_deref())
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Filters go in the query; alone, they list notes:
  sectile search winter feed                     words and meaning
  sectile search '\"exact words\"' path:projects/
  sectile search tag:travel after:2026-01-01
  sectile search is:task path:projects/harbour   open tasks
  sectile search status:draft -tag:old           any field of the front matter
  sectile search sort:modified --limit 5         the notes changed last
  sectile search winter feed --explain           why each result is there")]
pub(in crate::cli) struct DeskSearchArgs {
    /// Words, a question, filters.
    #[arg(value_name = "QUERY", required = true)]
    pub(super) query: Vec<String>,
    /// Maximum number of results, 1 to 20 [default: 8].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=20))]
    pub(super) limit: Option<u64>,
    /// Continue after an earlier answer, with its `next`.
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
    /// Show why each result is there: its ranks and scores by words and meaning, and the words that it has.
    #[arg(long)]
    pub(super) explain: bool,
    /// Rank by words alone, by words and the static model, or by all there is, as usual.
    #[arg(long, value_name = "RANKING")]
    pub(super) ranking: Option<SearchRanking>,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

/// What ranks the results of a search.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum SearchRanking {
    Words,
    Static,
    Full,
}

impl From<SearchRanking> for RankingChoice {
    fn from(ranking: SearchRanking) -> Self {
        match ranking {
            SearchRanking::Words => Self::Words,
            SearchRanking::Static => Self::Static,
            SearchRanking::Full => Self::Full,
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
An ID is a path, a path with a heading or section id after #, a section id, or a name as links use it:
  sectile fetch projects/plan.md
  sectile fetch projects/plan.md#Budget
  sectile fetch 'Winter feed'")]
pub(in crate::cli) struct FetchArgs {
    /// What to read.
    #[arg(value_name = "ID", required = true)]
    pub(super) ids: Vec<String>,
    /// Maximum number of tokens to print [default: everything].
    #[arg(long, value_name = "TOKENS")]
    pub(super) budget: Option<u64>,
    /// Continue after an earlier answer.
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct OutlineArgs {
    /// A folder, a document or a section [default: the whole desk].
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    /// Number of levels to show, 1 to 9 [default: 2].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=9))]
    pub(super) depth: Option<u64>,
    /// Continue after an earlier answer, with its `next`.
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

/// The direction of links to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LinkDirection {
    /// Links to it.
    In,
    /// Links in it.
    Out,
    /// Both.
    Both,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct LinksArgs {
    /// A document, a section or a folder.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// Which links to show.
    #[arg(long, value_enum, default_value = "both")]
    pub(super) direction: LinkDirection,
    /// Only those that lead nowhere, or to more than one document.
    #[arg(long)]
    pub(super) broken: bool,
    /// Continue after an earlier answer, with its `next`.
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct ChangesArgs {
    /// A folder, a document or a section [default: the whole desk].
    #[arg(value_name = "ID")]
    pub(super) id: Option<String>,
    /// Only changes since then: a date, a time, or an age such as 7d.
    #[arg(long, value_name = "WHEN")]
    pub(super) since: Option<String>,
    /// Maximum number of changes, 1 to 100 [default: 20].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(super) limit: Option<u64>,
    /// Show the lines that changed.
    #[arg(long)]
    pub(super) diff: bool,
    /// Continue after an earlier answer, with its `next`.
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct CreateArgs {
    /// Path of the new document.
    #[arg(value_name = "PATH")]
    pub(super) path: String,
    /// Its text [default: standard input].
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) text: Option<String>,
    /// A field of its front matter. May be given more than once.
    #[arg(long = "field", value_name = "NAME=VALUE")]
    pub(super) fields: Vec<String>,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

/// The place for new text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum EditPlace {
    /// Instead of the old text.
    Replace,
    /// At its end.
    Append,
    /// At its start.
    Prepend,
    /// Before its heading.
    Before,
    /// After it and its subsections.
    After,
}

#[derive(Debug, Default, ClapArgs)]
pub(in crate::cli) struct EditTextArgs {
    /// What to edit: a document or a section.
    #[arg(value_name = "ID")]
    pub(in crate::cli) id: Option<String>,
    /// The new text [default: standard input].
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) new: Option<String>,
    /// Replace only this passage, which must occur exactly once.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) old: Option<String>,
    /// Where the new text goes [default: replace].
    #[arg(long, value_enum, conflicts_with = "old")]
    pub(super) place: Option<EditPlace>,
    /// Include the subsections.
    #[arg(long)]
    pub(super) subtree: bool,
    /// The state that the edit is based on, as `sectile fetch` shows it.
    #[arg(long, value_name = "BASE")]
    pub(super) base: Option<String>,
    /// Only show what would change.
    #[arg(long)]
    pub(super) preview: bool,
    /// Settings file, for a desk of several roots [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) config: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Values are YAML, so that numbers, dates and lists work:
  sectile set projects/plan.md status=done due=2026-12-01
  sectile set 'Winter feed' 'tags=[farm, winter]' --unset draft")]
pub(in crate::cli) struct SetArgs {
    /// The document.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// Fields to set.
    #[arg(value_name = "NAME=VALUE")]
    pub(super) fields: Vec<String>,
    /// A field to remove. May be given more than once.
    #[arg(long, value_name = "NAME")]
    pub(super) unset: Vec<String>,
    /// The state that the change is based on, as `sectile fetch` shows it.
    #[arg(long, value_name = "BASE")]
    pub(super) base: Option<String>,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Links follow, in the same change:
  sectile rename projects/plan.md projects/festival.md    a document
  sectile rename projects/ archive/projects/              a folder
  sectile rename projects/plan.md#Budget Costs            a heading
  sectile rename plan.md#Budget costs.md                  a section into another document")]
pub(in crate::cli) struct RenameArgs {
    /// A document, a folder or a section.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// Its new path or heading.
    #[arg(value_name = "TO", allow_hyphen_values = true)]
    pub(super) to: String,
    /// Only show what would change.
    #[arg(long)]
    pub(super) preview: bool,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct DeleteArgs {
    /// A document, a section with its subsections, or an empty folder.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// The state to delete, as `sectile fetch` shows it [default: the one found now].
    #[arg(long, value_name = "BASE")]
    pub(super) base: Option<String>,
    /// Only show what would change.
    #[arg(long)]
    pub(super) preview: bool,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct UndoArgs {
    /// Number of a change, as `sectile changes` shows it [default: your newest that is not undone]. Undoing an undo redoes
    /// the change.
    #[arg(value_name = "CHANGE")]
    pub(super) change: Option<String>,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A passage is a block quotation, or text in quotation marks of at least three words. A draft
without any is checked paragraph by paragraph. Exit code 0: every passage is verified; 1: one is not.

Examples:
  sectile verify answer.md                 against the notes around the current folder
  sectile verify answer.md --root ~/notes
  pbpaste | sectile verify - --json        text from the clipboard, for a script")]
pub(in crate::cli) struct VerifyDraftArgs {
    /// The draft to check, or `-` for standard input.
    #[arg(value_name = "DRAFT")]
    pub(super) draft: PathBuf,
    #[command(flatten)]
    pub(super) desk: DeskArgs,
}
