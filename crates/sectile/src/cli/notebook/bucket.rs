//! `sectile notebook bucket`: the indexes in a bucket, as objects.

use std::sync::Arc;

use sectile_library::{
    FailedPart, LibraryError, StorageError,
    mirror::{IndexPublishing, PublishedIndex},
};
use serde::Serialize;
use serde_json::json;

use super::{
    args::{
        BucketCollectionArgs, BucketCommand, BucketExportArgs, BucketListArgs, BucketRemoveArgs,
    },
    failed, open,
};
use crate::cli::{
    interrupt::Interrupt,
    ui::{CliError, DIM, NAME, StyledText, counted, print, tell, visible},
};

pub(super) fn run(command: &BucketCommand) -> Result<(), CliError> {
    match command {
        BucketCommand::List(args) => list(args),
        BucketCommand::Clean(args) => clean(args),
        BucketCommand::Remove(args) => remove(args),
        BucketCommand::Export(args) => export(args),
    }
}

fn list(args: &BucketListArgs) -> Result<(), CliError> {
    let bucket = bucket(&args.root)?;
    let interrupt = interrupt()?;
    let listed = bucket.published(&|| interrupt.is_wanted());
    let listed = listed.map_err(explained)?;
    if args.json {
        return print_json(&listed);
    }
    let lines = listed.iter().map(|one| {
        let PublishedIndex {
            collection_id,
            bytes,
            generation,
            ..
        } = one;
        format!(
            "{}  {} KiB  {}\n",
            StyledText(NAME, visible(collection_id)),
            bytes.div_ceil(1024),
            StyledText(DIM, format_args!("state {generation}"))
        )
    });
    print(lines.collect::<String>())
}

fn clean(args: &BucketCollectionArgs) -> Result<(), CliError> {
    let bucket = bucket(&args.root)?;
    let interrupt = interrupt()?;
    let report = bucket.clean(&args.collection, &|| interrupt.is_wanted());
    let report = report.map_err(explained)?;
    if args.json {
        return print_json(&report);
    }
    print(format_args!(
        "{}  {} removed; {} needed, {} not needed but recent\n",
        StyledText(NAME, visible(&args.collection)),
        counted(report.removed, "object", "objects"),
        report.needed,
        report.recent
    ))
}

fn remove(args: &BucketRemoveArgs) -> Result<(), CliError> {
    let bucket = bucket(&args.root)?;
    let interrupt = interrupt()?;
    let stop = || interrupt.is_wanted();
    let collections = match &args.collection {
        Some(collection) => vec![collection.clone()],
        None => {
            let listed = bucket.published(&stop).map_err(explained)?;
            listed.into_iter().map(|one| one.collection_id).collect()
        }
    };
    let mut removed = Vec::new();
    for collection in collections {
        if bucket.remove(&collection, &stop).map_err(explained)? {
            removed.push(collection);
        }
    }
    if args.json {
        return print_json(&json!({ "removed": removed }));
    }
    if removed.is_empty() {
        return print("there was no index to remove\n");
    }
    let lines = removed.iter().map(|collection| {
        let name = StyledText(NAME, visible(collection));
        format!("{name}  the index was removed\n")
    });
    print(lines.collect::<String>())
}

fn export(args: &BucketExportArgs) -> Result<(), CliError> {
    let bucket = bucket(&args.root)?;
    let interrupt = interrupt()?;
    let exported = bucket.export(&args.collection, &args.folder, &|| interrupt.is_wanted());
    exported.map_err(explained)?;
    let name = StyledText(NAME, visible(&args.collection));
    print(format_args!("{name}  the index was copied\n"))
}

/// Returns the bucket of the indexes that the settings name.
fn bucket(root: &std::path::Path) -> Result<Arc<dyn IndexPublishing>, CliError> {
    open(root)?.index_bucket.ok_or_else(no_bucket)
}

/// Returns the refusal of settings that do not name a bucket for indexes.
pub(super) fn no_bucket() -> CliError {
    CliError::usage("the settings do not name a bucket for indexes.")
        .next("give a settings file with [notebook.vector_storage] type = \"s3\" and a path in it")
}

fn interrupt() -> Result<Interrupt, CliError> {
    Ok(Interrupt::listen(|| tell("stopping ...\n"))?)
}

fn explained(error: StorageError) -> CliError {
    match error {
        StorageError::CollectionNotFound => {
            CliError::failed("the bucket has no index of this collection.")
                .next("list those that it has with `sectile notebook bucket list`")
        }
        StorageError::Cancelled => CliError::failed("stopped before it was done.")
            .next("run the same command again; it can be repeated safely"),
        error => failed(&LibraryError::of_storage(
            error,
            FailedPart::Index("bucket"),
        )),
    }
}

fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(value)
        .map_err(|_| CliError::failed("the answer could not be written as JSON."))?;
    print(format_args!("{text}\n"))
}
