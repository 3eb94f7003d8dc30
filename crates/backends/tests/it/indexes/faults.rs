//! Faults: a build that ends anywhere leaves a whole state, and a reader answers from its copy or says what is wrong.

use sectile_library::{
    StorageError,
    mirror::{IndexMirror as _, IndexPublishing as _, Publication},
};
use sectile_test_servers::RequestFault;

use super::{BUCKET, Home, NEVER};

/// Kills a build at every request, before and after the storage carried it out.
#[test]
fn a_build_that_is_killed_at_any_request_leaves_a_whole_state() {
    for fault in [RequestFault::Drop, RequestFault::Lose] {
        let mut outcomes = Vec::new();
        for after in 0.. {
            let home = Home::small();
            home.build(&home.machine()).unwrap();
            let old = home.expected();
            home.notes.write(
                "lab",
                "b.md",
                b"# Pears\n\nPears are yellow, and apples are not.\n",
            );
            home.notes
                .write("lab", "c.md", b"# Plums\n\nPlums are blue.\n");
            let doomed = home.hasty();
            home.s3.fail(after, usize::MAX, fault);
            let outcome = home.build(&doomed);
            let is_over = home.s3.requests() <= after;
            home.s3.heal();
            // What a reader fetches is whole, and one of the two states.
            let reader = home.machine();
            reader.indexes.fetch("lab", NEVER).unwrap();
            let export = tempfile::tempdir().unwrap();
            reader.indexes.export("lab", export.path(), NEVER).unwrap();
            let generation = published(&reader);
            assert_eq!(generation, u64::from(outcome.is_ok() || generation == 1));
            outcomes.push((outcome.is_ok(), generation));
            // And the next build completes what this one began.
            assert!(home.build(&home.machine()).is_ok());
            assert_eq!(home.found(&reader).unwrap(), home.expected());
            assert_ne!(home.expected(), old);
            if is_over {
                assert_eq!(outcome, Ok(Publication::Published));
                break;
            }
        }
        // Both ends were seen, and success is never reported before the state is there.
        assert!(outcomes.len() > 10, "{fault:?} {outcomes:?}");
        assert_eq!(outcomes.first(), Some(&(false, 0)));
        assert_eq!(outcomes.last(), Some(&(true, 1)));
        assert!(!outcomes.contains(&(true, 0)), "{fault:?} {outcomes:?}");
    }
}

fn published(reader: &super::Machine) -> u64 {
    let listed = reader.indexes.published(NEVER);
    listed.unwrap()[0].generation
}

#[test]
fn a_single_fault_at_any_request_costs_nothing() {
    for fault in [
        RequestFault::Drop,
        RequestFault::Lose,
        RequestFault::Refuse(503, "SlowDown"),
        RequestFault::Refuse(500, "InternalError"),
    ] {
        for at in 0.. {
            let home = Home::small();
            let machine = home.machine();
            // The check of the bucket has to be certain.
            home.build(&machine).unwrap();
            home.notes
                .write("lab", "c.md", b"# Plums\n\nPlums are blue.\n");
            home.s3.fail(at, 1, fault);
            let outcome = home.build(&machine);
            let is_over = home.s3.requests() <= at;
            assert_eq!(outcome, Ok(Publication::Published), "{fault:?} at {at}");
            home.s3.heal();
            let reader = home.machine();
            home.s3.fail(at % 3, 1, fault);
            reader.indexes.fetch("lab", NEVER).unwrap();
            home.s3.heal();
            assert_eq!(home.found(&reader).unwrap(), home.expected());
            if is_over {
                break;
            }
        }
    }
}

#[test]
fn a_storage_that_fails_is_no_reason_not_to_answer_from_the_copy() {
    let home = Home::small();
    let builder = home.hasty();
    home.build(&builder).unwrap();
    let expected = home.expected();
    let (warm, cold) = (home.hasty(), home.hasty());
    warm.indexes.fetch("lab", NEVER).unwrap();
    for (fault, says) in [
        (
            RequestFault::Refuse(400, "ExpiredToken"),
            "refused the credentials",
        ),
        (
            RequestFault::Refuse(403, "RequestTimeTooSkewed"),
            "Correct the clock",
        ),
        (
            RequestFault::Refuse(503, "SlowDown"),
            "is throttling requests",
        ),
        (
            RequestFault::Refuse(404, "NoSuchBucket"),
            "bucket does not exist",
        ),
        (RequestFault::Drop, "broke off"),
    ] {
        home.s3.fail(0, usize::MAX, fault);
        assert_eq!(home.found(&warm).unwrap(), expected, "{fault:?}");
        // The very process that fetched it need not be the one that answers.
        let again = super::Machine {
            indexes: super::indexes(&home.settings(warm.cache.path())),
            cache: tempfile::tempdir().unwrap(),
        };
        assert_eq!(home.found(&again).unwrap(), expected, "{fault:?}");
        let error = home.found(&cold).unwrap_err();
        assert!(error.contains(says), "{error}");
        let error = warm.indexes.ready().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        let error = home.build(&builder).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        home.s3.heal();
    }
    assert_eq!(home.found(&cold).unwrap(), expected);
}

#[test]
fn a_bucket_that_is_emptied_while_it_is_served() {
    let home = Home::small();
    home.build(&home.machine()).unwrap();
    let expected = home.expected();
    let reader = home.machine();
    reader.indexes.fetch("lab", NEVER).unwrap();
    // Pieces first: whoever has them goes on, and nobody else can begin.
    for key in home.s3.keys(BUCKET) {
        if !key.ends_with("/manifest") {
            home.s3.delete(BUCKET, &key);
        }
    }
    assert_eq!(home.found(&reader).unwrap(), expected);
    let error = home.found(&home.machine()).unwrap_err();
    assert!(
        error.contains("A part of the index is missing from the bucket"),
        "{error}"
    );
    // Then everything: an index that nobody has is made in memory, as without a bucket.
    home.s3.delete(BUCKET, &home.state_key());
    assert_eq!(home.found(&reader).unwrap(), expected);
    let made = home.found(&home.machine()).unwrap();
    assert!(made[0].contains("on_disk: false"));
    // A build makes it whole again.
    assert_eq!(home.build(&home.machine()), Ok(Publication::Published));
    assert_eq!(home.found(&home.machine()).unwrap(), expected);
}

#[test]
fn lies_in_a_bucket_are_noticed_and_a_build_replaces_them() {
    let home = Home::small();
    home.build(&home.machine()).unwrap();
    let expected = home.expected();
    let key = home.state_key();
    let state = home.s3.object(BUCKET, &key).unwrap();
    let text = String::from_utf8(state.to_vec()).unwrap();
    let piece = home
        .s3
        .keys(BUCKET)
        .into_iter()
        .find(|one| *one != key)
        .unwrap();
    let bytes = home.s3.object(BUCKET, &piece).unwrap();
    let reader = home.machine();
    reader.indexes.fetch("lab", NEVER).unwrap();
    let damaged: [(&str, Vec<u8>, &str); 6] = [
        (&key, b"{}".to_vec(), "is damaged"),
        (
            &key,
            text.replace("\"lab\"", "\"other\"").into(),
            "is damaged",
        ),
        (
            &key,
            text.replace("segment-", "../../x-").into(),
            "is damaged",
        ),
        (&key, vec![b' '; 5 << 20], "is damaged"),
        (
            &piece,
            vec![0; bytes.len()],
            "missing from the bucket, or damaged",
        ),
        (
            &piece,
            vec![0; bytes.len() + 1],
            "missing from the bucket, or damaged",
        ),
    ];
    for (object, lie, says) in damaged {
        home.s3.put(BUCKET, object, &lie);
        let error = home.found(&home.machine()).unwrap_err();
        assert!(error.contains(says), "{error}");
        // The last good state goes on.
        assert_eq!(home.found(&reader).unwrap(), expected);
        if lie.len() < 4 << 20 {
            let builder = home.machine();
            assert_eq!(home.build(&builder), Ok(Publication::Published), "{says}");
            assert_eq!(home.found(&home.machine()).unwrap(), expected);
        }
        home.s3.put(BUCKET, &piece, &bytes);
        home.s3.put(BUCKET, &key, &text);
    }
    let newer = text.replace("\"version\":1", "\"version\":2");
    home.s3.put(BUCKET, &key, &newer);
    let error = home.build(&home.machine()).unwrap_err();
    assert!(matches!(error, StorageError::OtherRules { .. }), "{error}");
    assert!(error.to_string().contains("another version of Sectile"));
    assert_eq!(home.s3.object(BUCKET, &key).unwrap(), newer.as_bytes());
    assert_eq!(home.found(&reader).unwrap(), expected);
}

#[test]
fn a_storage_without_conditional_writes_takes_no_index() {
    let home = Home::small();
    home.s3.ignore_conditions();
    let error = home.build(&home.machine()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("does not honour conditional writes")
    );
    assert_eq!(home.s3.keys(BUCKET), Vec::<String>::new());
}
