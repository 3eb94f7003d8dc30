//! An index on disk is the old one or the new one, and damage is noticed.
#![expect(clippy::disallowed_methods, reason = "files are damaged here")]

use sectile_markdown::Span;

use super::*;
use crate::{Chunk, Passage, Query, SegmentBuilder};

fn segment(bodies: &[&str]) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(None);
    for body in bodies {
        builder.document();
        let chunk = Chunk {
            span: Span::new(0, body.len()),
            digest: Digest::of(body.as_bytes()),
            line: 1,
        };
        let passage = Passage {
            body,
            ..Passage::default()
        };
        builder.chunk(&chunk, &passage);
    }
    builder.finish()
}

fn entry(name: &str, segment: usize, document: usize) -> Entry {
    Entry {
        name: name.to_owned(),
        stamp: [1, 2, 3, u64::MAX],
        digest: Digest::of(name.as_bytes()),
        place: Place { segment, document },
    }
}

fn found(store: &Store, word: &str) -> Vec<String> {
    let stored = store.read(None).unwrap().unwrap();
    let corpus = stored.corpus();
    let query = Query::parse(word).unwrap();
    let hits = corpus.search(&query, word, None, 10).hits;
    hits.iter()
        .map(|hit| {
            stored.manifest.entries[corpus.document_of(hit.chunk)]
                .name
                .clone()
        })
        .collect()
}

#[test]
fn an_index_grows_and_forgets() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("deep/index");
    assert!(Store::at(&location).unwrap().is_none());
    let store = Store::make_at(&location).unwrap();
    assert!(store.read(None).unwrap().is_none());
    let writer = store.writer().unwrap();
    assert!(matches!(store.writer(), Err(StoreError::Busy)));
    let first = writer.add(&segment(&["apple pear", "apple plum"])).unwrap();
    let mut manifest = Manifest {
        name: "fruit".to_owned(),
        made_at: 5,
        segments: vec![first.clone()],
        entries: vec![entry("a", 0, 0), entry("b", 0, 1)],
    };
    writer.commit(&manifest).unwrap();
    assert_eq!(store.read(None).unwrap().unwrap().manifest, manifest);
    assert_eq!(found(&store, "apple"), ["a", "b"]);
    let second = writer.add(&segment(&["apple fig"])).unwrap();
    manifest.segments.push(second);
    manifest.entries[0] = entry("a", 1, 0);
    writer.commit(&manifest).unwrap();
    assert_eq!(found(&store, "fig"), ["a"]);
    assert_eq!(found(&store, "pear"), [""; 0]);
    let old = store.read(None).unwrap().unwrap();
    manifest.segments.remove(0);
    manifest.entries = vec![entry("a", 0, 0)];
    writer.commit(&manifest).unwrap();
    assert!(!location.join(&first).exists());
    assert_eq!(found(&store, "apple"), ["a"]);
    // Whoever opened the old state still has it.
    assert_eq!((old.corpus().len(), old.chunks()), (2, 2));
}

#[test]
fn damage_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::make_at(folder.path()).unwrap();
    let writer = store.writer().unwrap();
    let name = writer.add(&segment(&["apple pear", "plum"])).unwrap();
    let manifest = Manifest {
        segments: vec![name.clone()],
        entries: vec![entry("a", 0, 0)],
        ..Manifest::default()
    };
    writer.commit(&manifest).unwrap();
    let path = folder.path().join(&name);
    let whole = std::fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        match store.read(None) {
            Err(StoreError::Format(_)) => {}
            Ok(Some(stored)) => {
                let is_padding = whole[at] == 0;
                assert!(
                    store.verify(&stored.manifest.segments).is_err() || is_padding,
                    "{at}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    assert!(matches!(store.read(None), Err(StoreError::Format(_))));
    std::fs::write(&path, b"").unwrap();
    assert!(matches!(store.read(None), Err(StoreError::Format(_))));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(store.read(None), Err(StoreError::Format(_))));
    std::fs::write(folder.path().join(MANIFEST), b"").unwrap();
    assert!(matches!(store.read(None), Err(StoreError::Format(_))));
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::make_at(folder.path()).unwrap();
    let writer = store.writer().unwrap();
    writer.add(&segment(&["never named"])).unwrap();
    std::fs::write(folder.path().join("new-segment-x"), b"half").unwrap();
    std::fs::write(folder.path().join("new-manifest"), b"half").unwrap();
    std::fs::write(folder.path().join("mine.txt"), b"not ours").unwrap();
    writer.commit(&Manifest::default()).unwrap();
    let names = store.folder.names().unwrap();
    assert_eq!(names, ["lock", "manifest", "mine.txt"]);
}
