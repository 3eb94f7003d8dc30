//! The copies on a machine: damage, room, several readers, odd names.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use sectile_library::{
    StorageError, indexing,
    mirror::{IndexMirror as _, IndexPublishing as _, Publication},
    open_collections::IndexStorage,
    testing::Memory,
};

use super::{Home, LATER, Machine, NEVER, indexes};

/// Returns the files of the copy of `lab`, without locks.
fn files(machine: &Machine) -> Vec<PathBuf> {
    let listed = fs::read_dir(machine.indexes.folder("lab")).unwrap();
    let mut files: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| !path.ends_with("lock") && !path.ends_with("label"));
    files.sort();
    files
}

#[test]
fn a_damaged_copy_is_fetched_again() {
    let home = Home::small();
    home.build(&home.machine()).unwrap();
    let expected = home.expected();
    let reader = home.machine();
    reader.indexes.fetch("lab", NEVER).unwrap();
    let whole: Vec<(PathBuf, Vec<u8>)> = files(&reader)
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    assert!(whole.len() >= 2);
    let spoil: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(10),
        |bytes| bytes.push(0),
        Vec::clear,
        |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        },
    ];
    for (path, bytes) in &whole {
        for spoil in spoil {
            let mut spoilt = bytes.clone();
            spoil(&mut spoilt);
            // As another process would, which the reader cannot have seen before.
            fs::write(path, &spoilt).unwrap();
            let again = indexes(&home.settings(reader.cache.path()));
            again.fetch("lab", NEVER).unwrap();
            assert_eq!(fs::read(path).unwrap(), *bytes);
            fs::write(path, &spoilt).unwrap();
            assert_eq!(home.found(&reader).unwrap(), expected);
            assert_eq!(fs::read(path).unwrap(), *bytes);
        }
        fs::remove_file(path).unwrap();
        assert_eq!(home.found(&reader).unwrap(), expected);
    }
    // What does not belong to the index does not stay in it.
    let planted = format!("meaning-{}-{}", "0".repeat(32), "0".repeat(16));
    let planted = reader.indexes.folder("lab").join(planted);
    fs::write(&planted, "planted").unwrap();
    reader.indexes.fetch("lab", NEVER).unwrap();
    assert!(!planted.exists());
    #[cfg(unix)]
    {
        let (path, bytes) = &whole[0];
        fs::remove_file(path).unwrap();
        let outside = reader.cache.path().join("outside");
        fs::write(&outside, "outside").unwrap();
        std::os::unix::fs::symlink(&outside, path).unwrap();
        reader.indexes.fetch("lab", NEVER).unwrap();
        assert_eq!(fs::read(path).unwrap(), *bytes);
        assert_eq!(fs::read(&outside).unwrap(), b"outside");
    }
}

#[test]
fn the_least_recently_used_copies_make_room() {
    let home = Home {
        notes: Memory::default(),
        ..Home::small()
    };
    let names = ["lab", "lab-2", "lab-3"];
    let builder = home.machine();
    for name in names {
        home.notes
            .write(name, "a.md", b"# Apples\n\nApples are red.\n");
        home.build_of(&builder, name).unwrap();
    }
    let listed = builder.indexes.published(NEVER).unwrap();
    let one = listed[0].bytes;
    let sizes: Vec<u64> = listed.iter().map(|index| index.bytes).collect();
    assert!(sizes.iter().all(|bytes| bytes.abs_diff(one) < one / 10));
    // Room for two of them.
    let reader = home.machine_with(|settings| settings.max_cache_bytes = one * 5 / 2);
    let is_there = |name: &str| reader.indexes.folder(name).join("manifest").exists();
    for name in names {
        reader.indexes.fetch(name, NEVER).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(names.map(is_there), [false, true, true]);
    // One that is used stays, and one that was removed is fetched again.
    reader.indexes.fetch("lab-2", NEVER).unwrap();
    thread::sleep(Duration::from_millis(20));
    reader.indexes.fetch("lab", NEVER).unwrap();
    assert_eq!(names.map(is_there), [true, true, false]);
    // Not even one fits.
    let small = home.machine_with(|settings| settings.max_cache_bytes = one / 2);
    let refused = small.indexes.fetch("lab", NEVER).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("Raise `notebook.vector_storage.cache_mib`")
    );
    assert!(!small.indexes.folder("lab").join("manifest").exists());
}

#[test]
fn readers_share_a_copy_while_builds_and_cleanings_go_on() {
    let home = Home::small();
    let builder = home.machine();
    home.build(&builder).unwrap();
    let shared = tempfile::tempdir().unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut fetched = 0;
                    while !is_over.load(Ordering::Relaxed) || fetched == 0 {
                        let indexes = indexes(&home.settings(shared.path()));
                        indexes.fetch("lab", NEVER).unwrap();
                        fetched += 1;
                    }
                })
            })
            .collect();
        for round in 0..12 {
            let text = format!("# Plums\n\nPlums number {round}.\n");
            home.notes
                .write("lab", &format!("{}.md", round % 3), text.as_bytes());
            // What the state before this one named is removed at once.
            home.s3.advance_clock(LATER);
            assert_eq!(home.build(&builder), Ok(Publication::Published));
        }
        is_over.store(true, Ordering::Relaxed);
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
    });
    let reader = Machine {
        indexes: indexes(&home.settings(shared.path())),
        cache: shared,
    };
    assert_eq!(home.found(&reader).unwrap(), home.expected());
}

#[test]
fn names_made_of_paths_and_statements_are_names() {
    let home = Home {
        notes: Memory::default(),
        ..Home::small()
    };
    let long = "x".repeat(2000);
    let names = [
        "..",
        "../../etc/passwd",
        "'; DROP TABLE chunks; --",
        "a/b\\c\0d\n",
        "Caf\u{e9} %2e%2e%2f",
        ".sectile-index",
        long.as_str(),
    ];
    let machine = home.machine();
    for name in names {
        home.notes
            .write(name, "a.md", b"# Apples\n\nApples are red.\n");
        assert_eq!(home.build_of(&machine, name), Ok(Publication::Published));
        machine.indexes.fetch(name, NEVER).unwrap();
        let folder = machine.indexes.folder(name);
        assert_eq!(folder.parent(), Some(machine.cache.path()));
        assert!(folder.join("manifest").is_file());
    }
    let listed = machine.indexes.published(NEVER).unwrap();
    let mut sorted = names;
    sorted.sort_unstable();
    let found: Vec<&str> = listed
        .iter()
        .map(|one| one.collection_id.as_str())
        .collect();
    assert_eq!(found, sorted);
    for key in home.keys() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c);
        assert!(key.chars().all(plain), "{key}");
    }
    assert_eq!(machine.indexes.remove("..", NEVER), Ok(true));
    assert_eq!(
        machine.indexes.published(NEVER).unwrap().len(),
        names.len() - 1
    );
}

#[test]
fn an_export_is_an_index_of_its_own() {
    let home = Home::small();
    let machine = home.machine();
    let folder = tempfile::tempdir().unwrap();
    let nothing = machine.indexes.export("lab", folder.path(), NEVER);
    assert_eq!(nothing, Err(StorageError::CollectionNotFound));
    home.build(&machine).unwrap();
    machine.indexes.export("lab", folder.path(), NEVER).unwrap();
    let expected = home.expected();
    machine.indexes.remove("lab", NEVER).unwrap();
    let embedded = IndexStorage::Folder(Some(folder.path().to_owned()));
    let found = super::found(&home.notes.library(), embedded).unwrap();
    assert_eq!(found, expected);
    // It can be updated, too.
    let location = indexing::folder_of(folder.path(), "lab");
    assert_eq!(home.update(&location, "lab"), Ok(false));
}
