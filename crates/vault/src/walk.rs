//! The documents below a root: which files count, in a fixed order.
//!
//! `.gitignore` and `.ignore` files are honoured, whether or not there is a repository. They are read like notes:
//! confined to the root, without blocking on a pipe, and up to a size limit. Links are not followed, so every document
//! is found once.

mod checkup;
mod inventory;
mod list;
mod path_rules;

use std::{collections::HashSet, io, path::Path, rc::Rc};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use self::list::Listing;
pub(crate) use self::list::stamp;
pub use self::{
    checkup::Checkup,
    inventory::{Inventory, InventoryItem},
    list::FileStamp,
    path_rules::PathRules,
};
use sectile_markdown::LetterCase;

use crate::{
    NotePath, Root,
    editor::is_markdown,
    fs::{is_out_of_descriptors, is_private},
};

/// Selects the documents of a folder. Patterns are written as in `.gitignore`.
#[derive(Clone, Debug)]
pub struct Walk {
    include: Vec<String>,
    exclude: Vec<String>,
    included: Gitignore,
    excluded: Gitignore,
    hidden: PathRules,
    readable: PathRules,
    has_mdx: bool,
}

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{pattern}` is invalid: {reason}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// The problem with the pattern.
    pub reason: String,
}

/// The reason a folder cannot be walked. A folder further down that cannot be opened is left out instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WalkError {
    /// The caller gave up.
    #[error("the walk was stopped")]
    Stopped,
    /// The process or the system has reached its limit of open files.
    #[error("too many files are open")]
    TooManyOpenFiles,
    /// The system refuses to open the root.
    #[error("the folder cannot be read ({0})")]
    Unreadable(io::ErrorKind),
}

/// The documents of a folder, and everything that could have been a document but is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// The documents, sorted by path.
    pub documents: Vec<NotePath>,
    /// Entries that are not documents, sorted by path. Hidden and ignored entries are not listed, nor are ordinary
    /// files that are not Markdown.
    pub passed_over: Vec<(String, ExclusionReason)>,
    /// Markdown files and whole folders that are hidden or ignored, sorted by path. The path of a folder ends in a
    /// slash. Folders and files of version control or of Sectile are not listed.
    pub left_out: Vec<(String, LeftOutReason)>,
}

/// The reason a walk leaves something out on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// Its name begins with a dot.
    Hidden,
    /// A `.gitignore` or `.ignore` file, or a pattern of the walk, leaves it out.
    Ignored,
}

/// The reason a walk does not take something for a document.
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
    /// A name that is not UTF-8, or that no [`NotePath`] can hold.
    OddName,
}

/// Number of bytes that are read of an ignore file.
const MOST_IGNORE_BYTES: u64 = 1 << 20;

impl Default for Walk {
    fn default() -> Self {
        Self {
            include: Vec::new(),
            exclude: Vec::new(),
            included: Gitignore::empty(),
            excluded: Gitignore::empty(),
            hidden: PathRules::default(),
            readable: PathRules::default(),
            has_mdx: false,
        }
    }
}

impl Walk {
    /// Selects documents that match a pattern of `include`, or all if there is none, except those that match a pattern
    /// of `exclude`. A pattern that matches a folder applies to everything in it.
    ///
    /// # Errors
    /// [`PatternError`] for the first invalid pattern.
    pub fn new(include: Vec<String>, exclude: Vec<String>) -> Result<Self, PatternError> {
        Ok(Self {
            included: matcher(&include)?,
            excluded: matcher(&exclude)?,
            include,
            exclude,
            ..Self::default()
        })
    }

    /// Returns the walk without the paths that `rules` cover. Nothing in a hidden folder is exempt.
    #[must_use]
    pub fn hiding(self, rules: PathRules) -> Self {
        Self {
            hidden: rules,
            ..self
        }
    }

    /// Returns the walk for which only files that `rules` cover exist, or all files if there are no rules.
    #[must_use]
    pub fn reading(self, rules: PathRules) -> Self {
        Self {
            readable: rules,
            ..self
        }
    }

    /// Returns the walk for which files whose names end in .mdx are documents too.
    #[must_use]
    pub fn with_mdx(self) -> Self {
        Self {
            has_mdx: true,
            ..self
        }
    }

    /// Returns whether the name of a file says that it is a document.
    #[must_use]
    pub fn is_document(&self, path: &NotePath) -> bool {
        let ending = path.file_name().rsplit_once('.').map(|(_, ending)| ending);
        let is_mdx = || ending.is_some_and(|ending| ending.eq_ignore_ascii_case("mdx"));
        is_markdown(path) || (self.has_mdx && is_mdx())
    }

    /// Returns whether the rules of the walk hide a file at `path`.
    #[must_use]
    pub fn hides(&self, path: &NotePath) -> bool {
        self.hidden.enclose(path.as_str(), false) || !self.may_be_read(path.as_str())
    }

    /// Returns whether the rules of the walk hide a folder at `path` with everything in it. A folder may be visible
    /// although nothing in it is.
    #[must_use]
    pub fn hides_folder(&self, path: &NotePath) -> bool {
        self.hidden.enclose(path.as_str(), true)
    }

    /// Returns whether the rules of the walk show a folder at `path`, whatever is in it. Where only some paths may be
    /// read, other folders are visible only if something in them is.
    #[must_use]
    pub fn shows_folder(&self, path: &NotePath) -> bool {
        !self.hides_folder(path) && self.reads_folder(path)
    }

    fn reads_folder(&self, path: &NotePath) -> bool {
        self.readable.is_empty() || self.readable.cover_folder(path)
    }

    /// Like [`Self::hides`], for an entry of a folder that is not hidden.
    fn hides_entry(&self, path: &str, is_folder: bool) -> bool {
        (!self.hidden.is_empty() && self.hidden.cover_at(path, is_folder))
            || (!is_folder && !self.may_be_read(path))
    }

    fn may_be_read(&self, path: &str) -> bool {
        self.readable.is_empty() || self.readable.cover_at(path, false)
    }

    /// Returns whether the walk has no rules about what may be read.
    #[must_use]
    pub fn reads_everything(&self) -> bool {
        self.readable.is_empty()
    }

    /// Returns whether the walk has rules that hide something.
    pub(crate) fn hides_something(&self) -> bool {
        !self.hidden.is_empty() || !self.readable.is_empty()
    }

    /// Returns whether the rules that hide may hold for something in one of two folders and not for the same thing in
    /// the other.
    pub(crate) fn tells_apart(&self, one: &NotePath, other: &NotePath) -> bool {
        !self.reads_folder(one)
            || !self.reads_folder(other)
            || self.hidden.tell_apart(one, other)
            || self.readable.tell_apart(one, other)
    }

    /// Returns the same walk without include patterns.
    pub(crate) fn without_includes(&self) -> Self {
        Self {
            include: Vec::new(),
            included: Gitignore::empty(),
            ..self.clone()
        }
    }

    /// Returns the same walk without rules that hide.
    pub(crate) fn of_everything(&self) -> Self {
        let all = PathRules::default();
        self.clone().hiding(all.clone()).reading(all)
    }

    /// Returns the patterns that a document must match.
    #[must_use]
    pub fn include(&self) -> &[String] {
        &self.include
    }

    /// Returns the patterns that a document must not match.
    #[must_use]
    pub fn exclude(&self) -> &[String] {
        &self.exclude
    }

    /// Returns whether a document at `path` below the root matches the include patterns. Exclude patterns are not
    /// checked here.
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
    build_matcher(patterns, LetterCase::Matters)
}

/// Returns a matcher for one pattern, whatever the letter case of a path.
fn matcher_ignoring_case(pattern: &str) -> Result<Gitignore, PatternError> {
    build_matcher(&[pattern.to_owned()], LetterCase::MayDiffer)
}

fn build_matcher(patterns: &[String], case: LetterCase) -> Result<Gitignore, PatternError> {
    let mut builder = GitignoreBuilder::new("");
    builder.allow_unclosed_class(false);
    let set = builder.case_insensitive(case == LetterCase::MayDiffer);
    set.map_err(|error| PatternError {
        pattern: patterns.join(" "),
        reason: error.to_string(),
    })?;
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
    /// Returns the Markdown documents below the root, sorted by path. Hidden files, files that version control ignores,
    /// and files whose name is not UTF-8 are left out. `stop` says whether the caller has given up.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read, or `stop` returned `true`.
    pub fn walk(&self, walk: &Walk, stop: &dyn Fn() -> bool) -> Result<Vec<NotePath>, WalkError> {
        Ok(self.files(walk, stop)?.documents)
    }

    /// Like [`Self::walk`], with everything that was passed over.
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

    /// Like [`Self::walk`], with the files that are not documents.
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
                // The folder is gone, or we may not read it; then the same holds for the documents in it.
                Err(error) => {
                    let why = ExclusionReason::Unreadable(error.kind());
                    found.passed_over.push((folder.path.clone(), why));
                    found.skipped.push(folder.path);
                }
            }
        }
        found.documents.sort();
        found.others.sort();
        if !walk.readable.is_empty() {
            found.drop_unseen_folders(walk);
        }
        Ok(found)
    }
}

/// The files below a root.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) documents: Vec<NotePath>,
    /// Files that are not documents, such as pictures.
    pub(crate) others: Vec<NotePath>,
    /// Folders that were read, without the root itself.
    pub(crate) folders: Vec<String>,
    /// Entries that exist and were passed over: hidden, ignored, or behind a link.
    pub(crate) skipped: Vec<String>,
    /// The links among the skipped entries.
    pub(crate) links: Vec<String>,
    /// Entries that are neither hidden nor ignored, and yet are not files that can be read.
    pub(crate) passed_over: Vec<(String, ExclusionReason)>,
    /// Documents and folders that are hidden or ignored.
    pub(crate) left_out: Vec<(String, LeftOutReason)>,
    /// Files with their stamps, instead of `documents` and `others`.
    pub(crate) listing: Option<Listing>,
}

impl Files {
    /// Drops the folders in which nothing is visible.
    fn drop_unseen_folders(&mut self, walk: &Walk) {
        let files = self.documents.iter().chain(&self.others);
        let paths = files.map(NotePath::as_str);
        let skipped = self.skipped.iter().map(String::as_str);
        let paths = paths.chain(skipped.filter(|path| walk.may_be_read(path)));
        let seen: HashSet<&str> = paths
            .flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end]))
            .collect();
        self.folders.retain(|folder| seen.contains(folder.as_str()));
    }
}

/// A folder that is still to be read.
#[derive(Clone)]
struct PendingFolder {
    /// Path below the root; empty for the root itself.
    path: String,
    /// Rules of the folders above.
    rules: Option<Rc<Rules>>,
}

/// The ignore rules of one folder, which hold in it and below.
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
                    if walk.hides_entry(&path, kind.is_dir()) {
                        continue;
                    }
                    found.passed_over.push((path, ExclusionReason::OddName));
                    continue;
                }
            };
            let path = joined(&self.path, &name);
            if walk.hides_entry(&path, kind.is_dir()) {
                continue;
            }
            let left_out = why_left_out(&name, &path, kind.is_dir(), walk, rules.as_deref());
            let ignored = left_out.is_some();
            // A name with a backslash would be read as a different path.
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
                } else if kind.is_file() && note.as_ref().is_some_and(|note| walk.is_document(note))
                {
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
                        listing.take(note, &entry, walk, &mut found.others);
                    }
                }
                Some(note) if kind.is_file() && !ignored && !walk.is_document(&note) => {
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
    /// Reads the rules that hold in a folder.
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

    /// Returns whether `path` is ignored. The nearest rule that matches it decides, and `.ignore` comes before
    /// `.gitignore`.
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

/// Returns whether something called `name`, at `path` below the root, is hidden, private, excluded or ignored.
fn is_left_out(
    name: &str,
    path: &str,
    is_folder: bool,
    walk: &Walk,
    rules: Option<&Rules>,
) -> bool {
    walk.hides_entry(path, is_folder) || why_left_out(name, path, is_folder, walk, rules).is_some()
}

/// Returns the reason it is left out, if it is.
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

/// Returns whether nobody would look for documents in something with this name.
fn is_machinery(name: &str) -> bool {
    is_private(name) || name == ".git"
}

/// Reads the rules in the file `name`, if it is one.
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
        // A line that cannot be parsed ignores nothing, as in git.
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
