//! Any bytes have properties within bounds, the same in one pass as by themselves, and sentences around their links.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sectile_markdown::{
    MAX_ALIASES, MAX_FIELD_VALUES, MAX_FIELDS, MAX_NAME_CHARS, MAX_SENTENCE_CHARS, MAX_TAGS,
    MAX_TASKS, MAX_VALUE_CHARS, Properties, Source, chunks, estimate_tokens, examine, links,
    properties, sentence_around,
};

const LONGEST: usize = 200;

fuzz_target!(|data: &[u8]| {
    check(data);
    // Fuzzed bytes seldom open a block of front matter by themselves.
    check(&[b"---\n", data, b"\n---\n#tag\n- [ ] task\n"].concat());
});

fn check(bytes: &[u8]) {
    let source = Source::new(bytes);
    let found = properties(&source);
    check_bounds(&found);
    for task in &found.tasks {
        let line = task.span.slice(bytes);
        assert_eq!(line.len(), task.span.len());
        assert!(line.contains(&b'[') && !line.contains(&b'\n'));
    }
    let facts = examine(&source, LONGEST);
    assert_eq!(facts.properties, found);
    assert_eq!(facts.links, links(&source));
    let alone = chunks(&source, LONGEST);
    assert_eq!(facts.chunks.chunks, alone.chunks);
    assert_eq!(facts.chunks.document, alone.document);
    for place in facts.links.iter().flat_map(|link| link.places()) {
        assert!(place.end <= bytes.len());
        if let Ok(text) = std::str::from_utf8(bytes) {
            let sentence = &text[sentence_around(text, *place).range()];
            assert!(sentence.chars().count() <= MAX_SENTENCE_CHARS);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert!(estimate_tokens(text) <= 2 * text.len());
    }
}

fn check_bounds(found: &Properties) {
    assert!(found.fields.len() <= MAX_FIELDS);
    assert!(found.tags.len() <= MAX_TAGS && found.tasks.len() <= MAX_TASKS);
    assert!(found.aliases.len() <= MAX_ALIASES);
    let names = found.fields.iter().map(|field| &field.name);
    for name in names.chain(&found.tags) {
        assert!((1..=MAX_NAME_CHARS).contains(&name.chars().count()));
    }
    for field in &found.fields {
        assert!(field.values.len() <= MAX_FIELD_VALUES);
        let lengths = field.values.iter().map(|value| value.chars().count());
        assert!(lengths.max() <= Some(MAX_VALUE_CHARS));
    }
}
