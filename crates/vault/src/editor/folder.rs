//! The documents on disk: which paths are documents, where their files really are, and what they contain.

use sectile_markdown::name_key;

use super::{EditorError, EditorOptions, is_markdown};
use crate::{
    NotePath, PathRules, ReadError, Root, Walk,
    fs::{LocatedNote, PrivateFolder},
    walk::Files,
};

/// The folder of the documents. All of them can be edited, or just one.
#[derive(Debug)]
pub(super) struct DocumentFolder {
    pub(super) root: Root,
    /// The one document, unless the whole folder is edited.
    pub(super) only: Option<NotePath>,
    /// What callers see.
    walk: Walk,
    /// The same with what is hidden from them.
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
    pub(super) fn files(&self, stop: &dyn Fn() -> bool) -> Result<Files, EditorError> {
        match &self.only {
            Some(only) => Ok(Files {
                documents: vec![only.clone()],
                ..Files::default()
            }),
            None => Ok(self.root.files(&self.walk, stop)?),
        }
    }

    /// The bytes of the document at `path`.
    pub(super) fn read(&self, path: &NotePath) -> Result<Vec<u8>, EditorError> {
        self.root
            .read(path, self.max_document_bytes)
            .map_err(|error| self.missing(error))
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
        if self.only.is_some() || path.segments().any(|segment| segment.starts_with('.')) {
            return Err(EditorError::FolderNotFound);
        }
        let dir = self.root.dir().map_err(|error| self.refusal(error))?;
        let removed = match dir.symlink_metadata(path.as_str()) {
            Ok(metadata) if metadata.is_dir() => dir.remove_dir(path.as_str()),
            Ok(_) => return Err(EditorError::FolderNotFound),
            Err(error) => Err(error),
        };
        removed.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                EditorError::FolderNotFound
            }
            std::io::ErrorKind::DirectoryNotEmpty => EditorError::FolderNotEmpty,
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
    pub(super) fn may_change(&self, path: &NotePath) -> bool {
        let located = self.locate(path);
        located.is_ok_and(|located| located.check_writable().is_ok())
            && self.check_target(path).is_ok()
    }
}

/// Parses a path from the journal.
pub(super) fn recorded_path(path: &str) -> Result<NotePath, EditorError> {
    NotePath::parse_vault(path).map_err(|_| EditorError::OutsideRoot)
}
