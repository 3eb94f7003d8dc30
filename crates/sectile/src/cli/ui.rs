//! Output, the same on a terminal and in a pipe except for colours: results go to standard output, everything else to
//! standard error.

use std::{
    fmt,
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};

use clap::builder::styling::{AnsiColor, Style};

use crate::{config::ConfigErrors, worlds::OpenError};

pub(super) const HEADING: Style = Style::new().bold();
pub(super) const NAME: Style = AnsiColor::Cyan.on_default();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Text in a style, which the stream drops if colour is not wanted.
pub(super) struct StyledText<T>(pub(super) Style, pub(super) T);

impl<T: fmt::Display> fmt::Display for StyledText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.render())?;
        self.1.fmt(f)?;
        write!(f, "{}", self.0.render_reset())
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub(super) struct CliError {
    message: String,
    /// Further problems, each in a sentence.
    more: Vec<String>,
    next: Option<String>,
    exit: u8,
    /// Whether the message is a JSON object for a script, printed without a prefix.
    is_json: bool,
}

impl CliError {
    /// The request cannot be fulfilled.
    pub(super) fn failed(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            more: Vec::new(),
            next: None,
            exit: 1,
            is_json: false,
        }
    }

    /// The command was called incorrectly.
    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            more: Vec::new(),
            next: None,
            exit: 2,
            is_json: false,
        }
    }

    /// Returns the main message, a sentence.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The request cannot be fulfilled, reported as a JSON object.
    pub(super) fn failed_json(object: &serde_json::Value) -> Self {
        Self {
            is_json: true,
            ..Self::failed(object)
        }
    }

    /// Adds a hint about what to do next.
    pub(super) fn next(mut self, next: impl fmt::Display) -> Self {
        self.next = Some(next.to_string());
        self
    }

    pub(super) fn report(self) -> ExitCode {
        let mut stderr = anstream::stderr();
        let mut lines = match self.is_json {
            true => format!("{}\n", self.message),
            false => format!("{} {}\n", StyledText(BAD, "error:"), self.message),
        };
        for more in self.more {
            lines += &format!("{} {more}\n", StyledText(BAD, "error:"));
        }
        if let Some(next) = self.next {
            lines += &format!("{} {next}\n", StyledText(HEADING, "hint:"));
        }
        // There is no place left to report a broken standard error.
        match stderr.write_all(lines.as_bytes()) {
            Ok(()) | Err(_) => ExitCode::from(self.exit),
        }
    }
}

impl From<ConfigErrors> for CliError {
    fn from(mistakes: ConfigErrors) -> Self {
        let mut texts = mistakes.texts().into_iter();
        let first = texts.next().unwrap_or_default();
        Self {
            more: texts.collect(),
            ..Self::failed(first)
        }
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> Self {
        // A message may name a file, and a name may hold control characters.
        let message = visible(&error.message);
        let refused = match error.is_usage {
            true => Self::usage(message),
            false => Self::failed(message),
        };
        match error.next {
            Some(next) => refused.next(next),
            None => refused,
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        OpenError::from(error).into()
    }
}

/// Writes `text` to standard output. A reader that went away, as `head` does, is not an error.
pub(super) fn print(text: impl fmt::Display) -> Result<(), CliError> {
    let mut stdout = anstream::stdout().lock();
    match write!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Writes text of a note to standard output: byte for byte into a pipe or a file, so that it can be edited and put back,
/// and on a terminal without the control characters that could take it over.
pub(super) fn print_note_text(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    let shown = if stdout.is_terminal() {
        visible_lines(text)
    } else {
        text.to_owned()
    };
    match stdout
        .write_all(shown.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints a line about something that was checked and is right.
pub(super) fn good(text: &str) -> Result<(), CliError> {
    print(format_args!("{} {text}\n", StyledText(GOOD, "ok     ")))
}

/// Prints a line about something that was checked and is wrong.
pub(super) fn bad(text: &str) -> Result<(), CliError> {
    print(format_args!("{} {text}\n", StyledText(BAD, "problem")))
}

/// Prints a line about something that could be better.
pub(super) fn warning(text: &str) -> Result<(), CliError> {
    print(format_args!("{} {text}\n", StyledText(HEADING, "warning")))
}

/// Prints a line that is good to know.
pub(super) fn note(text: &str) -> Result<(), CliError> {
    print(format_args!("{} {text}\n", StyledText(DIM, "note   ")))
}

/// Ends a command that looked for problems.
pub(super) fn found(problems: usize) -> Result<(), CliError> {
    match problems {
        0 => Ok(()),
        1 => Err(CliError::failed("1 problem was found.")),
        more => Err(CliError::failed(format_args!(
            "{more} problems were found."
        ))),
    }
}

/// Writes `text` to standard error, for anyone reading along. A broken one is not a reason to fail.
pub(super) fn tell(text: impl fmt::Display) {
    match write!(anstream::stderr(), "{text}") {
        Ok(()) | Err(_) => {}
    }
}

/// Formats rows with their first column padded to one width.
pub(super) fn aligned(rows: &[(String, String)]) -> String {
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or_default();
    rows.iter()
        .map(|(name, text)| {
            let padding = " ".repeat(width - name.chars().count());
            format!("  {}{padding}  {text}\n", StyledText(NAME, name))
        })
        .collect()
}

/// Formats a number with the noun that it counts.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Replaces control characters in text from a note, which could move a terminal's cursor.
pub(super) fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Replaces control characters in lines from a note, except line ends and tabs.
fn visible_lines(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let end = if line.ends_with("\r\n") { 2 } else { 0 };
        let (line, end) = line.split_at(line.len() - end);
        let kept = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
        let shown = line.chars().map(|c| if kept(c) { c } else { '\u{fffd}' });
        shown.collect::<String>() + end
    });
    lines.collect()
}
