//! Checks the quotations of a draft against folders that are being edited: each passage is found in the bytes on disk, in
//! that very call, or was changed, moved, or is nowhere.
//!
//! The index only says where to look. A passage is verified when its text was found in bytes that the editor has just read;
//! letters, digits and words are compared as they are.

mod candidates;
mod locate;
mod past;

use std::{collections::HashMap, sync::Arc};

use sectile_markdown::{
    Citation, CitationForm, ComparableText, Digest, LineIndex, NotePath, Quotation, Source, Span,
    TextFolding, WordChange, near_text, quotations, word_diff,
};
use sectile_vault::editor::{EditorError, HistoryEntry, View};

use self::{
    candidates::CandidateSearch,
    locate::{ComparedNote, FoundPassage, WantedPassage},
};
use crate::{
    editable_folder::{EditableFolder, FoundTarget},
    error::LibraryError,
};

/// The largest draft that is checked, in bytes.
pub const MAX_DRAFT_BYTES: usize = 1 << 20;
/// The most places that are listed for one passage. Text that is in more notes than this is boilerplate.
pub const MAX_PLACES: usize = 5;
/// The largest note that is compared with a passage that is nowhere word for word, in bytes.
const MAX_COMPARED_BYTES: usize = 2 << 20;

/// Limits on the work of a check.
#[derive(Clone, Copy, Debug)]
pub struct QuoteCheckLimits {
    /// The most notes that the index proposes for one passage in one folder.
    pub candidates: usize,
    /// The most notes that are compared word by word with a passage that was changed, in one folder.
    pub compared: usize,
    /// The most bytes that are read of notes that the index did not propose, in all folders together.
    pub scanned_bytes: u64,
    /// The most bytes of earlier texts that are read, in each folder.
    pub past_bytes: u64,
}

impl Default for QuoteCheckLimits {
    fn default() -> Self {
        // Reading 128 MiB of notes takes about a second from memory.
        Self {
            candidates: 64,
            compared: 8,
            scanned_bytes: 128 << 20,
            past_bytes: 256 << 20,
        }
    }
}

/// A check of a draft.
pub struct QuoteCheck<'a> {
    /// The folders that the caller can see.
    pub folders: Vec<&'a EditableFolder>,
    /// Finds what a citation names.
    pub resolve: &'a dyn Fn(&Citation) -> CitedTarget,
    /// The folder and path of the draft itself, which does not count as a place.
    pub draft: Option<(usize, NotePath)>,
    /// The limits.
    pub limits: QuoteCheckLimits,
    /// Returns whether the caller no longer waits.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// The target of a citation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CitedTarget {
    /// A document or section in the folder of this number.
    Found(usize, FoundTarget),
    /// A name that should be one of a document, but is not.
    Missing,
    /// Something else, such as a person or a page on the web.
    Other,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct QuoteReport {
    /// The passages, in the order of the draft.
    pub passages: Vec<CheckedPassage>,
    /// What was not looked at.
    pub left_out: LeftOutOfCheck,
}

/// What a check did not look at, because there was too much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOutOfCheck {
    /// Number of passages beyond the limit.
    pub passages: usize,
    /// Number of passages that are too long.
    pub long_passages: usize,
    /// Number of notes that were not searched for passages that the index did not find.
    pub notes: usize,
    /// Whether some of the history was not searched.
    pub history: bool,
}

/// A passage of a draft, and what became of it.
#[derive(Clone, Debug)]
pub struct CheckedPassage {
    /// The passage.
    pub quotation: Quotation,
    /// The line of the draft where it starts, counted from 1.
    pub line: usize,
    /// Its citations that name a document or should.
    pub citations: Vec<(Citation, CitedTarget)>,
    /// The result.
    pub verdict: QuoteVerdict,
}

/// The result for one passage.
#[derive(Clone, Debug)]
pub enum QuoteVerdict {
    /// It is where the draft says, or, if the draft does not say, somewhere.
    Verified(PassagePlaces),
    /// It is not where the draft says, but elsewhere.
    Moved(PassagePlaces),
    /// It is nowhere word for word.
    Changed {
        /// The text that comes nearest to it now.
        nearest: Option<Box<NearestPassage>>,
        /// The change that removed it.
        removed: Option<Box<PassageRemoval>>,
    },
    /// Nothing like it is in any note, and the history has not known it either.
    Nowhere,
}

impl QuoteVerdict {
    /// Returns the result in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Verified(_) => "verified",
            Self::Moved(_) => "moved",
            Self::Changed { .. } => "changed",
            Self::Nowhere => "nowhere",
        }
    }
}

/// The places of a passage, by folder and path.
#[derive(Clone, Debug, Default)]
pub struct PassagePlaces {
    /// The first places.
    pub places: Vec<PassagePlace>,
    /// Whether there may be more.
    pub has_more: bool,
}

/// A place that has a passage word for word.
#[derive(Clone, Debug)]
pub struct PassagePlace {
    /// Where it starts.
    pub location: TextLocation,
    /// The parts of the passage: one, or more if the draft left something out between them.
    pub parts: Vec<VerifiedText>,
    /// What differs between the draft and the bytes on disk.
    pub differences: Vec<QuoteDifference>,
}

/// A place in a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLocation {
    /// The number of the folder.
    pub folder: usize,
    /// The document.
    pub path: NotePath,
    /// The lasting id of the section; `None` before the first heading.
    pub section: Option<String>,
    /// The headings above, outermost first.
    pub headings: Vec<String>,
    /// The line of the document, counted from 1.
    pub line: usize,
}

/// Bytes of a note that were read in this call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedText {
    /// Where they are in the document.
    pub span: Span,
    /// The bytes.
    pub text: String,
    /// Their digest.
    pub digest: Digest,
}

/// A difference between a passage and the bytes on disk that does not change what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuoteDifference {
    /// White space or line breaks.
    WhiteSpace,
    /// Markup, such as emphasis or links.
    Markup,
    /// The kind of quotation marks, dashes or ellipses.
    Typography,
    /// The Unicode normal form.
    NormalForm,
    /// A full stop or comma at the end, which belongs to the sentence of the draft.
    EndPunctuation,
    /// Parts were left out.
    Ellipsis,
}

impl QuoteDifference {
    /// Returns the difference as one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::WhiteSpace => "white_space",
            Self::Markup => "markup",
            Self::Typography => "typography",
            Self::NormalForm => "normal_form",
            Self::EndPunctuation => "end_punctuation",
            Self::Ellipsis => "ellipsis",
        }
    }
}

/// The text that comes nearest to a passage.
#[derive(Clone, Debug)]
pub struct NearestPassage {
    /// Where it is.
    pub location: TextLocation,
    /// The text.
    pub text: VerifiedText,
    /// How much of the passage it has, in thousandths of its words.
    pub likeness: u32,
    /// The passage and the text, compared word by word.
    pub diff: Vec<WordChange>,
}

/// The change that removed a passage.
#[derive(Clone, Debug)]
pub struct PassageRemoval {
    /// The number of the folder.
    pub folder: usize,
    /// The path of the document at that time.
    pub path: String,
    /// The change.
    pub entry: HistoryEntry,
}

/// A passage that is being looked for.
struct OpenPassage {
    wanted: WantedPassage,
    places: Vec<PassagePlace>,
    has_more: bool,
}

impl QuoteCheck<'_> {
    /// Checks the quotations of a draft.
    ///
    /// # Errors
    /// [`LibraryError`] when the caller no longer waits, or a folder cannot be read.
    pub fn check(&self, draft: &str) -> Result<QuoteReport, LibraryError> {
        let list = quotations(draft);
        let mut left_out = LeftOutOfCheck {
            passages: list.left_out,
            long_passages: list.too_long,
            ..LeftOutOfCheck::default()
        };
        let lines = LineIndex::new(draft.as_bytes());
        let mut resolved = HashMap::new();
        let mut checked = Vec::new();
        let mut open = Vec::new();
        for quotation in list.quotations {
            self.go_on()?;
            let citations = self.citations(&quotation, &mut resolved);
            let wanted = WantedPassage::new(&quotation, !citations.is_empty());
            let places = self.cited_places(&wanted, &citations);
            let is_settled = !places.is_empty();
            open.push((!is_settled).then(|| OpenPassage {
                wanted,
                places: Vec::new(),
                has_more: false,
            }));
            checked.push(CheckedPassage {
                line: lines.position(quotation.span.start).line,
                quotation,
                citations,
                verdict: match is_settled {
                    true => QuoteVerdict::Verified(PassagePlaces {
                        places,
                        has_more: false,
                    }),
                    false => QuoteVerdict::Nowhere,
                },
            });
        }
        let search = CandidateSearch::new(self)?;
        for passage in open.iter_mut().flatten() {
            self.go_on()?;
            search.propose(passage)?;
        }
        left_out.notes = search.scan(&mut open)?;
        self.settle(&mut checked, open, &search, &mut left_out)?;
        Ok(QuoteReport {
            passages: checked,
            left_out,
        })
    }

    /// Gives the passages that were not where the draft says their results.
    fn settle(
        &self,
        checked: &mut [CheckedPassage],
        open: Vec<Option<OpenPassage>>,
        search: &CandidateSearch<'_>,
        left_out: &mut LeftOutOfCheck,
    ) -> Result<(), LibraryError> {
        let mut missing = Vec::new();
        for (index, passage) in open.into_iter().enumerate() {
            let Some(passage) = passage else {
                continue;
            };
            if passage.places.is_empty() {
                missing.push((index, passage.wanted));
                continue;
            }
            let places = PassagePlaces {
                places: passage.places,
                has_more: passage.has_more,
            };
            checked[index].verdict = match checked[index].citations.is_empty() {
                true => QuoteVerdict::Verified(places),
                false => QuoteVerdict::Moved(places),
            };
        }
        let mut removals = self.removals(&missing, left_out)?;
        for (index, wanted) in &missing {
            self.go_on()?;
            let nearest = self.nearest(wanted, &checked[*index].citations, search)?;
            let removed = removals.remove(index);
            if nearest.is_some() || removed.is_some() {
                checked[*index].verdict = QuoteVerdict::Changed {
                    nearest: nearest.map(Box::new),
                    removed: removed.map(Box::new),
                };
            }
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), LibraryError> {
        match (self.stop)() {
            true => Err(LibraryError::Cancelled),
            false => Ok(()),
        }
    }

    /// Returns the citations that name a document, or should.
    fn citations(
        &self,
        quotation: &Quotation,
        resolved: &mut HashMap<(String, bool), CitedTarget>,
    ) -> Vec<(Citation, CitedTarget)> {
        let mut cited = Vec::new();
        for citation in &quotation.citations {
            let is_link = citation.form == CitationForm::Link;
            let key = (citation.target.clone(), is_link);
            let target = resolved
                .entry(key)
                .or_insert_with(|| (self.resolve)(citation));
            if *target != CitedTarget::Other {
                cited.push((citation.clone(), target.clone()));
            }
        }
        // Part of a name that leads somewhere need not lead anywhere itself.
        let found: Vec<Span> = cited
            .iter()
            .filter(|(_, target)| matches!(target, CitedTarget::Found(..)))
            .map(|(citation, _): &(Citation, CitedTarget)| citation.span)
            .collect();
        cited.retain(|(citation, target)| {
            let is_part = |span: &Span| span.contains(citation.span);
            *target != CitedTarget::Missing || !found.iter().any(is_part)
        });
        cited
    }

    /// Returns the cited places that have a passage.
    fn cited_places(
        &self,
        wanted: &WantedPassage,
        citations: &[(Citation, CitedTarget)],
    ) -> Vec<PassagePlace> {
        let mut places: Vec<PassagePlace> = Vec::new();
        for (_, target) in citations {
            let CitedTarget::Found(folder, target) = target else {
                continue;
            };
            let (path, section) = match target {
                FoundTarget::Document(path) => (path, None),
                FoundTarget::Section { path, id } => (path, Some(id)),
                FoundTarget::Top | FoundTarget::Folder(_) => continue,
            };
            let Some(view) = self.view(*folder, path) else {
                continue;
            };
            let part = match section.map(|id| view.position_of(id)) {
                None => Span::new(0, view.bytes().len()),
                Some(Some(position)) => subtree(&view, position),
                Some(None) => continue,
            };
            let note = ComparedNote::new(view.bytes());
            if let Some(found) = wanted.find_in(&note, part).into_iter().next() {
                places.extend(place(*folder, &view, &found));
            }
            if places.len() >= MAX_PLACES {
                break;
            }
        }
        places
    }

    /// Returns a document as it is on disk now, unless it is the draft.
    fn view(&self, folder: usize, path: &NotePath) -> Option<Arc<View>> {
        let view = self.folders.get(folder)?.editor.view(path).ok()?;
        let is_draft = self
            .draft
            .as_ref()
            .is_some_and(|(of, draft)| *of == folder && draft == view.path());
        (!is_draft).then_some(view)
    }

    /// Returns the text that comes nearest to a passage, in the cited documents and in those with its words.
    fn nearest(
        &self,
        wanted: &WantedPassage,
        citations: &[(Citation, CitedTarget)],
        search: &CandidateSearch<'_>,
    ) -> Result<Option<NearestPassage>, LibraryError> {
        let mut paths: Vec<(usize, NotePath)> = Vec::new();
        for (_, target) in citations {
            if let CitedTarget::Found(
                folder,
                FoundTarget::Document(path) | FoundTarget::Section { path, .. },
            ) = target
            {
                paths.push((*folder, path.clone()));
            }
        }
        paths.extend(search.alike(wanted)?);
        let mut best: Option<NearestPassage> = None;
        let mut seen = Vec::new();
        for (folder, path) in paths {
            self.go_on()?;
            if seen.contains(&(folder, path.clone())) {
                continue;
            }
            let near = self.near_in(wanted, folder, &path);
            seen.push((folder, path));
            let better = |near: &NearestPassage| {
                best.as_ref()
                    .is_none_or(|best| near.likeness > best.likeness)
            };
            if let Some(near) = near.filter(better) {
                best = Some(near);
            }
        }
        Ok(best)
    }

    fn near_in(
        &self,
        wanted: &WantedPassage,
        folder: usize,
        path: &NotePath,
    ) -> Option<NearestPassage> {
        let view = self.view(folder, path)?;
        let bytes = view.bytes();
        if bytes.len() > MAX_COMPARED_BYTES {
            return None;
        }
        let folding = TextFolding {
            normal_form: false,
            ..TextFolding::ALL
        };
        let text = ComparableText::as_read(&Source::new(bytes), folding);
        let passage = wanted.read(folding);
        let near = near_text(&passage, text.text())?;
        let span = text.source_of(near.part.clone());
        Some(NearestPassage {
            location: location(folder, &view, span.start),
            text: verified(bytes, span)?,
            likeness: near.likeness,
            diff: word_diff(&passage, text.text().get(near.part)?),
        })
    }
}

/// Returns the bytes of a section with its heading and subsections.
fn subtree(view: &View, position: usize) -> Span {
    let section = view.document().top_level().nth(position);
    section.map_or(Span::new(0, 0), |(_, _, extent)| extent.subtree)
}

/// Returns a place in a document as callers see it.
fn location(folder: usize, view: &View, offset: usize) -> TextLocation {
    let sections = view.document().top_level();
    let before = sections.take_while(|(_, section, _)| section.heading.start <= offset);
    let position = before.count().checked_sub(1);
    let bytes = view.bytes();
    TextLocation {
        folder,
        path: view.path().clone(),
        section: position.and_then(|position| view.ids().get(position).cloned()),
        headings: position.map_or_else(Vec::new, |position| view.heading_path(position)),
        line: LineIndex::new(bytes).position(offset).line,
    }
}

/// Returns bytes of a document with their digest, if they are text.
fn verified(bytes: &[u8], span: Span) -> Option<VerifiedText> {
    let part = bytes.get(span.range())?;
    Some(VerifiedText {
        span,
        text: std::str::from_utf8(part).ok()?.to_owned(),
        digest: Digest::of(part),
    })
}

/// Returns a place where a passage was found in the bytes of `view`.
fn place(folder: usize, view: &View, found: &FoundPassage) -> Option<PassagePlace> {
    let parts = found.parts.iter();
    let parts: Option<Vec<VerifiedText>> =
        parts.map(|span| verified(view.bytes(), *span)).collect();
    Some(PassagePlace {
        location: location(folder, view, found.parts.first()?.start),
        parts: parts?,
        differences: found.differences.clone(),
    })
}

/// Returns an error of the editor as one of the library.
fn editor_error(error: &EditorError) -> LibraryError {
    match error {
        EditorError::Cancelled => LibraryError::Cancelled,
        error => LibraryError::of_process(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
