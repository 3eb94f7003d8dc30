//! The user's own text editor.

#![expect(
    clippy::disallowed_methods,
    reason = "the one place where the product starts a program: the one its user named"
)]

use std::process::Command;

use super::super::ui::CliError;
use crate::{config, files};

/// Opens `text` in the user's editor, and returns the result.
pub(super) fn edited(text: &str) -> Result<String, CliError> {
    let program = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| config::os_variable(name))
        .ok_or_else(|| {
            CliError::usage("no text is given, and no editor is set.")
                .next("pass --content TEXT, pipe the text in, or set EDITOR")
        })?;
    let program = program.to_string_lossy().into_owned();
    let mut words = program.split_whitespace();
    let name = words.next().unwrap_or_default();
    // Text editors expect the last line to be terminated.
    let end = if text.is_empty() { "" } else { "\n" };
    files::with_temporary(&format!("{text}{end}"), |path| {
        let status = Command::new(name).args(words).arg(path).status()?;
        Ok(status.success())
    })?
    .ok_or_else(|| CliError::failed("the editor exited with an error; nothing was changed."))
}
