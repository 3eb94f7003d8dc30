//! Texts that are longer than one answer: a part says that it is one, and cannot be written back in place of the whole.

use serde_json::{Value, json};

use super::INVALID_PARAMS;
use crate::fixture::{Editor, Era, TestDocuments};

const REFUSED: (i64, &str) = (INVALID_PARAMS, "part_of_text");

/// All pages of a section.
fn pages(editor: &mut Editor<'_>, arguments: &Value) -> Vec<Value> {
    let mut arguments = arguments.clone();
    let mut pages = Vec::new();
    loop {
        let page = editor.ok("get_section", arguments.clone());
        let next = page.get("next_cursor").cloned();
        pages.push(page);
        match next {
            Some(next) => arguments["cursor"] = next,
            None => return pages,
        }
    }
}

/// Every text of an answer that could be taken for a hash of the section.
fn hashes(page: &Value) -> Vec<Value> {
    let fields = ["hash", "subtree_hash", "whole_hash"];
    let mut found: Vec<Value> = fields
        .iter()
        .filter_map(|field| page.get(field).cloned())
        .collect();
    found.push(Value::Null);
    found
}

fn update(page: &Value, content: &str, scope: &str, hash: &Value) -> Value {
    let mut call = json!({ "section_id": page["section_id"], "content": content, "scope": scope });
    if !hash.is_null() {
        call["expected_hash"] = hash.clone();
    }
    call
}

/// About as long as the section that lost two thirds of its text.
fn long_document(line_end: &str) -> String {
    let lines: String = (0..2100)
        .map(|number| format!("Línea {number}: 日本語のテキスト 🚀.\n"))
        .collect();
    let text = format!("# Lang\n\n{lines}\n## Unter\n\nKurz.\n\n# Ende\n\nSchluss.\n");
    text.replace('\n', line_end)
}

#[test]
fn a_part_says_so_and_is_not_written_back() {
    for (era, line_end) in [(Era::Handshake, "\n"), (Era::Stateless, "\r\n")] {
        let text = long_document(line_end);
        let documents = TestDocuments::single(&text);
        let mut editor = documents.open_with(era, "");
        for scope in ["body", "subtree"] {
            let parts = pages(&mut editor, &json!({ "heading": "Lang", "scope": scope }));
            assert!(parts.len() > 2, "{}", parts.len());
            let total: usize = parts
                .iter()
                .map(|part| part["content"].as_str().unwrap().len())
                .sum();
            let mut offset = 0;
            for (at, part) in parts.iter().enumerate() {
                let content = part["content"].as_str().unwrap();
                assert!(content.len() <= 32 << 10);
                assert_eq!(part["partial"], true, "{part}");
                assert_eq!(part["offset"], offset, "{part}");
                assert_eq!(part["total_bytes"], total, "{part}");
                offset += content.len();
                let note = part["note"].as_str().unwrap();
                assert!(
                    note.starts_with("This is a part of the section: bytes"),
                    "{note}"
                );
                assert!(note.contains("edit_text"), "{note}");
                for hash in ["hash", "subtree_hash"] {
                    assert!(part[hash].as_str().unwrap().starts_with("part-"), "{part}");
                }
                let is_last = at + 1 == parts.len();
                assert_eq!(part.get("whole_hash").is_some(), is_last, "{part}");
                for hash in hashes(part) {
                    let call = update(part, content, scope, &hash);
                    editor.assert_refused("update_section", call.clone(), REFUSED);
                    let mut dry_run = call.clone();
                    dry_run["dry_run"] = json!(true);
                    editor.assert_refused("update_section", dry_run, REFUSED);
                    let mut edit = call;
                    edit["operation"] = json!("update_section");
                    editor.assert_refused("apply_edits", json!({ "edits": [edit] }), REFUSED);
                }
                // The same when a word of it was changed, as long as nobody says that all of it was read.
                let changed = content.replacen("Línea", "Zeile", 1);
                for hash in [&part["hash"], &part["subtree_hash"], &Value::Null] {
                    let call = update(part, &changed, scope, hash);
                    editor.assert_refused("update_section", call, REFUSED);
                }
            }
            assert_eq!(documents.only(), text);
            let whole: String = parts
                .iter()
                .map(|part| part["content"].as_str().unwrap())
                .collect();
            let last = parts.last().unwrap();
            let call = update(last, &whole, scope, &last["whole_hash"]);
            let written = editor.ok("update_section", call);
            assert_eq!(written["unchanged"], true, "{written}");
            assert_eq!(documents.only(), text);
        }
    }
}

/// Anyone who listed the sections has not read them.
#[test]
fn hashes_from_elsewhere_do_not_replace_a_long_section_either() {
    let documents = TestDocuments::single(long_document("\n"));
    let mut editor = documents.open();
    let listed = editor.ok("list_sections", json!({}));
    let [long, short] = [&listed["sections"][0], &listed["sections"][1]];
    assert!(!short["hash"].as_str().unwrap().starts_with("part-"));
    let text = documents.only();
    for hash in ["hash", "subtree_hash"] {
        assert!(long[hash].as_str().unwrap().starts_with("part-"), "{long}");
        let call = update(long, "Kurz.", "body", &long[hash]);
        editor.assert_refused("update_section", call, REFUSED);
    }
    assert_eq!(documents.only(), text);
    // All other changes take them.
    let edit = json!({
        "section_id": long["section_id"], "old_text": "Línea 7:", "new_text": "Zeile 7:", "expected_hash": long["hash"],
    });
    let written = editor.ok("edit_text", edit);
    assert_eq!(written.get("merged"), None, "{written}");
    let hash = written["hash"].as_str().unwrap();
    assert!(
        hash.starts_with("part-") && hash != long["hash"],
        "{written}"
    );
    let rename =
        json!({ "section_id": long["section_id"], "heading": "Länger", "expected_hash": hash });
    let written = editor.ok("rename_section", rename);
    assert_eq!(written.get("merged"), None, "{written}");
    let call = update(short, "Anders.", "body", &short["hash"]);
    editor.ok("update_section", call);
    let expected = text
        .replace("Línea 7:", "Zeile 7:")
        .replace("# Lang\n", "# Länger\n")
        .replace("Kurz.", "Anders.");
    assert_eq!(documents.only(), expected);
}

/// Around the length of one answer, byte by byte: what fits is whole, what does not is a part.
#[test]
fn a_text_is_whole_up_to_the_length_of_an_answer() {
    const PAGE: usize = 1024;
    for bytes in PAGE - 4..=PAGE + 4 {
        for (unit, line_end) in [("é", "\n"), ("日", "\r\n"), ("x", "\n")] {
            let mut body = format!("Zeile.{line_end}");
            while body.len() + unit.len() <= bytes {
                body += unit;
            }
            body += &"y".repeat(bytes - body.len());
            let text = format!("# Lang{line_end}{line_end}{body}{line_end}");
            let documents = TestDocuments::single(&text);
            let mut editor =
                documents.open_with(Era::Handshake, "[editor]\nmax_answer_bytes = 1024\n");
            let parts = pages(&mut editor, &json!({ "heading": "Lang" }));
            assert_eq!(parts.len() > 1, bytes > PAGE, "{bytes}");
            let whole: String = parts
                .iter()
                .map(|part| part["content"].as_str().unwrap())
                .collect();
            assert_eq!(whole, body);
            let last = parts.last().unwrap();
            let hash = match bytes > PAGE {
                true => &last["whole_hash"],
                false => {
                    assert_eq!(last.get("partial"), None, "{last}");
                    &last["hash"]
                }
            };
            let written = editor.ok("update_section", update(last, &whole, "body", hash));
            assert_eq!(written["unchanged"], true, "{written}");
            for part in parts.iter().filter(|_| bytes > PAGE) {
                for hash in hashes(part) {
                    let content = part["content"].as_str().unwrap();
                    let call = update(part, content, "body", &hash);
                    editor.assert_refused("update_section", call, REFUSED);
                }
            }
            assert_eq!(documents.only(), text);
        }
    }
}

/// Documents and what they were come in parts that say so, too.
#[test]
fn parts_of_documents_say_so() {
    let text = long_document("\n");
    let documents = TestDocuments::single(&text);
    let mut editor = documents.open();
    for (tool, arguments) in [
        ("get_document", json!({})),
        ("get_revision", json!({ "entry": 0 })),
    ] {
        let first = editor.ok(tool, arguments.clone());
        let mut arguments = arguments;
        arguments["cursor"] = first["next_cursor"].clone();
        let second = editor.ok(tool, arguments);
        let length = first["document"].as_str().unwrap().len();
        for (page, offset) in [(&first, 0), (&second, length)] {
            assert_eq!(page["partial"], true);
            assert_eq!(page["offset"], offset);
            assert_eq!(page["total_bytes"], text.len());
            let note = page["note"].as_str().unwrap();
            assert!(
                note.starts_with("This is a part of the document: bytes"),
                "{note}"
            );
        }
    }
}

/// A retry is answered as the first call was, whatever the section has become by it.
#[test]
fn a_retry_of_a_write_that_made_a_section_long_is_known_as_one() {
    let documents = TestDocuments::single("# Lang\n\nKurz.\n");
    let mut editor = documents.open();
    let id = editor.id("Lang");
    let call = json!({ "section_id": id, "content": "Wort. ".repeat(10_000), "request_id": "one" });
    editor.ok("update_section", call.clone());
    let text = documents.only();
    let again = editor.ok("update_section", call);
    assert_eq!(again["replayed"], true, "{again}");
    assert_eq!(documents.only(), text);
}
