//! Sections named by their headings, ids that a dry run promises, and times.

use super::*;

const NAMED: &str =
    "# Title\n\n## Use `run` *now*\n\nCode.\n\n## Cafe\u{301}\n\nDrinks.\n\n## Tasks\n\nNone.\n";

#[test]
fn a_write_finds_a_heading_as_it_is_shown_and_as_it_is_written() {
    for (given, gone) in [
        ("Use run now", "## Use `run` *now*\n\nCode.\n\n"),
        ("Use `run` *now*", "## Use `run` *now*\n\nCode.\n\n"),
        ("## Use `run` *now*", "## Use `run` *now*\n\nCode.\n\n"),
        ("Caf\u{e9}", "## Cafe\u{301}\n\nDrinks.\n\n"),
        ("Cafe\u{301}", "## Cafe\u{301}\n\nDrinks.\n\n"),
        ("# Cafe\u{301}", "## Cafe\u{301}\n\nDrinks.\n\n"),
    ] {
        let bench = Bench::new(&[("a.md", NAMED)]);
        bench.write(delete("a.md", by_heading(given))).unwrap();
        assert_eq!(bench.text("a.md"), NAMED.replace(gone, ""), "{given:?}");
    }
}

#[test]
fn case_is_ignored_for_reading_and_never_for_a_write() {
    let bench = Bench::new(&[("a.md", NAMED)]);
    let tasks = bench.id("a.md", "Tasks");
    for given in ["tasks", "TASKS", "## tasks", "CAFE\u{301}", "use RUN now"] {
        let read = |case| {
            bench
                .editor
                .find_section(Some(&note("a.md")), &by_heading(given), case)
        };
        let (_, position) = read(LetterCase::MayDiffer).unwrap();
        for operation in [
            delete("a.md", by_heading(given)),
            update("a.md", by_heading(given), "New."),
        ] {
            match bench.write(operation).unwrap_err() {
                EditorError::SectionNotFound { near, .. } => {
                    assert_eq!(near[0].position, position, "{given:?}: {near:?}");
                }
                error => panic!("{given:?}: {error}"),
            }
        }
        assert!(read(LetterCase::Matters).is_err(), "{given:?}");
    }
    let both = SectionRef {
        id: Some(tasks),
        heading: Some("tasks".to_owned()),
    };
    let error = bench.write(delete("a.md", both)).unwrap_err();
    assert!(matches!(error, EditorError::BadReference(_)), "{error}");
    assert_eq!(bench.text("a.md"), NAMED);
}

#[test]
fn a_dry_run_promises_the_id_that_the_plan_gives() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let mut dry = request(vec![insert("a.md", "New", 0), insert("a.md", "Newer", 1)]);
    dry.dry_run = true;
    let promised = |report: &WriteReport| -> Vec<String> {
        let steps = report.steps.iter();
        steps
            .map(|step| step.section.as_ref().unwrap().id.clone())
            .collect()
    };
    let first = bench.editor.write(&dry, CallHooks::none()).unwrap();
    let again = bench.editor.write(&dry, CallHooks::none()).unwrap();
    assert_eq!(promised(&first), promised(&again), "one plan, one promise");
    assert!(!bench.editor.knows(&promised(&first)[0]));
    let token = first.plan.clone().unwrap();
    let applied = bench
        .editor
        .apply_plan(&token, false, CallHooks::none())
        .unwrap();
    assert_eq!(promised(&applied), promised(&first));
    assert_eq!(bench.id("a.md", "New"), promised(&first)[0]);
    bench.undo("a.md").unwrap();
    // The ids are those of sections that are gone now, so another plan has different ones.
    let other = bench.editor.write(&dry, CallHooks::none()).unwrap();
    assert!(
        promised(&other)
            .iter()
            .all(|id| !promised(&first).contains(id))
    );
}

fn later() -> i64 {
    clock() + 86_400_000
}

#[test]
fn the_time_of_a_document_follows_edits_by_the_clock_of_the_editor() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let modified = |editor: &Editor| {
        let view = editor.view(&note("a.md")).unwrap();
        editor.modified(&view).unwrap()
    };
    let of_file = || bench.editor.root().times(&note("a.md")).modified.unwrap();
    assert_eq!(modified(&bench.editor), of_file(), "nobody edited it yet");
    bench
        .write(update("a.md", by_heading("Beta"), "One."))
        .unwrap();
    assert_eq!(modified(&bench.editor), clock());
    let options = EditorOptions {
        clock: later,
        ..options()
    };
    let editor = Editor::folder(bench.folder.path(), options).unwrap();
    write(&editor, vec![update("a.md", by_heading("Beta"), "Two.")]).unwrap();
    assert_eq!(modified(&editor), later());
    // Text from another program has the time of its file.
    fs::write(bench.path("a.md"), SAMPLE).unwrap();
    assert_eq!(modified(&editor), of_file());
}

#[test]
fn only_a_markdown_file_is_edited_by_itself() {
    let bench = Bench::new(&[
        ("a.md", SAMPLE),
        ("a.png", "x"),
        ("notes.txt", "x"),
        ("MD", "x"),
    ]);
    for name in ["a.png", "notes.txt", "MD"] {
        let error = Editor::document(&bench.path(name), options()).unwrap_err();
        assert_eq!(error, RootError::NotMarkdown, "{name}");
    }
    Editor::document(&bench.path("a.md"), options()).unwrap();
}
