//! Sections as callers see them, and how callers name them.

use std::{collections::HashSet, sync::Arc};

use sectile_markdown::{Document, LetterCase, Span, edit::content_span, sections_named};

use super::{DocumentReader, View, part::short_hash};
use crate::{
    NotePath,
    editor::{Candidate, EditorError},
    ids,
};

/// A caller's reference to a section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionRef {
    /// The id, or the label of a section that the same request creates.
    pub id: Option<String>,
    /// The heading, if only one section has it.
    pub heading: Option<String>,
}

/// Information about a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionInfo {
    /// Its id.
    pub id: String,
    /// Text of its heading.
    pub heading: String,
    /// Level of its heading, 1 to 6.
    pub level: u8,
    /// Its index among the sections of the document.
    pub position: usize,
    /// Id of the section that contains it.
    pub parent: Option<String>,
    /// Hash of its own text.
    pub hash: String,
    /// Hash of heading, text and subsections.
    pub subtree_hash: String,
    /// Length of its own text, in bytes.
    pub bytes: usize,
    /// Length of its text with subsections, in bytes.
    pub bytes_below: usize,
    /// Number of sections below it.
    pub descendants: usize,
}

/// The spans of a section that can be read or changed by themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Own text without blank lines around it.
    pub(crate) content: Span,
    /// Text with subsections, without blank lines around it.
    pub(crate) below: Span,
    /// Heading and everything below, without blank lines after it.
    pub(crate) subtree: Span,
    /// The same with blank lines: what a deletion removes.
    pub(crate) whole: Span,
}

impl DocumentReader {
    /// Finds a section by id or by heading, in the document as it is now.
    pub(crate) fn find_section(
        &self,
        path: Option<&NotePath>,
        section: &SectionRef,
        case: LetterCase,
    ) -> Result<(Arc<View>, usize), EditorError> {
        let (view, position) = match (&section.id, &section.heading) {
            (None, None) => {
                return Err(EditorError::BadReference(
                    "Name the section by section_id or by heading.",
                ));
            }
            (None, Some(heading)) => {
                let view = self.view(path.ok_or(EditorError::NoDocument)?)?;
                let position = view.find_heading(heading, case)?;
                return Ok((view, position));
            }
            (Some(id), _) => self.find_id(path, id)?,
        };
        view.check_heading(position, section.heading.as_deref(), case)?;
        Ok((view, position))
    }

    fn find_id(
        &self,
        path: Option<&NotePath>,
        id: &str,
    ) -> Result<(Arc<View>, usize), EditorError> {
        let named = path.map(|path| self.view(path)).transpose()?;
        if let Some(view) = &named
            && let Some(position) = view.position_of(id)
        {
            return Ok((Arc::clone(view), position));
        }
        if let Some(known) = self.store.document_of(id) {
            if named.is_some() && self.folder.only.is_none() {
                return Err(EditorError::BadReference(
                    "The section is not in the document that path names.",
                ));
            }
            let view = self.view(&known)?;
            if let Some(position) = view.position_of(id) {
                return Ok((view, position));
            }
        }
        Err(self.unknown_id(id, named.as_deref()))
    }

    /// Returns the error for an unknown id, with similar sections of the document `within`.
    pub(crate) fn unknown_id(&self, id: &str, within: Option<&View>) -> EditorError {
        if let Some(entry) = self.store.deleted_by(id) {
            return EditorError::SectionDeleted {
                section_id: id.to_owned(),
                entry,
            };
        }
        let near = within.map(|view| view.near(ids::words(id)));
        EditorError::SectionNotFound {
            section_id: Some(id.to_owned()),
            near: near.unwrap_or_default(),
        }
    }

    /// Returns whether `id` names a section, or did once.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.store.document_of(id).is_some() || self.store.deleted_by(id).is_some()
    }
}

impl View {
    /// Returns the text of a section: its own, or with its subsections.
    #[must_use]
    pub fn content(&self, position: usize, subtree: bool) -> Option<String> {
        let parts = parts_of(self.bytes(), self.document(), position)?;
        let span = if subtree { parts.below } else { parts.content };
        Some(String::from_utf8_lossy(span.slice(self.bytes())).into_owned())
    }

    /// Returns information about every section, in order.
    #[must_use]
    pub fn sections(&self) -> Vec<SectionInfo> {
        (0..self.ids().len())
            .filter_map(|position| self.section(position))
            .collect()
    }

    /// Returns information about one section.
    #[must_use]
    pub fn section(&self, position: usize) -> Option<SectionInfo> {
        let outline = self.outline().get(position)?;
        let hashes = self.hashes(position)?;
        Some(SectionInfo {
            id: self.ids().get(position)?.clone(),
            heading: outline.heading.clone(),
            level: outline.level,
            position,
            parent: outline
                .parent
                .and_then(|parent| self.ids().get(parent).cloned()),
            hash: short_hash(&hashes.own),
            subtree_hash: short_hash(&hashes.subtree),
            bytes: outline.content.len(),
            bytes_below: outline.below.len(),
            descendants: outline.subtree_end - position - 1,
        })
    }

    /// Returns the position of the section with this id.
    #[must_use]
    pub fn position_of(&self, id: &str) -> Option<usize> {
        self.ids().iter().position(|known| known == id)
    }

    /// Returns the headings above a section and its own, outermost first.
    #[must_use]
    pub fn heading_path(&self, position: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut at = Some(position);
        while let Some(here) = at.and_then(|at| self.outline().get(at)) {
            path.push(here.heading.clone());
            at = here.parent;
        }
        path.reverse();
        path
    }

    /// Returns a section as errors refer to it.
    #[must_use]
    pub fn candidate(&self, position: usize) -> Option<Candidate> {
        const SHOWN: usize = 80;
        let outline = self.outline().get(position)?;
        let text = String::from_utf8_lossy(outline.content.slice(self.bytes())).into_owned();
        let first_line = text.split(['\n', '\r']).next().unwrap_or_default();
        Some(Candidate {
            id: ids::shown(self.ids().get(position)?),
            heading: outline.heading.clone(),
            path: self.path().as_str().to_owned(),
            position,
            level: outline.level,
            first_line: first_line.chars().take(SHOWN).collect(),
        })
    }

    /// Refuses a `heading`, given in addition to an id, that is not that of the section at `position`.
    pub(crate) fn check_heading(
        &self,
        position: usize,
        heading: Option<&str>,
        case: LetterCase,
    ) -> Result<(), EditorError> {
        let agrees = match heading.map(|heading| self.find_heading(heading, case)) {
            None => true,
            Some(Ok(found)) => found == position,
            Some(Err(EditorError::Ambiguous { candidates })) => {
                candidates.iter().any(|one| one.position == position)
            }
            Some(Err(_)) => false,
        };
        if agrees {
            Ok(())
        } else {
            Err(EditorError::BadReference(
                "section_id and heading name different sections.",
            ))
        }
    }

    /// Finds the section with this heading.
    pub(crate) fn find_heading(
        &self,
        heading: &str,
        case: LetterCase,
    ) -> Result<usize, EditorError> {
        let named = |case| sections_named(self.bytes(), self.document(), heading, case);
        match named(case)[..] {
            [only] => Ok(only),
            [] => {
                let meant = named(LetterCase::MayDiffer);
                Err(EditorError::SectionNotFound {
                    section_id: None,
                    near: self.near_or(heading, meant),
                })
            }
            ref found => Err(EditorError::Ambiguous {
                candidates: found
                    .iter()
                    .filter_map(|position| self.candidate(*position))
                    .collect(),
            }),
        }
    }

    /// Sections whose heading or id shares a word with `wanted`.
    pub(crate) fn near(&self, wanted: &str) -> Vec<Candidate> {
        self.near_or(wanted, Vec::new())
    }

    /// The sections at `first`, and then those whose heading or id shares a word with `wanted`.
    fn near_or(&self, wanted: &str, first: Vec<usize>) -> Vec<Candidate> {
        const SHOWN: usize = 5;
        let words = |text: &str| -> Vec<String> {
            text.to_lowercase()
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| word.len() > 1)
                .map(str::to_owned)
                .collect()
        };
        let wanted: HashSet<String> = words(wanted).into_iter().collect();
        let all = self.outline().iter().enumerate();
        let near = all
            .filter(|(_, one)| words(&one.heading).iter().any(|word| wanted.contains(word)))
            .map(|(position, _)| position)
            .filter(|position| !first.contains(position));
        first
            .iter()
            .copied()
            .chain(near)
            .take(SHOWN)
            .filter_map(|position| self.candidate(position))
            .collect()
    }
}

/// The parts of the section at `position`.
pub(crate) fn parts_of(bytes: &[u8], document: &Document, position: usize) -> Option<Parts> {
    let (_, section, extent) = document.top_level().nth(position)?;
    let below = Span::new(section.heading.end, extent.subtree.end);
    Some(Parts {
        content: content_span(bytes, extent.own_body),
        below: content_span(bytes, below),
        subtree: content_span(bytes, extent.subtree),
        whole: extent.subtree,
    })
}

/// Returns the text as lines that end in LF, including the last, so that a change of the last line is a change of one
/// line.
pub(crate) fn lines(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let mut bytes = text.into_bytes();
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    bytes
}
