//! `sectile edit`: the editor from a shell, through the same tools as over MCP.

mod args;
mod external;
mod show;

use std::{
    io::{self, IsTerminal as _, Read as _},
    path::{Path, PathBuf},
};

use sectile_library::folder::INDEX_FOLDER;
use sectile_mcp::{CallContext, Failure, JsonObject};
use sectile_vault::{
    NearestRoot, NotePath, Root, RootError,
    editor::{EditorLimits, EditorOptions},
};
use serde_json::{Value, json};

use self::args::{EditCommand, PlacementArgs, SectionArgs, WriteFlags};
pub(super) use self::{args::EditArgs, show::diff};
use super::{
    desk::{self, DeskArgs},
    root::{described, root_of, shown},
    settings::settings,
    ui::{CliError, DIM, HEADING, StyledText, print, print_note_text, tell},
};
use crate::{
    files,
    worlds::editor::{self, EditedTarget, EditorWorld, ErrorStyle},
};

/// The code of the error for a document that the root excludes.
const NOT_A_DOCUMENT: &str = "not_a_document";

/// A shell gets the whole answer, not pages of it.
const NO_PAGES: usize = usize::MAX / 4;

pub(super) fn run(args: &EditArgs) -> Result<(), CliError> {
    let command = match (&args.command, args.text.id.as_deref()) {
        (Some(command), None) => command,
        (None, Some(id)) => {
            let desk = DeskArgs::new(args.root.clone(), args.text.config.clone(), args.json);
            return desk::edit(&args.text, id, &desk);
        }
        _ => {
            return Err(CliError::usage("give either an ID or a subcommand.")
                .next("sectile edit ID --new TEXT, or see sectile edit --help"));
        }
    };
    let desk = EditSession::open(args, command)?;
    match command {
        EditCommand::List { path } => {
            let sections = desk.call("list_sections", json!({ "path": desk.path(path)? }))?;
            desk.print(&sections, show::sections)
        }
        EditCommand::Get { target, subtree } => desk.show_text(target, *subtree),
        EditCommand::Insert {
            path,
            heading,
            place,
            level,
            content,
            write,
        } => {
            let mut call = json!({
                "path": desk.path(path)?,
                "heading": heading,
                "content": text_or_stdin(content.as_deref())?,
                "level": level,
            });
            desk.add_place(&mut call, path, place, "position")?;
            desk.write("insert_section", call, write)
        }
        EditCommand::Update {
            target,
            subtree,
            content,
            write,
        } => desk.update(target, *subtree, content.as_deref(), write),
        EditCommand::Move {
            target,
            place,
            into,
            level,
            write,
        } => {
            let mut call = json!({ "section_id": desk.id(target)?, "level": level });
            if let Some(into) = into {
                call["to_path"] = json!(desk.path(into)?);
            }
            let anchors_in = into.as_ref().unwrap_or(&target.path);
            desk.add_place(&mut call, anchors_in, place, "new_position")?;
            desk.write("move_section", call, write)
        }
        EditCommand::Delete { target, yes, write } => {
            let call = json!({ "section_id": desk.id(target)?, "confirm": yes });
            desk.write("delete_section", call, write)
        }
        EditCommand::Rename {
            path,
            section,
            heading,
            keep_links,
            write,
        } => {
            let target = SectionArgs {
                path: path.clone(),
                section: Some(section.clone()),
            };
            let call = json!({
                "section_id": desk.id(&target)?,
                "heading": heading,
                "repair_links": !keep_links,
            });
            desk.write("rename_section", call, write)
        }
        EditCommand::Undo { path, entry, write } => {
            let call = json!({ "path": desk.path(path)?, "entry": entry });
            desk.write("undo", call, write)
        }
        EditCommand::Redo { path, entry, write } => {
            let call = json!({ "path": desk.path(path)?, "entry": entry });
            desk.write("redo", call, write)
        }
        EditCommand::History {
            path,
            section,
            limit,
            diff,
        } => desk.history(path, section.as_deref(), *limit, *diff),
        EditCommand::Purge {
            path,
            containing,
            yes,
        } => desk.purge(path.as_deref(), *containing, *yes),
    }
}

/// The editor, and how its answers are printed.
struct EditSession {
    world: EditorWorld,
    root: PathBuf,
    /// The root with the way it was found, if it was not named.
    found: Option<NearestRoot>,
    json: bool,
}

impl EditSession {
    fn open(args: &EditArgs, command: &EditCommand) -> Result<Self, CliError> {
        let settings = settings(None)?;
        #[cfg(debug_assertions)]
        if let Some(fault) = crate::config::fault() {
            sectile_vault::fault::arm(&fault);
        }
        let cannot = |error: RootError| {
            CliError::failed(format_args!("the folder cannot be edited: {error}."))
                .next("give the folder of the documents with --root DIR")
        };
        let found = match &args.root {
            Some(_) => None,
            None => Some(root_of(command.path()).map_err(cannot)?),
        };
        let root = match (&args.root, &found) {
            (Some(root), _) => root.clone(),
            (None, Some(found)) => found.folder.clone(),
            (None, None) => PathBuf::from("."),
        };
        let limits = EditorLimits {
            max_diff_bytes: NO_PAGES,
            ..settings.worlds.editor.limits
        };
        let options = EditorOptions {
            limits,
            ..settings.worlds.editor.options(false)?
        };
        let opened = EditorWorld::open(&root, options, NO_PAGES);
        let (world, extent) = opened.map_err(cannot)?;
        if extent != EditedTarget::Folder {
            return Err(CliError::usage("--root must be a folder."));
        }
        Ok(Self {
            world,
            root: files::absolute(&root)?,
            found,
            json: args.json,
        })
    }

    /// Returns the path of a document below the root. It is given relative to the current folder, as in any shell, or by its
    /// name.
    fn path(&self, given: &Path) -> Result<String, CliError> {
        if let Some((path, _)) = self.named(given)? {
            return Ok(path);
        }
        let found = files::below(&self.root, given);
        found.ok_or_else(|| {
            let error =
                CliError::failed(format_args!("{} is not inside the root.", given.display()));
            let next = "give the folder of the documents with --root DIR";
            match &self.found {
                Some(root) => error.next(format_args!("the root is {}; {next}", described(root))),
                None => error.next(next),
            }
        })
    }

    /// Returns the document that a name leads to, and the section if it has one. Whatever looks like a path is not a name: it
    /// may be that of a deleted document, and another one must not be changed in its place.
    fn named(&self, given: &Path) -> Result<Option<(String, Option<String>)>, CliError> {
        let Some(name) = given.to_str() else {
            return Ok(None);
        };
        let document = name.split_once('#').map_or(name, |(document, _)| document);
        let is_path = document.contains(['/', '\\']) || document.ends_with(".md");
        if files::absolute(given).is_ok() || (is_path && !name.contains('#')) {
            return Ok(None);
        }
        desk::named(&self.root, name)
    }

    /// Returns a document, and the section in it if one is given.
    fn section(&self, target: &SectionArgs) -> Result<(String, Option<String>), CliError> {
        if target.section.is_none()
            && let Some(found) = self.named(&target.path)?
        {
            return Ok(found);
        }
        Ok((self.path(&target.path)?, target.section.clone()))
    }

    /// Returns a document and a section in it.
    fn required_section(&self, target: &SectionArgs) -> Result<(String, String), CliError> {
        match self.section(target)? {
            (path, Some(section)) => Ok((path, section)),
            (_, None) => Err(CliError::usage("no section is named.")
                .next("give its heading or id after the document, or write DOCUMENT#HEADING")),
        }
    }

    fn call(&self, tool: &str, mut arguments: Value) -> Result<Value, CliError> {
        let tools = editor::spec(EditedTarget::Folder, ErrorStyle::Protocol).tools;
        let found = tools.iter().find(|entry| entry.name == tool);
        let tool = found.ok_or_else(|| CliError::failed("this build lacks the tool"))?;
        let arguments: JsonObject = match arguments.as_object_mut() {
            Some(object) => std::mem::take(object)
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .collect(),
            None => JsonObject::new(),
        };
        let mut context = CallContext::without_client();
        context.client = Some(format!("sectile edit {}", env!("CARGO_PKG_VERSION")));
        let answer = tool
            .handler
            .call(&self.world, arguments, &context)
            .map_err(|failure| self.failed(&failure))?;
        serde_json::from_str(answer.body.text()).map_err(CliError::failed)
    }

    fn failed(&self, failure: &Failure) -> CliError {
        // The same object that a client reads, so that scripts can branch on it.
        if self.json {
            return CliError::failed_json(&editor::error_object(failure));
        }
        let mut message = failure.message.to_string();
        message += &show::candidates(failure);
        let error = CliError::failed(message);
        match (&failure.detail, &self.found) {
            (Some(detail), Some(root)) if detail.code == NOT_A_DOCUMENT => {
                error.next(format_args!(
                    "the root is {}, which excludes this document; give a folder that includes it with --root DIR",
                    described(root)
                ))
            }
            (Some(detail), _) => error.next(show::for_a_shell(&detail.recovery)),
            (None, _) => error,
        }
    }

    fn print(&self, value: &Value, show: fn(&Value) -> String) -> Result<(), CliError> {
        if self.json {
            print(format_args!("{value}\n"))
        } else {
            print(show(value))
        }
    }

    /// Prints the text of a section, or of a document if no section is given.
    fn show_text(&self, target: &SectionArgs, subtree: bool) -> Result<(), CliError> {
        let (answer, part) = match self.section(target)? {
            (_, Some(_)) => (self.get(target, subtree)?, "content"),
            (path, None) => (
                self.call("get_document", json!({ "path": path }))?,
                "document",
            ),
        };
        match self.json {
            true => print(format_args!("{answer}\n")),
            false => print_note_text(&show::note_text(&answer, part)),
        }
    }

    /// Returns a section, by id or heading.
    fn get(&self, target: &SectionArgs, subtree: bool) -> Result<Value, CliError> {
        let (path, section) = self.required_section(target)?;
        let scope = if subtree { "subtree" } else { "body" };
        let by_id = self.world.knows(&section);
        let key = if by_id { "section_id" } else { "heading" };
        self.call(
            "get_section",
            json!({ "path": path, key: section, "scope": scope }),
        )
    }

    /// Returns the id of a section to change, or of one that marks a position.
    fn id(&self, target: &SectionArgs) -> Result<Value, CliError> {
        let (path, section) = self.required_section(target)?;
        let path = NotePath::parse_vault(&path).map_err(CliError::failed)?;
        let id = self.world.section_to_change(&path, &section);
        id.map(Value::from).map_err(|failure| self.failed(&failure))
    }

    fn add_place(
        &self,
        call: &mut Value,
        path: &Path,
        place: &PlacementArgs,
        position: &str,
    ) -> Result<(), CliError> {
        let relative = [
            ("before", &place.before),
            ("after", &place.after),
            ("first_child", &place.first_child),
            ("last_child", &place.last_child),
        ];
        for (word, anchor) in relative {
            if let Some(section) = anchor {
                let target = SectionArgs {
                    path: path.to_path_buf(),
                    section: Some(section.clone()),
                };
                call["place"] = json!(word);
                call["anchor"] = self.id(&target)?;
                return Ok(());
            }
        }
        call[position] = match place.at {
            Some(at) => json!(at),
            // The end of the document.
            None => {
                let sections = self.call("list_sections", json!({ "path": self.path(path)? }))?;
                sections["total"].clone()
            }
        };
        Ok(())
    }

    fn write(&self, tool: &str, mut call: Value, flags: &WriteFlags) -> Result<(), CliError> {
        call["dry_run"] = json!(flags.dry_run);
        call["reason"] = json!(flags.reason);
        let written = self.call(tool, call)?;
        self.print(&written, show::written)?;
        if self.json {
            return Ok(());
        }
        match &self.found {
            Some(root) if shown(&root.folder) != "." => {
                print(format_args!(
                    "{}\n",
                    StyledText(DIM, format!("root: {}", described(root)))
                ))?;
            }
            _ => {}
        }
        self.warn_of_second_history();
        Ok(())
    }

    /// A nested history knows nothing about the documents outside it, nor about links from there.
    fn warn_of_second_history(&self) {
        let root = Root::open(&self.root).ok();
        let levels = root.and_then(|root| root.nearest_history_above());
        let Some(above) = levels.and_then(|levels| self.root.ancestors().nth(levels)) else {
            return;
        };
        tell(format_args!(
            "{} {} has a history of its own inside that of {}: links from outside were not checked. `sectile doctor --root {}` \
             shows such folders.\n",
            StyledText(HEADING, "warning:"),
            shown(&self.root),
            shown(above),
            shown(above),
        ));
    }

    fn update(
        &self,
        target: &SectionArgs,
        subtree: bool,
        content: Option<&str>,
        flags: &WriteFlags,
    ) -> Result<(), CliError> {
        let by_id = SectionArgs {
            path: self.root.join(self.required_section(target)?.0),
            section: self.id(target)?.as_str().map(str::to_owned),
        };
        let section = self.get(&by_id, subtree)?;
        let content = match content {
            Some(content) => content.to_owned(),
            None if io::stdin().is_terminal() => {
                external::edited(section["content"].as_str().unwrap_or_default())?
            }
            None => text_on_stdin()
                .map_err(|error| error.next("pass --content '' to leave the section empty"))?,
        };
        let hash = if subtree { "subtree_hash" } else { "hash" };
        let call = json!({
            "section_id": section["section_id"],
            "content": content,
            "scope": if subtree { "subtree" } else { "body" },
            "expected_hash": section[hash],
        });
        self.write("update_section", call, flags)
    }

    fn history(
        &self,
        path: &Path,
        section: Option<&str>,
        limit: u64,
        diff: bool,
    ) -> Result<(), CliError> {
        let section_id = match section {
            // It may also be the id of a deleted section.
            Some(section) if self.world.knows(section) => json!(section),
            Some(section) => {
                let target = SectionArgs {
                    path: path.to_path_buf(),
                    section: Some(section.to_owned()),
                };
                self.get(&target, false)?["section_id"].clone()
            }
            None => Value::Null,
        };
        let call = json!({
            "path": self.path(path)?,
            "section_id": section_id,
            "limit": limit,
            "diff": diff,
        });
        let history = self.call("history", call)?;
        self.print(&history, show::history)
    }

    fn purge(&self, path: Option<&Path>, containing: bool, yes: bool) -> Result<(), CliError> {
        if !yes {
            return Err(CliError::usage(
                "this permanently deletes history: it can no longer be undone or shown.",
            )
            .next("add --yes to confirm"));
        }
        let text = if containing {
            let text = text_on_stdin()?;
            Some(text.trim_end_matches(['\n', '\r']).to_owned())
        } else {
            None
        };
        let path = path.map(|path| self.path(path)).transpose()?;
        let note = path
            .map(|path| NotePath::parse_vault(&path))
            .transpose()
            .map_err(CliError::failed)?;
        let entries = self
            .world
            .purge(note.as_ref(), text.as_deref(), &[INDEX_FOLDER])
            .map_err(|failure| self.failed(&failure))?;
        let report = json!({ "message": "History purged.", "entries": entries });
        self.print(&report, show::purged)
    }
}

pub(super) fn text_or_stdin(text: Option<&str>) -> Result<String, CliError> {
    match text {
        Some(text) => Ok(text.to_owned()),
        None if io::stdin().is_terminal() => external::edited(""),
        None => stdin(),
    }
}

/// Reads text from standard input, which must not be empty: a command that failed upstream in the pipe yields nothing.
fn text_on_stdin() -> Result<String, CliError> {
    let text = stdin()?;
    if text.trim_end_matches(['\n', '\r']).is_empty() {
        return Err(CliError::usage("there is no text on standard input."));
    }
    Ok(text)
}

fn stdin() -> Result<String, CliError> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
