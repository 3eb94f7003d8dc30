//! `sectile notebook index`: creates or updates the index of the collections, tier by tier.

mod watch;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use sectile_library::{
    FailedPart, LibraryError, StorageError, TOP, VectorIndexing,
    filling::{self, FillJob, FillReport, fill, fill_database},
    indexing::{self, IndexReport, IndexingError, Job},
    library::Library,
    mirror::{IndexPublishing, Publication},
    publishing::publish,
    tiers::Models,
};
use sectile_retrieval::{Embedder, SharedVectors, StoreError};
use serde::Serialize;

use super::{
    args::{IndexArgs, IndexDestination, TierName},
    bucket::no_bucket,
    collections, failed, made_index_folder, open, require, shared_vectors,
};
use crate::{
    cli::{
        interrupt::Interrupt,
        progress::{TierProgressBar, bar},
        ui::{CliError, DIM, NAME, StyledText, counted, print, tell, visible},
    },
    worlds::{editor, notebook::OpenLibrary},
};

/// The most rounds over notebooks that change while the second tier is being filled.
const MOST_ROUNDS: usize = 3;
/// The most builds of an index in a bucket, each of which another process could win. A loser starts from the state of the
/// winner, and then has little left to do.
const MOST_RACES: usize = 8;
/// The most notes at the top that are listed.
const MOST_NAMED: usize = 10;

#[derive(Serialize)]
struct IndexRow {
    collection_id: String,
    #[serde(flatten)]
    report: IndexReport,
    /// The first notes of the collection that consists of the notes directly in ROOT: its name says nothing about them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes_at_top: Vec<String>,
    /// The progress of the second tier, if it was requested.
    transformer: Option<FillReport>,
}

impl IndexRow {
    fn did_something(&self) -> bool {
        self.report.written || self.transformer.is_some_and(|filled| filled.embedded > 0)
    }
}

pub(super) fn index(args: &IndexArgs) -> Result<(), CliError> {
    let opened = open(&args.root)?;
    let target = IndexTarget::new(&opened, args)?;
    if args.tier == Some(TierName::Transformer) && !target.has_second_tier() {
        let error = "an index in a vector service has the static tier only.";
        return Err(CliError::usage(error).next("leave out --tier transformer"));
    }
    let models = Models::built_in().map_err(|error| {
        CliError::failed(format_args!(
            "the embedding model inside this program cannot be used: {error}."
        ))
    })?;
    let mut indexing = IndexRun {
        library: &opened,
        second: second(args.tier, models).filter(|_| target.has_second_tier()),
        target,
        models,
        only: args.collection.as_deref(),
        shared: shared_vectors(&args.root),
        threads: args.threads.unwrap_or_else(filling::usual_threads),
        interrupt: None,
    };
    let as_json = args.json;
    if args.watch {
        return watch::watch(indexing, as_json);
    }
    indexing.interrupt = Some(Interrupt::listen(|| tell("stopping ...\n"))?);
    let mut rows = Vec::new();
    for collection in indexing.collections()? {
        rows.push(indexing.one(&collection, &|| false)?);
    }
    told(&rows, as_json)?;
    match rows.iter().all(|row| row.report.notebooks == 0) {
        true => Err(
            CliError::failed("nothing was indexed: there are no notebooks.")
                .next("put `.md` files into the folder of the collection"),
        ),
        false => Ok(()),
    }
}

/// Prints the results.
fn told(rows: &[IndexRow], as_json: bool) -> Result<(), CliError> {
    if !as_json {
        return print(shown(rows));
    }
    let text = serde_json::to_string(rows)
        .map_err(|_| CliError::failed("the answer could not be written as JSON."))?;
    print(format_args!("{text}\n"))
}

/// The destination of the index.
enum IndexTarget {
    Folder(PathBuf),
    /// A database or a service.
    Shared(Arc<dyn VectorIndexing>),
    Bucket(Arc<dyn IndexPublishing>),
}

impl IndexTarget {
    /// Returns the requested destination, or else the one where a server with the same settings looks.
    fn new(opened: &OpenLibrary, args: &IndexArgs) -> Result<Self, CliError> {
        match (args.to, &args.index, &opened.index_bucket) {
            (Some(IndexDestination::S3), Some(_), _) => {
                let error = "an index is either in a folder or in a bucket.";
                return Err(CliError::usage(error).next("leave out --index or --to s3"));
            }
            (Some(IndexDestination::S3), None, None) => return Err(no_bucket()),
            (Some(IndexDestination::S3) | None, None, Some(bucket)) => {
                return Ok(Self::Bucket(Arc::clone(bucket)));
            }
            _ => {}
        }
        let named = args.to.and_then(IndexDestination::shared);
        let wanted = match (named, &args.index, &opened.shared) {
            (Some((_, name)), Some(_), _) => {
                let error = "an index is either in a folder or in a database or service.";
                let next = format!("leave out --index or --to {name}");
                return Err(CliError::usage(error).next(next));
            }
            (Some((kind, name)), None, shared) => {
                let shared = shared.as_ref().filter(|shared| shared.name() == name);
                let shared = shared.ok_or_else(|| {
                    let setting = if name == "postgres" { "pgvector" } else { name };
                    let error = format!("the settings do not name {kind}.");
                    CliError::usage(error).next(format!(
                        "give a settings file as ROOT, with [notebook.vector_storage] type = \"{setting}\" in it"
                    ))
                })?;
                Some(shared)
            }
            (None, Some(_), _) => None,
            (None, None, shared) if args.to.is_none() => shared.as_ref(),
            (None, None, _) => None,
        };
        match wanted {
            Some(shared) => Ok(Self::Shared(Arc::clone(shared))),
            None => Ok(Self::Folder(made_index_folder(
                opened,
                args.index.as_deref(),
            )?)),
        }
    }

    fn has_second_tier(&self) -> bool {
        match self {
            Self::Folder(_) | Self::Bucket(_) => true,
            Self::Shared(shared) => shared.has_second_tier(),
        }
    }
}

/// Returns the model of the second tier, if it was requested.
fn second(wanted: Option<TierName>, models: Models) -> Option<&'static dyn Embedder> {
    match wanted {
        Some(TierName::Static) => None,
        Some(TierName::Transformer) | None => models.second,
    }
}

/// The parameters of an indexing run.
struct IndexRun<'a> {
    library: &'a Library,
    target: IndexTarget,
    models: Models,
    /// The model of the second tier, if it was requested.
    second: Option<&'static dyn Embedder>,
    /// The only collection to index, if one was named.
    only: Option<&'a str>,
    /// The vectors that the second tier shares with other indexes of this user.
    shared: Option<SharedVectors>,
    threads: usize,
    interrupt: Option<Interrupt>,
}

impl IndexRun<'_> {
    fn collections(&self) -> Result<Vec<String>, CliError> {
        match self.only {
            Some(collection) => {
                require(self.library, collection)?;
                Ok(vec![collection.to_owned()])
            }
            None => collections(self.library),
        }
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.as_ref().is_some_and(Interrupt::is_wanted)
    }

    /// Updates a collection, tier by tier. The second tier is postponed if `is_behind` returns `true`.
    fn one(
        &self,
        collection: &str,
        is_behind: &(dyn Fn() -> bool + Sync),
    ) -> Result<IndexRow, CliError> {
        let mut report = self.first_tier(collection)?;
        let mut transformer = None;
        if let Some(second) = self.second {
            for round in 1..=MOST_ROUNDS {
                let filled = self.second_tier(collection, second, is_behind)?;
                transformer = Some(filled);
                if filled.changed == 0 || round == MOST_ROUNDS || is_behind() {
                    break;
                }
                report = report.and_then(self.first_tier(collection)?);
            }
        }
        Ok(IndexRow {
            collection_id: collection.to_owned(),
            report,
            notes_at_top: self.notes_at_top(collection)?,
            transformer,
        })
    }

    fn notes_at_top(&self, collection: &str) -> Result<Vec<String>, CliError> {
        if collection != TOP {
            return Ok(Vec::new());
        }
        let listed = match self.library.notebooks(collection, &|| self.is_stopped()) {
            // The collection was removed meanwhile.
            Err(LibraryError::CollectionNotFound) => return Ok(Vec::new()),
            listed => listed.map_err(explained)?,
        };
        let names = listed.into_iter().take(MOST_NAMED);
        Ok(names.map(|one| one.notebook.to_string()).collect())
    }

    fn first_tier(&self, collection: &str) -> Result<IndexReport, CliError> {
        let stop = || self.is_stopped();
        let listed = self.library.notebooks(collection, &stop).map_err(explained);
        let listed = listed?;
        let bar = bar(listed.len(), collection);
        let done = AtomicUsize::new(0);
        let job = Job {
            storage: self.library,
            collection,
            embedder: self.models.first,
            stop: &stop,
            progress: &|| bar.set_position(done.fetch_add(1, Ordering::Relaxed) as u64 + 1),
        };
        let report = match &self.target {
            IndexTarget::Folder(folder) => {
                let location = indexing::folder_of(folder, collection);
                indexing::update(job, &location, &listed, editor::now)
            }
            IndexTarget::Shared(shared) => {
                publish(job, &**shared, &listed, editor::now).map_err(IndexingError::Notebooks)
            }
            IndexTarget::Bucket(bucket) => self.in_bucket(&**bucket, collection, |folder| {
                indexing::update(job, folder, &listed, editor::now)
            }),
        };
        bar.finish_and_clear();
        report.map_err(|error| explained_with(error, "another process is writing this index."))
    }

    fn second_tier(
        &self,
        collection: &str,
        second: &'static dyn Embedder,
        is_behind: &(dyn Fn() -> bool + Sync),
    ) -> Result<FillReport, CliError> {
        let bar = TierProgressBar::new(collection);
        let job = FillJob {
            storage: self.library,
            collection,
            first: self.models.first,
            second,
            shared: self.shared.as_ref(),
            threads: self.threads,
            stop: &|| self.is_stopped() || is_behind(),
            progress: &|progress| bar.show(progress),
        };
        let filled = match &self.target {
            IndexTarget::Folder(folder) => fill(job, &indexing::folder_of(folder, collection)),
            IndexTarget::Shared(shared) => {
                fill_database(job, &**shared).map_err(IndexingError::Notebooks)
            }
            IndexTarget::Bucket(bucket) => {
                self.in_bucket(&**bucket, collection, |folder| fill(job, folder))
            }
        };
        bar.finish();
        let busy = "another process is filling the transformer tier of this index.";
        let filled = filled.map_err(|error| explained_with(error, busy))?;
        if self.is_stopped() && !filled.complete {
            let FillReport {
                filled, passages, ..
            } = filled;
            return Err(CliError::failed(format_args!(
                "stopped with {filled} of {passages} passages of `{}` in the transformer tier; the static tier is up to date.",
                visible(collection)
            ))
            .next("run the same command again to continue from there"));
        }
        Ok(filled)
    }
}

impl IndexRun<'_> {
    /// Changes an index of a bucket with `work`, in the folder where it is checked out, and publishes it. If another process
    /// publishes first, the work starts from there.
    fn in_bucket<T>(
        &self,
        bucket: &dyn IndexPublishing,
        collection: &str,
        work: impl Fn(&Path) -> Result<T, IndexingError>,
    ) -> Result<T, IndexingError> {
        let stop = || self.is_stopped();
        let failed = |error| {
            let at = FailedPart::Index(bucket.kind());
            IndexingError::Notebooks(LibraryError::of_storage(error, at))
        };
        for _ in 0..MOST_RACES {
            let mut build = bucket.begin(collection, &stop).map_err(failed)?;
            if let Some(why) = build.remade() {
                tell(format_args!("{}  rebuilt: {why}\n", visible(collection)));
            }
            let done = work(build.folder())?;
            match build.publish(&stop).map_err(failed)? {
                Publication::Published | Publication::Unchanged => return Ok(done),
                Publication::Superseded => tell(format_args!(
                    "{}  another process published this index first; starting from there\n",
                    visible(collection)
                )),
            }
        }
        Err(failed(StorageError::failed(
            "Other processes keep publishing this index. Build it in one place at a time.",
        )))
    }
}

fn explained(error: LibraryError) -> CliError {
    explained_with(error.into(), "")
}

/// Converts an error for the user. `busy` is the message if another process holds the write lock.
fn explained_with(error: IndexingError, busy: &str) -> CliError {
    match error {
        IndexingError::Notebooks(LibraryError::CollectionNotFound) => {
            CliError::failed("the collection went away while it was read.")
        }
        IndexingError::Notebooks(LibraryError::Cancelled) => CliError::failed(
            "stopped before the index was written; the previous index is unchanged.",
        )
        .next("run the same command again"),
        IndexingError::Notebooks(error) => failed(&error),
        IndexingError::Store(StoreError::Busy) => {
            CliError::failed(busy).next("wait until it has finished")
        }
        IndexingError::Store(error) => CliError::failed(format_args!("{error}."))
            .next("give another folder with --index DIR, or free some space"),
    }
}

fn shown(rows: &[IndexRow]) -> String {
    let mut text = String::new();
    for IndexRow {
        collection_id,
        report,
        notes_at_top,
        transformer,
    } in rows
    {
        let what = if report.written {
            format!(
                "{} read, {} removed, {} unreadable",
                report.indexed, report.removed, report.unreadable
            )
        } else {
            "up to date".to_owned()
        };
        text += &format!(
            "{}  {}, {}  {}\n",
            StyledText(NAME, visible(collection_id)),
            counted(report.notebooks, "notebook", "notebooks"),
            counted(report.chunks, "chunk", "chunks"),
            StyledText(DIM, what),
        );
        if !notes_at_top.is_empty() {
            let more = match report.notebooks > notes_at_top.len() {
                true => ", ...",
                false => "",
            };
            let names = visible(&notes_at_top.join(", "));
            let line = format_args!("notes directly in ROOT: {names}{more}");
            text += &format!("  {}\n", StyledText(DIM, line));
        }
        if let Some(reason) = &report.remade {
            text += &format!("  {}\n", StyledText(DIM, format_args!("rebuilt: {reason}")));
        }
        if let Some(filled) = transformer {
            text += &format!("  {}\n", StyledText(DIM, shown_tier(filled)));
        }
    }
    text
}

/// Describes the state of the second tier in one line.
fn shown_tier(filled: &FillReport) -> String {
    let FillReport {
        passages,
        filled,
        embedded,
        cached,
        changed,
        complete,
    } = filled;
    let made = format!("{embedded} embedded now, {cached} cached before");
    if *complete {
        return format!("transformer tier complete: {made}");
    }
    let why = match changed {
        0 => String::new(),
        _ => format!(
            "; {} changed meanwhile, so run it again",
            counted(*changed, "notebook", "notebooks")
        ),
    };
    format!("transformer tier has {filled} of {passages}: {made}{why}")
}
