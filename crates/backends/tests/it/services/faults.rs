//! Faults of a service: typed errors, no partial state, and searches that say what they could not see.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sectile_backends::ServiceSettings;
use sectile_library::{
    BackendState, Change, LocatedHits, SearchQuery, StorageError, VectorIndexing, VectorQuery,
};
use sectile_test_servers::{PineconeEmulator, ServiceFault};

use super::pinecone::{DIMENSION, open, settings};
use crate::postgres::fixture::{Embedded, Notebooks, notebooks, path, puts, questions};

/// A lease that ended long ago.
const OLD_LEASE: &str = "{\"owner\":1,\"until\":0}";

fn start() -> PineconeEmulator {
    PineconeEmulator::start(DIMENSION, "dotproduct")
}

/// Settings with which nothing takes long.
fn quick(pinecone: &PineconeEmulator) -> ServiceSettings {
    ServiceSettings {
        timeout: Duration::from_millis(500),
        patience: Duration::from_secs(5),
        retries: 3,
        settle: Duration::from_millis(600),
        ..settings(pinecone)
    }
}

fn update(
    index: &Arc<dyn VectorIndexing>,
    is_new: bool,
    changes: Vec<Change>,
) -> Result<BackendState, StorageError> {
    index.update("docs", 42, is_new, &mut changes.into_iter().map(Ok))
}

fn ask(index: &Arc<dyn VectorIndexing>, text: &str) -> Result<LocatedHits, StorageError> {
    index.search(&VectorQuery {
        collection: "docs",
        query: &SearchQuery::parse(text).unwrap(),
        most: 30,
        stop: &|| false,
    })
}

#[track_caller]
fn agrees(index: &Arc<dyn VectorIndexing>, notebooks: &Notebooks) {
    let embedded = Embedded::new(notebooks);
    for question in ["water turns", "How do I keep a gate from rusting?"] {
        let found = ask(index, question).unwrap();
        let found = found.hits.iter().take(10);
        let found: Vec<String> = found.map(|hit| hit.located.notebook.to_string()).collect();
        assert_eq!(found, embedded.best(question), "{question}");
    }
}

#[track_caller]
fn fails_with<T: std::fmt::Debug>(result: Result<T, StorageError>, message: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
    assert!(
        !error.contains("key-of-the-tests") && !error.contains("127.0.0.1"),
        "{error}"
    );
}

#[test]
fn what_is_wrong_with_an_index_is_said() {
    let pinecone = start();
    let wrong = ServiceSettings {
        api_key: Some("another".to_owned()),
        ..quick(&pinecone)
    };
    let index = open(&wrong);
    fails_with(index.ready(), "Pinecone refused the API key. Check the key");
    fails_with(index.prepare(), "refused the API key");
    fails_with(index.state("docs"), "refused the API key");
    fails_with(update(&index, true, Vec::new()), "refused the API key");
    assert!(!format!("{wrong:?}").contains("another"));
    for (dimension, metric) in [(256, "dotproduct"), (257, "cosine")] {
        let other = PineconeEmulator::start(dimension, metric);
        let message = "dense vectors of dimension 257 and the metric `dotproduct`";
        fails_with(open(&quick(&other)).ready(), message);
        fails_with(open(&quick(&other)).prepare(), message);
    }
    let gone = ServiceSettings {
        url: "http://127.0.0.1:1".to_owned(),
        ..quick(&pinecone)
    };
    fails_with(open(&gone).state("docs"), "Pinecone cannot be reached.");
    for (status, message) in [
        (403, "Pinecone does not allow this"),
        (404, "Pinecone does not have this index."),
        (503, "Pinecone failed. Try again later."),
        (418, "Pinecone refused the request with status 418."),
    ] {
        pinecone.fail("/vectors/fetch", 100, ServiceFault::Status(status));
        fails_with(open(&quick(&pinecone)).state("docs"), message);
        pinecone.recover();
    }
}

#[test]
fn throttling_is_waited_out_or_reported() {
    let pinecone = start();
    let index = open(&quick(&pinecone));
    update(&index, true, puts(&notebooks(0..30))).unwrap();
    for fault in [ServiceFault::Throttled(None), ServiceFault::Status(503)] {
        pinecone.fail("/", 2, fault);
        agrees(&open(&quick(&pinecone)), &notebooks(0..30));
    }
    pinecone.fail("/", 1, ServiceFault::Throttled(Some(1)));
    let start = Instant::now();
    assert!(index.state("docs").is_ok());
    assert!(start.elapsed() >= Duration::from_secs(1));
    drop(pinecone.requests());
    pinecone.fail("/", 1_000, ServiceFault::Throttled(None));
    fails_with(
        ask(&index, "water"),
        "Pinecone refused further requests for now.",
    );
    // One attempt and three retries.
    assert_eq!(pinecone.requests().len(), 4);
    pinecone.recover();
    // A service that wants a pause of an hour is not waited for.
    pinecone.fail("/", 1_000, ServiceFault::Throttled(Some(3_600)));
    fails_with(ask(&index, "water"), "refused further requests");
    assert_eq!(pinecone.requests().len(), 1);
}

/// Every request of an update fails in turn, in every way after which another attempt can help.
#[test]
fn lost_answers_change_nothing() {
    for fault in [
        ServiceFault::LostAnswer,
        ServiceFault::BreaksOff,
        ServiceFault::Throttled(None),
    ] {
        let pinecone = start();
        let index = open(&quick(&pinecone));
        update(&index, true, puts(&notebooks(0..30))).unwrap();
        drop(pinecone.requests());
        update(&index, false, puts(&notebooks(0..36))).unwrap();
        let usual = pinecone.requests();
        assert!(usual.len() > 5);
        for path in ["/namespaces", "/fetch", "/upsert", "/delete"] {
            pinecone.fail(path, 2, fault.clone());
        }
        update(&index, false, puts(&notebooks(0..42))).unwrap();
        agrees(&open(&quick(&pinecone)), &notebooks(0..42));
    }
}

#[test]
fn answers_that_cannot_be_right_leave_the_old_state() {
    let pinecone = start();
    let index = open(&quick(&pinecone));
    let old = notebooks(0..30);
    update(&index, true, puts(&old)).unwrap();
    let before = pinecone.ids();
    for (fault, message) in [
        (
            ServiceFault::Garbage,
            "sent an answer that cannot be understood",
        ),
        (
            ServiceFault::OtherShape,
            "sent an answer that cannot be understood",
        ),
        (ServiceFault::PartialBatch, "refused part of the records"),
        (ServiceFault::Status(400), "status 400"),
        (ServiceFault::Never, "did not answer in time"),
    ] {
        for is_new in [false, true] {
            pinecone.fail("/vectors/upsert", 5, fault.clone());
            // The lease is the first record that is written.
            fails_with(update(&index, is_new, puts(&notebooks(30..60))), message);
            pinecone.recover();
            agrees(&open(&quick(&pinecone)), &old);
            pinecone.damage("lease", "body", OLD_LEASE);
        }
    }
    update(&index, false, Vec::new()).unwrap();
    agrees(&index, &old);
    let kept = |ids: &[String], kind: &str| ids.iter().filter(|id| id.contains(kind)).count();
    assert_eq!(kept(&pinecone.ids(), "/c/"), kept(&before, "/c/"));
}

#[test]
fn a_search_that_nobody_waits_for_ends() {
    let pinecone = start();
    let index = open(&quick(&pinecone));
    update(&index, true, puts(&notebooks(0..6))).unwrap();
    pinecone.fail("/", 1_000, ServiceFault::Never);
    let start = Instant::now();
    let found = index.search(&VectorQuery {
        collection: "docs",
        query: &SearchQuery::parse("water").unwrap(),
        most: 30,
        stop: &|| start.elapsed() > Duration::from_millis(100),
    });
    assert_eq!(found.err(), Some(StorageError::Cancelled));
}

/// A run ends without being able to clean up, as if it were killed: nothing that it wrote is ever seen, and the next run removes it.
#[test]
fn what_a_killed_run_leaves_is_never_found() {
    let pinecone = start();
    let old = notebooks(0..30);
    update(&open(&quick(&pinecone)), true, puts(&old)).unwrap();
    let count = |kind: &str| pinecone.ids().iter().filter(|id| id.contains(kind)).count();
    assert_eq!(count("/c/"), 30);
    let index = open(&quick(&pinecone));
    let mut changes = puts(&notebooks(30..60))
        .into_iter()
        .map(Ok)
        .chain(std::iter::from_fn(|| {
            // From here on nothing gets through, not even cleaning up.
            pinecone.fail("/", 10_000, ServiceFault::Status(403));
            None
        }));
    assert!(index.update("docs", 43, false, &mut changes).is_err());
    pinecone.recover();
    assert_eq!(pinecone.ids().iter().filter(|id| *id == "lease").count(), 1);
    agrees(&open(&quick(&pinecone)), &old);
    let told = update(&open(&quick(&pinecone)), false, Vec::new());
    fails_with(told, "Another process is writing");
    fails_with(
        open(&quick(&pinecone)).remove("docs"),
        "Another process is writing",
    );
    pinecone.damage("lease", "body", OLD_LEASE);
    update(&open(&quick(&pinecone)), false, puts(&notebooks(60..63))).unwrap();
    let mut all = old;
    all.extend(notebooks(60..63));
    agrees(&open(&quick(&pinecone)), &all);
    assert_eq!(count("/c/"), 33);
}

/// Nothing gets through any more from some request on, for every number of requests that an update makes.
#[test]
fn an_update_that_is_cut_off_anywhere_is_not_there_or_is_there() {
    let (old, mut new) = (notebooks(0..12), notebooks(0..12));
    new.extend(notebooks(12..18));
    let gone = new.pop_first().unwrap().0;
    let changes = || {
        let mut changes = puts(&notebooks(12..18));
        changes.push(Change::Remove(path(&gone)));
        changes
    };
    let (old_answers, new_answers) = (Embedded::new(&old), Embedded::new(&new));
    let (mut seen_old, mut seen_new) = (0, 0);
    for requests in 0.. {
        let pinecone = start();
        let hasty = ServiceSettings {
            retries: 0,
            ..quick(&pinecone)
        };
        update(&open(&hasty), true, puts(&old)).unwrap();
        let index = open(&hasty);
        drop(pinecone.requests());
        pinecone.fail_after(requests, ServiceFault::Status(403));
        let result = update(&index, false, changes());
        let is_over = pinecone.requests().len() <= requests;
        pinecone.recover();
        let reader = open(&hasty);
        let is_new = reader.state("docs").unwrap().chunks == 15;
        let expected = if is_new { &new_answers } else { &old_answers };
        for question in ["water turns", "day"] {
            let found = ask(&reader, question).unwrap();
            assert_eq!(found.state.unseen, 0, "{requests}");
            let found = found.hits.iter().take(10);
            let found: Vec<String> = found.map(|hit| hit.located.notebook.to_string()).collect();
            assert_eq!(found, expected.best(question), "{requests}");
        }
        assert!(is_new || result.is_err(), "{requests}");
        if is_new {
            seen_new += 1
        } else {
            seen_old += 1
        }
        // The next run puts everything in order, whatever is left, also if it has nothing to change.
        pinecone.damage("lease", "body", OLD_LEASE);
        let next = open(&hasty);
        match is_new {
            true => next.tidy("docs").unwrap(),
            false => drop(update(&next, false, changes()).unwrap()),
        }
        agrees(&open(&hasty), &new);
        assert_nothing_is_left(&pinecone, 15, 2);
        if is_over {
            break;
        }
    }
    assert!(seen_old > 8 && seen_new > 1, "{seen_old} {seen_new}");
}

/// There are the records of one generation and some manifests.
#[track_caller]
fn assert_nothing_is_left(pinecone: &PineconeEmulator, chunks: usize, manifests: usize) {
    let ids = pinecone.ids();
    let count = |kind: &str| ids.iter().filter(|id| id.contains(kind)).count();
    assert_eq!(count("/c/"), chunks, "{ids:#?}");
    assert_eq!(count("m/"), manifests, "{ids:#?}");
    for kind in ["/t/", "/n/", "head"] {
        assert_eq!(count(kind), 1, "{ids:#?}");
    }
    assert_eq!(ids.len(), chunks + manifests + 3, "{ids:#?}");
}

/// The same for the first update, which has no earlier state.
#[test]
fn a_first_update_that_is_cut_off_anywhere_is_not_there_or_is_there() {
    let new = notebooks(0..6);
    let (mut seen_nothing, mut seen_new) = (0, 0);
    for requests in 0.. {
        let pinecone = start();
        let hasty = ServiceSettings {
            retries: 0,
            ..quick(&pinecone)
        };
        pinecone.fail_after(requests, ServiceFault::Status(403));
        let result = update(&open(&hasty), true, puts(&new));
        let is_over = pinecone.requests().len() <= requests;
        pinecone.recover();
        let is_new = match open(&hasty).state("docs") {
            Ok(state) => {
                assert_eq!(state.chunks, 6, "{requests}");
                agrees(&open(&hasty), &new);
                true
            }
            Err(error) => {
                assert_eq!(error, StorageError::CollectionNotFound, "{requests}");
                assert!(result.is_err(), "{requests}");
                false
            }
        };
        seen_new += usize::from(is_new);
        seen_nothing += usize::from(!is_new);
        pinecone.damage("lease", "body", OLD_LEASE);
        update(&open(&hasty), true, puts(&new)).unwrap();
        agrees(&open(&hasty), &new);
        assert_nothing_is_left(&pinecone, 6, 1 + usize::from(is_new));
        if is_over {
            break;
        }
    }
    assert!(
        seen_nothing > 6 && seen_new > 1,
        "{seen_nothing} {seen_new}"
    );
}

#[test]
fn writes_that_show_up_late_are_waited_for() {
    let pinecone = start();
    pinecone.set_lag(4);
    let patient = ServiceSettings {
        settle: Duration::from_secs(20),
        ..settings(&pinecone)
    };
    let index = open(&patient);
    let mut all = notebooks(0..30);
    update(&index, true, puts(&all)).unwrap();
    agrees(&open(&patient), &all);
    let gone = all.pop_first().unwrap().0;
    update(&index, false, vec![Change::Remove(path(&gone))]).unwrap();
    agrees(&open(&patient), &all);
    // A service that never shows what was written does not get a new state.
    pinecone.set_lag(1_000_000);
    let failed = update(&open(&quick(&pinecone)), false, puts(&notebooks(30..33)));
    fails_with(failed, "does not show all records");
    agrees(&open(&patient), &all);
}

#[test]
fn a_search_says_what_it_could_not_see() {
    let pinecone = start();
    let index = open(&quick(&pinecone));
    let all = notebooks(0..360);
    update(&index, true, puts(&all)).unwrap();
    // Manifests of earlier generations are not taken for passages.
    for again in 0..8 {
        update(&index, false, puts(&notebooks(again..again + 1))).unwrap();
    }
    let lost: Vec<String> = pinecone
        .ids()
        .into_iter()
        .filter(|id| id.contains("/c/5/"))
        .collect();
    assert_eq!(lost.len(), 3);
    pinecone.lose("/c/5/");
    let few = ServiceSettings {
        candidates: 60,
        ..quick(&pinecone)
    };
    for settings in [quick(&pinecone), few] {
        let index = open(&settings);
        for question in ["water turns", "day"] {
            let found = ask(&index, question).unwrap();
            assert_eq!(found.state.unseen, 3, "{question}");
            assert!(!found.hits.is_empty());
        }
    }
    // Without the list of notebooks nothing can be said at all.
    pinecone.lose("/n/");
    fails_with(
        ask(&open(&quick(&pinecone)), "water"),
        "does not show all records",
    );
    fails_with(
        open(&quick(&pinecone)).entries("docs"),
        "does not show all records",
    );
}

#[test]
fn records_that_others_wrote_are_refused_and_rebuilt() {
    for (id, body) in [
        ("m/", "nonsense"),
        ("m/", "{\"format\":1}"),
        ("head", "\"x\""),
        ("/n/", "[{\"path\":\"../x\"}]"),
        ("/t/", "[]"),
        ("/c/", "+9\nx"),
        ("/c/", "{}"),
    ] {
        let pinecone = start();
        let index = open(&quick(&pinecone));
        update(&index, true, puts(&notebooks(0..30))).unwrap();
        pinecone.damage(id, "body", body);
        let index = open(&quick(&pinecone));
        let found = ask(&index, "water turns");
        match (id, body) {
            // Its further parts cannot be seen.
            ("/c/", "+9\nx") => assert_eq!(found.unwrap().state.unseen, 30),
            _ => {
                let error = found.unwrap_err();
                let is_other = matches!(&error, StorageError::OtherRules { message } if message.contains("damaged"));
                // A hint that points nowhere looks like one that is ahead.
                assert!(is_other || id == "head", "{id} {body}: {error}");
            }
        }
        update(&index, true, puts(&notebooks(0..30))).unwrap();
        agrees(&open(&quick(&pinecone)), &notebooks(0..30));
    }
}

/// Words, names and phrases lead to all chunks that have them, so the answers agree where few chunks do.
#[test]
fn few_candidates_find_what_many_find() {
    let pinecone = start();
    let all = open(&settings(&pinecone));
    update(&all, true, puts(&notebooks(0..360))).unwrap();
    let few = open(&ServiceSettings {
        candidates: 60,
        ..settings(&pinecone)
    });
    let (mut same, mut asked) = (0, 0);
    for question in questions() {
        let best = |index| {
            let found = ask(index, &question).unwrap();
            let hits = found.hits.into_iter().take(5);
            hits.map(|hit| (hit.located, hit.fused)).collect::<Vec<_>>()
        };
        let (few, all) = (best(&few), best(&all));
        asked += all.len();
        same += all.iter().filter(|hit| few.contains(hit)).count();
    }
    println!("recall of 60 candidates among 360: {same} of {asked}");
    assert!(same * 100 >= asked * 97, "{same} of {asked}");
    assert!(!few.state("docs").unwrap().is_exact);
}
