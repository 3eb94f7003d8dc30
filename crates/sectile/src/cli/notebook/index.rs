//! `sectile notebook index`: the index of the collections, made or brought up to date.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sectile_backends::Postgres;
use sectile_retrieval::{StoreError, built_in};
use serde::Serialize;

use super::{
    args::{IndexArgs, To},
    failed, made_index_folder, open, require,
};
use crate::{
    cli::library::Opened,
    cli::ui::{CliError, DIM, NAME, Styled, print, visible, wants_json},
    worlds::{
        editor,
        notebook::{
            errors::NotebookError,
            indexing::{self, IndexingError, Job, Report},
            library::Library,
            publishing::publish,
        },
    },
};

#[derive(Serialize)]
struct Row {
    collection_id: String,
    #[serde(flatten)]
    report: Report,
}

pub(super) fn index(args: &IndexArgs) -> Result<(), CliError> {
    let storage = open(&args.root)?;
    let target = Target::new(&storage, args)?;
    let collections = match &args.collection {
        Some(collection) => {
            require(&storage, collection)?;
            vec![collection.clone()]
        }
        None => storage.collections().map_err(|error| failed(&error))?,
    };
    let mut rows = Vec::new();
    for collection in collections {
        let report = one(&storage, &target, &collection)?;
        rows.push(Row {
            collection_id: collection,
            report,
        });
    }
    if wants_json(args.json) {
        let text = serde_json::to_string(&rows)
            .map_err(|_| CliError::failed("the answer could not be written as JSON."))?;
        return print(format_args!("{text}\n"));
    }
    print(shown(&rows))
}

/// Where the index goes.
enum Target {
    Folder(PathBuf),
    Postgres(Arc<Postgres>),
}

impl Target {
    /// What was asked for, or else where a server with the same settings looks.
    fn new(opened: &Opened, args: &IndexArgs) -> Result<Self, CliError> {
        let wanted = match (args.to, &args.index, &opened.postgres) {
            (Some(To::Postgres), Some(_), _) => {
                let error = "an index is either in a folder or in a database.";
                return Err(CliError::usage(error).next("leave out --index or --to postgres"));
            }
            (Some(To::Postgres), None, None) => {
                let error = "the settings name no database.";
                return Err(CliError::usage(error).next(
                    "give a settings file as ROOT, with [notebook.vector_storage] type = \"pgvector\" in it",
                ));
            }
            (Some(To::Folder), _, _) | (None, Some(_), _) | (None, None, None) => None,
            (Some(To::Postgres) | None, None, Some(postgres)) => Some(postgres),
        };
        match wanted {
            Some(postgres) => Ok(Self::Postgres(Arc::clone(postgres))),
            None => Ok(Self::Folder(made_index_folder(
                opened,
                args.index.as_deref(),
            )?)),
        }
    }
}

fn one(storage: &Library, target: &Target, collection: &str) -> Result<Report, CliError> {
    let embedder = built_in().map_err(|error| {
        CliError::failed(format_args!(
            "the embedding model inside this program cannot be used: {error}."
        ))
    })?;
    let listed = storage
        .notebooks(collection, &|| false)
        .map_err(|error| failed(&error))?;
    let bar = bar(listed.len(), collection);
    let done = AtomicUsize::new(0);
    let job = Job {
        storage,
        collection,
        embedder,
        stop: &|| false,
        progress: &|| bar.set_position(done.fetch_add(1, Ordering::Relaxed) as u64 + 1),
    };
    let report = match target {
        Target::Folder(folder) => {
            let location = indexing::folder_of(folder, collection);
            indexing::update(job, &location, &listed, editor::now)
        }
        Target::Postgres(postgres) => {
            publish(job, &**postgres, &listed, editor::now).map_err(IndexingError::Notebooks)
        }
    };
    bar.finish_and_clear();
    report.map_err(|error| match error {
        IndexingError::Notebooks(NotebookError::CollectionNotFound) => {
            CliError::failed("the collection went away while it was read.")
        }
        IndexingError::Notebooks(error) => failed(&error),
        IndexingError::Store(StoreError::Busy) => {
            CliError::failed("another process writes this index now.").next("wait until it is done")
        }
        IndexingError::Store(error) => CliError::failed(format_args!("{error}."))
            .next("give another folder with --index DIR, or free some space"),
    })
}

/// A bar on a terminal; nothing elsewhere.
fn bar(length: usize, collection: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(visible(collection));
    bar
}

fn shown(rows: &[Row]) -> String {
    if rows.is_empty() {
        return format!("{}\n", Styled(DIM, "There are no collections."));
    }
    let mut text = String::new();
    for Row {
        collection_id,
        report,
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
            Styled(NAME, visible(collection_id)),
            counted(report.notebooks, "notebook"),
            counted(report.chunks, "chunk"),
            Styled(DIM, what),
        );
        if let Some(reason) = &report.remade {
            text += &format!("  {}\n", Styled(DIM, format_args!("made anew: {reason}")));
        }
    }
    text
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
