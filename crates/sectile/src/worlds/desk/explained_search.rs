//! Searches that say why each result is where it is, for people: the same results in the same order as those of the `search`
//! tool, with the numbers that ranked them, or with another ranking to compare with.

use sectile_library::{
    clock,
    live_folder::{FolderQuery, HitExplanation, HitOrder, SearchOptions},
    tiers::{RankingChoice, Tier},
};
use sectile_mcp::{CallContext, Failure, visible};
use sectile_retrieval::{RankedScore, TermExplanation};
use serde::Serialize;

use super::{
    DeskWorld,
    errors::{INVALID_QUERY, failure},
    fetched::MAX_TITLE_CHARS,
    search_page::{DEFAULT_LIMIT, ResultSource, RootHits, SearchPage, SearchRequest, SearchResult},
};

/// A search to explain, or to compare with another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExplainedRequest<'a> {
    /// Words and filters, as the `search` tool takes them.
    pub(crate) query: &'a str,
    /// Most results; the tool's default if `None`.
    pub(crate) limit: Option<usize>,
    /// The `next` of an earlier answer to the same request.
    pub(crate) cursor: Option<&'a str>,
    /// What ranks the results.
    pub(crate) ranking: RankingChoice,
    /// Whether each result says why it is there.
    pub(crate) explain: bool,
}

/// The answer to an explained search: what the `search` tool answers, and what it is made of. Scores are in millionths, and
/// those of words in 1024ths.
#[derive(Debug, Serialize)]
pub(crate) struct ExplainedSearch {
    /// The query as it was given.
    pub(crate) query: String,
    /// The words that were searched for, as written, phrases included.
    pub(crate) words: String,
    /// The phrases that a result must contain exactly.
    pub(crate) phrases: Vec<String>,
    /// The filters that were understood, as written.
    pub(crate) filters: Vec<String>,
    /// The order of the results: `relevance`, `modified` or `path`.
    pub(crate) order: &'static str,
    pub(crate) ranking: RankingReport,
    pub(crate) results: Vec<ExplainedResult>,
    /// Number of matching places.
    pub(crate) total: usize,
    /// Cursor for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    /// Suggestions if nothing was found.
    #[serde(rename = "try", skip_serializing_if = "Vec::is_empty")]
    pub(crate) suggestions: Vec<String>,
    /// Words left out of a long query.
    pub(crate) dropped: Vec<String>,
    /// Words that no note contains.
    pub(crate) unknown: Vec<String>,
    /// Words that were replaced by similar ones, because no note contains any word of the query.
    pub(crate) corrected: Vec<ReplacedWord>,
    /// Progress, while notes are still being read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<String>,
}

/// What ranked the results.
#[derive(Debug, Serialize)]
pub(crate) struct RankingReport {
    /// The ranking that was asked for: `words`, `static` or `full`.
    pub(crate) asked: &'static str,
    /// What counted: `filters`, `words`, `static` (words and the static model) or `transformer`. Of several roots, the least.
    pub(crate) used: &'static str,
    /// Whether all notes are indexed.
    pub(crate) is_complete: bool,
    pub(crate) roots: Vec<RootRanking>,
}

/// What ranked the hits of one root.
#[derive(Debug, Serialize)]
pub(crate) struct RootRanking {
    pub(crate) root: String,
    pub(crate) used: &'static str,
    /// The best tier that covers all passages: `static` while that of the transformer is incomplete.
    pub(crate) best_tier: &'static str,
    /// Number of notes that are indexed, and of all.
    pub(crate) indexed: usize,
    pub(crate) notes: usize,
    /// Number of notes that are too large or cannot be read.
    pub(crate) left_out: usize,
    #[serde(flatten)]
    pub(crate) weights: Option<ScoreWeights>,
}

/// How scores are made, with explanations of hits by words.
#[derive(Debug, Serialize)]
pub(crate) struct ScoreWeights {
    /// Number of passages, which the rarity of a word refers to.
    pub(crate) passages: usize,
    /// The weights of words and of meaning in the sum, in millionths.
    pub(crate) words_weight: u64,
    pub(crate) meaning_weight: u64,
    /// The score of words that counts as one, in 1024ths.
    pub(crate) reachable: u64,
}

/// A result, and why it is there.
#[derive(Debug, Serialize)]
pub(crate) struct ExplainedResult {
    #[serde(flatten)]
    pub(crate) result: SearchResult,
    pub(crate) root: String,
    /// Path of the note in its root.
    pub(crate) path: String,
    /// Place among the hits of all roots, from 1. Hits in one section are one result.
    pub(crate) place: usize,
    /// The reasons, if they were asked for; none if only filters decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<ResultReasons>,
}

/// The reasons for the place of a result in its root.
#[derive(Debug, Serialize)]
pub(crate) struct ResultReasons {
    /// By words and meaning together.
    pub(crate) fused: ScoredRank,
    /// By words alone, if it has any of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) words: Option<ScoredRank>,
    /// By meaning alone, if that counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meaning: Option<ScoredRank>,
    /// Whether it has the whole query word for word, and so comes first.
    pub(crate) verbatim: bool,
    pub(crate) terms: Vec<MatchedTerm>,
    /// The part of the score of words for adjacent words, in 1024ths.
    pub(crate) together: u64,
    /// The score of words, in 1024ths: that of all terms, and of adjacent words.
    pub(crate) word_score: u64,
}

/// A rank from 1, and its score in millionths.
#[derive(Debug, Serialize)]
pub(crate) struct ScoredRank {
    pub(crate) rank: usize,
    pub(crate) score: u64,
}

/// A word of the query in a result.
#[derive(Debug, Serialize)]
pub(crate) struct MatchedTerm {
    pub(crate) term: String,
    /// The word, name or stem in the index that counted.
    pub(crate) found: String,
    /// `exact`, `stem` (another form of the word), `part` (a word of a name) or `near` (spelt almost the same).
    pub(crate) form: &'static str,
    /// Number of occurrences in the heading, in the title and the headings above, and in the text.
    pub(crate) in_heading: u32,
    pub(crate) in_trail: u32,
    pub(crate) in_body: u32,
    /// Number of passages in the root that have it.
    pub(crate) passages: usize,
    /// Rarity, in 1024ths.
    pub(crate) rarity: u64,
    /// Score, in 1024ths.
    pub(crate) score: u64,
}

/// A word that was replaced.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ReplacedWord {
    pub(crate) word: String,
    pub(crate) used: Vec<String>,
}

impl DeskWorld {
    /// Searches as the `search` tool does, and says what ranked the results.
    pub(crate) fn explained_search(
        &self,
        request: &ExplainedRequest<'_>,
        context: &CallContext,
    ) -> Result<ExplainedSearch, Failure> {
        let page = self.search_page(
            &SearchRequest {
                query: request.query,
                limit: request.limit.unwrap_or(DEFAULT_LIMIT),
                cursor: request.cursor,
                options: SearchOptions {
                    explain: request.explain,
                    ranking: request.ranking,
                },
                has_sources: true,
            },
            context,
        )?;
        let is_field = |name: &str| {
            let mut found = page.found.iter();
            found.any(|of| of.state.facets().has_field(name))
        };
        let filters = FolderQuery::filters_in(request.query, clock::now(), &is_field)
            .map_err(|mistake| failure(&INVALID_QUERY, mistake.message, ""))?;
        let roots: Vec<RootRanking> = page
            .found
            .iter()
            .map(|of| RootRanking::new(of, &page.query))
            .collect();
        Ok(ExplainedSearch {
            query: request.query.to_owned(),
            words: page.query.text().to_owned(),
            phrases: page.query.phrases().to_vec(),
            filters,
            order: match page.query.order() {
                HitOrder::Relevance => "relevance",
                HitOrder::Modified => "modified",
                HitOrder::Path => "path",
            },
            ranking: RankingReport {
                asked: request.ranking.name(),
                used: least_used(&roots),
                is_complete: page.found.iter().all(|of| of.found.progress.is_complete),
                roots,
            },
            suggestions: page.suggestions(),
            dropped: page.dropped(),
            unknown: page.unknown(),
            corrected: corrected(&page),
            index: page.progress(),
            total: page.total,
            next: page.next,
            results: page
                .results
                .into_iter()
                .zip(page.sources)
                .map(|(result, source)| ExplainedResult::new(result, source))
                .collect(),
        })
    }
}

impl RootRanking {
    fn new(of: &RootHits<'_>, query: &FolderQuery) -> Self {
        let progress = &of.found.progress;
        Self {
            root: of.root.name.clone(),
            used: used(of, query),
            best_tier: progress.tier.name(),
            indexed: progress.indexed,
            notes: progress.total,
            left_out: progress.left_out,
            weights: of.found.basis.map(|basis| ScoreWeights {
                passages: basis.chunks,
                words_weight: basis.words_weight,
                meaning_weight: basis.meaning_weight,
                reachable: basis.reachable,
            }),
        }
    }
}

impl ExplainedResult {
    fn new(result: SearchResult, source: ResultSource) -> Self {
        let ResultSource { place, root, hit } = source;
        Self {
            result,
            root,
            path: hit.path.as_str().to_owned(),
            place,
            why: hit.explanation.map(|why| ResultReasons::from(*why)),
        }
    }
}

impl From<HitExplanation> for ResultReasons {
    fn from(why: HitExplanation) -> Self {
        Self {
            word_score: why.word_score(),
            fused: why.fused.into(),
            words: why.words.map(ScoredRank::from),
            meaning: why.meaning.map(ScoredRank::from),
            verbatim: why.is_verbatim,
            together: why.together,
            terms: why.terms.into_iter().map(MatchedTerm::from).collect(),
        }
    }
}

impl From<RankedScore> for ScoredRank {
    fn from(RankedScore { rank, score }: RankedScore) -> Self {
        Self { rank, score }
    }
}

impl From<TermExplanation> for MatchedTerm {
    fn from(term: TermExplanation) -> Self {
        Self {
            term: term.asked,
            found: term.found,
            form: term.form.as_str(),
            in_heading: term.in_heading,
            in_trail: term.in_trail,
            in_body: term.in_body,
            passages: term.passages,
            rarity: term.rarity,
            score: term.score,
        }
    }
}

/// Returns what ranked the hits of a root.
fn used(of: &RootHits<'_>, query: &FolderQuery) -> &'static str {
    match of.found.tier {
        Some(tier) => tier.name(),
        None if query.text().is_empty() => "filters",
        None => RankingChoice::Words.name(),
    }
}

/// Returns what ranked the hits of all roots: the least of what counted in one of them, by which they can be compared.
fn least_used(roots: &[RootRanking]) -> &'static str {
    let least_first = [
        "filters",
        RankingChoice::Words.name(),
        Tier::Static.name(),
        Tier::Transformer.name(),
    ];
    let is_used = |name: &&str| roots.iter().any(|root| root.used == *name);
    least_first.into_iter().find(is_used).unwrap_or("filters")
}

/// Returns the words that were replaced in one of the roots, each once.
fn corrected(page: &SearchPage<'_>) -> Vec<ReplacedWord> {
    let shown = |word: &String| visible(word, MAX_TITLE_CHARS);
    let mut all = Vec::new();
    for correction in page.found.iter().flat_map(|of| &of.found.corrected_words) {
        let corrected = ReplacedWord {
            word: shown(&correction.asked),
            used: correction.used.iter().map(shown).collect(),
        };
        if !all.contains(&corrected) {
            all.push(corrected);
        }
    }
    all
}
