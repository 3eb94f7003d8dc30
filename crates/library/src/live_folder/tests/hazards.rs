//! What may go wrong around a folder: lost events, no watches, callers that give up, a cache that others hold.

use sectile_retrieval::Store;

use super::*;

/// The number of events that the system keeps for a program that does not read them.
fn queue_length() -> usize {
    let text = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn events_that_the_system_dropped_make_the_folder_be_compared() {
    let folder = folder_with(&[("a/one.md", "A quince.\n"), ("a/x.png", "")]);
    let live = opened(folder.path());
    let state = live.complete(&|| false).unwrap();
    assert_eq!(state.progress().detection, ChangeDetection::Events);
    // Each rename is two events, and none is like the one before.
    let (one, other) = (folder.path().join("a/x.png"), folder.path().join("a/y.png"));
    for _ in 0..=queue_length() / 4 {
        fs::rename(&one, &other).unwrap();
        fs::rename(&other, &one).unwrap();
    }
    write(folder.path(), "a/one.md", "A medlar.\n");
    write(folder.path(), "b/two.md", "A plum.\n");
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    // The next events are read as before.
    write(folder.path(), "b/two.md", "A sloe.\n");
    let state = live.current(&|| false).unwrap();
    assert_eq!(state.progress().detection, ChangeDetection::Events);
    assert_fresh(&state, folder.path());
}

#[test]
fn without_enough_watches_every_call_compares_the_folder() {
    for watches in [1, 3] {
        let folder = folder_with(&[("a/one.md", "A quince.\n"), ("b/two.md", "A medlar.\n")]);
        let limits = LiveFolderLimits { watches, ..LIMITS };
        let live = open_limited(options(folder.path(), None), limits);
        let state = live.complete(&|| false).unwrap();
        let has_events = state.progress().detection == ChangeDetection::Events;
        assert_eq!(has_events, watches == 3);
        // A new folder needs a watch more than there are.
        for round in 0..3 {
            let text = format!("A plum, round{round}.\n");
            write(folder.path(), &format!("c/{round}/new.md"), &text);
            write(folder.path(), "b/two.md", &text);
            let state = live.current(&|| false).unwrap();
            assert_eq!(state.progress().detection, ChangeDetection::Listing);
            assert_fresh(&state, folder.path());
        }
    }
}

#[test]
fn a_call_that_ends_early_loses_no_change() {
    let folder = folder_with(&[("a/one.md", "A quince.\n")]);
    let live = opened(folder.path());
    live.complete(&|| false).unwrap();
    write(folder.path(), "b/two.md", "A medlar.\n");
    write(folder.path(), "a/one.md", "A plum.\n");
    let ended = live.current(&|| true).err();
    assert_eq!(ended, Some(LibraryError::Cancelled));
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
}

#[test]
fn an_index_that_does_not_grow_is_not_waited_for() {
    let folder = folder_with(&[("a/one.md", "A quince.\n")]);
    let limits = LiveFolderLimits {
        stalled: Duration::from_millis(50),
        ..LIMITS
    };
    let models = Models::built_in().unwrap();
    // Nothing happens in the background.
    let (live, _woken) =
        LiveFolder::unattended(options(folder.path(), None), models, limits).unwrap();
    let state = live.complete(&|| false).unwrap();
    assert!(!state.progress().is_complete);
    let ended = live.complete(&|| true).err();
    assert_eq!(ended, Some(LibraryError::Cancelled));
    // Nor is a call that never ends.
    let engine = live.engine.lock();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| live.complete(&|| false).err());
        assert_eq!(other.join().unwrap(), Some(LibraryError::Cancelled));
    });
    drop(engine);
}

#[test]
fn a_cache_that_another_process_holds_is_not_waited_for_forever() {
    let (folder, cache) = (fruit(), tempfile::tempdir().unwrap());
    let store = Store::make_cache_at(cache.path()).unwrap();
    let writer = store.writer().unwrap();
    let limits = LiveFolderLimits {
        cache_busy: Duration::from_millis(200),
        ..LIMITS
    };
    let live = open_limited(options(folder.path(), Some(cache.path())), limits);
    assert_fresh(&live.complete(&|| false).unwrap(), folder.path());
    assert_eq!(live.settle(&|| false), Err(LibraryError::Cancelled));
    write(folder.path(), "a/one.md", "Another quince.\n");
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    assert_eq!(live.settle(&|| false), Err(LibraryError::Cancelled));
    drop(writer);
    assert_eq!(live.settle(&|| false), Ok(()));
    drop(live);
    let (live, _) = restarted(folder.path(), cache.path());
    assert!(live.now().snapshot.manifest.is_some());
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
}

/// Opens a folder for which nothing is done in the background.
fn unattended(folder: &Path) -> (Arc<LiveFolder>, mpsc::Receiver<()>) {
    let models = Models::built_in().unwrap();
    let opened = LiveFolder::unattended(options(folder, None), models, LIMITS).unwrap();
    opened.0.set_tried();
    opened.0.complete(&|| false).unwrap();
    opened
}

#[test]
fn an_own_write_is_looked_at_once_and_changes_by_others_with_it() {
    let folder = folder_with(&[("a/one.md", "A quince.\n"), ("two.md", "A plum.\n")]);
    let (live, _woken) = unattended(folder.path());
    write(folder.path(), "a/one.md", "A medlar.\n");
    write(folder.path(), "two.md", "A sloe.\n");
    tell_written(&live, folder.path(), "a/one.md");
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    assert!(live.engine.lock().drain().is_empty());
    assert!(live.own.lock().notes.is_empty());
    assert_eq!(live.take_external_changes(), [path("two.md")]);
    // A folder that is made for a note is not a change by others.
    write(folder.path(), "b/c/new.md", "A medlar.\n");
    tell_written(&live, folder.path(), "b/c/new.md");
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    assert_eq!(live.take_external_changes(), []);
    // A change by others on top of an own one is theirs, and so is a removal.
    write(folder.path(), "b/c/new.md", "A plum.\n");
    tell_written(&live, folder.path(), "b/c/new.md");
    write(folder.path(), "b/c/new.md", "A quince.\n");
    write(folder.path(), "two.md", "A plum.\n");
    tell_written(&live, folder.path(), "two.md");
    fs::remove_file(folder.path().join("two.md")).unwrap();
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    let changed = [path("b/c/new.md"), path("two.md")];
    assert_eq!(live.take_external_changes(), changed);
}

#[test]
fn what_was_written_is_in_the_next_answer_whoever_reads_it() {
    for may_watch in [true, false] {
        let folder = folder_with(&[("a/one.md", "A quince.\n"), ("two.md", "A plum.\n")]);
        let limits = LiveFolderLimits {
            watches: if may_watch { usize::MAX } else { 0 },
            ..LIMITS
        };
        let models = Models::built_in().unwrap();
        let (live, _woken) =
            LiveFolder::unattended(options(folder.path(), None), models, limits).unwrap();
        live.set_tried();
        live.complete(&|| false).unwrap();
        // More notes than a call leaves to the background.
        for number in 0..3 * MOST_AT_ONCE {
            let name = format!("many/{number}.md");
            write(folder.path(), &name, "A medlar.\n");
            tell_written(&live, folder.path(), &name);
            assert!(live.own.lock().notes.len() <= MOST_AT_ONCE);
        }
        let state = live.current(&|| false).unwrap();
        assert_eq!(state.notes().len(), 2 + 3 * MOST_AT_ONCE);
        assert_fresh(&state, folder.path());
    }
    // Where no call comes, the background reads it.
    let folder = folder_with(&[("a/one.md", "A quince.\n")]);
    let live = opened(folder.path());
    live.complete(&|| false).unwrap();
    write(folder.path(), "a/one.md", "A medlar.\n");
    tell_written(&live, folder.path(), "a/one.md");
    for _ in 0..500 {
        if live.own.lock().notes.is_empty() {
            break;
        }
        std::thread::sleep(TICK);
    }
    // It holds the lock while it reads.
    drop(live.engine.lock());
    assert_fresh(&live.now(), folder.path());
}

#[test]
fn what_was_written_is_not_forgotten_when_it_cannot_be_read() {
    let parent = folder_with(&[("notes/one.md", "A quince.\n")]);
    let (notes, away) = (parent.path().join("notes"), parent.path().join("away"));
    let (live, _woken) = unattended(&notes);
    write(&notes, "one.md", "A medlar.\n");
    tell_written(&live, &notes, "one.md");
    fs::rename(&notes, &away).unwrap();
    let gone = live.current(&|| false).err();
    assert_eq!(gone, Some(LibraryError::FolderNotFound));
    fs::rename(&away, &notes).unwrap();
    assert_fresh(&live.current(&|| false).unwrap(), &notes);
}

#[test]
fn a_note_that_is_written_again_and_again_has_one_segment() {
    let (folder, cache) = (fruit(), tempfile::tempdir().unwrap());
    let live = LiveFolder::open(options(folder.path(), Some(cache.path()))).unwrap();
    live.settle(&|| false).unwrap();
    let in_memory = || {
        let snapshot = live.now().snapshot.clone();
        snapshot.segments.len() - snapshot.disk_segments
    };
    let names = ["a/one.md", "new.md", "a/two.md"];
    for round in 0..60 {
        let name = names[round % (round / 20 + 1)];
        write(folder.path(), name, &format!("A quince, round{round}.\n"));
        tell_written(&live, folder.path(), name);
        live.current(&|| false).unwrap();
        // The cache may have been written meanwhile.
        assert!(in_memory() <= round / 20 + 1, "{round}: {}", in_memory());
    }
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    fs::remove_file(folder.path().join("new.md")).unwrap();
    tell_written(&live, folder.path(), "new.md");
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    assert!(in_memory() <= 2);
    live.settle(&|| false).unwrap();
    assert_eq!(in_memory(), 0);
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
}

#[test]
fn details_in_a_cache_that_cannot_be_read_are_made_again() {
    let (folder, cache) = (fruit(), tempfile::tempdir().unwrap());
    wait_for_stamps();
    let make = || {
        let (live, is_cached) = restarted(folder.path(), cache.path());
        live.settle(&|| false).unwrap();
        assert_fresh(&live.current(&|| false).unwrap(), folder.path());
        is_cached
    };
    make();
    assert!(make());
    let store = Store::make_cache_at(cache.path()).unwrap();
    let records = store.records().unwrap().as_ref().to_vec();
    // The details of the last note are at the end. Each byte claims to be followed by another one of its number.
    for back in 1..=24 {
        let mut bent = records.clone();
        let at = bent.len() - back;
        bent[at] |= 0x80;
        if decode_records(&bent).is_ok() {
            continue;
        }
        store.writer().unwrap().write_records(&bent).unwrap();
        assert!(!make(), "{back} from the end");
        assert!(make(), "{back} from the end");
    }
}
