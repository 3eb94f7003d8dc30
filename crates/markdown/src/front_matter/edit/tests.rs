//! Edits of front matter, case by case and for any block.

mod properties;

use super::*;
use crate::Timestamp;

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn number(value: f64) -> Value {
    Value::Number(value)
}

fn date(written: &str) -> Value {
    Value::Timestamp(Timestamp::new(written).expect("a date"))
}

fn texts(items: &[&str]) -> Value {
    Value::List(items.iter().map(|item| text(item)).collect())
}

fn map(pairs: &[(&str, Value)]) -> Value {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()));
    Value::Map(pairs.collect())
}

/// Returns the note after setting or removing `key`.
fn edited(note: &str, key: &str, value: Option<&Value>) -> Result<String, FrontMatterError> {
    let changes = match value {
        Some(value) => set_key(note.as_bytes(), key, value),
        None => remove_key(note.as_bytes(), key),
    }?;
    let changed = changes.apply(note.as_bytes()).expect("inside the note");
    Ok(String::from_utf8(changed).expect("UTF-8"))
}

#[track_caller]
fn sets(note: &str, key: &str, value: &Value, expected: &str) {
    let changed = edited(note, key, Some(value));
    assert_eq!(
        changed.as_deref(),
        Ok(expected),
        "set {key:?} in {note:?} to {value:?}"
    );
}

#[track_caller]
fn removes(note: &str, key: &str, expected: &str) {
    let changed = edited(note, key, None);
    assert_eq!(
        changed.as_deref(),
        Ok(expected),
        "remove {key:?} from {note:?}"
    );
}

/// The same with one block and no text below it; `yaml` and `expected` are between the delimiter lines.
#[track_caller]
fn sets_in(yaml: &str, key: &str, value: &Value, expected: &str) {
    for (line_end, mark, close, body) in [
        ("\n", "", "---", "\n# Title\n\nText\n"),
        ("\r\n", "", "---  ", "# Title\n"),
        ("\r", "\u{feff}", "...", "Text"),
    ] {
        let whole =
            |yaml: &str| format!("{mark}---\n{yaml}{close}\n{body}").replace('\n', line_end);
        sets(&whole(yaml), key, value, &whole(expected));
    }
}

#[track_caller]
fn removes_in(yaml: &str, key: &str, expected: &str) {
    for line_end in ["\n", "\r\n", "\r"] {
        let whole = |yaml: &str| format!("---\n{yaml}---\n# Title\n").replace('\n', line_end);
        removes(&whole(yaml), key, &whole(expected));
    }
}

#[test]
fn a_block_is_made() {
    let done = &text("done");
    for (note, expected) in [
        ("", "---\nstatus: done\n---\n"),
        ("# Title\n", "---\nstatus: done\n---\n\n# Title\n"),
        ("\n# Title\n", "---\nstatus: done\n---\n\n# Title\n"),
        (" \t\nText", "---\nstatus: done\n---\n \t\nText"),
        ("Text", "---\nstatus: done\n---\n\nText"),
        (
            "# A\r\n\r\nText\r\n",
            "---\r\nstatus: done\r\n---\r\n\r\n# A\r\n\r\nText\r\n",
        ),
        ("# A\rText\r", "---\rstatus: done\r---\r\r# A\rText\r"),
        ("\u{feff}# A\n", "\u{feff}---\nstatus: done\n---\n\n# A\n"),
        ("\u{feff}", "\u{feff}---\nstatus: done\n---\n"),
        (
            "---\n# Not closed\n",
            "---\nstatus: done\n---\n\n---\n# Not closed\n",
        ),
        ("---", "---\nstatus: done\n---\n\n---"),
        (
            " ---\na: 1\n---\n",
            "---\nstatus: done\n---\n\n ---\na: 1\n---\n",
        ),
        ("    code\n", "---\nstatus: done\n---\n\n    code\n"),
        ("a\0b\n# T\n", "---\nstatus: done\n---\n\na\0b\n# T\n"),
    ] {
        sets(note, "status", done, expected);
    }
    sets("x", "a: b", &Value::Null, "---\n\"a: b\": null\n---\n\nx");
}

#[test]
fn a_missing_key_becomes_the_last() {
    for (yaml, expected) in [
        ("", "status: done\n"),
        ("\n", "\nstatus: done\n"),
        ("# nothing yet\n", "# nothing yet\nstatus: done\n"),
        ("title: T\n", "title: T\nstatus: done\n"),
        (
            "title: T # c\n\n# the end\n",
            "title: T # c\n\n# the end\nstatus: done\n",
        ),
        ("tags:\n- a\n", "tags:\n- a\nstatus: done\n"),
        ("  a: 1\n  b: 2\n", "  a: 1\n  b: 2\n  status: done\n"),
        (
            "text: |\n  one\n\n  two\n",
            "text: |\n  one\n\n  two\nstatus: done\n",
        ),
        ("empty:\n", "empty:\nstatus: done\n"),
        (
            "base: &b {x: 1}\n<<: *b\n",
            "base: &b {x: 1}\n<<: *b\nstatus: done\n",
        ),
        ("\u{feff}a: 1\n", "\u{feff}a: 1\nstatus: done\n"),
        ("a: \"nul \0\"\n", "a: \"nul \0\"\nstatus: done\n"),
    ] {
        sets_in(yaml, "status", &text("done"), expected);
    }
    sets("---\n---", "a", &number(1.0), "---\na: 1\n---");
    sets_in("a: 1\n", "on", &Value::Bool(true), "a: 1\n\"on\": true\n");
    sets_in("a: 1\n", "<<", &text("x"), "a: 1\n\"<<\": x\n");
}

#[test]
fn a_value_on_one_line() {
    for (yaml, expected) in [
        ("title: Old\n", "title: New\n"),
        (
            "a: 1\ntitle:   Old   # why\nb: 2\n",
            "a: 1\ntitle:   New   # why\nb: 2\n",
        ),
        ("title: \"Old\" # why\n", "title: New # why\n"),
        ("title: 'It''s # old'\t# why\n", "title: New\t# why\n"),
        ("title: \"a \\\" # b\" # why\n", "title: New # why\n"),
        ("\"title\": Old\n", "\"title\": New\n"),
        ("'title' : Old\n", "'title' : New\n"),
        ("title : Old\n", "title : New\n"),
        ("title: [a, b] # why\n", "title: New # why\n"),
        ("title: {a: \"}\"} # why\n", "title: New # why\n"),
        ("title: !!str 5 # why\n", "title: New # why\n"),
        ("title: &unused Old\n", "title: New\n"),
        ("x: &a 1\ntitle: *a # why\n", "x: &a 1\ntitle: New # why\n"),
        ("title: 2025-03-01\n", "title: New\n"),
        ("title: a#b:c\n", "title: New\n"),
        (
            "# é\nü: ö\ntitle: Älter # ß\n",
            "# é\nü: ö\ntitle: New # ß\n",
        ),
        ("🚀: 🚀\ntitle: 🚀 # 🚀\n", "🚀: 🚀\ntitle: New # 🚀\n"),
        ("z: \"\0\"\ntitle: \0 # c\n", "z: \"\0\"\ntitle: New # c\n"),
        ("  a: 1\n  title: Old\n", "  a: 1\n  title: New\n"),
        ("--- # again\ntitle: Old\n", "--- # again\ntitle: New\n"),
        ("title: ~\n", "title: New\n"),
        ("\u{feff}title: Old\n", "\u{feff}title: New\n"),
        ("'007': spy\ntitle: Old\n", "'007': spy\ntitle: New\n"),
    ] {
        sets_in(yaml, "title", &text("New"), expected);
    }
}

#[test]
fn a_key_without_a_value() {
    for (yaml, expected) in [
        ("title:\nb: 1\n", "title: New\nb: 1\n"),
        ("title: \nb: 1\n", "title: New\nb: 1\n"),
        ("title:  \n", "title:  New\n"),
        ("title:  # todo\nb: 1\n", "title: New  # todo\nb: 1\n"),
        ("title:\n# todo\n\nb: 1\n", "title: New\n# todo\n\nb: 1\n"),
        ("title: !!str # c\nb: 1\n", "title: New # c\nb: 1\n"),
        ("title: &a\nb: 1\n", "title: New\nb: 1\n"),
    ] {
        sets_in(yaml, "title", &text("New"), expected);
    }
}

#[test]
fn a_value_on_several_lines() {
    for (yaml, expected) in [
        ("v:\n  - a\n  - b\n\n# c\nz: 1\n", "v: New\n\n# c\nz: 1\n"),
        ("v:\n- a\n- b\nz: 1\n", "v: New\nz: 1\n"),
        ("v: # why\n- a\n", "v: New # why\n"),
        (
            "v:\n  # first\n  - a\n  # last\n",
            "v: New\n  # first\n  # last\n",
        ),
        (
            "v:\n  a: 1\n  b:\n    - c\n  d:\n# c\nz: 1\n",
            "v: New\n# c\nz: 1\n",
        ),
        ("v:\n-\n-\n# c\nz: 1\n", "v: New\n# c\nz: 1\n"),
        ("v: |\n  one\n\n  two\n\nz: 1\n", "v: New\n\nz: 1\n"),
        (
            "v: >-  # why\n  one\n  # two\n# c\nz: 1\n",
            "v: New  # why\n# c\nz: 1\n",
        ),
        ("v: |+\n  one\n\n\nz: 1\n", "v: New\n\n\nz: 1\n"),
        ("v: |\nz: 1\n", "v: New\nz: 1\n"),
        ("v: |2\n    one\n  two\n", "v: New\n"),
        ("v: !!str |\n  one\n", "v: New\n"),
        ("v: one\n  two\n  three # c\nz: 1\n", "v: New # c\nz: 1\n"),
        ("v: \"one\n\n  two\" # c\nz: 1\n", "v: New # c\nz: 1\n"),
        ("v: 'one\n  two'\n\nz: 1\n", "v: New\n\nz: 1\n"),
        ("v:\n  one\n  two\nz: 1\n", "v:\n  New\nz: 1\n"),
        ("v: [a,\n  b, # x\n  c] # c\nz: 1\n", "v: New # c\nz: 1\n"),
        ("v: {\n  a: 1\n}\nz: 1\n", "v: New\nz: 1\n"),
        (
            "v:\n  - x: |\n      # a\n      # b\n  # c\nz: 1\n",
            "v: New\n  # c\nz: 1\n",
        ),
        ("v: !!seq # c\n  - a\nz: 1\n", "v: New # c\nz: 1\n"),
        ("v:\n  &a\n  - a\nz: 1\n", "v:\n  New\nz: 1\n"),
    ] {
        sets_in(yaml, "v", &text("New"), expected);
    }
}

#[test]
fn lists() {
    let two = &texts(&["x", "y z"]);
    for (yaml, expected) in [
        ("tags: a\n", "tags: [x, y z]\n"),
        ("tags: [a, b] # c\n", "tags: [x, y z] # c\n"),
        ("tags:\n", "tags: [x, y z]\n"),
        ("tags:\n  - a\nb: 1\n", "tags:\n  - x\n  - y z\nb: 1\n"),
        ("tags:\n- a\n- b\n- c\n# e\n", "tags:\n- x\n- y z\n# e\n"),
        ("tags: # c\n    -  a\n", "tags: # c\n    -  x\n    -  y z\n"),
        ("tags:\n-\n- b\n", "tags:\n- x\n- y z\n"),
        ("tags:\n  - [a]\nb: 1\n", "tags: [x, y z]\nb: 1\n"),
        ("tags:\n  a: 1\nb: 1\n", "tags: [x, y z]\nb: 1\n"),
        (
            "tags:\n  - \"x\" # one\n\n  # more\n  - b\n",
            "tags:\n  - \"x\" # one\n\n  # more\n  - y z\n",
        ),
        (
            "tags:\n  - 'y z' # two\nb: 1\n",
            "tags:\n  - x\n  - 'y z' # two\nb: 1\n",
        ),
        (
            "tags:\n  - 'x' # one\n# c\nb: 1\n",
            "tags:\n  - 'x' # one\n  - y z\n# c\nb: 1\n",
        ),
        (
            "tags:\n  - x\n  # in\n  - |\n    # k\n    l\n  # on\n  - 'y z'\n",
            "tags:\n  - x\n  # in\n  # on\n  - 'y z'\n",
        ),
        (
            "tags:\n  - >-\n    y\n    z\n",
            "tags:\n  - x\n  - >-\n    y\n    z\n",
        ),
    ] {
        sets_in(yaml, "tags", two, expected);
    }
    sets_in("tags:\n- a\n", "tags", &texts(&[]), "tags: []\n");
    sets_in(
        "tags: []\n",
        "tags",
        &texts(&["[[A]]", "b, c", "https://d.e", "007"]),
        "tags: [\"[[A]]\", \"b, c\", \"https://d.e\", \"007\"]\n",
    );
    sets_in(
        "tags:\n- a\n",
        "tags",
        &Value::List(vec![text("a"), texts(&["b"]), map(&[("c", Value::Null)])]),
        "tags: [a, [b], {c: null}]\n",
    );
}

#[test]
fn other_values() {
    for (value, expected) in [
        (Value::Null, "null"),
        (Value::Bool(true), "true"),
        (number(7.0), "7"),
        (number(-0.25), "-0.25"),
        (number(1e21), "1e21"),
        (number(f64::INFINITY), ".inf"),
        (date("2026-01-02 10:00:00"), "2026-01-02 10:00:00"),
        (text(""), "\"\""),
        (text("null"), "\"null\""),
        (text("0x1F"), "\"0x1F\""),
        (text("two\nlines\n"), "\"two\\nlines\\n\""),
        (text("C:\\x \"y\""), "C:\\x \"y\""),
        (text("key: \\ \"v\""), "\"key: \\\\ \\\"v\\\"\""),
        (text("---"), "\"---\""),
        (text("nul \0"), "\"nul \\x00\""),
        (map(&[]), "{}"),
        (
            map(&[("a b", number(1.0)), ("c:d", texts(&["e"]))]),
            "{a b: 1, \"c:d\": [e]}",
        ),
    ] {
        sets_in(
            "a: 1\nv: old # c\nz: 2\n",
            "v",
            &value,
            &format!("a: 1\nv: {expected} # c\nz: 2\n"),
        );
    }
}

#[test]
fn dates_and_texts_that_look_like_dates() {
    let day = &text("2026-01-02");
    for (yaml, expected) in [
        ("a: 1\n", "a: 1\nday: \"2026-01-02\"\n"),
        ("day:\n", "day: \"2026-01-02\"\n"),
        ("day: 2025-03-01 # c\n", "day: \"2026-01-02\" # c\n"),
        ("day: \"2025-03-01\"\n", "day: \"2026-01-02\"\n"),
        ("day: soon\n", "day: \"2026-01-02\"\n"),
        ("day: 5\n", "day: \"2026-01-02\"\n"),
    ] {
        sets_in(yaml, "day", day, expected);
    }
    let days = &texts(&["2026-01-02", "2026-01-03"]);
    for (yaml, expected) in [
        (
            "day:\n- 2026-01-02 # c\n",
            "day:\n- \"2026-01-02\"\n- \"2026-01-03\"\n",
        ),
        (
            "day: ['2026-01-02']\n",
            "day: [\"2026-01-02\", \"2026-01-03\"]\n",
        ),
        (
            "day: [2026-01-01]\n",
            "day: [\"2026-01-02\", \"2026-01-03\"]\n",
        ),
    ] {
        sets_in(yaml, "day", days, expected);
    }
    sets_in(
        "day: '2026-01-02'\n",
        "day",
        &date("2026-01-02"),
        "day: 2026-01-02\n",
    );
}

#[test]
fn the_same_value_changes_nothing() {
    for (yaml, key, value) in [
        ("a: 'x' # c\n", "a", text("x")),
        ("a: 0x10\n", "a", number(16.0)),
        ("a: .NaN\n", "a", number(f64::NAN)),
        ("a: ~\n", "a", Value::Null),
        ("a:\n", "a", Value::Null),
        ("a: TRUE\n", "a", Value::Bool(true)),
        ("a: 2026-01-02\n", "a", text("2026-01-02")),
        ("a: 2026-01-02\n", "a", date("2026-01-02")),
        ("a:\n  - \"x\"\n  # c\n  - y\n", "a", texts(&["x", "y"])),
        ("a: {b: 'c'}\n", "a", map(&[("b", text("c"))])),
        ("a: >\n  x\n  y\n", "a", text("x y\n")),
        ("{a: 1}\n", "a", number(1.0)),
        ("x: &x 1\na: *x\n", "a", number(1.0)),
        ("b: &b {a: 1}\n<<: *b\n", "a", number(1.0)),
    ] {
        let note = format!("---\n{yaml}---\n");
        let changes = set_key(note.as_bytes(), key, &value).expect("no change is always possible");
        assert!(changes.is_empty(), "{yaml:?}: {changes:?}");
    }
}

#[test]
fn a_key_is_removed() {
    for (yaml, expected) in [
        ("v: 1\n", ""),
        ("a: 1\nv: 2\nb: 3\n", "a: 1\nb: 3\n"),
        (
            "# about v\nv: 1 # c\n# about b\nb: 2\n",
            "# about v\n# about b\nb: 2\n",
        ),
        ("a: 1\n\nv: 2\n\nb: 3\n", "a: 1\n\n\nb: 3\n"),
        ("\"v\": 1\nb: 2\n", "b: 2\n"),
        ("v:\nb: 2\n", "b: 2\n"),
        ("v:\n- a\n\n- b\n# c\nb: 2\n", "# c\nb: 2\n"),
        (
            "v:\n  a: 1\n  # in\n  b:\n  # out\nb: 2\n",
            "  # out\nb: 2\n",
        ),
        ("v: |\n  # x\n  y\n\nb: 2\n", "\nb: 2\n"),
        ("v: |\nb: 2\n", "b: 2\n"),
        ("v: >\n\n  x\nb: 2\n", "b: 2\n"),
        ("v: a\n  b # c\nb: 2\n", "b: 2\n"),
        ("v: \"a\n  b\" # c\nb: 2\n", "b: 2\n"),
        ("v: [\n  a,\n] # c\nb: 2\n", "b: 2\n"),
        ("v: &x [1]\nb: 2\n", "b: 2\n"),
        ("a: &x 1\nv: *x\n", "a: &x 1\n"),
        ("  v: 1\n  b: 2\n", "  b: 2\n"),
        ("é: ü\nv: ö\nb: 2\n", "é: ü\nb: 2\n"),
        ("a: |\n  x\n\nv: 1\nb: 2\n", "a: |\n  x\n\nb: 2\n"),
    ] {
        removes_in(yaml, "v", expected);
    }
}

#[test]
fn refusals() {
    use FrontMatterError as E;
    let note = |yaml: &str| format!("---\n{yaml}---\nText\n");
    for (yaml, key, set, remove) in [
        ("- a\n", "v", E::NotAMapping, E::NotAMapping),
        ("text\n", "v", E::NotAMapping, E::NotAMapping),
        ("~\n", "v", E::NotAMapping, E::KeyNotFound),
        ("{v: 1}\n", "v", E::FlowRoot, E::FlowRoot),
        ("v: [\n", "v", E::Broken, E::Broken),
        ("v: 1\nv: 2\n", "v", E::Broken, E::Broken),
        ("v: &x 1\nb: *x\n", "v", E::UsesAnchors, E::UsesAnchors),
        ("v: [&x 1]\nb: [*x]\n", "v", E::UsesAnchors, E::UsesAnchors),
        (
            "v: &x {a: 1}\nb:\n  <<: *x\n",
            "v",
            E::UsesAnchors,
            E::UsesAnchors,
        ),
        (
            "b: &x {v: 1}\n<<: *x\n",
            "v",
            E::UsesAnchors,
            E::UsesAnchors,
        ),
        ("b: &x v\n*x : 1\n", "v", E::UsesAnchors, E::UsesAnchors),
        ("&x v: 1\nb: *x\n", "v", E::UsesAnchors, E::UsesAnchors),
        ("? v\n: 1\n", "v", E::Unsafe, E::Unsafe),
        ("v: 1\n", "", E::InvalidKey, E::InvalidKey),
        ("v: 1\n", "a\nb", E::InvalidKey, E::InvalidKey),
        ("v: 1\n", "a\rb", E::InvalidKey, E::InvalidKey),
    ] {
        let note = note(yaml);
        assert_eq!(edited(&note, key, Some(&text("New"))), Err(set), "{yaml:?}");
        assert_eq!(edited(&note, key, None), Err(remove), "{yaml:?}");
    }
    for yaml in ["a: 1\n", "", "# c\n"] {
        assert_eq!(edited(&note(yaml), "v", None), Err(E::KeyNotFound));
    }
    assert_eq!(edited("Text", "v", None), Err(E::KeyNotFound));
    assert_eq!(set_key(b"\xff", "v", &Value::Null), Err(E::NotUtf8));
    assert_eq!(remove_key(b"---\nv: 1\n---\n\xff", "v"), Err(E::NotUtf8));
    // Without `v`, what follows it would become part of the text above.
    let yaml = "a: |\n  x\nv: 1\n  # c\n";
    assert_eq!(edited(&note(yaml), "v", None), Err(E::Unsafe));
    let yaml = "a: |+\n  x\nv: 1\n\n";
    assert_eq!(edited(&note(yaml), "v", None), Err(E::Unsafe));
    // The YAML document inside the block has ended; a key after that would start another.
    let yaml = "a: 1\n... # over\n";
    assert_eq!(edited(&note(yaml), "v", Some(&Value::Null)), Err(E::Unsafe));
}

#[test]
fn bounds() {
    use FrontMatterError as E;
    let mut deep = Value::Null;
    for _ in 0..MAX_DEPTH - 1 {
        deep = Value::List(vec![deep]);
    }
    assert!(set_key(b"", "v", &deep).is_ok());
    deep = Value::List(vec![deep]);
    assert_eq!(set_key(b"", "v", &deep), Err(E::TooLarge));
    let wide = Value::List(vec![Value::Null; MAX_NODES + 1]);
    assert_eq!(set_key(b"", "v", &wide), Err(E::TooLarge));
    let half = Value::List(vec![Value::Null; MAX_NODES / 2]);
    let note = format!("---\na: [{}]\n---\n", "x,".repeat(MAX_NODES / 2));
    assert_eq!(set_key(note.as_bytes(), "v", &half), Err(E::TooLarge));
    assert!(set_key(b"", &"k".repeat(MAX_KEY_CHARS), &Value::Null).is_ok());
    let long = "k".repeat(MAX_KEY_CHARS + 1);
    assert_eq!(set_key(b"", &long, &Value::Null), Err(E::InvalidKey));
}

#[test]
fn a_mapping_with_a_key_twice_is_refused() {
    let twice = map(&[("a", Value::Null), ("a", Value::Null)]);
    assert_eq!(
        set_key(b"", "v", &twice),
        Err(FrontMatterError::Unsafe),
        "it could not be read back"
    );
}

/// Replaces one passage of a realistic note and nothing else.
#[track_caller]
fn swaps(note: &str, key: &str, value: Option<&Value>, old: &str, new: &str) {
    for line_end in ["\n", "\r\n"] {
        let whole = |text: &str| text.replace('\n', line_end);
        assert_eq!(note.matches(old).count(), 1, "{old:?} stands once");
        let expected = whole(&note.replace(old, new));
        assert_eq!(edited(&whole(note), key, value), Ok(expected), "{key}");
    }
}

#[test]
fn notes_as_people_write_them() {
    let obsidian = "---\naliases:\n  - \"[[Daily]]\"\n  - Log\ntags: [daily, 'work/urgent']\ncreated: 2025-03-01T08:00\ndue: 2025-03-04\ncssclasses:\nrating: 4.5\nrelated: \"[[Other Note#Heading|shown]]\"\n---\n\n# Log\n\n---\n\n## Done\n";
    let list = texts(&["[[Daily]]", "Log", "Journal"]);
    let change = ("  - Log\n", "  - Log\n  - Journal\n");
    swaps(obsidian, "aliases", Some(&list), change.0, change.1);
    let change = ("[daily, 'work/urgent']", "[done]");
    let list = texts(&["done"]);
    swaps(obsidian, "tags", Some(&list), change.0, change.1);
    let day = text("2026-01-02");
    swaps(obsidian, "due", Some(&day), "2025-03-04", "\"2026-01-02\"");
    let day = date("2026-01-02");
    swaps(obsidian, "due", Some(&day), "2025-03-04", "2026-01-02");
    let change = ("cssclasses:", "cssclasses: [wide]");
    let list = texts(&["wide"]);
    swaps(obsidian, "cssclasses", Some(&list), change.0, change.1);
    swaps(obsidian, "rating", Some(&number(5.0)), "4.5", "5");
    let change = ("\"[[Other Note#Heading|shown]]\"", "\"[[Third Note]]\"");
    let link = text("[[Third Note]]");
    swaps(obsidian, "related", Some(&link), change.0, change.1);
    swaps(obsidian, "created", None, "created: 2025-03-01T08:00\n", "");

    let site = "---\n# Shown in the menu\ntitle:  \"Hello: World\"   # keep short\ndate: 2024-11-30 09:15:00 +0100\ndraft: true\n\n# Taxonomies\ncategories:\n- go\n- \"rust\"   # new\ndescription: >-\n  A long text that is folded\n  over # two lines.\n\nmenu:\n  main:\n    weight: 10\n    # parent: docs\nsummary: 'It''s here'\n# end\n---\nBody with --- dashes\n---\n";
    let change = ("\"Hello: World\"", "Hello World");
    swaps(site, "title", Some(&text(change.1)), change.0, change.1);
    // Ruby reads it as a time, although the zone has no colon.
    let time = text("2026-01-02 10:00:00 +0100");
    let change = ("2024-11-30 09:15:00 +0100", "\"2026-01-02 10:00:00 +0100\"");
    swaps(site, "date", Some(&time), change.0, change.1);
    swaps(site, "draft", Some(&Value::Bool(false)), "true", "false");
    let change = ("- go\n- \"rust\"", "- \"rust\"");
    let list = texts(&["rust"]);
    swaps(site, "categories", Some(&list), change.0, change.1);
    let folded = "description: >-\n  A long text that is folded\n  over # two lines.\n";
    let short = text("Short");
    swaps(
        site,
        "description",
        Some(&short),
        folded,
        "description: Short\n",
    );
    swaps(site, "description", None, folded, "");
    let menu = "menu:\n  main:\n    weight: 10\n";
    let value = map(&[("main", map(&[("weight", number(20.0))]))]);
    swaps(
        site,
        "menu",
        Some(&value),
        menu,
        "menu: {main: {weight: 20}}\n",
    );
    // The comment below `menu` would become a line of the description.
    assert_eq!(edited(site, "menu", None), Err(FrontMatterError::Unsafe));
    let change = ("'It''s here'", "It's there");
    swaps(site, "summary", Some(&text(change.1)), change.0, change.1);
    let change = ("# end\n", "# end\nlayout: post\n");
    swaps(site, "layout", Some(&text("post")), change.0, change.1);
}
