//! The check of quotations: what became of each passage that a draft quotes from the desk.

use sectile_library::{
    editable_folder::{FindError, FoundTarget},
    quote_check::{
        CheckedPassage, CitedTarget, LeftOutOfCheck, MAX_DRAFT_BYTES, NearestPassage, PassagePlace,
        PassagePlaces, PassageRemoval, QuoteCheck, QuoteCheckLimits, QuoteDifference, QuoteReport,
        QuoteVerdict, TextLocation, VerifiedText,
    },
};
use sectile_markdown::{Citation, CitationForm, WordChange, joined_path};
use sectile_mcp::{CallContext, Failure, visible};
use sectile_vault::NotePath;
use serde::Serialize;

use super::{
    DeskWorld,
    errors::{TOO_LARGE, failure, library_failure},
    roots::{DeskRoot, VisibleRoots},
};
use crate::worlds::timestamp;

/// Maximum length of a name in an answer, in characters.
const MAX_NAME_CHARS: usize = 60;

/// The result of a check, as scripts and pages get it.
#[derive(Debug, Serialize)]
pub(crate) struct QuoteAnswer {
    pub(super) passages: Vec<AnsweredPassage>,
    /// Number of passages.
    pub(super) total: usize,
    pub(super) counts: VerdictCounts,
    /// Sentences about what was not looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) left_out: Vec<String>,
}

/// Number of passages with each result.
#[derive(Debug, Default, Serialize)]
pub(super) struct VerdictCounts {
    pub(super) verified: usize,
    pub(super) moved: usize,
    pub(super) changed: usize,
    pub(super) nowhere: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct AnsweredPassage {
    pub(super) status: &'static str,
    /// The line of the draft.
    pub(super) line: usize,
    /// How the draft marks it: `block`, `marks` or `paragraph`.
    pub(super) form: &'static str,
    /// The passage, without markup.
    pub(super) quote: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cited: Vec<AnsweredCitation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) places: Vec<AnsweredPlace>,
    /// Whether there are more places.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nearest: Option<AnsweredNearest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) removed: Option<AnsweredRemoval>,
}

#[derive(Debug, Serialize)]
pub(super) struct AnsweredCitation {
    /// As the draft has it.
    pub(super) written: String,
    /// The id of what it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct AnsweredPlace {
    pub(super) id: String,
    pub(super) headings: Vec<String>,
    pub(super) line: usize,
    pub(super) parts: Vec<AnsweredText>,
    /// What differs: `white_space`, `markup`, `typography`, `normal_form`, `end_punctuation`, `ellipsis`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) differs: Vec<&'static str>,
}

/// Exact bytes of a document.
#[derive(Debug, Serialize)]
pub(super) struct AnsweredText {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) sha256: String,
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct AnsweredNearest {
    pub(super) id: String,
    pub(super) headings: Vec<String>,
    pub(super) line: usize,
    #[serde(flatten)]
    pub(super) text: AnsweredText,
    /// How many of the words of the passage it has, in thousandths.
    pub(super) likeness: u32,
    pub(super) diff: Vec<AnsweredWords>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnsweredWords {
    Same(String),
    Quoted(String),
    Now(String),
}

#[derive(Debug, Serialize)]
pub(super) struct AnsweredRemoval {
    pub(super) change: String,
    pub(super) time: String,
    pub(super) by: String,
    pub(super) tool: String,
    /// By another program.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) external: bool,
    /// The document that had it.
    pub(super) id: String,
}

impl QuoteAnswer {
    /// Returns the number of passages with each result.
    pub(super) fn counts(&self) -> [(&'static str, usize); 4] {
        [
            ("verified", self.counts.verified),
            ("moved", self.counts.moved),
            ("changed", self.counts.changed),
            ("nowhere", self.counts.nowhere),
        ]
    }

    /// Returns the number of passages.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Returns the number of passages that are not where the draft says.
    pub(crate) fn unverified(&self) -> usize {
        self.total - self.counts.verified
    }

    fn new(roots: &VisibleRoots<'_>, all: &[&DeskRoot], report: &QuoteReport) -> Self {
        let mut counts = VerdictCounts::default();
        for passage in &report.passages {
            *match passage.verdict {
                QuoteVerdict::Verified(_) => &mut counts.verified,
                QuoteVerdict::Moved(_) => &mut counts.moved,
                QuoteVerdict::Changed { .. } => &mut counts.changed,
                QuoteVerdict::Nowhere => &mut counts.nowhere,
            } += 1;
        }
        let naming = AnswerNaming { roots, all };
        let passages = report.passages.iter();
        Self {
            passages: passages.map(|passage| naming.passage(passage)).collect(),
            total: report.passages.len(),
            counts,
            left_out: left_out(&report.left_out),
        }
    }
}

impl DeskWorld {
    /// Checks the quotations of a draft against the roots that the caller can see. `place` is the id of the draft itself, if
    /// it is on the desk: it does not count as a source, and its links start from its folder.
    pub(crate) fn check_quotes(
        &self,
        draft: &str,
        place: Option<&str>,
        context: &CallContext,
    ) -> Result<QuoteAnswer, Failure> {
        if draft.len() > MAX_DRAFT_BYTES {
            let what = format!("The draft has more than {} KiB.", MAX_DRAFT_BYTES >> 10);
            return Err(failure(&TOO_LARGE, what, ""));
        }
        let roots = self.roots_for(context);
        let all: Vec<&DeskRoot> = roots.iter().collect();
        let number = |root: &DeskRoot| all.iter().position(|one| std::ptr::eq(*one, root));
        let place = place.and_then(|place| {
            let (root, path) = roots.place(place).ok()?;
            Some((number(root)?, path))
        });
        let stop = || context.cancelled.is_cancelled();
        let resolver = CitationResolver {
            roots: &roots,
            all: &all,
            place: place.as_ref(),
            stop: &stop,
        };
        let check = QuoteCheck {
            folders: all.iter().map(|root| &*root.folder).collect(),
            resolve: &|citation| resolver.resolve(citation),
            draft: place.clone(),
            limits: QuoteCheckLimits::default(),
            stop: &stop,
        };
        let report = check
            .check(draft)
            .map_err(|error| library_failure(&error))?;
        Ok(QuoteAnswer::new(&roots, &all, &report))
    }
}

/// Finds what citations name.
struct CitationResolver<'a> {
    roots: &'a VisibleRoots<'a>,
    all: &'a [&'a DeskRoot],
    place: Option<&'a (usize, NotePath)>,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl CitationResolver<'_> {
    fn resolve(&self, citation: &Citation) -> CitedTarget {
        let target = match citation.form {
            CitationForm::Address => {
                let mut addressed = self.all.iter().enumerate().filter_map(|(number, root)| {
                    let id = root.urls.id_of_url(&root.name, &citation.target)?;
                    Some(self.find(&[number], &id))
                });
                addressed.next().unwrap_or(CitedTarget::Other)
            }
            CitationForm::Link => match self.beside_draft(&citation.target) {
                Some(found @ CitedTarget::Found(..)) => found,
                _ => self.named(&citation.target),
            },
            CitationForm::Wiki => self.named(&citation.target),
            CitationForm::Id => match (
                self.named(&citation.target),
                citation.target.split_once('#'),
            ) {
                // In running text, a heading of several words ends at the first blank.
                (CitedTarget::Missing, Some((document, _))) => self.named(document),
                (target, _) => target,
            },
            CitationForm::Attribution => match self.named(&citation.target) {
                // It may be a person.
                CitedTarget::Missing => CitedTarget::Other,
                target => target,
            },
        };
        match target {
            CitedTarget::Found(_, FoundTarget::Top | FoundTarget::Folder(_)) => CitedTarget::Other,
            target => target,
        }
    }

    /// Finds the target of a link that counts from the folder of the draft.
    fn beside_draft(&self, target: &str) -> Option<CitedTarget> {
        let (number, draft) = self.place?;
        let (path, fragment) = match target.split_once('#') {
            Some((path, fragment)) => (path, format!("#{fragment}")),
            None => (target, String::new()),
        };
        let path = joined_path(draft.folder().unwrap_or_default(), path)?;
        Some(self.find(&[*number], &format!("{path}{fragment}")))
    }

    fn named(&self, target: &str) -> CitedTarget {
        let (root, rest) = self.roots.split(target);
        let numbers: Vec<usize> = match root {
            Some(root) => {
                let is_it = |number: &usize| std::ptr::eq(self.all[*number], root);
                (0..self.all.len()).filter(is_it).collect()
            }
            None => (0..self.all.len()).collect(),
        };
        self.find(&numbers, rest)
    }

    /// Finds an id in some of the roots. One that can mean several things says nothing.
    fn find(&self, numbers: &[usize], id: &str) -> CitedTarget {
        let mut found = CitedTarget::Missing;
        for number in numbers {
            match self.all[*number].folder.find(id, self.stop) {
                Ok(target) if found == CitedTarget::Missing => {
                    found = CitedTarget::Found(*number, target);
                }
                Ok(_) | Err(FindError::Several(_)) => return CitedTarget::Other,
                Err(FindError::NotFound(_) | FindError::Deleted { .. }) => {}
                Err(_) => found = CitedTarget::Other,
            }
        }
        found
    }
}

/// Names what a check found as callers know it.
struct AnswerNaming<'a> {
    roots: &'a VisibleRoots<'a>,
    all: &'a [&'a DeskRoot],
}

impl AnswerNaming<'_> {
    fn id(&self, location: &TextLocation) -> String {
        let root = self.all[location.folder];
        let section = location.section.as_deref();
        self.roots.id_of(root, location.path.as_str(), section)
    }

    fn passage(&self, passage: &CheckedPassage) -> AnsweredPassage {
        let none = PassagePlaces::default();
        let (places, nearest, removed) = match &passage.verdict {
            QuoteVerdict::Verified(places) | QuoteVerdict::Moved(places) => (places, None, None),
            QuoteVerdict::Changed { nearest, removed } => {
                (&none, nearest.as_deref(), removed.as_deref())
            }
            QuoteVerdict::Nowhere => (&none, None, None),
        };
        let cited = passage.citations.iter();
        AnsweredPassage {
            status: passage.verdict.word(),
            line: passage.line,
            form: passage.quotation.form.word(),
            quote: passage.quotation.quoted.read.clone(),
            cited: cited.map(|(one, target)| self.cited(one, target)).collect(),
            places: places
                .places
                .iter()
                .map(|place| self.place(place))
                .collect(),
            more: places.has_more,
            nearest: nearest.map(|nearest| self.nearest(nearest)),
            removed: removed.map(|removed| self.removed(removed)),
        }
    }

    fn cited(&self, citation: &Citation, target: &CitedTarget) -> AnsweredCitation {
        AnsweredCitation {
            written: citation.target.clone(),
            id: match target {
                CitedTarget::Found(folder, target) => {
                    Some(self.roots.id_of_target(self.all[*folder], target))
                }
                CitedTarget::Missing | CitedTarget::Other => None,
            },
        }
    }

    fn place(&self, place: &PassagePlace) -> AnsweredPlace {
        let differs = place.differences.iter();
        AnsweredPlace {
            id: self.id(&place.location),
            headings: place.location.headings.clone(),
            line: place.location.line,
            parts: place.parts.iter().map(text).collect(),
            differs: differs.copied().map(QuoteDifference::word).collect(),
        }
    }

    fn nearest(&self, nearest: &NearestPassage) -> AnsweredNearest {
        let words = |change: &WordChange| match change {
            WordChange::Same(text) => AnsweredWords::Same(text.clone()),
            WordChange::Old(text) => AnsweredWords::Quoted(text.clone()),
            WordChange::New(text) => AnsweredWords::Now(text.clone()),
        };
        AnsweredNearest {
            id: self.id(&nearest.location),
            headings: nearest.location.headings.clone(),
            line: nearest.location.line,
            text: text(&nearest.text),
            likeness: nearest.likeness,
            diff: nearest.diff.iter().map(words).collect(),
        }
    }

    fn removed(&self, removed: &PassageRemoval) -> AnsweredRemoval {
        let root = self.all[removed.folder];
        let entry = &removed.entry;
        AnsweredRemoval {
            change: self.roots.change_id(root, entry.number),
            time: timestamp(entry.time.div_euclid(1_000) * 1_000),
            by: visible(&entry.actor, MAX_NAME_CHARS),
            tool: visible(&entry.operation, MAX_NAME_CHARS),
            external: entry.is_foreign,
            id: self.roots.id_of(root, &removed.path, None),
        }
    }
}

fn text(text: &VerifiedText) -> AnsweredText {
    AnsweredText {
        start: text.span.start,
        end: text.span.end,
        sha256: text.digest.to_string(),
        text: text.text.clone(),
    }
}

/// Returns what was not looked at, in sentences.
fn left_out(left_out: &LeftOutOfCheck) -> Vec<String> {
    let LeftOutOfCheck {
        passages,
        long_passages,
        notes,
        history,
    } = left_out;
    let mut sentences = Vec::new();
    if *passages > 0 {
        sentences.push(format!("{passages} more passages were not checked."));
    }
    if *long_passages > 0 {
        sentences.push(format!(
            "Passages that are too long to check: {long_passages}."
        ));
    }
    if *notes > 0 {
        sentences.push(format!(
            "Notes that were not searched for what is changed or nowhere: {notes}."
        ));
    }
    if *history {
        sentences.push("The oldest part of the history was not searched.".to_owned());
    }
    sentences
}
