//! `sectile config`: creates, checks, shows and describes settings.

use std::path::Path;

use sectile_vault::{PathTarget, Root, RootError, editor::is_markdown};
use serde_json::{Value, json};

use super::{
    args::{ConfigArgs, ConfigCommand},
    settings,
    ui::{CliError, DIM, GOOD, NAME, StyledText, print},
};
use crate::{
    config::{self, ConfigError, ConfigErrors, keys},
    files,
    worlds::notebook::OpenLibrary,
};

pub(super) fn run(args: &ConfigArgs) -> Result<(), CliError> {
    match &args.command {
        ConfigCommand::Init { file } => init(file),
        ConfigCommand::Check { file } => check(file),
        ConfigCommand::Show { config, json } => show(config.as_deref(), *json),
        ConfigCommand::Schema => print(format_args!("{:#}\n", config::schema())),
    }
}

fn init(file: &Path) -> Result<(), CliError> {
    files::create_new(file, &template()).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CliError::failed("the file exists already; nothing was changed.")
                .next("check it with `sectile config check`, or give another name")
        }
        std::io::ErrorKind::NotFound => CliError::failed("the folder for the file does not exist."),
        kind => CliError::failed(format_args!("the file cannot be written ({kind}).")),
    })?;
    let name = file.display();
    print(format_args!(
        "Wrote {name}. Edit it, then: sectile config check {name}\n"
    ))
}

/// Returns every setting as a comment with its default, so that the file changes nothing until something is uncommented.
fn template() -> String {
    let mut text = "# Settings of Sectile. Every commented-out line shows a default.\n".to_owned();
    let mut section = String::new();
    for key in keys() {
        let (in_section, name) = key.path.rsplit_once('.').unwrap_or(("", &key.path));
        if in_section != section {
            text += &format!("\n[{in_section}]\n");
            in_section.clone_into(&mut section);
        }
        text += &format!("# {}\n# {name} = {}\n", key.description, key.default);
    }
    text
}

fn check(file: &Path) -> Result<(), CliError> {
    let (loaded, settings) = settings::read(Some(file), &[])?;
    settings::warn(&loaded);
    let mut mistakes = ConfigErrors::default();
    let mut unusable = |key: &str, written: &str, problem: String| {
        mistakes.add(ConfigError::Unusable {
            origin: loaded.origin(key),
            key: key.to_owned(),
            written: written.to_owned(),
            problem,
        });
    };
    if let Some(Err(error)) = settings.worlds.vault.root.as_deref().map(readable) {
        unusable(
            "vault.root",
            &loaded.raw.worlds.vault.root,
            error.to_string(),
        );
    }
    if let Some(Err(problem)) = settings.worlds.editor.root.as_deref().map(editable) {
        unusable("editor.root", &loaded.raw.worlds.editor.root, problem);
    }
    let library = &loaded.raw.worlds.notebook;
    match settings.worlds.notebook.root.as_deref().map(readable) {
        Some(Err(error)) if library.root.is_empty() => unusable(
            "notebook.notebook_storage.path",
            &library.notebook_storage.path,
            error.to_string(),
        ),
        Some(Err(error)) => unusable("notebook.root", &library.root, error.to_string()),
        _ => {}
    }
    if !mistakes.is_empty() {
        return Err(mistakes.into());
    }
    if settings.worlds.notebook.is_configured() {
        OpenLibrary::of(&settings.worlds.notebook)?;
    }
    print(format_args!(
        "{} {}\n",
        StyledText(GOOD, "ok"),
        file.display()
    ))
}

/// Checks that `root` is a readable folder.
fn readable(root: &Path) -> Result<(), RootError> {
    Root::open(root).map(drop)
}

/// Checks that documents can be edited at `root`, and returns the reason if they cannot.
pub(super) fn editable(root: &Path) -> Result<(), String> {
    match PathTarget::at(root) {
        Ok(PathTarget::File(_, document)) if !is_markdown(&document) => {
            Err(RootError::NotMarkdown.to_string())
        }
        Ok(PathTarget::File(..) | PathTarget::Folder(_)) => Ok(()),
        Err(RootError::Unreadable(kind)) => Err(format!("it cannot be opened ({kind})")),
        Ok(_) | Err(_) => Err("there is no such document or folder".to_owned()),
    }
}

fn show(file: Option<&Path>, json: bool) -> Result<(), CliError> {
    let (loaded, _) = settings::read(settings::named(file).as_deref(), &[])?;
    settings::warn(&loaded);
    let keys = keys();
    if json {
        let rows: Vec<Value> = keys
            .iter()
            .map(|key| {
                json!({
                    "key": key.path,
                    "value": loaded.json_value(key),
                    "origin": loaded.origin(&key.path).to_string(),
                    "description": key.description,
                })
            })
            .collect();
        return print(format_args!("{}\n", Value::Array(rows)));
    }
    let assignments: Vec<String> = keys
        .iter()
        .map(|key| format!("{} = {}", key.path, loaded.value(key)))
        .collect();
    let width = assignments
        .iter()
        .map(|text| text.chars().count())
        .max()
        .unwrap_or_default();
    for (key, assignment) in keys.iter().zip(&assignments) {
        let padding = " ".repeat(width - assignment.chars().count());
        let origin = loaded.origin(&key.path);
        let (name, value) = assignment.split_once(' ').unwrap_or((assignment, ""));
        print(format_args!(
            "{} {value}{padding}  {}\n",
            StyledText(NAME, name),
            StyledText(DIM, format_args!("# {origin}"))
        ))?;
    }
    Ok(())
}
