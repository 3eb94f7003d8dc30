//! State that came with a folder: a cloned repository or a synced folder may bring a forged `.sectile`. It may name
//! sections and be shown. It never causes a write.

use std::collections::BTreeMap;

use super::*;
use crate::{
    fs::PrivateFolder,
    journal::{
        Adoption, Durability, Entry, EntryKind, Header, IDS, JOURNAL, Journal, Mark, Prints,
        Record, Request, Sighting, Splice, Step,
    },
};

const HOOK: &str = "#!/bin/sh\ntouch PWNED\n";

/// A stranger's key.
fn stranger() -> JournalKey {
    JournalKey::new(&[9; JournalKey::BYTES])
}

fn private(folder: &Path) -> PrivateFolder {
    Root::open(folder).unwrap().make_private_folder().unwrap()
}

/// Writes records as someone without our key would.
fn plant(folder: &Path, file: &'static str, records: &[Record]) {
    let mut journal = Journal::new(file, stranger());
    let header = Record::Header(Header::default());
    let records: Vec<Record> = [header].into_iter().chain(records.to_vec()).collect();
    let folder = private(folder);
    journal
        .append(&folder, &records, Durability::Flushed)
        .unwrap();
}

fn hash(text: &str) -> Option<String> {
    Some(sectile_markdown::Digest::of(text.as_bytes()).to_string())
}

fn entry(number: u64, steps: Vec<Step>) -> Box<Entry> {
    Box::new(Entry {
        folder: None,
        number,
        time: 0,
        actor: "x".to_owned(),
        operation: "rename_document".to_owned(),
        reason: None,
        request: None,
        kind: EntryKind::Edit,
        steps,
    })
}

/// A step whose document is as it should be afterwards, so that the entry looks half done.
fn made(path: &str, text: &str) -> Step {
    Step {
        document: 1,
        path: path.to_owned(),
        before: hash("x"),
        after: hash(text),
        changes: Some(Vec::new()),
        ..Step::default()
    }
}

fn moved(path: &str, text: &str, to: &str) -> Step {
    Step {
        document: 2,
        path: path.to_owned(),
        moved_to: Some(to.to_owned()),
        before: hash(text),
        after: hash(text),
        changes: Some(Vec::new()),
        ..Step::default()
    }
}

/// Everything below a folder, with links and folders.
fn everything(folder: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
                all.insert(name, None);
            } else {
                all.insert(name, fs::read(path).ok());
            }
        }
    }
    all
}

fn repository(targets: &[(&str, &str, &str)]) -> TempDir {
    let folder = scratch();
    fs::create_dir_all(folder.path().join(".git/hooks")).unwrap();
    fs::write(folder.path().join("README.md"), "# Notes\n\nHello.\n").unwrap();
    let mut steps = vec![made("README.md", "# Notes\n\nHello.\n")];
    for (path, text, to) in targets {
        fs::write(folder.path().join(path), text).unwrap();
        steps.push(moved(path, text, to));
    }
    plant(folder.path(), JOURNAL, &[Record::Intent(entry(1, steps))]);
    folder
}

#[test]
fn a_planted_intent_is_never_carried_out() {
    for read_only in [false, true] {
        let folder = repository(&[("lint.sh", HOOK, ".git/hooks/pre-commit")]);
        let options = EditorOptions {
            read_only,
            ..options()
        };
        let before = everything(folder.path());
        let editor = Editor::folder(folder.path(), options).unwrap();
        editor.view(&note("README.md")).unwrap();
        assert!(!folder.path().join(".git/hooks/pre-commit").exists());
        assert!(folder.path().join("lint.sh").exists());
        if read_only {
            assert_eq!(everything(folder.path()), before);
            continue;
        }
        // The document itself can be edited, and what we do to it can be undone.
        let insert = insert("README.md", "Mine", 1);
        write(&editor, vec![insert]).unwrap();
        take_back(&editor, &undo("README.md", false)).unwrap();
        assert!(!folder.path().join(".git/hooks/pre-commit").exists());
    }
}

#[test]
fn what_is_not_a_document_is_not_written_even_when_the_history_is_trusted() {
    for (path, text, to) in [
        ("lint.sh", HOOK, ".git/hooks/pre-commit"),
        ("lint.sh", HOOK, "lint.md"),
        ("a.md", SAMPLE, ".git/hooks/a.md"),
        ("a.md", SAMPLE, ".hidden.md"),
        ("a.md", SAMPLE, "a.sh"),
        ("a.md", SAMPLE, "ignored/a.md"),
    ] {
        let folder = repository(&[(path, text, to)]);
        fs::write(folder.path().join(".gitignore"), "ignored/\n").unwrap();
        fs::create_dir(folder.path().join("ignored")).unwrap();
        assert!(matches!(
            trust(folder.path(), &options()),
            Ok(TrustOutcome::Now(_))
        ));
        let editor = open(folder.path());
        editor.view(&note("README.md")).unwrap();
        assert!(editor.store.state().ledger.pending(None).is_empty(), "{to}");
        assert!(!folder.path().join(to).exists(), "{to}");
        assert_eq!(fs::read_to_string(folder.path().join(path)).unwrap(), text);
    }
}

#[test]
fn trust_makes_a_history_ours_and_settles_what_was_begun() {
    let folder = repository(&[("a.md", SAMPLE, "b.md")]);
    let looked = trust(
        folder.path(),
        &EditorOptions {
            read_only: true,
            ..options()
        },
    );
    let expected = ForeignHistory {
        lines: 2,
        entries: 1,
        unfinished: vec!["README.md".to_owned(), "a.md".to_owned(), "b.md".to_owned()],
    };
    assert_eq!(looked.unwrap(), TrustOutcome::Now(expected.clone()));
    drop(open(folder.path()));
    assert!(folder.path().join("a.md").exists(), "nothing happened yet");
    let trusted = trust(folder.path(), &options()).unwrap();
    assert_eq!(trusted, TrustOutcome::Now(expected));
    assert_eq!(
        trust(folder.path(), &options()).unwrap(),
        TrustOutcome::Already
    );
    let editor = open(folder.path());
    assert!(!folder.path().join("a.md").exists());
    let text = fs::read_to_string(folder.path().join("b.md")).unwrap();
    assert_eq!(text, SAMPLE);
    assert!(editor.damage().len() <= 2, "{:?}", editor.damage());
    let empty = scratch();
    assert_eq!(
        trust(empty.path(), &options()).unwrap(),
        TrustOutcome::Nothing
    );
}

/// An interrupted change of several documents is settled in all of them, even by an editor of one of them.
#[test]
fn an_editor_of_one_document_settles_what_concerns_several() {
    let folder = repository(&[("a.md", SAMPLE, "b.md")]);
    trust(folder.path(), &options()).unwrap();
    let editor = Editor::document(&folder.path().join("README.md"), options()).unwrap();
    assert!(editor.store.state().ledger.pending(None).is_empty());
    assert!(!folder.path().join("a.md").exists());
    let text = fs::read_to_string(folder.path().join("b.md")).unwrap();
    assert_eq!(text, SAMPLE);
}

/// A folder that another user edited.
fn edited_by_a_stranger() -> (TempDir, Vec<String>) {
    let folder = scratch();
    fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
    let options = EditorOptions::new(stranger(), clock);
    let editor = Editor::folder(folder.path(), options).unwrap();
    let operation = update("a.md", by_heading("Beta"), "Theirs.");
    write(&editor, vec![operation]).unwrap();
    let ids = editor.view(&note("a.md")).unwrap().ids().to_vec();
    (folder, ids)
}

#[test]
fn foreign_history_gives_ids_and_is_shown_and_that_is_all() {
    let (folder, ids) = edited_by_a_stranger();
    let editor = open(folder.path());
    let path = note("a.md");
    assert_eq!(editor.view(&path).unwrap().ids(), ids);
    let filter = HistoryFilter {
        limit: 10,
        ..HistoryFilter::default()
    };
    let (history, _) = editor.history(&path, &filter).unwrap();
    assert!(history.len() == 1 && history[0].is_unverified);
    assert_eq!(
        editor.can_undo_redo(&editor.remembered(&path).unwrap()),
        (false, false)
    );
    let foreign = EditorError::ForeignHistory;
    let before = everything(folder.path());
    assert_eq!(
        take_back(&editor, &undo("a.md", false)).unwrap_err(),
        foreign
    );
    assert_eq!(editor.purge(None, None).unwrap_err(), foreign);
    assert_eq!(editor.purge(None, Some("Theirs.")).unwrap_err(), foreign);
    assert_eq!(everything(folder.path()), before);
    // Our own history continues next to it, and a stranger's entry after ours keeps it from being shifted.
    write(&editor, vec![update("a.md", by_heading("Gamma"), "Ours.")]).unwrap();
    take_back(&editor, &undo("a.md", false)).unwrap();
    take_back(&editor, &undo("a.md", true)).unwrap();
    let (history, _) = editor.history(&path, &filter).unwrap();
    assert_eq!(history.iter().filter(|one| one.is_unverified).count(), 1);
    let other = Editor::folder(folder.path(), EditorOptions::new(stranger(), clock)).unwrap();
    write(&other, vec![insert("a.md", "Theirs", 0)]).unwrap();
    let ours = UndoRequest {
        entry: Some(2),
        ..undo("a.md", false)
    };
    assert_eq!(take_back(&editor, &ours).unwrap_err(), foreign);
}

#[test]
fn rewriting_the_journal_does_not_make_a_strangers_history_ours() {
    let (folder, ids) = edited_by_a_stranger();
    let limits = EditorLimits {
        max_journal_bytes: 4_000,
        ..EditorLimits::default()
    };
    let editor = open_within(folder.path(), limits);
    let journal = || fs::read_to_string(folder.path().join(".sectile/journal")).unwrap();
    let first = journal().lines().next().unwrap().to_owned();
    for round in 0.. {
        let text = format!("Round {round}.");
        write(&editor, vec![update("a.md", by_heading("Gamma"), &text)]).unwrap();
        if !journal().starts_with(&first) {
            break;
        }
        assert!(round < 50, "the journal was never rewritten");
    }
    let filter = HistoryFilter {
        limit: 100,
        ..HistoryFilter::default()
    };
    let (history, _) = open(folder.path()).history(&note("a.md"), &filter).unwrap();
    for entry in history {
        assert_eq!(entry.is_unverified, entry.number == 1, "{entry:?}");
    }
    assert_eq!(open(folder.path()).view(&note("a.md")).unwrap().ids(), ids);
}

#[test]
fn a_strangers_request_does_not_stand_in_for_ours() {
    let folder = scratch();
    fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
    let mut done = entry(1, vec![made("a.md", SAMPLE)]);
    done.request = Some(Request {
        id: "r1".to_owned(),
        digest: "d".to_owned(),
    });
    plant(folder.path(), JOURNAL, &[Record::Done(done)]);
    let editor = open(folder.path());
    let mut asked = request(vec![update("a.md", by_heading("Beta"), "Asked.")]);
    asked.request = Some(("r1".to_owned(), "d".to_owned()));
    let report = editor.write(&asked, CallHooks::none()).unwrap();
    assert!(!report.replayed);
    let text = fs::read_to_string(folder.path().join("a.md")).unwrap();
    assert!(text.contains("Asked."));
}

#[test]
fn planted_ids_name_one_section_each_or_none() {
    let folder = scratch();
    for path in ["a.md", "b.md", "c.md"] {
        fs::write(folder.path().join(path), SAMPLE).unwrap();
    }
    let ids = |first: usize| {
        (first..first + 5)
            .map(|at| format!("x-planted{at}"))
            .collect()
    };
    let sighting = |path: &str, ids: Vec<String>| {
        Record::Sighting(Box::new(Sighting {
            path: path.to_owned(),
            hash: hash(SAMPLE).unwrap(),
            created: None,
            ids,
            prints: Prints::default(),
            was_emptied: false,
        }))
    };
    let twice = vec!["x-planted9".to_owned(); 5];
    plant(
        folder.path(),
        IDS,
        &[
            sighting("a.md", ids(0)),
            sighting("b.md", ids(2)),
            sighting("c.md", twice.clone()),
        ],
    );
    let adopt = |document: u64, path: &str, ids: Vec<String>| {
        let marks = ids.into_iter().map(|id| Mark {
            id,
            ..Mark::default()
        });
        Record::Adopt(Adoption {
            document,
            path: path.to_owned(),
            hash: hash(SAMPLE).unwrap(),
            created: None,
            sections: marks.collect(),
        })
    };
    plant(
        folder.path(),
        JOURNAL,
        &[
            adopt(1, "b.md", ids(20)),
            adopt(2, "c.md", ids(22)),
            adopt(3, "c.md", twice),
        ],
    );
    let editor = open(folder.path());
    let mut all = Vec::new();
    for path in ["a.md", "b.md", "c.md"] {
        let view = editor.view(&note(path)).unwrap();
        assert_eq!(view.ids().len(), 5);
        all.extend(view.ids().to_vec());
    }
    let mut unique = all.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), all.len(), "{all:?}");
    assert!(editor.damage().len() >= 2, "{:?}", editor.damage());
    for (at, id) in all.iter().enumerate() {
        let path = ["a.md", "b.md", "c.md"][at / 5];
        assert_eq!(editor.document_of(id), Some(note(path)), "{id}");
    }
}

#[test]
fn numbers_cannot_be_used_up() {
    let folder = scratch();
    fs::write(folder.path().join("a.md"), SAMPLE).unwrap();
    let mut huge = made("a.md", SAMPLE);
    huge.document = u64::MAX;
    huge.ids = Splice {
        at: 0,
        removed: Vec::new(),
        inserted: vec!["a-zzzzzzzzzzzzz".to_owned()],
    };
    plant(
        folder.path(),
        JOURNAL,
        &[
            Record::Done(entry(u64::MAX, vec![made("a.md", SAMPLE)])),
            Record::Done(entry(3, vec![huge])),
            Record::Commit { entry: u64::MAX },
            Record::Header(Header {
                first_entry: u64::MAX,
                ..Header::default()
            }),
        ],
    );
    let editor = open(folder.path());
    let mut last = 0;
    for round in 0..3 {
        let operation = update("a.md", by_heading("Beta"), &format!("round {round}"));
        let number = write(&editor, vec![operation]).unwrap().entry.unwrap();
        assert!(number > last && number < 1 << 40, "{number}");
        last = number;
    }
    take_back(&editor, &undo("a.md", false)).unwrap();
}

/// A name that ends in `.md` is not enough: what counts is where it leads.
#[cfg(unix)]
#[test]
fn a_link_with_the_name_of_a_document_leads_to_documents_only() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new(&[("real.md", SAMPLE)]);
    fs::write(bench.path(".env"), "API_KEY=sk-live\n").unwrap();
    fs::create_dir(bench.path(".git")).unwrap();
    fs::write(bench.path(".git/config"), "[core]\n").unwrap();
    symlink(".env", bench.path("todo.md")).unwrap();
    symlink(".git/config", bench.path("plan.md")).unwrap();
    symlink("todo.md", bench.path("twice.md")).unwrap();
    symlink("real.md", bench.path("link.md")).unwrap();
    for path in ["todo.md", "plan.md", "twice.md"] {
        let path = note(path);
        let refused = bench.editor.view(&path).unwrap_err();
        assert_eq!(refused, EditorError::NotMarkdown);
        assert_eq!(
            bench.editor.root().read(&path, 1000),
            Err(ReadError::NotFound)
        );
        let edit = Operation::EditText(EditText {
            path: Some(path.clone()),
            section: None,
            old_text: "[core]".to_owned(),
            new_text: "[core]\n\tfsmonitor = x".to_owned(),
            expected_count: 1,
            scope: Scope::Body,
            expected_hash: None,
        });
        assert_eq!(bench.write(edit).unwrap_err(), EditorError::NotMarkdown);
        let delete = Operation::DeleteDocument(DeleteDocument {
            path,
            expected_hash: None,
        });
        // A link is not deleted, and this one leads to no document that could be named instead.
        let refused = bench.write(delete).unwrap_err();
        assert_eq!(refused, EditorError::DocumentNotFound);
    }
    assert_eq!(bench.text(".git/config"), "[core]\n");
    bench
        .write(update("link.md", by_heading("Beta"), "x"))
        .unwrap();
    assert!(bench.text("real.md").contains("x\n"));
}

#[test]
fn what_is_hidden_ignored_or_excluded_can_be_read_and_not_written() {
    let bench = Bench::new(&[
        ("a.md", SAMPLE),
        (".hidden/a.md", SAMPLE),
        ("out/a.md", SAMPLE),
        ("drafts/a.md", SAMPLE),
        (".gitignore", "out/\n"),
    ]);
    let walk = crate::Walk::new(Vec::new(), vec!["drafts/".to_owned()]).unwrap();
    let options = EditorOptions { walk, ..options() };
    let editor = Editor::folder(bench.folder.path(), options).unwrap();
    for path in [".hidden/a.md", "out/a.md", "drafts/a.md"] {
        assert_eq!(editor.view(&note(path)).unwrap().bytes(), SAMPLE.as_bytes());
        let refused = write(&editor, vec![update(path, by_heading("Beta"), "x")]);
        assert_eq!(refused.unwrap_err(), EditorError::NotADocument, "{path}");
        let rename = Operation::RenameDocument(RenameDocument {
            path: note("a.md"),
            new_path: note(&path.replace("a.md", "b.md")),
            repair_links: true,
        });
        let refused = write(&editor, vec![rename]);
        assert_eq!(refused.unwrap_err(), EditorError::NotADocument, "{path}");
    }
    for path in ["out/new/b.md", ".git/b.md", "new/.x/b.md"] {
        let create = Operation::CreateDocument(CreateDocument {
            path: note(path),
            content: "# B\n".to_owned(),
        });
        let refused = write(&editor, vec![create]);
        assert_eq!(refused.unwrap_err(), EditorError::NotADocument, "{path}");
        let folder = bench.path(path).parent().unwrap().to_path_buf();
        assert!(!folder.exists(), "{path}: a folder was made for nothing");
    }
}

/// A server that may not write writes nothing at all.
#[test]
fn read_only_writes_nothing() {
    let (folder, _) = edited_by_a_stranger();
    fs::write(folder.path().join("b.md"), SAMPLE).unwrap();
    for private in [true, false] {
        if !private {
            fs::remove_dir_all(folder.path().join(".sectile")).unwrap();
        }
        let read_only = EditorOptions {
            read_only: true,
            ..options()
        };
        let before = everything(folder.path());
        let editor = Editor::folder(folder.path(), read_only.clone()).unwrap();
        let ids = |editor: &Editor| editor.view(&note("b.md")).unwrap().ids().to_vec();
        let first = ids(&editor);
        assert_eq!(first.len(), 5);
        assert_eq!(
            ids(&Editor::folder(folder.path(), read_only).unwrap()),
            first
        );
        for path in ["a.md", "b.md"] {
            editor
                .history(&note(path), &HistoryFilter::default())
                .unwrap();
            editor.revision(&note(path), 0).unwrap();
        }
        let refused = write(&editor, vec![update("b.md", by_heading("Beta"), "x")]);
        assert_eq!(refused.unwrap_err(), EditorError::ReadOnly);
        let refused = take_back(&editor, &undo("a.md", false)).unwrap_err();
        assert!(
            matches!(
                refused,
                EditorError::ReadOnly | EditorError::ForeignHistory | EditorError::NothingToUndo
            ),
            "{refused:?}"
        );
        assert_eq!(editor.purge(None, None).unwrap_err(), EditorError::ReadOnly);
        assert_eq!(everything(folder.path()), before);
    }
}
