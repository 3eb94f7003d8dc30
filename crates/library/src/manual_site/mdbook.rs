//! mdBook: `book.toml`, and `SUMMARY.md` for the chapters.

use sectile_markdown::{LinkList, NotePath, Source};

use super::{
    NavEntry, SiteKind, SitePlan,
    settings_files::{Place, ProblemReason, SettingsFiles},
};

const SETTINGS: &str = "book.toml";
const SUMMARY: &str = "SUMMARY.md";

/// Reads the book in the folder, if there is one.
pub(super) fn read(
    files: &mut SettingsFiles<'_>,
    documents: &[NotePath],
    plan: &mut SitePlan,
) -> bool {
    let has_summary = |folder: &str| {
        let name = joined(folder, SUMMARY);
        documents.iter().any(|path| path.as_str() == name)
    };
    let settings = files.text(Place::Here, SETTINGS);
    let base = match &settings {
        Some(text) => {
            let book = book(text);
            if book.is_none() {
                files.note(Place::Here, SETTINGS, ProblemReason::Malformed);
            }
            let (title, src) = book.unwrap_or_default();
            plan.title = title;
            src.unwrap_or_else(|| "src".to_owned())
        }
        None if has_summary("") => String::new(),
        None if has_summary("src") => "src".to_owned(),
        None => return false,
    };
    plan.kind = SiteKind::MdBook;
    plan.base = base;
    let name = joined(&plan.base, SUMMARY);
    if let Some(text) = files.text(Place::Here, &name) {
        plan.has_nav = true;
        plan.nav_document = NotePath::parse_vault(&name).ok();
        let list = LinkList::read_summary(&Source::new(text.as_bytes()));
        for link in list.links {
            // A chapter without a file is planned.
            if !link.target.is_empty() {
                plan.push(NavEntry {
                    title: Some(link.title).filter(|title| !title.is_empty()),
                    section: Some(link.section).filter(|section| !section.is_empty()),
                    target: link.target.replace("%20", " "),
                });
            }
        }
    }
    true
}

/// Returns the title of the book and the folder of its chapters; `None` for what is not TOML.
fn book(text: &str) -> Option<(Option<String>, Option<String>)> {
    let settings: toml::Table = text.parse().ok()?;
    let book = settings.get("book").and_then(toml::Value::as_table);
    let value = |key: &str| book?.get(key)?.as_str().map(str::to_owned);
    let src = value("src").and_then(|src| match src.trim_end_matches('/') {
        "." | "" => Some(String::new()),
        src => Some(NotePath::parse_vault(src).ok()?.as_str().to_owned()),
    });
    Some((value("title"), src))
}

fn joined(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}
