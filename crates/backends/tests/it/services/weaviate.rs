//! An index in Weaviate: the rules of every index, and what is particular to this service.

use std::time::Duration;

use sectile_backends::{ServiceKind, ServiceSettings};
use sectile_library::{
    LocatedHits, SearchQuery, StorageError, VectorIndexing, VectorQuery,
    conformance::{IndexHandles, check_index},
    testing::SameSizeModel,
    tiers::Models,
};
use sectile_test_servers::{ServiceFault, WeaviateEmulator};

use super::pinecone::{open, open_with};
use crate::postgres::fixture::{Embedded, model, models, notebooks, puts, questions};

fn settings(weaviate: &WeaviateEmulator) -> ServiceSettings {
    ServiceSettings {
        api_key: Some(weaviate.key().to_owned()),
        allow_http: true,
        candidates: 100_000,
        timeout: Duration::from_secs(5),
        retries: 3,
        settle: Duration::from_secs(5),
        ..ServiceSettings::new(ServiceKind::Weaviate, weaviate.url())
    }
}

fn load(
    index: &dyn VectorIndexing,
    is_new: bool,
    texts: std::ops::Range<usize>,
) -> Result<(), StorageError> {
    let mut changes = puts(&notebooks(texts)).into_iter().map(Ok);
    index.update("docs", 42, is_new, &mut changes).map(drop)
}

fn ask(index: &dyn VectorIndexing, text: &str, most: usize) -> Result<LocatedHits, StorageError> {
    index.search(&VectorQuery {
        collection: "docs",
        query: &SearchQuery::parse(text).unwrap(),
        most,
        stop: &|| false,
    })
}

#[track_caller]
fn agrees(index: &dyn VectorIndexing, texts: std::ops::Range<usize>) {
    let embedded = Embedded::new(&notebooks(texts));
    let found = ask(index, "water turns", 10).unwrap();
    let found = found
        .hits
        .iter()
        .map(|hit| hit.located.notebook.to_string());
    assert_eq!(found.collect::<Vec<_>>(), embedded.best("water turns"));
}

#[test]
fn weaviate_keeps_the_rules_of_indexes() {
    let weaviate = WeaviateEmulator::start();
    let settings = settings(&weaviate);
    let foreign = Models {
        first: SameSizeModel::new("another"),
        ..models()
    };
    check_index(&IndexHandles {
        one: &*open(&settings),
        other: &*open(&settings),
        foreign: &*open_with(&settings, foreign),
        model: model(),
    });
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    let weaviate = WeaviateEmulator::start();
    let wrong = ServiceSettings {
        api_key: None,
        ..settings(&weaviate)
    };
    let says = |result: Result<(), StorageError>, message: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    says(open(&wrong).prepare(), "Weaviate refused the API key.");
    let index = open(&settings(&weaviate));
    says(
        index.ready(),
        "does not have the class `SectileRecord` yet. Run",
    );
    weaviate.set_version("1.19.3");
    says(index.prepare(), "Use version 1.27 or a later 1.");
    weaviate.set_version("2.0.0");
    says(index.prepare(), "Use version 1.27 or a later 1.");
    weaviate.set_version("1.27.0");
    index.prepare().unwrap();
    index.ready().unwrap();
}

#[test]
fn faults_are_overcome_or_leave_the_old_state() {
    let weaviate = WeaviateEmulator::start();
    let index = open(&settings(&weaviate));
    index.prepare().unwrap();
    load(&*index, true, 0..30).unwrap();
    for fault in [
        ServiceFault::LostAnswer,
        ServiceFault::BreaksOff,
        ServiceFault::Throttled(None),
        ServiceFault::Status(500),
    ] {
        for path in ["/v1/graphql", "/v1/objects", "/v1/batch", "/tenants"] {
            weaviate.fail(path, 1, fault.clone());
        }
        load(&*index, true, 0..30).unwrap();
        agrees(&*open(&settings(&weaviate)), 0..30);
    }
    for (fault, message) in [
        (ServiceFault::PartialBatch, "refused part of the records"),
        (ServiceFault::Garbage, "cannot be understood"),
        (ServiceFault::OtherShape, "cannot be understood"),
    ] {
        // The first batch is the mark of a run that has begun.
        weaviate.fail("/v1/batch/objects", 2, fault);
        let error = load(&*index, false, 30..60).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        weaviate.recover();
        agrees(&*open(&settings(&weaviate)), 0..30);
        weaviate.damage("lease", "{\"owner\":1,\"until\":0}");
    }
    load(&*index, false, 30..33).unwrap();
    agrees(&*open(&settings(&weaviate)), 0..33);
    let chunks = weaviate
        .keys()
        .iter()
        .filter(|key| key.contains("/c/"))
        .count();
    assert_eq!(chunks, 33);
}

/// Of two writers that both believe to be alone, one commits.
#[test]
fn a_generation_is_committed_once() {
    let weaviate = WeaviateEmulator::start();
    let (one, other) = (open(&settings(&weaviate)), open(&settings(&weaviate)));
    one.prepare().unwrap();
    load(&*one, true, 0..30).unwrap();
    let mut is_first = true;
    let mut changes = puts(&notebooks(30..60)).into_iter().map(|change| {
        if std::mem::take(&mut is_first) {
            // The lease seems to have ended.
            weaviate.damage("lease", "{\"owner\":1,\"until\":0}");
            load(&*other, false, 60..63).unwrap();
        }
        Ok(change)
    });
    let error = one.update("docs", 43, false, &mut changes).unwrap_err();
    assert!(error.to_string().starts_with("Another process"), "{error}");
    assert_eq!(other.state("docs").unwrap().chunks, 33);
    assert_eq!(open(&settings(&weaviate)).state("docs").unwrap().chunks, 33);
}

#[test]
fn few_candidates_find_what_many_find() {
    let weaviate = WeaviateEmulator::start();
    let all = open(&settings(&weaviate));
    all.prepare().unwrap();
    load(&*all, true, 0..360).unwrap();
    let few = open(&ServiceSettings {
        candidates: 60,
        ..settings(&weaviate)
    });
    let (mut same, mut asked) = (0, 0);
    for question in questions() {
        let best = |index: &dyn VectorIndexing| {
            let hits = ask(index, &question, 5).unwrap().hits.into_iter();
            hits.map(|hit| (hit.located, hit.fused)).collect::<Vec<_>>()
        };
        let (few, all) = (best(&*few), best(&*all));
        asked += all.len();
        same += all.iter().filter(|hit| few.contains(hit)).count();
    }
    println!("recall of 60 candidates among 360: {same} of {asked}");
    // Equal scores are in the order of random ids.
    assert!(same * 100 >= asked * 95, "{same} of {asked}");
}
