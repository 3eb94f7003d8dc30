//! Records that are accepted, and those that are refused.

use crate::artifacts::record::*;

const A: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

const WHOLE: &str = r#"format = 1
type = "summary"
status = "offered"
created_at = 2026-07-28T09:30:00.5Z
created_by = "synthesis_pipeline"
last_refreshed = 2026-07-29T10:00:00+02:00
confidence_note = "Not reviewed."

[[sources]]
notebook = "a/b.md"
sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

[[steps]]
order = 1
tool = "summarise"
timestamp = 2026-07-28T09:29:00Z
inputs = ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
outputs = ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
parameters = { model = "x", n = 3, part = 0.5, odd = nan, on = true, when = 2024-01-01, list = [1] }

[[artifacts]]
file = "summary.md"
sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
bytes = 3
"#;

const SMALL: &str = r#"format = 1
type = "index"
status = "canonical"
created_at = 2026-07-28T09:30:00Z
created_by = "human_export"
artifacts = [{ file = "x", sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", bytes = 3 }]
"#;

#[test]
fn a_whole_record_is_read_and_written() {
    let record = ArtifactRecord::parse(WHOLE.as_bytes()).unwrap();
    assert_eq!(record.created_at, 1_785_231_000_500);
    assert_eq!(record.last_refreshed, Some(1_785_312_000_000));
    assert_eq!(
        serde_json::to_string(&record.steps[0].parameters).unwrap(),
        r#"{"list":[1],"model":"x","n":3,"odd":"NaN","on":true,"part":0.5,"when":"2024-01-01"}"#,
        "sorted by name"
    );
    let written = record.to_toml().unwrap();
    assert_eq!(ArtifactRecord::parse(written.as_bytes()), Ok(record));
    let small = ArtifactRecord::parse(SMALL.as_bytes()).unwrap();
    assert_eq!((small.sources.len(), small.steps.len()), (0, 0));
}

#[test]
fn anything_odd_is_damage_with_a_reason() {
    for (old, new, reason) in [
        ("format = 1", "format = 2", "has format 2"),
        ("format = 1\n", "", "missing field `format`"),
        ("\"summary\"", "\"poem\"", "unknown variant `poem`"),
        ("\"offered\"", "\"canonical\"", "which only a human_export"),
        ("\"synthesis_pipeline\"", "\"a robot\"", "unknown variant"),
        (
            "confidence_note",
            "confidence",
            "unknown field `confidence`",
        ),
        (
            "2026-07-28T09:30:00.5Z",
            "2026-07-28T09:30:00",
            "without a day or an offset",
        ),
        ("2026-07-28T09:30:00.5Z", "5", "line 4"),
        ("\"a/b.md\"", "\"../b.md\"", "not the path of a notebook"),
        ("\"a/b.md\"", "\"a//b.md\"", "not the path of a notebook"),
        (
            "\"a/b.md\"",
            "\"_artifacts/x.md\"",
            "not the path of a notebook",
        ),
        ("\"a/b.md\"", "\"a/b.txt\"", "not the path of a notebook"),
        ("order = 1", "order = 2", "does not number"),
        ("\"summarise\"", "\"\"", "has no tool"),
        ("inputs = [\"ba", "inputs = [\"BA", "64 lower-case"),
        ("inputs = [\"ba", "inputs = [\"b", "64 lower-case"),
        ("\"summary.md\"", "\"../summary.md\"", "not a plain name"),
        ("\"summary.md\"", "\"a/summary.md\"", "not a plain name"),
        ("\"summary.md\"", "\".summary.md\"", "not a plain name"),
        ("\"summary.md\"", "\"Set.toml\"", "not a plain name"),
        ("bytes = 3", "bytes = -3", "line"),
        ("bytes = 3", "bytes = 3\nmode = 1", "unknown field `mode`"),
    ] {
        assert!(WHOLE.contains(old), "{old}");
        let text = WHOLE.replacen(old, new, 1);
        let error = ArtifactRecord::parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(reason), "{new}: {error}");
    }
    let source = format!("[[sources]]\nnotebook = \"a/b.md\"\nsha256 = \"{A}\"\n");
    let twice = format!("{WHOLE}{source}");
    assert_eq!(
        ArtifactRecord::parse(twice.as_bytes()).unwrap_err(),
        "records a source twice"
    );
    let none = SMALL.lines().take(5).collect::<Vec<_>>().join("\n") + "\nartifacts = []\n";
    assert_eq!(
        ArtifactRecord::parse(none.as_bytes()).unwrap_err(),
        "records no artifacts"
    );
    for bytes in [
        &b"\xff"[..],
        &b"[[["[..],
        &b""[..],
        &vec![b' '; MAX_BYTES + 1],
    ] {
        assert!(ArtifactRecord::parse(bytes).is_err());
    }
}

#[test]
fn bounds_hold() {
    let steps: String = (1..=MAX_STEPS + 1)
        .map(|order| {
            format!("[[steps]]\norder = {order}\ntool = 't'\ntimestamp = 2026-07-28T09:30:00Z\n")
        })
        .collect();
    let error = ArtifactRecord::parse(format!("{SMALL}{steps}").as_bytes()).unwrap_err();
    assert_eq!(error, "has 101 steps, more than 100");
    let long = WHOLE.replace("Not reviewed.", &"x".repeat(MAX_NOTE + 1));
    assert!(
        ArtifactRecord::parse(long.as_bytes())
            .unwrap_err()
            .contains("2000 characters")
    );
    let large = WHOLE.replace("\"x\"", &format!("\"{}\"", "x".repeat(MAX_PARAMETERS)));
    assert!(
        ArtifactRecord::parse(large.as_bytes())
            .unwrap_err()
            .contains("16 KiB")
    );
    let deep = format!("{SMALL}x = {}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(ArtifactRecord::parse(deep.as_bytes()).is_err());
}
