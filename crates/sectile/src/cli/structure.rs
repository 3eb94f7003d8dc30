//! `sectile sections|tree|facets`: the vault world's answers from a shell, through the same tools.

use std::path::{Path, PathBuf};

use sectile_mcp::{Answer, CallContext, JsonObject};
use serde_json::{Value, json};

use super::{
    args::NoteArgs,
    root::root_of,
    settings::settings,
    ui::{CliError, DIM, HEADING, StyledText, aligned, print, visible},
};
use crate::{
    config::without_tilde,
    files,
    worlds::vault::{self, VaultWorld},
};

pub(super) fn run(tool: &str, args: &NoteArgs) -> Result<(), CliError> {
    let answer = call(tool, args)?;
    if args.json {
        return print(format_args!("{}\n", answer.body.text()));
    }
    let value: Value = serde_json::from_str(answer.body.text()).unwrap_or_default();
    print(match tool {
        "get_metadata_facets" => facets(&value),
        "get_section_source" => sections(&value),
        _ => tree(&value),
    })
}

fn call(tool: &str, args: &NoteArgs) -> Result<Answer, CliError> {
    let settings = settings(None)?;
    let (root, path) = match &args.root {
        Some(root) => (root.clone(), args.path.clone()),
        None => located(&args.path),
    };
    let vault = VaultWorld::open(&root, settings.worlds.vault.max_note_bytes).map_err(|error| {
        CliError::failed(format_args!("the root cannot be read: {error}."))
            .next("give the folder of your notes with --root DIR")
    })?;
    let tools = vault::spec().tools;
    let found = tools.iter().find(|entry| entry.name == tool);
    let tool = found.ok_or_else(|| CliError::failed("this build lacks the tool"))?;
    let arguments: JsonObject = [("path".to_owned(), json!(path))].into_iter().collect();
    let context = CallContext::without_client();
    let answer = tool.handler.call(&vault, arguments, &context);
    answer.map_err(|failure| {
        // The same object that a client reads, so that scripts can branch on it.
        if args.json {
            CliError::failed_json(&vault::error_object(&failure))
        } else {
            let error = CliError::failed(&failure.message);
            match &failure.detail {
                Some(detail) => error.next(&detail.recovery),
                None => error,
            }
        }
    })
}

/// Returns the root of a note that is given relative to the current folder, and its path below that root.
fn located(given: &str) -> (PathBuf, String) {
    let place = without_tilde(given.into());
    let root = root_of(&place).ok().map(|root| {
        let here = files::absolute(Path::new(".")).ok();
        // Without a marked root, paths are relative to the current folder: nothing is stored that would depend on the root.
        match here.filter(|here| root.mark.is_none() && root.folder.starts_with(here)) {
            Some(here) => here,
            None => root.folder,
        }
    });
    if let Some(root) = root
        && let Some(below) = files::below(&root, &place)
    {
        return (root, below);
    }
    // There is no such note, and the tool says so.
    (PathBuf::from("."), given.to_owned())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn head(value: &Value) -> String {
    let title = value["title"]
        .as_str()
        .map(|title| format!("  {}", visible(title)))
        .unwrap_or_default();
    let cut = if value["truncated"] == true {
        "  (some content was omitted or truncated)"
    } else {
        ""
    };
    format!(
        "{}{title}{}\n",
        StyledText(HEADING, visible(text(value, "path"))),
        StyledText(DIM, cut)
    )
}

fn heading(text: &str) -> String {
    if text.is_empty() {
        "(empty heading)".to_owned()
    } else {
        visible(text)
    }
}

fn line(depth: usize, level: &Value, text: &str, note: &str) -> String {
    let marks = "#".repeat(usize::try_from(level.as_u64().unwrap_or(1)).unwrap_or(1));
    let indent = "  ".repeat(depth + 1);
    format!(
        "{indent}{} {}{}\n",
        StyledText(DIM, marks),
        heading(text),
        StyledText(DIM, note)
    )
}

fn tree(value: &Value) -> String {
    fn rows(nodes: &[Value], depth: usize, out: &mut String) {
        for node in nodes {
            *out += &line(depth, &node["level"], text(node, "text"), "");
            rows(list(node, "children"), depth + 1, out);
        }
    }
    let mut out = head(value);
    rows(list(&value["root"], "children"), 0, &mut out);
    out
}

fn sections(value: &Value) -> String {
    let rows = list(value, "sections").iter().map(|section| {
        let depth = list(section, "heading_path").len().saturating_sub(1);
        let body = if section["body_available"] == true {
            ""
        } else {
            ", no body"
        };
        let note = format!("  {}{body}", text(section, "heading_id"));
        line(
            depth,
            &section["level"],
            text(section, "heading_text"),
            &note,
        )
    });
    head(value) + &rows.collect::<String>()
}

fn facets(value: &Value) -> String {
    let shown_value = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        value => visible(value.as_str().unwrap_or_default()),
    };
    let rows: Vec<(String, String)> = ["facets", "inferred"]
        .iter()
        .filter_map(|part| value[part].as_object())
        .flatten()
        .map(|(key, value)| (key.clone(), shown_value(value)))
        .collect();
    head(value) + &aligned(&rows)
}
