//! The page of settings: one section for each table of a `sectile.toml`.

use serde_json::Value;

use super::page::{ListEntry, MarkdownPage};
use crate::config::{ConfigKey, ValueKind, keys, schema};

pub(super) fn page() -> String {
    let mut page = MarkdownPage::new(
        "configuration",
        "Configuration",
        "Every setting of Sectile with its type, range, default and environment variable.",
    );
    page.paragraph(
        "None are needed. `sectile config init` writes a file with all of them, `sectile config \
         check` lists everything that is wrong with one, with line and column, and `sectile config \
         show` shows where each value comes from. A file is used when it is named with `--config` or \
         by `SECTILE_CONFIG`. An environment variable overrides the file, and the command line overrides both. A \
         variable for a list of strings has commas between them; one that starts with `SECTILE_`, \
         is not a setting and has no `__` after that only causes a warning. In paths, a leading `~` is the home folder.",
    );
    let schema = schema();
    let keys = keys();
    let mut rest = keys.as_slice();
    while let Some(first) = rest.first() {
        let table = first.table();
        let (own, others) = rest.split_at(
            rest.iter()
                .position(|key| key.table() != table)
                .unwrap_or(rest.len()),
        );
        page.heading(2, table);
        write(&mut page, described(&schema, table), own);
        for key in own {
            if let ValueKind::Tables(inner) = &key.kind {
                page.heading(2, &key.path);
                page.paragraph(format_args!(
                    "Each of them is written as `[[{}]]`.",
                    key.path
                ));
                write(&mut page, described(&schema, &key.path), inner);
            }
            if let ValueKind::Named(inner) = &key.kind {
                page.heading(2, format!("{}.NAME", key.path));
                page.paragraph(format_args!(
                    "Each of them is written as `[{}.NAME]` with these keys, or as `NAME = \"{}\"` in `[{}]`.",
                    key.path, "PATH", key.path
                ));
                write(&mut page, None, inner);
            }
        }
        rest = others;
    }
    page.into_text()
}

fn write(page: &mut MarkdownPage, description: Option<&str>, keys: &[ConfigKey]) {
    if let Some(description) = description {
        page.paragraph(description.replace('\n', " "));
    }
    let items: Vec<ListEntry> = keys.iter().map(item).collect();
    page.list(&items);
}

fn item(key: &ConfigKey) -> ListEntry {
    let mut text = format!("`{}`: {}.", key.path, key.kind.describe());
    if !key.default.is_null() {
        text += &format!(" Default: `{}`.", key.default);
    }
    text += &format!(" {}", key.description);
    if let Some(variable) = key.variable() {
        text += &format!(" Environment: `{variable}`.");
    }
    ListEntry {
        text,
        below: Vec::new(),
    }
}

/// Returns the description of a table, or of each table in a list, from the schema.
fn described<'a>(schema: &'a Value, table: &str) -> Option<&'a str> {
    let mut at = schema;
    for name in table.split('.') {
        at = at.get("properties")?.get(name)?;
    }
    at.get("items").unwrap_or(at).get("description")?.as_str()
}
