//! The arguments of `sectile notebook`, with the help texts.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use sectile_library::artifacts::{ArtifactType, Maker, Status};

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct NotebookArgs {
    #[command(subcommand)]
    pub(super) command: NotebookCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum NotebookCommand {
    /// Make the index of the collections, or bring it up to date.
    Index(IndexArgs),
    /// Find passages of a collection by words and by meaning.
    Search(SearchArgs),
    /// Read a passage by its id and prove that it is what the id says.
    Quote(QuoteArgs),
    /// Measure how well a test set's documents are found.
    Eval(EvalArgs),
    /// Hash every notebook and artifact again, and say what is not as recorded.
    Verify(VerifyArgs),
    /// Add what was derived from a collection, with the record of how.
    Artifact(ArtifactArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Only notebooks that changed are read. A server takes the new index by itself. Without an index, a server reads a collection
when it is first searched.

An index has two tiers. The static one is ready in seconds and answers at once. Then the transformer tier is filled, which finds
more and takes its time, 20 to 30 passages a second and core; it answers for a collection when it is complete. It can be
stopped at any time: what was done is kept, and the next run goes on from there.

Examples:
  sectile notebook index ~/library                     every collection; kept in ~/library/.sectile
  sectile notebook index ~/library lab --index ~/.cache/sectile
  sectile notebook index ~/library --tier static       only the tier that is ready at once
  sectile notebook index ~/library --watch             stays, and follows every change
  sectile notebook index sectile.toml --to postgres    from where the settings say, into their database")]
pub(super) struct IndexArgs {
    /// The folder that holds the collections, or a settings file (.toml) that says where they are.
    #[arg(value_name = "ROOT")]
    pub(super) root: PathBuf,
    /// Only this collection; `.` has the notes directly in ROOT.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: Option<String>,
    /// Folder for the indexes [default: .sectile/notebook in ROOT].
    #[arg(long, value_name = "DIR")]
    pub(super) index: Option<PathBuf>,
    /// Where the index goes [default: where a server with the same settings looks].
    #[arg(long, value_name = "WHERE")]
    pub(super) to: Option<To>,
    /// How far to go [default: transformer; static in a database, which has no other].
    #[arg(long, value_name = "TIER")]
    pub(super) tier: Option<WantedTier>,
    /// Threads that fill the transformer tier [default: half of the cores].
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(super) threads: Option<usize>,
    /// Stay, and bring the index up to date after every change, until stopped.
    #[arg(long)]
    pub(super) watch: bool,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Parses a number of threads.
fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=256) => Ok(count),
        _ => Err("it must be a number from 1 to 256".to_owned()),
    }
}

/// A tier of an index, and its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WantedTier {
    /// The one that is ready in seconds.
    Static,
    /// The one that finds more, and takes its time.
    Transformer,
}

/// Where an index goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum To {
    /// A folder.
    Folder,
    /// The database that the settings name.
    Postgres,
}

#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "sectile notebook search [OPTIONS] <ROOT> <COLLECTION> <QUERY>...\n       \
                      sectile notebook search [OPTIONS] --all <ROOT> <QUERY>...",
    after_help = "\
With --all, the best passages of every collection come in one list, by their scores. What words count is measured against the
best of the same collection.

Examples:
  sectile notebook search ~/library lab melting ice    in one collection
  sectile notebook search ~/library . melting ice      in the notes directly in ~/library
  sectile notebook search --all ~/library melting ice  in every collection"
)]
pub(super) struct SearchArgs {
    /// The folder that holds the collections, or a settings file (.toml) that says where they are.
    #[arg(value_name = "ROOT")]
    pub(super) root: PathBuf,
    /// The collection; `.` has the notes directly in ROOT. With --all, the first word of QUERY.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: String,
    /// A question or some words.
    #[arg(value_name = "QUERY", required_unless_present = "all")]
    pub(super) query: Vec<String>,
    /// Search every collection.
    #[arg(long)]
    pub(super) all: bool,
    /// Most passages.
    #[arg(short = 'k', long = "most", value_name = "N", default_value_t = 5, value_parser = count)]
    pub(super) most: usize,
    /// Folder of the indexes [default: .sectile/notebook in ROOT].
    #[arg(long, value_name = "DIR")]
    pub(super) index: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Parses a number of passages.
fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=50) => Ok(count),
        _ => Err("it must be a number from 1 to 50".to_owned()),
    }
}

#[derive(Debug, ClapArgs)]
pub(super) struct QuoteArgs {
    /// The folder that holds the collections, or a settings file (.toml) that says where they are.
    #[arg(value_name = "ROOT")]
    pub(super) root: PathBuf,
    /// The id of the passage, from a search.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    /// Characters before and after it, in JSON.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(super) context: usize,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
FOLDER holds corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels.tsv (query, document, score, with a
header line), as test sets of the BEIR kind do.

Example:
  sectile notebook eval k8s-docs --queries k8s-docs/queries-leaf.jsonl --qrels k8s-docs/qrels-leaf.tsv")]
pub(super) struct EvalArgs {
    /// The folder of the test set.
    #[arg(value_name = "FOLDER")]
    pub(super) folder: PathBuf,
    /// Other queries.
    #[arg(long, value_name = "FILE")]
    pub(super) queries: Option<PathBuf>,
    /// Other judgements.
    #[arg(long, value_name = "FILE")]
    pub(super) qrels: Option<PathBuf>,
    /// Whose meaning counts [default: static].
    #[arg(long, value_name = "TIER")]
    pub(super) tier: Option<WantedTier>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile notebook verify ~/library                    every collection; exit code 1 when something is not as recorded
  sectile notebook verify ~/library lab --sums         the lines that the root of `lab` is the SHA-256 of

In the folder of a collection, where nothing is ignored, a shell computes the same root (that of `.` in ROOT, with `-maxdepth 1`
behind the first dot):
  find . -path ./_artifacts -prune -o -name '.?*' -prune -o -type f -iname '*.md' -print0 \\
    | LC_ALL=C sort -z | xargs -0 -r sha256sum | sha256sum")]
pub(super) struct VerifyArgs {
    /// The folder that holds the collections, or a settings file (.toml) that says where they are.
    #[arg(value_name = "ROOT")]
    pub(super) root: PathBuf,
    /// Only this collection.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: Option<String>,
    /// Print the digests of the notebooks, as sha256sum does and as sha256sum --check takes.
    #[arg(long, requires = "collection", conflicts_with = "json")]
    pub(super) sums: bool,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ArtifactArgs {
    #[command(subcommand)]
    pub(super) command: ArtifactCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ArtifactCommand {
    /// Copy files into a new set of artifacts and record where they come from. Never changes a set that is there.
    Add(AddArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A step is written as `tool=NAME` and, after semicolons, what the tool was told. `in=FILE` and `out=FILE` name files that
went in and came out, whose SHA-256 is recorded; without them, sources go into the first step and the files come out of
the last.

Examples:
  sectile notebook artifact add ~/library lab week-1 summary.md --type summary \\
    --source week-1.md --step \"tool=summarise;model=small\"
  sectile notebook artifact add ~/library lab facts facts.json --type extraction --source week-1.md \\
    --step \"tool=extract;out=raw.json\" --step \"tool=clean\"
  sectile notebook artifact add ~/library lab review review.md --type synthesis --status canonical --source week-1.md")]
pub(super) struct AddArgs {
    /// The folder that holds the collections, or a settings file (.toml) that says where they are.
    #[arg(value_name = "ROOT")]
    pub(super) root: PathBuf,
    /// The collection that the files were derived from.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: String,
    /// Name of the new set.
    #[arg(value_name = "SET")]
    pub(super) set: String,
    /// The files; they are copied.
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// What kind of derived material it is.
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(super) kind: Kind,
    /// Whether a person stands behind it: canonical ones were written by a person.
    #[arg(long, value_enum, default_value_t = Standing::Offered)]
    pub(super) status: Standing,
    /// Who made it [default: synthesis_pipeline, or human_export when it is canonical].
    #[arg(long, value_enum)]
    pub(super) by: Option<By>,
    /// A notebook it was made from, by its path in the collection. May be given more than once.
    #[arg(long = "source", value_name = "NOTEBOOK")]
    pub(super) sources: Vec<String>,
    /// What was done. May be given more than once, in order. Without it no step is recorded.
    #[arg(long = "step", value_name = "STEP")]
    pub(super) steps: Vec<String>,
    /// How far it can be trusted, in a sentence.
    #[arg(long, value_name = "TEXT")]
    pub(super) note: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// A shorter text.
    Summary,
    /// A list of what is where.
    Index,
    /// Facts taken out.
    Extraction,
    /// A new text made of several.
    Synthesis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Standing {
    /// Without authority.
    Offered,
    /// Written by a person.
    Canonical,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum By {
    /// A program.
    SynthesisPipeline,
    /// A person.
    HumanExport,
}

impl From<Kind> for ArtifactType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Summary => Self::Summary,
            Kind::Index => Self::Index,
            Kind::Extraction => Self::Extraction,
            Kind::Synthesis => Self::Synthesis,
        }
    }
}

impl From<Standing> for Status {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Offered => Self::Offered,
            Standing::Canonical => Self::Canonical,
        }
    }
}

impl From<By> for Maker {
    fn from(by: By) -> Self {
        match by {
            By::SynthesisPipeline => Self::SynthesisPipeline,
            By::HumanExport => Self::HumanExport,
        }
    }
}
