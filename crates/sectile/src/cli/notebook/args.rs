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
    /// Create or update the index of the collections.
    Index(IndexArgs),
    /// Find passages of a collection by words and by meaning.
    Search(SearchArgs),
    /// Read a passage by its id and prove that it matches the id.
    Quote(QuoteArgs),
    /// Measure how well a test set's documents are found.
    Eval(EvalArgs),
    /// Hash every notebook and artifact again, and report what does not match its record.
    Verify(VerifyArgs),
    /// List, clean, remove or export the indexes in the bucket that the settings name.
    Bucket(BucketArgs),
    /// Add derived files to a collection, with a record of how they were made.
    Artifact(ArtifactArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Only notebooks that changed are read. A running server picks up the new index by itself. Without an index,
a server reads a collection when it is first searched.

An index has two tiers. The static one is ready in seconds and answers at once. Then the transformer tier is filled, which finds
more but takes longer, at about 70 passages of 128 tokens per second and core; it answers for a collection once it is complete.
Filling can be stopped at any time: finished work is kept, and the next run continues from there.

Examples:
  sectile notebook index ~/library                     every collection; stored in ~/library/.sectile
  sectile notebook index ~/library lab --index ~/.cache/sectile
  sectile notebook index ~/library --tier static       only the tier that is ready at once
  sectile notebook index ~/library --watch             keeps running, and follows every change
  sectile notebook index sectile.toml --to postgres    from where the settings say, into their database
  sectile notebook index sectile.toml --to s3          into their bucket, where several may build at once")]
pub(super) struct IndexArgs {
    /// The folder that holds the collections, or a settings file (.toml) that says where they are.
    #[arg(value_name = "ROOT")]
    pub(super) root: PathBuf,
    /// Only this collection; `.` stands for the notes directly in ROOT.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: Option<String>,
    /// Folder for the indexes [default: .sectile/notebook in ROOT].
    #[arg(long, value_name = "DIR")]
    pub(super) index: Option<PathBuf>,
    /// Destination of the index [default: where a server with the same settings looks].
    #[arg(long, value_name = "WHERE")]
    pub(super) to: Option<IndexDestination>,
    /// Last tier to build [default: transformer].
    #[arg(long, value_name = "TIER")]
    pub(super) tier: Option<TierName>,
    /// Threads that fill the transformer tier [default: half of the cores].
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(super) threads: Option<usize>,
    /// Keep running, and update the index after every change, until stopped.
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
pub(super) enum TierName {
    /// Ready in seconds.
    Static,
    /// Finds more, but takes longer to build.
    Transformer,
}

/// The destination of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum IndexDestination {
    /// A folder.
    Folder,
    /// The database that the settings name.
    Postgres,
    /// The index in Pinecone that the settings name.
    Pinecone,
    /// The Weaviate server that the settings name.
    Weaviate,
    /// The bucket for indexes that the settings name.
    S3,
}

impl IndexDestination {
    /// Returns its kind in words and the name of its index in answers, unless it is a folder.
    pub(super) fn shared(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Folder | Self::S3 => None,
            Self::Postgres => Some(("a database", "postgres")),
            Self::Pinecone => Some(("an index in Pinecone", "pinecone")),
            Self::Weaviate => Some(("a Weaviate server", "weaviate")),
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(super) struct BucketArgs {
    #[command(subcommand)]
    pub(super) command: BucketCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum BucketCommand {
    /// List the indexes.
    List(BucketListArgs),
    /// Remove objects that no index needs any more and that are older than a day, as every build does.
    Clean(BucketCollectionArgs),
    /// Remove the index of a collection, or all of them, with everything that belongs to it.
    Remove(BucketRemoveArgs),
    /// Copy the index of a collection into a folder, for use with --index or as notebook.index.
    Export(BucketExportArgs),
}

#[derive(Debug, ClapArgs)]
pub(super) struct BucketListArgs {
    /// The settings file (.toml) that names the bucket.
    #[arg(value_name = "SETTINGS")]
    pub(super) root: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct BucketCollectionArgs {
    /// The settings file (.toml) that names the bucket.
    #[arg(value_name = "SETTINGS")]
    pub(super) root: PathBuf,
    /// The collection. It need not have notebooks any more.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: String,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct BucketRemoveArgs {
    /// The settings file (.toml) that names the bucket.
    #[arg(value_name = "SETTINGS")]
    pub(super) root: PathBuf,
    /// The collection. It need not have notebooks any more.
    #[arg(
        value_name = "COLLECTION",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub(super) collection: Option<String>,
    /// Remove the indexes of all collections in the bucket, or in the folder in it that the settings name.
    #[arg(long)]
    pub(super) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct BucketExportArgs {
    /// The settings file (.toml) that names the bucket.
    #[arg(value_name = "SETTINGS")]
    pub(super) root: PathBuf,
    /// The collection.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: String,
    /// Folder for the index, created if it does not exist.
    #[arg(value_name = "DIR")]
    pub(super) folder: PathBuf,
}

#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "sectile notebook search [OPTIONS] <ROOT> <COLLECTION> <QUERY>...\n       \
                      sectile notebook search [OPTIONS] --all <ROOT> <QUERY>...",
    after_help = "\
With --all, the best passages of every collection are in one list, by score. Word scores are relative to the best passage of
the same collection.

Examples:
  sectile notebook search ~/library lab melting ice    in one collection
  sectile notebook search ~/library . melting ice      in the notes directly in ~/library
  sectile notebook search --all ~/library melting ice  in every collection"
)]
pub(super) struct SearchArgs {
    /// The folder that holds the collections, or a settings file (.toml) that says where they are.
    #[arg(value_name = "ROOT")]
    pub(super) root: PathBuf,
    /// The collection; `.` stands for the notes directly in ROOT. With --all, the first word of QUERY.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: String,
    /// A question or some words.
    #[arg(value_name = "QUERY", required_unless_present = "all")]
    pub(super) query: Vec<String>,
    /// Search every collection.
    #[arg(long)]
    pub(super) all: bool,
    /// Maximum number of passages.
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
    /// Characters of context before and after it, in JSON.
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(super) context: usize,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
FOLDER holds corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels.tsv (query, document, score, with a
header line), like test sets in the BEIR format. With --library, documents are the notebooks of a collection, named by their
paths, and queries are answered as a server answers them, from the index that the library has: in a folder or in a database,
with the tier that is complete. Queries may be of any length.

Examples:
  sectile notebook eval k8s-docs --queries k8s-docs/queries-leaf.jsonl --qrels k8s-docs/qrels-leaf.tsv
  sectile notebook eval my-questions --library sectile.toml --collection lab")]
pub(super) struct EvalArgs {
    /// The folder of the test set.
    #[arg(value_name = "FOLDER")]
    pub(super) folder: PathBuf,
    /// File with other queries.
    #[arg(long, value_name = "FILE")]
    pub(super) queries: Option<PathBuf>,
    /// File with other judgements.
    #[arg(long, value_name = "FILE")]
    pub(super) qrels: Option<PathBuf>,
    /// Tier whose model is evaluated [default: static].
    #[arg(long, value_name = "TIER", conflicts_with = "library")]
    pub(super) tier: Option<TierName>,
    /// Evaluate a collection of this library, a folder or a settings file (.toml), instead of corpus.jsonl.
    #[arg(long, value_name = "ROOT", requires = "collection")]
    pub(super) library: Option<PathBuf>,
    /// Collection of the library.
    #[arg(long, value_name = "NAME", requires = "library")]
    pub(super) collection: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  sectile notebook verify ~/library                    every collection; exit code 1 if something does not match its record
  sectile notebook verify ~/library lab --sums         the lines whose SHA-256 is the root of `lab`

In the folder of a collection, where nothing is ignored, a shell computes the same root (that of `.` in ROOT, with `-maxdepth 1`
after the first dot):
  find . -path ./_artifacts -prune -o -name '.?*' -prune -o -type f -iname '*.md' -print0 \\
    | LC_ALL=C sort -z | xargs -0 -r sha256sum | sha256sum")]
pub(super) struct VerifyArgs {
    /// The folder that holds the collections, or a settings file (.toml) that says where they are.
    #[arg(value_name = "ROOT")]
    pub(super) root: PathBuf,
    /// Only this collection.
    #[arg(value_name = "COLLECTION")]
    pub(super) collection: Option<String>,
    /// Print the digests of the notebooks in the format of sha256sum, for sha256sum --check.
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
    /// Copy files into a new set of artifacts and record where they come from. Never changes an existing set.
    Add(AddArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A step is written as `tool=NAME`, followed by the tool's parameters, separated by semicolons. `in=FILE` and `out=FILE` name
input and output files, whose SHA-256 is recorded; by default, the sources are the input of the first step and the files are
the output of the last.

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
    /// The files to copy.
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// The kind of derived material.
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(super) kind: ArtifactTypeName,
    /// Whether a person vouches for it: canonical artifacts were written by a person.
    #[arg(long, value_enum, default_value_t = ArtifactStatusName::Offered)]
    pub(super) status: ArtifactStatusName,
    /// Who made it [default: synthesis_pipeline, or human_export if it is canonical].
    #[arg(long, value_enum)]
    pub(super) by: Option<MakerName>,
    /// A notebook it was made from, by its path in the collection. May be given more than once.
    #[arg(long = "source", value_name = "NOTEBOOK")]
    pub(super) sources: Vec<String>,
    /// A processing step. May be given more than once, in order. Without it no step is recorded.
    #[arg(long = "step", value_name = "STEP")]
    pub(super) steps: Vec<String>,
    /// A sentence on how far it can be trusted.
    #[arg(long, value_name = "TEXT")]
    pub(super) note: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ArtifactTypeName {
    /// A shorter version of the sources.
    Summary,
    /// A list of what is where.
    Index,
    /// Facts extracted from the sources.
    Extraction,
    /// A new text made from several sources.
    Synthesis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ArtifactStatusName {
    /// Without authority.
    Offered,
    /// Written by a person.
    Canonical,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum MakerName {
    /// A program.
    SynthesisPipeline,
    /// A person.
    HumanExport,
}

impl From<ArtifactTypeName> for ArtifactType {
    fn from(kind: ArtifactTypeName) -> Self {
        match kind {
            ArtifactTypeName::Summary => Self::Summary,
            ArtifactTypeName::Index => Self::Index,
            ArtifactTypeName::Extraction => Self::Extraction,
            ArtifactTypeName::Synthesis => Self::Synthesis,
        }
    }
}

impl From<ArtifactStatusName> for Status {
    fn from(standing: ArtifactStatusName) -> Self {
        match standing {
            ArtifactStatusName::Offered => Self::Offered,
            ArtifactStatusName::Canonical => Self::Canonical,
        }
    }
}

impl From<MakerName> for Maker {
    fn from(by: MakerName) -> Self {
        match by {
            MakerName::SynthesisPipeline => Self::SynthesisPipeline,
            MakerName::HumanExport => Self::HumanExport,
        }
    }
}
