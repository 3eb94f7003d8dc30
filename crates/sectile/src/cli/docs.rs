//! `sectile docs`: the documents of the docs world, as a server with these settings would load them.

use serde_json::{Value, json};

mod eval;
mod index;
mod llms_txt;
mod search;

use std::{path::Path, sync::Arc};

use super::{
    args::{DocsArgs, DocsCheckArgs, DocsCommand, DocsSource},
    settings,
    ui::{BAD, CliError, DIM, HEADING, NAME, StyledText, counted, print, visible},
};
use crate::{
    config::Settings,
    worlds::docs::{
        DocsSettings, DocsWorld,
        corpus::{Doc, DocsCorpus, SkippedDoc},
        examine::{DocumentReport, LONG_SECTION, SectionFinding, examine},
        missing, opened_sources, policy_problem, resources,
        sources::{DocsSources, SourceOptions},
    },
};

pub(super) fn run(args: &DocsArgs) -> Result<(), CliError> {
    match &args.command {
        DocsCommand::Search(args) => search::search(args),
        DocsCommand::Check(args) => check(args),
        DocsCommand::Index(args) => index::index(args),
        DocsCommand::LlmsTxt(args) => llms_txt::llms_txt(args),
        DocsCommand::Eval(args) => eval::eval(args),
    }
}

/// Returns all settings, with `paths` from the command line added to those of the docs world.
fn all_settings(config: Option<&Path>, paths: &[String]) -> Result<Settings, CliError> {
    let mut settings = settings::settings(config)?;
    for path in paths {
        settings.worlds.docs.add_path(path);
    }
    Ok(settings)
}

/// Returns how documents are read for one command.
fn options(settings: &Settings) -> SourceOptions<'_> {
    SourceOptions {
        cache: settings.worlds.desk.cache.as_deref(),
        cache_limit: settings.worlds.desk.cache_limit,
        background: false,
    }
}

/// Returns the world for these arguments, after printing warnings about its documents.
fn world(source: &DocsSource) -> Result<(DocsWorld, DocsSettings), CliError> {
    let all = all_settings(source.config.as_deref(), &source.paths)?;
    let settings = &all.worlds.docs;
    let docs = DocsWorld::new(&settings.written, opened_sources(settings, options(&all))?);
    let corpus = current(&docs)?;
    for skipped in &corpus.skipped {
        anstream::eprintln!("skipped {}", visible(&skipped.to_string()));
    }
    // The next command finds the index in the cache.
    if let Err(error) = docs.settle(&|| false) {
        tracing::debug!(?error, "the index is not in the cache");
    }
    Ok((docs, settings.clone()))
}

/// Returns the documents of a world.
fn current(docs: &DocsWorld) -> Result<Arc<DocsCorpus>, CliError> {
    docs.current(&|| false)
        .map_err(|failure| CliError::failed(failure.message))
}

fn check(args: &DocsCheckArgs) -> Result<(), CliError> {
    let all = all_settings(args.config.as_deref(), &args.paths)?;
    let settings = &all.worlds.docs;
    let sources = DocsSources::open(settings, sectile_manual::PAGES, options(&all));
    let missing = missing(&sources);
    let docs = DocsWorld::new(&settings.written, sources);
    let mut corpus = DocsCorpus::clone(&*current(&docs)?);
    let problem = policy_problem(settings, &all.policy, &corpus);
    corpus.notes.extend(problem.map(str::to_owned));
    let documents: Vec<(&Doc, DocumentReport)> = corpus
        .documents
        .iter()
        .map(|doc| {
            let bytes = corpus.pages.read(doc.page).unwrap_or_default();
            (&**doc, examine(&bytes))
        })
        .collect();
    if args.json {
        let report = report_json(&corpus, &documents, settings);
        print(format_args!("{report}\n"))?;
    } else {
        print(report_text(&corpus, &documents, settings))?;
    }
    if let Some(error) = missing {
        return Err(error.into());
    }
    let problems = corpus.skipped.len() + corpus.notes.len();
    if args.strict && problems > 0 {
        return Err(CliError::failed(format_args!(
            "{} skipped, {}.",
            counted(corpus.skipped.len(), "document is", "documents are"),
            counted(corpus.notes.len(), "note", "notes"),
        ))
        .next("follow the advice next to each of them, or omit --strict"));
    }
    Ok(())
}

fn report_json(
    corpus: &DocsCorpus,
    documents: &[(&Doc, DocumentReport)],
    settings: &DocsSettings,
) -> Value {
    let place = |found: &SectionFinding| json!({ "heading": found.heading, "line": found.line });
    let places = |list: &[SectionFinding]| list.iter().map(place).collect::<Vec<_>>();
    let row = |(doc, examined): &(&Doc, DocumentReport)| {
        let duplicates = examined.duplicates.iter();
        let oversized = examined.oversized.iter();
        json!({
            "slug": doc.slug,
            "uri": resources::uri(&settings.written.namespace, &doc.slug),
            "title": doc.title,
            "role": doc.role.as_str(),
            "description": doc.description,
            "origin": doc.origin.as_str(),
            "path": doc.label,
            "bytes": doc.bytes,
            "sections": examined.sections,
            "duplicate_headings": duplicates
                .map(|(heading, lines)| json!({ "heading": heading, "lines": lines }))
                .collect::<Vec<_>>(),
            "empty_sections": places(&examined.empty),
            "oversized_sections": oversized
                .map(|found| json!({ "heading": found.heading, "line": found.line, "bytes": found.bytes }))
                .collect::<Vec<_>>(),
        })
    };
    let told = |list: &[SkippedDoc]| {
        let rows = list.iter().map(|skipped| {
            json!({
                "path": skipped.label,
                "reason": skipped.reason.code(),
                "message": skipped.to_string(),
            })
        });
        rows.collect::<Vec<_>>()
    };
    json!({
        "documents": documents.iter().map(row).collect::<Vec<_>>(),
        "skipped": told(&corpus.skipped),
        "left_out": told(&corpus.left_out),
        "notes": corpus.notes,
        "totals": {
            "documents": corpus.documents.len(),
            "sections": sections(documents),
            "bytes": corpus.total_bytes(),
        },
        "limits": {
            "max_docs": settings.written.max_docs,
            "max_doc_bytes": settings.written.max_doc_bytes,
            "max_total_bytes": settings.written.max_total_bytes,
            "max_sections": settings.written.max_sections,
        },
        "search": settings.written.offers_search(),
        "resources": settings.written.offers_resources(),
    })
}

fn report_text(
    corpus: &DocsCorpus,
    documents: &[(&Doc, DocumentReport)],
    settings: &DocsSettings,
) -> String {
    let width = documents.iter().map(|(doc, _)| doc.slug.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (doc, examined) in documents {
        text += &format!(
            "{}{}  {:<9}  {:>7} bytes  {:>3} sections  {}\n",
            StyledText(NAME, &doc.slug),
            " ".repeat(width - doc.slug.len()),
            doc.role.as_str(),
            doc.bytes,
            examined.sections,
            visible(&doc.title),
        );
        text += &remarks(examined);
    }
    for skipped in &corpus.skipped {
        text += &format!(
            "{} {}\n",
            StyledText(BAD, "skipped"),
            visible(&skipped.to_string())
        );
    }
    for left_out in &corpus.left_out {
        text += &format!(
            "{} {}\n",
            StyledText(DIM, "left out"),
            visible(&left_out.to_string())
        );
    }
    for note in &corpus.notes {
        text += &format!("{} {}\n", StyledText(BAD, "note   "), visible(note));
    }
    text += &format!(
        "{} {} of {} documents, {} of {} bytes, {} sections\n",
        StyledText(HEADING, "total  "),
        corpus.documents.len(),
        settings.written.max_docs,
        corpus.total_bytes(),
        settings.written.max_total_bytes,
        sections(documents),
    );
    for (key, switch) in [
        ("docs.enabled", settings.written.enabled),
        ("docs.enable_search", settings.written.enable_search),
        ("docs.enable_resources", settings.written.enable_resources),
    ] {
        if !switch {
            text += &format!("{}\n", StyledText(DIM, format_args!("`{key}` is false")));
        }
    }
    text
}

/// Describes what could be better in one document. None of it prevents the document from being served.
fn remarks(examined: &DocumentReport) -> String {
    let named = |heading: &str| match heading {
        "" => "(empty heading)".to_owned(),
        heading => format!("`{}`", visible(heading)),
    };
    let duplicates = examined.duplicates.iter().map(|(heading, lines)| {
        let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
        format!(
            "lines {}: the same heading {}",
            lines.join(", "),
            named(heading)
        )
    });
    let empty = examined.empty.iter().map(|found| {
        format!(
            "line {}: nothing below {}",
            found.line,
            named(&found.heading)
        )
    });
    let oversized = examined.oversized.iter().map(|found| {
        format!(
            "line {}: {} has {} bytes, more than {LONG_SECTION}",
            found.line,
            named(&found.heading),
            found.bytes
        )
    });
    duplicates
        .chain(empty)
        .chain(oversized)
        .map(|remark| format!("  {}\n", StyledText(DIM, remark)))
        .collect()
}

fn sections(documents: &[(&Doc, DocumentReport)]) -> usize {
    documents
        .iter()
        .map(|(_, examined)| examined.sections)
        .sum()
}
