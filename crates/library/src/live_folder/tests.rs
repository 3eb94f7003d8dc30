//! A folder is searched as it is now, no matter which program changed it.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use proptest::prelude::*;
use tempfile::TempDir;

use crate::{clock, live_folder::*, testing::SecondTierModel};

mod explanation;
mod hazards;
mod turns;

const LARGEST: u64 = 10_000;

fn options(folder: &Path, cache: Option<&Path>) -> LiveFolderOptions {
    LiveFolderOptions {
        location: folder.to_owned(),
        walk: Walk::default(),
        cut: crate::manual_page::NoteCut::Notes,
        max_note_bytes: LARGEST,
        cache: cache.map(Path::to_owned),
        shared_vectors: None,
        clock: clock::now,
        second_tier: SecondTierUse::Read,
    }
}

fn opened(folder: &Path) -> Arc<LiveFolder> {
    LiveFolder::open(options(folder, None)).unwrap()
}

fn open_with(options: LiveFolderOptions, may_watch: bool) -> Arc<LiveFolder> {
    let limits = LiveFolderLimits {
        watches: if may_watch { usize::MAX } else { 0 },
        ..LIMITS
    };
    open_limited(options, limits)
}

fn open_limited(options: LiveFolderOptions, limits: LiveFolderLimits) -> Arc<LiveFolder> {
    LiveFolder::open_with(options, Models::built_in().unwrap(), limits).unwrap()
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

fn folder_with(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Tells the index that this process wrote the note at `name`, or removed it.
fn tell_written(live: &LiveFolder, folder: &Path, name: &str) {
    let bytes = fs::read(folder.join(name)).ok();
    let note = WrittenNote {
        path: path(name),
        digest: bytes.map(|bytes| Digest::of(&bytes)),
    };
    live.written([note]).unwrap();
}

fn hits(state: &FolderState, query: &str) -> Vec<(String, sectile_markdown::Span, u64)> {
    let query = FolderQuery::parse(query, 0, &|_| false).unwrap();
    let hits = state.search(&query, 0..100, &|| false).unwrap().hits;
    let hits = hits.into_iter();
    hits.map(|hit| (hit.path.to_string(), hit.span, hit.score))
        .collect()
}

fn found(state: &FolderState, query: &str) -> Vec<String> {
    let hits = hits(state, query).into_iter();
    hits.map(|(path, ..)| path).collect()
}

/// Checks that a state is the same as one that is made now.
fn assert_fresh(state: &FolderState, folder: &Path) {
    let fresh = opened(folder).complete(&|| false).unwrap();
    assert_eq!(state.notes(), fresh.notes());
    assert_eq!(state.other_files(), fresh.other_files());
    assert_eq!(state.folders(), fresh.folders());
    for query in ["quince", "medlar", "plum sloe", "a note about quinces"] {
        assert_eq!(hits(state, query), hits(&fresh, query), "{query}");
    }
    for note in state.notes() {
        let (links, fresh) = (state.links(), fresh.links());
        let edges = |links: &LinkGraph| (links.out_of(&note.path), links.into(&note.path));
        assert_eq!(edges(&links), edges(&fresh), "{}", note.path);
    }
    for name in ["one", "Two", "five", "a/b", "fruit"] {
        let (now, then) = (state.names().resolve(name), fresh.names().resolve(name));
        assert_eq!(now, then, "{name}");
    }
    for query in [
        "tag:plum",
        "tag:fruit quince",
        "is:task",
        "path:a/",
        "-tag:plum sort:modified",
    ] {
        assert_eq!(hits(state, query), hits(&fresh, query), "{query}");
    }
    let (now, then) = (state.progress(), fresh.progress());
    assert_eq!((now.indexed, now.left_out), (then.indexed, then.left_out));
}

#[test]
fn edits_are_seen_by_the_next_call() {
    let folder = folder_with(&[
        ("a/one.md", "# One\n\nA quince.\n"),
        ("two.markdown", "# Two\n\nA medlar.\n"),
        ("picture.png", ""),
    ]);
    let live = opened(folder.path());
    let state = live.complete(&|| false).unwrap();
    assert_eq!(found(&state, "quince"), ["a/one.md"]);
    assert_eq!(found(&state, "medlar"), ["two.markdown"]);
    assert_eq!(found(&state, ""), ["a/one.md", "two.markdown"]);
    assert_eq!(state.other_files(), [path("picture.png")]);
    assert_eq!(state.folders(), [path("a")]);
    assert!(live.take_external_changes().is_empty());
    write(folder.path(), "a/one.md", "# One\n\nA plum.\n");
    let state = live.current(&|| false).unwrap();
    assert!(found(&state, "quince").is_empty());
    assert_eq!(found(&state, "plum"), ["a/one.md"]);
    assert_eq!(live.take_external_changes(), [path("a/one.md")]);
    write(folder.path(), "a/one.md", "# One\n\nA sloe.\n");
    tell_written(&live, folder.path(), "a/one.md");
    let state = live.current(&|| false).unwrap();
    assert_eq!(found(&state, "sloe"), ["a/one.md"]);
    assert!(live.take_external_changes().is_empty());
    assert_eq!(state.progress().detection, ChangeDetection::Events);
}

#[test]
fn an_edit_that_changes_neither_length_nor_time_is_seen() {
    let folder = folder_with(&[("one.md", "A quince.\n")]);
    let file = folder.path().join("one.md");
    for may_watch in [true, false] {
        fs::write(&file, "A quince.\n").unwrap();
        let live = open_with(options(folder.path(), None), may_watch);
        let state = live.complete(&|| false).unwrap();
        assert_eq!(found(&state, "quince"), ["one.md"]);
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, "A medlar.\n").unwrap();
        let opened = fs::File::options().write(true).open(&file).unwrap();
        opened.set_modified(time).unwrap();
        let state = live.current(&|| false).unwrap();
        assert_eq!(found(&state, "medlar"), ["one.md"]);
        assert!(found(&state, "quince").is_empty());
    }
}

#[test]
fn folders_that_come_go_and_move_are_followed() {
    let folder = folder_with(&[("a/b/one.md", "A quince.\n"), ("a/two.md", "A plum.\n")]);
    let live = opened(folder.path());
    live.complete(&|| false).unwrap();
    let at = |name: &str| folder.path().join(name);
    let same = || assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    fs::rename(at("a"), at("c")).unwrap();
    same();
    // The moved folder is watched where it is now, and so is one below it.
    write(folder.path(), "c/b/one.md", "A medlar.\n");
    same();
    fs::rename(at("c/b"), at("b")).unwrap();
    write(folder.path(), "b/three.md", "A sloe.\n");
    write(folder.path(), "c/b/one.md", "Another quince.\n");
    same();
    fs::create_dir_all(at("x/y/z")).unwrap();
    write(folder.path(), "x/y/z/deep.md", "A medlar.\n");
    same();
    write(folder.path(), "x/y/z/deep.md", "A deep plum.\n");
    same();
    fs::remove_dir_all(at("x")).unwrap();
    same();
    // A file in the place of a folder, and a folder in the place of a file.
    fs::remove_dir_all(at("b")).unwrap();
    write(folder.path(), "b", "not Markdown");
    same();
    fs::remove_file(at("b")).unwrap();
    write(folder.path(), "b/four.md", "A quince.\n");
    same();
    fs::remove_file(at("c/two.md")).unwrap();
    write(folder.path(), "c/two.md/five.md", "A medlar.\n");
    same();
    symlink(at("c"), at("linked")).unwrap();
    same();
}

#[test]
fn an_ignore_file_changes_what_counts() {
    let folder = folder_with(&[("a/one.md", "A quince.\n"), ("b/two.md", "A plum.\n")]);
    let live = opened(folder.path());
    live.complete(&|| false).unwrap();
    write(folder.path(), ".gitignore", "a/\n");
    let state = live.current(&|| false).unwrap();
    assert_eq!(found(&state, ""), ["b/two.md"]);
    assert_fresh(&state, folder.path());
    write(folder.path(), "a/one.md", "A medlar.\n");
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    fs::remove_file(folder.path().join(".gitignore")).unwrap();
    let state = live.current(&|| false).unwrap();
    assert_eq!(found(&state, "medlar"), ["a/one.md"]);
    assert_fresh(&state, folder.path());
}

#[test]
fn a_folder_that_disappears_is_reported_until_it_is_back() {
    let parent = folder_with(&[("notes/one.md", "A quince.\n")]);
    let (notes, away) = (parent.path().join("notes"), parent.path().join("away"));
    let live = opened(&notes);
    live.complete(&|| false).unwrap();
    fs::rename(&notes, &away).unwrap();
    for _ in 0..2 {
        let gone = live.current(&|| false).err();
        assert_eq!(gone, Some(LibraryError::FolderNotFound));
    }
    write(&away, "two.md", "A medlar.\n");
    fs::rename(&away, &notes).unwrap();
    assert_fresh(&live.current(&|| false).unwrap(), &notes);
    // Another folder in its place is watched like the first.
    fs::rename(&notes, &away).unwrap();
    write(&notes, "three.md", "A plum.\n");
    assert_fresh(&live.current(&|| false).unwrap(), &notes);
    write(&notes, "three.md", "A sloe.\n");
    assert_fresh(&live.current(&|| false).unwrap(), &notes);
}

#[test]
fn a_note_that_is_too_large_or_unreadable_is_listed_and_said() {
    let folder = folder_with(&[("one.md", "A quince.\n"), ("locked.md", "A plum.\n")]);
    let large = "quince ".repeat(2_000);
    write(folder.path(), "large.md", &large);
    let lock = |mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path().join("locked.md"), mode).unwrap();
    };
    lock(0o000);
    // Nothing is locked for the superuser.
    let is_locked = fs::read(folder.path().join("locked.md")).is_err();
    let live = opened(folder.path());
    let state = live.complete(&|| false).unwrap();
    assert_eq!(state.notes().len(), 3);
    assert_eq!(state.progress().left_out, 1 + usize::from(is_locked));
    assert_eq!(found(&state, "quince"), ["one.md"]);
    lock(0o600);
    let state = live.current(&|| false).unwrap();
    assert_eq!(found(&state, "plum"), ["locked.md"]);
    write(folder.path(), "large.md", "A small quince.\n");
    let state = live.current(&|| false).unwrap();
    assert_eq!(found(&state, "small"), ["large.md"]);
    assert_eq!(state.progress().left_out, 0);
    write(folder.path(), "one.md", &large);
    let state = live.current(&|| false).unwrap();
    assert_eq!(state.progress().left_out, 1);
    assert_eq!(found(&state, "quince"), ["large.md"]);
}

#[test]
fn words_filters_phrases_and_tasks_together() {
    let folder = folder_with(&[
        (
            "a/one.md",
            "---\ntags: [fruit]\n---\n# Orchard\n\nThe **winter** feed of the quince.\n",
        ),
        (
            "a/two.md",
            "# Cellar\n\nFeed in winter: quince.\n\n## To do\n\n- [ ] store the quince\n- [x] buy\n",
        ),
        (
            "b/three.md",
            "# Winter feed\n\nNothing but hay.\n\n- [ ] order hay\n",
        ),
    ]);
    let state = opened(folder.path()).complete(&|| false).unwrap();
    let paths = |query| {
        let mut found = found(&state, query);
        found.dedup();
        found
    };
    assert_eq!(paths("tag:fruit quince"), ["a/one.md"]);
    assert_eq!(paths("path:b/ quince"), [""; 0]);
    // In the text, with marks between the words, or in a heading; the words alone are not enough.
    let mut exact = paths("\"winter feed\"");
    exact.sort();
    assert_eq!(exact, ["a/one.md", "b/three.md"]);
    assert_eq!(paths("path:a/ \"winter feed\""), ["a/one.md"]);
    let text = |query: &str| -> Vec<String> {
        let query = FolderQuery::parse(query, 0, &|_| false).unwrap();
        let hits = state.search(&query, 0..10, &|| false).unwrap();
        assert_eq!(hits.total, hits.hits.len());
        let hits = hits.hits.iter().map(|hit| {
            let bytes = fs::read(folder.path().join(hit.path.as_str())).unwrap();
            let text = String::from_utf8_lossy(&bytes[hit.span.range()]).into_owned();
            format!("{}: {}", hit.heading_path.join("/"), text.trim_end())
        });
        hits.collect()
    };
    let hay = "three/Winter feed: - [ ] order hay";
    let quince = "two/Cellar/To do: - [ ] store the quince";
    assert_eq!(text("is:task"), [quince, hay]);
    assert_eq!(text("is:done"), ["two/Cellar/To do: - [x] buy"]);
    assert_eq!(text("is:task hay"), [hay]);
    let query = FolderQuery::parse("winter", 0, &|_| false).unwrap();
    let all = state.search(&query, 0..10, &|| false).unwrap();
    let some = state.search(&query, 1..2, &|| false).unwrap();
    assert_eq!((some.total, &some.hits[..]), (all.total, &all.hits[1..2]));
}

#[test]
fn a_task_is_found_by_its_own_words() {
    let todo = "# Harbour\n\n- [ ] paint the quay\n- [ ] buy ropes\n  - 40 metres, hemp\n\n  - [x] order paints\n\
                - [ ] oil\n\n> - [ ] quoted\n>   with hemp\n";
    let folder = folder_with(&[("todo.md", todo), ("other.md", "Paint, ropes and hemp.\n")]);
    let state = opened(folder.path()).complete(&|| false).unwrap();
    let tasks = |query: &str| -> Vec<&str> {
        let query = FolderQuery::parse(query, 0, &|_| false).unwrap();
        let found = state.search(&query, 0..10, &|| false).unwrap();
        assert_eq!(found.total, found.hits.len());
        let hits = found.hits.iter();
        hits.map(|hit| todo[hit.span.range()].trim_end()).collect()
    };
    let (paint, ropes, quoted) = ["paint the quay", "buy ropes", "quoted"]
        .map(|task| format!("- [ ] {task}"))
        .into();
    assert_eq!(tasks("is:task ropes"), [ropes.as_str()]);
    // Other forms and corrected spellings, too.
    assert_eq!(tasks("is:task painting"), [paint.as_str(), ropes.as_str()]);
    assert_eq!(tasks("is:done painting"), ["- [x] order paints"]);
    assert_eq!(tasks("is:task roppes"), [ropes.as_str()]);
    // Text below a task is part of it; a heading is not.
    assert_eq!(tasks("is:task hemp"), [ropes.as_str(), quoted.as_str()]);
    assert_eq!(tasks("is:task harbour"), [""; 0]);
    assert_eq!(tasks("is:task \"40 metres\""), [ropes.as_str()]);
    assert_eq!(tasks("is:task \"ropes 40\""), [""; 0]);
}

#[test]
fn the_most_frequent_words_of_a_long_question_are_left_out() {
    let every = "common everywhere usual ";
    let folder = folder_with(&[
        ("one.md", &format!("{every} quince\n")),
        ("two.md", &format!("{every} medlar\n")),
        ("three.md", every),
    ]);
    let state = opened(folder.path()).complete(&|| false).unwrap();
    let many: Vec<String> = (0..31)
        .map(|number| format!("z{}", "q".repeat(number)))
        .collect();
    let question = format!("{every} {} quince medlar", many.join(" "));
    let query = FolderQuery::parse(&question, 0, &|_| false).unwrap();
    let found = state.search(&query, 0..10, &|| false).unwrap();
    let paths: Vec<&str> = found.hits.iter().map(|hit| hit.path.as_str()).collect();
    // Those that are in every note cost most, but say more than those that are in none.
    assert_eq!(found.dropped_words, many[27..]);
    assert_eq!(paths.len(), 3);
    assert!(
        paths[..2].contains(&"one.md") && paths[..2].contains(&"two.md"),
        "{paths:?}"
    );
    let rare: String = (0..40)
        .map(|number| format!("z{} ", "w".repeat(number)))
        .collect();
    std::fs::write(folder.path().join("four.md"), &rare).unwrap();
    let query = FolderQuery::parse(&format!("{every} {rare}"), 0, &|_| false).unwrap();
    let state = opened(folder.path()).complete(&|| false).unwrap();
    let found = state.search(&query, 0..10, &|| false).unwrap();
    assert_eq!(found.dropped_words[..3], ["common", "everywhere", "usual"]);
    assert_eq!(found.dropped_words.len(), 43 - 32);
}

#[test]
fn words_that_are_too_long_find_nothing() {
    let folder = folder_with(&[("one.md", "A quince.\n")]);
    let state = opened(folder.path()).complete(&|| false).unwrap();
    for query in ["x".repeat(200_000), format!("\"{}\"", "x".repeat(5_000))] {
        let query = FolderQuery::parse(&query, 0, &|_| false).unwrap();
        assert!(query.is_unsearchable());
        let found = state.search(&query, 0..10, &|| false).unwrap();
        assert_eq!((found.total, found.dropped_words.len()), (0, 1));
    }
    assert_eq!(found(&state, "sort:modified"), ["one.md"]);
}

#[test]
fn a_phrase_is_counted_where_its_words_are_side_by_side() {
    let apart = (0..50).map(|n| (format!("{n}.md"), "Winter is here, and feed too.\n"));
    let mut files: Vec<(String, &str)> = apart.collect();
    files.push(("here.md".to_owned(), "The winter feed.\n"));
    files.push(("near.md".to_owned(), "The midwinter feeding.\n"));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    let folder = folder_with(&files);
    let state = opened(folder.path()).complete(&|| false).unwrap();
    let query = FolderQuery::parse("\"winter feed\"", 0, &|_| false).unwrap();
    // Even if there is room for one hit only, the total does not count the notes that have the words apart.
    for most in [1, 100] {
        let found = state.search(&query, 0..most, &|| false).unwrap();
        assert_eq!((found.total, found.hits.len()), (1, 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Positions in the index decide as reading every file would.
    #[test]
    fn phrases_are_found_as_in_the_files(
        bodies in proptest::collection::vec("([abc](, | |\n| \\*| 漢字|\\. )){0,8}", 1..12),
        phrase in "[abc]( [abc]){0,2}|[ab] 漢字|字|[ab], [ab]|漢字",
    ) {
        let names: Vec<String> = (0..bodies.len()).map(|n| format!("n{n}.md")).collect();
        let files = names.iter().zip(&bodies).map(|(name, text)| (name.as_str(), text.as_str()));
        let files: Vec<(&str, &str)> = files.collect();
        let folder = folder_with(&files);
        let state = opened(folder.path()).complete(&|| false).unwrap();
        let quoted = format!("\"{phrase}\"");
        let query = FolderQuery::parse(&quoted, 0, &|_| false).unwrap();
        let has_phrase = |(name, text): &(&str, &str)| {
            let cut = crate::indexing::CutNotebook::new(text.as_bytes(), &path(name));
            cut.chunks.chunks.iter().any(|chunk| {
                query.has_phrases(&text[chunk.span.range()]) || query.has_phrases(&chunk.plain)
            })
        };
        let expected = files.iter().filter(|file| has_phrase(file));
        let mut expected: Vec<&str> = expected.map(|(name, _)| *name).collect();
        expected.sort_unstable();
        let mut found = found(&state, &quoted);
        found.sort_unstable();
        found.dedup();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn many_notes_are_indexed_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..700 {
        let text = format!("# Note {number}\n\nA quince, number{number}.\n");
        write(folder.path(), &format!("{}/{number}.md", number % 7), &text);
    }
    let live = opened(folder.path());
    let state = live.complete(&|| false).unwrap();
    let progress = state.progress();
    assert!(progress.is_complete);
    assert_eq!((progress.indexed, progress.total), (700, 700));
    assert!(live.take_external_changes().is_empty());
    for number in 0..300 {
        let text = format!("# Note {number}\n\nA medlar, number{number}.\n");
        write(folder.path(), &format!("{}/{number}.md", number % 7), &text);
    }
    let state = live.complete(&|| false).unwrap();
    assert_eq!(live.take_external_changes().len(), 300);
    assert_fresh(&state, folder.path());
}

/// Returns the state after a restart, and whether all of it came from the cache.
fn restarted(folder: &Path, cache: &Path) -> (Arc<LiveFolder>, bool) {
    let live = LiveFolder::open(options(folder, Some(cache))).unwrap();
    let state = live.complete(&|| false).unwrap();
    let is_cached = state.snapshot.manifest.is_some() && live.engine.lock().uncached.is_none();
    (live, is_cached)
}

fn fruit() -> TempDir {
    folder_with(&[
        ("a/one.md", "# One\n\nA quince. [[two]]\n"),
        (
            "a/two.md",
            "---\ntags: [plum]\n---\n# Two\n\nA medlar.\n\n- [ ] a sloe\n",
        ),
        ("picture.png", ""),
    ])
}

/// Waits until the stamps of all files can be relied on, so that nothing has to be read again.
fn wait_for_stamps() {
    std::thread::sleep(Duration::from_millis(250));
}

#[test]
fn a_folder_is_opened_from_its_cache_and_what_changed_meanwhile_is_seen() {
    let (folder, cache) = (fruit(), tempfile::tempdir().unwrap());
    let cache = cache.path().join("of/this");
    wait_for_stamps();
    let (live, is_cached) = restarted(folder.path(), &cache);
    assert!(!is_cached);
    live.settle(&|| false).unwrap();
    drop(live);
    let (live, is_cached) = restarted(folder.path(), &cache);
    assert!(is_cached);
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    // An edit is added to the cache as well.
    write(folder.path(), "a/three.md", "A plum.\n");
    live.current(&|| false).unwrap();
    wait_for_stamps();
    write(folder.path(), "a/one.md", "Another quince.\n");
    wait_for_stamps();
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    live.settle(&|| false).unwrap();
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    assert_eq!(
        live.now().snapshot.segments.len(),
        live.now().snapshot.disk_segments
    );
    drop(live);
    let (live, _) = restarted(folder.path(), &cache);
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    drop(live);
    write(folder.path(), "a/two.md", "A sloe.\n");
    fs::remove_file(folder.path().join("a/one.md")).unwrap();
    let (live, is_cached) = restarted(folder.path(), &cache);
    assert!(!is_cached);
    assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    let listed = CacheFolder::new(cache.parent().unwrap()).list().unwrap();
    let location = folder.path().canonicalize().unwrap();
    assert_eq!(listed[0].label, location.to_str().unwrap());
}

#[test]
fn a_damaged_cache_is_made_again() {
    let (folder, cache) = (fruit(), tempfile::tempdir().unwrap());
    let make = || {
        let (live, _) = restarted(folder.path(), cache.path());
        live.settle(&|| false).unwrap();
        assert_fresh(&live.current(&|| false).unwrap(), folder.path());
    };
    make();
    let files = fs::read_dir(cache.path()).unwrap();
    let files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4);
    for file in files {
        let bytes = fs::read(&file).unwrap();
        for at in [0, bytes.len() / 2, bytes.len().saturating_sub(1)] {
            let mut damaged = bytes.clone();
            if let Some(byte) = damaged.get_mut(at) {
                *byte ^= 0x55;
            }
            // It may have been replaced by a segment of another name.
            fs::write(&file, damaged).unwrap();
            make();
        }
        fs::write(&file, b"").unwrap();
        make();
        fs::remove_file(&file).unwrap_or_default();
        make();
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_said_and_not_missed() {
    let folder = fruit();
    let occupied = folder.path().join("picture.png");
    let live = LiveFolder::open(options(folder.path(), Some(&occupied))).unwrap();
    let state = live.complete(&|| false).unwrap();
    let reason = |state: &FolderState| state.progress().in_memory_reason;
    assert_eq!(reason(&state), Some(InMemoryReason::Unwritable));
    assert_fresh(&state, folder.path());
    live.settle(&|| false).unwrap();
    let live = opened(folder.path());
    let state = live.complete(&|| false).unwrap();
    assert_eq!(reason(&state), Some(InMemoryReason::NotWanted));
}

#[test]
fn several_processes_share_one_cache() {
    let (folder, cache) = (fruit(), tempfile::tempdir().unwrap());
    let (one, _) = restarted(folder.path(), cache.path());
    let (other, _) = restarted(folder.path(), cache.path());
    for round in 0..4 {
        write(
            folder.path(),
            &format!("{round}.md"),
            &format!("A quince, round{round}.\n"),
        );
        one.current(&|| false).unwrap();
        one.settle(&|| false).unwrap();
        write(
            folder.path(),
            "a/two.md",
            &format!("A medlar, round{round}.\n"),
        );
        other.current(&|| false).unwrap();
        other.settle(&|| false).unwrap();
        for live in [&one, &other] {
            assert_fresh(&live.current(&|| false).unwrap(), folder.path());
        }
    }
    let (third, _) = restarted(folder.path(), cache.path());
    assert_fresh(&third.current(&|| false).unwrap(), folder.path());
}

#[test]
fn the_second_tier_is_filled_in_the_background_and_answers_when_it_is_complete() {
    let (folder, cache) = (fruit(), tempfile::tempdir().unwrap());
    let model = SecondTierModel::new("live");
    let models = Models {
        second: Some(model),
        ..Models::built_in().unwrap()
    };
    let open = |second_tier| {
        let options = LiveFolderOptions {
            second_tier,
            ..options(folder.path(), Some(cache.path()))
        };
        LiveFolder::open_with(options, models, LIMITS).unwrap()
    };
    let wait_for = |live: &LiveFolder, tier| {
        for _ in 0..2_000 {
            if live.now().progress().tier == tier {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the second tier is never complete");
    };
    let live = open(SecondTierUse::Read);
    live.settle(&|| false).unwrap();
    assert_eq!(
        (live.now().progress().tier, model.embedded()),
        (Tier::Static, 0)
    );
    drop(live);
    let live = open(SecondTierUse::Filled);
    wait_for(&live, Tier::Transformer);
    assert_eq!(model.embedded(), 2);
    assert_eq!(
        found(&live.current(&|| false).unwrap(), "medlar")[0],
        "a/two.md"
    );
    // After an edit the first tier answers, until the few new passages are embedded too.
    write(folder.path(), "a/three.md", "A plum.\n");
    let state = live.current(&|| false).unwrap();
    assert_eq!(state.progress().tier, Tier::Static);
    assert_eq!(found(&state, "plum")[0], "a/three.md");
    drop(state);
    wait_for(&live, Tier::Transformer);
    assert_eq!(model.embedded(), 1);
    drop(live);
    // Another process has it at once.
    let live = open(SecondTierUse::Read);
    wait_for(&live, Tier::Transformer);
    assert_eq!(model.embedded(), 0);
}

/// A change of a folder.
#[derive(Clone, Debug)]
enum FolderEdit {
    Write(usize, usize),
    /// As this program does it.
    Save(usize, usize),
    /// To a new file that takes the place of the old one.
    Replace(usize, usize),
    Remove(usize),
    Move(usize, usize),
    MoveFolder(usize, usize),
    Ignore(usize),
    Touch(usize),
    Look,
}

const NAMES: [&str; 7] = [
    "one.md",
    "a/two.md",
    "a/b/three.md",
    "b/four.markdown",
    "b/one.md",
    "a/picture.png",
    "c d/five.md",
];
const FOLDERS: [&str; 5] = ["a", "b", "a/b", "c d", "e"];
const TEXTS: [&str; 6] = [
    "# One\n\nA quince.\n",
    "A medlar and a quince.\n\n# Two\n\nA plum.\n",
    "---\ntags: [plum]\n---\n# Sloe\n\n- [ ] a sloe #fruit\n",
    "",
    "# Links\n\n[[one]] and [two](a/two.md).\n",
    "\u{fe}\u{ff} not quite text \0\n",
];
const RULES: [&str; 3] = ["", "b/\n", "*.md\n!one.md\n"];

fn edit() -> impl Strategy<Value = FolderEdit> {
    let name = || 0..NAMES.len();
    prop_oneof![
        3 => (name(), 0..TEXTS.len()).prop_map(|(name, text)| FolderEdit::Write(name, text)),
        3 => (name(), 0..TEXTS.len()).prop_map(|(name, text)| FolderEdit::Save(name, text)),
        2 => (name(), 0..TEXTS.len()).prop_map(|(name, text)| FolderEdit::Replace(name, text)),
        2 => name().prop_map(FolderEdit::Remove),
        2 => (name(), name()).prop_map(|(from, to)| FolderEdit::Move(from, to)),
        2 => (0..FOLDERS.len(), 0..FOLDERS.len())
            .prop_map(|(from, to)| FolderEdit::MoveFolder(from, to)),
        1 => (0..RULES.len()).prop_map(FolderEdit::Ignore),
        1 => name().prop_map(FolderEdit::Touch),
        3 => Just(FolderEdit::Look),
    ]
}

/// Makes a change, as far as it can be made.
fn make(live: &LiveFolder, folder: &Path, edit: &FolderEdit) {
    let at = |name: &str| folder.join(name);
    let make_room = |name: &str| fs::create_dir_all(at(name).parent().unwrap()).is_ok();
    let done = match edit {
        FolderEdit::Write(name, text) => {
            make_room(NAMES[*name]) && fs::write(at(NAMES[*name]), TEXTS[*text]).is_ok()
        }
        FolderEdit::Save(name, text) => {
            let is_written =
                make_room(NAMES[*name]) && fs::write(at(NAMES[*name]), TEXTS[*text]).is_ok();
            tell_written(live, folder, NAMES[*name]);
            is_written
        }
        FolderEdit::Replace(name, text) => {
            make_room(NAMES[*name])
                && fs::write(at(".new"), TEXTS[*text]).is_ok()
                && fs::rename(at(".new"), at(NAMES[*name])).is_ok()
        }
        FolderEdit::Remove(name) => fs::remove_file(at(NAMES[*name])).is_ok(),
        FolderEdit::Move(from, to) => {
            make_room(NAMES[*to]) && fs::rename(at(NAMES[*from]), at(NAMES[*to])).is_ok()
        }
        FolderEdit::MoveFolder(from, to) => {
            fs::rename(at(FOLDERS[*from]), at(FOLDERS[*to])).is_ok()
        }
        FolderEdit::Ignore(rules) => fs::write(at(".gitignore"), RULES[*rules]).is_ok(),
        FolderEdit::Touch(name) => fs::File::options()
            .append(true)
            .open(at(NAMES[*name]))
            .is_ok_and(|file| file.set_modified(std::time::SystemTime::now()).is_ok()),
        FolderEdit::Look => {
            let state = live.current(&|| false).unwrap();
            // From now on they are brought up to date.
            let _asked = (state.links(), state.names(), state.facets());
            true
        }
    };
    // Some edits cannot be made, such as moving a folder into itself.
    let _is_made = done;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_a_folder_its_state_is_that_of_a_new_index(
        edits in prop::collection::vec(edit(), 1..30),
        may_watch in any::<bool>(),
        has_cache in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let cache = tempfile::tempdir().unwrap();
        let cache = has_cache.then_some(cache.path());
        let mut texts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let live = open_with(options(folder.path(), cache), may_watch);
        live.complete(&|| false).unwrap();
        for edit in &edits {
            make(&live, folder.path(), edit);
        }
        let state = live.current(&|| false).unwrap();
        // A model of its own: what is on disk now.
        for name in NAMES {
            if let Ok(bytes) = fs::read(folder.path().join(name)) {
                texts.insert(name.to_owned(), bytes);
            }
        }
        for note in state.notes() {
            let bytes = fs::read(folder.path().join(note.path.as_str())).unwrap();
            prop_assert_eq!(note.digest, sectile_markdown::Digest::of(&bytes));
        }
        if fs::read(folder.path().join(".gitignore")).unwrap_or_default().is_empty() {
            let notes = texts.keys().filter(|name| !name.ends_with(".png"));
            for name in notes {
                prop_assert!(state.note(&path(name)).is_some(), "{}", name);
            }
        }
        assert_fresh(&state, folder.path());
        // And again from the cache, if there is one.
        drop((state, live));
        let live = open_with(options(folder.path(), cache), may_watch);
        assert_fresh(&live.complete(&|| false).unwrap(), folder.path());
    }
}
