//! Rewording of text when one of the tools that it names cannot be seen.

use serde_json::json;

use super::*;

const TOOLS: [&str; 6] = [
    "list_sections",
    "get_section",
    "edit_text",
    "delete_section",
    "undo",
    "history",
];

/// For a caller that sees all of [`TOOLS`] except these.
fn without(unseen: &[&'static str]) -> Naming<'static> {
    let seen = TOOLS.into_iter().filter(|name| !unseen.contains(name));
    Naming::new(seen.collect(), unseen.to_vec())
}

#[test]
fn a_text_stays_as_it_is_when_everything_that_it_names_can_be_seen() {
    let text = "Start with list_sections. `undo` takes it back; get_section reads.";
    assert!(matches!(without(&["edit_text"]).text(text), Cow::Borrowed(same) if same == text));
    assert!(matches!(Naming::default().text(text), Cow::Borrowed(same) if same == text));
}

#[test]
fn what_names_a_hidden_tool_is_left_out_and_the_rest_stays() {
    let hidden: &[&str] = &["edit_text"];
    for (text, expected) in [
        // A sentence.
        ("Read it. Then use edit_text. Done.", "Read it. Done."),
        ("Read it, e.g. with edit_text. Done.", "Done."),
        ("(Or use edit_text.) Done.", "Done."),
        ("Ask: is edit_text there? Done.", "Done."),
        ("Use `edit_text`.", ""),
        // A clause.
        ("Read it; use edit_text.", "Read it."),
        ("use edit_text; or read it.", "Read it."),
        ("Use edit_text; get_section reads.", "get_section reads."),
        ("One; edit_text; two (with care).", "One; two (with care)."),
        // An item of a list.
        ("Use edit_text or undo.", ""),
        ("Use edit_text or `undo`.", "Use `undo`."),
        (
            "Use get_section, edit_text, delete_section.",
            "Use get_section, delete_section.",
        ),
        (
            "Use get_section,\nedit_text and delete_section.",
            "Use get_section and delete_section.",
        ),
        (
            "Use get_section, delete_section and edit_text.",
            "Use get_section and delete_section.",
        ),
        (
            "Use edit_text, then get_section {\"x\": 1}.",
            "Use get_section {\"x\": 1}.",
        ),
        (
            "Use get_section (whole), edit_text (a passage), delete_section.",
            "Use get_section (whole), delete_section.",
        ),
        // The source of a value.
        ("Id of a section, from edit_text.", "Id of a section."),
        ("A token for edit_text", "A token"),
        ("From edit_text", ""),
        // Not the name of that tool.
        (
            "The edit_texts and my_edit_text.",
            "The edit_texts and my_edit_text.",
        ),
    ] {
        assert_eq!(without(hidden).text(text), expected, "{text}");
    }
}

#[test]
fn an_ordinary_word_is_a_name_in_backticks_and_after_call() {
    let naming = without(&["undo", "history"]);
    for (text, expected) in [
        (
            "The history has what there is to undo.",
            "The history has what there is to undo.",
        ),
        ("See the entry. `undo` takes it back.", "See the entry."),
        ("See the entry. Call history.", "See the entry."),
        ("See the entry, or call undo with it. Done.", "Done."),
    ] {
        assert_eq!(naming.text(text), expected, "{text}");
    }
}

#[test]
fn an_entry_of_a_list_goes_with_its_first_sentence() {
    let text = "Tools:\n- list_sections: the ids. Start here.\n- get_section: the text,\n  in pages. Use edit_text.\n\n1. Call edit_text.\n2. Look.";
    let expected = "Tools:\n- get_section: the text,\n  in pages. Use edit_text.\n\n1. Call edit_text.\n2. Look.";
    assert_eq!(without(&["list_sections"]).text(text), expected);
    let expected = "Tools:\n- list_sections: the ids. Start here.\n- get_section: the text,\n  in pages.\n\n2. Look.";
    assert_eq!(without(&["edit_text"]).text(text), expected);
}

#[test]
fn advice_is_never_empty() {
    assert_eq!(without(&["edit_text"]).advice("Call edit_text."), ADVICE);
    assert_eq!(without(&["edit_text"]).advice("Look."), "Look.");
}

#[test]
fn a_schema_has_no_choice_that_is_a_hidden_tool() {
    let schema = json!({
        "description": "One of edit_text, delete_section.",
        "properties": {
            "description": { "type": "string", "description": "What edit_text takes." },
            "does": { "enum": ["edit_text", "delete_section"] },
            "op": { "$ref": "#/$defs/Op" },
            "none": { "oneOf": [{ "const": "edit_text" }], "description": "Whole." },
        },
        "$defs": { "Op": { "oneOf": [
            { "const": "edit_text" },
            { "const": "delete_section", "description": "As edit_text. Whole." },
            { "properties": { "kind": { "const": "edit_text" } } },
        ] } },
        "items": { "description": "edit_text" },
    });
    let schema = schema.as_object().expect("an object");
    let expected = json!({
        "description": "One of delete_section.",
        "properties": {
            "description": { "type": "string" },
            "does": { "enum": ["delete_section"] },
            "op": { "$ref": "#/$defs/Op" },
            "none": { "enum": [], "description": "Whole." },
        },
        "$defs": { "Op": { "oneOf": [
            { "const": "delete_section", "description": "Whole." },
        ] } },
        "items": {},
    });
    let naming = without(&["edit_text"]);
    assert_eq!(Value::Object(naming.schema(schema).into_owned()), expected);
    assert_eq!(Value::Object(naming.choices(schema).into_owned()), expected);
    assert!(matches!(
        without(&["undo"]).choices(schema),
        Cow::Borrowed(_)
    ));
}
