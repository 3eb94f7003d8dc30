//! Plans: results of dry runs, named by tokens.
//!
//! A token is a keyed hash of everything a dry run would do, so whether a request still does just that can be checked
//! without having kept anything. The key keeps it from confirming guesses about documents that the caller cannot see.

use super::WriteRequest;
use crate::{JournalKey, editor::EditorError, journal::FolderMove};

/// Number of hexadecimal digits of a token that stand for the documents before the change.
const START_DIGITS: usize = 8;
/// Number of those that stand for the whole change.
const CHANGE_DIGITS: usize = 24;

/// Plans that were made by dry runs and have not been applied.
#[derive(Debug, Default)]
pub(super) struct Plans {
    plans: Vec<(String, Plan)>,
}

/// The result of a dry run: the bytes it would write.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) request: WriteRequest,
    /// The ids that new sections will have.
    pub(super) ids: Vec<String>,
}

/// Everything that a request would do.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedChange {
    /// The documents that change, by their paths before.
    pub(super) documents: Vec<PlannedDocument>,
    /// The folder that moves with everything in it.
    pub(super) folder: Option<FolderMove>,
}

/// A document before and after a plan.
#[derive(Clone, Debug)]
pub(super) struct PlannedDocument {
    /// Its path before.
    pub(super) from: String,
    /// Its path after.
    pub(super) path: String,
    /// Digest of its bytes before, if it existed.
    pub(super) before: Option<String>,
    /// Digest of its bytes after, if it will exist.
    pub(super) after: Option<String>,
}

impl PlannedChange {
    /// Returns whether nothing would change.
    pub(super) fn is_empty(&self) -> bool {
        self.documents.is_empty() && self.folder.is_none()
    }

    /// Returns the token of this change.
    pub(super) fn token(&self, key: &JournalKey) -> String {
        let (mut start, mut change) = (Vec::new(), Vec::new());
        for document in &self.documents {
            let before = document.before.as_deref().unwrap_or_default();
            let after = document.after.as_deref().unwrap_or_default();
            push_fields(&mut start, &[&document.from, before]);
            push_fields(
                &mut change,
                &[&document.from, before, &document.path, after],
            );
        }
        if let Some(folder) = &self.folder {
            push_fields(&mut change, &[&folder.from, &folder.to]);
        }
        let mut token = key.tag("start of a plan", &start);
        token.truncate(START_DIGITS);
        token + &key.tag("plan", &change)[..CHANGE_DIGITS]
    }

    /// Refuses a change that is not the one that `token` names.
    pub(super) fn check(&self, token: &str, key: &JournalKey) -> Result<(), EditorError> {
        let own = self.token(key);
        if own == token {
            return Ok(());
        }
        let is_same_start = token.get(..START_DIGITS) == own.get(..START_DIGITS);
        Err(match is_same_start && !self.is_empty() {
            true => EditorError::PlanDiffers,
            false => EditorError::PlanStale,
        })
    }
}

/// Adds the fields of one document. No path and no digest contains the character that ends a field.
fn push_fields(bytes: &mut Vec<u8>, fields: &[&str]) {
    for field in fields {
        bytes.extend_from_slice(field.as_bytes());
        bytes.push(0);
    }
}

/// Returns whether `text` has the form of a plan's token.
#[must_use]
pub fn is_plan(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == START_DIGITS + CHANGE_DIGITS && text.bytes().all(is_digit)
}

impl Plans {
    const MOST: usize = 32;

    pub(super) fn put(&mut self, token: String, plan: Plan) {
        self.plans.retain(|(known, _)| *known != token);
        if self.plans.len() == Self::MOST {
            self.plans.remove(0);
        }
        self.plans.push((token, plan));
    }

    /// Returns the ids that a plan promises.
    pub(super) fn ids(&self, token: &str) -> Option<Vec<String>> {
        let (_, plan) = self.plans.iter().find(|(known, _)| known == token)?;
        Some(plan.ids.clone())
    }

    /// Returns the request that a plan was made for.
    pub(super) fn get(&self, token: &str) -> Option<WriteRequest> {
        let (_, plan) = self.plans.iter().find(|(known, _)| known == token)?;
        Some(plan.request.clone())
    }

    pub(super) fn remove(&mut self, token: &str) {
        self.plans.retain(|(known, _)| known != token);
    }
}
