//! The last resort: sections near in meaning, for a query without a single word that is in the documents.

use sectile_mcp::{Failure, FailureKind};
use sectile_retrieval::{Embedder as _, Meanings, ModelError, NearPassage, Remarks};

use super::{
    ChosenPassage, DocsQuery, DocsSearchAnswer, FoundBy, Receipt, ScoreExplanation, assembled,
};
use crate::worlds::docs::{DocsWorld, visible_corpus::VisibleCorpus};

/// Returns the sections nearest in meaning, or `None` if words decide: the settings turn this off, a section has one of
/// the words in any form or spelling, the query has no words, or nothing is near enough.
pub(super) fn answer(
    docs: &DocsWorld,
    visible: &VisibleCorpus,
    asked: &DocsQuery<'_>,
    remarks: &Remarks,
    receipt: &Receipt,
) -> Result<Option<DocsSearchAnswer>, Failure> {
    if !docs.meaning_as_last_resort || remarks.total > 0 || asked.query.is_empty() {
        return Ok(None);
    }
    let model = sectile_retrieval::built_in().map_err(broken)?;
    let mut reader = model.reader();
    let meanings = visible
        .meanings
        .get_or_init(|| Meanings::new(docs.passages(&visible.passages), reader.as_mut()));
    let near = meanings.near(asked.text, reader.as_mut());
    if near.is_empty() {
        return Ok(None);
    }
    let chosen = near.iter().take(asked.most).map(|one| ChosenPassage {
        passage: one.passage,
        explained: ScoreExplanation {
            nearness: asked.explain.then_some(one.nearness),
            ..ScoreExplanation::default()
        },
    });
    let passages = || near.iter().map(|NearPassage { passage, .. }| *passage);
    let best = |wanted: &dyn Fn(usize) -> bool| passages().find(|passage| wanted(*passage));
    let receipt = Receipt {
        ranking: format!("{}+{}", receipt.ranking, Meanings::rules(model)),
        ..receipt.clone()
    };
    Ok(Some(DocsSearchAnswer {
        found_by: Some(FoundBy::Meaning),
        total_matches: near.len(),
        unknown_terms: remarks.unknown.clone(),
        ..assembled(docs, visible, chosen.collect(), best, receipt)
    }))
}

fn broken(error: ModelError) -> Failure {
    Failure::new(
        FailureKind::Internal,
        format!("The embedding model cannot be used: {error}."),
    )
}
