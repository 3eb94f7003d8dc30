//! What the commands of a shell need from the desk besides its tools.

use std::path::Path;

use sectile_library::editable_folder::FoundTarget;
use sectile_mcp::{CallContext, Failure};
use sectile_vault::editor::short_hash;
use serde_json::{Value, json};

use super::{
    DeskWorld, errors,
    urls::{UrlStyle, UrlTarget},
};
use crate::files;

/// Returns a failure as an object, so that scripts can branch on its code.
pub(crate) fn error_object(failure: &Failure) -> Value {
    let text = errors::text(failure);
    let mut lines = text.splitn(3, '\n');
    let first = lines.next().unwrap_or_default();
    let message = first.split_once(": ").map_or(first, |(_, message)| message);
    json!({
        "code": failure.name(),
        "message": message,
        "next": lines.next(),
        "facts": lines.next(),
    })
}

impl DeskWorld {
    /// Waits until all notes are read: a command has only one answer. An index that does not grow is not waited for.
    pub(crate) fn read_everything(&self) {
        for root in &self.roots {
            if let Err(error) = root.folder.index.complete(&|| false) {
                tracing::debug!(?error, "the index is not complete");
            }
        }
    }

    /// Waits until the index is in the cache, so that the next command starts from there. A cache that another process
    /// holds is not waited for: the next command reads again what is missing.
    pub(crate) fn keep_index(&self) {
        for root in &self.roots {
            if let Err(error) = root.folder.index.settle(&|| false) {
                tracing::debug!(?error, "the index is not kept");
            }
        }
    }

    /// Returns the id of a file in the file system; `None` if it is not below a root.
    pub(crate) fn id_of_file(&self, file: &Path, context: &CallContext) -> Option<String> {
        let roots = self.roots_for(context);
        let mut ids = roots.iter().filter_map(|root| {
            let path = files::below_or_new(&root.location, file)?;
            Some(roots.id_of(root, &path, None))
        });
        ids.next()
    }

    /// Returns the document that `name` leads to, and the section in it if the name has one.
    pub(crate) fn document_named(
        &self,
        name: &str,
        context: &CallContext,
    ) -> Result<(String, Option<String>), Failure> {
        let located = self.roots_for(context).locate(name)?;
        match located.target {
            FoundTarget::Document(path) => Ok((path.as_str().to_owned(), None)),
            FoundTarget::Section { path, id } => Ok((path.as_str().to_owned(), Some(id))),
            FoundTarget::Top | FoundTarget::Folder(_) => {
                let what = format!("{} is a folder.", errors::named(name));
                Err(errors::failure(&errors::WRONG_KIND, what, ""))
            }
        }
    }

    /// Returns the address of a note, or the place of its file if the desk has no other address for it.
    pub(crate) fn address_to_open(
        &self,
        id: &str,
        context: &CallContext,
    ) -> Result<String, Failure> {
        let roots = self.roots_for(context);
        let located = roots.locate(id)?;
        let root = located.root;
        let path = match &located.target {
            FoundTarget::Top => None,
            FoundTarget::Folder(path)
            | FoundTarget::Document(path)
            | FoundTarget::Section { path, .. } => Some(path),
        };
        let section = match &located.target {
            FoundTarget::Section { path, id } => {
                let view = root.folder.editor.view(path);
                let view = view.map_err(|error| roots.editor_failure(root, &error, id))?;
                view.section(view.position_of(id).unwrap_or(usize::MAX))
            }
            _ => None,
        };
        let path = path.map_or("", |path| path.as_str());
        if root.urls == UrlStyle::Sectile {
            return Ok(root.location.join(path).display().to_string());
        }
        Ok(root.urls.url(UrlTarget {
            root: &root.name,
            path,
            id: &roots.id_of_target(root, &located.target),
            section: section
                .as_ref()
                .map(|section| (section.id.as_str(), section.heading.as_str())),
        }))
    }

    /// Returns the base that `delete` takes for `id` as it is now.
    pub(crate) fn base_to_delete(
        &self,
        id: &str,
        context: &CallContext,
    ) -> Result<String, Failure> {
        let roots = self.roots_for(context);
        let located = roots.locate(id)?;
        let editor = &located.root.folder.editor;
        let (path, section) = match &located.target {
            // Neither has a base.
            FoundTarget::Top | FoundTarget::Folder(_) => return Ok(String::new()),
            FoundTarget::Document(path) => (path, None),
            FoundTarget::Section { path, id } => (path, Some(id)),
        };
        let view = editor
            .view(path)
            .map_err(|error| roots.editor_failure(located.root, &error, id))?;
        let section = section.and_then(|id| view.section(view.position_of(id)?));
        Ok(section.map_or_else(|| short_hash(view.hash()), |section| section.subtree_hash))
    }
}
