//! The output of a program as lines of styled text, read from the escape sequences that it writes for colours.

use anyhow::{Context, Result, bail};

/// How a run of characters looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextStyle {
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) colour: Option<TextColour>,
}

/// The colours that the program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextColour {
    Red,
    Green,
    Cyan,
}

/// Characters of one style, within one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StyledRun {
    pub(super) style: TextStyle,
    pub(super) text: String,
}

/// One line of the output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StyledLine(pub(super) Vec<StyledRun>);

impl StyledLine {
    pub(super) fn plain(text: &str) -> Self {
        let mut line = Self::default();
        line.push(TextStyle::default(), text);
        line
    }

    pub(super) fn text(&self) -> String {
        self.0.iter().map(|run| run.text.as_str()).collect()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.0.iter().all(|run| run.text.trim().is_empty())
    }

    /// Whether this line starts a scene: bold from its first column, as the program prints headings.
    pub(super) fn is_heading(&self) -> bool {
        self.0
            .first()
            .is_some_and(|run| run.style.bold && !run.text.starts_with(' '))
    }

    fn push(&mut self, style: TextStyle, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.0.push(StyledRun {
                style,
                text: text.to_owned(),
            }),
        }
    }

    /// Breaks the line at `columns` characters, between two fields of JSON or words where it can, and indents
    /// what follows.
    pub(super) fn wrapped(&self, columns: usize) -> Vec<Self> {
        let cells: Vec<(TextStyle, char)> = self
            .0
            .iter()
            .flat_map(|run| run.text.chars().map(|c| (run.style, c)))
            .collect();
        let indent = cells.iter().take_while(|(_, c)| *c == ' ').count() + HANGING;
        let mut lines = Vec::new();
        let mut rest = cells.as_slice();
        loop {
            let mut line = Self::default();
            if !lines.is_empty() {
                line.push(TextStyle::default(), &" ".repeat(indent));
            }
            let room = columns - if lines.is_empty() { 0 } else { indent };
            let end = if rest.len() <= room {
                rest.len()
            } else {
                let near = || (room - NEAR..room).rev();
                let is_field = |index: &usize| rest[*index].1 == ',' && rest[*index + 1].1 == '"';
                let is_space = |index: &usize| rest[*index].1 == ' ';
                let found = near().find(is_field).or_else(|| near().find(is_space));
                found.map_or(room, |index| index + 1)
            };
            let (now, later) = rest.split_at(end);
            for (style, c) in now {
                line.push(*style, c.encode_utf8(&mut [0; 4]));
            }
            lines.push(line);
            if later.is_empty() {
                return lines;
            }
            rest = later;
        }
    }
}

/// How much further than its first line the rest of a broken line is indented.
const HANGING: usize = 3;
/// How far before the edge a break is looked for. Few fields of an answer are longer.
const NEAR: usize = 50;

/// Reads the lines of `output`. Any control sequence other than the styles of [`TextStyle`] is an error.
pub(super) fn lines(output: &str) -> Result<Vec<StyledLine>> {
    let mut style = TextStyle::default();
    let mut lines = Vec::new();
    for line in output.lines() {
        let mut parsed = StyledLine::default();
        let mut parts = line.split('\u{1b}');
        parsed.push(style, parts.next().unwrap_or_default());
        for part in parts {
            let (codes, text) = part
                .strip_prefix('[')
                .and_then(|rest| rest.split_once('m'))
                .with_context(|| format!("a control sequence that is not a style: {part:?}"))?;
            for code in codes.split(';') {
                style = style.with(code)?;
            }
            parsed.push(style, text);
        }
        if let Some(control) = parsed.text().chars().find(|c| c.is_control()) {
            bail!("a control character in the output: {control:?}");
        }
        lines.push(parsed);
    }
    Ok(lines)
}

impl TextStyle {
    fn with(self, code: &str) -> Result<Self> {
        let coloured = |colour| Self {
            colour: Some(colour),
            ..self
        };
        Ok(match code {
            "" | "0" => Self::default(),
            "1" => Self { bold: true, ..self },
            "2" => Self { dim: true, ..self },
            "31" => coloured(TextColour::Red),
            "32" => coloured(TextColour::Green),
            "36" => coloured(TextColour::Cyan),
            "39" => Self {
                colour: None,
                ..self
            },
            _ => bail!("the style {code:?} has no counterpart in the picture"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_go_on_over_the_end_of_a_line() {
        let lines = lines("\u{1b}[1mA\u{1b}[0m b\n\u{1b}[2mc\nd\u{1b}[0me\n").unwrap();
        assert!(lines[0].is_heading());
        assert_eq!(lines[0].text(), "A b");
        assert!(lines[1].0[0].style.dim);
        assert!(lines[2].0[0].style.dim);
        assert_eq!(lines[2].0[1], StyledLine::plain("e").0[0]);
    }

    #[test]
    fn what_moves_the_cursor_is_refused() {
        assert!(lines("a\u{1b}[2Jb").is_err());
        assert!(lines("a\u{1b}]0;title\u{7}").is_err());
        assert!(lines("a\rb").is_err());
        assert!(lines("\u{1b}[35mviolet\u{1b}[0m").is_err());
    }

    #[test]
    fn a_long_line_breaks_between_fields_and_loses_nothing() {
        let line = StyledLine::plain(&format!("  {}", "\"key\":\"value\",".repeat(12)));
        let broken = line.wrapped(60);
        assert_eq!(broken.len(), 4);
        assert!(broken[..3].iter().all(|line| line.text().ends_with(',')));
        assert!(broken.iter().all(|line| line.text().chars().count() <= 60));
        let joined: String = broken
            .iter()
            .map(|line| line.text().trim_start().to_owned())
            .collect();
        assert_eq!(joined, line.text().trim_start());
        assert_eq!(StyledLine::plain("short").wrapped(60).len(), 1);
    }

    #[test]
    fn a_long_word_breaks_at_the_edge() {
        let broken = StyledLine::plain(&"x".repeat(130)).wrapped(60);
        assert_eq!(broken[0].text(), "x".repeat(60));
        assert_eq!(broken.len(), 3);
    }
}
