//! Many small files of one commit in object storage: few objects, from which every file comes back.

use super::*;

/// The number of small files.
const SMALL: usize = 1_000;

fn file(name: &str, text: &str) -> FileWrite {
    let mut files = change("", name, Some(text)).files;
    files.remove(0)
}

fn small(number: usize) -> (String, String) {
    // Every tenth has the text of another.
    let text = format!(
        "{} {}",
        number - usize::from(number % 10 == 9),
        "x".repeat(number)
    );
    (format!("in/{number:04}.md"), text)
}

fn commit(id: &str, files: Vec<FileWrite>) -> TenantCommit {
    TenantCommit {
        files,
        ..change(id, "unused.md", None)
    }
}

/// Commits on the present revision.
fn commit_now(store: &ObjectTenants, commit: &TenantCommit) {
    let base = store.revision("acme", NEVER).unwrap();
    made(&store.commit("acme", &base, commit));
}

/// All files, as a server gets them that has none.
fn texts(store: &ObjectTenants) -> BTreeMap<String, String> {
    let update = store
        .update("acme", &KnownTenant::default(), NEVER)
        .unwrap();
    let files: Vec<(NotePath, Digest)> = update
        .files
        .into_iter()
        .map(|file| (file.path, file.state.unwrap().digest))
        .collect();
    let mut all = BTreeMap::new();
    for part in files.chunks(300) {
        for (bytes, (path, _)) in store
            .read("acme", part, NEVER)
            .unwrap()
            .into_iter()
            .zip(part)
        {
            let text = String::from_utf8(bytes.unwrap()).unwrap();
            all.insert(path.to_string(), text);
        }
    }
    all
}

fn objects_in(s3: &MemoryS3) -> usize {
    let keys = s3.keys(blobs::BUCKET).into_iter();
    keys.filter(|key| key.contains("objects/")).count()
}

#[test]
fn small_files_share_objects_and_come_back_one_by_one() {
    let s3 = bucket();
    let store = objects(&s3);
    store.create("acme").unwrap();
    let mut expected: BTreeMap<String, String> = (0..SMALL).map(small).collect();
    let large = "y".repeat(100_000);
    expected.insert("large.md".to_owned(), large.clone());
    let writes = expected.iter().map(|(name, text)| file(name, text));
    commit_now(&store, &commit("many", writes.collect()));
    // The large one, the commit, and packs.
    assert_eq!(objects_in(&s3), 3);
    assert_eq!(texts(&store), expected);
    // Another server follows from an earlier state, without a list of everything.
    let other = objects(&s3);
    assert_eq!(texts(&other), expected);
    let known = KnownTenant {
        revision: Some(other.revision("acme", NEVER).unwrap()),
        logs: BTreeMap::from([(LogName::Journal, (1, 5)), (LogName::Ids, (0, 0))]),
    };
    let writes = (0..40).map(|number| (format!("more/{number}.md"), format!("more {number}")));
    let more: BTreeMap<String, String> = writes.collect();
    let writes = more.iter().map(|(name, text)| file(name, text));
    commit_now(&store, &commit("more", writes.collect()));
    expected.extend(more);
    let update = other.update("acme", &known, NEVER).unwrap();
    assert_eq!((update.is_complete, update.files.len()), (false, 40));
    let asked = update.files.iter();
    let asked: Vec<_> = asked
        .map(|file| (file.path.clone(), file.state.unwrap().digest))
        .collect();
    let read = other.read("acme", &asked, NEVER).unwrap();
    assert!(read.iter().all(Option::is_some));
    // A file that is written alone leaves its pack, also if another has the same text.
    for (name, text) in [
        ("in/0009.md", "alone".to_owned()),
        ("in/0020.md", small(30).1),
        ("in/0031.md", small(50).1),
    ] {
        commit_now(&store, &commit(name, vec![file(name, &text)]));
        expected.insert(name.to_owned(), text);
    }
    for store in [&store, &other, &objects(&s3)] {
        assert_eq!(texts(store), expected);
    }
    // Enough commits for new bases to be written. Cleaning up then keeps whatever is still needed.
    for number in 0..70 {
        let name = format!("in/{:04}.md", number + 100);
        let text = format!("changed {number}");
        commit_now(&store, &commit(&name, vec![file(&name, &text)]));
        expected.insert(name, text);
    }
    assert!(store.clean("acme", 0, NEVER).unwrap() > 0);
    for store in [&store, &other, &objects(&s3)] {
        assert_eq!(texts(store), expected);
    }
    // Once nothing in a pack is needed, it goes.
    let gone = expected.keys().filter(|name| name.starts_with("in/"));
    let gone = gone.map(|name| change("", name, None).files.remove(0));
    commit_now(&store, &commit("gone", gone.collect()));
    expected.retain(|name, _| !name.starts_with("in/"));
    let before: usize = s3
        .keys(blobs::BUCKET)
        .iter()
        .map(|key| s3.object(blobs::BUCKET, key).unwrap().len())
        .sum();
    store.clean("acme", 0, NEVER).unwrap();
    let after: usize = s3
        .keys(blobs::BUCKET)
        .iter()
        .map(|key| s3.object(blobs::BUCKET, key).unwrap().len())
        .sum();
    assert!(after + 400_000 < before, "{after} of {before}");
    assert_eq!(texts(&objects(&s3)), expected);
}

#[test]
fn a_pack_that_is_forged_or_gone_is_an_error() {
    let s3 = bucket();
    let store = objects(&s3);
    store.create("acme").unwrap();
    let writes = (0..20).map(|number| file(&format!("{number}.md"), &format!("text {number}")));
    commit_now(&store, &commit("many", writes.collect()));
    let keys = s3.keys(blobs::BUCKET);
    let is_pack = |key: &&String| {
        let bytes = s3.object(blobs::BUCKET, key).unwrap();
        bytes.starts_with(b"text 0")
    };
    let key = keys.iter().find(is_pack).unwrap();
    let pack = s3.object(blobs::BUCKET, key).unwrap();
    let asked = [(
        NotePath::parse_vault("7.md").unwrap(),
        Digest::of(b"text 7"),
    )];
    let read = || {
        let store = objects(&s3);
        store
            .update("acme", &KnownTenant::default(), NEVER)
            .unwrap();
        store.read("acme", &asked, NEVER)
    };
    assert_eq!(read().unwrap(), [Some(b"text 7".to_vec())]);
    let mut forged = pack.to_vec();
    forged[0] ^= 1;
    s3.put(blobs::BUCKET, key, &forged);
    assert!(matches!(read(), Err(TenantError::Storage(_))));
    s3.delete(blobs::BUCKET, key);
    assert_eq!(read().unwrap(), [None]);
    s3.put(blobs::BUCKET, key, &pack);
    assert_eq!(read().unwrap(), [Some(b"text 7".to_vec())]);
    // Places that are not in the pack, and packs that are not digests.
    let head_key = keys.iter().find(|key| key.contains("heads/")).unwrap();
    let head = String::from_utf8(s3.object(blobs::BUCKET, head_key).unwrap().to_vec()).unwrap();
    let record = keys
        .iter()
        .map(|key| (key, s3.object(blobs::BUCKET, key).unwrap().to_vec()))
        .find(|(_, bytes)| bytes.starts_with(b"{\"id\""));
    let (record_key, record) = record.unwrap();
    let record = String::from_utf8(record).unwrap();
    let offset = "\"offset\":42";
    assert!(record.contains(offset), "{record}");
    for (old, new) in [
        (offset, "\"offset\":43"),
        (offset, "\"offset\":100000"),
        (offset, "\"offset\":18446744073709551615"),
        (offset, "\"offset\":-1"),
        ("\"object\":\"", "\"object\":\"x"),
    ] {
        // The commit is an object, too, and known by its digest.
        let forged = record.replace(old, new);
        let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
        let forged_key = record_key.replace(&digest(&record), &digest(&forged));
        s3.put(blobs::BUCKET, &forged_key, &forged);
        let forged_head = head.replace(&digest(&record), &digest(&forged));
        s3.put(blobs::BUCKET, head_key, forged_head);
        let store = objects(&s3);
        let update = store.update("acme", &KnownTenant::default(), NEVER);
        let read = store.read("acme", &asked, NEVER);
        assert!(update.is_err() || read.is_err(), "{new}");
    }
}
