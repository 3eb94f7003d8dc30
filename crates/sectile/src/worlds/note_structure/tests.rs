//! The contract's vectors, key order included, and the bounds of every view.

use sectile_markdown::{MAX_TEXT_CHARS, Mapping, Value};
use sectile_vault::NotePath;
use serde_json::{Value as Json, json};

use super::{
    document_tree::DocumentTree, metadata_facets::MetadataFacets, note_outline::NoteOutline,
    section_source::SectionSource, *,
};

/// Inputs and answers observed from the contract's original; see `test_data/ORIGIN.md`.
fn vectors() -> Json {
    serde_json::from_str(include_str!("../../../test_data/section_source.json"))
        .expect("the vectors are JSON")
}

fn table(name: &str) -> Vec<Json> {
    vectors()[name].as_array().expect("a table").clone()
}

fn text<'a>(row: &'a Json, key: &str) -> &'a str {
    row[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} is a string in {row}"))
}

/// Compares as text, so that the order of keys counts.
fn assert_same(actual: &impl serde::Serialize, expected: &Json, id: &str) {
    assert_eq!(
        serde_json::to_string(actual).unwrap(),
        expected.to_string(),
        "{id}"
    );
}

#[test]
fn markdown_vectors() {
    for row in table("markdown_vectors") {
        let path = NotePath::parse_vault(text(&row, "path")).unwrap();
        let note = Note::new(path.as_str(), text(&row, "markdown").as_bytes());
        let id = text(&row, "id");
        assert_same(
            &SectionSource::of(&note).unwrap(),
            &row["section_source"],
            id,
        );
        assert_same(&NoteOutline::of(&note).unwrap(), &row["note_outline"], id);
        assert_same(&DocumentTree::of(&note).unwrap(), &row["document_tree"], id);
    }
}

#[test]
fn fuzz_vectors() {
    for row in table("fuzz_vectors") {
        let note = Note::new(text(&row, "path"), text(&row, "markdown").as_bytes());
        let source = serde_json::to_value(SectionSource::of(&note).unwrap()).unwrap();
        let sections: Vec<Json> = source["sections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|section| {
                json!([
                    section["section_id"],
                    section["level"],
                    section["heading_path"],
                    section["child_section_ids"],
                    section["body_available"]
                ])
            })
            .collect();
        let actual = json!([source["title"], source["truncated"], sections]);
        assert_eq!(
            actual,
            json!([row["title"], row["truncated"], row["sections"]]),
            "{}",
            row["id"]
        );
    }
}

#[test]
fn slug_vectors() {
    for row in table("slug") {
        assert_eq!(
            sectile_markdown::slug(text(&row, "input")),
            text(&row, "output")
        );
    }
}

/// Paths that all four tools refuse here because they start with two dots. The original's facets builder, which is never
/// reached with such a path there either, accepts them.
const REFUSED_PATHS: [&str; 1] = ["..foo.md"];

#[test]
fn facet_vectors() {
    let mut refused = Vec::new();
    for row in table("metadata_facets") {
        let Ok(path) = NotePath::parse_vault(text(&row, "path")) else {
            refused.push(text(&row, "path").to_owned());
            continue;
        };
        let front_matter = match from_json(&row["frontmatter"]) {
            Value::Map(mapping) => mapping,
            _ => Mapping::default(),
        };
        let note = Note::with_front_matter(path.as_str(), b"", front_matter);
        assert_same(
            &MetadataFacets::of(&note),
            &row["result"]["ok"],
            path.as_str(),
        );
    }
    assert_eq!(refused, REFUSED_PATHS);
}

#[test]
fn facet_vectors_from_markdown() {
    for row in table("metadata_facets_from_markdown") {
        let note = Note::new(text(&row, "path"), text(&row, "markdown").as_bytes());
        assert_same(
            &MetadataFacets::of(&note),
            &row["result"]["ok"],
            text(&row, "markdown"),
        );
    }
}

fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(value) => Value::Number(value.as_f64().unwrap()),
        Json::String(value) => Value::String(value.clone()),
        Json::Array(items) => Value::List(items.iter().map(from_json).collect()),
        Json::Object(pairs) => Value::Map(
            pairs
                .iter()
                .map(|(key, value)| (key.clone(), from_json(value)))
                .collect(),
        ),
    }
}

fn section_source(markdown: &str) -> Json {
    serde_json::to_value(SectionSource::of(&Note::new("n.md", markdown.as_bytes())).unwrap())
        .unwrap()
}

#[test]
fn front_matter_never_becomes_a_heading() {
    for block in [
        "\u{feff}---\ntitle: X\n---\n",
        "---\ntitle: X\n---",
        "--- \ntitle: X\n--- \n",
        "---\rtitle: X\r...\r",
    ] {
        let source = section_source(block);
        assert_eq!(source["title"], "X", "{block:?}");
        assert_eq!(source["sections"], json!([]), "{block:?}");
    }
}

#[test]
fn a_mapping_is_no_title_and_a_date_is_one_as_written() {
    assert_eq!(section_source("---\ntitle: {a: b}\n---\n")["title"], "n");
    assert_eq!(
        section_source("---\ntitle: 2025-03-01\n---\n")["title"],
        "2025-03-01"
    );
    assert_eq!(
        section_source("---\ntitle: [a, ~, 1.50]\n---\n")["title"],
        "a,,1.5"
    );
    assert_eq!(section_source("---\ntitle: 1e21\n---\n")["title"], "1e+21");
}

#[test]
fn long_texts_are_cut_before_ids_are_made() {
    let long = "é".repeat(400_000);
    let children = "## c\n".repeat(499);
    let source = section_source(&format!("# {long}\n{children}"));
    assert_eq!(source["truncated"], true);
    assert_eq!(
        source["sections"][0]["heading_text"]
            .as_str()
            .unwrap()
            .chars()
            .count(),
        MAX_TEXT_CHARS
    );
    assert!(
        source.to_string().len() < 600_000,
        "the answer stays bounded"
    );
    let fits = section_source(&format!("# {}\n", "x".repeat(MAX_TEXT_CHARS)));
    assert_eq!(fits["truncated"], false);
    assert_eq!(
        section_source(&format!("---\ntitle: {}\n---\n", "x".repeat(257)))["truncated"],
        true
    );
}

#[test]
fn headings_beyond_the_cap_are_hidden_but_still_delimit_bodies() {
    let source = section_source(&"# h\n".repeat(501));
    assert_eq!(source["truncated"], true);
    assert_eq!(source["sections"].as_array().unwrap().len(), MAX_HEADINGS);
    assert_eq!(section_source(&"# h\n".repeat(500))["truncated"], false);
    let hidden_below = section_source(&format!("{}## hidden\n\ntext\n", "# h\n".repeat(500)));
    assert_eq!(hidden_below["sections"][499]["body_available"], true);
    assert_eq!(
        hidden_below["sections"][499]["child_section_ids"],
        json!([])
    );
    let hidden_peer = section_source(&format!("{}# hidden\n\ntext\n", "# h\n".repeat(500)));
    assert_eq!(hidden_peer["sections"][499]["body_available"], false);
}

#[test]
fn input_beyond_the_cap_is_refused_by_the_heading_views_alone() {
    let fits = "🚀".repeat(500_000);
    assert!(SectionSource::of(&Note::new("n.md", fits.as_bytes())).is_ok());
    let long = "🚀".repeat(500_001);
    let note = Note::new("n.md", long.as_bytes());
    assert_eq!(SectionSource::of(&note).unwrap_err(), NoteTooLong);
    assert_eq!(NoteOutline::of(&note).unwrap_err(), NoteTooLong);
    assert_eq!(DocumentTree::of(&note).unwrap_err(), NoteTooLong);
    assert!(!MetadataFacets::of(&note).truncated);
    assert_eq!(
        NoteTooLong.to_string(),
        "Note outline input exceeds 1000000 characters; refusing to parse unbounded Markdown."
    );
}

#[test]
fn facets_are_bounded() {
    let tags = vec!["t"; 101].join(", ");
    let markdown = format!("---\ntags: [{tags}]\ndate: \"{}\"\n---\n", "d".repeat(300));
    let facets =
        serde_json::to_value(MetadataFacets::of(&Note::new("n.md", markdown.as_bytes()))).unwrap();
    assert_eq!(facets["truncated"], true);
    assert_eq!(
        facets["facets"]["tags"].as_array().unwrap().len(),
        MAX_VALUES_SHOWN
    );
    assert_eq!(facets["facets"]["date"].as_str().unwrap().len(), 256);
}

const MAX_VALUES_SHOWN: usize = 100;
