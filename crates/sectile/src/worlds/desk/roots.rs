//! The roots of a desk, and the ids that name what is in them.
//!
//! A caller may be bound to some of the roots; to that caller the others do not exist, and ids have a prefix only if more
//! than one root is visible.

use std::{path::PathBuf, sync::Arc};

use sectile_library::editable_folder::{EditableFolder, FindError, FoundTarget, NearName};
use sectile_mcp::{CallContext, Failure};
use sectile_vault::{
    NotePath,
    editor::{CallHooks, ChangeFilter, EditorError, EntryDocument, is_markdown},
};

use super::{
    DeskWorld,
    errors::{
        AMBIGUOUS, DELETED, INVALID_PATH, MALFORMED_ID, NOT_FOUND, OfferedId, editor_failure,
        failure, library_failure, listed, named,
    },
    urls::UrlStyle,
};

/// One folder of a desk.
pub(super) struct DeskRoot {
    /// Its name; empty if it is the only root and has none.
    pub(super) name: String,
    /// Where it is. Never shown, except in addresses that the settings ask for.
    pub(super) location: PathBuf,
    /// Its notes and their index.
    pub(super) folder: Arc<EditableFolder>,
    /// How the addresses of its notes are made.
    pub(super) urls: UrlStyle,
}

/// The roots that a caller can see.
pub(super) struct VisibleRoots<'a> {
    roots: Vec<&'a DeskRoot>,
    context: &'a CallContext,
}

/// Something that an id names.
pub(super) struct LocatedTarget<'a> {
    /// The root it is in.
    pub(super) root: &'a DeskRoot,
    /// The thing itself.
    pub(super) target: FoundTarget,
}

impl DeskWorld {
    /// Returns the roots that the caller of `context` can see.
    pub(super) fn roots_for<'a>(&'a self, context: &'a CallContext) -> VisibleRoots<'a> {
        let is_visible = |root: &&DeskRoot| match context.roots() {
            Some(names) => names.contains(&root.name),
            None => true,
        };
        VisibleRoots {
            roots: self.roots.iter().filter(is_visible).collect(),
            context,
        }
    }
}

impl<'a> VisibleRoots<'a> {
    /// Returns the roots, sorted by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a DeskRoot> + '_ {
        self.roots.iter().copied()
    }

    /// Returns the context of the call.
    pub(super) fn context(&self) -> &'a CallContext {
        self.context
    }

    /// Returns the part of an id that names its root, with the colon; empty if only one root is visible.
    pub(super) fn prefix(&self, root: &DeskRoot) -> String {
        match self.roots.len() {
            0 | 1 => String::new(),
            _ => format!("{}:", root.name),
        }
    }

    /// Returns the canonical id of a document, or of one of its sections.
    pub(super) fn id_of(&self, root: &DeskRoot, path: &str, section: Option<&str>) -> String {
        let prefix = self.prefix(root);
        match section {
            Some(section) => format!("{prefix}{path}#{section}"),
            None => format!("{prefix}{path}"),
        }
    }

    /// Returns the id of a target.
    pub(super) fn id_of_target(&self, root: &DeskRoot, target: &FoundTarget) -> String {
        match target {
            FoundTarget::Top => self.prefix(root),
            FoundTarget::Folder(path) => self.id_of(root, &format!("{}/", path.as_str()), None),
            FoundTarget::Document(path) => self.id_of(root, path.as_str(), None),
            FoundTarget::Section { path, id } => self.id_of(root, path.as_str(), Some(id)),
        }
    }

    /// Returns the name of a change, which is unique on the desk.
    pub(super) fn change_id(&self, root: &DeskRoot, number: u64) -> String {
        format!("{}{number}", self.prefix(root))
    }

    /// Splits the name of a visible root off an id or a path.
    pub(super) fn split<'i>(&self, given: &'i str) -> (Option<&'a DeskRoot>, &'i str) {
        let named = given.trim_start().split_once(':').and_then(|(name, rest)| {
            let root = self
                .iter()
                .find(|root| !name.is_empty() && root.name == name)?;
            Some((root, rest))
        });
        match named {
            Some((root, rest)) => (Some(root), rest),
            None => (None, given),
        }
    }

    /// Returns whether an id means everything that the caller can see, and not only one thing.
    pub(super) fn is_everything(given: &str) -> bool {
        matches!(given.trim_matches(' '), "" | "." | "./" | "/")
    }

    /// Finds what an id names, in any of the forms that callers may write.
    pub(super) fn locate(&self, given: &str) -> Result<LocatedTarget<'a>, Failure> {
        let (root, rest) = self.split(given);
        let searched: Vec<&DeskRoot> = match root {
            Some(root) => vec![root],
            None => self.roots.clone(),
        };
        let stop = || self.context.cancelled.is_cancelled();
        let mut found = Vec::new();
        let mut candidates = Vec::new();
        let mut nearest = Vec::new();
        let mut refused = None;
        for root in searched {
            match root.folder.find(rest, &stop) {
                Ok(target) => found.push(LocatedTarget { root, target }),
                Err(FindError::Several(names)) => {
                    let texts = names.iter().map(|name| first_line(root, &name.id));
                    let texts: Vec<String> = texts.collect();
                    let mut offered = self.offered(root, names);
                    for (offered, text) in offered.iter_mut().zip(texts) {
                        offered.add_text(&text);
                    }
                    candidates.extend(offered);
                }
                Err(FindError::NotFound(names)) => {
                    nearest.extend(self.renamed(root, rest));
                    nearest.extend(self.offered(root, names));
                }
                Err(error) => {
                    refused.get_or_insert_with(|| self.find_failure(root, given, &error));
                }
            }
        }
        if found.len() == 1 && candidates.is_empty() {
            return found.pop().ok_or_else(|| missing(given, &nearest));
        }
        candidates.extend(found.iter().map(|located| self.candidate(located)));
        if !candidates.is_empty() {
            let what = format!("{} can mean {} things.", named(given), candidates.len());
            return Err(failure(&AMBIGUOUS, what, listed(&candidates)));
        }
        Err(refused.unwrap_or_else(|| missing(given, &nearest)))
    }

    /// Returns the root and the path that a call writes to, where nothing need exist yet.
    pub(super) fn place(&self, given: &str) -> Result<(&'a DeskRoot, NotePath), Failure> {
        let (root, rest) = self.split(given);
        let root = match (root, self.roots.as_slice()) {
            (Some(root), _) => root,
            (None, [root]) => *root,
            (None, []) => return Err(missing(given, &[])),
            (None, roots) => {
                let candidates: Vec<OfferedId> = roots
                    .iter()
                    .map(|root| OfferedId::bare(self.id_of(root, rest, None)))
                    .collect();
                let what = format!("{} does not name a root.", named(given));
                return Err(failure(&AMBIGUOUS, what, listed(&candidates)));
            }
        };
        // White space around a path is a slip: the note could hardly be named again.
        let rest = rest.trim();
        let leads_up = rest.split(['/', '\\']).any(|part| part.trim() == "..");
        match NotePath::parse_vault(rest) {
            Ok(path) if !leads_up => Ok((root, path)),
            _ => {
                let what = format!("{} is not a path inside the folder.", named(rest));
                Err(failure(&INVALID_PATH, what, ""))
            }
        }
    }

    /// Returns the path of a document as the caller wrote it, if that is a path that leads to the document at `path`: what
    /// is renamed or deleted must not be the target of a link.
    pub(super) fn written_path(&self, root: &DeskRoot, given: &str, path: NotePath) -> NotePath {
        let (_, rest) = self.split(given);
        let written = NotePath::parse_vault(rest).ok().filter(|written| {
            let view = root.folder.editor.view(written);
            view.is_ok_and(|view| *view.path() == path)
        });
        written.unwrap_or(path)
    }

    /// Returns what was found as one of several candidates.
    fn candidate(&self, located: &LocatedTarget<'_>) -> OfferedId {
        let LocatedTarget { root, target } = located;
        let title = || match target {
            FoundTarget::Top | FoundTarget::Folder(_) => None,
            FoundTarget::Document(path) => {
                let stop = || self.context.cancelled.is_cancelled();
                let state = root.folder.index.current(&stop).ok()?;
                Some(state.note(path)?.title.clone())
            }
            FoundTarget::Section { path, id } => {
                let view = root.folder.editor.view(path).ok()?;
                Some(view.section(view.position_of(id)?)?.heading)
            }
        };
        OfferedId {
            id: self.id_of_target(root, target),
            title: title().unwrap_or_default(),
            place: String::new(),
        }
    }

    /// Returns the document that was at the path in `given` until it was renamed.
    fn renamed(&self, root: &DeskRoot, given: &str) -> Option<OfferedId> {
        let editor = &root.folder.editor;
        let document = given.split('#').next().unwrap_or(given);
        let path = NotePath::parse_vault(document.trim()).ok();
        let path = path.filter(is_markdown)?;
        let filter = ChangeFilter {
            under: Some(path.clone()),
            limit: 1,
            ..ChangeFilter::default()
        };
        let stop = || self.context().cancelled.is_cancelled();
        let found = editor.changes(&filter, CallHooks::until(&stop));
        let (entries, _) = found.ok()?;
        let number = entries.first()?.number;
        let documents = editor.entry_paths(number).ok()?.documents;
        let was_here = |one: &&EntryDocument| one.moved_from.as_deref() == Some(path.as_str());
        let now = documents.iter().find(was_here)?.document.path();
        // It may have been renamed or deleted once more.
        let now = NotePath::parse_vault(now).ok()?;
        let view = editor.view(&now).ok()?;
        Some(OfferedId {
            id: self.id_of(root, view.path().as_str(), None),
            title: String::new(),
            place: format!("renamed by change {}", self.change_id(root, number)),
        })
    }

    fn offered(&self, root: &DeskRoot, names: Vec<NearName>) -> Vec<OfferedId> {
        let prefix = self.prefix(root);
        let offered = |name: NearName| OfferedId {
            id: format!("{prefix}{}", name.id),
            title: name.title,
            place: name.place,
        };
        names.into_iter().map(offered).collect()
    }

    fn find_failure(&self, root: &DeskRoot, given: &str, error: &FindError) -> Failure {
        match error {
            FindError::Malformed(reason) => {
                let what = format!("{} is not a valid id: {reason}.", named(given));
                failure(&MALFORMED_ID, what, "")
            }
            FindError::Deleted { entry } => {
                let change = self.change_id(root, *entry);
                let what = format!("{} was deleted by change {change}.", named(given));
                failure(&DELETED, what, "")
            }
            FindError::Editor(error) => self.editor_failure(root, error, given),
            FindError::Library(error) => library_failure(error),
            FindError::Several(names) | FindError::NotFound(names) => {
                missing(given, &self.offered(root, names.clone()))
            }
        }
    }

    /// Returns a failure of the editor of `root` about the thing that the caller knows as `id`.
    pub(super) fn editor_failure(&self, root: &DeskRoot, error: &EditorError, id: &str) -> Failure {
        editor_failure(error, id, &self.prefix(root))
    }
}

/// Returns the start of the text of a section, by which it can be told from others with the same heading; empty for a
/// document.
fn first_line(root: &DeskRoot, id: &str) -> String {
    let line = || {
        let (path, section) = id.split_once('#')?;
        let view = root.folder.editor.view(&NotePath::parse_vault(path).ok()?);
        let view = view.ok()?;
        let candidate = view.candidate(view.position_of(section)?)?;
        Some(candidate.first_line)
    };
    line().unwrap_or_default()
}

/// The failure for a name that nothing has.
pub(super) fn missing(given: &str, nearest: &[OfferedId]) -> Failure {
    let what = format!("There is nothing called {}.", named(given));
    let facts = match nearest {
        [] => String::new(),
        nearest => format!("Nearest:\n{}", listed(nearest)),
    };
    failure(&NOT_FOUND, what, facts)
}
