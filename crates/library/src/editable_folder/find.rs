//! Finds what an id names.

use sectile_markdown::{
    Anchors, FragmentResolution, LetterCase, LinkForm, NotePath, Source, block_key, trim,
};
use sectile_vault::editor::{Candidate, EditorError, SectionRef, View, is_markdown};

use super::{
    EditableFolder,
    given_id::{DecodedId, GivenId, MalformedId},
    headings::{nearest_sections, sections_at},
};
use crate::{
    error::LibraryError,
    live_folder::{FolderState, NameMatch},
};

/// The target of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundTarget {
    /// The folder of all notes.
    Top,
    /// A folder.
    Folder(NotePath),
    /// A document.
    Document(NotePath),
    /// A section.
    Section {
        /// Its document.
        path: NotePath,
        /// Its lasting id.
        id: String,
    },
}

/// The reason why an id names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// It cannot be an id of anything.
    #[error("The id cannot be used: {0}.")]
    Malformed(MalformedId),
    /// It is ambiguous.
    #[error("The id is ambiguous.")]
    Several(Vec<NearName>),
    /// It names nothing. The names are similar ones.
    #[error("Nothing has this id.")]
    NotFound(Vec<NearName>),
    /// It names a section that was deleted.
    #[error("The section was deleted by entry {entry}.")]
    Deleted {
        /// The entry that deleted it.
        entry: u64,
    },
    /// The editor failed.
    #[error("{0}")]
    Editor(EditorError),
    /// The index failed.
    #[error("{0}")]
    Library(LibraryError),
}

/// A candidate for an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearName {
    /// Its id.
    pub id: String,
    /// Its title or heading.
    pub title: String,
    /// Where it is: the folder of a document, or the document and the headings above a section.
    pub place: String,
}

/// Maximum number of `#` in an id that are tried as the start of a section: each costs a search through all names.
const MAX_CUTS: usize = 16;
/// Maximum number of names in an error.
const MAX_NAMES: usize = 20;

impl EditableFolder {
    /// Returns what `id` names, in any of the forms that callers may use.
    ///
    /// # Errors
    /// [`FindError`] when it names nothing, or is ambiguous.
    pub fn find(
        &self,
        id: &str,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<FoundTarget, FindError> {
        let given = GivenId::parse(id);
        if given == Ok(GivenId::Top) {
            return Ok(FoundTarget::Top);
        }
        let exactly = Some(id).filter(|_| given != Err(MalformedId::TooLong));
        if let Some(found) = exactly.and_then(|id| self.canonical(id)) {
            return Ok(found);
        }
        let state = self.index.current(stop).map_err(FindError::Library)?;
        if let Some(found) = exactly.and_then(|id| self.find_exactly(&state, id)) {
            return Ok(found);
        }
        let text = match given.map_err(FindError::Malformed)? {
            GivenId::Top => return Ok(FoundTarget::Top),
            GivenId::Text(text) => text,
        };
        let is_known = |found: &Result<FoundTarget, FindError>| {
            let document = text
                .split_once('#')
                .map_or(&*text, |(document, _)| document);
            let is_path = || state.names().note(&slashes(trim(document))).is_some();
            state.progress().is_complete || (found.is_ok() && is_path())
        };
        let found = self.find_in(&state, &text);
        if is_known(&found) {
            return found;
        }
        // On a folder that is still being read, another note of that name may come.
        let state = self.index.complete(stop).map_err(FindError::Library)?;
        self.find_in(&state, &text)
    }

    /// Finds the document whose path is `id`, or a section of the document whose path is before a `#`. Whatever a file is
    /// called, its path is its id: white space around it and brackets in it included.
    fn find_exactly(&self, state: &FolderState, id: &str) -> Option<FoundTarget> {
        if let Some(note) = state.names().note(id) {
            return Some(FoundTarget::Document(note.path.clone()));
        }
        id.match_indices('#').take(MAX_CUTS).find_map(|(at, _)| {
            let note = state.names().note(&id[..at])?;
            self.find_section(&note.path, trim(&id[at + 1..])).ok()
        })
    }

    /// Returns the section with this id, if it is one that an answer gave: the path of a document and a lasting id in it.
    /// The document itself tells, so that the index is not needed.
    pub(super) fn canonical(&self, id: &str) -> Option<FoundTarget> {
        let (document, section) = id.split_once('#')?;
        let path = NotePath::parse_vault(document).ok().filter(is_markdown)?;
        let view = self.editor.view(&path).ok()?;
        let is_it = *view.path() == path && path.as_str() == document && may_be_id(section);
        let is_it = is_it && view.position_of(section).is_some();
        is_it.then(|| FoundTarget::Section {
            path,
            id: section.to_owned(),
        })
    }

    fn find_in(&self, state: &FolderState, text: &str) -> Result<FoundTarget, FindError> {
        let found = self.find_text(state, text);
        if !matches!(found, Err(FindError::NotFound(_))) {
            return found;
        }
        let Some(decoded) = DecodedId::new(text) else {
            return found;
        };
        let malformed = |reason| Err(FindError::Malformed(reason));
        match GivenId::parse(&decoded.text) {
            Err(reason) => malformed(reason),
            _ if decoded.has_encoded_slash => malformed(MalformedId::EncodedSeparator),
            // In a link, an encoded `#` belongs to the name of the file.
            _ if decoded.has_encoded_hash => match state.names().note(&decoded.text) {
                Some(note) => Ok(FoundTarget::Document(note.path.clone())),
                None => malformed(MalformedId::EncodedSeparator),
            },
            Ok(GivenId::Top) => found,
            Ok(GivenId::Text(decoded)) => match self.find_text(state, &decoded) {
                Err(FindError::NotFound(_)) => found,
                decoded => decoded,
            },
        }
    }

    fn find_text(&self, state: &FolderState, text: &str) -> Result<FoundTarget, FindError> {
        let path = slashes(text);
        if let Some(note) = state.names().note(&path) {
            return Ok(FoundTarget::Document(note.path.clone()));
        }
        if !text.contains('#') {
            return self.find_name(state, text);
        }
        let mut first = None;
        for (at, _) in text.match_indices('#').take(MAX_CUTS) {
            let (document, section) = (trim(&text[..at]), trim(&text[at + 1..]));
            if document.is_empty() {
                return self
                    .section_by_id(section)?
                    .ok_or(FindError::Malformed(MalformedId::NoName));
            }
            let found = match self.document(state, document) {
                Ok(FoundTarget::Document(path)) => self.find_section(&path, section),
                Ok(_) => Err(FindError::NotFound(Vec::new())),
                Err(error) => Err(error),
            };
            match found {
                // The `#` may be part of a name.
                Err(
                    error @ (FindError::NotFound(_)
                    | FindError::Malformed(MalformedId::EmptyHeading)),
                ) => first.get_or_insert(error),
                found => return found,
            };
        }
        if let Ok(FoundTarget::Document(path)) = self.document(state, text)
            && path.as_str().contains('#')
        {
            return Ok(FoundTarget::Document(path));
        }
        // The id of a section lasts, even where its document has another name now.
        let section = text.split_once('#').map_or("", |(_, section)| section);
        match self.section_by_id(trim(section))? {
            Some(found) => Ok(found),
            None => Err(first.unwrap_or(FindError::NotFound(Vec::new()))),
        }
    }

    /// Finds a name without a section: a document, a folder, or the id of a section.
    fn find_name(&self, state: &FolderState, name: &str) -> Result<FoundTarget, FindError> {
        let section = self.section_by_id(name);
        match (self.document(state, name), section) {
            (Err(FindError::NotFound(_)), Ok(Some(section))) => Ok(section),
            (Err(FindError::NotFound(near)), Ok(None)) => Err(FindError::NotFound(near)),
            (Err(FindError::NotFound(_)), Err(error)) => Err(error),
            (Ok(document), Ok(Some(section))) => {
                let names = [
                    self.near_target(state, &document),
                    self.near_target(state, &section),
                ];
                Err(FindError::Several(names.into_iter().flatten().collect()))
            }
            (document, _) => document,
        }
    }

    /// Finds a document or a folder.
    fn document(&self, state: &FolderState, name: &str) -> Result<FoundTarget, FindError> {
        let near = |paths: Vec<NotePath>| {
            let paths = paths.into_iter().take(MAX_NAMES);
            paths.map(|path| near_path(state, &path)).collect()
        };
        let name = slashes(name);
        match state.names().resolve(&name) {
            NameMatch::Note(path) => Ok(FoundTarget::Document(path)),
            NameMatch::Folder(path) => Ok(FoundTarget::Folder(path)),
            NameMatch::Several(paths) => Err(FindError::Several(near(paths))),
            NameMatch::None { nearest } => match self.outside_index(&name) {
                Some(path) => Ok(FoundTarget::Document(path)),
                None => Err(FindError::NotFound(near(nearest))),
            },
        }
    }

    /// Returns the path of a document that is not in the index, such as one that is ignored, but can be read.
    fn outside_index(&self, name: &str) -> Option<NotePath> {
        // A slash at the end means a folder.
        let path = NotePath::parse_vault(name).ok().filter(is_markdown)?;
        let path = Some(path).filter(|_| !name.ends_with('/'))?;
        let view = self.editor.view(&path).ok()?;
        Some(view.path().clone())
    }

    /// Finds a section of the document at `path`.
    fn find_section(&self, path: &NotePath, section: &str) -> Result<FoundTarget, FindError> {
        let view = match self.editor.view(path) {
            Ok(view) => view,
            Err(EditorError::DocumentNotFound) => return Err(FindError::NotFound(Vec::new())),
            Err(error) => return Err(FindError::Editor(error)),
        };
        if section.is_empty() {
            return Err(FindError::Malformed(MalformedId::NoSection));
        }
        if view.position_of(section).is_some() {
            return Ok(FoundTarget::Section {
                path: view.path().clone(),
                id: section.to_owned(),
            });
        }
        if block_key(section).is_some() {
            let anchors = Anchors::new(&Source::new(view.bytes()));
            let start = anchors.block_start(section);
            let start = start.ok_or(FindError::NotFound(Vec::new()))?;
            return Ok(section_around(&view, start));
        }
        match sections_at(&view, section).as_slice() {
            [only] => return section_of(&view, *only),
            [] => {}
            several => {
                let several = several.iter().take(MAX_NAMES);
                let names = several.filter_map(|position| near_section(&view, *position));
                return Err(FindError::Several(names.collect()));
            }
        }
        if section.split(['/', '#']).any(|part| trim(part).is_empty()) {
            return Err(FindError::Malformed(MalformedId::EmptyHeading));
        }
        let anchors = Anchors::new(&Source::new(view.bytes()));
        if let FragmentResolution::Heading(index) = anchors.resolve(LinkForm::Inline, section) {
            let start = view.document().sections().get(index);
            let start = start.map_or(0, |section| section.heading.start);
            return Ok(section_around(&view, start));
        }
        match self.section_by_id(section)? {
            Some(found) => Ok(found),
            None => Err(FindError::NotFound(nearest_sections(&view, section))),
        }
    }

    /// Finds a section by its lasting id, wherever it is; `None` if nothing has or had the id.
    fn section_by_id(&self, id: &str) -> Result<Option<FoundTarget>, FindError> {
        if !may_be_id(id) {
            return Ok(None);
        }
        let section = SectionRef {
            id: Some(id.to_owned()),
            heading: None,
        };
        match self
            .editor
            .find_section(None, &section, LetterCase::Matters)
        {
            Ok((view, position)) => section_of(&view, position).map(Some),
            Err(EditorError::SectionDeleted { entry, .. }) => Err(FindError::Deleted { entry }),
            Err(
                EditorError::SectionNotFound { .. }
                | EditorError::DocumentNotFound
                | EditorError::NotMarkdown,
            ) => Ok(None),
            Err(error) => Err(FindError::Editor(error)),
        }
    }

    fn near_target(&self, state: &FolderState, target: &FoundTarget) -> Option<NearName> {
        match target {
            FoundTarget::Top => None,
            FoundTarget::Folder(path) | FoundTarget::Document(path) => Some(near_path(state, path)),
            FoundTarget::Section { path, id } => {
                let view = self.editor.view(path).ok()?;
                near_section(&view, view.position_of(id)?)
            }
        }
    }
}

/// Returns whether a text has the form of a section's lasting id.
fn may_be_id(text: &str) -> bool {
    let is_usual = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-~".contains(c);
    text.contains('-') && text.chars().all(is_usual)
}

/// Returns a path with slashes, whichever were written.
fn slashes(path: &str) -> String {
    let path = path.replace('\\', "/");
    path.strip_prefix("./").map_or(path.clone(), str::to_owned)
}

fn section_of(view: &View, position: usize) -> Result<FoundTarget, FindError> {
    let id = view.ids().get(position);
    let id = id.ok_or(FindError::NotFound(Vec::new()))?;
    Ok(FoundTarget::Section {
        path: view.path().clone(),
        id: id.clone(),
    })
}

/// Returns the section that contains the byte at `offset`, or the document if that is before the first.
fn section_around(view: &View, offset: usize) -> FoundTarget {
    let sections = view.document().top_level();
    let starts = sections.take_while(|(_, section, _)| section.heading.start <= offset);
    let position = starts.count().checked_sub(1);
    let found = position.and_then(|position| section_of(view, position).ok());
    found.unwrap_or_else(|| FoundTarget::Document(view.path().clone()))
}

fn near_path(state: &FolderState, path: &NotePath) -> NearName {
    let note = state.note(path);
    NearName {
        id: path.to_string(),
        title: note.map_or_else(|| path.file_name().to_owned(), |note| note.title.clone()),
        place: path.folder().unwrap_or_default().to_owned(),
    }
}

pub(super) fn near_document(view: &View) -> NearName {
    let path = view.path();
    NearName {
        id: path.to_string(),
        title: String::new(),
        place: String::new(),
    }
}

pub(super) fn near_section(view: &View, position: usize) -> Option<NearName> {
    Some(near_candidate(view, &view.candidate(position)?))
}

fn near_candidate(view: &View, candidate: &Candidate) -> NearName {
    let mut above = view.heading_path(candidate.position);
    above.pop();
    above.insert(0, candidate.path.clone());
    NearName {
        id: format!("{}#{}", candidate.path, candidate.id),
        title: candidate.heading.clone(),
        place: above.join(" / "),
    }
}
