//! Edits of any front matter are refused, or do exactly what was asked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{Changes, Value, remove_key, set_key};

fuzz_target!(|input: (&[u8], &str, &str)| {
    let (data, key, text) = input;
    // Fuzzed bytes seldom open a block by themselves.
    let wrapped = [b"---\n", data, b"\n---\n# Title\n"].concat();
    for note in [data, &wrapped] {
        for key in [key, "a"] {
            check(note, key, &Value::String(text.to_owned()));
            check(note, key, &Value::Number(7.0));
            let items = text.split(',').map(|item| Value::String(item.to_owned()));
            check(note, key, &Value::List(items.collect()));
        }
    }
});

fn check(note: &[u8], key: &str, value: &Value) {
    if let Ok(changes) = set_key(note, key, value) {
        let changed = undoable(note, &changes);
        let again = set_key(&changed, key, value).expect("what was set can be set again");
        assert!(again.is_empty(), "the same value changes nothing");
    }
    if let Ok(changes) = remove_key(note, key) {
        let changed = undoable(note, &changes);
        assert!(remove_key(&changed, key).is_err(), "the key is gone");
    }
}

fn undoable(note: &[u8], changes: &Changes) -> Vec<u8> {
    let changed = changes.apply(note).expect("inside the note");
    let back = changes.inverse(note).apply(&changed);
    assert_eq!(back.as_deref(), Some(note));
    changed
}
