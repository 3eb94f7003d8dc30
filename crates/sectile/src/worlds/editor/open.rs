//! Opens the editor world, with the key that tells this user's history from one that came with a folder.

use sectile_mcp::{Surface, access::random_bytes};
use sectile_vault::{JournalKey, editor::EditorOptions};

use super::{EditedTarget, EditorSettings, EditorWorld, ErrorStyle, now, spec};
use crate::{
    files,
    worlds::{OpenError, PathArgument, ServeContext, WorldEntry},
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

    /// Returns the key that seals this user's history. If there is none yet and nothing may be written, or there is nowhere
    /// to keep one, it is a random key: then no history counts as this user's.
    pub(crate) fn journal_key(&self, read_only: bool) -> Result<JournalKey, OpenError> {
        let found = match &self.key_file {
            Some(file) => files::secret_bytes(file, !read_only).map_err(|error| {
                OpenError::failed(format_args!(
                    "the key file of your history cannot be read or created ({}).",
                    files::reason(error.kind())
                ))
                .next(
                    "set editor.key_file to a file that you can write, or remove the existing one",
                )
            })?,
            None => {
                tracing::warn!(
                    "there is no home folder for the key file of the history; set editor.key_file"
                );
                None
            }
        };
        match found {
            Some(bytes) => Ok(JournalKey::new(&bytes)),
            None => key_of_this_process(),
        }
    }
}

/// Returns a key that lasts only as long as this process.
pub(crate) fn key_of_this_process() -> Result<JournalKey, OpenError> {
    let bytes = random_bytes().map_err(OpenError::failed)?;
    Ok(JournalKey::new(&bytes))
}
