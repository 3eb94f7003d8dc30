//! The documents below a root: which files count, in order.
//!
//! `.gitignore` and `.ignore` files are honoured, whether or not there is a repository. They are read like notes:
//! confined to the root, without waiting on a pipe, and up to a bound. Links are not followed, so what is found is found
//! once.

mod checkup;
mod list;

use std::{io, path::Path, rc::Rc};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use self::list::Listing;
pub use self::{checkup::Checkup, list::FileStamp};
use crate::{
    NotePath, Root,
    editor::is_markdown,
    fs::{is_out_of_descriptors, is_private},
};

/// Which documents of a folder count. Patterns are written as in `.gitignore`.
#[derive(Clone, Debug)]
pub struct Walk {
    include: Vec<String>,
    exclude: Vec<String>,
    included: Gitignore,
    excluded: Gitignore,
}

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{pattern}` cannot be read: {reason}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Why a folder cannot be walked. What lies in a folder further down that cannot be opened is left out instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WalkError {
    /// The caller gave up.
    #[error("the walk was stopped")]
    Stopped,
    /// The process, or the system, has as many files open as it may.
    #[error("too many files are open")]
    TooManyOpenFiles,
    /// The system refuses to open the root.
    #[error("the folder cannot be read ({0})")]
    Unreadable(io::ErrorKind),
}

/// The documents of a folder, and what could have been one and is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// Sorted by path.
    pub documents: Vec<NotePath>,
    /// Sorted by path. Hidden and ignored things are not listed, nor are ordinary files that are no Markdown.
    pub passed_over: Vec<(String, ExclusionReason)>,
    /// Markdown files and whole folders that are hidden or ignored, sorted by path. The path of a folder ends in a slash. What
    /// belongs to version control or to this program is not listed.
    pub left_out: Vec<(String, LeftOutReason)>,
}

/// Why a walk does not look at something: somebody wants it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// Its name begins with a dot.
    Hidden,
    /// A `.gitignore` or `.ignore` file, or a pattern of the walk, leaves it out.
    Ignored,
}

/// Why a walk took something for no document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ExclusionReason {
    /// A link, which a walk does not follow.
    Link,
    /// A link to a folder, which a walk does not follow.
    LinkToFolder,
    /// A pipe, a device or a socket.
    NotAFile,
    /// A folder that the system refuses to read.
    Unreadable(io::ErrorKind),
    /// A name that is no UTF-8, or that no [`NotePath`] can hold.
    OddName,
}

/// Of a file that says what is ignored, this much is read.
const MOST_IGNORE_BYTES: u64 = 1 << 20;

impl Default for Walk {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            included: Gitignore::empty(),
            excluded: Gitignore::empty(),
        }
    }
}

impl Walk {
    /// Documents that a pattern of `include` fits, or all when there is none, without those that a pattern of `exclude`
    /// fits. A pattern that fits a folder speaks of all that is in it.
    ///
    /// # Errors
    /// [`PatternError`] for the first pattern that cannot be read.
    pub fn new(include: Vec<String>, exclude: Vec<String>) -> Result<Self, PatternError> {
        Ok(Self {
            included: matcher(&include)?,
            excluded: matcher(&exclude)?,
            include,
            exclude,
        })
    }

    /// The patterns that a document must fit.
    #[must_use]
    pub fn include(&self) -> &[String] {
        &self.include
    }

    /// The patterns that a document must not fit.
    #[must_use]
    pub fn exclude(&self) -> &[String] {
        &self.exclude
    }

    /// Whether a document at `path` below the root fits the patterns that documents must fit. What is excluded is not
    /// asked here.
    #[must_use]
    pub fn includes(&self, path: &str) -> bool {
        self.included.is_empty()
            || self
                .included
                .matched_path_or_any_parents(path, false)
                .is_ignore()
    }
}

fn matcher(patterns: &[String]) -> Result<Gitignore, PatternError> {
    let mut builder = GitignoreBuilder::new("");
    builder.allow_unclosed_class(false);
    let refused = |pattern: &str, error: &ignore::Error| PatternError {
        pattern: pattern.to_owned(),
        reason: match error {
            ignore::Error::Glob { err, .. } => err.clone(),
            error => error.to_string(),
        },
    };
    for pattern in patterns {
        builder
            .add_line(None, pattern)
            .map_err(|error| refused(pattern, &error))?;
    }
    builder
        .build()
        .map_err(|error| refused(&patterns.join(" "), &error))
}

impl Root {
    /// The Markdown documents below the root, sorted by path. Hidden files, what version control ignores, and files
    /// whose name is no UTF-8 are left out. `stop` says whether the caller has given up.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read, or `stop` said so.
    pub fn walk(&self, walk: &Walk, stop: &dyn Fn() -> bool) -> Result<Vec<NotePath>, WalkError> {
        Ok(self.files(walk, stop)?.documents)
    }

    /// Like [`Self::walk`], with what was passed over.
    ///
    /// # Errors
    /// As [`Self::walk`].
    pub fn survey(&self, walk: &Walk, stop: &dyn Fn() -> bool) -> Result<Survey, WalkError> {
        let files = self.files(walk, stop)?;
        let mut passed_over = files.passed_over;
        for (path, why) in &mut passed_over {
            if *why == ExclusionReason::Link && self.leads_to_folder(path) {
                *why = ExclusionReason::LinkToFolder;
            }
        }
        passed_over.sort();
        let mut left_out = files.left_out;
        left_out.sort();
        Ok(Survey {
            documents: files.documents,
            passed_over,
            left_out,
        })
    }

    /// Like [`Self::walk`], with the files beside the documents.
    pub(crate) fn files(&self, walk: &Walk, stop: &dyn Fn() -> bool) -> Result<Files, WalkError> {
        let unreadable = |error: io::Error| match is_out_of_descriptors(&error) {
            true => WalkError::TooManyOpenFiles,
            false => WalkError::Unreadable(error.kind()),
        };
        let dir = self.dir().map_err(unreadable)?;
        let mut found = Files::default();
        let mut folders = vec![PendingFolder {
            path: String::new(),
            rules: None,
        }];
        while let Some(folder) = folders.pop() {
            if stop() {
                return Err(WalkError::Stopped);
            }
            let opened = match folder.path.as_str() {
                "" => dir.try_clone(),
                path => dir.open_dir_nofollow(path),
            };
            let read = opened.and_then(|dir| folder.read(&dir, walk, &mut found, &mut folders));
            match read {
                Ok(()) if folder.path.is_empty() => {}
                Ok(()) => found.folders.push(folder.path),
                Err(error) if folder.path.is_empty() => return Err(unreadable(error)),
                // It went away, or is not ours to read; then so are the documents in it.
                Err(error) => {
                    let why = ExclusionReason::Unreadable(error.kind());
                    found.passed_over.push((folder.path.clone(), why));
                    found.skipped.push(folder.path);
                }
            }
        }
        found.documents.sort();
        found.others.sort();
        Ok(found)
    }
}

/// The files below a root.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) documents: Vec<NotePath>,
    /// Files that are no documents, such as pictures.
    pub(crate) others: Vec<NotePath>,
    /// Folders that were read. The root itself is not named.
    pub(crate) folders: Vec<String>,
    /// What is there and was passed over: hidden, ignored, or behind a link.
    pub(crate) skipped: Vec<String>,
    /// Those of them that are links.
    pub(crate) links: Vec<String>,
    /// What is neither hidden nor ignored, and yet no file that can be read.
    pub(crate) passed_over: Vec<(String, ExclusionReason)>,
    /// Documents and folders that are hidden or ignored.
    pub(crate) left_out: Vec<(String, LeftOutReason)>,
    /// Files with their stamps, instead of documents and others.
    pub(crate) listing: Option<Listing>,
}

/// A folder that is still to be read.
#[derive(Clone)]
struct PendingFolder {
    /// Below the root; empty for the root itself.
    path: String,
    /// Of the folders above.
    rules: Option<Rc<Rules>>,
}

/// What the files of one folder say about what is ignored in it and below.
struct Rules {
    folder: String,
    ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
    above: Option<Rc<Self>>,
}

impl PendingFolder {
    fn read(
        &self,
        dir: &Dir,
        walk: &Walk,
        found: &mut Files,
        folders: &mut Vec<Self>,
    ) -> io::Result<()> {
        let rules = Rules::read(dir, self);
        for entry in dir.entries()? {
            let entry = entry?;
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                Err(name) => {
                    let path = joined(&self.path, &name.to_string_lossy());
                    found.passed_over.push((path, ExclusionReason::OddName));
                    continue;
                }
            };
            let path = joined(&self.path, &name);
            let left_out = why_left_out(&name, &path, kind.is_dir(), walk, rules.as_deref());
            let ignored = left_out.is_some();
            // A name with a backslash would come to be another path.
            let note = NotePath::parse_vault(&path).ok();
            let note = note.filter(|note| note.as_str() == path);
            if kind.is_symlink() {
                found.links.push(path.clone());
            }
            let passed_over = if kind.is_symlink() {
                Some(ExclusionReason::Link)
            } else if !kind.is_dir() && !kind.is_file() {
                Some(ExclusionReason::NotAFile)
            } else {
                (kind.is_file() && note.is_none()).then_some(ExclusionReason::OddName)
            };
            if let Some(why) = passed_over.filter(|_| !ignored) {
                found.passed_over.push((path.clone(), why));
            }
            if let Some(why) = left_out.filter(|_| !is_machinery(&name)) {
                if kind.is_dir() {
                    found.left_out.push((format!("{path}/"), why));
                } else if kind.is_file() && note.as_ref().is_some_and(is_markdown) {
                    found.left_out.push((path.clone(), why));
                }
            }
            match note {
                _ if kind.is_dir() && !ignored => folders.push(Self {
                    path,
                    rules: rules.clone(),
                }),
                Some(note) if kind.is_file() && !ignored && found.listing.is_some() => {
                    if let Some(listing) = &mut found.listing {
                        listing.take(note, &entry, walk);
                    }
                }
                Some(note) if kind.is_file() && !ignored && !is_markdown(&note) => {
                    found.others.push(note);
                }
                Some(note) if kind.is_file() && !ignored && walk.includes(&path) => {
                    found.documents.push(note);
                }
                _ => found.skipped.push(path),
            }
        }
        Ok(())
    }
}

impl Rules {
    /// The rules that hold in a folder.
    fn read(dir: &Dir, folder: &PendingFolder) -> Option<Rc<Self>> {
        let ignore = ignore_file(dir, ".ignore");
        let gitignore = ignore_file(dir, ".gitignore");
        let above = folder.rules.clone();
        if ignore.is_none() && gitignore.is_none() {
            return above;
        }
        Some(Rc::new(Self {
            folder: folder.path.clone(),
            ignore,
            gitignore,
            above,
        }))
    }

    /// Whether `path` is ignored. The nearest rule that speaks of it decides, and `.ignore` before `.gitignore`.
    fn ignore(&self, path: &str, is_folder: bool) -> bool {
        let all = || std::iter::successors(Some(self), |rules| rules.above.as_deref());
        let said = |of: &dyn Fn(&Self) -> Option<&Gitignore>| {
            all().find_map(|rules| {
                let below = path.strip_prefix(&rules.folder)?.trim_start_matches('/');
                match of(rules)?.matched(Path::new(below), is_folder) {
                    Match::None => None,
                    Match::Ignore(_) => Some(true),
                    Match::Whitelist(_) => Some(false),
                }
            })
        };
        said(&|rules| rules.ignore.as_ref())
            .or_else(|| said(&|rules| rules.gitignore.as_ref()))
            .unwrap_or(false)
    }
}

/// Whether something called `name`, at `path` below the root, is hidden, private, excluded or ignored.
fn is_left_out(
    name: &str,
    path: &str,
    is_folder: bool,
    walk: &Walk,
    rules: Option<&Rules>,
) -> bool {
    why_left_out(name, path, is_folder, walk, rules).is_some()
}

/// Why it is left out, where it is.
fn why_left_out(
    name: &str,
    path: &str,
    is_folder: bool,
    walk: &Walk,
    rules: Option<&Rules>,
) -> Option<LeftOutReason> {
    if name.starts_with('.') || is_private(name) {
        return Some(LeftOutReason::Hidden);
    }
    let is_ignored = walk.excluded.matched(path, is_folder).is_ignore()
        || rules.is_some_and(|rules| rules.ignore(path, is_folder));
    is_ignored.then_some(LeftOutReason::Ignored)
}

/// Whether nobody would look for documents in something of this name.
fn is_machinery(name: &str) -> bool {
    is_private(name) || name == ".git"
}

/// The rules in the file `name`, if it is one.
fn ignore_file(dir: &Dir, name: &str) -> Option<Gitignore> {
    use io::Read as _;
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let file = dir.open_with(name, &options).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_IGNORE_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that cannot be read ignores nothing, as in git.
        if builder.add_line(None, line).is_err() {
            continue;
        }
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

#[cfg(test)]
mod tests;
