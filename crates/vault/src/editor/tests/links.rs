//! Links: repaired with their targets, reported when they break, checked on demand.

use std::cell::{Cell, RefCell};

use sectile_markdown::edit::PayloadHeadings;

use super::*;
use crate::Walk;

mod enclosures;
mod obsidian;
mod properties;

fn rename(path: &str, section: SectionRef, heading: &str) -> Operation {
    Operation::Rename(RenameSection {
        path: Some(note(path)),
        section,
        heading: heading.to_owned(),
        level: None,
        repair_links: true,
        expected_hash: None,
    })
}

fn rename_only(path: &str, section: SectionRef, heading: &str) -> Operation {
    match rename(path, section, heading) {
        Operation::Rename(RenameSection {
            path,
            section,
            heading,
            level,
            expected_hash,
            ..
        }) => Operation::Rename(RenameSection {
            path,
            section,
            heading,
            level,
            repair_links: false,
            expected_hash,
        }),
        other => other,
    }
}

fn rename_document(path: &str, new_path: &str) -> Operation {
    Operation::RenameDocument(RenameDocument {
        path: note(path),
        new_path: note(new_path),
        repair_links: true,
    })
}

/// The broken links of a report, in short form.
fn broken(links: &[BrokenLink]) -> Vec<String> {
    links
        .iter()
        .map(|link| {
            format!(
                "{}:{} {}: {}",
                link.path, link.line, link.target, link.reason
            )
        })
        .collect()
}

/// All documents with their texts.
fn texts(bench: &Bench) -> Vec<(String, Vec<u8>)> {
    let all = bench.editor.documents(&|| false).unwrap();
    all.iter()
        .map(|path| {
            (
                path.as_str().to_owned(),
                fs::read(bench.path(path.as_str())).unwrap(),
            )
        })
        .collect()
}

#[test]
fn a_renamed_heading_takes_its_links_along_in_every_form() {
    let guide = "---\nlink: \"[x](#set-up)\"\n---\n# Guide\n\n## Set up\n\nSee [a](#set-up) and `[b](#set-up)`.\n\n## Other\n\n[[#Set up]]\n";
    let documents = [
        ("docs/guide.md", guide),
        (
            "index.md",
            "[g](docs/guide.md#set-up \"t\") [h](docs/guide#Set%20up)\n[[guide#Set up|x]] [[docs/guide#Guide#Set up]]\n\n[r]: <docs/guide.md#set-up>\n[r]\n",
        ),
        (
            "docs/near.md",
            "# Near\r\n\r\n> [g](guide.md#set-up)\r\n> - ![[guide#set up]]\r\n",
        ),
        (
            "other.md",
            "# Set up\n\n[own](#set-up) [web](https://example.org/guide.md#set-up) [no](docs/none.md#set-up)\n",
        ),
        ("plain.md", "no links, only docs/guide.md#set-up\n"),
    ];
    let bench = Bench::new(&documents);
    let before = texts(&bench);
    let report = bench
        .write(rename(
            "docs/guide.md",
            by_heading("Set up"),
            "Getting ready!",
        ))
        .unwrap();
    assert_eq!(report.repaired_links, 10);
    assert_eq!(broken(&report.broken_links), [""; 0]);
    assert_eq!(
        bench.text("docs/guide.md"),
        "---\nlink: \"[x](#getting-ready)\"\n---\n# Guide\n\n## Getting ready!\n\nSee [a](#getting-ready) and `[b](#set-up)`.\n\n## Other\n\n[[#Getting ready!]]\n"
    );
    assert_eq!(
        bench.text("index.md"),
        "[g](docs/guide.md#getting-ready \"t\") [h](docs/guide#Getting%20ready!)\n[[guide#Getting ready!|x]] [[docs/guide#Guide#Getting ready!]]\n\n[r]: <docs/guide.md#getting-ready>\n[r]\n"
    );
    assert_eq!(
        bench.text("docs/near.md"),
        "# Near\r\n\r\n> [g](guide.md#getting-ready)\r\n> - ![[guide#Getting ready!]]\r\n"
    );
    assert_eq!(bench.text("other.md"), documents[3].1);
    assert_eq!(report.documents.len(), 3);

    let after = texts(&bench);
    bench.undo("index.md").unwrap();
    assert_eq!(texts(&bench), before);
    bench.redo("docs/near.md").unwrap();
    assert_eq!(texts(&bench), after);
}

#[test]
fn anchors_that_shift_with_another_heading_are_repaired() {
    let text = "# T\n\n## Notes\n\n1\n\n## Notes\n\n2\n\n> ## Notes\n> quoted\n\n## Notes\n\n3\n\n[1](#notes) [2](#notes-1) [q](#notes-2) [3](#notes-3)\n";
    let bench = Bench::new(&[
        ("a.md", text),
        ("b.md", "[3](a.md#notes-3) [q](a.md#notes-2)\n"),
    ]);
    let first = bench.editor.view(&note("a.md")).unwrap().ids()[1].clone();
    let report = bench.write(rename("a.md", by_id(&first), "First")).unwrap();
    assert_eq!(report.repaired_links, 6);
    assert!(
        bench
            .text("a.md")
            .ends_with("[1](#first) [2](#notes) [q](#notes-1) [3](#notes-2)\n")
    );
    assert_eq!(bench.text("b.md"), "[3](a.md#notes-2) [q](a.md#notes-1)\n");
    // Back to the old name, and then to another place: the others shift again.
    bench.write(rename("a.md", by_id(&first), "Notes")).unwrap();
    assert_eq!(bench.text("a.md"), text);
    let report = bench.write(relocate(by_id(&first), None, 3)).unwrap();
    assert_eq!(broken(&report.broken_links), [""; 0]);
    assert_eq!(bench.text("b.md"), "[3](a.md#notes-2) [q](a.md#notes-1)\n");
    assert!(
        bench
            .text("a.md")
            .contains("[1](#notes-3) [2](#notes) [q](#notes-1) [3](#notes-2)")
    );
}

#[test]
fn a_section_in_another_document_is_followed_and_its_own_links_still_lead_there() {
    let bench = Bench::new(&[
        (
            "a.md",
            "# A\n\n[m](#moved) [c](#child)\n\n## Moved\n\n[up](#a) [down](#child) [pic](img/p.png) [b](sub/b.md#b) [[#Child]]\n\n### Child\n\nText.\n\n## Last\n",
        ),
        (
            "sub/b.md",
            "# B\r\n\r\n[x](../a.md#moved)\r\n\r\n## Child\r\n\r\nOwn.\r\n",
        ),
        ("c.md", "[[a#Moved]] [[a#Child]] [d](a.md#last)\n"),
        ("img/p.png", ""),
    ]);
    let before = texts(&bench);
    let moved = bench.id("a.md", "Moved");
    let report = bench
        .write(Operation::Move(MoveSection {
            path: None,
            section: by_id(&moved),
            at: Placement::Next {
                relative: RelativePlacement::LastChild,
                anchor: by_heading("B"),
            },
            to: Some(note("sub/b.md")),
            level: None,
            expected_hash: None,
        }))
        .unwrap();
    assert_eq!(broken(&report.broken_links), [""; 0]);
    assert_eq!(
        bench.text("a.md"),
        "# A\n\n[m](sub/b.md#moved) [c](sub/b.md#child-1)\n\n## Last\n"
    );
    assert_eq!(
        bench.text("sub/b.md"),
        "# B\r\n\r\n[x](b.md#moved)\r\n\r\n## Child\r\n\r\nOwn.\r\n\r\n## Moved\r\n\r\n[up](../a.md#a) [down](#child-1) [pic](../img/p.png) [b](b.md#b) [[#Moved#Child]]\r\n\r\n### Child\r\n\r\nText.\r\n"
    );
    assert_eq!(
        bench.text("c.md"),
        "[[b#Moved]] [[b#Moved#Child]] [d](a.md#last)\n"
    );
    bench.undo("c.md").unwrap();
    assert_eq!(texts(&bench), before);
}

#[test]
fn a_renamed_document_is_followed_and_takes_its_relative_links_along() {
    let bench = Bench::new(&[
        (
            "a/one.md",
            "# One\n\n[t](two.md#two) [p](img/p.png) [d](img/) [r](/root.md) [s](#one) ![[p.png]] [[two]] [self](one.md)\n",
        ),
        (
            "a/two.md",
            "# Two\n\n[o](one.md) [f](./one.md#one) [n](one) [[one]] [[a/one#One|x]]\n",
        ),
        ("a/img/p.png", ""),
        ("root.md", "[o](a/one.md#one)\n"),
        ("b/other.md", "[[new]]\n"),
        ("c/new.md", "# New\n"),
    ]);
    let before = texts(&bench);
    let report = bench
        .write(rename_document("a/one.md", "b/deep/new.md"))
        .unwrap();
    assert_eq!(broken(&report.broken_links), [""; 0]);
    assert!(!bench.path("a/one.md").exists());
    assert_eq!(
        bench.text("b/deep/new.md"),
        "# One\n\n[t](../../a/two.md#two) [p](../../a/img/p.png) [d](../../a/img/) [r](/root.md) [s](#one) ![[p.png]] [[two]] [self](new.md)\n"
    );
    assert_eq!(
        bench.text("a/two.md"),
        "# Two\n\n[o](../b/deep/new.md) [f](../b/deep/new.md#one) [n](../b/deep/new) [[b/deep/new]] [[b/deep/new#One|x]]\n"
    );
    assert_eq!(bench.text("root.md"), "[o](b/deep/new.md#one)\n");
    assert_eq!(
        bench.text("b/other.md"),
        "[[c/new]]\n",
        "it would be ambiguous"
    );
    let after = texts(&bench);
    bench.undo("root.md").unwrap();
    assert_eq!(texts(&bench), before);
    bench.redo("root.md").unwrap();
    assert_eq!(texts(&bench), after);
    assert_eq!(
        bench
            .reopened()
            .check_links(None, CallHooks::none())
            .unwrap()
            .broken,
        []
    );
}

#[test]
fn a_batch_repairs_once_and_only_what_it_is_asked_to() {
    let bench = Bench::new(&[
        ("a.md", "# A\n\n## One\n\n## Two\n\n## Three\n"),
        ("b.md", "[1](a.md#one) [2](a.md#two) [3](a.md#three)\n"),
    ]);
    let operations = vec![
        rename("a.md", by_heading("One"), "Uno"),
        rename_only("a.md", by_heading("Two"), "Due"),
        rename_document("a.md", "c/a.md"),
    ];
    let report = bench
        .editor
        .write(&request(operations), CallHooks::none())
        .unwrap();
    assert_eq!(
        bench.text("b.md"),
        "[1](c/a.md#uno) [2](a.md#two) [3](c/a.md#three)\n"
    );
    assert_eq!(
        broken(&report.broken_links),
        ["b.md:1 a.md#two: no such document"]
    );
    assert_eq!(report.repaired_links, 2);
}

#[test]
fn a_link_in_a_heading_changes_the_heading_and_links_to_that_follow() {
    let bench = Bench::new(&[
        ("a.md", "# A\n"),
        ("b.md", "# See [[a#A]]\n"),
        ("c.md", "[b](b.md#see-aa)\n"),
    ]);
    let report = bench.write(rename("a.md", by_heading("A"), "Z")).unwrap();
    assert_eq!(bench.text("b.md"), "# See [[a#Z]]\n");
    assert_eq!(bench.text("c.md"), "[b](b.md#see-az)\n");
    assert_eq!((report.repaired_links, report.documents.len()), (2, 3));
}

#[test]
fn broken_links_are_reported() {
    let bench = Bench::new(&[
        (
            "a.md",
            "# A\n\n## One\n\n1\n\n## One\n\n2\n\n## Three\n\n3\n",
        ),
        (
            "b.md",
            "\n[1](a.md#one) [2](a.md#one-1)\n[[a#Three]] [old](a.md#gone)\n",
        ),
        ("c.md", "[b](b.md)\n"),
    ]);
    let ids = bench.editor.view(&note("a.md")).unwrap().ids().to_vec();
    let report = bench.write(delete("a.md", by_id(&ids[1]))).unwrap();
    assert_eq!(
        broken(&report.broken_links),
        [
            "b.md:2 a.md#one: now leads to another section",
            "b.md:2 a.md#one-1: no such heading"
        ]
    );
    let report = bench.undo("a.md").unwrap();
    assert_eq!(broken(&report.broken_links), [""; 0]);
    let report = bench.redo("a.md").unwrap();
    assert_eq!(report.broken_links.len(), 2);
    bench.undo("a.md").unwrap();

    let report = bench
        .write(rename_only("a.md", by_heading("Three"), "Four"))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["b.md:3 a#Three: no such heading"]
    );
    let report = bench
        .write(Operation::DeleteDocument(DeleteDocument {
            path: note("b.md"),
            expected_hash: None,
        }))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["c.md:1 b.md: no such document"]
    );
    let report = bench
        .write(Operation::CreateDocument(CreateDocument {
            path: note("d.md"),
            content: "# D\n\n[ok](a.md#four) [no](a.md#nine) [[Nowhere]] [[c]] [x](../x.md) [f](.) [w](https://no.where)\n".to_owned(),
        }))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        [
            "d.md:3 a.md#nine: no such heading",
            "d.md:3 Nowhere: no such document",
            "d.md:3 ../x.md: outside the folder"
        ]
    );
    let report = bench
        .write(update(
            "a.md",
            by_heading("Four"),
            "[old](no.md)\n[own](#a)",
        ))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["a.md:13 no.md: no such document"]
    );
    // A link that was broken before is not reported again.
    let report = bench.write(insert("a.md", "More", 1)).unwrap();
    assert_eq!(broken(&report.broken_links), [""; 0]);
    let edit = Operation::EditText(EditText {
        path: Some(note("a.md")),
        section: None,
        old_text: "no.md".to_owned(),
        new_text: "neither.md".to_owned(),
        expected_count: 1,
        scope: Scope::Body,
        expected_hash: None,
    });
    let report = bench.write(edit).unwrap();
    assert_eq!(
        report.broken_links.len(),
        1,
        "a change inside of a link is noticed"
    );
}

#[test]
fn many_broken_links_are_counted_and_long_ones_cut() {
    let long = "x".repeat(1000);
    let content: String = (0..80).map(|n| format!("[a]({long}{n}.md)\n")).collect();
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let report = bench
        .write(update("a.md", by_heading("Beta"), &content))
        .unwrap();
    assert_eq!(
        (report.broken_links.len(), report.broken_links_more),
        (50, 30)
    );
    assert_eq!(report.broken_links[0].target.len(), 200);
    assert_eq!(
        report.broken_links[49].line,
        report.broken_links[0].line + 49
    );
}

#[test]
fn html_anchors_that_go_are_noticed() {
    let bench = Bench::new(&[
        ("a.md", "# A\n\n<a name=\"here\"></a>\n"),
        ("b.md", "[h](a.md#here)\n"),
    ]);
    let report = bench
        .write(update("a.md", by_heading("A"), "gone"))
        .unwrap();
    assert_eq!(
        broken(&report.broken_links),
        ["b.md:1 a.md#here: no such heading"]
    );
}

#[test]
fn links_are_checked_in_one_document_or_in_all() {
    let bench = Bench::new(&[
        (
            "a.md",
            "# A\n\n[ok](b.md#b) [no](b.md#c) [own](#a) [own no](#x) [pic](p.png#x) [folder](sub/) [here](.)\n[[B]] [[B#c]] [[nix]] ![[p.png]] [web](http://x.y/z) [[same]]\n",
        ),
        ("b.md", "# B\n\n[x](x.md)\n"),
        ("one/same.md", ""),
        ("two/same.md", ""),
        ("sub/c.md", "[a](../a.md) <a href=\"none.md\">\n"),
        ("p.png", "x"),
        (".hidden/h.md", "[x](x.md)\n"),
    ]);
    let check = bench
        .editor
        .check_links(Some(&note("a.md")), CallHooks::none())
        .unwrap();
    assert_eq!((check.documents, check.links, check.more), (1, 12, 0));
    let expected = [
        "a.md:3 b.md#c: no such heading",
        "a.md:3 #x: no such heading",
        "a.md:4 nix: no such document",
        "a.md:4 same: several documents have this name",
        "a.md:4 B#c: no such heading",
    ];
    let mut found = broken(&check.broken);
    found.sort();
    let mut sorted = expected.to_vec();
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    let seen = RefCell::new(Vec::new());
    let watch = CallHooks {
        names: None,
        stop: &|| false,
        progress: &|done, total| seen.borrow_mut().push((done, total)),
    };
    let check = bench.editor.check_links(None, watch).unwrap();
    assert_eq!(
        (check.documents, check.links, check.broken.len()),
        (5, 15, 7)
    );
    assert!(seen.borrow().iter().all(|(_, total)| *total == Some(5)));
    assert_eq!(
        bench
            .editor
            .check_links(Some(&note("none.md")), CallHooks::none()),
        Err(EditorError::DocumentNotFound)
    );
    assert_eq!(
        bench.editor.check_links(None, CallHooks::until(&|| true)),
        Err(EditorError::Cancelled)
    );
}

#[test]
fn giving_up_leaves_everything_as_it_was() {
    let bench = Bench::new(&[
        ("a.md", "# A\n"),
        ("b.md", "[a](a.md#a)\n"),
        ("c.md", "[a](a.md#a)\n"),
    ]);
    let before = texts(&bench);
    for calls in 1.. {
        let left = Cell::new(calls);
        let stop = || {
            left.set(left.get() - 1);
            left.get() < 0
        };
        let result = bench.editor.write(
            &request(vec![rename("a.md", by_heading("A"), "Z")]),
            CallHooks::until(&stop),
        );
        match result {
            Ok(report) => {
                assert_eq!(report.repaired_links, 2);
                assert!(calls > 3, "it was asked between documents: {calls}");
                break;
            }
            Err(error) => {
                assert_eq!(error, EditorError::Cancelled);
                assert_eq!(texts(&bench), before);
            }
        }
    }
}

#[test]
fn what_is_ignored_or_no_text_is_left_alone() {
    let bench = Bench::new(&[
        ("a.md", "# A\n"),
        (".gitignore", "built/\n"),
        ("built/b.md", "[a](../a.md#a)\n"),
        ("drafts/d.md", "[a](../a.md#a)\n"),
        ("n.txt", "[a](a.md#a)\n"),
        ("ok.md", "[a](a.md#a)\n"),
    ]);
    fs::write(bench.path("latin.md"), b"caf\xe9 [a](a.md#a)\n").unwrap();
    let walk = Walk::new(Vec::new(), vec!["drafts/".to_owned()]).unwrap();
    let options = EditorOptions { walk, ..options() };
    let editor = Editor::folder(bench.folder.path(), options).unwrap();
    let report = editor
        .write(
            &request(vec![rename("a.md", by_heading("A"), "Z")]),
            CallHooks::none(),
        )
        .unwrap();
    assert_eq!(report.repaired_links, 1);
    assert_eq!(
        broken(&report.broken_links),
        ["latin.md:1 a.md#a: no such heading"]
    );
    assert_eq!(bench.text("built/b.md"), "[a](../a.md#a)\n");
    assert_eq!(bench.text("drafts/d.md"), "[a](../a.md#a)\n");
    assert_eq!(bench.text("ok.md"), "[a](a.md#z)\n");
}

#[test]
fn an_editor_of_one_document_touches_and_tells_of_no_other() {
    let bench = Bench::new(&[
        ("a.md", "# A\n\n[self](a.md#a) [own](#a) [[a#A]]\n"),
        ("b.md", "[a](a.md#a)\n"),
    ]);
    let editor = Editor::document(&bench.path("a.md"), options()).unwrap();
    assert_eq!(editor.documents(&|| false).unwrap(), [note("a.md")]);
    let operations = vec![
        rename("a.md", by_heading("A"), "Z"),
        insert_text(
            "a.md",
            "New",
            "[b](b.md#nope) [n](none.md) [[x]] [bad](#bad)",
        ),
    ];
    let report = editor
        .write(&request(operations), CallHooks::none())
        .unwrap();
    assert_eq!(report.repaired_links, 3);
    assert_eq!(
        broken(&report.broken_links),
        ["a.md:7 #bad: no such heading"]
    );
    assert!(
        bench
            .text("a.md")
            .starts_with("# Z\n\n[self](a.md#z) [own](#z) [[a#Z]]\n")
    );
    assert_eq!(bench.text("b.md"), "[a](a.md#a)\n");
    let check = editor.check_links(None, CallHooks::none()).unwrap();
    assert_eq!(
        (check.documents, check.links, check.broken.len()),
        (1, 7, 1)
    );
}

fn insert_text(path: &str, heading: &str, content: &str) -> Operation {
    Operation::Insert(InsertSection {
        path: Some(note(path)),
        heading: heading.to_owned(),
        content: content.to_owned(),
        at: Placement::Position(1),
        level: None,
        headings: PayloadHeadings::Inside,
        label: None,
    })
}

#[test]
fn a_link_written_in_the_same_request_means_what_will_be_there() {
    let bench = Bench::new(&[("a.md", "# T\n\n## A\n\n[a](#a)\n")]);
    let operations = vec![
        rename("a.md", by_heading("A"), "B"),
        insert_text("a.md", "A", "[the new one](#a) and [the other](#b)"),
    ];
    bench
        .editor
        .write(&request(operations), CallHooks::none())
        .unwrap();
    assert_eq!(
        bench.text("a.md"),
        "# T\n\n## A\n\n[the new one](#a) and [the other](#b)\n\n## B\n\n[a](#b)\n"
    );
}

#[test]
fn a_dry_run_shows_repairs_and_its_plan_makes_them() {
    let bench = Bench::new(&[("a.md", "# A\n"), ("b.md", "[a](a.md#a)\n")]);
    let before = texts(&bench);
    let mut dry = request(vec![rename("a.md", by_heading("A"), "Z")]);
    dry.dry_run = true;
    let report = bench.editor.write(&dry, CallHooks::none()).unwrap();
    assert_eq!((report.repaired_links, report.documents.len()), (1, 2));
    assert_eq!(texts(&bench), before);
    let token = report.plan.unwrap();
    bench
        .editor
        .apply_plan(&token, false, CallHooks::none())
        .unwrap();
    assert_eq!(bench.text("b.md"), "[a](a.md#z)\n");
}

#[cfg(unix)]
#[test]
fn a_document_behind_a_link_is_the_same_document() {
    let bench = Bench::new(&[
        ("real/a.md", "# A\n"),
        ("b.md", "[a](alias.md#a) [b](real/a.md#a)\n"),
    ]);
    std::os::unix::fs::symlink("real/a.md", bench.path("alias.md")).unwrap();
    bench
        .write(rename("alias.md", by_heading("A"), "Z"))
        .unwrap();
    assert_eq!(bench.text("b.md"), "[a](alias.md#z) [b](real/a.md#z)\n");
    bench.write(rename_document("real/a.md", "c.md")).unwrap();
    assert_eq!(bench.text("b.md"), "[a](c.md#z) [b](c.md#z)\n");
}

#[test]
fn hundreds_of_documents_are_one_step() {
    let names: Vec<String> = (0..300).map(|n| format!("d{}/n{n}.md", n % 7)).collect();
    let text = "# N\n\nText [a](../hub.md#hub) and [[hub#Hub]].\n";
    let mut documents: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text)).collect();
    documents.push(("hub.md", "# Hub\n"));
    let bench = Bench::new(&documents);
    let before = texts(&bench);
    let report = bench
        .write(rename("hub.md", by_heading("Hub"), "Centre"))
        .unwrap();
    assert_eq!((report.repaired_links, report.documents.len()), (600, 301));
    assert_eq!(
        bench.text("d3/n3.md"),
        "# N\n\nText [a](../hub.md#centre) and [[hub#Centre]].\n"
    );
    bench.undo("hub.md").unwrap();
    assert_eq!(texts(&bench), before);
}

#[test]
fn two_renames_at_once_both_find_their_links() {
    let links: Vec<String> = (0..20).map(|n| format!("l{n}.md")).collect();
    let text = "[a](a.md#a) [b](b.md#b)\n";
    let mut documents: Vec<(&str, &str)> = links.iter().map(|path| (path.as_str(), text)).collect();
    documents.extend([("a.md", "# A\n"), ("b.md", "# B\n")]);
    let bench = Bench::new(&documents);
    std::thread::scope(|scope| {
        for path in ["a.md", "b.md"] {
            let editor = bench.reopened();
            scope.spawn(move || {
                let id = editor.view(&note(path)).unwrap().ids()[0].clone();
                for round in 0..5 {
                    let operation = rename(path, by_id(&id), &format!("Round {round}"));
                    let report = editor
                        .write(&request(vec![operation]), CallHooks::none())
                        .unwrap();
                    assert_eq!((report.repaired_links, report.broken_links.len()), (20, 0));
                }
            });
        }
    });
    assert_eq!(bench.text("l7.md"), "[a](a.md#round-4) [b](b.md#round-4)\n");
}

#[test]
fn names_that_are_written_with_escapes_or_are_hard_to_compare_are_found() {
    let bench = Bench::new(&[
        ("Straße ü.md", "# A\n"),
        (
            "b.md",
            "[a](Stra%C3%9Fe%20%C3%BC.md#a) [e](<Stra&szlig;e ü.md#a>) [[STRASSE]] [[straße u\u{308}#A]]\n",
        ),
        ("c.md", "# Unrelated\n\n[x](b.md)\n"),
    ]);
    bench
        .write(rename("Straße ü.md", by_heading("A"), "Z"))
        .unwrap();
    assert_eq!(
        bench.text("b.md"),
        "[a](Stra%C3%9Fe%20%C3%BC.md#z) [e](<Stra&szlig;e ü.md#z>) [[STRASSE]] [[straße u\u{308}#Z]]\n"
    );
    bench
        .write(rename_document("Straße ü.md", "日本.md"))
        .unwrap();
    assert_eq!(
        bench.text("b.md"),
        "[a](%E6%97%A5%E6%9C%AC.md#z) [e](<日本.md#z>) [[STRASSE]] [[日本#Z]]\n"
    );
    bench.write(rename_document("日本.md", "d.md")).unwrap();
    assert_eq!(
        bench.text("b.md"),
        "[a](d.md#z) [e](<d.md#z>) [[STRASSE]] [[d#Z]]\n"
    );
}
