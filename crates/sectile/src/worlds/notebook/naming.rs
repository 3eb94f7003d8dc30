//! Suggestions for errors about names that do not exist.

use sectile_library::{LibraryError, artifacts, library::Library};
use sectile_mcp::{CallContext, Failure, MAX_OFFERED, nearest, quoted};
use serde_json::json;

use super::errors::{NotebookError, shown};

/// The tools that list all names. A caller who may not use them gets no suggestions.
const LIST_COLLECTIONS: &str = "list_collections";
const LIST_ARTIFACT_SETS: &str = "list_artifact_sets";

/// Returns the failure of a call that names a collection.
pub(super) fn of_collection(
    error: LibraryError,
    storage: &Library,
    wanted: &str,
    call: &CallContext,
) -> Failure {
    let error = NotebookError::from(error);
    if error != NotebookError::CollectionNotFound {
        return error.into();
    }
    let mut failure = Failure::from(error);
    failure.message = format!("There is no collection {}.", quoted(wanted)).into();
    if let Some(detail) = &mut failure.detail {
        let repeated = json!(shown(wanted));
        detail.data.insert("collection_id".to_owned(), repeated);
    }
    let known = match call.may_use(LIST_COLLECTIONS) {
        true => storage.collections().unwrap_or_default(),
        false => Vec::new(),
    };
    offering(failure, wanted, &known)
}

/// Returns the failure of a call that names an artifact of `collection`.
pub(super) fn of_artifact(
    error: LibraryError,
    storage: &Library,
    collection: &str,
    call: &CallContext,
) -> Failure {
    let error = NotebookError::from(error);
    let NotebookError::ArtifactNotFound { artifact_id } = &error else {
        return error.into();
    };
    let wanted = artifact_id.clone();
    let stop = || call.cancelled.is_cancelled();
    let sets = match call.may_use(LIST_ARTIFACT_SETS) {
        true => artifacts::sets(storage, collection, None, &stop).unwrap_or_default(),
        false => artifacts::ArtifactSets::default(),
    };
    let known = sets.artifact_sets.into_iter();
    let known: Vec<String> = known.flat_map(|set| set.artifact_ids).collect();
    offering(error.into(), &wanted, &known)
}

fn offering(mut failure: Failure, wanted: &str, known: &[String]) -> Failure {
    let near = nearest(wanted, known.iter().map(String::as_str), MAX_OFFERED);
    if near.is_empty() {
        return failure;
    }
    if let Some(detail) = &mut failure.detail {
        detail.data.insert("nearest".to_owned(), json!(near));
    }
    failure.offering("Nearest", near.into_iter().map(quoted).collect())
}
