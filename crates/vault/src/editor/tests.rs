//! Tests of the editor on real files: every operation, undo and redo, ids, outside edits, faults.

#![expect(
    clippy::disallowed_methods,
    reason = "tests inspect files behind the editor's back"
)]

mod changes;
mod characters;
mod displaced;
mod faults;
mod files;
mod findings;
mod folders;
mod hostile;
mod journal;
mod lasting_ids;
mod links;
mod naming;
mod parts;
mod placed;
mod plans;
mod races;
mod rules;
mod scripts;

use std::{fs, path::Path};

use sectile_markdown::{LetterCase, edit::PayloadHeadings};
use tempfile::TempDir;

use super::*;
use crate::ReadError;

pub(super) const SAMPLE: &str = "# Title\n\nIntro text.\n\n## Alpha\n\nAlpha body.\n\n### Alpha child\n\nChild body.\n\n## Beta\n\nBeta body.\n\n## Gamma\n\nGamma body.\n";

pub(super) fn clock() -> i64 {
    1_800_000_000_000
}

pub(super) struct Bench {
    pub(super) folder: TempDir,
    pub(super) editor: Editor,
}

impl Bench {
    pub(super) fn new(documents: &[(&str, &str)]) -> Self {
        let folder = scratch();
        for (path, text) in documents {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let editor = open(folder.path());
        Self { folder, editor }
    }

    /// Reopens the folder, as another process would.
    pub(super) fn reopened(&self) -> Editor {
        open(self.folder.path())
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    pub(super) fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    pub(super) fn id(&self, path: &str, heading: &str) -> String {
        let view = self.editor.view(&note(path)).unwrap();
        let position = view.find_heading(heading, LetterCase::Matters).unwrap();
        view.ids()[position].clone()
    }

    pub(super) fn write(&self, operation: Operation) -> Result<WriteReport, EditorError> {
        write(&self.editor, vec![operation])
    }

    pub(super) fn undo(&self, path: &str) -> Result<WriteReport, EditorError> {
        take_back(&self.editor, &undo(path, false))
    }

    pub(super) fn redo(&self, path: &str) -> Result<WriteReport, EditorError> {
        take_back(&self.editor, &undo(path, true))
    }
}

/// A folder in memory if the system has one: flushes are cheap there.
pub(super) fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

pub(super) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub(super) fn open(folder: &Path) -> Editor {
    Editor::folder(folder, options()).unwrap()
}

/// The options of an editor in a test. They all share one key, as the processes of one user do.
pub(super) fn options() -> EditorOptions {
    EditorOptions::new(JournalKey::new(&[7; JournalKey::BYTES]), clock)
}

pub(super) fn open_within(folder: &Path, limits: EditorLimits) -> Editor {
    let options = EditorOptions {
        limits,
        ..options()
    };
    Editor::folder(folder, options).unwrap()
}

pub(super) fn write(
    editor: &Editor,
    operations: Vec<Operation>,
) -> Result<WriteReport, EditorError> {
    editor.write(&request(operations), CallHooks::none())
}

pub(super) fn take_back(
    editor: &Editor,
    request: &UndoRequest,
) -> Result<WriteReport, EditorError> {
    editor.undo(request, CallHooks::none())
}

pub(super) fn note(path: &str) -> NotePath {
    NotePath::parse_vault(path).unwrap()
}

pub(super) fn request(operations: Vec<Operation>) -> WriteRequest {
    WriteRequest {
        operations,
        name: "test".to_owned(),
        actor: "tests".to_owned(),
        reason: None,
        request: None,
        dry_run: false,
        confirmed: false,
        plan: None,
    }
}

pub(super) fn undo(path: &str, redo: bool) -> UndoRequest {
    UndoRequest {
        path: Some(note(path)),
        entry: None,
        redo,
        actor: "tests".to_owned(),
        reason: None,
        request: None,
        dry_run: false,
    }
}

pub(super) fn by_id(id: &str) -> SectionRef {
    SectionRef {
        id: Some(id.to_owned()),
        heading: None,
    }
}

pub(super) fn by_heading(heading: &str) -> SectionRef {
    SectionRef {
        id: None,
        heading: Some(heading.to_owned()),
    }
}

pub(super) fn update(path: &str, section: SectionRef, content: &str) -> Operation {
    Operation::Update(UpdateSection {
        path: Some(note(path)),
        section,
        content: content.to_owned(),
        scope: Scope::Body,
        headings: PayloadHeadings::Inside,
        expected_hash: None,
    })
}

pub(super) fn insert(path: &str, heading: &str, position: usize) -> Operation {
    Operation::Insert(InsertSection {
        path: Some(note(path)),
        heading: heading.to_owned(),
        content: format!("{heading} text."),
        at: Placement::Position(position),
        level: None,
        headings: PayloadHeadings::Inside,
        label: None,
    })
}

pub(super) fn delete(path: &str, section: SectionRef) -> Operation {
    Operation::Delete(DeleteSection {
        path: Some(note(path)),
        section,
        expected_hash: None,
    })
}

pub(super) fn relocate(section: SectionRef, to: Option<&str>, position: usize) -> Operation {
    Operation::Move(MoveSection {
        path: None,
        section,
        at: Placement::Position(position),
        to: to.map(note),
        level: None,
        expected_hash: None,
    })
}

pub(super) fn with_hash(operation: Operation, hash: &str) -> Operation {
    match operation {
        Operation::Update(UpdateSection {
            path,
            section,
            content,
            scope,
            headings,
            ..
        }) => Operation::Update(UpdateSection {
            path,
            section,
            content,
            scope,
            headings,
            expected_hash: Some(hash.to_owned()),
        }),
        Operation::Delete(DeleteSection { path, section, .. }) => {
            Operation::Delete(DeleteSection {
                path,
                section,
                expected_hash: Some(hash.to_owned()),
            })
        }
        other => other,
    }
}

#[test]
fn edits_undo_and_redo_are_byte_identities_and_survive_restarts() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let beta = bench.id("a.md", "Beta");
    let gamma = bench.id("a.md", "Gamma");
    bench
        .write(update("a.md", by_id(&beta), "New beta."))
        .unwrap();
    let one = bench.text("a.md");
    assert_eq!(one, SAMPLE.replace("Beta body.", "New beta."));
    bench.write(delete("a.md", by_id(&gamma))).unwrap();
    let two = bench.text("a.md");
    let report = bench.write(insert("a.md", "New", 1)).unwrap();
    let three = bench.text("a.md");
    let new = report.steps[0].section.clone().unwrap();
    assert_eq!((new.heading.as_str(), new.position), ("New", 1));

    bench.undo("a.md").unwrap();
    assert_eq!(bench.text("a.md"), two);
    let other = bench.reopened();
    other.undo(&undo("a.md", false), CallHooks::none()).unwrap();
    assert_eq!(bench.text("a.md"), one);
    assert_eq!(
        bench.id("a.md", "Gamma"),
        gamma,
        "a revived section has its id"
    );
    bench.undo("a.md").unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
    assert_eq!(bench.undo("a.md").unwrap_err(), EditorError::NothingToUndo);
    for expected in [&one, &two, &three] {
        other.undo(&undo("a.md", true), CallHooks::none()).unwrap();
        assert_eq!(bench.text("a.md"), **expected);
    }
    assert_eq!(bench.redo("a.md").unwrap_err(), EditorError::NothingToRedo);
    assert_eq!(bench.id("a.md", "New"), new.id);
    assert_eq!(bench.id("a.md", "Beta"), beta);
}

#[test]
fn ids_are_never_used_again() {
    let bench = Bench::new(&[("a.md", "# G\n\n## A\n\n1\n\n## A\n\n2\n\n## A\n\n3\n")]);
    let view = bench.editor.view(&note("a.md")).unwrap();
    let ids = view.ids().to_vec();
    let entry = bench
        .write(delete("a.md", by_id(&ids[1])))
        .unwrap()
        .entry
        .unwrap();
    assert_eq!(
        bench.editor.view(&note("a.md")).unwrap().ids(),
        [&ids[..1], &ids[2..]].concat()
    );
    assert_eq!(
        bench
            .write(update("a.md", by_id(&ids[1]), "x"))
            .unwrap_err(),
        EditorError::SectionDeleted {
            section_id: ids[1].clone(),
            entry
        }
    );
    bench.write(insert("a.md", "A", 1)).unwrap();
    let now = bench.reopened().view(&note("a.md")).unwrap().ids().to_vec();
    assert!(!ids.contains(&now[1]), "{now:?}");
    let error = bench.write(delete("a.md", by_heading("A"))).unwrap_err();
    let EditorError::Ambiguous { candidates } = error else {
        panic!("{error:?}")
    };
    assert_eq!(candidates.len(), 3);
}

#[test]
fn outside_edits_are_entered_keep_ids_and_survive_undo() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let (beta, gamma) = (bench.id("a.md", "Beta"), bench.id("a.md", "Gamma"));
    bench.write(update("a.md", by_id(&beta), "Ours.")).unwrap();
    let outside = bench
        .text("a.md")
        .replace("## Alpha\n", "## Notes\n\nFrom outside.\n\n## Alpha\n")
        .replace("Gamma body.", "Gamma, edited outside.");
    // Saved the way many editors do: a new file, renamed over the old one.
    fs::write(bench.path("a.md.tmp"), &outside).unwrap();
    fs::rename(bench.path("a.md.tmp"), bench.path("a.md")).unwrap();
    assert_eq!(bench.id("a.md", "Beta"), beta);
    assert_eq!(bench.id("a.md", "Gamma"), gamma);
    let (history, _) = bench
        .editor
        .history(
            &note("a.md"),
            &HistoryFilter {
                limit: 10,
                ..HistoryFilter::default()
            },
        )
        .unwrap();
    assert!(history[0].is_foreign && history[0].sections.contains(&gamma));
    bench.undo("a.md").unwrap();
    assert_eq!(bench.text("a.md"), outside.replace("Ours.", "Beta body."));
    bench.redo("a.md").unwrap();
    assert_eq!(bench.text("a.md"), outside);
    let after_foreign = bench.editor.revision(&note("a.md"), 0).unwrap();
    assert_eq!(after_foreign.bytes.unwrap(), SAMPLE.as_bytes());

    // An outside edit of the same text: undo would overwrite it.
    fs::write(bench.path("a.md"), outside.replace("Ours.", "Theirs.")).unwrap();
    assert!(matches!(
        bench.undo("a.md").unwrap_err(),
        EditorError::UndoOverlaps { .. }
    ));
    assert_eq!(bench.text("a.md"), outside.replace("Ours.", "Theirs."));
}

#[test]
fn a_stale_change_is_merged_or_refused() {
    let text = "# A\n\none\n\ntwo\n\nthree\n";
    let bench = Bench::new(&[("a.md", text)]);
    let section = bench
        .editor
        .view(&note("a.md"))
        .unwrap()
        .section(0)
        .unwrap();
    bench
        .write(update("a.md", by_id(&section.id), "ONE\n\ntwo\n\nthree"))
        .unwrap();
    let theirs = with_hash(
        update("a.md", by_id(&section.id), "one\n\ntwo\n\nTHREE"),
        &section.hash,
    );
    let report = bench.write(theirs).unwrap();
    assert!(report.steps[0].merged);
    assert_eq!(bench.text("a.md"), "# A\n\nONE\n\ntwo\n\nTHREE\n");
    let conflicting = with_hash(
        update("a.md", by_id(&section.id), "1\n\ntwo\n\nthree"),
        &section.hash,
    );
    let EditorError::Conflict(conflict) = bench.write(conflicting).unwrap_err() else {
        panic!("no conflict")
    };
    assert_eq!(conflict.base.as_deref(), Some("one\n\ntwo\n\nthree"));
    assert_eq!(conflict.theirs, "ONE\n\ntwo\n\nTHREE");
    assert_eq!(bench.text("a.md"), "# A\n\nONE\n\ntwo\n\nTHREE\n");
    let gone = with_hash(delete("a.md", by_id(&section.id)), &section.subtree_hash);
    assert!(matches!(
        bench.write(gone).unwrap_err(),
        EditorError::Conflict(_)
    ));
}

#[test]
fn a_batch_is_all_or_nothing_over_documents_and_undone_as_one() {
    let bench = Bench::new(&[("a.md", SAMPLE), ("b/c.md", "# C\n\nc\n")]);
    let beta = bench.id("a.md", "Beta");
    let mut labelled = insert("a.md", "Made", 5);
    if let Operation::Insert(InsertSection { label, .. }) = &mut labelled {
        *label = Some("made".to_owned());
    }
    let operations = vec![
        relocate(by_id(&beta), Some("b/c.md"), 1),
        labelled,
        update("a.md", by_id("@made"), "By label."),
    ];
    let mut failing = operations.clone();
    failing.push(delete("a.md", by_heading("Nowhere")));
    assert!(
        bench
            .editor
            .write(&request(failing), CallHooks::none())
            .is_err()
    );
    assert_eq!(bench.text("a.md"), SAMPLE);
    let error = bench
        .editor
        .write(&request(operations.clone()), CallHooks::none())
        .unwrap_err();
    assert_eq!(
        error,
        EditorError::Edit(sectile_markdown::edit::EditError::PositionOutOfRange { max: 4 })
    );
    let mut operations = operations;
    operations[1] = match operations[1].clone() {
        Operation::Insert(InsertSection {
            path,
            heading,
            content,
            level,
            headings,
            label,
            ..
        }) => Operation::Insert(InsertSection {
            path,
            heading,
            content,
            level,
            headings,
            label,
            at: Placement::Position(4),
        }),
        other => other,
    };
    let report = bench
        .editor
        .write(&request(operations), CallHooks::none())
        .unwrap();
    assert_eq!(report.documents.len(), 2);
    assert_eq!(bench.text("b/c.md"), "# C\n\nc\n\n# Beta\n\nBeta body.\n");
    assert!(
        bench
            .text("a.md")
            .ends_with("## Gamma\n\nGamma body.\n\n## Made\n\nBy label.\n")
    );
    assert_eq!(
        bench.id("b/c.md", "Beta"),
        beta,
        "a moved section keeps its id"
    );
    bench.undo("b/c.md").unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
    assert_eq!(bench.text("b/c.md"), "# C\n\nc\n");
    assert_eq!(bench.id("a.md", "Beta"), beta);
    bench.redo("a.md").unwrap();
    assert_eq!(bench.text("b/c.md"), "# C\n\nc\n\n# Beta\n\nBeta body.\n");
}

#[test]
fn documents_are_made_renamed_and_deleted_and_all_that_can_be_undone() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let beta = bench.id("a.md", "Beta");
    bench
        .write(Operation::CreateDocument(CreateDocument {
            path: note("new/n.md"),
            content: "# N\n".to_owned(),
        }))
        .unwrap();
    assert_eq!(bench.text("new/n.md"), "# N\n");
    let again = Operation::CreateDocument(CreateDocument {
        path: note("a.md"),
        content: String::new(),
    });
    assert_eq!(bench.write(again).unwrap_err(), EditorError::DocumentExists);
    let rename = Operation::RenameDocument(RenameDocument {
        path: note("a.md"),
        new_path: note("new/a.md"),
        repair_links: false,
    });
    bench.write(rename).unwrap();
    assert!(!bench.path("a.md").exists());
    assert_eq!(bench.id("new/a.md", "Beta"), beta);
    bench.write(update("new/a.md", by_id(&beta), "x")).unwrap();
    bench
        .write(Operation::DeleteDocument(DeleteDocument {
            path: note("new/a.md"),
            expected_hash: None,
        }))
        .unwrap();
    assert!(!bench.path("new/a.md").exists());
    let deleted = bench
        .write(update("new/n.md", by_id(&beta), "x"))
        .unwrap_err();
    assert!(
        matches!(deleted, EditorError::SectionDeleted { .. }),
        "{deleted:?}"
    );
    let entry = |number| UndoRequest {
        path: None,
        entry: Some(number),
        ..undo("a.md", false)
    };
    let report = bench.editor.undo(&entry(4), CallHooks::none()).unwrap();
    assert_eq!(report.documents[0].path, "new/a.md");
    assert_eq!(bench.id("new/a.md", "Beta"), beta);
    bench.undo("new/a.md").unwrap();
    bench.undo("new/a.md").unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
    bench.undo("new/n.md").unwrap();
    assert!(!bench.path("new/n.md").exists());
}

#[test]
fn a_plan_is_applied_exactly_or_not_at_all() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let mut dry = request(vec![insert("a.md", "New", 0)]);
    dry.dry_run = true;
    let report = bench.editor.write(&dry, CallHooks::none()).unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
    assert!(report.documents[0].diff.contains("+# New"));
    let token = report.plan.unwrap();
    bench
        .write(update("a.md", by_heading("Beta"), "Changed."))
        .unwrap();
    assert_eq!(
        bench
            .editor
            .apply_plan(&token, false, CallHooks::none())
            .unwrap_err(),
        EditorError::PlanStale
    );
    let token = bench
        .editor
        .write(&dry, CallHooks::none())
        .unwrap()
        .plan
        .unwrap();
    bench
        .editor
        .apply_plan(&token, false, CallHooks::none())
        .unwrap();
    assert!(bench.text("a.md").starts_with("# New\n"));
    assert_eq!(
        bench
            .editor
            .apply_plan(&token, false, CallHooks::none())
            .unwrap_err(),
        EditorError::PlanUnknown
    );
}

#[test]
fn a_retry_gets_the_first_answer() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let mut once = request(vec![insert("a.md", "New", 0)]);
    once.request = Some(("r1".to_owned(), "d1".to_owned()));
    let first = bench.editor.write(&once, CallHooks::none()).unwrap();
    bench.write(insert("a.md", "Later", 0)).unwrap();
    let other = bench.reopened();
    let again = other.write(&once, CallHooks::none()).unwrap();
    assert!(again.replayed);
    assert_eq!(again.entry, first.entry);
    assert_eq!(again.documents[0].diff, first.documents[0].diff);
    assert_eq!(again.steps[0].section, first.steps[0].section);
    once.request = Some(("r1".to_owned(), "d2".to_owned()));
    assert_eq!(
        bench.editor.write(&once, CallHooks::none()).unwrap_err(),
        EditorError::RequestReused
    );
    assert_eq!(bench.text("a.md").matches("# New\n").count(), 1);
}

#[test]
fn the_private_folder_is_private_and_out_of_reach() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    bench.write(insert("a.md", "New", 0)).unwrap();
    let private = bench.path(".sectile");
    assert_eq!(
        fs::read_to_string(private.join(".gitignore")).unwrap(),
        "*\n"
    );
    assert!(fs::read_dir(private.join("tmp")).unwrap().next().is_none());
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, symlink};
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&private), 0o700);
        assert_eq!(mode(&private.join("journal")), 0o600);
        fs::write(private.join("x.md"), "# secret\n").unwrap();
        symlink(".sectile/x.md", bench.path("link.md")).unwrap();
        symlink(".sectile", bench.path("folder")).unwrap();
        for path in [".sectile/x.md", "link.md", "folder/x.md", ".SECTILE/x.md"] {
            assert_eq!(
                bench.editor.view(&note(path)).unwrap_err(),
                EditorError::DocumentNotFound,
                "{path}"
            );
            assert_eq!(
                bench.editor.root().read(&note(path), 100).unwrap_err(),
                crate::ReadError::NotFound
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn links_inside_the_root_and_permissions_are_kept() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let bench = Bench::new(&[("real/a.md", SAMPLE)]);
    symlink("real/a.md", bench.path("link.md")).unwrap();
    fs::set_permissions(bench.path("real/a.md"), fs::Permissions::from_mode(0o640)).unwrap();
    let id = bench.id("link.md", "Beta");
    assert_eq!(bench.id("real/a.md", "Beta"), id, "it is one document");
    bench.write(update("link.md", by_id(&id), "x")).unwrap();
    assert!(
        fs::symlink_metadata(bench.path("link.md"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(bench.text("real/a.md"), SAMPLE.replace("Beta body.", "x"));
    assert_eq!(
        fs::metadata(bench.path("real/a.md")).unwrap().mode() & 0o777,
        0o640
    );
}

#[test]
fn large_deletions_want_a_confirmation_only_where_a_limit_says_so() {
    let long = format!("# A\n\n{}\n\n# B\n", "x".repeat(100_000));
    let bench = Bench::new(&[("a.md", &long)]);
    let mut request = request(vec![delete("a.md", by_heading("A"))]);
    bench.editor.write(&request, CallHooks::none()).unwrap();
    assert_eq!(bench.text("a.md"), "# B\n");
    bench.undo("a.md").unwrap();

    let limits = EditorLimits {
        confirm_delete_bytes: Some(100_000),
        ..EditorLimits::default()
    };
    let editor = open_within(bench.folder.path(), limits);
    assert!(matches!(
        editor.write(&request, CallHooks::none()).unwrap_err(),
        EditorError::NotConfirmed { bytes: 100_005 }
    ));
    assert_eq!(bench.text("a.md"), long);
    request.confirmed = true;
    editor.write(&request, CallHooks::none()).unwrap();
    assert_eq!(bench.text("a.md"), "# B\n");
}

#[test]
fn documents_that_are_not_utf8_can_be_read_but_not_edited() {
    let bench = Bench::new(&[]);
    fs::write(bench.path("l.md"), b"# T\n\ncaf\xe9\n\n## A\n\na\n").unwrap();
    assert_eq!(bench.editor.view(&note("l.md")).unwrap().ids().len(), 2);
    let error = bench
        .write(update("l.md", by_heading("A"), "x"))
        .unwrap_err();
    assert_eq!(
        error,
        EditorError::Edit(sectile_markdown::edit::EditError::NotUtf8)
    );
}

#[cfg(unix)]
#[test]
fn a_single_document_behind_a_link_is_the_file_it_leads_to() {
    let bench = Bench::new(&[("real/a.md", SAMPLE), ("real/b.md", SAMPLE)]);
    std::os::unix::fs::symlink("real/a.md", bench.path("link.md")).unwrap();
    let editor = Editor::document(&bench.path("link.md"), options()).unwrap();
    let only = editor.only().unwrap().clone();
    let id = editor.view(&only).unwrap().ids()[3].clone();
    let operation = Operation::Update(UpdateSection {
        path: None,
        section: by_id(&id),
        content: "x".to_owned(),
        scope: Scope::Body,
        headings: PayloadHeadings::Inside,
        expected_hash: None,
    });
    write(&editor, vec![operation]).unwrap();
    assert_eq!(bench.text("real/a.md"), SAMPLE.replace("Beta body.", "x"));
    assert!(bench.path("real/.sectile").exists());
    assert_eq!(
        editor.view(&note("b.md")).unwrap_err(),
        EditorError::DocumentNotFound
    );
}

#[test]
fn what_is_read_back_is_compared_and_a_late_writer_is_reported() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let beta = bench.id("a.md", "Beta");
    let quiet = bench.write(update("a.md", by_id(&beta), "one")).unwrap();
    assert!(!quiet.changed_since);
    let path = bench.path("a.md");
    let theirs = SAMPLE.replace("Intro text.", "Theirs.");
    let text = theirs.clone();
    crate::fault::before_step("read_back", move || fs::write(path, text).unwrap());
    let report = bench.write(update("a.md", by_id(&beta), "two")).unwrap();
    assert!(report.changed_since);
    assert_eq!(bench.text("a.md"), theirs);
    let view = bench.editor.view(&note("a.md")).unwrap();
    assert!(
        view.revision() > report.entry.unwrap(),
        "it is in the history"
    );
}

#[test]
fn what_is_written_into_the_replaced_file_is_kept_and_counted() {
    use std::io::Write as _;
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let beta = bench.id("a.md", "Beta");
    let mut open = fs::OpenOptions::new()
        .append(true)
        .open(bench.path("a.md"))
        .unwrap();
    crate::fault::before_step("flush_folder", move || open.write_all(b"late").unwrap());
    let report = bench.write(update("a.md", by_id(&beta), "one")).unwrap();
    assert_eq!(report.rescued, 1);
    assert_eq!(bench.text("a.md"), SAMPLE.replace("Beta body.", "one"));
    let kept = fs::read_dir(bench.path(".sectile"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("rescued-")
        })
        .unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), format!("{SAMPLE}late"));
}

#[test]
fn a_document_is_deleted_only_as_it_was_read() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let hash = short_hash(bench.editor.view(&note("a.md")).unwrap().hash());
    bench
        .write(update("a.md", by_heading("Beta"), "x"))
        .unwrap();
    let delete = |hash: String| {
        Operation::DeleteDocument(DeleteDocument {
            path: note("a.md"),
            expected_hash: Some(hash),
        })
    };
    assert_eq!(
        bench.write(delete(hash)).unwrap_err(),
        EditorError::DocumentChanged
    );
    let now = short_hash(bench.editor.view(&note("a.md")).unwrap().hash());
    bench.write(delete(now)).unwrap();
    assert!(!bench.path("a.md").exists());
}
