//! Journals that were damaged, truncated, swapped or removed. Documents can be read and edited, nothing panics, no id
//! comes to name another section, and what is left of the journal stays.

use super::*;

const JOURNAL: &str = ".sectile/journal";

/// A folder with a history: edits, an undo, an outside edit, two documents.
fn with_history() -> (TempDir, Vec<String>) {
    let folder = scratch();
    Scenario::UndoBatch.prepare(folder.path());
    let editor = open(folder.path());
    take_back(&editor, &undo("a.md", false)).unwrap();
    let text = fs::read_to_string(folder.path().join("a.md")).unwrap();
    fs::write(folder.path().join("a.md"), format!("{text}\n# Outside\n")).unwrap();
    write(&editor, vec![insert("a.md", "Ours", 0)]).unwrap();
    let ids = all_ids(&editor, folder.path());
    (folder, ids)
}

fn all_ids(editor: &Editor, folder: &Path) -> Vec<String> {
    let all = documents(folder);
    let views = all.keys().map(|path| editor.view(&note(path)).unwrap());
    views.flat_map(|view| view.ids().to_vec()).collect()
}

fn journal(folder: &Path) -> Vec<u8> {
    fs::read(folder.join(JOURNAL)).unwrap()
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0)
        .chain(ends.map(|(at, _)| at + 1))
        .collect()
}

/// Works on a folder whose journal was tampered with, as a new process would. `given_out` are ids that clients may
/// remember.
fn work_on(folder: &Path, given_out: &[String], what: &str) -> Editor {
    let texts = documents(folder);
    let editor = open(folder);
    let mut headings = BTreeMap::new();
    for (path, bytes) in &texts {
        let view = editor.view(&note(path));
        let view = view.unwrap_or_else(|error| panic!("{what}: {path}: {error:?}"));
        assert_eq!(view.bytes(), bytes, "{what}");
        for section in view.sections() {
            headings.insert(section.id, section.heading);
        }
    }
    for id in given_out {
        // The readable part of an id is the heading that it was given for.
        let slug = id.rsplit_once('-').unwrap().0;
        if let Some(heading) = headings.get(id) {
            assert_eq!(sectile_markdown::slug(heading), slug, "{what}: {id}");
        }
    }
    let before = fs::read(folder.join("a.md")).unwrap();
    let report = write(&editor, vec![insert("a.md", "After", 0)]);
    let report = report.unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let made = report.steps[0].section.clone().unwrap().id;
    assert!(!given_out.contains(&made), "{what}: {made} is used again");
    take_back(&editor, &undo("a.md", false)).unwrap();
    assert_eq!(fs::read(folder.join("a.md")).unwrap(), before, "{what}");
    take_back(&editor, &undo("a.md", true)).unwrap();
    assert_eq!(
        open(folder).view(&note("a.md")).unwrap().ids()[0],
        made,
        "{what}"
    );
    editor
}

#[test]
fn flipped_bytes_are_reported_skipped_and_left_alone() {
    let (folder, ids) = with_history();
    let sound = journal(folder.path());
    let last_line = *line_starts(&sound).iter().rev().nth(1).unwrap();
    // Every line is hit in its checksum, its names and its texts.
    for at in (0..last_line).step_by(41) {
        let copy = scratch();
        copy_folder(folder.path(), copy.path());
        let mut damaged = sound.clone();
        damaged[at] ^= if at % 2 == 0 { 0x01 } else { 0x80 };
        fs::write(copy.path().join(JOURNAL), &damaged).unwrap();
        let what = format!("byte {at}");
        let editor = work_on(copy.path(), &ids, &what);
        assert!(!editor.damage().is_empty(), "{what}");
        assert!(journal(copy.path()).starts_with(&damaged), "{what}");
    }
}

#[test]
fn a_torn_tail_is_cut_and_never_guessed() {
    let (folder, ids) = with_history();
    let sound = journal(folder.path());
    let starts = line_starts(&sound);
    let [.., intent, commit, _] = starts[..] else {
        panic!("a short journal")
    };
    // Every byte of the last line, and every ninth of the one before.
    for end in (intent..commit).step_by(9).chain(commit..sound.len()) {
        let copy = scratch();
        copy_folder(folder.path(), copy.path());
        fs::write(copy.path().join(JOURNAL), &sound[..end]).unwrap();
        let what = format!("cut at {end}");
        // Ids of the truncated entry were never given to anyone, because it was not complete.
        let known: &[String] = if end >= commit { &ids } else { &[] };
        let editor = work_on(copy.path(), known, &what);
        assert!(editor.damage().is_empty(), "{what}");
        let complete = starts.iter().rev().find(|start| **start <= end).unwrap();
        let now = journal(copy.path());
        assert!(now.starts_with(&sound[..*complete]), "{what}");
        assert!(now.ends_with(b"\n"), "{what}");
    }
}

#[test]
fn garbage_and_zeros_at_the_end_do_no_harm() {
    let (folder, ids) = with_history();
    let sound = journal(folder.path());
    for (garbage, is_line) in [
        (b"garbage".to_vec(), false),
        (b"garbage\n".to_vec(), true),
        (b"\n".to_vec(), true),
        (vec![0; 5_000], false),
        ([vec![0; 5_000], b"\n".to_vec()].concat(), true),
        (b"0123456789abcdef {}\n".to_vec(), true),
        (b"\xff\xfe\r\n\r\n".to_vec(), true),
    ] {
        let copy = scratch();
        copy_folder(folder.path(), copy.path());
        let damaged = [sound.clone(), garbage.clone()].concat();
        fs::write(copy.path().join(JOURNAL), &damaged).unwrap();
        let what = format!("{} bytes of garbage", garbage.len());
        let editor = work_on(copy.path(), &ids, &what);
        assert_eq!(!editor.damage().is_empty(), is_line, "{what}");
        let kept = if is_line { &damaged } else { &sound };
        assert!(journal(copy.path()).starts_with(kept), "{what}");
    }
}

#[test]
fn lines_that_are_missing_are_noticed() {
    let (folder, ids) = with_history();
    let sound = journal(folder.path());
    let starts = line_starts(&sound);
    let mut noticed = 0;
    for pair in starts.windows(2) {
        let copy = scratch();
        copy_folder(folder.path(), copy.path());
        let rest = [&sound[..pair[0]], &sound[pair[1]..]].concat();
        fs::write(copy.path().join(JOURNAL), &rest).unwrap();
        let what = format!("without the line at {}", pair[0]);
        // The content of a line that is gone without a trace cannot be kept from being used again.
        let gone = String::from_utf8_lossy(&sound[pair[0]..pair[1]]).into_owned();
        let known: Vec<String> = ids
            .iter()
            .filter(|id| !gone.contains(id.as_str()))
            .cloned()
            .collect();
        let editor = work_on(copy.path(), &known, &what);
        noticed += usize::from(!editor.damage().is_empty());
        assert!(journal(copy.path()).starts_with(&rest), "{what}");
    }
    assert!(noticed * 2 > starts.len(), "{noticed} of {}", starts.len());
}

#[test]
fn a_journal_that_disappears_takes_the_history_along_and_nothing_else() {
    for gone in [JOURNAL, ".sectile"] {
        for while_open in [false, true] {
            let (folder, ids) = with_history();
            let editor = open(folder.path());
            let known = all_ids(&editor, folder.path());
            assert_eq!(known, ids);
            let path = folder.path().join(gone);
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
            let what = format!("{gone}, {while_open}");
            if while_open {
                let now = all_ids(&editor, folder.path());
                assert!(now.iter().all(|id| !ids.contains(id)), "{what}");
                let before = documents(folder.path());
                write(&editor, vec![insert("a.md", "After", 0)]).unwrap();
                take_back(&editor, &undo("a.md", false)).unwrap();
                assert_eq!(documents(folder.path()), before, "{what}");
            } else {
                // With a stopped clock the count starts over, so that ids may look the same.
                work_on(folder.path(), &[], &what);
            }
            check_whole(folder.path(), &what);
        }
    }
}

#[test]
fn an_empty_journal_is_a_new_one() {
    let (folder, _) = with_history();
    fs::write(folder.path().join(JOURNAL), b"").unwrap();
    work_on(folder.path(), &[], "empty");
    check_whole(folder.path(), "empty");
}

/// A journal of a newer version is neither read nor written.
#[test]
fn a_journal_of_a_newer_version_is_not_touched() {
    let (folder, _) = with_history();
    let sound = journal(folder.path());
    let first = line_starts(&sound)[1];
    let header = String::from_utf8(sound[17..first - 1].to_vec()).unwrap();
    let header = header.replace("\"version\":1", "\"version\":2");
    let mut sum = sectile_markdown::Digest::of(header.as_bytes()).to_string();
    sum.truncate(16);
    let newer = [
        format!("{sum} {header}\n").into_bytes(),
        sound[first..].to_vec(),
    ]
    .concat();
    fs::write(folder.path().join(JOURNAL), &newer).unwrap();
    let editor = open(folder.path());
    for (path, bytes) in documents(folder.path()) {
        let view = editor.view(&note(&path)).unwrap();
        assert_eq!(view.bytes(), bytes);
        let again = editor.view(&note(&path)).unwrap();
        assert_eq!(view.ids(), again.ids(), "they last as long as the process");
    }
    let before = documents(folder.path());
    let refused = write(&editor, vec![insert("a.md", "After", 0)]).unwrap_err();
    assert_eq!(refused, EditorError::JournalTooNew);
    let refused = take_back(&editor, &undo("a.md", false)).unwrap_err();
    assert_eq!(refused, EditorError::JournalTooNew);
    assert_eq!(documents(folder.path()), before);
    assert_eq!(journal(folder.path()), newer);
}

/// A journal restored from a backup is shorter than the one that was read.
#[test]
fn a_journal_from_a_backup_is_read_anew() {
    let (folder, _) = with_history();
    let editor = open(folder.path());
    let early = all_ids(&editor, folder.path());
    let backup = journal(folder.path());
    let later = write(&editor, vec![insert("a.md", "Later", 0)]).unwrap();
    let later = later.steps[0].section.clone().unwrap().id;
    fs::write(folder.path().join(JOURNAL), &backup).unwrap();
    let ids = all_ids(&editor, folder.path());
    assert!(early.iter().all(|id| ids.contains(id)), "{early:?} {ids:?}");
    assert!(!ids.contains(&later), "it is not used again");
    write(&editor, vec![insert("a.md", "More", 0)]).unwrap();
    check_whole(folder.path(), "backup");
    assert!(journal(folder.path()).starts_with(&backup));
}

/// Damage to lines that a running process has read before.
#[test]
fn damage_while_a_process_is_at_work_is_survived() {
    let (folder, ids) = with_history();
    let sound = journal(folder.path());
    for at in (0..sound.len() - 1).step_by(61) {
        let copy = scratch();
        copy_folder(folder.path(), copy.path());
        let editor = open(copy.path());
        all_ids(&editor, copy.path());
        let mut damaged = sound.clone();
        damaged[at] ^= 0x04;
        fs::write(copy.path().join(JOURNAL), &damaged).unwrap();
        let text = fs::read_to_string(copy.path().join("a.md")).unwrap();
        fs::write(copy.path().join("a.md"), format!("{text}\nMore.\n")).unwrap();
        editor.view(&note("a.md")).unwrap();
        write(&editor, vec![insert("a.md", "Then", 0)]).unwrap();
        take_back(&editor, &undo("a.md", false)).unwrap();
        assert!(journal(copy.path()).starts_with(&damaged));
        work_on(copy.path(), &ids, &format!("damaged at {at} while open"));
    }
}
