//! An index on disk is the old one or the new one, and damage is noticed.
#![expect(clippy::disallowed_methods, reason = "files are damaged here")]

use sectile_markdown::Span;

use super::*;
use crate::{Chunk, Passage, Query, SegmentBuilder, built_in, transformer};

fn segment(bodies: &[&str]) -> Vec<u8> {
    made(SegmentBuilder::new(None), bodies)
}

/// A file with a document of one chunk for each of these.
fn made(mut builder: SegmentBuilder<'_>, bodies: &[&str]) -> Vec<u8> {
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

/// A segment with vectors of the model in the program.
fn embedded(bodies: &[&str]) -> Vec<u8> {
    let model = built_in().unwrap();
    let mut reader = model.reader();
    made(SegmentBuilder::new(Some((model, &mut *reader))), bodies)
}

#[test]
fn the_second_tier_is_there_when_every_chunk_that_counts_has_its_vector() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::make_at(folder.path()).unwrap();
    let (first, model) = (built_in().unwrap(), transformer().unwrap());
    let writer = store.writer().unwrap();
    let names = [
        writer.add(&embedded(&["apple", "pear", "dead"])).unwrap(),
        writer.add(&embedded(&["plum"])).unwrap(),
    ];
    let manifest = Manifest {
        segments: names.to_vec(),
        entries: vec![entry("a", 0, 0), entry("b", 0, 1), entry("c", 1, 0)],
        ..Manifest::default()
    };
    writer.commit(&manifest).unwrap();
    let stored = store.read(Some(first)).unwrap().unwrap();
    let places: Vec<Place> = manifest.entries.iter().map(|entry| entry.place).collect();
    let meant = || store.meaning(&names, &stored.segments, &places, model);
    assert!(meant().is_none());
    assert_eq!(stored.living(), [vec![0, 1], vec![0]]);
    let filler = store.filler(model).unwrap();
    assert!(matches!(store.filler(model), Err(StoreError::Busy)));
    let key = |text: &str| Some(MeaningKey::of(&["", text]));
    let mut known = filler.known().unwrap();
    let vector = |number: usize| {
        let mut vector = vec![0; model.dimensions()];
        vector[number] = 100;
        vector
    };
    for (number, text) in ["apple", "pear", "plum"].into_iter().enumerate() {
        known.add(key(text).unwrap(), Some(&vector(number)));
    }
    known.add(key("silent").unwrap(), None);
    let part = filler.keep(&known, 1).unwrap();
    let again = filler.known().unwrap();
    assert_eq!((again.len(), again.added()), (3, 0));
    assert!(again.has(key("plum").unwrap()) && !again.has(key("apple").unwrap()));
    let keys = [key("apple"), key("pear"), None];
    filler.finish(&names[0], &keys, &known, &[]).unwrap();
    assert!(filler.has(&names[0], &stored.segments[0], &[0, 1]));
    assert!(!filler.has(&names[0], &stored.segments[0], &[0, 1, 2]));
    assert!(meant().is_none());
    // Who writes the index leaves the second tier alone.
    std::fs::write(folder.path().join("new-meaning-x"), b"half").unwrap();
    writer.clean(&names).unwrap();
    filler
        .finish(&names[1], &[key("plum")], &known, &[])
        .unwrap();
    let segments = meant().unwrap();
    assert!(store.verify_meaning(&names, model));
    let vectors = segments.iter().map(|segment| segment.vectors().0.len());
    let bytes = model.dimensions() / 2;
    assert_eq!(vectors.collect::<Vec<_>>(), [3 * bytes, bytes]);
    // The same, made in memory.
    let in_memory = again.in_place(&stored.segments[1], &[key("plum")]).unwrap();
    assert_eq!(in_memory.vectors(), segments[1].vectors());
    assert!(again.in_place(&stored.segments[1], &[key("fig")]).is_none());
    assert!(again.in_place(&stored.segments[1], &keys).is_none());
    filler.clean(&names).unwrap();
    let names = store.folder.names().unwrap();
    assert!(!names.contains(&part) && !names.contains(&"new-meaning-x".to_owned()));
    assert_eq!(names.len(), 7, "{names:?}");
    filler.clean(&[]).unwrap();
    assert!(meant().is_none());
}

#[test]
fn where_a_part_of_a_text_ends_makes_another_text_of_it() {
    let key = |parts: &[&str]| MeaningKey::of(parts);
    assert_eq!(key(&["a", "b"]), key(&["a", "b"]));
    assert_ne!(key(&["a", "b"]), key(&["ab"]));
    assert_ne!(key(&["a", "b"]), key(&["", "a", "b"]));
}
