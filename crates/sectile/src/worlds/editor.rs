//! The `editor` world: sections of Markdown documents, edited so that nothing is lost.
//!
//! The work is done by `sectile_vault::editor`; this is its contract: arguments, answers, errors, resources, prompts.

mod answers;
mod documents;
mod errors;
mod metadata;
mod open;
mod paging;
mod params;
mod prompts;
mod resources;
mod settings;
mod tools;
mod watcher;

use std::path::Path;

use sectile_markdown::LetterCase;
use sectile_mcp::{CallContext, Failure, ResourceNotice, UnknownTool, WorldSpec};
use sectile_vault::{
    NotePath, RootError,
    editor::{Editor, EditorError, EditorLimits, EditorOptions},
};
use tokio::sync::broadcast;

use self::errors::CallSubject;
pub(crate) use self::{
    errors::{ErrorStyle, error_object, failure},
    open::ENTRY,
    settings::{EditorSection, EditorSettings},
};

/// State of the world.
pub(crate) struct EditorWorld {
    editor: Editor,
    notices: broadcast::Sender<ResourceNotice>,
    /// Longest text of one answer, in bytes.
    max_answer_bytes: usize,
    /// Reports what other programs do, until it is dropped.
    _watcher: Option<watcher::FolderWatcher>,
}

/// Number of notices by which a slow listener may fall behind before it misses some; a round number.
const NOTICES: usize = 256;

/// The extent of what is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditedTarget {
    /// One document: the contract as it is, without tools for other documents.
    Document,
    /// All documents below a folder.
    Folder,
}

/// The contract of the world.
pub(crate) fn spec(extent: EditedTarget, errors: ErrorStyle) -> WorldSpec<EditorWorld> {
    WorldSpec {
        tools: tools::table(extent),
        absent: tools::absent(extent),
        resources: Some(match extent {
            EditedTarget::Document => resources::OF_DOCUMENT,
            EditedTarget::Folder => resources::OF_FOLDER,
        }),
        prompts: prompts::table(),
        complete: Some(prompts::complete),
        sessions: true,
        unknown_tool: UnknownTool::Code(-32601),
        ..WorldSpec::new(
            "editor",
            match extent {
                EditedTarget::Document => include_str!("editor/instructions_document.md"),
                EditedTarget::Folder => include_str!("editor/instructions_folder.md"),
            },
            errors.envelope(),
            errors::list,
        )
    }
}

impl EditorWorld {
    /// Opens a file or a folder. Changes that an earlier process of this user left half done are settled, unless nothing
    /// may be written.
    pub(crate) fn open(
        location: &Path,
        options: EditorOptions,
        max_answer_bytes: usize,
    ) -> Result<(Self, EditedTarget), RootError> {
        // A text that is not shown as a whole must not be replaced by a part of it.
        let options = EditorOptions {
            limits: EditorLimits {
                max_shown_bytes: max_answer_bytes,
                ..options.limits
            },
            ..options
        };
        let (editor, extent) = match Editor::folder(location, options.clone()) {
            Err(RootError::NotAFolder) => {
                (Editor::document(location, options)?, EditedTarget::Document)
            }
            editor => (editor?, EditedTarget::Folder),
        };
        let (notices, _) = broadcast::channel(NOTICES);
        Ok((
            Self {
                editor,
                notices,
                max_answer_bytes,
                _watcher: None,
            },
            extent,
        ))
    }

    /// Returns how many levels up the nearest folder with a history of its own is, if there is one.
    pub(crate) fn history_above(&self) -> Option<usize> {
        self.editor.root().nearest_history_above()
    }

    /// Returns whether `id` names a section, now or before.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.editor.knows(id)
    }

    /// Returns the id of the section to change, named by id or by heading. A heading must match exactly as written: a
    /// section that only looks similar is never changed.
    pub(crate) fn section_to_change(
        &self,
        path: &NotePath,
        named: &str,
    ) -> Result<String, Failure> {
        let section = match self.knows(named) {
            true => params::section(Some(named.to_owned()), None),
            false => params::section(None, Some(named.to_owned())),
        };
        let found = self
            .editor
            .find_section(Some(path), &section, LetterCase::Matters);
        let context = CallContext::without_client();
        let about = || CallSubject::document(path, &context).section(&section);
        let (view, position) = found.map_err(|error| self.failure(&error, &about()))?;
        let id = view.ids().get(position).cloned();
        id.ok_or_else(|| self.failure(&EditorError::DocumentNotFound, &about()))
    }

    /// Forgets history for good: up to the last entry about `path`, or that holds `text`, or all of it. The folders
    /// `derived` inside the private folder, which may hold the text and can be rebuilt, are removed too.
    pub(crate) fn purge(
        &self,
        path: Option<&NotePath>,
        text: Option<&str>,
        derived: &[&str],
    ) -> Result<usize, Failure> {
        if text.is_some() {
            for folder in derived {
                let removed = self.editor.root().remove_private(folder);
                removed.map_err(|error| failure(&EditorError::Io(error.kind())))?;
            }
        }
        self.editor
            .purge(path, text)
            .map_err(|error| failure(&error))
    }

    /// Starts to watch for changes that other programs make.
    pub(crate) fn watch(mut self) -> Self {
        self._watcher = watcher::FolderWatcher::start(&self.editor, self.notices.clone());
        self
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
