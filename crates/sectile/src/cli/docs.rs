//! `sectile docs`: the documents of the docs world, as a server with these settings would have them.

use serde_json::{Value, json};

mod eval;
mod search;

use std::path::Path;

use super::{
    args::{DocsArgs, DocsCheckArgs, DocsCommand, DocsSource},
    settings,
    ui::{BAD, CliError, DIM, HEADING, NAME, Styled, print, visible},
};
use crate::{
    config::{DocsPath, DocsRole, DocsSettings, without_tilde},
    worlds::docs::{
        Docs, Offer,
        corpus::{Corpus, CorpusSettings, Doc, GivenPath, Listed, Role},
        examine::{Examined, Found, LONG_SECTION, examine},
        manual, resources,
    },
};

pub(super) fn run(args: &DocsArgs) -> Result<(), CliError> {
    match &args.command {
        DocsCommand::Search(args) => search::search(args),
        DocsCommand::Check(args) => check(args),
        DocsCommand::Eval(args) => eval::eval(args),
    }
}

/// The settings of the docs world, with `paths` from the command line added.
fn settings_with(config: Option<&Path>, paths: &[String]) -> Result<DocsSettings, CliError> {
    let mut settings = settings::settings(config)?.docs;
    settings
        .extra_paths
        .extend(paths.iter().map(|path| given_path(path)));
    Ok(settings)
}

/// A path from the command line.
pub(super) fn given_path(path: &str) -> DocsPath {
    DocsPath {
        written: path.to_owned(),
        location: without_tilde(path.into()),
    }
}

/// The world that these arguments ask for, and what there is to say about its documents.
fn world(source: &DocsSource) -> Result<(Docs, DocsSettings), CliError> {
    let settings = settings_with(source.config.as_deref(), &source.paths)?;
    let corpus = Corpus::load(&corpus_settings(&settings), manual::EMBEDDED);
    for skipped in &corpus.skipped {
        anstream::eprintln!("skipped {}", visible(&skipped.to_string()));
    }
    let docs = Docs::new(&settings.namespace, offer(&settings), corpus);
    Ok((docs, settings))
}

/// What of the docs world is served with these settings.
pub(super) fn offer(settings: &DocsSettings) -> Offer {
    Offer {
        search: settings.enabled && settings.enable_search,
        resources: settings.enabled && settings.enable_resources,
        max_sections: settings.max_sections,
        meaning_as_last_resort: settings.meaning_as_last_resort,
    }
}

/// What the docs world loads with these settings.
pub(super) fn corpus_settings(settings: &DocsSettings) -> CorpusSettings {
    let given = |path: &DocsPath| GivenPath {
        written: path.written.clone(),
        location: path.location.clone(),
    };
    let listed = settings.documents.iter().map(|document| Listed {
        path: given(&document.path),
        slug: document.slug.clone(),
        title: document.title.clone(),
        role: match document.role {
            DocsRole::Reasoning => Role::Reasoning,
            DocsRole::Decision => Role::Decision,
            DocsRole::Ontology => Role::Ontology,
            DocsRole::Pattern => Role::Pattern,
        },
        description: document.description.clone(),
    });
    CorpusSettings {
        include_embedded: settings.include_default_docs,
        listed: listed.collect(),
        extra_paths: settings.extra_paths.iter().map(given).collect(),
        max_doc_bytes: settings.max_doc_bytes,
        max_total_bytes: settings.max_total_bytes,
        max_docs: settings.max_docs,
    }
}

fn check(args: &DocsCheckArgs) -> Result<(), CliError> {
    let settings = settings_with(args.config.as_deref(), &args.paths)?;
    let corpus = Corpus::load(&corpus_settings(&settings), manual::EMBEDDED);
    let documents: Vec<(&Doc, Examined)> = corpus
        .documents
        .iter()
        .map(|doc| (doc, examine(&doc.bytes)))
        .collect();
    if args.json {
        let report = report_json(&corpus, &documents, &settings);
        print(format_args!("{report}\n"))?;
    } else {
        print(report_text(&corpus, &documents, &settings))?;
    }
    let problems = corpus.skipped.len() + corpus.notes.len();
    if args.strict && problems > 0 {
        return Err(CliError::failed(format_args!(
            "{} skipped, {}.",
            counted(corpus.skipped.len(), "document is", "documents are"),
            counted(corpus.notes.len(), "note", "notes"),
        ))
        .next("do what is said beside each of them, or leave out --strict"));
    }
    Ok(())
}

fn report_json(corpus: &Corpus, documents: &[(&Doc, Examined)], settings: &DocsSettings) -> Value {
    let place = |found: &Found| json!({ "heading": found.heading, "line": found.line });
    let places = |list: &[Found]| list.iter().map(place).collect::<Vec<_>>();
    let row = |(doc, examined): &(&Doc, Examined)| {
        let duplicates = examined.duplicates.iter();
        let oversized = examined.oversized.iter();
        json!({
            "slug": doc.slug,
            "uri": resources::uri(&settings.namespace, &doc.slug),
            "title": doc.title,
            "role": doc.role.as_str(),
            "description": doc.description,
            "origin": doc.origin.as_str(),
            "path": doc.label,
            "bytes": doc.bytes.len(),
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
    let skipped = corpus.skipped.iter().map(|skipped| {
        json!({
            "path": skipped.label,
            "reason": skipped.reason.code(),
            "message": skipped.to_string(),
        })
    });
    json!({
        "documents": documents.iter().map(row).collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "notes": corpus.notes,
        "totals": {
            "documents": corpus.documents.len(),
            "sections": sections(documents),
            "bytes": corpus.total_bytes(),
        },
        "limits": {
            "max_docs": settings.max_docs,
            "max_doc_bytes": settings.max_doc_bytes,
            "max_total_bytes": settings.max_total_bytes,
            "max_sections": settings.max_sections,
        },
        "search": settings.enabled && settings.enable_search,
        "resources": settings.enabled && settings.enable_resources,
    })
}

fn report_text(corpus: &Corpus, documents: &[(&Doc, Examined)], settings: &DocsSettings) -> String {
    let width = documents.iter().map(|(doc, _)| doc.slug.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (doc, examined) in documents {
        text += &format!(
            "{}{}  {:<9}  {:>7} bytes  {:>3} sections  {}\n",
            Styled(NAME, &doc.slug),
            " ".repeat(width - doc.slug.len()),
            doc.role.as_str(),
            doc.bytes.len(),
            examined.sections,
            visible(&doc.title),
        );
        text += &remarks(examined);
    }
    for skipped in &corpus.skipped {
        text += &format!(
            "{} {}\n",
            Styled(BAD, "skipped"),
            visible(&skipped.to_string())
        );
    }
    for note in &corpus.notes {
        text += &format!("{} {}\n", Styled(BAD, "note   "), visible(note));
    }
    text += &format!(
        "{} {} of {} documents, {} of {} bytes, {} sections\n",
        Styled(HEADING, "total  "),
        corpus.documents.len(),
        settings.max_docs,
        corpus.total_bytes(),
        settings.max_total_bytes,
        sections(documents),
    );
    for (key, switch) in [
        ("docs.enabled", settings.enabled),
        ("docs.enable_search", settings.enable_search),
        ("docs.enable_resources", settings.enable_resources),
    ] {
        if !switch {
            text += &format!("{}\n", Styled(DIM, format_args!("`{key}` is false")));
        }
    }
    text
}

/// What could be better in one document. None of it keeps the document from being served.
fn remarks(examined: &Examined) -> String {
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
        .map(|remark| format!("  {}\n", Styled(DIM, remark)))
        .collect()
}

fn sections(documents: &[(&Doc, Examined)]) -> usize {
    documents
        .iter()
        .map(|(_, examined)| examined.sections)
        .sum()
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
