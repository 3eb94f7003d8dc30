//! `sectile cache`: the indexes that are kept between runs, and the vectors that they share.

use std::path::Path;

use sectile_retrieval::{CacheFolder, CachedIndex, SharedVectors};
use serde_json::{Value, json};

use super::{
    args::CacheArgs,
    root::root_of,
    settings::settings,
    ui::{CliError, DIM, GOOD, NAME, StyledText, counted, print, visible},
};
use crate::files;

pub(super) fn run(args: &CacheArgs) -> Result<(), CliError> {
    let settings = settings(args.config.as_deref())?;
    let location = settings.worlds.desk.cache.as_deref().ok_or_else(|| {
        CliError::failed("there is no cache folder: the home folder is unknown.")
            .next("set desk.cache in the settings file")
    })?;
    let limit = settings.worlds.desk.cache_limit;
    let folder = CacheFolder::new(location);
    let contents = CacheContents {
        indexes: folder.list().map_err(|error| unusable(&error))?,
        shared: folder.shared_vectors(limit),
        folder,
    };
    match &args.clear {
        Some(named) => clear(args, named.as_deref(), &contents),
        None => show(args, location, limit, &contents),
    }
}

/// What is in the cache folder.
struct CacheContents {
    folder: CacheFolder,
    indexes: Vec<CachedIndex>,
    shared: SharedVectors,
}

fn unusable(error: &std::io::Error) -> CliError {
    let reason = files::reason(error.kind());
    CliError::failed(format_args!("the cache folder cannot be used ({reason})."))
        .next("correct its permissions, or set desk.cache in the settings file")
}

fn show(
    args: &CacheArgs,
    location: &Path,
    limit: u64,
    contents: &CacheContents,
) -> Result<(), CliError> {
    let CacheContents {
        indexes, shared, ..
    } = contents;
    let vectors = shared.bytes().map_err(|error| unusable(&error))?;
    let bytes = vectors + indexes.iter().map(|index| index.bytes).sum::<u64>();
    if args.json {
        let listed: Vec<Value> = indexes
            .iter()
            .map(|index| json!({ "folder": index.label, "bytes": index.bytes, "used_at": index.used_at }))
            .collect();
        let answer = json!({
            "cache": location, "bytes": bytes, "limit": limit, "indexes": listed,
            "vectors": { "bytes": vectors },
        });
        return print(format_args!("{answer}\n"));
    }
    for index in indexes {
        let label = StyledText(NAME, visible(&index.label));
        let used = day(index.used_at);
        print(format_args!(
            "{label}  {}\n",
            StyledText(DIM, format!("{}, used {used}", size(index.bytes)))
        ))?;
    }
    if vectors > 0 {
        let size = StyledText(DIM, size(vectors));
        print(format_args!("vectors shared by all indexes  {size}\n"))?;
    }
    print(format_args!(
        "{} in {}; the limit is {}. Clear one with --clear DIR, all with --clear --all.\n",
        counted(indexes.len(), "index", "indexes"),
        size(bytes),
        size(limit)
    ))
}

fn clear(args: &CacheArgs, named: Option<&Path>, contents: &CacheContents) -> Result<(), CliError> {
    let CacheContents {
        folder,
        indexes,
        shared,
    } = contents;
    let label = match named {
        Some(named) if !args.all => Some(label_of(named, indexes)?),
        None if !args.all && !args.vectors => {
            return Err(CliError::usage("no folder is named.")
                .next("--clear DIR, --clear --vectors, or --clear --all"));
        }
        _ => None,
    };
    let mut removed = 0;
    let mut in_use = 0;
    for index in indexes {
        if args.all || label.as_ref() == Some(&index.label) {
            match folder.remove(index).map_err(|error| unusable(&error))? {
                true => removed += 1,
                false => in_use += 1,
            }
        }
    }
    let are_vectors_removed = match args.all || args.vectors {
        true => shared.clear().map_err(|error| unusable(&error))?,
        false => false,
    };
    if args.json {
        let answer =
            json!({ "removed": removed, "in_use": in_use, "vectors_removed": are_vectors_removed });
        return print(format_args!("{answer}\n"));
    }
    let vectors = match are_vectors_removed {
        true => " and the shared vectors",
        false => "",
    };
    let kept = match in_use {
        0 => String::new(),
        in_use => format!(" {in_use} kept: in use by a server."),
    };
    print(format_args!(
        "{}{kept}\n",
        StyledText(
            GOOD,
            format!("{}{vectors} removed.", counted(removed, "index", "indexes"))
        )
    ))
}

/// Returns the label of the index of a folder: its own, even if the folder is gone, or else that of the root it is in.
fn label_of(named: &Path, indexes: &[CachedIndex]) -> Result<String, CliError> {
    let unknown = |error: &dyn std::fmt::Display| {
        CliError::failed(format_args!("{}: {error}.", named.display()))
    };
    let path = files::absolute(named)
        .or_else(|_| std::path::absolute(named))
        .map_err(|error| unknown(&files::reason(error.kind())))?;
    let label = path.display().to_string();
    let label = label.trim_end_matches(std::path::MAIN_SEPARATOR);
    if indexes.iter().any(|index| index.label == label) {
        return Ok(label.to_owned());
    }
    let root = root_of(named).map_err(|error| unknown(&error))?;
    Ok(root.folder.display().to_string())
}

/// Formats a size for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10),
    }
}

/// Returns the day of a time in milliseconds since 1970.
fn day(time: i64) -> String {
    jiff::Timestamp::from_millisecond(time).map_or_else(
        |_| "at an unknown time".to_owned(),
        |time| time.strftime("%Y-%m-%d").to_string(),
    )
}
