//! Shared vectors come back as they were or not at all, even while others write, and never take up more than they may.
#![expect(clippy::disallowed_methods, reason = "files are damaged here")]

use std::{collections::BTreeSet, fs, ops::Range, path::Path, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::{CacheFolder, built_in, transformer};

fn key(number: usize) -> VectorKey {
    VectorKey::of(&["passage", &number.to_string()])
}

fn keys(numbers: Range<usize>) -> Vec<VectorKey> {
    numbers.map(key).collect()
}

fn model() -> &'static dyn Embedder {
    built_in().unwrap()
}

fn vector(number: usize) -> Vec<i8> {
    let values = (0..model().dimensions()).map(|at| ((at * 7 + number * 31) % 255) as u8 as i8);
    values.collect()
}

/// The vectors of these passages, computed.
fn computed(numbers: Range<usize>) -> VectorCache {
    let mut known = VectorCache::none(model());
    for number in numbers {
        known.add(key(number), Some(&vector(number)));
    }
    known
}

fn shared_in(folder: &Path, most_bytes: u64) -> SharedVectors {
    SharedVectors::new(folder.join("cache/vectors"), most_bytes)
}

fn share(shared: &SharedVectors, numbers: Range<usize>) {
    let known = computed(numbers.clone());
    shared.add(model(), &keys(numbers), &known).unwrap();
}

/// Returns which of these passages are shared, after comparing their vectors.
fn lent(shared: &SharedVectors, numbers: Range<usize>) -> BTreeSet<usize> {
    let mut known = VectorCache::none(model());
    let missing = shared
        .lend(model(), &keys(numbers.clone()), &mut known)
        .unwrap();
    let right = computed(numbers.clone());
    let mut found = BTreeSet::new();
    for number in numbers {
        match known.get(key(number)) {
            Some(vector) => {
                assert_eq!(Some(vector), right.get(key(number)), "{number}");
                found.insert(number);
            }
            None => assert!(missing.contains(&key(number)), "{number}"),
        }
    }
    assert_eq!(
        (known.added(), known.borrowed()),
        (found.len(), found.len())
    );
    found
}

fn names(shared: &SharedVectors) -> Vec<String> {
    let folder = shared.folder().unwrap();
    folder.map_or(Vec::new(), |folder| folder.names().unwrap())
}

#[test]
fn what_one_index_computed_another_finds() {
    let temp = tempfile::tempdir().unwrap();
    let shared = shared_in(temp.path(), u64::MAX);
    assert!(lent(&shared, 0..3).is_empty());
    assert!(!shared.clear().unwrap() && names(&shared).is_empty());
    share(&shared, 0..0);
    assert_eq!(shared.bytes().unwrap(), 0, "nothing was made for nothing");
    share(&shared, 0..40);
    share(&shared, 20..60);
    assert_eq!(lent(&shared, 0..70), (0..60).collect());
    // What is known already is not looked up.
    let mut known = computed(0..10);
    let missing = shared.lend(model(), &keys(0..62), &mut known).unwrap();
    assert_eq!((known.added(), known.borrowed()), (60, 50));
    let unknown: BTreeSet<VectorKey> = keys(60..62).into_iter().collect();
    assert_eq!(missing.into_iter().collect::<BTreeSet<_>>(), unknown);
    // Another model has vectors of its own.
    let other = transformer().unwrap();
    let mut known = VectorCache::none(other);
    let missing = shared.lend(other, &keys(0..60), &mut known).unwrap();
    assert_eq!((missing.len(), known.len()), (60, 0));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |at: &Path| fs::metadata(at).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&shared.location), 0o700);
        assert_eq!(mode(&shared.location.join(&names(&shared)[0])), 0o600);
    }
    fs::write(shared.location.join("mine.txt"), "x").unwrap();
    assert!(shared.clear().unwrap());
    assert_eq!(names(&shared), ["mine.txt"]);
    assert_eq!(shared.bytes().unwrap(), 0);
}

#[test]
fn every_flipped_byte_is_noticed_or_harmless() {
    let temp = tempfile::tempdir().unwrap();
    let shared = shared_in(temp.path(), u64::MAX);
    share(&shared, 0..5);
    let [name] = &names(&shared)[..] else {
        panic!("one pack");
    };
    let path = shared.location.join(name);
    let whole = fs::read(&path).unwrap();
    let (mut noticed, mut harmless) = (0, 0);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        fs::write(&path, &damaged).unwrap();
        // The vectors that are found are compared.
        match lent(&shared, 0..5).len() {
            0 => noticed += 1,
            5 => harmless += 1,
            some => panic!("{some} of five, byte {at}"),
        }
    }
    // Only bytes between parts belong to nobody.
    assert!(noticed > 4 * harmless, "{noticed} {harmless}");
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(lent(&shared, 0..5).is_empty(), "{length}");
    }
    // A damaged pack is removed, and its vectors can be shared again.
    assert!(names(&shared).is_empty());
    share(&shared, 0..5);
    assert_eq!(fs::read(&path).unwrap(), whole);
}

proptest! {
    /// Bytes that somebody made up, with valid checksums or not, do no harm.
    #[test]
    fn anything_may_be_in_a_pack(
        changes in proptest::collection::vec((0..4_000_usize, any::<u8>()), 1..20),
        is_sealed in any::<bool>(),
    ) {
        let temp = tempfile::tempdir().unwrap();
        let shared = shared_in(temp.path(), u64::MAX);
        share(&shared, 0..8);
        let path = shared.location.join(&names(&shared)[0]);
        let mut file = fs::read(&path).unwrap();
        let parts = crate::container::parts(&file);
        let start = parts[0].1.start;
        for (at, byte) in changes {
            let at = start + at % (file.len() - start);
            file[at] = byte;
        }
        if is_sealed {
            crate::container::seal(&mut file);
        }
        fs::write(&path, &file).unwrap();
        let mut known = VectorCache::none(model());
        let missing = shared.lend(model(), &keys(0..8), &mut known).unwrap();
        prop_assert!(missing.len() + known.len() >= 8);
        share(&shared, 8..9);
        prop_assert!(shared.bytes().is_ok());
    }
}

#[test]
fn odd_things_in_the_folder_do_no_harm() {
    let temp = tempfile::tempdir().unwrap();
    let shared = shared_in(temp.path(), u64::MAX);
    share(&shared, 0..5);
    let [name] = &names(&shared)[..] else {
        panic!("one pack");
    };
    let beside = |end: &str| {
        shared
            .location
            .join(format!("{}{end}", &name[..name.len() - 2]))
    };
    fs::create_dir(beside("zz")).unwrap();
    // Larger than any pack, and not a byte of it on disk.
    let sparse = fs::File::create(beside("yy")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/dev/zero", beside("xx")).unwrap();
    assert_eq!(lent(&shared, 0..6), (0..5).collect());
    // A pack with its keys in another order.
    let model = Model::of(model());
    let numbers: Vec<usize> = (10..30).collect();
    let unsorted: Vec<Option<VectorKey>> = numbers.iter().map(|at| Some(key(*at))).collect();
    assert!(!unsorted.is_sorted());
    let folder = shared.folder().unwrap().unwrap();
    write(&folder, &model, &unsorted, &computed(10..30), None).unwrap();
    assert!(lent(&shared, 10..30).is_empty());
    // And a location that is not a folder.
    let file = temp.path().join("file");
    fs::write(&file, "x").unwrap();
    let shared = SharedVectors::new(file, u64::MAX);
    let mut known = VectorCache::none(built_in().unwrap());
    assert!(
        shared
            .lend(built_in().unwrap(), &keys(0..2), &mut known)
            .is_err()
    );
    assert!(
        shared
            .add(built_in().unwrap(), &keys(0..2), &computed(0..2))
            .is_err()
    );
}

#[test]
fn small_packs_are_merged_and_keep_their_age() {
    let temp = tempfile::tempdir().unwrap();
    let shared = shared_in(temp.path(), u64::MAX);
    for number in 0..100 {
        share(&shared, number..number + 1);
        assert!(names(&shared).len() <= MOST_SMALL + 2, "{number}");
    }
    assert_eq!(lent(&shared, 0..101), (0..100).collect());
    let modified = |name: &str| {
        let metadata = fs::metadata(shared.location.join(name));
        metadata.unwrap().modified().unwrap()
    };
    let packs = || {
        let mut names = names(&shared);
        names.retain(|name| name.starts_with(PACK));
        names
    };
    // Old ones do not become new by being merged.
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
    for name in packs() {
        let file = fs::File::options()
            .write(true)
            .open(shared.location.join(name));
        file.unwrap().set_modified(long_ago).unwrap();
    }
    let folder = shared.folder().unwrap().unwrap();
    let before = packs().len();
    for number in 100..=100 + MOST_SMALL - before {
        let known = computed(number..number + 1);
        let keys = [Some(key(number))];
        write(&folder, &Model::of(model()), &keys, &known, Some(long_ago)).unwrap();
    }
    merge(&folder, &Model::of(model())).unwrap();
    let [merged] = &packs()[..] else {
        panic!("one pack: {:?}", packs());
    };
    assert_eq!(modified(merged), long_ago);
    // While another process merges, packs are only added.
    let lock = folder.lock(LOCK).unwrap().unwrap();
    for number in 200..200 + 2 * MOST_SMALL {
        share(&shared, number..number + 1);
    }
    assert_eq!(packs().len(), 2 * MOST_SMALL + 1);
    drop(lock);
    share(&shared, 0..1);
    assert!(packs().len() < MOST_SMALL);
    assert_eq!(
        lent(&shared, 0..232).len(),
        101 + MOST_SMALL - before + 2 * MOST_SMALL
    );
}

#[test]
fn the_oldest_packs_make_room() {
    let temp = tempfile::tempdir().unwrap();
    let unbounded = shared_in(temp.path(), u64::MAX);
    share(&unbounded, 0..50);
    let one = unbounded.bytes().unwrap();
    let shared = shared_in(temp.path(), 3 * one);
    for round in 1..8 {
        // Times of files are coarse on some systems.
        std::thread::sleep(Duration::from_millis(20));
        share(&shared, round * 50..(round + 1) * 50);
        assert!(shared.bytes().unwrap() <= 3 * one, "{round}");
    }
    assert_eq!(lent(&shared, 0..400), (250..400).collect());
    // Unfinished packs of killed processes count too.
    let leftover = shared.location.join("new-1-1-pack-x");
    fs::write(&leftover, vec![0; one as usize]).unwrap();
    let file = fs::File::options().write(true).open(&leftover).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(shared.shrink().unwrap(), 3 * one);
    assert!(!leftover.exists());
    // Within the cache, a quarter of the limit is for vectors, and all of it counts.
    let cache = CacheFolder::new(&temp.path().join("cache"));
    cache.shrink(8 * one, None).unwrap();
    assert_eq!(lent(&shared, 0..400), (300..400).collect());
    let store = crate::Store::make_cache_at(&cache.folder_of("index")).unwrap();
    store.label("/notes").unwrap();
    let records = vec![0; usize::try_from(one).unwrap() * 7];
    store.writer().unwrap().write_records(&records).unwrap();
    assert_eq!(cache.shrink(10 * one, None).unwrap(), 0);
    assert_eq!(cache.shrink(8 * one, None).unwrap(), 1);
    assert_eq!(lent(&shared, 0..400), (300..400).collect());
    // A bound that nothing fits into.
    let none = shared_in(temp.path(), 0);
    share(&none, 0..10);
    assert_eq!(none.bytes().unwrap(), 0);
}

#[test]
fn any_number_of_writers_and_readers_work_at_the_same_time() {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 60;
    let temp = tempfile::tempdir().unwrap();
    let shared = shared_in(temp.path(), u64::MAX);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let shared = &shared;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let first = (writer * ROUNDS + round) * 3;
                    share(shared, first..first + 3);
                    // Everybody writes the same pack at about the same time.
                    share(shared, 10_000 + round..10_001 + round);
                    // What was shared stays shared, while packs are merged.
                    let mine = writer * ROUNDS * 3..first + 3;
                    assert_eq!(lent(shared, mine.clone()), mine.collect());
                }
            });
        }
    });
    let all = WRITERS * ROUNDS * 3;
    assert_eq!(lent(&shared, 0..all + 1), (0..all).collect());
    assert_eq!(lent(&shared, 10_000..10_061).len(), ROUNDS);
    let are_finished = |name: &String| name == LOCK || name.starts_with(PACK);
    assert!(names(&shared).iter().all(are_finished));
}
