//! The editor and the index of one folder together, with the names that paths and ids give.

use std::{path::Path, sync::Arc};

use sectile_library::{
    LibraryError,
    live_folder::{LiveFolder, LiveFolderOptions},
};
use sectile_markdown::LetterCase;
use sectile_vault::{
    Editor, NotePath, RootError,
    editor::{
        CallHooks, EditorError, EditorOptions, SectionRef, UndoRequest, WriteReport, WriteRequest,
    },
};

/// The editor and the index of one folder.
pub(super) struct EditableFolder {
    pub(super) editor: Editor,
    pub(super) index: Arc<LiveFolder>,
}

/// Something that an id names.
#[derive(Clone, Debug)]
pub(super) enum FoundTarget {
    Top,
    Folder(NotePath),
    Document(NotePath),
    Section { path: NotePath, id: String },
}

/// The reason why an id names nothing.
#[derive(Debug)]
pub(super) enum FindError {
    Malformed(&'static str),
    Several(Vec<NearName>),
    NotFound(Vec<NearName>),
    Deleted { entry: u64 },
    Editor(EditorError),
    Library(LibraryError),
}

/// A name that may have been meant.
#[derive(Clone, Debug)]
pub(super) struct NearName {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) place: String,
}

impl EditableFolder {
    pub(super) fn open(
        location: &Path,
        editor: EditorOptions,
        index: LiveFolderOptions,
    ) -> Result<Self, RootError> {
        Ok(Self {
            editor: Editor::folder(location, editor)?,
            index: LiveFolder::open(index)?,
        })
    }

    pub(super) fn find(
        &self,
        id: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<FoundTarget, FindError> {
        if ["", ".", "/"].contains(&id) {
            return Ok(FoundTarget::Top);
        }
        let section = |path: Option<&NotePath>, section: &SectionRef| {
            let found = self
                .editor
                .find_section(path, section, LetterCase::MayDiffer);
            let (view, position) = found.map_err(|error| match error {
                EditorError::SectionDeleted { entry, .. } => FindError::Deleted { entry },
                EditorError::SectionNotFound { .. } => FindError::NotFound(Vec::new()),
                error => FindError::Editor(error),
            })?;
            let id = view.ids().get(position).cloned().unwrap_or_default();
            let path = view.path().clone();
            Ok(FoundTarget::Section { path, id })
        };
        if self.editor.knows(id) {
            let reference = SectionRef {
                id: Some(id.to_owned()),
                heading: None,
            };
            return section(None, &reference);
        }
        let (path, name) = match id.split_once('#') {
            Some((path, name)) => (path, Some(name)),
            None => (id.trim_end_matches('/'), None),
        };
        let path = NotePath::parse_vault(path)
            .map_err(|_| FindError::Malformed("it is not a path below the folder"))?;
        if let Some(name) = name {
            let (id, heading) = match self.editor.knows(name) {
                true => (Some(name.to_owned()), None),
                false => (None, Some(name.to_owned())),
            };
            return section(Some(&path), &SectionRef { id, heading });
        }
        let state = self.index.complete(stop).map_err(FindError::Library)?;
        if state.note(&path).is_some() {
            return Ok(FoundTarget::Document(path));
        }
        let is_inside = |note: &NotePath| {
            let rest = note.as_str().strip_prefix(path.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        match state.notes().iter().any(|note| is_inside(&note.path)) {
            true => Ok(FoundTarget::Folder(path)),
            false => Err(FindError::NotFound(Vec::new())),
        }
    }

    pub(super) fn write(
        &self,
        request: &WriteRequest,
        hooks: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        self.editor.write(request, hooks)
    }

    pub(super) fn undo(
        &self,
        request: &UndoRequest,
        hooks: CallHooks<'_>,
    ) -> Result<WriteReport, EditorError> {
        self.editor.undo(request, hooks)
    }
}
