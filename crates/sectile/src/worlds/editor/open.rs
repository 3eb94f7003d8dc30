//! Opens the editor world.

use sectile_mcp::Surface;
use sectile_vault::{JournalKey, editor::EditorOptions};

use super::{EditedTarget, EditorSettings, EditorWorld, ErrorStyle, now, spec};
use crate::{
    files,
    worlds::{OpenError, PathArgument, ServeContext, WorldEntry, journal_key},
};

pub(crate) static ENTRY: WorldEntry = WorldEntry {
    name: "editor",
    about: "Section edits of a document, or of a folder of documents, with undo",
    path: PathArgument::NearestRoot("editor.root", |settings| &mut settings.editor.root),
    is_http_only: false,
    error_setting: Some("editor.errors"),
    card: |_| spec(EditedTarget::Folder, ErrorStyle::Protocol).card(),
    open,
};

fn open(context: ServeContext<'_>) -> Result<Option<Surface>, OpenError> {
    let settings = &context.settings.editor;
    let Some(root) = &settings.root else {
        return context.without_folder(ENTRY.name);
    };
    let options = settings.options(context.read_only)?;
    let opened = EditorWorld::open(root, options, settings.max_answer_bytes);
    let (state, extent) = opened.map_err(|error| {
        let name = root.file_name().unwrap_or(root.as_os_str());
        let name = name.to_string_lossy();
        OpenError::failed(format_args!("`{name}` cannot be served: {error}."))
            .next("give a document or a folder: sectile serve editor PATH")
    })?;
    if let Some(levels) = state.history_above() {
        tracing::warn!(
            above = files::levels_up(levels),
            "a folder above has a history of its own: a note that is edited in both has two; see `sectile doctor`"
        );
    }
    Ok(Some(
        context.surface(spec(extent, settings.errors), state.watch()),
    ))
}

impl EditorSettings {
    /// Returns the options of an editor with these settings.
    pub(crate) fn options(&self, read_only: bool) -> Result<EditorOptions, OpenError> {
        Ok(EditorOptions {
            limits: self.limits,
            walk: self.walk.clone(),
            read_only,
            ..EditorOptions::new(self.journal_key(read_only)?, now)
        })
    }

    /// Returns the key that seals this user's history.
    pub(crate) fn journal_key(&self, read_only: bool) -> Result<JournalKey, OpenError> {
        journal_key(self.key_file.as_deref(), read_only)
    }
}
