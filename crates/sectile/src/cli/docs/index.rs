//! `sectile docs index`: indexes folders of documents ahead of a server, tier by tier.

use sectile_library::{
    LibraryError,
    filling::{FillReport, usual_threads},
    indexing::IndexingError,
    live_folder::LiveFolder,
};
use sectile_retrieval::StoreError;
use serde::Serialize;

use super::{all_settings, options};
use crate::{
    cli::{
        args::DocsIndexArgs,
        interrupt::Interrupt,
        progress::{TierProgressBar, bar},
        ui::{CliError, DIM, NAME, StyledText, counted, print, tell, visible},
    },
    worlds::docs::{DocsRanking, opened_sources, sources::DocsSources},
};

/// The most rounds over pages that change while they are embedded.
const MOST_ROUNDS: usize = 3;
/// How often an index that does not grow is looked at before the library decides how long to wait for it.
const MOST_LOOKS: usize = 40;

/// What was done for a folder.
#[derive(Serialize)]
struct IndexedFolder {
    folder: String,
    pages: usize,
    /// The state of the second tier, unless the settings do not want it.
    transformer: Option<FillReport>,
}

pub(super) fn index(args: &DocsIndexArgs) -> Result<(), CliError> {
    let source = &args.documents;
    let all = all_settings(source.config.as_deref(), &source.paths)?;
    let settings = &all.worlds.docs;
    let options = options(&all);
    if options.cache.is_none() {
        return Err(
            CliError::failed("there is no cache folder: the home folder is unknown.")
                .next("set desk.cache in the settings file"),
        );
    }
    let sources = opened_sources(settings, options)?;
    let run = FolderIndexing {
        is_second: settings.written.ranking == DocsRanking::Meaning,
        interrupt: Interrupt::listen(|| tell("stopping ...\n"))?,
    };
    let rows = sources.folders().map(|(label, live)| run.one(label, live));
    let rows = rows.collect::<Result<Vec<IndexedFolder>, CliError>>()?;
    if args.json {
        let text = serde_json::to_string(&rows)
            .map_err(|_| CliError::failed("the answer could not be written as JSON."))?;
        return print(format_args!("{text}\n"));
    }
    print(shown(&rows))?;
    if rows.is_empty() {
        tell(
            "nothing to do: there is no folder among the documents, and others are indexed when a server starts.\n",
        );
    } else if !run.is_second {
        tell("the transformer tier is not filled: `docs.ranking` is not \"meaning\".\n");
    } else if has_named_documents(&sources)? {
        tell(
            "a server with these settings answers with the static tier: not all documents are in folders. \
             Set `docs.include_default_docs` to false, or put documents that are named one by one into a folder.\n",
        );
    }
    Ok(())
}

/// Returns whether some documents are not in a folder, so that they only have the first tier.
fn has_named_documents(sources: &DocsSources) -> Result<bool, CliError> {
    let current = sources.current(&|| false).map_err(|error| failed(&error))?;
    Ok(current.pages.memory().records().next().is_some())
}

/// The parameters of an indexing run.
struct FolderIndexing {
    /// Whether the second tier is wanted.
    is_second: bool,
    interrupt: Interrupt,
}

impl FolderIndexing {
    /// Updates the index of a folder, tier by tier.
    fn one(&self, label: &str, live: &LiveFolder) -> Result<IndexedFolder, CliError> {
        let mut pages = self.first_tier(label, live)?;
        let mut transformer = None;
        if self.is_second {
            for round in 1..=MOST_ROUNDS {
                let filled = self.second_tier(label, live)?;
                transformer = Some(filled);
                if filled.changed == 0 || round == MOST_ROUNDS {
                    break;
                }
                pages = self.first_tier(label, live)?;
            }
        }
        Ok(IndexedFolder {
            folder: label.to_owned(),
            pages,
            transformer,
        })
    }

    /// Indexes the pages, and returns their number.
    fn first_tier(&self, label: &str, live: &LiveFolder) -> Result<usize, CliError> {
        let stop = || self.interrupt.is_wanted();
        let bar = bar(0, label);
        let (mut before, mut looks) = (0, 0);
        loop {
            let state = live.current(&stop).map_err(|error| failed(&error))?;
            let progress = state.progress();
            bar.set_length(progress.total as u64);
            bar.set_position(progress.indexed as u64);
            looks = match progress.indexed == before {
                true => looks + 1,
                false => 0,
            };
            before = progress.indexed;
            if progress.is_complete || looks >= MOST_LOOKS {
                break;
            }
        }
        let settled = live.settle(&stop);
        bar.finish_and_clear();
        match settled {
            Ok(()) => Ok(before),
            Err(LibraryError::Cancelled) if !self.interrupt.is_wanted() => Err(CliError::failed(
                "the index could not be written in time: another process is writing it.",
            )
            .next("run the same command again")),
            Err(error) => Err(failed(&error)),
        }
    }

    fn second_tier(&self, label: &str, live: &LiveFolder) -> Result<FillReport, CliError> {
        let bar = TierProgressBar::new(label);
        let filled = live.fill(
            usual_threads(),
            &|| self.interrupt.is_wanted(),
            &|progress| {
                bar.show(progress);
            },
        );
        bar.finish();
        let filled = filled.map_err(|error| match error {
            IndexingError::Notebooks(error) => failed(&error),
            IndexingError::Store(StoreError::Busy) => {
                CliError::failed("another process is filling the transformer tier of this index.")
                    .next("wait until it has finished")
            }
            IndexingError::Store(error) => CliError::failed(format_args!("{error}."))
                .next("set desk.cache to another folder, or free some space"),
        })?;
        if self.interrupt.is_wanted() && !filled.complete {
            return Err(CliError::failed(format_args!(
                "stopped with {} of {} sections of `{}` in the transformer tier; the static tier is up to date.",
                filled.filled,
                filled.passages,
                visible(label)
            ))
            .next("run the same command again to continue from there"));
        }
        Ok(filled)
    }
}

fn failed(error: &LibraryError) -> CliError {
    match error {
        LibraryError::Cancelled => CliError::failed("stopped before the documents were indexed.")
            .next("run the same command again"),
        LibraryError::FolderNotFound => {
            CliError::failed("a folder of documents does not exist any more.")
        }
        _ => CliError::failed("the documents cannot be read."),
    }
}

fn shown(rows: &[IndexedFolder]) -> String {
    let rows = rows.iter().map(|row| {
        let tier = match &row.transformer {
            None => String::new(),
            Some(filled) => format!("  {}", StyledText(DIM, shown_tier(filled))),
        };
        let pages = counted(row.pages, "page", "pages");
        let folder = StyledText(NAME, visible(&row.folder));
        format!("{folder}  {pages}{tier}\n")
    });
    rows.collect()
}

/// Describes the state of the second tier in a few words.
fn shown_tier(filled: &FillReport) -> String {
    let FillReport {
        passages,
        filled,
        embedded,
        changed,
        complete,
        ..
    } = *filled;
    let sections = counted(passages, "section", "sections");
    match (complete, embedded) {
        (true, 0) => format!("{sections}, nothing to do: the transformer tier is complete"),
        (true, _) => format!("{sections}, transformer tier complete: {embedded} embedded now"),
        (false, _) => format!(
            "transformer tier has {filled} of {sections}; {} changed meanwhile, so run it again",
            counted(changed, "page", "pages")
        ),
    }
}
