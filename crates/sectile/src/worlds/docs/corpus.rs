//! The documents of the docs world: the embedded manual, and those that the operator adds.
//!
//! The loaded documents, their slugs and the skipped ones follow from settings and files alone: never from the order of a
//! directory, the clock, or the location of the files on the machine.

mod description;
mod doc_list;
mod skip_reason;

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use schemars::JsonSchema;
use sectile_library::{
    left_out::WhyLeftOut,
    live_folder::{FolderState, NoteRecord},
    live_manual::{ManualSnapshot, PageNumber},
    manual_page::PageProblem,
};
use sectile_markdown::{AnchorStyle, Digest, PageFormat, PageSyntax};
use sectile_vault::{ExclusionReason, LeftOutReason, NotePath, ReadError, Root, RootError};

use serde::{Deserialize, Serialize};

use self::description::{DocDescription, TakenSlugs, describe};
pub(crate) use self::{
    description::MAX_SLUG,
    doc_list::DocList,
    skip_reason::{SkipReason, SkippedDoc},
};
use super::{
    DocsDocument, DocsSettings,
    sources::{DocsPart, FolderSource, NamedDoc},
};

/// The part of a navigation for pages that it does not name, as `llms.txt` calls it.
const OPTIONAL: &str = "Optional";

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
    /// Where its text is.
    pub(crate) page: PageNumber,
    /// The digest of its bytes.
    pub(crate) digest: Digest,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    pub(crate) format: PageFormat,
    pub(crate) origin: DocOrigin,
    /// Name of the file, for people: never an absolute path.
    pub(crate) label: String,
    /// Its path in its folder.
    pub(crate) path: NotePath,
    /// Its published address, relative to that of the manual, if the folder is a site that publishes it.
    pub(crate) url: Option<String>,
    /// The part of the navigation that it is in.
    pub(crate) section: Option<String>,
    /// The digest of everything that an answer can show of it.
    pub(crate) shown: Digest,
}

/// The documents that are loaded, and those that are not, at one moment.
#[derive(Clone)]
pub(crate) struct DocsCorpus {
    /// The title of the site, if the settings of one give it.
    pub(crate) title: Option<String>,
    /// The manual, then listed documents, then extra paths; each folder sorted by path.
    pub(crate) documents: DocList,
    /// Where the text of each is.
    pub(crate) page_numbers: Arc<Vec<PageNumber>>,
    /// Their numbers in the order in which they are listed: that of the navigation, where a folder has one.
    pub(crate) listed: Arc<Vec<usize>>,
    /// Documents that were skipped, in the same order.
    pub(crate) skipped: Vec<SkippedDoc>,
    /// Files left out of folders on purpose: hidden, ignored, or Markdown with another extension. Sorted.
    pub(crate) left_out: Vec<SkippedDoc>,
    /// Sentences about what could not be used as written: clashing slugs, invalid front matter.
    pub(crate) notes: Vec<String>,
    /// Their text.
    pub(crate) pages: ManualSnapshot,
}

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
    /// Returns the documents of these parts that the settings and their limits admit.
    pub(super) fn assemble(
        settings: &DocsSettings,
        parts: &[DocsPart],
        folders: &[FolderSource],
        pages: ManualSnapshot,
    ) -> Self {
        let mut assembly = Assembly {
            settings,
            corpus: Self {
                title: folders.iter().find_map(|folder| folder.site.title.clone()),
                documents: DocList::default(),
                page_numbers: Arc::default(),
                listed: Arc::default(),
                skipped: Vec::new(),
                left_out: Vec::new(),
                notes: Vec::new(),
                pages,
            },
            documents: Vec::new(),
            listed: Vec::new(),
            total_bytes: 0,
            slugs: TakenSlugs::default(),
            seen: HashSet::new(),
            is_alone: matches!(parts, [DocsPart::Folder(_)]),
            left_out: Vec::new(),
        };
        for part in parts {
            match part {
                DocsPart::Named(named) => assembly.named(named),
                DocsPart::Folder(number) => assembly.folder(*number, &folders[*number]),
                DocsPart::Skipped(skipped) => assembly.skip(skipped.clone()),
            }
        }
        assembly.finish()
    }

    /// Returns these documents with other states of their folders, in which these pages have another text, if that changes
    /// nothing else: then nothing else needs to be looked at again.
    pub(super) fn patched(
        &self,
        settings: &DocsSettings,
        states: &[Arc<FolderState>],
        changed: &[PageNumber],
    ) -> Option<Self> {
        let is_cut = |skipped: &SkippedDoc| {
            let reason = skipped.reason;
            matches!(
                reason,
                SkipReason::TooMany { .. } | SkipReason::OverTotal { .. }
            )
        };
        if self.skipped.iter().any(is_cut) {
            return None;
        }
        let mut patched = self.clone();
        patched.pages = self.pages.with_folders(states.to_vec());
        for page in changed {
            let at = self.page_numbers.iter().position(|known| known == page)?;
            let before = &patched.documents[at];
            // What was said about it may not be true any more.
            let about = format!("`{}`", before.label);
            if self.notes.iter().any(|note| note.starts_with(&about)) {
                return None;
            }
            let doc = before.retold(patched.pages.record(*page)?, settings)?;
            patched.documents.replace(at, doc);
        }
        let total = patched.total_bytes();
        (total <= settings.written.max_total_bytes).then_some(patched)
    }

    /// Size of all documents together, in bytes.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.documents.bytes()
    }
}

impl Doc {
    /// Returns the document with this text; `None` if that might change anything else than the document.
    fn retold(&self, record: &NoteRecord, settings: &DocsSettings) -> Option<Self> {
        let has_problem = record.left_out.is_some()
            || record
                .page
                .as_ref()
                .is_none_or(|page| page.problem.is_some())
            || record.stamp.bytes > settings.written.max_doc_bytes;
        let name = match settings.is_whole {
            true => record.path.as_str(),
            false => record.path.file_name(),
        };
        let described = describe(record, name, None);
        let is_same = self.path == record.path
            && self.slug == described.slug
            && described.problems.is_empty();
        if has_problem || !is_same {
            return None;
        }
        let doc = Self {
            title: described.title,
            role: described.role,
            description: described.description,
            digest: record.digest,
            bytes: record.stamp.bytes,
            ..self.clone()
        };
        Some(doc.sealed())
    }

    /// Returns the document with the digest of what can be shown of it.
    fn sealed(mut self) -> Self {
        let shown = serde_json::json!([
            self.slug,
            self.title,
            self.role,
            self.description,
            self.digest.to_string(),
            self.url,
            self.format.anchors as u8,
        ]);
        self.shown = Digest::of(shown.to_string().as_bytes());
        self
    }
}

/// A corpus that is being assembled.
struct Assembly<'a> {
    settings: &'a DocsSettings,
    corpus: DocsCorpus,
    documents: Vec<Arc<Doc>>,
    listed: Vec<usize>,
    total_bytes: u64,
    slugs: TakenSlugs,
    /// Files that were handled already, with links resolved.
    seen: HashSet<PathBuf>,
    /// Whether everything is in one folder, so that no file can be reached twice.
    is_alone: bool,
    /// Files left out, with their locations.
    left_out: Vec<(PathBuf, SkippedDoc)>,
}

/// A document before it is admitted.
struct Candidate<'a> {
    label: &'a str,
    /// The label as clients may see it, without the location of the folder.
    name: &'a str,
    /// The name that its slug is made from.
    file_name: &'a str,
    origin: DocOrigin,
    listed: Option<&'a DocsDocument>,
    page: PageNumber,
    anchors: AnchorStyle,
    url: Option<String>,
    section: Option<String>,
}

impl Assembly<'_> {
    /// Takes a document that is named itself. Its name is taken as written, even if that is a link.
    fn named(&mut self, named: &NamedDoc) {
        let listed = named.listed.map(|at| &self.settings.documents[at]);
        if let Some(place) = &named.place
            && !self.seen.insert(place.clone())
        {
            if listed.is_some() {
                self.corpus.notes.push(format!(
                    "`{}` is listed twice under `docs.documents`; the first entry counts. Remove the other.",
                    named.label
                ));
            }
            return;
        }
        let name = match named.origin {
            DocOrigin::Manual => &named.label,
            DocOrigin::Extra => file_name(&named.label),
        };
        let room = self.room_for_one_more();
        match room.and(named.page) {
            Ok(page) => {
                let candidate = Candidate {
                    label: &named.label,
                    name,
                    file_name: &named.file_name,
                    origin: named.origin,
                    listed,
                    page,
                    anchors: AnchorStyle::GitHub,
                    url: None,
                    section: None,
                };
                self.take(&candidate);
            }
            Err(reason) => {
                let skipped = SkippedDoc::new(named.label.clone(), name, listed, reason);
                self.skip(skipped);
            }
        }
    }

    fn folder(&mut self, number: usize, folder: &FolderSource) {
        let FolderSource {
            label: folder_label,
            root,
            survey,
            site,
            ..
        } = folder;
        let first = self.documents.len();
        let folder_name = own_name(folder_label);
        let state = Arc::clone(&self.corpus.pages.folders()[number]);
        // Merges two sorted lists, so that skipped documents are reported in the order of paths, whatever the reason.
        let mut passed_over = survey.passed_over.iter().peekable();
        let mut order = Vec::new();
        // Pages of the navigation come first.
        let has_nav = site.pages.first().is_some_and(|page| page.is_in_nav);
        for (page, note) in state.notes().iter().map(|note| &note.path).enumerate() {
            while let Some((path, why)) =
                passed_over.next_if(|(path, _)| path.as_str() < note.as_str())
            {
                self.passed_over(folder_label, path, *why);
            }
            if !is_page(note.file_name()) {
                self.left_out(root, folder_label, note.as_str(), SkipReason::NotMarkdown);
                continue;
            }
            let place = || root.location().join(note.as_str());
            if !self.is_alone && !self.seen.insert(place()) {
                continue;
            }
            let in_site = site.page(note);
            if in_site.is_some_and(|page| page.is_nav) {
                self.left_out(root, folder_label, note.as_str(), SkipReason::Navigation);
                continue;
            }
            let candidate = Candidate {
                label: &joined(folder_label, note.as_str()),
                name: &joined(folder_name, note.as_str()),
                file_name: match self.settings.is_whole {
                    true => note.as_str(),
                    false => note.file_name(),
                },
                origin: DocOrigin::Extra,
                listed: None,
                page: PageNumber::in_folder(number, page),
                anchors: site.kind.anchors(),
                url: in_site.and_then(|page| page.url.clone()),
                section: in_site.and_then(|page| match has_nav && !page.is_in_nav {
                    true => Some(OPTIONAL.to_owned()),
                    false => page.section.clone(),
                }),
            };
            let before = self.documents.len();
            match self.room_for_one_more() {
                Ok(()) => self.take(&candidate),
                Err(reason) => self.skip(candidate.skipped(reason)),
            }
            if self.documents.len() > before {
                order.push((site.position(note), before));
            }
        }
        for (path, why) in passed_over {
            self.passed_over(folder_label, path, *why);
        }
        for (path, why) in &survey.left_out {
            let reason = match why {
                LeftOutReason::Hidden => SkipReason::Hidden,
                _ => SkipReason::Ignored,
            };
            if path.ends_with('/') || is_page(path) {
                self.left_out(root, folder_label, path, reason);
            }
        }
        order.sort_unstable();
        self.listed.truncate(first);
        self.listed.extend(order.into_iter().map(|(_, at)| at));
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
        let page_numbers = self.documents.iter().map(|doc| doc.page).collect();
        DocsCorpus {
            page_numbers: Arc::new(page_numbers),
            documents: DocList::new(self.documents),
            listed: Arc::new(self.listed),
            ..self.corpus
        }
    }

    /// Records something that a walk passed over, if it could be a document or a folder of documents.
    fn passed_over(&mut self, folder_label: &str, path: &str, why: ExclusionReason) {
        let reason = match why {
            ExclusionReason::LinkToFolder => SkipReason::Link,
            ExclusionReason::Unreadable(kind) => SkipReason::Unreadable(kind),
            _ if !is_page(path) => return,
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

    fn room_for_one_more(&self) -> Result<(), SkipReason> {
        let limit = self.settings.written.max_docs;
        if self.documents.len() < limit {
            Ok(())
        } else {
            Err(SkipReason::TooMany { limit })
        }
    }

    /// Adds a document, or records why it is skipped.
    fn take(&mut self, candidate: &Candidate<'_>) {
        let record = self.corpus.pages.record(candidate.page).cloned();
        let checked = record
            .ok_or(SkipReason::Missing)
            .and_then(|record| self.checked(&record).map(|()| record));
        match checked {
            Ok(record) => self.add(candidate, &record),
            Err(reason) => self.skip(candidate.skipped(reason)),
        }
    }

    fn checked(&self, record: &NoteRecord) -> Result<(), SkipReason> {
        let limit = self.settings.written.max_doc_bytes;
        let page = record.page.as_deref();
        match (record.left_out, page.and_then(|page| page.problem)) {
            (Some(WhyLeftOut::TooLarge), _) => return Err(SkipReason::TooLarge { limit }),
            (Some(WhyLeftOut::Unreadable), _) => {
                return Err(SkipReason::Unreadable(io::ErrorKind::PermissionDenied));
            }
            (None, Some(PageProblem::NotUtf8)) => return Err(SkipReason::NotUtf8),
            (None, Some(PageProblem::Empty)) => return Err(SkipReason::Empty),
            (None, None) => {}
        }
        if record.stamp.bytes > limit {
            return Err(SkipReason::TooLarge { limit });
        }
        let limit = self.settings.written.max_total_bytes;
        if self.total_bytes + record.stamp.bytes > limit {
            return Err(SkipReason::OverTotal { limit });
        }
        Ok(())
    }

    fn add(&mut self, candidate: &Candidate<'_>, record: &NoteRecord) {
        let label = candidate.label;
        let DocDescription {
            slug: wanted,
            title,
            role,
            description,
            problems,
        } = describe(record, candidate.file_name, candidate.listed);
        let notes = &mut self.corpus.notes;
        notes.extend(
            problems
                .into_iter()
                .map(|problem| format!("`{label}`: {problem}")),
        );
        let slug = self.slugs.take(&wanted);
        if slug != wanted {
            notes.push(format!(
                "`{label}`: the slug `{wanted}` is taken, so `{slug}` is used. Give the document a `slug` of its own."
            ));
        }
        self.total_bytes += record.stamp.bytes;
        self.listed.push(self.documents.len());
        let doc = Doc {
            slug,
            title,
            role,
            description,
            page: candidate.page,
            digest: record.digest,
            bytes: record.stamp.bytes,
            format: PageFormat {
                syntax: PageSyntax::of_file(record.path.file_name()),
                anchors: candidate.anchors,
            },
            origin: candidate.origin,
            label: label.to_owned(),
            path: record.path.clone(),
            url: candidate.url.clone(),
            section: candidate.section.clone(),
            shown: record.digest,
        };
        self.documents.push(Arc::new(doc.sealed()));
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

/// Returns whether a file has the name of a document.
pub(super) fn is_page(name: &str) -> bool {
    let (stem, ending) = file_name(name).rsplit_once('.').unwrap_or_default();
    !stem.is_empty() && (ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("mdx"))
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The name of a folder without the path to it.
pub(super) fn own_name(folder_label: &str) -> &str {
    match file_name(folder_label) {
        ".." => ".",
        name => name,
    }
}

/// A path as it may be shown: as written if it is relative, else only its last part.
pub(super) fn label(written: &str) -> String {
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

pub(super) fn joined(folder: &str, path: &str) -> String {
    match folder {
        "." => path.to_owned(),
        folder => format!("{folder}/{path}"),
    }
}

#[cfg(test)]
mod tests;
