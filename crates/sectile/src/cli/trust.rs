//! `sectile trust`: accepts the history that came with a folder as the user's own.

use std::path::Path;

use sectile_vault::{
    NearestRoot,
    editor::{self as vault_editor, EditorError, ForeignHistory, TrustOutcome},
};
use serde_json::json;

use super::{
    args::TrustArgs,
    root::{described, root_of, shown},
    settings::settings,
    ui::{CliError, print, visible},
};
use crate::files;

pub(super) fn run(args: &TrustArgs) -> Result<(), CliError> {
    let settings = settings(args.config.as_deref())?;
    let options = settings.worlds.editor.options(args.dry_run)?;
    let root = root_of(&args.path).ok();
    // A problem with the path is reported below.
    let folder = root.as_ref().map_or(&args.path, |root| &root.folder);
    let trusted = vault_editor::trust(folder, &options).map_err(|error| {
        let what = match error {
            EditorError::DocumentNotFound => "there is no such folder or document.".to_owned(),
            error => error.to_string(),
        };
        CliError::failed(format_args!("{}: {what}", args.path.display()))
            .next("give the folder of the documents: sectile trust DIR")
    })?;
    if args.json {
        let (state, history) = match &trusted {
            TrustOutcome::Now(history) if args.dry_run => ("foreign", history.clone()),
            TrustOutcome::Now(history) => ("trusted", history.clone()),
            TrustOutcome::Already => ("own", ForeignHistory::default()),
            _ => ("none", ForeignHistory::default()),
        };
        return print(format_args!(
            "{}\n",
            json!({
                "history": state,
                "root": shown(folder),
                "foreign_lines": history.lines,
                "entries": history.entries,
                "unfinished": history.unfinished,
            })
        ));
    }
    let text = match &trusted {
        TrustOutcome::Now(history) => said(history, args.dry_run),
        TrustOutcome::Already => "The history of this folder is already yours.\n".to_owned(),
        _ => "This folder has no history.\n".to_owned(),
    };
    print(text)?;
    match root {
        Some(root) if is_another(&args.path, &root) => {
            print(format_args!("root: {}\n", described(&root)))
        }
        _ => Ok(()),
    }
}

/// Returns whether the root is not the folder that was named.
fn is_another(named: &Path, root: &NearestRoot) -> bool {
    files::absolute(named).ok().as_ref() != Some(&root.folder)
}

fn said(history: &ForeignHistory, dry_run: bool) -> String {
    let entries = match history.entries {
        1 => "1 change".to_owned(),
        more => format!("{more} changes"),
    };
    let mut text = if dry_run {
        format!(
            "This folder came with a history of {entries}. Run `sectile trust` without --dry-run to accept it as yours.\n"
        )
    } else {
        format!(
            "The history of this folder, with {entries}, counts as yours from now on: it can be undone and purged.\n"
        )
    };
    if !history.unfinished.is_empty() {
        text += if dry_run {
            "Changes to these documents were started but not finished; they would be completed or rolled back:\n"
        } else {
            "Changes to these documents were started but not finished; they are completed or rolled back when the folder is next opened:\n"
        };
        for path in &history.unfinished {
            text += &format!("  {}\n", visible(path));
        }
    }
    text
}
