//! Properties that hold for any block and any bytes.

use proptest::prelude::*;

use super::*;

/// One entry of a generated block: its lines, and the comments or blank lines after it.
#[derive(Clone, Debug)]
struct Lines {
    key: String,
    value: String,
    behind: String,
}

/// Generates values in all styles, starting after the colon and ending with a line ending.
fn any_written() -> impl Strategy<Value = String> {
    let comment = prop_oneof![Just(""), Just(" # why"), Just("  # \"quoted\" é")];
    let scalar = prop_oneof![
        "[a-zé][a-z é]{0,8}[a-z]",
        "[0-9]{1,4}",
        Just("2025-03-01".to_owned()),
        Just("true".to_owned()),
        Just("~".to_owned()),
        "\"[a-zé #:']{0,8}\"",
        "'[a-z #:\"]{0,8}'",
        Just("'it''s'".to_owned()),
        Just("\"a \\\" b\"".to_owned()),
    ];
    let item = scalar.clone();
    let literal = proptest::collection::vec("[a-z#:é-]{1,6}( #x)?|", 0..4);
    prop_oneof![
        3 => (scalar.clone(), comment.clone()).prop_map(|(value, comment)| format!(" {value}{comment}\n")),
        1 => comment.clone().prop_map(|comment| format!("{comment}\n")),
        1 => (item, comment.clone()).prop_map(|(item, comment)| format!(" [{item}, {item},\n  {item}]{comment}\n")),
        1 => comment.clone().prop_map(|comment| format!(" {{a: 1, b: '}}'}}{comment}\n")),
        2 => (proptest::collection::vec((scalar.clone(), comment.clone()), 1..4), 0_usize..4, comment.clone())
            .prop_map(|(items, indent, comment)| {
                let items = items.iter().map(|(item, comment)| format!("{:indent$}- {item}{comment}\n", ""));
                format!("{comment}\n{}", items.collect::<String>())
            }),
        1 => (scalar, comment.clone()).prop_map(|(value, comment)| {
            format!("\n  # inside\n  a: {value}{comment}\n\n  b:\n    - c\n    -\n  d:\n")
        }),
        2 => (literal, prop_oneof![Just("|"), Just(">"), Just("|-"), Just(">-")], comment).prop_map(
            |(lines, header, comment)| {
                let lines = lines.iter().map(|line| format!("    {line}\n"));
                format!(" {header}{comment}\n{}", lines.collect::<String>())
            }
        ),
        1 => Just(" some words\n  that go on\n\n  and on # why\n".to_owned()),
        1 => Just(" \"some words\n\n  that go on\" # why\n".to_owned()),
    ]
}

fn any_block(entries: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Lines>> {
    let behind = prop_oneof![
        3 => Just(""),
        1 => Just("\n"),
        1 => Just("# a comment: with # all\n"),
        1 => Just("\n# x\n\n# y\n"),
    ];
    let entry = (any_written(), behind, 0_usize..3);
    proptest::collection::vec(entry, entries).prop_map(|entries| {
        entries
            .into_iter()
            .enumerate()
            .map(|(index, (value, behind, style))| Lines {
                key: [
                    format!("k{index}"),
                    format!("\"k{index}\""),
                    format!("'k{index}' "),
                ][style]
                    .clone(),
                value,
                behind: behind.to_owned(),
            })
            .collect()
    })
}

fn yaml_of(entries: &[Lines]) -> String {
    entries
        .iter()
        .map(|entry| format!("{}:{}{}", entry.key, entry.value, entry.behind))
        .collect()
}

fn note_of(yaml: &str, line_end: &str) -> String {
    format!("---\n{yaml}---\n\n# Title\n\nText\n").replace('\n', line_end)
}

fn any_line_end() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("\n"), Just("\r\n"), Just("\r")]
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-1000..1000).prop_map(|value| number(f64::from(value) / 4.0)),
        "\\PC{0,12}".prop_map(Value::String),
        any::<String>().prop_map(Value::String),
        Just(text("2026-01-02")),
        Just(date("2026-01-02")),
        Just(text("a")),
    ];
    let list = proptest::collection::vec(scalar.clone(), 0..4).prop_map(Value::List);
    let nested = proptest::collection::btree_map("[a-z: ]{0,3}", list.clone(), 0..3)
        .prop_map(|pairs| Value::Map(pairs.into_iter().collect()));
    prop_oneof![3 => scalar, 2 => list, 1 => nested]
}

fn value_of(note: &str, key: &str) -> Option<Value> {
    match Source::new(note.as_bytes()).front_matter_value() {
        Some(Ok(Value::Map(mapping))) => mapping.get(key).cloned(),
        _ => None,
    }
}

proptest! {
    #[test]
    fn generated_blocks_are_yaml(entries in any_block(0..6)) {
        let note = note_of(&yaml_of(&entries), "\n");
        let value = Source::new(note.as_bytes()).front_matter_value();
        prop_assert!(matches!(value, Some(Ok(Value::Map(_) | Value::Null))), "{:?}", note);
    }

    #[test]
    fn setting_a_key_keeps_all_other_lines(
        entries in any_block(1..6),
        line_end in any_line_end(),
        picked in any::<proptest::sample::Index>(),
        value in any_value(),
    ) {
        let picked = picked.index(entries.len());
        let key = format!("k{picked}");
        let note = note_of(&yaml_of(&entries), line_end);
        let changed = edited(&note, &key, Some(&value)).unwrap();
        let entry = &entries[picked];
        let start = note_of(&format!("{}{}:", yaml_of(&entries[..picked]), entry.key), line_end);
        let start = start.split("---").nth(1).unwrap();
        let end = note_of(&format!("{}{}", entry.behind, yaml_of(&entries[picked + 1..])), line_end);
        let end = end.strip_prefix("---").and_then(|end| end.strip_prefix(line_end)).unwrap();
        prop_assert!(changed.strip_prefix("---").unwrap().starts_with(start), "{:?}", changed);
        prop_assert!(changed.ends_with(end), "{:?}", changed);
        let read = value_of(&changed, &key).unwrap();
        prop_assert!(reads_as(&value, &read, DateStyle::AsText), "{:?}", changed);
        let again = set_key(changed.as_bytes(), &key, &value).unwrap();
        prop_assert!(again.is_empty());
        let same = set_key(note.as_bytes(), &key, &value_of(&note, &key).unwrap()).unwrap();
        prop_assert!(same.is_empty());
    }

    #[test]
    fn a_new_key_can_be_removed_without_a_trace(
        entries in any_block(0..6),
        line_end in any_line_end(),
        key in "[a-z]{1,5}|\\PC{1,8}",
        value in any_value(),
    ) {
        let note = note_of(&yaml_of(&entries), line_end);
        prop_assume!(value_of(&note, &key).is_none());
        let changed = edited(&note, &key, Some(&value)).unwrap();
        prop_assert_eq!(edited(&changed, &key, None).unwrap(), note);
    }

    #[test]
    fn removing_a_key_keeps_all_other_lines(
        entries in any_block(1..6),
        line_end in any_line_end(),
        picked in any::<proptest::sample::Index>(),
    ) {
        let picked = picked.index(entries.len());
        let note = note_of(&yaml_of(&entries), line_end);
        let changed = edited(&note, &format!("k{picked}"), None).unwrap();
        let mut others = yaml_of(&entries[..picked]);
        // Blank lines at the end of a literal are lines after it, and those stay.
        let value = &entries[picked].value;
        let value_lines = value.trim_end_matches([' ', '\n']);
        let blanks = value[value_lines.len()..].strip_prefix('\n').unwrap();
        others += blanks;
        others += &entries[picked].behind;
        others += &yaml_of(&entries[picked + 1..]);
        prop_assert_eq!(changed, note_of(&others, line_end));
    }

    #[test]
    fn any_bytes_are_fine(
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        key in any::<String>(),
        value in any_value(),
    ) {
        check_any(&bytes, &key, &value);
        check_any(&[b"---\n", bytes.as_slice(), b"\n---\n"].concat(), &key, &value);
    }

    #[test]
    fn any_near_yaml_is_fine(
        yaml in "([ab]|[ \n]|: |- |\n- |\na: |\nb:|[|>\"'\\[\\]{},#&*!?~<\r\t\0é-]){0,24}",
        value in any_value(),
    ) {
        for key in ["a", "b", "c"] {
            check_any(format!("---\n{yaml}\n---\n# T\n").as_bytes(), key, &value);
        }
    }
}

/// Checks that any returned changes can be applied and undone, and do what was requested.
fn check_any(bytes: &[u8], key: &str, value: &Value) {
    for changes in [set_key(bytes, key, value), remove_key(bytes, key)]
        .into_iter()
        .flatten()
    {
        let changed = changes.apply(bytes).expect("inside the note");
        let back = changes.inverse(bytes).apply(&changed);
        assert_eq!(back.as_deref(), Some(bytes));
    }
    if let Ok(changes) = set_key(bytes, key, value) {
        let changed = changes.apply(bytes).expect("inside the note");
        let again = set_key(&changed, key, value).expect("what was set can be set again");
        assert!(again.is_empty());
    }
}
