//! Plans named in a request: it does exactly what the dry run showed, or nothing.

use proptest::prelude::*;

use super::{
    folders::{files, rename_folder},
    *,
};

const LINKED: &[(&str, &str)] = &[
    ("a.md", SAMPLE),
    ("b.md", "# B\n\nSee [[a#Beta]] and [[dir/c]].\n"),
    ("dir/c.md", "# C\n\n[a](../a.md)\n\n## Part\n\nText.\n"),
    ("far.md", "# Far\n\nNothing to do with it.\n"),
];

/// A request that only reports.
fn dry(operation: &Operation) -> WriteRequest {
    WriteRequest {
        dry_run: true,
        ..request(vec![operation.clone()])
    }
}

fn planned(operation: &Operation, token: &str) -> WriteRequest {
    WriteRequest {
        plan: Some(token.to_owned()),
        ..request(vec![operation.clone()])
    }
}

fn preview(editor: &Editor, operation: &Operation) -> WriteReport {
    editor.write(&dry(operation), CallHooks::none()).unwrap()
}

fn apply(editor: &Editor, operation: &Operation, token: &str) -> Result<WriteReport, EditorError> {
    editor.write(&planned(operation, token), CallHooks::none())
}

fn rename_document(path: &str, new_path: &str) -> Operation {
    Operation::RenameDocument(RenameDocument {
        path: note(path),
        new_path: note(new_path),
        repair_links: true,
    })
}

fn delete_document(path: &str) -> Operation {
    Operation::DeleteDocument(DeleteDocument {
        path: note(path),
        expected_hash: None,
    })
}

/// Changes of every kind, in one document or in several.
fn operations() -> Vec<Operation> {
    vec![
        update("a.md", by_heading("Beta"), "Changed."),
        insert("a.md", "New", 1),
        delete("a.md", by_heading("Alpha")),
        rename_document("a.md", "moved/a.md"),
        delete_document("dir/c.md"),
        rename_folder("dir", "other/dir"),
        Operation::Rename(RenameSection {
            path: Some(note("a.md")),
            section: by_heading("Beta"),
            heading: "Gone".to_owned(),
            level: None,
            repair_links: true,
            expected_hash: None,
        }),
    ]
}

/// The files as a dry run says they will be.
fn promised(bench: &Bench, report: &WriteReport) -> Vec<(String, Vec<u8>)> {
    let mut all = files(bench.folder.path());
    for document in &report.documents {
        let old = document.moved_from.as_ref().unwrap_or(&document.path);
        all.retain(|(path, _)| path != old);
        if let Some(view) = &document.view {
            all.push((document.path.clone(), view.bytes().to_vec()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_plan_survives_a_restart_and_is_used_once() {
    for operation in operations() {
        let bench = Bench::new(LINKED);
        let before = files(bench.folder.path());
        let shown = preview(&bench.editor, &operation);
        assert_eq!(files(bench.folder.path()), before);
        let expected = promised(&bench, &shown);
        let token = shown.plan.unwrap();
        assert!(is_plan(&token));
        let editor = bench.reopened();
        assert_eq!(preview(&editor, &operation).plan.as_deref(), Some(&*token));
        let report = apply(&bench.reopened(), &operation, &token).unwrap();
        assert!(report.entry.is_some());
        assert_eq!(files(bench.folder.path()), expected, "{operation:?}");
        assert!(
            apply(&bench.editor, &operation, &token).is_err(),
            "{operation:?}"
        );
        assert_eq!(files(bench.folder.path()), expected);
    }
}

#[test]
fn a_request_that_does_something_else_is_refused() {
    let bench = Bench::new(LINKED);
    let before = files(bench.folder.path());
    let all = operations();
    let tokens: Vec<String> = all
        .iter()
        .map(|operation| preview(&bench.editor, operation).plan.unwrap())
        .collect();
    for (at, operation) in all.iter().enumerate() {
        for (other, token) in tokens.iter().enumerate().filter(|(other, _)| *other != at) {
            let refused = apply(&bench.editor, operation, token).unwrap_err();
            let is_stale = matches!(refused, EditorError::PlanStale | EditorError::PlanDiffers);
            assert!(is_stale, "{at} with the plan of {other}: {refused}");
        }
    }
    // The same documents, changed differently.
    let edit = update("a.md", by_heading("Beta"), "Something else.");
    let refused = apply(&bench.editor, &edit, &tokens[0]);
    assert_eq!(refused.unwrap_err(), EditorError::PlanDiffers);
    let nothing = update("far.md", by_heading("Far"), "Nothing to do with it.");
    assert_eq!(preview(&bench.editor, &nothing).plan, None);
    for token in ["", "x", &tokens[0][..8], &"0".repeat(32), &"é".repeat(40)] {
        for operation in [&all[0], &nothing] {
            assert!(
                apply(&bench.editor, operation, token).is_err(),
                "{operation:?} {token}"
            );
        }
    }
    assert_eq!(files(bench.folder.path()), before);
}

#[test]
fn a_token_tells_nothing_to_those_without_the_key() {
    let bench = Bench::new(LINKED);
    let operation = &operations()[0];
    let token = preview(&bench.editor, operation).plan.unwrap();
    let options = EditorOptions::new(JournalKey::new(&[8; JournalKey::BYTES]), clock);
    let other = Editor::folder(bench.folder.path(), options).unwrap();
    assert_ne!(preview(&other, operation).plan.unwrap(), token);
    assert!(apply(&other, operation, &token).is_err());
}

#[test]
fn a_folder_without_documents_has_a_plan_too() {
    let bench = Bench::new(&[("img/a.png", "png")]);
    let operation = rename_folder("img", "pics");
    let token = preview(&bench.editor, &operation).plan.unwrap();
    let elsewhere = rename_folder("img", "shots");
    assert!(apply(&bench.editor, &elsewhere, &token).is_err());
    apply(&bench.editor, &operation, &token).unwrap();
    assert_eq!(bench.text("pics/a.png"), "png");
}

#[test]
fn new_sections_have_the_ids_that_the_dry_run_gave_them() {
    let bench = Bench::new(LINKED);
    let operation = insert("a.md", "New", 1);
    let shown = preview(&bench.editor, &operation);
    let id = |report: &WriteReport| report.steps[0].section.as_ref().unwrap().id.clone();
    let report = apply(&bench.editor, &operation, shown.plan.as_deref().unwrap()).unwrap();
    assert_eq!(id(&report), id(&shown));
}

#[test]
fn a_document_that_changes_while_the_plan_is_applied_is_left_alone() {
    let operation = update("a.md", by_heading("Beta"), "Changed.");
    let foreign = format!("{SAMPLE}\nWritten meanwhile.\n");
    let mut moments = 0;
    loop {
        let bench = Bench::new(LINKED);
        let token = preview(&bench.editor, &operation).plan.unwrap();
        let path = bench.path("a.md");
        let asked = std::cell::Cell::new(0);
        // The editor asks whether to stop at several moments, the last one just before it commits.
        let stop = || {
            if asked.get() == moments {
                fs::write(&path, &foreign).unwrap();
            }
            asked.set(asked.get() + 1);
            false
        };
        let planned = planned(&operation, &token);
        let result = bench.editor.write(&planned, CallHooks::until(&stop));
        if asked.get() <= moments {
            result.unwrap();
            break;
        }
        assert_eq!(result.unwrap_err(), EditorError::PlanStale, "{moments}");
        assert_eq!(bench.text("a.md"), foreign);
        moments += 1;
    }
    assert!(moments > 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_plan_is_carried_out_to_the_byte_or_not_at_all(
        which in 0..7_usize,
        meanwhile in proptest::collection::vec((0..4_usize, 0..3_usize), 0..3),
    ) {
        let bench = Bench::new(LINKED);
        let operation = &operations()[which];
        let shown = preview(&bench.editor, operation);
        let token = shown.plan.clone().unwrap();
        let (mut touched, start) = (false, files(bench.folder.path()));
        for (document, way) in meanwhile {
            let (path, _) = LINKED[document];
            match way {
                0 => fs::write(bench.path(path), format!("{}x\n", bench.text(path))).unwrap(),
                1 => {
                    let view = bench.editor.view(&note(path)).unwrap();
                    let edit = update(path, by_id(&view.ids()[0]), "Edited.");
                    bench.write(edit).unwrap();
                }
                _ => {
                    bench.editor.view(&note(path)).unwrap();
                }
            }
            let of_plan = shown.documents.iter();
            let mut of_plan = of_plan.map(|one| one.moved_from.as_ref().unwrap_or(&one.path));
            touched |= way < 2 && of_plan.any(|one| one == path);
        }
        let before = files(bench.folder.path());
        let expected = promised(&bench, &shown);
        let result = apply(&bench.reopened(), operation, &token);
        let after = files(bench.folder.path());
        match result {
            Ok(_) => {
                prop_assert!(!touched);
                prop_assert_eq!(after, expected);
            }
            Err(_) => prop_assert_eq!(&after, &before),
        }
        prop_assert!(before != start || !touched);
    }
}
