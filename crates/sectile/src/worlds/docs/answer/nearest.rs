//! The last resort: sections near in meaning, for a query without a single word that is in the documents.

use sectile_library::LibraryError;
use sectile_retrieval::{NEARNESS, Remarks};

use super::{
    ChosenSection, DocsQuery, DocsSearchAnswer, FoundBy, Receipt, ScoreExplanation, assembled,
};
use crate::worlds::docs::{DocsRanking, DocsWorld, visible_corpus::VisibleCorpus};

/// Returns the sections nearest in meaning, or `None` if words decide: the settings turn this off, the query has no words,
/// nothing is near enough, or a page has changed meanwhile.
pub(super) fn answer(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    asked: &DocsQuery<'_>,
    remarks: &Remarks,
    receipt: &Receipt,
) -> Result<Option<DocsSearchAnswer>, LibraryError> {
    let is_wanted = docs.settings.meaning_as_last_resort
        && docs.settings.ranking == DocsRanking::Words
        && !asked.query.is_empty();
    if !is_wanted {
        return Ok(None);
    }
    let pages = &visible.all.pages;
    let near = pages.near(&visible.text, asked.text)?;
    if near.is_empty() {
        return Ok(None);
    }
    let chosen = near.iter().take(asked.most).map(|one| ChosenSection {
        at: visible.section_of(one.chunk),
        matched: Vec::new(),
        explained: ScoreExplanation {
            nearness: asked.search.explain.then_some(one.nearness),
            ..ScoreExplanation::default()
        },
    });
    let sections = || near.iter().map(|one| visible.section_of(one.chunk));
    let best = |wanted: &dyn Fn(usize) -> bool| sections().find(|(document, _)| wanted(*document));
    let model = pages.model().fingerprint();
    let receipt = Receipt {
        ranking: format!("{}+{NEARNESS}-{model}", receipt.ranking),
        ..receipt.clone()
    };
    let assembled = assembled(
        docs,
        visible,
        asked.search,
        (chosen.collect(), &best),
        receipt,
    );
    Ok(assembled.map(|assembled| DocsSearchAnswer {
        found_by: Some(FoundBy::Meaning),
        total_matches: near.len(),
        unknown_terms: remarks.unknown.clone(),
        ..assembled
    }))
}
