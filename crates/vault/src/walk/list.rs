//! The files of one folder with what the system says of each, none of them opened.

use std::{io, rc::Rc};

use cap_std::fs::{Dir, DirEntry, Metadata};

use super::{Files, PendingFolder, Rules, Walk, WalkError, is_left_out, joined};
use crate::{
    NotePath, Root,
    editor::is_markdown,
    fs::{is_link_loop, is_out_of_descriptors, open_folder},
};

/// What changes when a file does, as the system tells it. Equal stamps most likely mean equal bytes; whoever must be
/// sure reads the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStamp {
    /// Length.
    pub bytes: u64,
    /// Last change of the bytes, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Last change of anything about the file, in nanoseconds since 1970, or 0 where the system does not tell.
    pub changed_ns: i64,
    /// The number of the file, or 0 where it has none.
    pub file: u64,
}

/// Which files of a folder are asked for, and those that were found.
#[derive(Debug)]
pub(crate) struct Listing {
    wanted: ListingScope,
    files: Vec<(NotePath, FileStamp)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListingScope {
    Documents,
    EveryFile,
}

impl Root {
    /// The Markdown documents below `folder`, which lies directly below the root: paths from there, and stamps, sorted by
    /// path. What counts is what [`Root::walk`] says.
    ///
    /// # Errors
    /// [`WalkError`] when `folder` is no folder (a link to one is none), cannot be read, or `stop` said so.
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

    /// Like [`Self::list`], for the root itself: every document that [`Root::walk`] comes to, with its stamp.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read, or `stop` said so.
    pub fn list_all(
        &self,
        walk: &Walk,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<(NotePath, FileStamp)>, WalkError> {
        let root = self.dir().map_err(unreadable)?;
        list_below(&root, &top(), walk, stop, ListingScope::Documents)
    }

    /// The Markdown documents that lie directly in the root, with stamps, sorted. Folders are not looked into.
    ///
    /// # Errors
    /// [`WalkError`] when the root cannot be read, or `stop` said so.
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

    /// Whether a document that `is_wanted` lies directly in the root, by its name alone. What counts is what [`Root::walk`]
    /// says.
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
                    && is_markdown(&path)
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

    /// Like [`Self::list`], with every file of a folder anywhere below the root. Patterns that documents must fit say
    /// nothing of it; what is hidden, excluded or ignored is still left out, and so is a folder that is.
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

    /// The folders directly below the root, sorted: those that are not hidden, excluded, ignored or links, and whose name
    /// a [`NotePath`] can hold.
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

    /// The folders directly below the root that are not hidden, links to folders among them, sorted. For watching them.
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

    /// Whether `name` is one of [`Self::visible_folders`].
    #[must_use]
    pub fn is_visible_folder(&self, name: &str) -> bool {
        !name.starts_with('.') && !name.contains('/') && self.leads_to_folder(name)
    }

    /// Whether a walk would come to `file`: nothing on the way to it is hidden, excluded, ignored or a link, and the first
    /// part of the path is spelled as on the disk, also where the disk takes other spellings. The file itself need not be
    /// there.
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
                    // It is gone, a link, or a file.
                    Err(_) => return Ok(false),
                };
                folder = PendingFolder { path, rules };
            }
        }
        Ok(true)
    }

    /// Whether a file at `file`, a path without links, is or would be a document of a walk: nothing on the way to it is
    /// hidden, excluded, ignored or a link. Neither it nor the folders above it need be there.
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
                    // It is a link, or a file.
                    Some(Err(_)) => return Ok(false),
                };
                folder = PendingFolder { path, rules };
            }
        }
        Ok(is_markdown(file) && walk.includes(file.as_str()))
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

/// The files below `folder`, which is open as `base`: paths from the root, and stamps, sorted.
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
        // Paths are those from the root, for the rules; folders are opened from the one that was asked for.
        let below = next.path.strip_prefix(&folder.path).unwrap_or_default();
        let opened = match below.trim_start_matches('/') {
            "" => base.try_clone(),
            below => open_folder(base, below),
        };
        let is_base = below.is_empty();
        match opened.and_then(|dir| next.read(&dir, walk, &mut found, &mut folders)) {
            Err(error) if is_base => return Err(unreadable(error)),
            // It went away, or is not ours to read; then so are the files in it.
            Ok(()) | Err(_) => {}
        }
    }
    let mut files = found.listed();
    files.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(files)
}

impl Files {
    /// Where files are put with their stamps, instead of documents and others.
    fn listing(wanted: ListingScope) -> Self {
        Self {
            listing: Some(Listing {
                wanted,
                files: Vec::new(),
            }),
            ..Self::default()
        }
    }

    fn listed(self) -> Vec<(NotePath, FileStamp)> {
        self.listing
            .map(|listing| listing.files)
            .unwrap_or_default()
    }
}

impl Listing {
    pub(super) fn take(&mut self, file: NotePath, entry: &DirEntry, walk: &Walk) {
        let is_wanted = match self.wanted {
            ListingScope::Documents => is_markdown(&file) && walk.includes(file.as_str()),
            ListingScope::EveryFile => true,
        };
        if !is_wanted {
            return;
        }
        // Asked of the open folder, without following a link that came in its place.
        if let Ok(metadata) = entry.metadata()
            && metadata.is_file()
        {
            self.files.push((file, stamp(&metadata)));
        }
    }
}

fn top() -> PendingFolder {
    PendingFolder {
        path: String::new(),
        rules: None,
    }
}

/// The rules of the folders above `path`, or `None` when one of them leaves it out.
fn rules_above(
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

/// Whether the folder has something called exactly so.
fn has_entry(dir: &Dir, name: &str) -> Result<bool, WalkError> {
    for entry in dir.entries().map_err(unreadable)? {
        if entry.map_err(unreadable)?.file_name().to_str() == Some(name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the paths of files in a folder of this name can be written.
fn can_hold_notes(folder: &str) -> bool {
    let inside = joined(folder, "x");
    NotePath::parse_vault(&inside).is_ok_and(|path| path.as_str() == inside)
}

fn unreadable(error: io::Error) -> WalkError {
    if is_out_of_descriptors(&error) {
        return WalkError::TooManyOpenFiles;
    }
    // A link in place of a folder is no folder; systems have two words for that.
    WalkError::Unreadable(if is_link_loop(&error) {
        io::ErrorKind::NotADirectory
    } else {
        error.kind()
    })
}

#[cfg(unix)]
fn stamp(metadata: &Metadata) -> FileStamp {
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
fn stamp(metadata: &Metadata) -> FileStamp {
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
