//! The tools that write: what they answer, and what is in the files afterwards.

use serde_json::{Value, json};

use super::NOTES;
use crate::fixture::{Editor, Era, TestDocuments};

const PLAN: &str = "projects/plan.md";

fn desk() -> TestDocuments {
    TestDocuments::desk(NOTES)
}

fn string(answer: &Value, key: &str) -> String {
    let text = answer[key].as_str();
    text.unwrap_or_else(|| panic!("no {key} in {answer}"))
        .to_owned()
}

/// The canonical id and the base of something, from an edit that changes nothing.
fn read(client: &mut Editor<'_>, id: &str, old: &str) -> (String, String) {
    let answer = client.ok("edit", json!({ "id": id, "old": old, "new": old }));
    assert!(answer.get("change").is_none(), "{answer}");
    (string(&answer, "id"), string(&answer, "base"))
}

#[test]
fn a_note_is_created_with_fields_and_never_overwritten() {
    let desk = desk();
    let mut client = desk.open();
    let made = client.ok(
        "create",
        json!({ "path": "new/idea.md", "text": "# Idea\n\nText.\n", "fields": { "status": "open", "tags": ["a", "b"] } }),
    );
    assert_eq!(made["id"], "new/idea.md");
    assert_eq!(made["change"], "1");
    assert!(string(&made, "diff").contains("+# Idea"), "{made}");
    let text = desk.text("new/idea.md");
    assert!(text.starts_with("---\nstatus: open\n"), "{text}");
    assert!(text.ends_with("# Idea\n\nText.\n"), "{text}");
    let again = json!({ "path": "new/idea.md", "text": "other" });
    client.assert_error("create", again, "exists");
    assert_eq!(desk.text("new/idea.md"), text);
}

#[test]
fn a_passage_is_replaced_where_it_occurs_once() {
    let desk = desk();
    let mut client = desk.open();
    let edit = json!({ "id": "projects/plan.md#Budget", "old": "Forty", "new": "Fifty" });
    let answer = client.ok("edit", edit);
    let id = string(&answer, "id");
    assert!(id.starts_with("projects/plan.md#budget-"), "{id}");
    assert_eq!(answer["diff"], "-Forty euros.\n+Fifty euros.");
    assert!(desk.text(PLAN).contains("Fifty euros."));
    // A passage of a subsection is inside the section too.
    let edit = json!({ "id": id, "old": "Sandwiches", "new": "Soup" });
    client.ok("edit", edit);
    assert!(desk.text(PLAN).contains("Soup."));
    // The document is searched as a whole.
    let edit = json!({ "id": "projects/plan.md", "old": "In spring.", "new": "In autumn." });
    let answer = client.ok("edit", edit);
    assert_eq!(answer["id"], PLAN);
    assert!(desk.text(PLAN).ends_with("In autumn.\n"));
}

#[test]
fn text_is_replaced_and_added_in_every_place() {
    let desk = desk();
    let mut client = desk.open();
    let mut edit = |id: &str, place: &str, new: &str| {
        client.ok("edit", json!({ "id": id, "place": place, "new": new }));
    };
    edit("projects/other.md#Notes", "replace", "Something.");
    edit("projects/other.md#Notes", "append", "At the end.");
    edit("projects/other.md#Notes", "prepend", "At the start.");
    edit("projects/other.md#Notes", "before", "Before it.");
    edit("projects/other.md#Notes", "after", "## After\n\nAfter it.");
    edit("projects/other.md", "append", "Last.");
    edit("projects/other.md", "prepend", "First.");
    assert_eq!(
        desk.text("projects/other.md"),
        "First.\n\n# Other\n\nBefore it.\n\n## Notes\n\nAt the start.\n\nSomething.\n\nAt the end.\n\n## After\n\nAfter it.\n\nLast.\n"
    );
}

#[test]
fn a_section_that_was_read_with_its_heading_can_be_written_back_with_it() {
    let desk = desk();
    let mut client = desk.open();
    let new = "## Budget\n\nSixty euros.\n";
    client.ok(
        "edit",
        json!({ "id": "projects/plan.md#Budget", "new": new }),
    );
    let text = desk.text(PLAN);
    assert_eq!(text.matches("## Budget").count(), 1, "{text}");
    assert!(
        text.contains("## Budget\n\nSixty euros.\n\n### Catering"),
        "{text}"
    );
    // Another heading is not dropped.
    let new = "## Costs\n\nSixty euros.\n";
    let call = json!({ "id": "projects/plan.md#Budget", "new": new });
    client.assert_error("edit", call, "boundary_escape");
}

#[test]
fn a_whole_document_is_replaced_only_when_that_is_asked_for() {
    let desk = desk();
    let mut client = desk.open();
    let before = desk.text(PLAN);
    let call = json!({ "id": PLAN, "new": "# Plan\n\nShort.\n" });
    client.assert_error("edit", call, "wrong_kind");
    assert_eq!(desk.text(PLAN), before);
    let (_, base) = read(&mut client, PLAN, "Intro text.");
    let front_matter = "---\ntags: [harbour]\nstatus: open\n---\n";
    let new = format!("{front_matter}# Plan\n\nShort.\n");
    let call = json!({ "id": PLAN, "new": new, "scope": "subtree", "base": base });
    client.ok("edit", call);
    assert_eq!(desk.text(PLAN), new);
    let call = json!({ "id": PLAN, "new": "---\nstatus: done\n---\n# Plan\n", "scope": "subtree" });
    client.assert_error("edit", call, "front_matter");
    // The older base is refused with both texts.
    let call = json!({ "id": PLAN, "new": "# Mine\n", "scope": "subtree", "base": base });
    let text = client.assert_error("edit", call, "conflict");
    assert!(text.contains("--- your text\n# Mine\n"), "{text}");
    assert!(text.contains("--- the text now\n---\ntags"), "{text}");
    assert_eq!(desk.text(PLAN), new);
}

/// The blank line after the front matter and the line break at the end belong to the file rather than to its text.
#[test]
fn a_whole_text_is_replaced_between_its_line_breaks() {
    let desk = TestDocuments::desk(&[
        ("a.md", "---\na: 1\n---\n\n# A\n\nOld.\n"),
        ("b.md", "---\r\na: 1\r\n---\r\n\r\nOld.\r\n"),
        ("c.md", "Old."),
    ]);
    let mut client = desk.open();
    for id in ["a.md", "b.md", "c.md"] {
        let edit = json!({ "id": id, "new": "New.\nLine.", "scope": "subtree" });
        client.ok("edit", edit);
    }
    assert_eq!(desk.text("a.md"), "---\na: 1\n---\n\nNew.\nLine.\n");
    let text = "---\r\na: 1\r\n---\r\n\r\nNew.\r\nLine.\r\n";
    assert_eq!(desk.text("b.md"), text);
    assert_eq!(desk.text("c.md"), "New.\nLine.");
}

/// A file may have any name, and its path is its id.
#[test]
fn a_path_names_its_document_whatever_it_looks_like() {
    let names = [
        " y.md",
        "y.md",
        "y .md",
        "[[y]].md",
        "a#b.md",
        "a%20b.md",
        "#.md",
        "z\u{200b}z.md",
    ];
    let desk = TestDocuments::desk(&[]);
    for name in names {
        desk.overwrite(name, format!("# In\n\nThis is {name}.\n"));
    }
    let mut client = desk.open();
    for name in names {
        let old = format!("This is {name}.");
        let (id, _) = read(&mut client, name, &old);
        assert_eq!(id, name);
        let (section, _) = read(&mut client, &format!("{name}#In"), &old);
        assert!(section.starts_with(&format!("{name}#in-")), "{section}");
        let (again, _) = read(&mut client, &section, &old);
        assert_eq!(again, section);
    }
    // White space around the path of a new note is a slip.
    let made = client.ok("create", json!({ "path": " new/z.md ", "text": "x" }));
    assert_eq!(made["id"], "new/z.md");
}

#[test]
fn a_preview_writes_nothing() {
    let desk = desk();
    let mut client = desk.open();
    let before = desk.text(PLAN);
    let mut call = json!({ "id": "projects/plan.md#Budget", "new": "Sixty.", "preview": true });
    let shown = client.ok("edit", call.clone());
    assert!(string(&shown, "diff").contains("+Sixty."), "{shown}");
    assert!(shown.get("change").is_none(), "{shown}");
    assert_eq!(desk.text(PLAN), before);
    call["preview"] = json!(false);
    let done = client.ok("edit", call);
    assert_eq!(done["base"], shown["base"]);
    // A preview has the lines around those that change, too.
    let shown = string(&shown, "diff");
    assert!(shown.contains("\n ## Budget\n"), "{shown}");
    let changed: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with(['+', '-']))
        .collect();
    assert_eq!(string(&done, "diff"), changed.join("\n"));
}

#[test]
fn a_retry_gets_the_first_answer() {
    let desk = desk();
    let mut client = desk.open();
    let call = json!({ "id": "projects/other.md#Notes", "place": "append", "new": "More.", "request_id": "r1" });
    let first = client.ok("edit", call.clone());
    let second = client.ok("edit", call);
    assert_eq!(first["change"], second["change"]);
    assert_eq!(desk.text("projects/other.md").matches("More.").count(), 1);
    let other = json!({ "id": "projects/other.md#Notes", "place": "append", "new": "Less.", "request_id": "r1" });
    client.assert_error("edit", other, "request_id_reused");
}

#[test]
fn a_stale_base_is_merged_or_refused_with_both_texts() {
    let desk = TestDocuments::desk(&[("a.md", "# A\n\none\n\ntwo\n\nthree\n")]);
    let mut client = desk.open();
    let (id, base) = read(&mut client, "a.md#A", "one");
    client.ok("edit", json!({ "id": id, "old": "one", "new": "ONE" }));
    let merge = json!({ "id": id, "base": base, "new": "one\n\ntwo\n\nTHREE" });
    let answer = client.ok("edit", merge);
    assert_eq!(answer["merged"], true, "{answer}");
    assert_eq!(desk.text("a.md"), "# A\n\nONE\n\ntwo\n\nTHREE\n");
    // The caller has not seen ONE, so it may not replace it unread.
    let merged = answer["base"].as_str().unwrap();
    let replace = json!({ "id": id, "base": merged, "new": "all new" });
    client.assert_error("edit", replace, "part_of_text");
    let clash = json!({ "id": id, "base": base, "new": "first\n\ntwo\n\nthree" });
    let text = client.assert_error("edit", clash, "conflict");
    assert!(text.contains("--- your text\nfirst\n"), "{text}");
    assert!(text.contains("--- the text now\nONE\n"), "{text}");
    // The text names the base that fits now.
    let base = text.lines().find_map(|line| line.strip_prefix("base: "));
    let call = json!({ "id": id, "base": base, "new": "done" });
    let answer = client.ok("edit", call);
    assert!(answer.get("merged").is_none(), "{answer}");
    assert_eq!(desk.text("a.md"), "# A\n\ndone\n");
}

#[test]
fn the_base_of_a_document_serves_for_its_sections_and_for_passages() {
    let desk = desk();
    let mut client = desk.open();
    let (_, base) = read(&mut client, PLAN, "Intro text.");
    let call = json!({ "id": "projects/plan.md#Budget", "base": base, "new": "Sixty." });
    let answer = client.ok("edit", call);
    assert!(answer.get("merged").is_none(), "{answer}");
    for call in [
        json!({ "id": "projects/plan.md#Dates", "base": base, "new": "Soon." }),
        json!({ "id": PLAN, "base": base, "old": "Intro text.", "new": "Start." }),
        json!({ "id": PLAN, "base": base, "place": "append", "new": "End." }),
    ] {
        let answer = client.ok("edit", call);
        assert_eq!(answer["merged"], true, "{answer}");
    }
    let text = desk.text(PLAN);
    for part in ["Sixty.", "Soon.", "Start.", "End."] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn only_the_lines_of_the_fields_change() {
    let desk = desk();
    let mut client = desk.open();
    let body = desk.text(PLAN).split_once("---\n# ").unwrap().1.to_owned();
    let set = json!({ "status": "done", "due": "2027-01-31", "room": "2.01" });
    let call = json!({ "id": PLAN, "set": set, "unset": ["tags"] });
    let answer = client.ok("set_fields", call);
    assert_eq!(answer["id"], PLAN);
    assert_eq!(
        desk.text(PLAN),
        format!("---\nstatus: done\ndue: 2027-01-31\nroom: \"2.01\"\n---\n# {body}")
    );
    // A section's fields are those of its document.
    let call = json!({ "id": "projects/plan.md#Budget", "unset": ["due"] });
    assert_eq!(client.ok("set_fields", call)["id"], PLAN);
    assert!(!desk.text(PLAN).contains("due"));
    let call = json!({ "id": PLAN, "set": { "a": 1 }, "base": "0123456789abcdef" });
    client.assert_error("set_fields", call, "changed");
    client.assert_error("set_fields", json!({ "id": PLAN }), "invalid_arguments");
}

#[test]
fn a_heading_is_renamed_with_its_links() {
    let desk = desk();
    let mut client = desk.open();
    let call = json!({ "id": "projects/plan.md#Budget", "to": "Money" });
    let answer = client.ok("rename", call);
    assert_eq!(answer["repaired"], 1, "{answer}");
    assert_eq!(answer["documents"], 2, "{answer}");
    assert!(desk.text(PLAN).contains("\n## Money\n"));
    assert!(desk.text("index.md").contains("[[plan#Money]]"));
    // Marks are not part of a heading, and a heading may look like a file.
    let id = string(&answer, "id");
    client.ok("rename", json!({ "id": id, "to": "# budget.md" }));
    assert!(desk.text(PLAN).contains("\n## budget.md\n"));
}

#[test]
fn a_document_is_moved_with_its_links() {
    let desk = desk();
    let mut client = desk.open();
    let answer = client.ok("rename", json!({ "id": PLAN, "to": "archive/old plan.md" }));
    assert_eq!(answer["id"], "archive/old plan.md");
    assert!(!desk.exists(PLAN));
    let index = desk.text("index.md");
    assert!(index.contains("[[old plan#Budget]]"), "{index}");
    let answer = client.ok(
        "rename",
        json!({ "id": "archive/old plan.md", "to": "projects/" }),
    );
    assert_eq!(answer["id"], "projects/old plan.md");
    let taken = json!({ "id": "index.md", "to": "projects/other.md" });
    client.assert_error("rename", taken, "exists");
    let no_note = json!({ "id": "index.md", "to": "projects/other.txt" });
    client.assert_error("rename", no_note, "not_markdown");
}

#[test]
fn a_folder_is_moved_in_one_change() {
    let desk = desk();
    let mut client = desk.open();
    let answer = client.ok(
        "rename",
        json!({ "id": "projects/", "to": "work/harbour/" }),
    );
    assert_eq!(answer["id"], "work/harbour/");
    assert!(desk.exists("work/harbour/plan.md"));
    assert!(!desk.exists("projects/plan.md"));
    assert!(desk.text("index.md").contains("(work/harbour/plan.md)"));
    client.ok("undo", json!({ "change": answer["change"] }));
    assert!(desk.exists("projects/other.md"));
    assert!(desk.text("index.md").contains("(projects/plan.md)"));
    let inside = json!({ "id": "projects", "to": "projects/inner" });
    client.assert_error("rename", inside, "into_itself");
}

#[test]
fn a_section_is_moved_into_another_document() {
    let desk = desk();
    let mut client = desk.open();
    let call = json!({ "id": "projects/plan.md#Budget", "to": "projects/other.md" });
    let answer = client.ok("rename", call);
    let id = string(&answer, "id");
    assert!(id.starts_with("projects/other.md#budget-"), "{id}");
    let other = desk.text("projects/other.md");
    assert!(
        other.ends_with("## Budget\n\nForty euros.\n\n### Catering\n\nSandwiches.\n"),
        "{other}"
    );
    assert!(
        desk.text("index.md").contains("[[other#Budget]]"),
        "{}",
        desk.text("index.md")
    );
    let call = json!({ "id": id, "to": "projects/plan.md#Plan" });
    client.ok("rename", call);
    let plan = desk.text(PLAN);
    assert!(plan.contains("In spring.\n\n## Budget"), "{plan}");
    let nowhere = json!({ "id": "projects/plan.md#Dates", "to": "missing.md" });
    client.assert_error("rename", nowhere, "not_found");
}

#[test]
fn a_deletion_needs_the_base_and_names_broken_links() {
    let desk = desk();
    let mut client = desk.open();
    let (id, read_base) = read(&mut client, "projects/plan.md#Budget", "Forty euros.");
    // The base covers the subsections.
    let edit = json!({ "id": "projects/plan.md#Catering", "new": "Sandwiches and soup." });
    client.ok("edit", edit);
    let call = json!({ "id": id, "base": read_base });
    let text = client.assert_error("delete", call, "conflict");
    assert!(text.contains("Sandwiches and soup."), "{text}");
    let base = text.lines().find_map(|line| line.strip_prefix("base: "));
    let answer = client.ok("delete", json!({ "id": id, "base": base }));
    assert_eq!(answer["id"].as_str(), Some(id.as_str()));
    let broken = answer["broken"][0].as_str().unwrap();
    assert!(broken.starts_with("index.md line 3: "), "{answer}");
    assert!(!desk.text(PLAN).contains("Sandwiches"));
    client.assert_error("delete", json!({ "id": id, "base": base }), "deleted");
    let (_, base) = read(&mut client, PLAN, "Intro text.");
    let wrong = json!({ "id": PLAN, "base": "0123456789abcdef" });
    client.assert_error("delete", wrong, "changed");
    client.ok("delete", json!({ "id": PLAN, "base": base }));
    assert!(!desk.exists(PLAN));
}

#[test]
fn a_folder_is_deleted_only_when_it_is_empty() {
    let desk = TestDocuments::desk_in_folder(NOTES);
    let mut client = desk.open();
    let folder = json!({ "id": "projects/", "base": "" });
    client.assert_error("delete", folder, "not_empty");
    std::fs::create_dir(desk.location("empty")).unwrap();
    let answer = client.ok("delete", json!({ "id": "empty/", "base": "" }));
    assert_eq!(answer, json!({ "id": "empty/" }));
    assert!(!desk.exists("empty"));
}

#[test]
fn undo_takes_the_newest_change_and_undoing_an_undo_is_redo() {
    let desk = desk();
    let before = desk.text(PLAN);
    let mut client = desk.open();
    client.assert_error("undo", json!({}), "nothing_to_undo");
    let first = client.ok(
        "rename",
        json!({ "id": "projects/plan.md#Budget", "to": "Money" }),
    );
    let renamed = desk.text(PLAN);
    let undone = client.ok("undo", json!({}));
    assert_eq!(undone["documents"], 2, "{undone}");
    assert_eq!(desk.text(PLAN), before);
    assert!(desk.text("index.md").contains("[[plan#Budget]]"));
    // By its number as well as by its name.
    let number: u64 = string(&undone, "change").parse().unwrap();
    let redone = client.ok("undo", json!({ "change": number }));
    assert_eq!(desk.text(PLAN), renamed);
    client.ok("undo", json!({ "change": redone["change"] }));
    assert_eq!(desk.text(PLAN), before);
    client.assert_error(
        "undo",
        json!({ "change": first["change"] }),
        "nothing_to_undo",
    );
    for unknown in [json!("77"), json!(77), json!("x"), json!(""), json!("-1")] {
        client.assert_error("undo", json!({ "change": unknown }), "change_not_found");
    }
}

/// As in an editor, one undo after another goes further back; nothing is redone unless that is asked for by name.
#[test]
fn undo_again_goes_further_back_and_says_how_to_redo() {
    let desk = desk();
    let before = desk.text(PLAN);
    let mut client = desk.open();
    let mut texts = vec![before.clone()];
    for text in ["One.", "Two.", "Three."] {
        client.ok("edit", json!({ "id": "plan#Dates", "new": text }));
        texts.push(desk.text(PLAN));
    }
    let mut undone = Vec::new();
    for (expected, of) in [(2, "3"), (1, "2"), (0, "1")] {
        let answer = client.ok("undo", json!({}));
        assert_eq!(desk.text(PLAN), texts[expected]);
        assert_eq!(answer["undoes"], of, "{answer}");
        assert_eq!(answer["notes"], json!(["undo this to redo"]));
        undone.push(string(&answer, "change"));
    }
    for _ in 0..2 {
        let text = client.assert_error("undo", json!({}), "nothing_to_undo");
        let hint = format!("undo change {}.", undone[2]);
        assert!(text.contains(&hint), "{text}");
        assert_eq!(desk.text(PLAN), before);
    }
    // Each undo is redone by its own number, the last one first.
    for (change, expected) in undone.iter().rev().zip([1, 2, 3]) {
        let answer = client.ok("undo", json!({ "change": change }));
        assert_eq!(desk.text(PLAN), texts[expected]);
        assert!(answer.get("notes").is_none(), "{answer}");
    }
    // What was redone is undone like any other change.
    client.ok("undo", json!({}));
    assert_eq!(desk.text(PLAN), texts[2]);
}

#[test]
fn a_renamed_folder_is_answered_with_what_moved_and_the_repaired_lines() {
    let desk = desk();
    let mut client = desk.open();
    let answer = client.ok("rename", json!({ "id": "projects/", "to": "archive/old" }));
    let moved = [
        "projects/other.md -> archive/old/other.md",
        "projects/plan.md -> archive/old/plan.md",
    ];
    let repaired = "-See [[plan#Budget]] and [the plan](projects/plan.md).\n+See [[plan#Budget]] and [the plan](archive/old/plan.md).";
    // The caller who moved the folder knows what is in it.
    let expected = format!("projects/ -> archive/old/\nindex.md:\n{repaired}");
    assert_eq!(string(&answer, "diff"), expected);
    assert_eq!(answer["documents"], 3);
    // The history shows the same, even where the documents have moved on.
    client.ok("rename", json!({ "id": "archive/old", "to": "elsewhere" }));
    let listed = client.ok("changes", json!({ "diff": true }));
    let diff = listed["changes"][1]["diff"].as_str().unwrap();
    assert!(diff.starts_with("projects/ -> archive/old/\n"), "{diff}");
    for part in moved.into_iter().chain(["index.md:", repaired]) {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    let newest = listed["changes"][0]["diff"].as_str().unwrap();
    assert!(
        newest.starts_with("archive/old/ -> elsewhere/\n"),
        "{newest}"
    );
    // A folder stands for the documents in it.
    for (row, folder) in [(0, "elsewhere/"), (1, "archive/old/")] {
        let ids = &listed["changes"][row]["ids"];
        assert_eq!(*ids, json!([folder, "index.md"]));
    }
    // One document says where it came from, too.
    let answer = client.ok("rename", json!({ "id": "other", "to": "last.md" }));
    assert_eq!(answer["diff"], "elsewhere/other.md -> last.md");
}

#[test]
fn a_renamed_empty_folder_is_a_change_without_documents() {
    let desk = TestDocuments::desk_in_folder(NOTES);
    let mut client = desk.open();
    std::fs::create_dir(desk.location("empty")).unwrap();
    let answer = client.ok("rename", json!({ "id": "empty/", "to": "void" }));
    assert!(answer.get("notes").is_none(), "{answer}");
    let listed = client.ok("changes", json!({ "diff": true, "limit": 1 }));
    assert_eq!(listed["changes"][0]["diff"], "empty/ -> void/");
    assert_eq!(listed["changes"][0]["ids"], json!(["void/"]));
}

/// A folder of many notes: the answer stays small, and the repaired lines are in it.
#[test]
fn a_renamed_folder_of_many_notes_is_a_short_answer() {
    let desk = TestDocuments::desk(&[("index.md", "# Index\n\nSee [one](many/0.md).\n")]);
    for n in 0..120 {
        desk.vault()
            .note(&format!("many/{n}.md"), format!("# Note {n}\n"));
    }
    let mut client = desk.open();
    let answer = client.ok("rename", json!({ "id": "many/", "to": "few" }));
    assert!(
        sectile_markdown::estimate_tokens(&answer.to_string()) <= 400,
        "{answer}"
    );
    let listed = client.ok("changes", json!({ "diff": true }));
    let listed = listed["changes"][0]["diff"].as_str().unwrap().to_owned();
    assert!(listed.contains("many/0.md -> few/0.md"), "{listed}");
    assert!(listed.contains(" more moved\n"), "{listed}");
    for diff in [string(&answer, "diff"), listed] {
        assert!(diff.starts_with("many/ -> few/\n"), "{diff}");
        assert!(diff.contains("+See [one](few/0.md)."), "{diff}");
    }
}

/// What came later is named as what it is, not as the number of the change.
#[test]
fn an_undo_that_later_changes_prevent_says_what_is_in_its_way() {
    let desk = desk();
    let mut client = desk.open();
    let edited = client.ok("edit", json!({ "id": "other#Notes", "new": "More." }));
    let (_, base) = read(&mut client, "projects/other.md", "More.");
    let delete = json!({ "id": "projects/other.md", "base": base });
    let deleted = client.ok("delete", delete);
    let undo = json!({ "change": edited["change"] });
    let text = client.assert_error("undo", undo, "undo_overlaps");
    assert!(text.contains("has been deleted since"), "{text}");
    client.ok(
        "create",
        json!({ "path": "projects/other.md", "text": "New.\n" }),
    );
    let undo = json!({ "change": deleted["change"] });
    let text = client.assert_error("undo", undo, "undo_overlaps");
    assert!(text.contains("something else is now at a path"), "{text}");
    assert_eq!(desk.text("projects/other.md"), "New.\n");
}

#[test]
fn an_undo_over_several_documents_is_made_in_all_or_none() {
    let desk = desk();
    let mut client = desk.open();
    let change = client.ok("rename", json!({ "id": PLAN, "to": "projects/new.md" }));
    let index = desk.text("index.md");
    desk.overwrite("index.md", index.replace("new#Budget", "new#Dates"));
    let call = json!({ "change": change["change"] });
    client.assert_error("undo", call, "undo_overlaps");
    assert!(desk.exists("projects/new.md"));
    assert!(!desk.exists(PLAN));
}

#[test]
fn models_may_use_the_words_they_know() {
    let desk = desk();
    let mut client = desk.open();
    client.ok("create", json!({ "id": "a.md", "content": "# A\n\none\n" }));
    client.ok("create", json!({ "path": "b.md", "file_text": "# B\n" }));
    client.ok(
        "edit",
        json!({ "path": "a.md", "old_str": "one", "new_str": "two" }),
    );
    client.ok(
        "edit",
        json!({ "id": "a.md", "old_string": "two", "new_string": "three" }),
    );
    client.ok(
        "edit",
        json!({ "id": "a.md#A", "content": "four", "preview": "false" }),
    );
    client.ok(
        "edit",
        json!({ "id": "a.md#A", "text": "five", "old": null }),
    );
    assert_eq!(desk.text("a.md"), "# A\n\nfive\n");
    let twice = json!({ "id": "a.md", "path": "a.md", "new": "x", "old": "five" });
    client.assert_error("edit", twice, "invalid_arguments");
    let text = client.assert_error(
        "edit",
        json!({ "id": "a.md", "neww": "x" }),
        "invalid_arguments",
    );
    assert!(text.contains("Nearest: new"), "{text}");
}

#[test]
fn an_answer_is_short_however_much_changes() {
    let long = "A line of text that is neither short nor long.\n".repeat(400);
    let notes: Vec<(String, String)> = (0..60)
        .map(|number| {
            let links = "[[target note with a fairly long name#Heading]]\n\n".repeat(5);
            (
                format!("folder/with a name/note {number}.md"),
                format!("# N\n\n{links}"),
            )
        })
        .collect();
    let mut all: Vec<(&str, &str)> = notes
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let target = format!("# Heading\n\n{long}");
    all.push(("target note with a fairly long name.md", &target));
    let desk = TestDocuments::desk(&all);
    let mut client = desk.open();
    let id = "target note with a fairly long name.md";
    let (_, base) = read(&mut client, id, "# Heading");
    for (tool, call) in [
        ("create", json!({ "path": "new.md", "text": long })),
        (
            "edit",
            json!({ "id": format!("{id}#Heading"), "base": base, "new": long.replace("line", "row") }),
        ),
        (
            "rename",
            json!({ "id": format!("{id}#Heading"), "to": "Another heading" }),
        ),
        (
            "rename",
            json!({ "id": id, "to": "another note with quite a long name.md" }),
        ),
        ("undo", json!({})),
    ] {
        let answer = client.ok(tool, call);
        let tokens = sectile_markdown::estimate_tokens(&answer.to_string());
        assert!(tokens <= 400, "{tool}: {tokens} tokens: {answer}");
        assert!(string(&answer, "diff").ends_with('…'), "{answer}");
    }
    let (_, base) = read(&mut client, id, "# Another heading");
    let answer = client.ok("delete", json!({ "id": id, "base": base }));
    let tokens = sectile_markdown::estimate_tokens(&answer.to_string());
    assert!(tokens <= 400, "{tokens} tokens: {answer}");
    assert_eq!(answer["broken"].as_array().unwrap().len(), 3);
    assert_eq!(answer["broken_more"], 297);
}

#[test]
fn the_stateless_era_writes_in_the_same_way() {
    let desk = desk();
    let mut client = desk.open_with(Era::Stateless, "");
    let edit = json!({ "id": "projects/plan.md#Budget", "old": "Forty", "new": "Fifty" });
    client.ok("edit", edit);
    client.ok("undo", json!({}));
    assert!(desk.text(PLAN).contains("Forty"));
}

#[test]
fn a_note_has_the_names_that_people_use() {
    let mut notes = NOTES.to_vec();
    notes.push((
        "areas/winter feed.md",
        "---\naliases: [Hay]\n---\n# Winter feed\n\nOats.\n",
    ));
    let desk = TestDocuments::desk(&notes);
    let mut client = desk.open();
    let mut old = "Oats.".to_owned();
    for (number, id) in [
        "areas/winter feed.md",
        "winter feed",
        "Winter Feed",
        "[[Winter feed]]",
        "Hay",
        "areas/winter%20feed.md",
    ]
    .into_iter()
    .enumerate()
    {
        let new = format!("Oats {number}.");
        let answer = client.ok("edit", json!({ "id": id, "old": old, "new": new }));
        assert_eq!(answer["id"], "areas/winter feed.md", "{id}");
        old = new;
    }
    let answer = client.ok("edit", json!({ "id": "[[Plan#Budget]]", "new": "Ten." }));
    let id = string(&answer, "id");
    let (path, section) = id.split_once('#').unwrap();
    assert_eq!(path, PLAN);
    // Wherever its document goes, the section keeps its id.
    client.ok("rename", json!({ "id": PLAN, "to": "moved.md" }));
    let answer = client.ok("edit", json!({ "id": section, "new": "Twenty." }));
    assert_eq!(string(&answer, "id"), format!("moved.md#{section}"));
    let answer = client.ok(
        "edit",
        json!({ "id": "moved#Budget/Catering", "new": "Soup." }),
    );
    assert!(string(&answer, "id").starts_with("moved.md#catering-"));
}
