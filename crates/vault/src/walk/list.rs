//! Lists the files of a folder with their metadata, without opening them.

use std::{io, rc::Rc};

use cap_std::fs::{Dir, DirEntry, Metadata};

use super::{Files, PendingFolder, Rules, Walk, WalkError, is_left_out, joined};
use crate::{
    NotePath, Root,
    fs::{is_link_loop, is_out_of_descriptors, open_folder},
};

/// Metadata of a file that changes when the file does. Equal stamps most likely mean equal bytes; callers that must be
/// sure read the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    /// Length in bytes.
    pub bytes: u64,
    /// Last change of the bytes, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Last change of anything about the file, in nanoseconds since 1970, or 0 if the system does not report it.
    pub changed_ns: i64,
    /// The inode number, or 0 if there is none.
    pub file: u64,
}

/// The kind of files to list, and those that were found.
#[derive(Debug)]
pub(crate) struct Listing {
    wanted: ListingScope,
    files: Vec<(NotePath, FileStamp)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingScope {
    Documents,
    /// Documents with their stamps, and the other files without.
    DocumentsAndOthers,
    EveryFile,
}

impl Root {
    /// Lists the Markdown documents below `folder`, which is directly below the root: paths relative to `folder`, and
    /// stamps, sorted by path. The documents are those that [`Root::walk`] finds.
    ///
    /// # Errors
    /// [`WalkError`] when `folder` is not a folder (a link to one is not), cannot be read, or `stop` returned `true`.
    pub fn list(
        &self,
        folder: &str,
        walk: &Walk,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<(NotePath, FileStamp)>, WalkError> {
        if folder.contains('/') {
            return Err(WalkError::Unreadable(io::ErrorKind::NotFound));
        }
        self.listed(folder, walk, stop, ListingScope::Documents)
    }

    /// Like [`Self::list`], for the root itself: every document that [`Root::walk`] finds, with its stamp.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read, or `stop` returned `true`.
    pub fn list_all(
        &self,
        walk: &Walk,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<(NotePath, FileStamp)>, WalkError> {
        let root = self.dir().map_err(unreadable)?;
        list_below(&root, &top(), walk, stop, ListingScope::Documents)
    }

    /// Returns the stamp of the file at `note`, if there is a file. Links are not followed.
    #[must_use]
    pub fn stamp(&self, note: &NotePath) -> Option<FileStamp> {
        self.stamps([note]).pop().flatten()
    }

    /// Returns the stamps of several files, as [`Self::stamp`] does.
    #[must_use]
    pub fn stamps<'n>(
        &self,
        notes: impl IntoIterator<Item = &'n NotePath>,
    ) -> Vec<Option<FileStamp>> {
        let dir = self.dir().ok();
        let stamp_of = |note: &NotePath| {
            let metadata = dir.as_ref()?.symlink_metadata(note.as_str()).ok()?;
            metadata.is_file().then(|| stamp(&metadata))
        };
        notes.into_iter().map(stamp_of).collect()
    }

    /// Lists the Markdown documents directly in the root, with stamps, sorted. Folders are not read.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read, or `stop` returned `true`.
    pub fn list_top(
        &self,
        walk: &Walk,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<(NotePath, FileStamp)>, WalkError> {
        if stop() {
            return Err(WalkError::Stopped);
        }
        let dir = self.dir().map_err(unreadable)?;
        let mut found = Files::listing(ListingScope::Documents);
        let mut below = Vec::new();
        top()
            .read(&dir, walk, &mut found, &mut below)
            .map_err(unreadable)?;
        let mut files = found.listed();
        files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(files)
    }

    /// Returns whether a document that `is_wanted` is directly in the root, by its name alone. The documents are those
    /// that [`Root::walk`] finds.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read.
    pub fn has_at_top(
        &self,
        walk: &Walk,
        is_wanted: &dyn Fn(&NotePath) -> bool,
    ) -> Result<bool, WalkError> {
        let dir = self.dir().map_err(unreadable)?;
        let rules = Rules::read(&dir, &top());
        for entry in dir.entries().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let Some(name) = entry.file_name().into_string().ok().filter(|_| is_file) else {
                continue;
            };
            let path = NotePath::parse_vault(&name).ok();
            let counts = path.is_some_and(|path| {
                path.as_str() == name
                    && walk.is_document(&path)
                    && is_wanted(&path)
                    && walk.includes(&name)
                    && !is_left_out(&name, &name, false, walk, rules.as_deref())
            });
            if counts {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Like [`Self::list`], with every file of a folder anywhere below the root. Include patterns do not apply;
    /// whatever is hidden, excluded or ignored is still left out, even `folder` itself.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn list_files(
        &self,
        folder: &str,
        walk: &Walk,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<(NotePath, FileStamp)>, WalkError> {
        self.listed(folder, walk, stop, ListingScope::EveryFile)
    }

    /// Lists the folders directly below the root, sorted: those that are not hidden, excluded, ignored or links, and
    /// whose name a [`NotePath`] can hold.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read.
    pub fn folders(&self, walk: &Walk) -> Result<Vec<String>, WalkError> {
        let dir = self.dir().map_err(unreadable)?;
        let rules = Rules::read(&dir, &top());
        let mut folders = Vec::new();
        for entry in dir.entries().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let Some(name) = entry.file_name().into_string().ok().filter(|_| is_folder) else {
                continue;
            };
            if can_hold_notes(&name) && !is_left_out(&name, &name, true, walk, rules.as_deref()) {
                folders.push(name);
            }
        }
        folders.sort();
        Ok(folders)
    }

    /// Lists the folders directly below the root that are not hidden, including links to folders, sorted. For watching
    /// them.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read.
    pub fn visible_folders(&self) -> Result<Vec<String>, WalkError> {
        let dir = self.dir().map_err(unreadable)?;
        let mut folders = Vec::new();
        for entry in dir.entries().map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name().into_string();
            if let Ok(name) = name
                && self.is_visible_folder(&name)
            {
                folders.push(name);
            }
        }
        folders.sort();
        Ok(folders)
    }

    /// Returns whether `name` is one of [`Self::visible_folders`].
    #[must_use]
    pub fn is_visible_folder(&self, name: &str) -> bool {
        !name.starts_with('.') && !name.contains('/') && self.leads_to_folder(name)
    }

    /// Returns whether a walk would reach `file`: nothing on the way to it is hidden, excluded, ignored or a link, and
    /// the first part of the path is spelled as on the disk, even where the disk accepts other spellings. The file
    /// itself need not exist.
    ///
    /// # Errors
    /// [`WalkError`] when a folder on the way cannot be read.
    pub fn reaches(&self, file: &NotePath, walk: &Walk) -> Result<bool, WalkError> {
        let mut dir = self.dir().map_err(unreadable)?;
        let mut folder = top();
        let mut segments = file.segments().peekable();
        while let Some(segment) = segments.next() {
            let is_folder = segments.peek().is_some();
            let rules = Rules::read(&dir, &folder);
            let path = joined(&folder.path, segment);
            if is_left_out(segment, &path, is_folder, walk, rules.as_deref())
                || (folder.path.is_empty() && !has_entry(&dir, segment)?)
            {
                return Ok(false);
            }
            if is_folder {
                dir = match open_folder(&dir, segment) {
                    Ok(dir) => dir,
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        return Err(unreadable(error));
                    }
                    // The entry is gone, a link, or a file.
                    Err(_) => return Ok(false),
                };
                folder = PendingFolder { path, rules };
            }
        }
        Ok(true)
    }

    /// Returns whether a file at `file`, a path without links, is or would be a document of a walk: nothing on the way
    /// to it is hidden, excluded, ignored or a link. Neither it nor the folders above it need exist.
    pub(crate) fn counts(&self, file: &NotePath, walk: &Walk) -> Result<bool, WalkError> {
        let mut dir = Some(self.dir().map_err(unreadable)?);
        let mut folder = top();
        let mut segments = file.segments().peekable();
        while let Some(segment) = segments.next() {
            let is_folder = segments.peek().is_some();
            let rules = match &dir {
                Some(dir) => Rules::read(dir, &folder),
                None => folder.rules.clone(),
            };
            let path = joined(&folder.path, segment);
            if is_left_out(segment, &path, is_folder, walk, rules.as_deref()) {
                return Ok(false);
            }
            if is_folder {
                dir = match dir.as_ref().map(|dir| open_folder(dir, segment)) {
                    None => None,
                    Some(Ok(dir)) => Some(dir),
                    Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
                    Some(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                        return Err(unreadable(error));
                    }
                    // The entry is a link, or a file.
                    Some(Err(_)) => return Ok(false),
                };
                folder = PendingFolder { path, rules };
            }
        }
        Ok(walk.is_document(file) && walk.includes(file.as_str()))
    }

    fn listed(
        &self,
        folder: &str,
        walk: &Walk,
        stop: &dyn Fn() -> bool,
        wanted: ListingScope,
    ) -> Result<Vec<(NotePath, FileStamp)>, WalkError> {
        let absent = || WalkError::Unreadable(io::ErrorKind::NotFound);
        let path = NotePath::parse_vault(folder).map_err(|_| absent())?;
        if path.as_str() != folder || !can_hold_notes(folder) {
            return Err(absent());
        }
        let root = self.dir().map_err(unreadable)?;
        let rules = rules_above(&root, &path, walk)?.ok_or_else(absent)?;
        let base = open_folder(&root, folder).map_err(unreadable)?;
        let folder = PendingFolder {
            path: folder.to_owned(),
            rules,
        };
        let files = list_below(&base, &folder, walk, stop, wanted)?.into_iter();
        Ok(files
            .filter_map(|(file, stamp)| Some((file.below(&folder.path)?, stamp)))
            .collect())
    }
}

/// Lists the files below `folder`, which is open as `base`: paths from the root, and stamps, sorted.
fn list_below(
    base: &Dir,
    folder: &PendingFolder,
    walk: &Walk,
    stop: &dyn Fn() -> bool,
    wanted: ListingScope,
) -> Result<Vec<(NotePath, FileStamp)>, WalkError> {
    let mut found = Files::listing(wanted);
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        if stop() {
            return Err(WalkError::Stopped);
        }
        // Paths start at the root, for the rules; folders are opened from the requested one.
        let below = next.path.strip_prefix(&folder.path).unwrap_or_default();
        let opened = match below.trim_start_matches('/') {
            "" => base.try_clone(),
            below => open_folder(base, below),
        };
        let is_base = below.is_empty();
        match opened.and_then(|dir| next.read(&dir, walk, &mut found, &mut folders)) {
            Err(error) if is_base => return Err(unreadable(error)),
            // The folder is gone, or we may not read it; then the same holds for the files in it.
            Ok(()) | Err(_) => {}
        }
    }
    let mut files = found.listed();
    files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(files)
}

impl Files {
    /// Returns an empty collection that takes files with their stamps, instead of documents and others.
    pub(super) fn listing(wanted: ListingScope) -> Self {
        Self {
            listing: Some(Listing {
                wanted,
                files: Vec::new(),
            }),
            ..Self::default()
        }
    }

    pub(super) fn listed(self) -> Vec<(NotePath, FileStamp)> {
        self.listing
            .map(|listing| listing.files)
            .unwrap_or_default()
    }
}

impl Listing {
    /// Takes a file, unless it belongs to another list.
    pub(super) fn take(
        &mut self,
        file: NotePath,
        entry: &DirEntry,
        walk: &Walk,
        others: &mut Vec<NotePath>,
    ) {
        let is_document = walk.is_document(&file);
        if self.wanted == ListingScope::DocumentsAndOthers && !is_document {
            others.push(file);
            return;
        }
        let is_wanted = match self.wanted {
            ListingScope::Documents | ListingScope::DocumentsAndOthers => {
                is_document && walk.includes(file.as_str())
            }
            ListingScope::EveryFile => true,
        };
        if !is_wanted {
            return;
        }
        // Queried through the open folder, without following a link that replaced it.
        if let Ok(metadata) = entry.metadata()
            && metadata.is_file()
        {
            self.files.push((file, stamp(&metadata)));
        }
    }
}

pub(super) fn top() -> PendingFolder {
    PendingFolder {
        path: String::new(),
        rules: None,
    }
}

/// Returns the rules of the folders above `path`, or `None` if one of them leaves it out.
pub(super) fn rules_above(
    root: &Dir,
    path: &NotePath,
    walk: &Walk,
) -> Result<Option<Option<Rc<Rules>>>, WalkError> {
    let mut folder = top();
    let mut opened: Option<Dir> = None;
    let mut segments = path.segments().peekable();
    while let Some(segment) = segments.next() {
        let dir = opened.as_ref().unwrap_or(root);
        let rules = Rules::read(dir, &folder);
        let path = joined(&folder.path, segment);
        if is_left_out(segment, &path, true, walk, rules.as_deref()) {
            return Ok(None);
        }
        if segments.peek().is_some() {
            opened = Some(open_folder(dir, segment).map_err(unreadable)?);
        }
        folder = PendingFolder { path, rules };
    }
    Ok(Some(folder.rules))
}

/// Returns whether the folder has an entry with exactly this name.
fn has_entry(dir: &Dir, name: &str) -> Result<bool, WalkError> {
    for entry in dir.entries().map_err(unreadable)? {
        if entry.map_err(unreadable)?.file_name().to_str() == Some(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether files in a folder of this name can have a [`NotePath`].
fn can_hold_notes(folder: &str) -> bool {
    let inside = joined(folder, "x");
    NotePath::parse_vault(&inside).is_ok_and(|path| path.as_str() == inside)
}

pub(super) fn unreadable(error: io::Error) -> WalkError {
    if is_out_of_descriptors(&error) {
        return WalkError::TooManyOpenFiles;
    }
    // A link in place of a folder is not a folder; systems have two errors for that.
    WalkError::Unreadable(if is_link_loop(&error) {
        io::ErrorKind::NotADirectory
    } else {
        error.kind()
    })
}

#[cfg(unix)]
pub(crate) fn stamp(metadata: &Metadata) -> FileStamp {
    use cap_std::fs::MetadataExt as _;
    let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
    FileStamp {
        bytes: metadata.len(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        file: metadata.ino(),
    }
}

#[cfg(not(unix))]
pub(crate) fn stamp(metadata: &Metadata) -> FileStamp {
    let modified = metadata.modified().ok().and_then(|time| {
        let since = time.into_std().duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_nanos()).ok()
    });
    FileStamp {
        bytes: metadata.len(),
        modified_ns: modified.unwrap_or_default(),
        changed_ns: 0,
        file: 0,
    }
}

#[cfg(test)]
mod tests;
