//! The arguments of every command, with the help texts.

use std::{
    any::TypeId,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::{
    Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    ValueHint,
    builder::{PathBufValueParser, PossibleValue, StringValueParser, TypedValueParser},
};

use super::connect::{ClientRow, ClientScope};
use crate::{
    config::without_tilde,
    worlds::{DEFAULT_WORLD, WORLDS, WorldEntry},
};

/// The name of the program.
pub(super) const PROGRAM: &str = "sectile";

/// Returns the table of all commands and their arguments.
pub(super) fn command() -> clap::Command {
    Args::command()
}

/// Parses the arguments of this process. A leading `~` of a path is expanded to the home folder: a shell leaves it alone in
/// `--root=~/notes`, and programs that start this one do not use a shell.
pub(super) fn parsed() -> Args {
    let given = super::desk::with_exclusions_last(std::env::args_os());
    let matches = taking_tildes(command()).get_matches_from(given);
    match Args::from_arg_matches(&matches) {
        Ok(args) => args,
        Err(error) => error.exit(),
    }
}

fn taking_tildes(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        if arg.get_value_parser().type_id() == TypeId::of::<PathBuf>() {
            arg.value_parser(PathBufValueParser::new().map(without_tilde))
        } else {
            arg
        }
    });
    command.mut_subcommands(taking_tildes)
}

/// Markdown for AI agents, one section at a time, over MCP.
///
/// Point it at a folder of notes and connect an MCP client: it can search, read, edit, follow links and undo, without
/// damaging what it did not mean to touch. Without a client, the same tools are commands.
#[derive(Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    max_term_width = 100,
    after_help = "\
Try it without any setup:    sectile demo
Connect a client:            sectile connect claude-code --root ~/notes
Search yourself:             sectile search \"winter feed\"
Undo your last change:       sectile undo"
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one, for the whole run, and clap does not take boxes"
)]
pub(super) enum Command {
    /// Serve a folder to MCP clients, on stdio unless --http is given.
    Serve(ServeArgs),
    /// Search a folder of notes by words, meaning and filters.
    Search(super::desk::DeskSearchArgs),
    /// Print a note, a section, or several.
    Fetch(super::desk::FetchArgs),
    /// Show the folders and documents of a desk, or the headings of a document.
    Outline(super::desk::OutlineArgs),
    /// Show the links to and from a note, with the sentence around each.
    Links(super::desk::LinksArgs),
    /// Show who changed what and when.
    Changes(super::desk::ChangesArgs),
    /// Check the quotations in a draft against the notes.
    Verify(super::desk::VerifyDraftArgs),
    /// Create a document.
    Create(super::desk::CreateArgs),
    /// Show every section of a note: its id, its position, and whether it has a body.
    Sections(NoteArgs),
    /// Show the headings of a note as a tree.
    Tree(NoteArgs),
    /// Show the metadata in the front matter of a note: project, tags, dates.
    Facets(NoteArgs),
    /// Edit a document or a section. Its subcommands list, get, insert, move and more.
    Edit(super::edit::EditArgs),
    /// Set or remove fields of a document's front matter.
    Set(super::desk::SetArgs),
    /// Rename a document, a folder or a heading, or move a section; links follow.
    Rename(super::desk::RenameArgs),
    /// Delete a document, a section or an empty folder.
    Delete(super::desk::DeleteArgs),
    /// Undo your newest change, or the one with a given number.
    Undo(super::desk::UndoArgs),
    /// Look at a desk in your browser: documents, changes, searches, calls.
    Open(super::open::OpenArgs),
    /// Create, list, import, export and remove the tenants of a desk that several servers share.
    Tenant(super::tenant::TenantArgs),
    /// Show or clear the indexes that are kept between runs.
    Cache(CacheArgs),
    /// Accept the history that came with a folder as your own, so that it can be undone and purged.
    Trust(TrustArgs),
    /// List the tools of every world, or of one.
    Tools(ToolsArgs),
    /// Create, list and revoke the API keys that clients sign in with over HTTP.
    Auth(AuthArgs),
    /// Search and check the documents of the docs world.
    Docs(DocsArgs),
    /// Index, search, quote and verify a library of notebooks, and add artifacts to it.
    Notebook(super::notebook::NotebookArgs),
    /// Print a page of the manual that is generated from the program itself.
    Reference(ReferenceArgs),
    /// Create, check and show settings.
    Config(ConfigArgs),
    /// Print the configuration for an MCP client, or write it into the client's file.
    Connect(ConnectArgs),
    /// Remove a server from the file of an MCP client.
    Disconnect(DisconnectArgs),
    /// Find problems with your settings, folders and clients. Whether the program itself works, self-check says.
    Doctor(DoctorArgs),
    /// Check that the program works on this machine, without settings, notes or a network.
    SelfCheck(SelfCheckArgs),
    /// Show what Sectile does, on a sample folder, without any setup.
    Demo,
    /// Print a script that completes commands, options, values and paths in a shell.
    Completions(CompletionsArgs),
    /// Print the manual page of this program, or write the pages of all commands.
    Man(ManArgs),
}

impl ValueEnum for &'static WorldEntry {
    fn value_variants<'a>() -> &'a [Self] {
        WORLDS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.about))
    }
}

#[derive(Clone, Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile serve ~/notes                                on stdio, for a client that starts it
  sectile serve ~/notes --http 127.0.0.1:7420          at http://127.0.0.1:7420/mcp
  sectile serve ~/notes --read-only                    search and reading only
  sectile serve desk ~/memories --preset memory        the commands of a memory tool, with history and undo
  sectile serve vault ~/notes                          structure without text
  sectile serve editor plan.md                         section edits in one document
  sectile serve docs ~/manual                          search in these documents and in Sectile's manual
  sectile serve notebook ~/library                     each folder in it is a collection of notebooks
  sectile serve hosted --http 127.0.0.1:7420 --config sectile.toml
                                                       notes from a store, for users with tokens
  sectile serve --config sectile.toml                  every world the file configures, over HTTP")]
pub(super) struct ServeArgs {
    /// The folder to serve, exactly, or a world: desk (the default), vault, hosted, editor, docs, notebook. With only
    /// --config, every world that the file configures, over HTTP. A folder with the name of a world is ./NAME.
    #[arg(
        value_name = "DIR|WORLD",
        value_parser = ServeTargetParser,
        value_hint = ValueHint::DirPath,
        hide_possible_values = true
    )]
    target: Option<ServeTarget>,
    /// The folder to serve, exactly, or the document for the editor; overrides the settings. For docs, additional
    /// documents. Without one and without settings, desk, vault and editor serve the nearest folder upward that has
    /// .sectile, .obsidian or .git, else the current one.
    #[arg(value_name = "PATH")]
    path: Option<String>,
    /// A set of tools for one purpose, instead of the usual ones of the desk.
    #[arg(long, value_enum)]
    pub(super) preset: Option<PresetName>,
    /// Serve over HTTP at this loopback address and port (port 0 picks a free one).
    #[arg(long, value_name = "ADDR")]
    pub(super) http: Option<String>,
    /// Settings file [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Leave out every tool that could change something, and write nothing: neither documents nor data about them.
    #[arg(long)]
    pub(super) read_only: bool,
}

/// The first argument of `sectile serve`.
#[derive(Clone, Debug)]
enum ServeTarget {
    World(&'static WorldEntry),
    Folder(String),
}

impl From<&str> for ServeTarget {
    fn from(text: &str) -> Self {
        let world = WORLDS.iter().find(|world| world.name == text);
        world.map_or_else(|| Self::Folder(text.to_owned()), |world| Self::World(world))
    }
}

/// Takes any folder, and knows the worlds.
#[derive(Clone)]
struct ServeTargetParser;

impl TypedValueParser for ServeTargetParser {
    type Value = ServeTarget;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<ServeTarget, clap::Error> {
        let text = StringValueParser::new().parse_ref(command, arg, value)?;
        Ok(ServeTarget::from(&*text))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let worlds = WORLDS.iter();
        Some(Box::new(worlds.filter_map(ValueEnum::to_possible_value)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PresetName {
    /// The six commands of a memory tool: view, create, str_replace, insert, delete, rename.
    Memory,
}

impl ServeArgs {
    /// Returns the arguments that serve the desk of a folder, or of the settings, to a browser on this machine.
    pub(super) fn for_console(
        root: Option<&Path>,
        config: Option<PathBuf>,
        read_only: bool,
    ) -> Self {
        Self {
            target: Some(ServeTarget::World(DEFAULT_WORLD)),
            path: root.map(|root| root.to_string_lossy().into_owned()),
            preset: None,
            http: None,
            config,
            read_only,
        }
    }

    /// Returns the world to serve; `None` for every one that the settings file configures.
    pub(super) fn world(&self) -> Option<&'static WorldEntry> {
        match (&self.target, &self.config) {
            (Some(ServeTarget::World(world)), _) => Some(world),
            (None, Some(_)) if self.preset.is_none() => None,
            (Some(ServeTarget::Folder(_)) | None, _) => Some(DEFAULT_WORLD),
        }
    }

    /// Returns the folder or document to serve, if one is given.
    pub(super) fn path(&self) -> Option<&str> {
        match &self.target {
            Some(ServeTarget::Folder(folder)) => Some(folder),
            _ => self.path.as_deref(),
        }
    }

    /// Returns the first of two arguments if it should name a world, but does not.
    pub(super) fn unknown_world(&self) -> Option<&str> {
        match (&self.target, &self.path) {
            (Some(ServeTarget::Folder(name)), Some(_)) => Some(name),
            _ => None,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(super) struct NoteArgs {
    /// Path of the note, relative to the root if --root names one.
    #[arg(value_name = "PATH")]
    pub(super) path: String,
    /// Folder of the notes [default: the nearest one upward from the note that has .sectile, .obsidian or .git, else the
    /// current one].
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A folder that was cloned, copied or synced may come with its own .sectile. It may name sections and is shown as history,
but nothing is written because of it: no unfinished change is completed, and nothing can be undone or purged. This command
confirms that you know where it comes from.")]
pub(super) struct TrustArgs {
    /// The folder, or the document. The command uses the history of the nearest folder upward that has .sectile, .obsidian
    /// or .git, else of the folder itself.
    #[arg(value_name = "DIR")]
    pub(super) path: PathBuf,
    /// Only show what the history contains.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Settings file [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ToolsArgs {
    /// Only the tools of this world.
    #[arg(value_enum)]
    pub(super) world: Option<&'static WorldEntry>,
    /// Only the tools that this role may use.
    #[arg(long, value_enum)]
    pub(super) role: Option<RoleName>,
    /// Settings file that defines what roles may use [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE", requires = "role")]
    pub(super) config: Option<PathBuf>,
    /// Print the full contract as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RoleName {
    /// May read.
    Viewer,
    /// May read and write.
    Editor,
    /// Like an editor, unless the settings say otherwise.
    Evaluator,
    /// May do everything, unless the settings say otherwise.
    Admin,
}

#[derive(Debug, ClapArgs)]
pub(super) struct AuthArgs {
    #[command(subcommand)]
    pub(super) command: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum AuthCommand {
    /// Create a key for a user and print it once.
    AddKey(AddKeyArgs),
    /// List the keys: their users, roles, vaults and roots.
    List {
        #[command(flatten)]
        place: KeysLocation,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Stop accepting a key.
    Revoke {
        /// The id of the key, as `sectile auth list` shows it.
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        place: KeysLocation,
    },
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile auth add-key --user ann --file keys.toml                     a key that may read
  sectile auth add-key --user ann --role editor --config sectile.toml  in the file that the settings name
  sectile auth add-key --user ann --root work --file keys.toml         for one root of a server that has several
  sectile auth add-key --user ann --vault work --vault home            valid for two vaults of the hosted world")]
pub(super) struct AddKeyArgs {
    /// The user that the key is for.
    #[arg(long, value_name = "USER")]
    pub(super) user: String,
    /// Role of the user.
    #[arg(long, value_enum, default_value_t = RoleName::Viewer)]
    pub(super) role: RoleName,
    /// A vault that the key is valid for. May be given more than once [default: default].
    #[arg(long = "vault", value_name = "VAULT")]
    pub(super) vaults: Vec<String>,
    /// A root that the key is bound to, by its name in the settings. May be given more than once [default: all roots].
    #[arg(long = "root", value_name = "NAME")]
    pub(super) roots: Vec<String>,
    #[command(flatten)]
    pub(super) place: KeysLocation,
}

/// The key file that a command works on.
#[derive(Debug, ClapArgs)]
pub(super) struct KeysLocation {
    /// Settings file that names the key file [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The key file itself.
    #[arg(long, value_name = "KEYS", conflicts_with = "config")]
    pub(super) file: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DocsArgs {
    #[command(subcommand)]
    pub(super) command: DocsCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum DocsCommand {
    /// Search the documents, as the search tool does.
    Search(DocsSearchArgs),
    /// Show which documents load, which are skipped and why, and which sections need work.
    Check(DocsCheckArgs),
    /// Index the documents and embed their sections with the better model, so that a server answers with it at once.
    Index(DocsIndexArgs),
    /// Print an `llms.txt`: the list of all documents for models that read a published site.
    LlmsTxt(DocsLlmsTxtArgs),
    /// Ask the questions in a file and report how often the right section is found.
    Eval(DocsEvalArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile docs check guides README.md            the manual, with these documents added
  sectile docs check --config sectile.toml       the documents of a server with these settings
  sectile docs check --strict --json             for a script: exit code 1 if something is wrong")]
pub(super) struct DocsCheckArgs {
    /// Documents and folders to add, like docs.extra_paths.
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<String>,
    /// Settings file [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Fail if a document is skipped, a slug is taken, or front matter is invalid.
    #[arg(long)]
    pub(super) strict: bool,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The index is kept in the user's cache folder, not beside the documents. A run that was stopped goes on where it was.

Examples:
  sectile docs index --path guides                  before `sectile serve docs guides`
  sectile docs index --config sectile.toml          the folders of a server with these settings")]
pub(super) struct DocsIndexArgs {
    #[command(flatten)]
    pub(super) documents: DocsSource,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile docs llms-txt --path book > llms.txt
  sectile docs llms-txt --path book --full > llms-full.txt")]
pub(super) struct DocsLlmsTxtArgs {
    #[command(flatten)]
    pub(super) documents: DocsSource,
    /// Print the text of all documents, one after another, instead of links to them.
    #[arg(long)]
    pub(super) full: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile docs search \"how do I undo an edit?\"            in Sectile's manual
  sectile docs search expected_hash --max-sections 1
  sectile docs search retries --path guides --explain     in your documents too, with the parts of each score")]
pub(super) struct DocsSearchArgs {
    /// A question or some words; without any, an overview.
    #[arg(value_name = "QUERY")]
    pub(super) query: Vec<String>,
    #[command(flatten)]
    pub(super) documents: DocsSource,
    /// The most sections to show [default: 3].
    #[arg(long, value_name = "N")]
    pub(super) max_sections: Option<usize>,
    /// The most tokens to show: whole sections while they fit, then the part around the match.
    #[arg(long, value_name = "TOKENS")]
    pub(super) budget: Option<usize>,
    /// Show how each score is composed.
    #[arg(long)]
    pub(super) explain: bool,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The file is TOML:
  [[question]]
  ask = \"How do I undo an edit?\"
  expect = [\"recipes#undo-the-last-edit\"]    sections that answer it, as slug#anchor or page.md#anchor; without the
                                             anchor, an introduction

Examples:
  sectile docs eval questions.toml --save before.json
  sectile docs eval questions.toml --against before.json --explain    what has moved since, and why")]
pub(super) struct DocsEvalArgs {
    /// The file with the questions.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) documents: DocsSource,
    /// Fail if fewer than this percentage of questions have an expected section in first place.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(super) min_hit_1: Option<u8>,
    /// Fail if fewer than this percentage of questions have an expected section among the first three.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(super) min_hit_3: Option<u8>,
    /// Show the rank of every question, not only of those whose section is not first.
    #[arg(long)]
    pub(super) all: bool,
    /// Show the parts of the scores of the expected section and of the one above it, for questions that moved or are not
    /// first.
    #[arg(long)]
    pub(super) explain: bool,
    /// Save this run.
    #[arg(long, value_name = "RUN")]
    pub(super) save: Option<PathBuf>,
    /// Show what has changed since a saved run.
    #[arg(long, value_name = "RUN")]
    pub(super) against: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// The documents that a command of `sectile docs` works on.
#[derive(Debug, ClapArgs)]
pub(super) struct DocsSource {
    /// A document or folder to add, like docs.extra_paths. May be given more than once.
    #[arg(long = "path", value_name = "PATH")]
    pub(super) paths: Vec<String>,
    /// Settings file [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ReferenceArgs {
    /// The page to print.
    #[arg(value_enum)]
    pub(super) page: ReferencePage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReferencePage {
    /// Every tool of every world: its description, its arguments and its answer.
    Tools,
    /// Every error code: what it means and what to do next.
    Errors,
    /// Every setting: type, range, default and environment variable.
    Configuration,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    pub(super) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Write a sectile.toml with every setting, its meaning and its default.
    Init {
        /// The file to write.
        #[arg(default_value = "sectile.toml")]
        file: PathBuf,
    },
    /// Check a settings file, and explain how to fix it.
    Check {
        /// The file to check.
        #[arg(default_value = "sectile.toml")]
        file: PathBuf,
    },
    /// Show every setting with its value and its source.
    Show {
        /// Settings file [default: the one named by SECTILE_CONFIG, if any].
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of the settings file, for editors.
    Schema,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile connect claude-code --root ~/notes           print the entry
  sectile connect cursor --root ~/notes --write        put it into Cursor's file
  sectile connect claude-code --scope user --write     for all projects, not only the current folder
  sectile connect gemini --url https://notes.example.com/mcp --key-env NOTES_KEY --write
                                                       a server that runs elsewhere")]
pub(super) struct ConnectArgs {
    /// The client to connect.
    #[arg(value_enum)]
    pub(super) client: &'static ClientRow,
    /// The world to serve.
    #[arg(long, value_enum, default_value = "desk", conflicts_with = "url")]
    pub(super) world: &'static WorldEntry,
    /// Folder of the notes to serve [default: the nearest one upward that has .sectile, .obsidian or .git, else the current
    /// one; for docs and notebook the current one].
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(super) root: Option<PathBuf>,
    /// URL of a server that runs elsewhere, instead of a folder.
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// Environment variable that holds the key for --url. The client reads it, and its file holds only the name.
    #[arg(
        long,
        value_name = "VAR",
        requires = "url",
        conflicts_with = "key_file"
    )]
    pub(super) key_env: Option<String>,
    /// File that holds the key for --url, which is copied into the client's own file.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(super) key_file: Option<PathBuf>,
    /// Name of the server in the client [default: sectile- and the name of the folder or host].
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Which of the client's files to use [default: the one named first in the list of clients].
    #[arg(long, value_enum)]
    pub(super) scope: Option<ClientScope>,
    /// Print the entry and change nothing; the default.
    #[arg(long, conflicts_with = "write")]
    print: bool,
    /// Change the client's file, after showing the changes and making a copy of it.
    #[arg(long)]
    pub(super) write: bool,
    /// The client's file, if it is not in its usual place.
    #[arg(long, value_name = "FILE", conflicts_with = "scope")]
    pub(super) file: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DisconnectArgs {
    /// The client to disconnect.
    #[arg(value_enum)]
    pub(super) client: &'static ClientRow,
    /// Folder whose server is removed [default: the nearest one upward that has .sectile, .obsidian or .git, else the
    /// current one].
    #[arg(long, value_name = "DIR", conflicts_with_all = ["url", "name"])]
    pub(super) root: Option<PathBuf>,
    /// Only the server of this world, if the folder has several.
    #[arg(long, value_enum, conflicts_with_all = ["url", "name"])]
    pub(super) world: Option<&'static WorldEntry>,
    /// URL of the server to remove.
    #[arg(long, value_name = "URL", conflicts_with = "name")]
    pub(super) url: Option<String>,
    /// Name of the server in the client.
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Which of the client's files to use [default: the one named first in the list of clients].
    #[arg(long, value_enum)]
    pub(super) scope: Option<ClientScope>,
    /// Print the changes and make none; the default.
    #[arg(long, conflicts_with = "write")]
    print: bool,
    /// Change the client's file, after showing the changes and making a copy of it.
    #[arg(long)]
    pub(super) write: bool,
    /// The client's file, if it is not in its usual place.
    #[arg(long, value_name = "FILE", conflicts_with = "scope")]
    pub(super) file: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct CacheArgs {
    /// Remove the index of this folder, or with --all of every folder. Nothing is lost: it is rebuilt when it is needed.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub(super) clear: Option<Option<PathBuf>>,
    /// With --clear, remove the indexes of all folders, and the vectors that they share.
    #[arg(long, requires = "clear")]
    pub(super) all: bool,
    /// With --clear, remove the vectors that indexes share. Indexes keep their own.
    #[arg(long, requires = "clear")]
    pub(super) vectors: bool,
    /// Settings file [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DoctorArgs {
    /// Folder of the notes to check [default: the one in the settings, else the nearest one upward that has .sectile,
    /// .obsidian or .git].
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Settings file [default: the one named by SECTILE_CONFIG, if any].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
It checks the embedding models, edits, undoes and searches in a temporary folder, starts a server as a client would, and
looks at the cache folder. Your settings, notes and clients are not read; `sectile doctor` checks those.

Exit code 0: it works, perhaps with warnings; 1: it does not.")]
pub(super) struct SelfCheckArgs {
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile completions bash > ~/.local/share/bash-completion/completions/sectile
  sectile completions zsh > ~/.zfunc/_sectile            with ~/.zfunc in fpath, before compinit
  sectile completions fish > ~/.config/fish/completions/sectile.fish
  sectile completions powershell >> $PROFILE")]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(super) shell: ShellName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ShellName {
    Bash,
    Zsh,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile man | man -l -                          read the page of the program
  sectile man --out ~/.local/share/man/man1       then `man sectile-serve` finds the pages of all commands")]
pub(super) struct ManArgs {
    /// Write the pages of all commands into this folder, which is created if needed.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}
