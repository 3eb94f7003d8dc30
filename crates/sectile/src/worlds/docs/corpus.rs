//! The documents of the docs world: the embedded manual, and those that the operator adds.
//!
//! They are read once, at start. The loaded documents, their slugs and the skipped ones follow from settings and files
//! alone: never from the order of a directory, the clock, or the location of the files on the machine.

mod description;
mod skip_reason;

use std::{
    borrow::Cow,
    cell::Cell,
    collections::HashSet,
    io,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use sectile_retrieval::{MAX_PASSAGES, Section, sections};
use sectile_vault::{
    ExclusionReason, LeftOutReason, NotePath, PathTarget, ReadError, Root, RootError, Walk,
    WalkError,
};

use serde::{Deserialize, Serialize};

use self::description::{DocDescription, describe};
pub(crate) use self::{
    description::MAX_SLUG,
    skip_reason::{SkipReason, SkippedDoc},
};
use super::{DocsDocument, DocsPath, DocsSettings};

/// The purpose of a document, in the order in which roles are listed.
// Doc comments on the variants would change the schema of the settings.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DocRole {
    // Concepts and invariants.
    Reasoning,
    // Which tool to use, and when.
    Decision,
    // Names, schemas and formats.
    Ontology,
    // Recipes.
    #[default]
    Pattern,
}

/// The origin of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocOrigin {
    /// The manual inside the binary.
    Manual,
    /// The operator's files.
    Extra,
}

/// A document. Slugs are unique in their corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doc {
    /// `[a-z0-9][a-z0-9-]{0,63}`.
    pub(crate) slug: String,
    pub(crate) title: String,
    pub(crate) role: DocRole,
    /// One line; may be empty.
    pub(crate) description: String,
    /// UTF-8, exactly as in the file, front matter included.
    pub(crate) bytes: Cow<'static, [u8]>,
    /// The sections to search and read.
    pub(crate) sections: Vec<Section>,
    pub(crate) origin: DocOrigin,
    /// Name of the file, for people: never an absolute path.
    pub(crate) label: String,
}

/// The documents that are loaded, and those that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocsCorpus {
    /// The manual, then listed documents, then extra paths; each folder sorted by path.
    pub(crate) documents: Vec<Doc>,
    /// Documents that were skipped, in the same order.
    pub(crate) skipped: Vec<SkippedDoc>,
    /// Files left out of folders on purpose: hidden, ignored, or Markdown with another extension. Sorted.
    pub(crate) left_out: Vec<SkippedDoc>,
    /// Labels of named paths that do not exist. The world is not served without them.
    pub(crate) missing: Vec<String>,
    /// Sentences about what could not be used as written: clashing slugs, invalid front matter.
    pub(crate) notes: Vec<String>,
}

/// A document inside the binary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EmbeddedDoc {
    /// Such as `docs/model.md`; its stem gives the slug if the front matter does not.
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
}

/// Most folders below one extra path, so that a path given by mistake cannot keep the server from starting.
const MOST_FOLDERS: usize = 100_000;

impl DocRole {
    pub(crate) const ALL: [Self; 4] = [
        Self::Reasoning,
        Self::Decision,
        Self::Ontology,
        Self::Pattern,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Decision => "decision",
            Self::Ontology => "ontology",
            Self::Pattern => "pattern",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

impl DocOrigin {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Extra => "extra",
        }
    }
}

impl DocsCorpus {
    /// Reads all documents that `settings` name. A document that cannot be loaded is skipped.
    pub(crate) fn load(settings: &DocsSettings, embedded: &[EmbeddedDoc]) -> Self {
        let mut loader = Loader {
            settings,
            corpus: Self::default(),
            total_bytes: 0,
            sections: 0,
            slugs: HashSet::new(),
            seen: HashSet::new(),
            left_out: Vec::new(),
        };
        if let Some(root) = &settings.root {
            loader.root(root);
        }
        if settings.written.include_default_docs {
            for document in embedded {
                loader.embedded(document);
            }
        }
        for listed in &settings.documents {
            loader.listed(listed);
        }
        for path in &settings.extra_paths {
            loader.extra_path(path);
        }
        loader.finish()
    }

    /// Size of all documents together, in bytes.
    pub(crate) fn total_bytes(&self) -> usize {
        self.documents.iter().map(|doc| doc.bytes.len()).sum()
    }
}

/// A corpus that is being loaded.
struct Loader<'a> {
    settings: &'a DocsSettings,
    corpus: DocsCorpus,
    total_bytes: u64,
    sections: usize,
    slugs: HashSet<String>,
    /// Files that were handled already, with links resolved.
    seen: HashSet<PathBuf>,
    /// Files left out, with their locations.
    left_out: Vec<(PathBuf, SkippedDoc)>,
}

/// A document before its bytes are read.
struct Candidate<'a> {
    label: &'a str,
    /// The label as clients may see it, without the location of the folder.
    name: &'a str,
    file_name: &'a str,
    origin: DocOrigin,
    listed: Option<&'a DocsDocument>,
}

impl Loader<'_> {
    fn embedded(&mut self, document: &EmbeddedDoc) {
        let candidate = Candidate {
            label: document.name,
            name: document.name,
            file_name: file_name(document.name),
            origin: DocOrigin::Manual,
            listed: None,
        };
        let limit = self.settings.written.max_doc_bytes;
        let too_large = document.bytes.len() as u64 > limit;
        let bytes = match self.room_for_one_more() {
            Err(reason) => Err(reason),
            Ok(()) if too_large => Err(SkipReason::TooLarge { limit }),
            Ok(()) => Ok(Cow::Borrowed(document.bytes)),
        };
        self.take(&candidate, bytes);
    }

    fn listed(&mut self, listed: &DocsDocument) {
        let label = label(&listed.path.written);
        match PathTarget::at(&listed.path.location) {
            Ok(PathTarget::File(root, note)) => {
                if !self.seen.insert(root.location().join(note.as_str())) {
                    self.corpus.notes.push(format!(
                        "`{label}` is listed twice under `docs.documents`; the first entry counts. Remove the other."
                    ));
                    return;
                }
                self.file(&root, &note, &label, &listed.path, Some(listed));
            }
            Ok(PathTarget::Folder(_)) => {
                self.skip_named(label, Some(listed), SkipReason::FolderInList)
            }
            Ok(_) => self.skip_named(label, Some(listed), SkipReason::NotAFile),
            Err(error) => self.skip_named(label, Some(listed), error.into()),
        }
    }

    /// Checks `docs.root`. Documents are expected in it, so it is a mistake if it does not exist.
    fn root(&mut self, root: &DocsPath) {
        if let Err(RootError::NotFound) = PathTarget::at(&root.location) {
            self.corpus.missing.push(label(&root.written));
        }
    }

    fn extra_path(&mut self, path: &DocsPath) {
        let label = label(&path.written);
        match PathTarget::at(&path.location) {
            Ok(PathTarget::File(root, note)) => {
                if self.seen.insert(root.location().join(note.as_str())) {
                    self.file(&root, &note, &label, path, None);
                }
            }
            Ok(PathTarget::Folder(root)) => self.folder(&root, &label),
            Ok(_) => self.skip_named(label, None, SkipReason::NotAFile),
            Err(error) => {
                if error == RootError::NotFound {
                    self.corpus.missing.push(label.clone());
                }
                self.skip_named(label, None, error.into());
            }
        }
    }

    /// Loads a file that is named itself. Its name is taken as written, even if that is a link.
    fn file(
        &mut self,
        root: &Root,
        note: &NotePath,
        label: &str,
        path: &DocsPath,
        listed: Option<&DocsDocument>,
    ) {
        let name = Path::new(&path.written).file_name();
        let name = name.and_then(|name| name.to_str());
        let candidate = Candidate {
            label,
            name: file_name(label),
            file_name: name.unwrap_or(note.file_name()),
            origin: DocOrigin::Extra,
            listed,
        };
        let bytes = if is_md(candidate.file_name) {
            self.read(root, note)
        } else {
            Err(SkipReason::NotMarkdown)
        };
        self.take(&candidate, bytes);
    }

    fn folder(&mut self, root: &Root, folder_label: &str) {
        let folders = Cell::new(0_usize);
        let stop = || {
            folders.set(folders.get() + 1);
            folders.get() > MOST_FOLDERS
        };
        let survey = match root.survey(&Walk::default(), &stop) {
            Ok(survey) => survey,
            Err(error) => {
                let reason = match error {
                    WalkError::Unreadable(kind) => SkipReason::Unreadable(kind),
                    WalkError::TooManyOpenFiles => SkipReason::Unreadable(io::ErrorKind::Other),
                    _ => SkipReason::TooManyFolders {
                        limit: MOST_FOLDERS,
                    },
                };
                return self.skip_named(folder_label.to_owned(), None, reason);
            }
        };
        let folder_name = own_name(folder_label);
        // Merges two sorted lists, so that skipped documents are reported in the order of paths, whatever the reason.
        let mut passed_over = survey.passed_over.into_iter().peekable();
        for note in survey.documents {
            while let Some((path, why)) =
                passed_over.next_if(|(path, _)| path.as_str() < note.as_str())
            {
                self.passed_over(folder_label, &path, why);
            }
            if !is_md(note.file_name()) {
                self.left_out(root, folder_label, note.as_str(), SkipReason::NotMarkdown);
                continue;
            }
            let place = root.location().join(note.as_str());
            if !self.seen.insert(place) {
                continue;
            }
            let label = joined(folder_label, note.as_str());
            let candidate = Candidate {
                label: &label,
                name: &joined(folder_name, note.as_str()),
                file_name: note.file_name(),
                origin: DocOrigin::Extra,
                listed: None,
            };
            let bytes = self.read(root, &note);
            self.take(&candidate, bytes);
        }
        for (path, why) in passed_over {
            self.passed_over(folder_label, &path, why);
        }
        for (path, why) in survey.left_out {
            let reason = match why {
                LeftOutReason::Hidden => SkipReason::Hidden,
                _ => SkipReason::Ignored,
            };
            if path.ends_with('/') || is_md(&path) {
                self.left_out(root, folder_label, &path, reason);
            }
        }
    }

    /// Records a file or folder that is left out on purpose but could hold documents, for the operator to see.
    fn left_out(&mut self, root: &Root, folder_label: &str, path: &str, reason: SkipReason) {
        let name = joined(own_name(folder_label), path);
        let skipped = SkippedDoc::new(joined(folder_label, path), &name, None, reason);
        self.left_out.push((root.location().join(path), skipped));
    }

    /// Completes the corpus. A file that was left out of a folder may have been named itself elsewhere.
    fn finish(mut self) -> DocsCorpus {
        for (place, skipped) in self.left_out {
            if self.seen.insert(place) {
                self.corpus.left_out.push(skipped);
            }
        }
        let left_out = &mut self.corpus.left_out;
        left_out.sort_by(|one, other| one.label.cmp(&other.label));
        self.corpus
    }

    /// Records something that a walk passed over, if it could be a document or a folder of documents.
    fn passed_over(&mut self, folder_label: &str, path: &str, why: ExclusionReason) {
        let reason = match why {
            ExclusionReason::LinkToFolder => SkipReason::Link,
            ExclusionReason::Unreadable(kind) => SkipReason::Unreadable(kind),
            _ if !is_md(path) => return,
            ExclusionReason::Link => SkipReason::Link,
            ExclusionReason::OddName => SkipReason::OddName,
            _ => SkipReason::NotAFile,
        };
        let name = joined(own_name(folder_label), path);
        self.skip(SkippedDoc::new(
            joined(folder_label, path),
            &name,
            None,
            reason,
        ));
    }

    /// Reads a file, unless there is no room for another document.
    fn read(&self, root: &Root, note: &NotePath) -> Result<Cow<'static, [u8]>, SkipReason> {
        self.room_for_one_more()?;
        let bytes = root.read(note, self.settings.written.max_doc_bytes)?;
        Ok(Cow::Owned(bytes))
    }

    fn room_for_one_more(&self) -> Result<(), SkipReason> {
        let limit = self.settings.written.max_docs;
        if self.corpus.documents.len() < limit {
            Ok(())
        } else {
            Err(SkipReason::TooMany { limit })
        }
    }

    /// Adds a document, or records why it is skipped.
    fn take(&mut self, candidate: &Candidate<'_>, bytes: Result<Cow<'static, [u8]>, SkipReason>) {
        match bytes.and_then(|bytes| self.checked(bytes)) {
            Ok(bytes) => self.add(candidate, bytes),
            Err(reason) => self.skip(candidate.skipped(reason)),
        }
    }

    fn checked(&self, bytes: Cow<'static, [u8]>) -> Result<Cow<'static, [u8]>, SkipReason> {
        let text = std::str::from_utf8(&bytes).map_err(|_| SkipReason::NotUtf8)?;
        if sectile_markdown::trim(text).is_empty() {
            return Err(SkipReason::Empty);
        }
        let limit = self.settings.written.max_total_bytes;
        if self.total_bytes + bytes.len() as u64 > limit {
            return Err(SkipReason::OverTotal { limit });
        }
        Ok(bytes)
    }

    fn add(&mut self, candidate: &Candidate<'_>, bytes: Cow<'static, [u8]>) {
        let label = candidate.label;
        let DocDescription {
            slug: wanted,
            title,
            role,
            description,
            problems,
        } = describe(&bytes, candidate.file_name, candidate.listed);
        let sections = sections(&bytes, &title, sectile_markdown::PageFormat::default());
        if self.sections + sections.len() > MAX_PASSAGES {
            let limit = MAX_PASSAGES;
            return self.skip(candidate.skipped(SkipReason::TooManySections { limit }));
        }
        self.sections += sections.len();
        let notes = &mut self.corpus.notes;
        notes.extend(
            problems
                .into_iter()
                .map(|problem| format!("`{label}`: {problem}")),
        );
        let slug = description::free_slug(&wanted, &self.slugs);
        if slug != wanted {
            notes.push(format!(
                "`{label}`: the slug `{wanted}` is taken, so `{slug}` is used. Give the document a `slug` of its own."
            ));
        }
        self.slugs.insert(slug.clone());
        self.total_bytes += bytes.len() as u64;
        self.corpus.documents.push(Doc {
            slug,
            title,
            role,
            description,
            bytes,
            sections,
            origin: candidate.origin,
            label: label.to_owned(),
        });
    }

    /// Skips a path that is named itself. Clients may see the last part of it.
    fn skip_named(&mut self, label: String, listed: Option<&DocsDocument>, reason: SkipReason) {
        let name = file_name(&label).to_owned();
        self.skip(SkippedDoc::new(label, &name, listed, reason));
    }

    fn skip(&mut self, skipped: SkippedDoc) {
        self.corpus.skipped.push(skipped);
    }
}

impl Candidate<'_> {
    fn skipped(&self, reason: SkipReason) -> SkippedDoc {
        SkippedDoc::new(self.label.to_owned(), self.name, self.listed, reason)
    }
}

impl From<RootError> for SkipReason {
    fn from(error: RootError) -> Self {
        match error {
            RootError::Unreadable(kind) => Self::Unreadable(kind),
            _ => Self::Missing,
        }
    }
}

impl From<ReadError> for SkipReason {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::TooLarge { limit } => Self::TooLarge { limit },
            ReadError::Unreadable(kind) => Self::Unreadable(kind),
            ReadError::TooManyOpenFiles => Self::Unreadable(io::ErrorKind::Other),
            ReadError::OutsideRoot => Self::Link,
            // It existed a moment ago.
            _ => Self::Missing,
        }
    }
}

pub(super) fn is_md(name: &str) -> bool {
    let name = file_name(name);
    let ending = name.len().checked_sub(3).and_then(|at| name.get(at..));
    name.len() > 3 && ending.is_some_and(|ending| ending.eq_ignore_ascii_case(".md"))
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The name of a folder without the path to it.
fn own_name(folder_label: &str) -> &str {
    match file_name(folder_label) {
        ".." => ".",
        name => name,
    }
}

/// A path as it may be shown: as written if it is relative, else only its last part.
fn label(written: &str) -> String {
    let path = Path::new(written);
    let shown = if path.is_absolute() {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    } else {
        let shown: PathBuf = path.components().collect();
        shown.to_string_lossy().into_owned()
    };
    match shown.strip_prefix("./").unwrap_or(&shown) {
        "" => ".".to_owned(),
        shown => shown.to_owned(),
    }
}

fn joined(folder: &str, path: &str) -> String {
    match folder {
        "." => path.to_owned(),
        folder => format!("{folder}/{path}"),
    }
}

#[cfg(test)]
mod tests;
