//! Which section is meant, and where it goes.

use serde_json::{Value, json};

use super::{APPLICATION_ERROR, INVALID_PARAMS, SAMPLE};
use crate::fixture::{Era, TestDocuments};

#[test]
fn ids_stay_through_edits_moves_renames_undo_and_restarts() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let [title, alpha, child, beta, gamma]: [String; 5] = editor.ids().try_into().unwrap();
    editor.ok(
        "update_section",
        json!({ "section_id": beta, "content": "New." }),
    );
    editor.ok(
        "move_section",
        json!({ "section_id": gamma, "new_position": 1 }),
    );
    editor.ok(
        "rename_section",
        json!({ "section_id": alpha, "heading": "Beta" }),
    );
    let before = [&title, &gamma, &alpha, &child, &beta].map(Clone::clone);
    assert_eq!(editor.ids(), before);
    for era in [Era::Stateless, Era::Handshake] {
        editor.leave();
        editor = documents.open_with(era, "");
        assert_eq!(editor.ids(), before, "{era:?}");
    }
    let deleted = editor.ok("delete_section", json!({ "section_id": alpha }));
    editor.leave();
    let mut editor = documents.open();
    for (tool, more) in [
        ("get_section", json!({})),
        ("update_section", json!({ "content": "x" })),
        ("move_section", json!({ "new_position": 0 })),
    ] {
        for gone in [&alpha, &child] {
            let mut arguments = more.clone();
            arguments["section_id"] = json!(gone);
            let refusal = (APPLICATION_ERROR, "section_deleted");
            let error = editor.assert_refused(tool, arguments, refusal);
            assert_eq!(error["data"]["entry"], deleted["entry"], "{error}");
            assert_eq!(error["data"]["section_id"], **gone, "{error}");
        }
    }
    // The same heading again is another section.
    let again = json!({ "heading": "Alpha child", "content": "x", "position": 1 });
    let new = editor.ok("insert_section", again)["section_id"].clone();
    assert_ne!(new, child);
    editor.ok("undo", json!({}));
    editor.ok("undo", json!({}));
    assert_eq!(editor.ids(), before, "undo brings the ids back");
}

#[test]
fn an_id_says_which_section_it_is() {
    let documents = TestDocuments::single("# Größe & Farbe\n\n# 日本語\n\n# !!!\n");
    let ids = documents.open().ids();
    assert!(ids[0].contains("farbe"), "{ids:?}");
    assert_eq!(ids.len(), 3);
    for id in &ids {
        assert!(!id.contains(char::is_whitespace), "{ids:?}");
    }
}

#[test]
fn every_position_from_none_to_all_is_a_place_and_no_other() {
    // Levels are those of the section now at the position, else of the last one.
    let levels = [1, 2, 3, 2, 2, 2];
    for (position, level) in levels.into_iter().enumerate() {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let arguments = json!({ "heading": "New", "content": "n", "position": position });
        let answer = editor.ok("insert_section", arguments);
        assert_eq!(answer["position"], position);
        assert_eq!(answer["level"], level, "{position}");
        let sections = editor.sections();
        assert_eq!(sections[position]["heading"], "New");
        assert_eq!(sections[position]["section_id"], answer["section_id"]);
    }
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    for position in [6, 1_000_000] {
        let arguments = json!({ "heading": "New", "content": "n", "position": position });
        let refusal = (APPLICATION_ERROR, "out_of_range");
        let error = editor.assert_refused("insert_section", arguments, refusal);
        assert_eq!(error["data"]["max"], 5);
        let id = editor.id("Beta");
        let arguments = json!({ "section_id": id, "new_position": position });
        editor.assert_refused("move_section", arguments, refusal);
    }
    assert_eq!(documents.only(), SAMPLE);
}

#[test]
fn the_first_place_is_behind_front_matter_and_preamble() {
    let head = "---\ntitle: x\n---\n\nText before any heading.\n\n";
    let documents = TestDocuments::single(format!("{head}# One\n\n1\n"));
    let mut editor = documents.open();
    editor.ok(
        "insert_section",
        json!({ "heading": "Zero", "content": "0", "position": 0 }),
    );
    assert_eq!(
        documents.only(),
        format!("{head}# Zero\n\n0\n\n# One\n\n1\n")
    );
}

#[test]
fn a_place_is_told_by_its_neighbour() {
    for (place, anchor, expected) in [
        (
            "before",
            "Beta",
            SAMPLE.replace("## Beta", "## New\n\nn\n\n## Beta"),
        ),
        (
            "after",
            "Alpha",
            SAMPLE.replace("## Beta", "## New\n\nn\n\n## Beta"),
        ),
        ("after", "Gamma", format!("{SAMPLE}\n## New\n\nn\n")),
        (
            "first_child",
            "Alpha",
            SAMPLE.replace("### Alpha child", "### New\n\nn\n\n### Alpha child"),
        ),
        (
            "last_child",
            "Alpha",
            SAMPLE.replace("## Beta", "### New\n\nn\n\n## Beta"),
        ),
        (
            "first_child",
            "Beta",
            SAMPLE.replace("## Gamma", "### New\n\nn\n\n## Gamma"),
        ),
        ("last_child", "Title", format!("{SAMPLE}\n## New\n\nn\n")),
    ] {
        let documents = TestDocuments::single(SAMPLE);
        let mut editor = documents.open();
        let anchor_id = editor.id(anchor);
        let arguments =
            json!({ "heading": "New", "content": "n", "place": place, "anchor": anchor_id });
        editor.ok("insert_section", arguments);
        assert_eq!(documents.only(), expected, "{place} {anchor}");
    }
}

#[test]
fn a_move_takes_the_subsections_along_and_fits_their_levels() {
    let moved = "# Title\n\nIntro text.\n\n## Beta\n\nBeta body.\n\n### Alpha\n\nAlpha body.\n\n#### Alpha child\n\nChild body.\n\n\
                 ## Gamma\n\nGamma body.\n";
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let (alpha, beta) = (editor.id("Alpha"), editor.id("Beta"));
    let into = json!({ "section_id": alpha, "place": "last_child", "anchor": beta });
    let answer = editor.ok("move_section", into);
    assert_eq!(
        (&answer["position"], &answer["level"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(documents.only(), moved);
    let back = json!({ "section_id": alpha, "place": "before", "anchor": beta });
    editor.ok("move_section", back);
    assert_eq!(documents.only(), SAMPLE);
    // A position counts after the move.
    let down = json!({ "section_id": alpha, "new_position": 2 });
    assert_eq!(editor.ok("move_section", down)["position"], 2);
    let child = editor.id("Alpha child");
    for anchor in [&alpha, &child] {
        let into_itself = json!({ "section_id": alpha, "place": "first_child", "anchor": anchor });
        editor.assert_refused("move_section", into_itself, (INVALID_PARAMS, "into_itself"));
    }
}

#[test]
fn where_a_section_goes_is_said_in_exactly_one_way() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let (alpha, beta) = (editor.id("Alpha"), editor.id("Beta"));
    let insert = json!({ "heading": "N", "content": "n" });
    let moving = json!({ "section_id": alpha });
    for (tool, name, needed) in [
        ("insert_section", "position", insert),
        ("move_section", "new_position", moving),
    ] {
        for wrong in [
            json!({}),
            json!({ "place": "after" }),
            json!({ "anchor": beta }),
            json!({ name: 0, "place": "after", "anchor": beta }),
            json!({ name: 0, "anchor": beta }),
            json!({ "place": "beside", "anchor": beta }),
        ] {
            let mut arguments = wrong;
            let fields = arguments.as_object_mut().unwrap();
            fields.extend(needed.as_object().unwrap().clone());
            let refusal = (INVALID_PARAMS, "invalid_arguments");
            editor.assert_refused(tool, arguments, refusal);
        }
    }
    let nowhere = json!({ "heading": "N", "content": "n", "place": "after", "anchor": "abc123" });
    let refusal = (APPLICATION_ERROR, "section_not_found");
    editor.assert_refused("insert_section", nowhere, refusal);
    assert_eq!(documents.only(), SAMPLE);
}

#[test]
fn a_level_is_obeyed_and_never_takes_other_sections_along() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let deep = json!({ "heading": "N", "content": "n", "position": 5, "level": 6 });
    assert_eq!(editor.ok("insert_section", deep)["level"], 6);
    assert_eq!(documents.only(), format!("{SAMPLE}\n###### N\n\nn\n"));
    editor.ok("undo", json!({}));
    // At level 2 before `Alpha child`, it would become the child's parent.
    let stealing = json!({ "heading": "N", "content": "n", "position": 2, "level": 2 });
    let refusal = (APPLICATION_ERROR, "reparents");
    let error = editor.assert_refused("insert_section", stealing, refusal);
    assert_eq!(error["data"]["section"]["heading"], "Alpha child");
    for level in [0, 7] {
        let arguments = json!({ "heading": "N", "content": "n", "position": 5, "level": level });
        let refusal = (INVALID_PARAMS, "invalid_arguments");
        editor.assert_refused("insert_section", arguments, refusal);
    }
    assert_eq!(documents.only(), SAMPLE);
}

#[test]
fn headings_in_a_text_stay_inside_unless_asked_otherwise() {
    let documents = TestDocuments::single(SAMPLE);
    let mut editor = documents.open();
    let beta = editor.id("Beta");
    let content = "x\n\n# High\n\ny";
    let update =
        |headings: &str| json!({ "section_id": beta, "content": content, "headings": headings });
    let refusal = (APPLICATION_ERROR, "boundary_escape");
    let error = editor.assert_refused("update_section", update("inside"), refusal);
    assert_eq!(
        (&error["data"]["line"], &error["data"]["level"]),
        (&json!(3), &json!(1))
    );
    editor.ok("update_section", update("rebase"));
    assert_eq!(
        documents.only(),
        SAMPLE.replace("Beta body.", "x\n\n### High\n\ny")
    );
    editor.ok("undo", json!({}));
    for open in [
        "```\nnever closed",
        "~~~~\nnever closed",
        "<!-- never closed",
        "<pre>\nnever closed",
    ] {
        let arguments = json!({ "section_id": beta, "content": open });
        editor.assert_refused("update_section", arguments, refusal);
    }
    assert_eq!(documents.only(), SAMPLE, "no section is swallowed");
}

#[test]
fn an_ambiguous_heading_is_refused_with_all_that_have_it() {
    let text = "# T\n\n## A\n\nfirst\n\n## A\n\nsecond\n\n### a\n\nthird\n";
    let documents = TestDocuments::single(text);
    let mut editor = documents.open();
    let ids = editor.ids();
    let refusal = (APPLICATION_ERROR, "ambiguous");
    for tool in ["get_section", "delete_section"] {
        let error = editor.assert_refused(tool, json!({ "heading": "A" }), refusal);
        let candidates = error["data"]["candidates"].as_array().unwrap();
        let told: Vec<(&Value, &Value)> = candidates
            .iter()
            .map(|one| (&one["section_id"], &one["first_line"]))
            .collect();
        let (first, second) = (json!("first"), json!("second"));
        assert_eq!(told, [(&json!(ids[1]), &first), (&json!(ids[2]), &second)]);
    }
    // One that is written exactly like this is not ambiguous.
    let read = editor.ok("get_section", json!({ "heading": "a" }));
    assert_eq!(read["content"], "third");
    let near = editor.refused("get_section", json!({ "heading": "T x" }));
    assert_eq!(near["data"]["kind"], "section_not_found");
    assert_eq!(documents.only(), text);
}

/// A document with headings that are shown otherwise than they are written.
const MARKED: &str =
    "# Title\n\n## Use `run` *now*\n\nCode.\n\n## Cafe\u{301}\n\nDrinks.\n\n## Tasks\n\nNone.\n";

#[test]
fn a_heading_is_found_as_list_sections_shows_it_and_as_it_is_written() {
    let documents = TestDocuments::single(MARKED);
    let mut editor = documents.open();
    let shown: Vec<Value> = editor
        .sections()
        .iter()
        .map(|one| one["heading"].clone())
        .collect();
    assert_eq!(shown, ["Title", "Use run now", "Caf\u{e9}", "Tasks"]);
    for (given, gone) in [
        ("Use run now", "## Use `run` *now*\n\nCode.\n\n"),
        ("Use `run` *now*", "## Use `run` *now*\n\nCode.\n\n"),
        ("## Use `run` *now*", "## Use `run` *now*\n\nCode.\n\n"),
        ("Caf\u{e9}", "## Cafe\u{301}\n\nDrinks.\n\n"),
        ("Cafe\u{301}", "## Cafe\u{301}\n\nDrinks.\n\n"),
        ("# Tasks", "## Tasks\n\nNone.\n"),
    ] {
        let read = editor.ok("get_section", json!({ "heading": given }));
        assert!(shown.contains(&read["heading"]), "{given}: {read}");
        editor.ok("delete_section", json!({ "heading": given }));
        let expected = MARKED.replace(gone, "");
        assert_eq!(documents.only().trim_end(), expected.trim_end(), "{given}");
        editor.ok("undo", json!({}));
        let edit = json!({ "operation": "delete_section", "heading": given });
        editor.ok("apply_edits", json!({ "edits": [edit] }));
        assert_eq!(documents.only().trim_end(), expected.trim_end(), "{given}");
        editor.ok("undo", json!({}));
        assert_eq!(documents.only(), MARKED);
    }
}

#[test]
fn case_is_ignored_for_reading_and_never_for_a_write() {
    let documents = TestDocuments::single(MARKED);
    let mut editor = documents.open();
    for (given, heading) in [
        ("tasks", "Tasks"),
        ("## TASKS", "Tasks"),
        ("use `RUN` now", "Use run now"),
        ("cafe\u{301}", "Caf\u{e9}"),
    ] {
        let read = editor.ok("get_section", json!({ "heading": given }));
        assert_eq!(read["heading"], heading);
        let delete = json!({ "operation": "delete_section", "heading": given });
        for (tool, arguments) in [
            ("delete_section", json!({ "heading": given })),
            ("apply_edits", json!({ "edits": [delete] })),
        ] {
            let refusal = (APPLICATION_ERROR, "section_not_found");
            let error = editor.assert_refused(tool, arguments, refusal);
            let candidate = &error["data"]["candidates"][0];
            assert_eq!(
                candidate["section_id"], read["section_id"],
                "{given}: {error}"
            );
        }
        let both = json!({ "section_id": read["section_id"], "heading": given });
        editor.ok("get_section", both.clone());
        editor.assert_refused("delete_section", both, (INVALID_PARAMS, "bad_reference"));
    }
    assert_eq!(documents.only(), MARKED);
}

#[test]
fn an_id_and_a_heading_must_name_the_same_section() {
    let documents = TestDocuments::single("# T\n\n## A\n\n1\n\n## A\n\n2\n\n## B\n\n3\n");
    let mut editor = documents.open();
    let ids = editor.ids();
    for tool in ["get_section", "delete_section"] {
        for heading in ["B", "T", "Nope"] {
            let arguments = json!({ "section_id": ids[2], "heading": heading });
            editor.assert_refused(tool, arguments, (INVALID_PARAMS, "bad_reference"));
        }
    }
    let both = json!({ "section_id": ids[2], "heading": "A" });
    assert_eq!(editor.ok("get_section", both.clone())["content"], "2");
    editor.ok("delete_section", both);
    assert_eq!(documents.only(), "# T\n\n## A\n\n1\n\n## B\n\n3\n");
}

#[test]
fn reading_then_writing_back_changes_nothing() {
    let text = "Title\n=====\n\n\n  text  \n\n\n## A ##\n```\n# no heading\n```\n\n### B\n## C\n\n\n\nlast";
    let documents = TestDocuments::single(text);
    let mut editor = documents.open();
    for id in editor.ids() {
        for scope in ["body", "subtree"] {
            let read = editor.ok("get_section", json!({ "section_id": id, "scope": scope }));
            let hash = match scope {
                "body" => &read["hash"],
                _ => &read["subtree_hash"],
            };
            let back = json!({
                "section_id": id, "scope": scope, "content": read["content"], "expected_hash": hash,
            });
            let answer = editor.ok("update_section", back);
            assert_eq!(answer["unchanged"], true, "{id}, {scope}: {answer}");
            assert!(answer.get("entry").is_none(), "{answer}");
            assert_eq!(documents.only(), text, "{id}, {scope}");
        }
    }
}
