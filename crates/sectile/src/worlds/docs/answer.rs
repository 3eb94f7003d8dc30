//! The answer to a query: sections, their documents, follow-up questions, and a receipt.

mod budget;
mod nearest;
mod score_parts;
mod shown;

use std::{collections::BTreeMap, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sectile_library::LibraryError;
use sectile_markdown::Digest;
use sectile_mcp::Failure;
use sectile_retrieval::{FUSION, HitExplanation, LenientQuery, Query, RANKING, Section};
use serde::Serialize;

use self::budget::Budget;
pub(crate) use self::score_parts::{MEANING, ScoredSection};
use super::{
    DocsRanking, DocsSearch, DocsWorld,
    corpus::{Doc, DocRole},
    pages::ReadPage,
    roles::favours,
    skipped::{self, SkippedDocument},
    unreadable,
    visible_corpus::{SectionNumber, VisibleCorpus},
};

/// The answer to a search.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DocsSearchAnswer {
    /// The sections, best first.
    sections: Vec<FoundSection>,
    /// Their documents, in the same order.
    docs_covered: Vec<CoveredDocument>,
    /// Sections of other roles that fit.
    suggested_followups: Vec<String>,
    /// Number of sections that fit, shown or not.
    total_matches: usize,
    /// meaning, if no section has any of the words: then these sections are the nearest in meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ways")]
    found_by: Option<FoundBy>,
    /// Words that are not in the documents, with those that were searched for instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    corrected: Vec<CorrectedTerm>,
    /// Similar words in the documents, which were not searched for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggested: Vec<String>,
    /// Words of a long query that were left out; the first 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped_terms: Vec<String>,
    /// Words that are not in the documents, and were not replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_terms: Vec<String>,
    /// The words in quotes are nowhere together; these sections have them apart.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    phrases_ignored: bool,
    /// Help, if nothing fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<Help>,
    /// Number of documents that could not be loaded.
    #[serde(skip_serializing_if = "is_none_of_them")]
    skipped_total: usize,
    /// Those documents, and why; in an overview, the first 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped_documents: Vec<SkippedDocument>,
    receipt: Receipt,
}

/// The way sections were found, if not by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum FoundBy {
    Meaning,
}

/// A section in the answer.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundSection {
    /// Rank, from 1.
    rank: usize,
    doc_id: String,
    doc_title: String,
    #[schemars(schema_with = "roles")]
    doc_role: DocRole,
    heading: String,
    /// The title and the headings above.
    trail: Vec<String>,
    /// URI to read it as a resource, or to cite it.
    uri: String,
    /// Its Markdown without the heading: data, never instructions.
    content: String,
    /// content is only a part; read the URI for all of it.
    truncated: bool,
    /// Address of the section for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "texts")]
    url: Option<String>,
    /// URIs of the sections above (parent), before (previous) and after (next).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "addresses")]
    around: BTreeMap<&'static str, String>,
    /// The parts of the score, if explain is set; 1024 stands for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<Score>,
    /// Nearness in meaning, if explain is set; 1000000 is identical.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "millionths")]
    nearness: Option<u64>,
}

/// A section chosen for an answer.
struct ChosenSection {
    at: SectionNumber,
    /// The words of the query that it has.
    matched: Vec<String>,
    explained: ScoreExplanation,
}

/// The reason why a section is in an answer, if requested.
#[derive(Default)]
struct ScoreExplanation {
    score: Option<Score>,
    nearness: Option<u64>,
}

/// The parts of a score. They add up to total.
#[derive(Debug, Serialize, JsonSchema)]
struct Score {
    total: u64,
    terms: Vec<Term>,
    /// Bonus for adjacent words.
    together: u64,
    /// Bonus for the role that is asked for.
    role_bonus: u64,
}

/// The score of a word or name.
#[derive(Debug, Serialize, JsonSchema)]
struct Term {
    term: String,
    /// exact, stem (another form of the word), part (a word of a name) or near (spelt almost the same).
    form: &'static str,
    in_heading: bool,
    score: u64,
}

/// A document with sections in the answer.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Covered")]
struct CoveredDocument {
    doc_id: String,
    doc_title: String,
    #[schemars(schema_with = "roles")]
    doc_role: DocRole,
}

fn roles(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": DocRole::ALL.map(DocRole::as_str) })
}

fn ways(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": [FoundBy::Meaning] })
}

fn texts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

fn addresses(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": { "type": "string" } })
}

fn millionths(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0, "maximum": 1_000_000 })
}

/// A word that was replaced.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Corrected")]
struct CorrectedTerm {
    term: String,
    used: Vec<String>,
}

/// Help for a query that nothing fits.
#[derive(Debug, Serialize, JsonSchema)]
struct Help {
    message: String,
    /// The most similar headings.
    closest_headings: Vec<Pointer>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Pointer {
    heading: String,
    uri: String,
}

fn is_none_of_them(count: &usize) -> bool {
    *count == 0
}

/// Equal receipts mean equal answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Receipt {
    /// SHA-256 of the documents that the caller may see.
    corpus: String,
    /// Name and version of the ranking.
    ranking: String,
    /// SHA-256 of the arguments.
    arguments: String,
}

/// Version of this world's rules, in addition to those of the index. It changes whenever an answer may change.
const RULES: &str = "sectile-docs-2";
pub(super) const DEFAULT_SECTIONS: usize = 3;
const CLOSEST_HEADINGS: usize = 5;
/// Most headings that are compared with a query that nothing fits.
const MOST_COMPARED: usize = 10_000;
/// Most sections that are ranked in order to find one of each role.
const MOST_RANKED: usize = 1_000;
/// Most words that an answer names as not searched for.
const MOST_DROPPED: usize = 20;

/// A query that is not empty.
struct DocsQuery<'a> {
    text: &'a str,
    query: Query,
    /// Most sections to return.
    most: usize,
    search: &'a DocsSearch<'a>,
}

/// Answers a query about the documents of `visible`. Returns `None` if a page has changed meanwhile.
pub(super) fn answer(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    search: &DocsSearch<'_>,
) -> Option<Result<DocsSearchAnswer, Failure>> {
    let text = search.query;
    let is_overview = text.trim().is_empty();
    let usual = match is_overview {
        true => DocRole::ALL.len(),
        false => DEFAULT_SECTIONS,
    };
    // The settings may allow fewer than usual. Then an answer depends on that as if the caller had asked for it.
    let most_allowed = docs.settings.max_sections;
    let bounded = (most_allowed < usual).then_some(most_allowed);
    let max_sections = search.max_sections.or(bounded);
    let usual_budget = Some(docs.settings.budget).filter(|budget| *budget > 0);
    let search = &DocsSearch {
        max_sections,
        budget: search.budget.or(usual_budget),
        ..*search
    };
    let most = max_sections.unwrap_or(usual);
    let receipt = receipt(docs, visible, search);
    if is_overview {
        return overview(docs, visible, (most, search), receipt).map(Ok);
    }
    let LenientQuery {
        query,
        text,
        dropped,
    } = LenientQuery::new(text, &visible.text);
    let asked = DocsQuery {
        text: &text,
        query,
        most,
        search,
    };
    match ranked(docs, visible, &asked, receipt) {
        Ok(answered) => {
            let dropped = dropped.into_iter().take(MOST_DROPPED).collect();
            let answered = answered?;
            Some(Ok(DocsSearchAnswer {
                dropped_terms: dropped,
                ..answered
            }))
        }
        // A file of the index was changed by another program. It is rebuilt.
        Err(LibraryError::IndexDamaged) => None,
        Err(error) => Some(Err(unreadable(error))),
    }
}

/// Ranks the sections and returns the best.
fn ranked(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    asked: &DocsQuery<'_>,
    receipt: Receipt,
) -> Result<Option<DocsSearchAnswer>, LibraryError> {
    let favours = favours(&sectile_retrieval::words(asked.text));
    let role_of = |document: usize| visible.doc(document).role;
    let favour = |document: usize| favours[role_of(document) as usize];
    // The best section of each role is found among those that are ranked.
    let most = match visible.has_roles {
        true => asked.most.max(MOST_RANKED),
        false => asked.most,
    };
    let pages = &visible.all.pages;
    let is_by_meaning = docs.settings.ranking != DocsRanking::Words;
    let query = (&asked.query, asked.text);
    let found = pages.search(&visible.text, query, is_by_meaning, most, &favour)?;
    if found.hits.is_empty()
        && let Some(answered) = nearest::answer(docs, visible, asked, &found.remarks, &receipt)?
    {
        return Ok(Some(answered));
    }
    let chosen = || found.hits.iter().take(asked.most);
    let mut explanations = match asked.search.explain {
        true => {
            let chunks: Vec<usize> = chosen().map(|hit| hit.chunk).collect();
            let ranked = (most, &favour as &dyn Fn(usize) -> u64);
            pages
                .explain(&visible.text, query, is_by_meaning, ranked, &chunks)?
                .hits
        }
        false => Vec::new(),
    }
    .into_iter();
    let chosen = chosen().map(|hit| ChosenSection {
        at: visible.section_of(hit.chunk),
        matched: hit.matches.iter().map(|one| one.asked.clone()).collect(),
        explained: match explanations.next().flatten() {
            Some(why) => ScoreExplanation {
                nearness: found
                    .has_meaning
                    .then(|| why.meaning.map_or(0, |near| near.score)),
                score: Some(score(why)),
            },
            None => ScoreExplanation::default(),
        },
    });
    let sections = || found.hits.iter().map(|hit| visible.section_of(hit.chunk));
    let best = |wanted: &dyn Fn(usize) -> bool| sections().find(|(document, _)| wanted(*document));
    let Some(assembled) = assembled(
        docs,
        visible,
        asked.search,
        (chosen.collect(), &best),
        receipt,
    ) else {
        return Ok(None);
    };
    let remarks = &found.remarks;
    let help = match found.hits.is_empty() {
        true => match help(docs, visible, asked.text) {
            Some(help) => Some(help),
            None => return Ok(None),
        },
        false => None,
    };
    Ok(Some(DocsSearchAnswer {
        total_matches: found.total,
        corrected: remarks
            .corrected
            .iter()
            .map(|correction| CorrectedTerm {
                term: correction.asked.clone(),
                used: correction.used.clone(),
            })
            .collect(),
        suggested: remarks
            .suggested
            .iter()
            .flat_map(|suggestion| suggestion.candidates.iter().cloned())
            .collect(),
        unknown_terms: remarks.unknown.clone(),
        phrases_ignored: remarks.phrases_ignored,
        help,
        ..assembled
    }))
}

/// Finds the best section in a document that meets a condition.
type BestSection<'a> = &'a dyn Fn(&dyn Fn(usize) -> bool) -> Option<SectionNumber>;

/// Assembles the answer from these sections. `best` finds the best section in a document that meets a condition, for
/// follow-ups.
fn assembled(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    search: &DocsSearch<'_>,
    (chosen, best): (Vec<ChosenSection>, BestSection<'_>),
    receipt: Receipt,
) -> Option<DocsSearchAnswer> {
    let docs_covered = covered(visible, chosen.iter().map(|one| one.at.0));
    let missing = DocRole::ALL
        .into_iter()
        .filter(|role| !docs_covered.iter().any(|one| one.doc_role == *role));
    let mut suggested_followups = Vec::new();
    for role in missing {
        if let Some(at) = best(&|document| visible.doc(document).role == role) {
            suggested_followups.push(followup(docs, visible, role, at)?);
        }
    }
    let mut budget = Budget::new(chosen.len(), search.budget);
    let mut sections = Vec::with_capacity(chosen.len());
    for (one, rank) in chosen.into_iter().zip(1..) {
        sections.push(section(docs, visible, (one, rank), &mut budget)?);
    }
    Some(DocsSearchAnswer {
        sections,
        docs_covered,
        suggested_followups,
        total_matches: 0,
        found_by: None,
        corrected: Vec::new(),
        suggested: Vec::new(),
        dropped_terms: Vec::new(),
        unknown_terms: Vec::new(),
        phrases_ignored: false,
        help: None,
        skipped_total: visible.skipped.len(),
        skipped_documents: Vec::new(),
        receipt,
    })
}

fn receipt(docs: &DocsWorld, visible: &VisibleCorpus, search: &DocsSearch<'_>) -> Receipt {
    let DocsSearch {
        query,
        max_sections,
        budget,
        explain,
    } = search;
    let arguments = match budget {
        None => serde_json::json!([query, max_sections, explain]),
        Some(budget) => serde_json::json!([query, max_sections, explain, budget]),
    };
    Receipt {
        corpus: visible.digest.to_string(),
        ranking: ranking(docs, visible),
        arguments: Digest::of(arguments.to_string().as_bytes()).to_string(),
    }
}

/// Returns the name and version of the ranking.
pub(super) fn ranking(docs: &DocsWorld, visible: &VisibleCorpus) -> String {
    match docs.settings.ranking {
        DocsRanking::Words => format!("{RULES}+{RANKING}"),
        DocsRanking::Static | DocsRanking::Meaning => {
            let pages = &visible.all.pages;
            let (tier, model) = (pages.tier().name(), pages.model().fingerprint());
            format!("{RULES}+{RANKING}+{FUSION}+{tier}-{model}")
        }
    }
}

/// One section for each role, in the order of roles: the first that has text.
fn overview(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    (most, search): (usize, &DocsSearch<'_>),
    receipt: Receipt,
) -> Option<DocsSearchAnswer> {
    let of_role = |role: DocRole| {
        let mut sections = visible.sections();
        sections.find(|(document, _)| visible.doc(*document).role == role)
    };
    let chosen: Vec<ChosenSection> = DocRole::ALL
        .into_iter()
        .filter_map(of_role)
        .take(most)
        .map(|at| ChosenSection {
            at,
            matched: Vec::new(),
            explained: ScoreExplanation::default(),
        })
        .collect();
    let nothing = |_: &dyn Fn(usize) -> bool| None;
    let assembled = assembled(docs, visible, search, (chosen, &nothing), receipt)?;
    let is_visible = |at: &&usize| visible.documents.binary_search(at).is_ok();
    let listed = visible.all.listed.iter().filter(is_visible);
    let listed = listed.map(|at| &visible.all.documents[*at]);
    Some(DocsSearchAnswer {
        suggested_followups: listed
            .take(CLOSEST_HEADINGS * 2)
            .map(|doc| format!("{}: {}", doc.title, docs.uri_of(&doc.slug)))
            .collect(),
        total_matches: visible.text.len(),
        help: visible.documents.is_empty().then(Help::without_documents),
        skipped_documents: skipped::named(&visible.all, &visible.skipped),
        ..assembled
    })
}

/// Reads the page of a section; `None` if it has changed since.
fn read(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    (document, _): SectionNumber,
) -> Option<Arc<ReadPage>> {
    docs.pages.read(&visible.all, visible.doc(document))
}

fn section(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    (chosen, rank): (ChosenSection, usize),
    budget: &mut Budget,
) -> Option<FoundSection> {
    let ChosenSection {
        at,
        matched,
        explained,
    } = chosen;
    let doc = visible.doc(at.0);
    let page = read(docs, visible, at)?;
    let section = page.section(at.1)?;
    let text = String::from_utf8_lossy(section.text.slice(&page.bytes));
    let text = text.trim_matches(['\n', '\r']).trim_end();
    let has_neighbours = budget.tokens.is_some();
    let (content, truncated) = budget.shown(text, &matched);
    let around = match has_neighbours {
        true => around(&page.sections, section),
        false => Vec::new(),
    };
    let around = around.into_iter();
    let around = around.map(|(name, section)| (name, uri(docs, doc, section)));
    Some(FoundSection {
        rank,
        doc_id: doc.slug.clone(),
        doc_title: doc.title.clone(),
        doc_role: doc.role,
        heading: section.heading.clone(),
        trail: section.trail.clone(),
        uri: uri(docs, doc, section),
        content,
        truncated,
        url: docs.url(doc, section),
        around: around.collect(),
        score: explained.score,
        nearness: explained.nearness,
    })
}

/// Returns the sections around another one: the one that contains it, the one before and the one after.
fn around<'a>(sections: &'a [Section], section: &Section) -> Vec<(&'static str, &'a Section)> {
    let Some(at) = sections.iter().position(|one| one.text == section.text) else {
        return Vec::new();
    };
    let encloses = |one: &&Section| {
        let (inner, outer) = (section.whole, one.whole);
        outer.start <= inner.start && inner.end <= outer.end
    };
    let parent = sections[..at].iter().rfind(encloses);
    let previous = at.checked_sub(1).map(|before| &sections[before]);
    let all = [
        ("parent", parent),
        ("previous", previous),
        ("next", sections.get(at + 1)),
    ];
    all.into_iter()
        .filter_map(|(name, section)| Some((name, section?)))
        .collect()
}

fn uri(docs: &DocsWorld, doc: &Doc, section: &Section) -> String {
    let document = docs.uri_of(&doc.slug);
    match &section.anchor {
        Some(anchor) => format!("{document}#{anchor}"),
        None => document,
    }
}

fn score(why: HitExplanation) -> Score {
    Score {
        total: why.word_score(),
        together: why.together,
        role_bonus: why.favour,
        terms: why
            .terms
            .into_iter()
            .map(|term| Term {
                term: term.asked,
                form: term.form.as_str(),
                in_heading: term.in_heading > 0,
                score: term.score,
            })
            .collect(),
    }
}

fn covered(
    visible: &VisibleCorpus,
    documents: impl Iterator<Item = usize>,
) -> Vec<CoveredDocument> {
    let mut covered: Vec<CoveredDocument> = Vec::new();
    for document in documents {
        let doc = visible.doc(document);
        let one = CoveredDocument {
            doc_id: doc.slug.clone(),
            doc_title: doc.title.clone(),
            doc_role: doc.role,
        };
        if !covered.contains(&one) {
            covered.push(one);
        }
    }
    covered
}

/// A follow-up that points to a section of another role that fits the same query.
fn followup(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    role: DocRole,
    at: SectionNumber,
) -> Option<String> {
    let page = read(docs, visible, at)?;
    let section = page.section(at.1)?;
    let place = section.trail.iter().chain([&section.heading]);
    let place: Vec<&str> = place.map(String::as_str).collect();
    Some(format!(
        "For {}, read \"{}\": {}",
        role.tells(),
        place.join(" > "),
        uri(docs, visible.doc(at.0), section)
    ))
}

impl Help {
    /// Help for a caller who can be shown nothing, because no document is loaded or because policies allow none. The
    /// caller cannot tell which.
    fn without_documents() -> Self {
        Self {
            message: "There is no document that you may read, so nothing can be found. Ask the operator: either none is loaded, or \
                      `server.tools.allowlist` or `server.auth.allowed_tools` names the tool but no document."
                .to_owned(),
            closest_headings: Vec::new(),
        }
    }
}

/// Returns help for a query that nothing fits; `None` if a page has changed meanwhile.
fn help(docs: &DocsWorld, visible: &VisibleCorpus, query: &str) -> Option<Help> {
    if visible.documents.is_empty() {
        return Some(Help::without_documents());
    }
    let folded = sectile_retrieval::fold(query);
    let mut headings: Vec<(usize, usize)> = (0..visible.text.len().min(MOST_COMPARED))
        .map(|chunk| {
            let path = visible.text.path(chunk).unwrap_or_default();
            let heading = path.last().map_or("", String::as_str);
            let heading = sectile_retrieval::fold(heading);
            let distance = strsim::damerau_levenshtein(&start(&folded), &start(&heading));
            let longest = folded.chars().count().max(heading.chars().count()).max(1);
            // In thousandths of the longer one, so that long headings are not far just for being long.
            (distance * 1_000 / longest, chunk)
        })
        .collect();
    headings.sort_unstable();
    let mut closest_headings = Vec::new();
    for (_, chunk) in headings.into_iter().take(CLOSEST_HEADINGS) {
        let at = visible.section_of(chunk);
        let page = read(docs, visible, at)?;
        let section = page.section(at.1)?;
        closest_headings.push(Pointer {
            heading: section.heading.clone(),
            uri: uri(docs, visible.doc(at.0), section),
        });
    }
    Some(Help {
        message: "No section has these words. Try other words, fewer words, or an empty query for an overview."
            .to_owned(),
        closest_headings,
    })
}

/// The part of a text that is compared with headings.
fn start(text: &str) -> String {
    const MOST: usize = 80;
    text.chars().take(MOST).collect()
}
