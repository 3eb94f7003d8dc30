//! The folders of tenants: the shared rules, many commits, and faults between a server and the store.

mod packs;

use std::collections::BTreeMap;

use sectile_backends::{BlockingRuntime, ObjectTenants, PostgresTenants};
use sectile_library::{
    conformance::check_tenant_store,
    tenants::{
        CopiedFile, FileWrite, KnownTenant, LogChange, LogName, TenantCommit, TenantCommitOutcome,
        TenantError, TenantRevision, TenantStore,
    },
};
use sectile_markdown::{Digest, NotePath};
use sectile_test_servers::{MemoryS3, RequestFault};

use crate::{blobs, postgres::fixture::Home};

const NEVER: &dyn Fn() -> bool = &|| false;

fn postgres(home: &Home) -> PostgresTenants {
    let store = PostgresTenants::new(&home.settings(), BlockingRuntime::new().unwrap()).unwrap();
    store.prepare().unwrap();
    // A second time changes nothing.
    store.prepare().unwrap();
    store
}

fn bucket() -> MemoryS3 {
    let s3 = MemoryS3::start();
    s3.bucket(blobs::BUCKET);
    s3
}

fn objects(s3: &MemoryS3) -> ObjectTenants {
    let settings = blobs::settings(&s3.endpoint());
    ObjectTenants::s3(&settings, BlockingRuntime::new().unwrap()).unwrap()
}

#[test]
fn postgres_keeps_the_rules_of_all_stores() {
    check_tenant_store(&postgres(&Home::new()));
}

#[test]
fn object_storage_keeps_the_rules_of_all_stores() {
    let s3 = bucket();
    let store = objects(&s3);
    store.prepare().unwrap();
    check_tenant_store(&store);
}

#[test]
fn object_storage_without_conditional_writes_is_refused() {
    let s3 = bucket();
    s3.ignore_conditions();
    let refused = objects(&s3).prepare().unwrap_err().to_string();
    assert!(refused.contains("conditional writes"), "{refused}");
}

/// A commit that writes a file and appends a line to the journal.
fn change(id: &str, name: &str, text: Option<&str>) -> TenantCommit {
    let content = text.map(|text| {
        let state = CopiedFile {
            digest: Digest::of(text.as_bytes()),
            bytes: text.len() as u64,
            modified: 1_000,
        };
        (state, text.as_bytes().to_vec())
    });
    let line = LogChange::Append(format!("{id}\n").into_bytes());
    TenantCommit {
        id: id.to_owned(),
        files: vec![FileWrite {
            path: NotePath::parse_vault(name).unwrap(),
            content,
        }],
        logs: vec![(LogName::Journal, line)],
    }
}

fn made(outcome: &Result<TenantCommitOutcome, TenantError>) -> TenantRevision {
    match outcome {
        Ok(TenantCommitOutcome::Committed(revision)) => revision.clone(),
        other => panic!("{other:?}"),
    }
}

/// A copy of a tenant, as it follows the store by differences alone.
#[derive(Default)]
struct Follower {
    known: KnownTenant,
    files: BTreeMap<String, Digest>,
    journal: Vec<u8>,
}

impl Follower {
    /// Follows the store. Returns whether it got a difference, and not everything.
    fn follow(&mut self, store: &dyn TenantStore, tenant: &str) -> bool {
        let update = store.update(tenant, &self.known, NEVER).unwrap();
        if update.is_complete {
            self.files.clear();
        }
        for file in update.files {
            let path = file.path.to_string();
            match file.state {
                Some(state) => self.files.insert(path, state.digest),
                None => self.files.remove(&path),
            };
        }
        // Both logs are known, also the one that is empty.
        for log in LogName::ALL {
            self.known.logs.entry(log).or_default();
        }
        for update in update.logs {
            assert_eq!(update.log, LogName::Journal);
            if let LogChange::Replace(_) = update.change {
                self.journal.clear();
            }
            self.journal.extend_from_slice(update.change.bytes());
            let state = (update.replaced_at, self.journal.len() as u64);
            self.known.logs.insert(update.log, state);
        }
        self.known.revision = Some(update.revision);
        !update.is_complete
    }
}

/// So many commits that object storage writes several bases: a copy that follows closely, one that follows now and then, and one
/// that starts now have the same.
fn check_many_commits(store: &dyn TenantStore) {
    store.create("many").unwrap();
    let mut revision = store.revision("many", NEVER).unwrap();
    let (mut close, mut lazy) = (Follower::default(), Follower::default());
    close.follow(store, "many");
    let mut journal = Vec::new();
    let mut ids = Vec::new();
    for number in 0..200 {
        let id = format!("commit-{number}");
        let name = format!("in/{}.md", number % 30);
        let text = format!("{number} {}", "x".repeat(number));
        let text = (number % 7 != 6).then_some(text.as_str());
        let mut commit = change(&id, &name, text);
        if number % 90 == 89 {
            // The journal is shortened.
            commit.logs[0].1 = LogChange::Replace(b"short\n".to_vec());
            journal.clear();
        }
        journal.extend_from_slice(commit.logs[0].1.bytes());
        let base = revision.clone();
        revision = made(&store.commit("many", &base, &commit));
        ids.push((base, commit));
        assert!(close.follow(store, "many"), "{number}");
        if number % 23 == 0 {
            lazy.follow(store, "many");
        }
        if number % 50 == 49 {
            store.clean("many", 0, NEVER).unwrap();
        }
        // One that is sent again is recognized, also when a base has been written since.
        let (base, commit) = &ids[number.saturating_sub(70)];
        let again = made(&store.commit("many", base, commit));
        assert_eq!(again.commit, commit.id);
    }
    lazy.follow(store, "many");
    let mut fresh = Follower::default();
    assert!(!fresh.follow(store, "many"));
    for follower in [&close, &lazy, &fresh] {
        assert_eq!(follower.journal, journal);
        assert_eq!(follower.files, fresh.files);
        assert_eq!(follower.known.revision.as_ref(), Some(&revision));
    }
    let asked = fresh.files.iter();
    let asked: Vec<(NotePath, Digest)> = asked
        .map(|(path, digest)| (NotePath::parse_vault(path).unwrap(), *digest))
        .collect();
    let read = store.read("many", &asked, NEVER).unwrap();
    for (bytes, (path, digest)) in read.into_iter().zip(&asked) {
        assert_eq!(Digest::of(&bytes.unwrap()), *digest, "{path}");
    }
    let summary = store.tenants(NEVER).unwrap();
    assert_eq!(summary[0].files, fresh.files.len() as u64);
    store.remove("many", NEVER).unwrap();
}

#[test]
fn copies_follow_many_commits_in_every_store() {
    check_many_commits(&postgres(&Home::new()));
    let s3 = bucket();
    check_many_commits(&objects(&s3));
    assert_eq!(s3.keys(blobs::BUCKET), Vec::<String>::new());
}

/// Whichever request of a commit fails, and however, the store agrees with the outcome, and the same commit can be sent again.
#[test]
fn every_request_of_a_commit_may_fail() {
    let s3 = bucket();
    let faults = [
        RequestFault::Drop,
        RequestFault::Lose,
        RequestFault::Refuse(503, "SlowDown"),
        RequestFault::Refuse(500, "InternalError"),
        RequestFault::Refuse(403, "ExpiredToken"),
        RequestFault::Refuse(403, "RequestTimeTooSkewed"),
        RequestFault::Refuse(409, "ConditionalRequestConflict"),
    ];
    let mut unknown = 0;
    for (number, fault) in faults.into_iter().enumerate() {
        // Once, or so often that retries do not help.
        let is_patient = matches!(fault, RequestFault::Lose | RequestFault::Refuse(503, _));
        for times in [1, 40] {
            for after in 0..8 {
                if times > 1 && !(is_patient && after == 3) {
                    continue;
                }
                let tenant = format!("t{number}-{times}-{after}");
                let store = objects(&s3);
                store.create(&tenant).unwrap();
                let base = store.revision(&tenant, NEVER).unwrap();
                let commit = change("c1", "a.md", Some("text"));
                s3.fail(after, times, fault);
                let outcome = store.commit(&tenant, &base, &commit);
                s3.heal();
                let has_it = objects(&s3).revision(&tenant, NEVER).unwrap() != base;
                match &outcome {
                    Ok(TenantCommitOutcome::Committed(revision)) => {
                        assert!(has_it, "{tenant} {fault:?}");
                        assert_eq!(revision.number, base.number + 1);
                    }
                    Ok(TenantCommitOutcome::Behind) => panic!("{tenant} {fault:?}"),
                    Err(TenantError::OutcomeUnknown { .. }) => unknown += 1,
                    Err(_) => assert!(!has_it, "{tenant} {fault:?}"),
                }
                let again = made(&store.commit(&tenant, &base, &commit));
                assert_eq!(again.number, base.number + 1);
                let mut follower = Follower::default();
                follower.follow(&objects(&s3), &tenant);
                assert_eq!(follower.journal, b"c1\n", "{tenant} {fault:?}");
            }
        }
    }
    println!("{unknown} outcomes were not known at first");
}

#[test]
fn objects_that_are_forged_or_gone_are_errors() {
    let s3 = bucket();
    let store = objects(&s3);
    store.create("acme").unwrap();
    let base = store.revision("acme", NEVER).unwrap();
    let revision = made(&store.commit("acme", &base, &change("c1", "a.md", Some("text"))));
    let head_key = s3.keys(blobs::BUCKET).into_iter();
    let head_key = head_key.clone().find(|key| key.contains("heads/")).unwrap();
    let head = s3.object(blobs::BUCKET, &head_key).unwrap();
    let text = String::from_utf8(head.to_vec()).unwrap();
    for forged in [
        String::new(),
        "{}".to_owned(),
        text.replace("\"version\":1", "\"version\":2"),
        text.replace(
            &format!("\"revision\":{}", revision.number),
            "\"revision\":7",
        ),
        text.replace("\"c1\"", "\"c2\""),
        text.replace("\"files\":1", "\"files\":-1"),
        text.replace(&revision.number.to_string(), &u64::MAX.to_string())
            .replace(&base.number.to_string(), &(u64::MAX - 1).to_string()),
        "x".repeat(2 << 20),
    ] {
        s3.put(blobs::BUCKET, &head_key, &forged);
        let store = objects(&s3);
        let read = store.update("acme", &KnownTenant::default(), NEVER);
        assert!(matches!(read, Err(TenantError::Storage(_))), "{forged:.80}");
    }
    s3.put(blobs::BUCKET, &head_key, &head);
    // An object with other bytes than its name says, and one that is not there.
    let keys = s3.keys(blobs::BUCKET).into_iter();
    let objects_of: Vec<String> = keys.filter(|key| key.contains("objects/")).collect();
    for key in objects_of {
        let whole = s3.object(blobs::BUCKET, &key).unwrap();
        let mut forged = whole.to_vec();
        forged[0] ^= 1;
        s3.put(blobs::BUCKET, &key, &forged);
        let mut problems = 0;
        let store = objects(&s3);
        let text = [(NotePath::parse_vault("a.md").unwrap(), Digest::of(b"text"))];
        problems += usize::from(
            store
                .update("acme", &KnownTenant::default(), NEVER)
                .is_err(),
        );
        problems += usize::from(store.read("acme", &text, NEVER).is_err());
        assert_eq!(problems, 1, "{key}");
        s3.delete(blobs::BUCKET, &key);
        let store = objects(&s3);
        let update = store.update("acme", &KnownTenant::default(), NEVER);
        let read = store.read("acme", &text, NEVER);
        assert!(
            update.is_err() || read.is_ok_and(|read| read == [None]),
            "{key}"
        );
        s3.put(blobs::BUCKET, &key, &whole);
    }
    let mut follower = Follower::default();
    follower.follow(&store, "acme");
    assert_eq!(follower.journal, b"c1\n");
    // A bucket that was emptied has no tenants, and nothing is committed to it.
    for key in s3.keys(blobs::BUCKET) {
        s3.delete(blobs::BUCKET, &key);
    }
    let lost = store.commit("acme", &revision, &change("c2", "a.md", Some("more")));
    assert_eq!(lost, Err(TenantError::NotFound));
    assert_eq!(store.revision("acme", NEVER), Err(TenantError::NotFound));
}

#[test]
fn a_newer_version_of_a_head_is_refused_and_stays() {
    let s3 = bucket();
    let store = objects(&s3);
    store.create("acme").unwrap();
    let base = store.revision("acme", NEVER).unwrap();
    made(&store.commit("acme", &base, &change("c1", "a.md", Some("text"))));
    let keys = s3.keys(blobs::BUCKET);
    let key = keys.iter().find(|key| key.contains("heads/")).unwrap();
    let head = s3.object(blobs::BUCKET, key).unwrap();
    let newer = String::from_utf8(head.to_vec()).unwrap();
    let newer = newer.replace("\"version\":1", "\"version\":2,\"more\":[]");
    s3.put(blobs::BUCKET, key, &newer);
    for store in [&store, &objects(&s3)] {
        let errors = [
            store.revision("acme", NEVER).unwrap_err(),
            store
                .update("acme", &KnownTenant::default(), NEVER)
                .unwrap_err(),
            store
                .commit("acme", &base, &change("c2", "a.md", None))
                .unwrap_err(),
            store.clean("acme", 0, NEVER).unwrap_err(),
        ];
        for error in errors {
            let told = error.to_string();
            assert!(told.contains("newer than this program"), "{told}");
            assert!(matches!(error, TenantError::Storage(_)), "{told}");
        }
    }
    assert_eq!(s3.object(blobs::BUCKET, key).unwrap(), newer.as_bytes());
    assert_eq!(s3.keys(blobs::BUCKET), keys);
}
