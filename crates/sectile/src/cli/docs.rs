//! `sectile docs`: the documents of the docs world, as a server with these settings would load them.

use serde_json::{Value, json};

mod eval;
mod search;

use std::path::Path;

use super::{
    args::{DocsArgs, DocsCheckArgs, DocsCommand, DocsSource},
    settings,
    ui::{BAD, CliError, DIM, HEADING, NAME, Styled, counted, print, visible},
};
use crate::{
    config::{DocsPath, DocsRole, DocsSettings, Settings, without_tilde},
    worlds::{
        self,
        docs::{
            Docs, Offer,
            corpus::{Corpus, CorpusSettings, Doc, GivenPath, Listed, Role, Skipped},
            examine::{Examined, Found, LONG_SECTION, examine},
            manual, resources,
        },
    },
};

pub(super) fn run(args: &DocsArgs) -> Result<(), CliError> {
    match &args.command {
        DocsCommand::Search(args) => search::search(args),
        DocsCommand::Check(args) => check(args),
        DocsCommand::Eval(args) => eval::eval(args),
    }
}

/// Returns the settings of the docs world, with `paths` from the command line added.
fn settings_with(config: Option<&Path>, paths: &[String]) -> Result<DocsSettings, CliError> {
    Ok(all_settings(config, paths)?.docs)
}

/// Returns all settings, with `paths` from the command line added to those of the docs world.
fn all_settings(config: Option<&Path>, paths: &[String]) -> Result<Settings, CliError> {
    let mut settings = settings::settings(config)?;
    settings
        .docs
        .extra_paths
        .extend(paths.iter().map(|path| given_path(path)));
    Ok(settings)
}

/// Wraps a path from the command line.
pub(super) fn given_path(path: &str) -> DocsPath {
    DocsPath {
        written: path.to_owned(),
        location: without_tilde(path.into()),
    }
}

/// Returns the world for these arguments, after printing warnings about its documents.
fn world(source: &DocsSource) -> Result<(Docs, DocsSettings), CliError> {
    let settings = settings_with(source.config.as_deref(), &source.paths)?;
    let corpus = corpus(&settings)?;
    for skipped in &corpus.skipped {
        anstream::eprintln!("skipped {}", visible(&skipped.to_string()));
    }
    let docs = Docs::new(&settings.namespace, offer(&settings), corpus);
    Ok((docs, settings))
}

/// Loads the documents of the docs world. A path named by the settings or on the command line must exist.
pub(super) fn corpus(settings: &DocsSettings) -> Result<Corpus, CliError> {
    let corpus = Corpus::load(&corpus_settings(settings), manual::EMBEDDED);
    match missing(&corpus) {
        None => Ok(corpus),
        Some(error) => Err(error),
    }
}

/// Returns the error about paths that do not exist, if there are any.
fn missing(corpus: &Corpus) -> Option<CliError> {
    let names: Vec<String> = corpus
        .missing
        .iter()
        .map(|label| format!("`{}`", visible(label)))
        .collect();
    let verb = match names.len() {
        0 => return None,
        1 => "does",
        _ => "do",
    };
    let error = format!("{} {verb} not exist.", names.join(", "));
    Some(CliError::failed(error).next(
        "correct the path, or remove it: docs.extra_paths and docs.root in the settings, or the command line",
    ))
}

/// Returns what is wrong with a policy that lets callers search but read nothing, if it is one.
pub(super) fn policy_problem(settings: &Settings, corpus: &Corpus) -> Option<&'static str> {
    let offer = offer(&settings.docs);
    let spec = worlds::docs::spec(&settings.docs.namespace, offer);
    let policy = &settings.policy;
    let allows = |name: &str, family: Option<&str>| {
        policy.visibility.exists(spec.name, name, family)
            && policy.authorisation.permits(spec.name, name, family)
    };
    let family = spec.families.first().map(String::as_str);
    let mut uris = corpus
        .documents
        .iter()
        .map(|doc| resources::uri(&settings.docs.namespace, &doc.slug));
    let is_searched = spec.tools.iter().any(|tool| allows(&tool.name, None));
    let is_empty = !corpus.documents.is_empty() && !uris.any(|uri| allows(&uri, family));
    (is_searched && is_empty).then_some(
        "`server.tools.allowlist` or `server.auth.allowed_tools` lets callers search but names no document, so nothing is found. \
         Add the address of a document, or `NAMESPACE://docs/{slug}` for all of them.",
    )
}

/// Returns the parts of the docs world that these settings enable.
pub(super) fn offer(settings: &DocsSettings) -> Offer {
    Offer {
        search: settings.enabled && settings.enable_search,
        resources: settings.enabled && settings.enable_resources,
        max_sections: settings.max_sections,
        meaning_as_last_resort: settings.meaning_as_last_resort,
    }
}

/// Returns the settings for loading the documents.
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
        root: settings.root.as_ref().map(given),
        listed: listed.collect(),
        extra_paths: settings.extra_paths.iter().map(given).collect(),
        max_doc_bytes: settings.max_doc_bytes,
        max_total_bytes: settings.max_total_bytes,
        max_docs: settings.max_docs,
    }
}

fn check(args: &DocsCheckArgs) -> Result<(), CliError> {
    let all = all_settings(args.config.as_deref(), &args.paths)?;
    let settings = &all.docs;
    let mut corpus = Corpus::load(&corpus_settings(settings), manual::EMBEDDED);
    let problem = policy_problem(&all, &corpus);
    corpus.notes.extend(problem.map(str::to_owned));
    let documents: Vec<(&Doc, Examined)> = corpus
        .documents
        .iter()
        .map(|doc| (doc, examine(&doc.bytes)))
        .collect();
    if args.json {
        let report = report_json(&corpus, &documents, settings);
        print(format_args!("{report}\n"))?;
    } else {
        print(report_text(&corpus, &documents, settings))?;
    }
    if let Some(error) = missing(&corpus) {
        return Err(error);
    }
    let problems = corpus.skipped.len() + corpus.notes.len();
    if args.strict && problems > 0 {
        return Err(CliError::failed(format_args!(
            "{} skipped, {}.",
            counted(corpus.skipped.len(), "document is", "documents are"),
            counted(corpus.notes.len(), "note", "notes"),
        ))
        .next("follow the advice beside each of them, or leave out --strict"));
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
    let told = |list: &[Skipped]| {
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
    for left_out in &corpus.left_out {
        text += &format!(
            "{} {}\n",
            Styled(DIM, "left out"),
            visible(&left_out.to_string())
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

/// Describes what could be better in one document. None of it prevents the document from being served.
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
