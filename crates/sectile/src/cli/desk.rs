//! `sectile search|fetch|outline|links|changes|verify|create|edit|set|rename|delete|undo`: the desk's tools from a shell.

mod args;
mod explained;
mod ids;
mod show;
mod verify;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use sectile_markdown::{Source, Value as YamlValue};
use sectile_mcp::{CallContext, Failure, FailureKind, JsonObject};
use serde_json::{Value, json};

pub(super) use self::args::{
    ChangesArgs, CreateArgs, DeleteArgs, DeskArgs, DeskSearchArgs, EditTextArgs, FetchArgs,
    LinksArgs, OutlineArgs, RenameArgs, SetArgs, UndoArgs, VerifyDraftArgs,
};
use self::ids::ShellIds;
pub(super) use self::verify::verify;
use super::{
    settings::settings,
    ui::{CliError, print, print_note_text},
};
use crate::worlds::{
    desk::{self, DeskWorld, ExplainedRequest},
    json_value,
};

/// Arguments of tools that have another form in a shell.
const SHELL_WORDS: &[(&str, &str)] = &[
    ("`id`", "`ID`"),
    ("`path`", "`PATH`"),
    ("`set`", "`NAME=VALUE`"),
    ("`unset`", "`--unset`"),
    ("`old`", "`--old`"),
    ("`new`", "`--new`"),
    ("`place`", "`--place`"),
    ("`base`", "`--base`"),
    ("`since`", "`--since`"),
    ("`cursor`", "`--cursor`"),
    ("scope \"subtree\"", "`--subtree`"),
    // In a shell, a hint comes after everything else.
    (
        "the two texts below, then call again with the new base",
        "the two texts above, and run the command again with the new `--base`",
    ),
];

/// A budget that nothing exceeds, for people who asked to see all of it.
const NO_BUDGET: u64 = 1_000_000_000;

/// Returns the arguments of this process with filters that exclude, such as `-tag:old`, at the end and after `--`: as words
/// of the query they start like flags.
pub(super) fn with_exclusions_last(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let given: Vec<OsString> = arguments.collect();
    if given.get(1).is_none_or(|command| command != "search") {
        return given;
    }
    let end = given.iter().position(|word| word == "--");
    let (before, after) = given.split_at(end.unwrap_or(given.len()));
    let (exclusions, kept): (Vec<&OsString>, Vec<&OsString>) =
        before.iter().partition(|word| excludes(word));
    if exclusions.is_empty() {
        return given;
    }
    let separator = OsString::from("--");
    let words = exclusions.into_iter().chain(after.iter().skip(1));
    let all = kept.into_iter().chain([&separator]).chain(words);
    all.cloned().collect()
}

/// Returns whether a word of a query is a filter that excludes: a hyphen, a name, a colon.
fn excludes(word: &OsString) -> bool {
    let name = word.to_str().and_then(|word| word.strip_prefix('-'));
    let name = name.and_then(|rest| rest.split_once(':'));
    name.is_some_and(|(name, _)| !name.is_empty() && !name.starts_with('-') && !name.contains('='))
}

pub(super) fn search(args: &DeskSearchArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, &[])?;
    let query = args.query.join(" ");
    if args.explain || args.ranking.is_some() {
        return session.show_explained(args, &query);
    }
    let call = json!({ "query": query, "limit": args.limit, "cursor": args.cursor });
    session.show("search", call, show::search)
}

pub(super) fn fetch(args: &FetchArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, &args.ids)?;
    let ids = args.ids.iter().map(|id| session.ids.id(id));
    let ids = ids.collect::<Result<Vec<String>, CliError>>()?.join("\n");
    let budget = args.budget.unwrap_or(NO_BUDGET);
    let text = session.call(
        "fetch",
        json!({ "id": ids, "budget": budget, "cursor": args.cursor }),
    )?;
    match args.desk.json {
        true => print(format_args!("{}\n", json!({ "text": text }))),
        false => print_note_text(&text),
    }
}

pub(super) fn outline(args: &OutlineArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, args.id.as_slice())?;
    let id = args.id.as_ref().map(|id| session.ids.id(id)).transpose()?;
    let call = json!({ "id": id, "depth": args.depth, "cursor": args.cursor });
    session.show("outline", call, show::outline)
}

pub(super) fn links(args: &LinksArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, std::slice::from_ref(&args.id))?;
    let call = json!({
        "id": session.ids.id(&args.id)?,
        "direction": word(&args.direction),
        "broken": args.broken,
        "cursor": args.cursor,
    });
    session.show("links", call, show::links)
}

pub(super) fn changes(args: &ChangesArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, args.id.as_slice())?;
    let id = args.id.as_ref().map(|id| session.ids.id(id)).transpose()?;
    let call = json!({
        "id": id,
        "since": args.since,
        "limit": args.limit,
        "diff": args.diff,
        "cursor": args.cursor,
    });
    session.show("changes", call, show::changes)
}

pub(super) fn create(args: &CreateArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, std::slice::from_ref(&args.path))?;
    let call = json!({
        "path": session.ids.new_path(&args.path)?,
        "text": super::edit::text_or_stdin(args.text.as_deref())?,
        "fields": fields(&args.fields)?,
    });
    session.show("create", call, show::written)
}

/// Edits a document or section, as `sectile edit ID` does.
pub(super) fn edit(args: &EditTextArgs, id: &str, desk: &DeskArgs) -> Result<(), CliError> {
    let session = DeskSession::open(desk, &[id.to_owned()])?;
    let call = json!({
        "id": session.ids.id(id)?,
        "new": super::edit::text_or_stdin(args.new.as_deref())?,
        "old": args.old,
        "place": args.place.as_ref().map(word),
        "scope": args.subtree.then_some("subtree"),
        "base": args.base,
        "preview": args.preview,
    });
    session.show("edit", call, show::written)
}

pub(super) fn set(args: &SetArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, std::slice::from_ref(&args.id))?;
    let unset = (!args.unset.is_empty()).then_some(&args.unset);
    let call = json!({
        "id": session.ids.id(&args.id)?,
        "set": fields(&args.fields)?,
        "unset": unset,
        "base": args.base,
    });
    session.show("set_fields", call, show::written)
}

pub(super) fn rename(args: &RenameArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, std::slice::from_ref(&args.id))?;
    let id = session.ids.id(&args.id)?;
    let to = session.ids.destination(&id, &args.to)?;
    let call = json!({ "id": id, "to": to, "preview": args.preview });
    session.show("rename", call, show::written)
}

pub(super) fn delete(args: &DeleteArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, std::slice::from_ref(&args.id))?;
    let id = session.ids.id(&args.id)?;
    let base = match &args.base {
        Some(base) => base.clone(),
        // A person deletes what is there now.
        None => session
            .world
            .base_to_delete(&id, &session.context)
            .map_err(|failure| session.failed(&failure))?,
    };
    let call = json!({ "id": id, "base": base, "preview": args.preview });
    session.show("delete", call, show::written)
}

pub(super) fn undo(args: &UndoArgs) -> Result<(), CliError> {
    let session = DeskSession::open(&args.desk, &[])?;
    session.show("undo", json!({ "change": args.change }), show::written)
}

/// Returns the address of a note, or of the folder, in the program that its address belongs to.
pub(super) fn address_of(desk: &DeskArgs, id: Option<&str>) -> Result<String, CliError> {
    let ids: Vec<String> = id.iter().map(|id| (*id).to_owned()).collect();
    let session = DeskSession::open(desk, &ids)?;
    let id = id.map(|id| session.ids.id(id)).transpose()?;
    let address = session
        .world
        .address_to_open(id.as_deref().unwrap_or_default(), &session.context);
    address.map_err(|failure| session.failed(&failure))
}

/// Returns the folder that a command without settings works on.
pub(super) fn root_of_command(desk: &DeskArgs, id: Option<&str>) -> Result<PathBuf, CliError> {
    let ids: Vec<String> = id.iter().map(|id| (*id).to_owned()).collect();
    match &desk.root {
        Some(root) => Ok(root.clone()),
        None => ids::root_of_any(&ids),
    }
}

/// Returns the id below `root` of what a person named in a shell.
pub(super) fn id_in(root: &Path, given: &str) -> Result<String, CliError> {
    ShellIds::of(Some(root)).id(given)
}

/// Returns the document below `root` that a name leads to, and the section in it if the name has one. `None` if nothing has
/// that name.
pub(super) fn named(root: &Path, name: &str) -> Result<Option<(String, Option<String>)>, CliError> {
    let args = DeskArgs::new(Some(root.to_path_buf()), None, false);
    let session = DeskSession::open(&args, &[])?;
    match session.world.document_named(name, &session.context) {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.kind == FailureKind::NotFound => Ok(None),
        Err(failure) => Err(session.failed(&failure)),
    }
}

/// A desk that a command works on.
struct DeskSession {
    world: DeskWorld,
    ids: ShellIds,
    context: CallContext,
    json: bool,
}

impl Drop for DeskSession {
    fn drop(&mut self) {
        self.world.keep_index();
    }
}

impl DeskSession {
    /// Opens the desk of the settings, or of the root that the first of `ids` or the current folder belongs to.
    fn open(args: &DeskArgs, ids: &[String]) -> Result<Self, CliError> {
        let mut settings = settings(args.config.as_deref())?;
        #[cfg(debug_assertions)]
        if let Some(fault) = crate::config::fault() {
            sectile_vault::fault::arm(&fault);
        }
        let is_configured =
            settings.worlds.desk.root.is_some() || !settings.worlds.desk.roots.is_empty();
        let root = match (&args.root, is_configured) {
            (Some(root), _) => Some(root.clone()),
            (None, true) => None,
            (None, false) => Some(ids::root_of_any(ids)?),
        };
        if let Some(root) = &root {
            settings.worlds.desk.root = Some(root.clone());
            settings.worlds.desk.roots.clear();
        }
        let mut context = CallContext::without_client();
        context.client = Some(format!("sectile {}", env!("CARGO_PKG_VERSION")));
        let world = desk::open_for_shell(&settings.worlds)?;
        world.read_everything();
        Ok(Self {
            ids: ShellIds::of(settings.worlds.desk.root.as_deref()),
            world,
            context,
            json: args.json,
        })
    }

    /// Calls a tool and prints its answer.
    fn show(
        &self,
        tool: &str,
        arguments: Value,
        show: fn(&Value) -> String,
    ) -> Result<(), CliError> {
        let text = self.call(tool, arguments)?;
        if self.json {
            return print(format_args!("{text}\n"));
        }
        let answer: Value = serde_json::from_str(&text).map_err(CliError::failed)?;
        print(show(&answer))
    }

    /// Searches with explanations or another ranking, and prints the answer.
    fn show_explained(&self, args: &DeskSearchArgs, query: &str) -> Result<(), CliError> {
        let request = ExplainedRequest {
            query,
            limit: args.limit.and_then(|limit| usize::try_from(limit).ok()),
            cursor: args.cursor.as_deref(),
            ranking: args.ranking.map(Into::into).unwrap_or_default(),
            explain: args.explain,
        };
        let answer = self.world.explained_search(&request, &self.context);
        let answer = answer.map_err(|failure| self.failed(&failure))?;
        let answer = serde_json::to_value(&answer).map_err(CliError::failed)?;
        match (self.json, args.explain) {
            (true, _) => print(format_args!("{answer}\n")),
            (false, true) => print(explained::search(&answer)),
            (false, false) => print(show::search(&answer)),
        }
    }

    /// Calls a tool; arguments that are null were not given.
    fn call(&self, tool: &str, arguments: Value) -> Result<String, CliError> {
        let tools = desk::spec().tools;
        let found = tools.iter().find(|entry| entry.name == tool);
        let tool = found.ok_or_else(|| CliError::failed("this build lacks the tool"))?;
        let given: JsonObject = match arguments {
            Value::Object(object) => object
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .collect(),
            _ => JsonObject::new(),
        };
        let answer = tool.handler.call(&self.world, given, &self.context);
        let answer = answer.map_err(|failure| self.failed(&failure))?;
        Ok(answer.body.text().to_owned())
    }

    fn failed(&self, failure: &Failure) -> CliError {
        if self.json {
            return CliError::failed_json(&desk::error_object(failure));
        }
        let error = desk::error_object(failure);
        let part = |key: &str| error[key].as_str().unwrap_or_default();
        let message = for_shell(part("message"));
        let message = match part("facts") {
            "" => message,
            facts => format!("{message}\n{facts}"),
        };
        let next = match part("code") {
            "invalid_arguments" => "see the command's --help".to_owned(),
            _ => for_shell(part("next")),
        };
        CliError::failed(message).next(next)
    }
}

/// Returns a text about tools and their arguments with the commands and flags that a person types.
fn for_shell(text: &str) -> String {
    let mut text = text.to_owned();
    for (word, in_shell) in SHELL_WORDS {
        text = text.replace(word, in_shell);
    }
    for tool in desk::spec().tools {
        let command = match &*tool.name {
            "set_fields" => "set",
            name => name,
        };
        let name = format!("`{}`", tool.name);
        text = text.replace(&name, &format!("`sectile {command}`"));
    }
    text
}

/// Returns the name of a choice on the command line, which is the word that the tool takes.
fn word(choice: &impl ValueEnum) -> String {
    let name = choice.to_possible_value();
    name.map(|name| name.get_name().to_owned())
        .unwrap_or_default()
}

/// Returns fields given as `name=value`, with the values read as YAML.
fn fields(given: &[String]) -> Result<Option<Value>, CliError> {
    let mut fields = JsonObject::new();
    for one in given {
        let Some((name, value)) = one.split_once('=') else {
            return Err(
                CliError::usage(format_args!("{one:?} is not a field with a value."))
                    .next("write NAME=VALUE"),
            );
        };
        let quote = "put text with special characters in quotes: NAME='\"VALUE\"'";
        if has_comment(value) {
            return Err(CliError::usage(format_args!(
                "the value of {name:?} ends at the #, where YAML begins a comment."
            ))
            .next(quote));
        }
        // Several lines are text.
        let value = match value.contains(['\n', '\r']) {
            true => Some(json!(value)),
            false => {
                let block = format!("---\n{name}: {value}\n---\n");
                match Source::new(block.as_bytes()).front_matter_value() {
                    Some(Ok(YamlValue::Map(mapping))) => mapping.get(name).and_then(json_value),
                    _ => None,
                }
            }
        };
        let value = value.ok_or_else(|| {
            CliError::usage(format_args!(
                "the value of {name:?} is not YAML, or has a number that cannot be kept exactly."
            ))
            .next(quote)
        })?;
        fields.insert(name.to_owned(), value);
    }
    Ok((!fields.is_empty()).then_some(Value::Object(fields)))
}

/// Returns whether YAML would take the end of a value for a comment.
fn has_comment(value: &str) -> bool {
    let value = value.trim();
    let end = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => quote,
        Some('[') => ']',
        Some('{') => '}',
        _ => '#',
    };
    let is_enclosed = end != '#' && value.len() > 1 && value.ends_with(end);
    let is_comment = value.starts_with('#') || value.contains(" #") || value.contains("\t#");
    is_comment && !is_enclosed && !value.contains(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_that_exclude_are_words_and_flags_stay_flags() {
        let ordered = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            let ordered = with_exclusions_last(words).into_iter();
            let ordered: Vec<String> = ordered.filter_map(|word| word.into_string().ok()).collect();
            ordered.join(" ")
        };
        for (given, expected) in [
            ("sectile search -tag:x", "sectile search -- -tag:x"),
            (
                "sectile search feed -status:done --limit 5 hay",
                "sectile search feed --limit 5 hay -- -status:done",
            ),
            ("sectile search -a:b c -- -d", "sectile search c -- -a:b -d"),
        ] {
            assert_eq!(ordered(given), expected);
        }
        for line in [
            "sectile search feed --limit 5",
            "sectile search feed -- -word",
            "sectile search --root=C:/notes feed",
            "sectile search -h",
            "sectile fetch -tag:x",
            "sectile",
        ] {
            assert_eq!(ordered(line), line);
        }
    }

    #[test]
    fn hints_name_commands_and_flags() {
        assert_eq!(
            for_shell("Copy `old` from `fetch`, or use `set_fields`; `write` is a setting."),
            "Copy `--old` from `sectile fetch`, or use `sectile set`; `write` is a setting."
        );
    }
}
