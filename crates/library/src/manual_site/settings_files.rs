//! Reads the settings of sites: bounded, confined, and with every refusal noted.

use std::fmt;

use sectile_markdown::{Mapping, NotePath, Value, parse_ignoring_tags};
use sectile_vault::{ReadError, Root};

use super::{MAX_SETTINGS_BYTES, site_files::SiteFileLog};

/// A settings file that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteProblem {
    /// The file, relative to the folder. A file beside the folder starts with `../`.
    pub file: String,
    /// The reason.
    pub reason: ProblemReason,
}

/// The reason a settings file could not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemReason {
    /// It is larger than [`MAX_SETTINGS_BYTES`].
    TooLarge,
    /// A link leads out of the folder.
    LeadsOut,
    /// It cannot be read, or is not UTF-8.
    Unreadable,
    /// It is not valid TOML, YAML or JSON, or beyond the bounds of what is read.
    Malformed,
}

impl fmt::Display for SiteProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            ProblemReason::TooLarge => "is larger than 1 MB",
            ProblemReason::LeadsOut => "is a link that leads out of the folder",
            ProblemReason::Unreadable => "cannot be read",
            ProblemReason::Malformed => "is malformed",
        };
        write!(f, "`{}` {reason}, so it is not used.", self.file)
    }
}

/// The settings files in a folder and beside it.
pub(super) struct SettingsFiles<'r> {
    pub(super) root: &'r Root,
    pub(super) parent: Option<Root>,
    pub(super) problems: Vec<SiteProblem>,
    /// Everything that was looked for.
    pub(super) log: SiteFileLog,
}

/// The folder of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// The folder of the pages itself.
    Here,
    /// The folder that contains it.
    Above,
}

impl<'r> SettingsFiles<'r> {
    pub(super) fn new(root: &'r Root) -> Self {
        let parent = root.location().parent();
        Self {
            root,
            parent: parent.and_then(|parent| Root::open(parent).ok()),
            problems: Vec::new(),
            log: SiteFileLog::default(),
        }
    }

    /// Returns whether there is such a file in the folder.
    pub(super) fn has(&self, name: &str) -> bool {
        self.exists(Place::Here, name)
    }

    /// Returns whether there is such a file.
    pub(super) fn exists(&self, place: Place, name: &str) -> bool {
        // A byte is enough to see that it is there.
        let read = self.bytes(place, name, None);
        matches!(read, Ok(_) | Err(ReadError::TooLarge { .. }))
    }

    /// Returns the text of a file. What is wrong with a file that exists is noted.
    pub(super) fn text(&mut self, place: Place, name: &str) -> Option<String> {
        let reason = match self.bytes(place, name, Some(MAX_SETTINGS_BYTES)) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => return Some(text),
                Err(_) => ProblemReason::Unreadable,
            },
            Err(ReadError::NotFound) => return None,
            Err(ReadError::TooLarge { .. }) => ProblemReason::TooLarge,
            Err(ReadError::OutsideRoot) => ProblemReason::LeadsOut,
            Err(_) => ProblemReason::Unreadable,
        };
        self.note(place, name, reason);
        None
    }

    /// Returns the mapping in a YAML file. Tags that name parts of a program have no effect.
    pub(super) fn yaml(&mut self, place: Place, name: &str) -> Option<Mapping> {
        let text = self.text(place, name)?;
        match parse_ignoring_tags(text.trim_start_matches('\u{feff}')) {
            Ok(Value::Map(mapping)) => return Some(mapping),
            Ok(Value::Null) => return Some(Mapping::default()),
            _ => self.note(place, name, ProblemReason::Malformed),
        }
        None
    }

    pub(super) fn note(&mut self, place: Place, name: &str, reason: ProblemReason) {
        let above = if place == Place::Above { "../" } else { "" };
        self.problems.push(SiteProblem {
            file: format!("{above}{name}"),
            reason,
        });
    }

    /// Reads a file of at most this size. Without one it is only of interest whether the file exists.
    fn bytes(&self, place: Place, name: &str, most: Option<u64>) -> Result<Vec<u8>, ReadError> {
        let root = match place {
            Place::Here => Some(self.root),
            Place::Above => self.parent.as_ref(),
        };
        let path = NotePath::parse_vault(name).map_err(|_| ReadError::NotFound)?;
        let root = root.ok_or(ReadError::NotFound)?;
        let stamp = root.stamp(&path);
        let read = root.read(&path, most.unwrap_or(1));
        self.log.add((place, &path), most.is_some(), stamp, &read);
        read
    }
}
