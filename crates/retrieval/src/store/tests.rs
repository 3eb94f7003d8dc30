//! An index on disk is always the old one or the new one, and damage is detected.
#![expect(clippy::disallowed_methods, reason = "files are damaged here")]

use std::path::Path;

use sectile_markdown::Span;

use super::*;
use crate::{Chunk, Passage, Query, SegmentBuilder, built_in, transformer};

fn segment(bodies: &[&str]) -> Vec<u8> {
    made(SegmentBuilder::new(None), bodies)
}

/// Builds a file with a document of one chunk for each of these.
fn made(mut builder: SegmentBuilder<'_>, bodies: &[&str]) -> Vec<u8> {
    for body in bodies {
        builder.document();
        let chunk = Chunk {
            span: Span::new(0, body.len()),
            digest: crate::ChunkDigest::of(body.as_bytes()),
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

fn entry(name: &str, segment: usize, document: usize) -> ManifestEntry {
    ManifestEntry {
        name: name.to_owned(),
        stamp: [1, 2, 3, u64::MAX],
        digest: Digest::of(name.as_bytes()),
        place: DocumentLocation { segment, document },
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
    // A reader that opened the old state still has it.
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
            // Padding between two parts.
            Ok(Some(_)) => assert_eq!(whole[at], 0, "{at}"),
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

/// Builds a segment with vectors of the built-in model.
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
    let places: Vec<DocumentLocation> = manifest.entries.iter().map(|entry| entry.place).collect();
    let meant = || store.meaning(&names, &stored.segments, &places, model);
    assert!(meant().is_none());
    assert_eq!(stored.living(), [vec![0, 1], vec![0]]);
    let filler = store.filler(model).unwrap();
    assert!(matches!(store.filler(model), Err(StoreError::Busy)));
    let key = |text: &str| Some(VectorKey::of(&["", text]));
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
    // A writer of the index leaves the second tier alone.
    std::fs::write(folder.path().join("new-meaning-x"), b"half").unwrap();
    writer.clean(&names).unwrap();
    filler
        .finish(&names[1], &[key("plum")], &known, &[])
        .unwrap();
    let segments = meant().unwrap();
    let vectors = segments
        .iter()
        .map(|segment| segment.vectors_of(0..segment.chunks()).0.len());
    let bytes = model.dimensions() / 2;
    assert_eq!(vectors.collect::<Vec<_>>(), [3 * bytes, bytes]);
    // The same, built in memory.
    let in_memory = again.in_place(&stored.segments[1], &[key("plum")]).unwrap();
    let all = 0..in_memory.chunks();
    assert_eq!(
        in_memory.vectors_of(all.clone()),
        segments[1].vectors_of(all)
    );
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
    let key = |parts: &[&str]| VectorKey::of(parts);
    assert_eq!(key(&["a", "b"]), key(&["a", "b"]));
    assert_ne!(key(&["a", "b"]), key(&["ab"]));
    assert_ne!(key(&["a", "b"]), key(&["", "a", "b"]));
}

/// Creates a store with an index of one segment, whose words span several blocks; returns it with the segment's name.
fn large(folder: &Path) -> (Store, String) {
    let store = Store::make_at(folder).unwrap();
    let writer = store.writer().unwrap();
    let bodies: Vec<String> = (0..600)
        .map(|number| {
            let words = (0..40).map(|word| format!("w{} ", (number * 7 + word * 13) % 900));
            format!("common number{number} {}", words.collect::<String>())
        })
        .collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let name = writer.add(&segment(&bodies)).unwrap();
    let entries = (0..600).map(|number| entry(&format!("{number:03}"), 0, number));
    let manifest = Manifest {
        segments: vec![name.clone()],
        entries: entries.collect(),
        ..Manifest::default()
    };
    writer.commit(&manifest).unwrap();
    drop(writer);
    (store, name)
}

#[test]
fn a_file_that_changes_while_it_is_open_gives_no_wrong_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (store, name) = large(folder.path());
    let path = folder.path().join(&name);
    let whole = std::fs::read(&path).unwrap();
    let questions = [
        "common",
        "w7 w20",
        "\"common number77\"",
        "w899",
        "nunber77",
    ];
    let answers = |corpus: &Corpus| -> Vec<String> {
        let answers = questions.iter().map(|text| {
            let found = corpus.search(&Query::parse(text).unwrap(), text, None, 20);
            format!("{:?} {}", found.hits, found.total)
        });
        answers.collect()
    };
    let right = answers(&store.read(None).unwrap().unwrap().corpus());
    let (mut noticed, mut unharmed) = (0, 0);
    // Truncated, and changed here and there; 31 and 37 are unrelated to the block size.
    let cuts = (0..31).map(|at| (whole.len() * at / 31, true));
    let changes = (0..37).map(|at| (whole.len() * at / 37, false));
    for (at, is_cut) in cuts.chain(changes) {
        std::fs::write(&path, &whole).unwrap();
        let stored = store.read(None).unwrap().unwrap();
        let corpus = stored.corpus();
        let before = store.state().unwrap();
        assert_eq!(before, Some(stored.state));
        if is_cut {
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(at as u64).unwrap();
        } else {
            let mut changed = whole.clone();
            changed[at..]
                .iter_mut()
                .take(5_000)
                .for_each(|byte| *byte ^= 0x11);
            std::fs::write(&path, changed).unwrap();
        }
        // File system clocks have ticks, and both writes may fall into one; a changed length shows at once.
        assert!(store.state().unwrap() != before || !is_cut, "{at}");
        match answers(&corpus) {
            answers if answers == right => unharmed += 1,
            _ => {
                assert!(corpus.is_damaged(), "{at} {is_cut}");
                noticed += 1;
            }
        }
        assert!(!corpus.is_damaged() || !corpus.is_whole());
        assert!(store.read(None).is_err(), "{at} {is_cut}");
    }
    assert!(noticed > 10 && unharmed > 10, "{noticed} {unharmed}");
    // Without its name it still exists for anyone who has it open.
    std::fs::write(&path, &whole).unwrap();
    let corpus = store.read(None).unwrap().unwrap().corpus();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(answers(&corpus), right);
    assert!(corpus.is_whole() && !corpus.is_damaged());
}

/// Removes anything at `path`.
#[cfg(unix)]
fn clear(path: &Path) {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Puts something else in place of a file.
#[cfg(unix)]
fn put_in_place(path: &Path, what: &str, outside: &Path) {
    clear(path);
    match what {
        "pipe" => {
            use rustix::fs::{CWD, FileType, Mode, mknodat};
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        }
        "link" => std::os::unix::fs::symlink(outside, path).unwrap(),
        "dangling link" => std::os::unix::fs::symlink(outside.join("none"), path).unwrap(),
        "folder" => std::fs::create_dir(path).unwrap(),
        "hole" => {
            let file = std::fs::File::create(path).unwrap();
            file.set_len(1 << 42).unwrap();
        }
        _ => unreachable!(),
    }
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_opened_and_nothing_is_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    std::fs::write(&victim, "not ours").unwrap();
    let location = folder.path().join("index");
    let (store, name) = large(&location);
    let whole = std::fs::read(location.join(&name)).unwrap();
    let manifest = std::fs::read(location.join(MANIFEST)).unwrap();
    let kinds = ["pipe", "link", "dangling link", "folder", "hole"];
    for what in kinds {
        // A link to a copy of the very same file is not accepted either.
        std::fs::write(&victim, &whole).unwrap();
        put_in_place(&location.join(&name), what, &victim);
        let read = store.read(None);
        assert!(
            matches!(read, Err(StoreError::Format(_))),
            "{what} {read:?}"
        );
        assert!(store.state().unwrap().is_some());
        clear(&location.join(&name));
        std::fs::write(location.join(&name), &whole).unwrap();
        std::fs::write(&victim, &manifest).unwrap();
        put_in_place(&location.join(MANIFEST), what, &victim);
        let read = store.read(None);
        assert!(
            matches!(read, Err(StoreError::Format(_))),
            "{what} {read:?}"
        );
        clear(&location.join(MANIFEST));
        std::fs::write(location.join(MANIFEST), &manifest).unwrap();
        assert!(store.read(None).is_ok());
    }
    std::fs::write(&victim, "not ours").unwrap();
    for what in ["pipe", "link", "dangling link", "folder"] {
        put_in_place(&location.join(LOCK), what, &victim);
        let refused = store.writer();
        assert!(matches!(refused, Err(StoreError::Format(_))), "{what}");
    }
    clear(&location.join(LOCK));
    // A writer writes to a file of its own, whatever is in its place.
    let writer = store.writer().unwrap();
    for what in ["pipe", "link", "dangling link", "hole"] {
        put_in_place(&location.join(format!("new-{MANIFEST}")), what, &victim);
        writer
            .commit(&store.read(None).unwrap().unwrap().manifest)
            .unwrap();
        put_in_place(&location.join(format!("new-{name}")), what, &victim);
        assert_eq!(writer.add(&whole).unwrap(), name);
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "not ours");
    assert!(!outside.path().join("none").exists());
    let names = std::fs::read_dir(outside.path()).unwrap().count();
    assert_eq!(names, 1);
}

#[test]
fn a_manifest_names_no_file_but_segments() {
    let folder = tempfile::tempdir().unwrap();
    let (store, name) = large(&folder.path().join("index"));
    let (_, other) = large(&folder.path().join("other"));
    assert_eq!(name, other);
    let writer = store.writer().unwrap();
    let named = [
        format!("../other/{name}"),
        folder
            .path()
            .join("other")
            .join(&name)
            .display()
            .to_string(),
        "manifest".to_owned(),
        "segment-../../other/segment-0".to_owned(),
        String::new(),
    ];
    for segment in named {
        let manifest = Manifest {
            segments: vec![segment.clone(), name.clone()],
            ..Manifest::default()
        };
        writer.commit(&manifest).unwrap();
        assert!(store.folder.read(&name, MOST_FILE).unwrap().is_some());
        assert!(
            matches!(store.read(None), Err(StoreError::Format(_))),
            "{segment}"
        );
        assert!(store.state().unwrap().is_some());
    }
}
