//! Errors of section edits.

use std::fmt;

/// The reason why an edit was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The document is not UTF-8.
    NotUtf8,
    /// There is no section at that position.
    NoSuchSection,
    /// The position is beyond the last one.
    PositionOutOfRange {
        /// The largest position allowed.
        max: usize,
    },
    /// A level below 1 or above 6, for the section or one of its subsections.
    LevelOutOfRange,
    /// A section cannot be put into itself.
    IntoItself,
    /// The heading is empty.
    EmptyHeading,
    /// The heading has more than one line.
    HeadingHasLineBreak,
    /// The heading cannot be written at that level.
    HeadingCannotBeWritten,
    /// A section that is not part of the edit would get a different parent.
    Reparents {
        /// Position of that section.
        section: usize,
    },
    /// The payload would affect text outside its section.
    Escapes(Escape),
    /// The text to find is empty.
    EmptyOldText,
    /// The text to find does not occur as often as expected.
    TextCount {
        /// Number of occurrences found.
        found: usize,
        /// Number of occurrences expected.
        expected: usize,
    },
}

/// The way in which a payload would affect text outside its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// It contains a heading of the section's level or above.
    Heading {
        /// Line of the payload, from 1.
        line: usize,
        /// Level of that heading.
        level: u8,
        /// Level of the section.
        section_level: u8,
    },
    /// It opens a code fence and does not close it.
    OpenFence,
    /// It opens an HTML block or comment and does not close it.
    OpenHtml,
    /// Something else that it leaves open swallows what follows.
    Open,
    /// Other sections would change.
    Structure,
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => {
                f.write_str("The document is not UTF-8, so it can be read but not edited.")
            }
            Self::NoSuchSection => f.write_str("Section not found."),
            Self::PositionOutOfRange { max } => {
                write!(f, "The position is out of range: it must be 0 to {max}.")
            }
            Self::LevelOutOfRange => {
                f.write_str("A heading would be above level 1 or below level 6.")
            }
            Self::IntoItself => f.write_str("A section cannot be moved into itself."),
            Self::EmptyHeading => f.write_str("The heading is empty."),
            Self::HeadingHasLineBreak => {
                f.write_str("The heading contains a line break; it must be one line.")
            }
            Self::HeadingCannotBeWritten => f.write_str(
                "The heading cannot be written at that level without changing its text.",
            ),
            Self::Reparents { .. } => {
                f.write_str("Another section would become a child of a different section.")
            }
            Self::Escapes(escape) => escape.fmt(f),
            Self::EmptyOldText => f.write_str("The old text is empty."),
            Self::TextCount { found: 0, .. } => f.write_str("The old text does not occur there."),
            Self::TextCount { found, expected } => {
                write!(
                    f,
                    "The old text occurs {found} times there, not {expected}."
                )
            }
        }
    }
}

impl fmt::Display for Escape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heading {
                line,
                level,
                section_level,
            } => write!(
                f,
                "The content would end its section: its line {line} is a heading of level {level}, and the section itself has level {section_level}."
            ),
            Self::OpenFence => f.write_str("The content would swallow what follows its section: it opens a code fence and does not close it."),
            Self::OpenHtml => f.write_str(
                "The content would swallow what follows its section: it opens an HTML block or comment and does not close it.",
            ),
            Self::Open => f.write_str("The content would swallow what follows its section: it opens something and does not close it."),
            Self::Structure => f.write_str("The edit would change other sections."),
        }
    }
}

impl std::error::Error for EditError {}
