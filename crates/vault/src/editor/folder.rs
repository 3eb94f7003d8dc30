//! The documents on disk: which paths are documents, where their files really are, and what they contain.

use sectile_markdown::name_key;

use super::{EditorError, EditorOptions, is_markdown};
use crate::{
    NotePath, PathRules, ReadError, Root, Walk,
    fs::{LocatedNote, OpenFolders, PathEntry, PrivateFolder, open_folder},
    journal::FolderMove,
    ledger::{EntryCard, Ledger, StepCard},
    walk::Files,
};

/// The files that an operation considers: those that callers see, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileVisibility {
    Visible,
    Everything,
}

/// The folder of the documents. All of them can be edited, or just one.
#[derive(Debug)]
pub(super) struct DocumentFolder {
    pub(super) root: Root,
    /// The one document, unless the whole folder is edited.
    pub(super) only: Option<NotePath>,
    /// What callers see.
    walk: Walk,
    /// Selects all documents, including those hidden from callers.
    everything: Walk,
    write: PathRules,
    read_only: bool,
    max_document_bytes: u64,
}

impl DocumentFolder {
    pub(super) fn new(root: Root, only: Option<NotePath>, options: &EditorOptions) -> Self {
        Self {
            root: root.with_private_limit(options.limits.most_private_bytes()),
            only,
            walk: options.visible_walk(),
            everything: options.walk.of_everything(),
            write: options.write.clone(),
            read_only: options.read_only,
            max_document_bytes: options.limits.max_document_bytes,
        }
    }

    /// The documents, sorted by path.
    pub(super) fn documents(&self, stop: &dyn Fn() -> bool) -> Result<Vec<NotePath>, EditorError> {
        match &self.only {
            Some(only) => Ok(vec![only.clone()]),
            None => Ok(self.root.walk(&self.walk, stop)?),
        }
    }

    /// The documents, and everything else that links may name.
    pub(super) fn files(
        &self,
        sight: FileVisibility,
        stop: &dyn Fn() -> bool,
    ) -> Result<Files, EditorError> {
        let walk = match sight {
            FileVisibility::Visible => &self.walk,
            FileVisibility::Everything => &self.everything,
        };
        match &self.only {
            Some(only) => Ok(Files {
                documents: vec![only.clone()],
                ..Files::default()
            }),
            None => Ok(self.root.files(walk, stop)?),
        }
    }

    /// The documents in a folder, sorted by path, with those that are hidden from callers.
    pub(super) fn everything_below(
        &self,
        folder: &NotePath,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<NotePath>, EditorError> {
        let inside = format!("{}/", folder.as_str());
        let mut all = self.root.walk(&self.everything, stop)?;
        all.retain(|path| path.as_str().starts_with(&inside));
        Ok(all)
    }

    /// The bytes of the document at `path`.
    pub(super) fn read(&self, path: &NotePath) -> Result<Vec<u8>, EditorError> {
        self.root
            .read(path, self.max_document_bytes)
            .map_err(|error| self.missing(error))
    }

    /// The bytes of the document at `path`, if its file has exactly this path and it takes no more than a look.
    pub(super) fn read_in_place(&self, path: &NotePath) -> Option<Vec<u8>> {
        self.check_path(path).ok()?;
        self.root.read_in_place(path, self.max_document_bytes)
    }

    /// The bytes of the file at `path`, however many, or `None` if there is no file.
    pub(super) fn read_any(&self, path: &NotePath) -> Result<Option<Vec<u8>>, EditorError> {
        match self.root.read(path, u64::MAX - 1) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The private folder, opened for writing.
    pub(super) fn private(&self) -> Result<PrivateFolder, EditorError> {
        if self.read_only {
            return Err(EditorError::ReadOnly);
        }
        self.root
            .make_private_folder()
            .map_err(|error| self.refusal(error))
    }

    /// The private folder, if it exists.
    pub(super) fn private_if_there(&self) -> Result<Option<PrivateFolder>, EditorError> {
        let folder = self.root.private_folder();
        folder.map_err(|error| self.refusal(error))
    }

    /// Finds the real location of the file at `path`.
    pub(super) fn locate(&self, path: &NotePath) -> Result<LocatedNote, EditorError> {
        self.root.locate(path).map_err(|error| self.missing(error))
    }

    /// Like [`Self::locate`], with folders that are open already.
    pub(super) fn locate_among(
        &self,
        path: &NotePath,
        open: &mut OpenFolders,
    ) -> Result<LocatedNote, EditorError> {
        let located = self.root.locate_among(path, open);
        located.map_err(|error| self.missing(error))
    }

    /// Finds the real locations of recorded paths, as far as the files can be found.
    pub(super) fn locate_all<'p>(
        &self,
        paths: impl Iterator<Item = &'p String>,
    ) -> Vec<LocatedNote> {
        let notes = paths.filter_map(|path| NotePath::parse_vault(path).ok());
        notes
            .filter_map(|note| self.root.locate(&note).ok())
            .collect()
    }

    /// Returns the path, without links, of the file that is or would be at `path`.
    pub(super) fn real_path(&self, path: &NotePath) -> Result<NotePath, EditorError> {
        self.root.resolve(path).map_err(|error| self.missing(error))
    }

    /// Refuses a path whose last part is a link. The operation would affect the document behind it and leave the link
    /// dangling.
    pub(super) fn refuse_link(&self, path: &NotePath) -> Result<(), EditorError> {
        self.check_path(path)?;
        let real = self.real_path(path)?;
        let folder = path.folder().map(NotePath::parse_vault).transpose();
        let beside = match folder.map_err(|_| EditorError::OutsideRoot)? {
            Some(folder) => format!("{}/{}", self.real_path(&folder)?.as_str(), path.file_name()),
            None => path.file_name().to_owned(),
        };
        // A disk may spell the name in another case.
        if name_key(&beside) == name_key(real.as_str()) {
            return Ok(());
        }
        // A target that is not a document is not named.
        if real.segments().any(|segment| segment.starts_with('.')) {
            return Err(EditorError::DocumentNotFound);
        }
        self.check_path(&real)?;
        Err(EditorError::IsLink {
            target: real.as_str().to_owned(),
        })
    }

    /// Removes a folder that has nothing in it.
    pub(super) fn remove_empty_folder(&self, path: &NotePath) -> Result<(), EditorError> {
        if self.read_only {
            return Err(EditorError::ReadOnly);
        }
        if self.only.is_some() {
            return Err(EditorError::FolderNotFound);
        }
        self.check_folder(path)?;
        self.check_folder_write_rules(path)?;
        use std::io::ErrorKind;
        let removed = self.root.remove_folder(path);
        removed.map_err(|error| match error.kind() {
            _ if !self.root.is_there() => EditorError::RootGone,
            ErrorKind::NotFound | ErrorKind::NotADirectory => EditorError::FolderNotFound,
            // The answer must not reveal hidden files.
            ErrorKind::DirectoryNotEmpty if !self.shows_something_in(path) => {
                EditorError::FolderNotFound
            }
            ErrorKind::DirectoryNotEmpty => EditorError::FolderNotEmpty,
            // There is a link on the way.
            _ if !matches!(self.root.has_folder(path), Ok(true)) => EditorError::FolderNotFound,
            _ => self.refusal(error),
        })
    }

    fn missing(&self, error: ReadError) -> EditorError {
        match error {
            ReadError::NotFound if !self.root.is_there() => EditorError::RootGone,
            error => error.into(),
        }
    }

    /// Converts a system error about something in the root.
    pub(super) fn refusal(&self, error: std::io::Error) -> EditorError {
        if self.root.is_there() {
            error.into()
        } else {
            EditorError::RootGone
        }
    }

    /// Refuses paths that are not documents of this editor.
    pub(super) fn check_path(&self, path: &NotePath) -> Result<(), EditorError> {
        match &self.only {
            Some(only) if only != path => Err(EditorError::DocumentNotFound),
            Some(_) => Ok(()),
            None if !is_markdown(path) => Err(EditorError::NotMarkdown),
            None if self.is_hidden(path) => Err(EditorError::DocumentNotFound),
            None => Ok(()),
        }
    }

    /// Refuses the path of a new document where callers would not see it.
    pub(super) fn check_new_path(&self, path: &NotePath) -> Result<(), EditorError> {
        match self.check_path(path) {
            Err(EditorError::DocumentNotFound) if self.is_hidden(path) => {
                Err(EditorError::NotADocument)
            }
            checked => checked,
        }
    }

    /// Refuses the path of a folder that callers do not see.
    pub(super) fn check_folder(&self, path: &NotePath) -> Result<(), EditorError> {
        if !self.sees_folder(path) || !self.may_hold_documents(path)? {
            return Err(EditorError::FolderNotFound);
        }
        Ok(())
    }

    /// Refuses the path of a new folder that callers would not see.
    pub(super) fn check_new_folder(&self, path: &NotePath) -> Result<(), EditorError> {
        if self.is_folder_hidden(path) || !self.may_hold_documents(path)? {
            return Err(EditorError::NotADocument);
        }
        Ok(())
    }

    /// Returns whether a document in the folder at `path` would be one, whatever the rules about callers.
    fn may_hold_documents(&self, path: &NotePath) -> Result<bool, EditorError> {
        let inside = format!("{}/x.md", path.as_str());
        match NotePath::parse_vault(&inside) {
            Ok(inside) => Ok(self
                .root
                .counts(&inside, &self.everything.without_includes())?),
            Err(_) => Ok(false),
        }
    }

    /// Refuses to move a folder if the rules hold for something in it by its path: then the move could show what is
    /// hidden, or let a caller write what it may not. This depends on the rules alone, so it says nothing about what is
    /// there.
    pub(super) fn check_folder_move(
        &self,
        from: &NotePath,
        to: &NotePath,
    ) -> Result<(), EditorError> {
        if self.walk.tells_apart(from, to) {
            return Err(EditorError::NotWritable {
                path: from.as_str().to_owned(),
            });
        }
        self.check_folder_write_rules(from)?;
        self.check_folder_write_rules(to)?;
        if self.write.tell_apart(from, to) {
            return Err(EditorError::NotWritable {
                path: from.as_str().to_owned(),
            });
        }
        Ok(())
    }

    fn check_folder_write_rules(&self, path: &NotePath) -> Result<(), EditorError> {
        let may_write = self.write.is_empty()
            || (self.write.cover_folder(path) && !self.write.tell_below(path));
        if may_write {
            return Ok(());
        }
        Err(EditorError::NotWritable {
            path: path.as_str().to_owned(),
        })
    }

    /// Refuses to move a document with its folder to a path where it would not be a document, or callers would no
    /// longer see it.
    pub(super) fn check_moved(
        &self,
        path: &NotePath,
        target: &NotePath,
        is_silent: bool,
    ) -> Result<(), EditorError> {
        if is_silent {
            return Ok(());
        }
        if self.is_hidden(target) {
            return Err(EditorError::NotADocument);
        }
        self.check_draft(path, false)?;
        self.check_draft(target, false)
    }

    /// Returns whether two paths differ only in letter case, which a disk may ignore.
    pub(super) fn is_spelling(&self, one: &NotePath, other: &NotePath) -> bool {
        name_key(one.as_str()) == name_key(other.as_str())
    }

    /// Returns whether anything in the folder at `path` is visible.
    fn shows_something_in(&self, path: &NotePath) -> bool {
        let opened = self.root.dir();
        let opened = opened.and_then(|dir| open_folder(&dir, path.as_str()));
        let Ok(entries) = opened.and_then(|dir| dir.entries()) else {
            return false;
        };
        let names = entries.flatten().map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().to_string_lossy().into_owned();
            (format!("{}/{name}", path.as_str()), is_folder)
        });
        let mut names = names.map(|(path, is_folder)| (NotePath::parse_vault(&path), is_folder));
        names.any(|(path, is_folder)| match path {
            Ok(path) if is_folder => {
                !self.is_folder_hidden(&path)
                    && (self.walk.reads_everything() || self.shows_something_in(&path))
            }
            Ok(path) => !self.is_hidden(&path),
            Err(_) => true,
        })
    }

    /// Returns whether something that callers see is at `path`.
    pub(super) fn sees(&self, path: &NotePath) -> bool {
        self.root.find(path).is_some_and(|found| match found {
            PathEntry::File(real) => !self.is_hidden(&real),
            PathEntry::Folder(real) => self.sees_folder(&real),
        })
    }

    /// Returns whether callers see the folder at `path`, if there is one.
    pub(super) fn sees_folder(&self, path: &NotePath) -> bool {
        self.shows_folder(path) || (!self.is_folder_hidden(path) && self.shows_something_in(path))
    }

    /// Returns whether the rules show a folder at `path`, whatever is in it.
    fn shows_folder(&self, path: &NotePath) -> bool {
        self.only.is_some() || self.walk.shows_folder(path)
    }

    /// Returns whether anything is hidden from callers.
    pub(super) fn hides_something(&self) -> bool {
        self.only.is_none() && self.walk.hides_something()
    }

    /// Returns whether the rules hide the folder at `path`.
    pub(super) fn is_folder_hidden(&self, path: &NotePath) -> bool {
        self.only.is_none() && self.walk.hides_folder(path)
    }

    /// Returns whether the rules hide the file at `path`, a path that need not be one of a document.
    pub(super) fn is_hidden_at(&self, path: &str) -> bool {
        self.hides_something()
            && NotePath::parse_vault(path).is_ok_and(|path| self.is_hidden(&path))
    }

    /// Returns whether the rules hide the file at `path`.
    pub(super) fn is_hidden(&self, path: &NotePath) -> bool {
        self.only.is_none() && self.walk.hides(path)
    }

    /// Refuses to write to `real`, a path without links, unless it is a document of this editor. Every change passes
    /// through here, whether a caller asked for it or the journal did.
    pub(super) fn check_target(&self, real: &NotePath) -> Result<(), EditorError> {
        self.check_path(real)?;
        if !self.is_document(real)? {
            return Err(EditorError::NotADocument);
        }
        self.check_write_rules(real)
    }

    /// Like [`Self::check_target`]. A document that is hidden from callers may be changed only silently.
    pub(super) fn check_draft(&self, real: &NotePath, is_silent: bool) -> Result<(), EditorError> {
        if !is_silent {
            return self.check_target(real);
        }
        if !self.is_document(real)? {
            return Err(EditorError::NotADocument);
        }
        self.check_write_rules(real)
    }

    /// Refuses to change `real`, a path without links, if the rules do not allow it.
    fn check_write_rules(&self, real: &NotePath) -> Result<(), EditorError> {
        if self.write.is_empty() || self.write.cover(real) {
            Ok(())
        } else {
            Err(EditorError::NotWritable {
                path: real.as_str().to_owned(),
            })
        }
    }

    /// Returns whether `real`, a path without links, is or would be a document of the folder. A single document that a
    /// person named is one, whatever its name.
    pub(super) fn is_document(&self, real: &NotePath) -> Result<bool, EditorError> {
        Ok(self.only.as_ref() == Some(real) || self.root.counts(real, &self.everything)?)
    }

    /// Returns whether the document at `path`, a path without links, may be changed, as far as can be told beforehand.
    pub(super) fn may_change(&self, path: &NotePath, is_silent: bool) -> bool {
        let located = self.locate(path);
        located.is_ok_and(|located| located.check_writable().is_ok())
            && self.check_draft(path, is_silent).is_ok()
    }
}

impl DocumentFolder {
    /// Returns whether the document of a step is hidden from callers: where it was, where it went, or where it is now.
    pub(super) fn is_step_hidden(&self, step: &StepCard, ledger: &Ledger) -> bool {
        if !self.hides_something() {
            return false;
        }
        let now = ledger.document_by_number(step.document);
        let now = now.and_then(|known| known.path.as_ref());
        let mut paths = std::iter::once(&step.path).chain(&step.moved_to).chain(now);
        paths.any(|path| self.is_hidden_at(path))
    }

    /// Returns whether an entry is about something that is hidden from callers, other than links that were repaired there
    /// for them. Such an entry is unknown to them as a whole.
    pub(super) fn is_entry_hidden(&self, card: &EntryCard, ledger: &Ledger) -> bool {
        let folder = card.folder.as_ref();
        let mut steps = card.steps.iter().filter(|step| !step.is_silent);
        steps.any(|step| self.is_step_hidden(step, ledger))
            || folder.is_some_and(|folder| !self.sees_move(folder))
    }

    /// Returns whether callers see that a folder was moved: the rules show it at both paths.
    pub(super) fn sees_move(&self, folder: &FolderMove) -> bool {
        let shows = |path: &str| {
            !self.hides_something()
                || NotePath::parse_vault(path).is_ok_and(|path| self.shows_folder(&path))
        };
        shows(&folder.from) && shows(&folder.to)
    }
}

/// Parses a path from the journal.
pub(super) fn recorded_path(path: &str) -> Result<NotePath, EditorError> {
    NotePath::parse_vault(path).map_err(|_| EditorError::OutsideRoot)
}
