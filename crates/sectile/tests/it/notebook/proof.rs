//! Answers held against the disk, by a second reading that shares no code with the server: what is called verified must be
//! there, byte for byte, behind no link.

use std::{fs, path::Path};

use sectile_markdown::Digest;
use serde_json::Value;

/// The bytes of a file below `root`, or `None` when it is no regular file or anything on the way is a link.
pub(super) fn bytes_of(root: &Path, path: &str) -> Option<Vec<u8>> {
    let mut at = root.to_path_buf();
    for segment in path.split('/') {
        at.push(segment);
        if fs::symlink_metadata(&at).ok()?.is_symlink() {
            return None;
        }
    }
    at.is_file().then(|| fs::read(at).ok())?
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

/// An id of a passage, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Id<'a> {
    /// Collection and notebook.
    pub(super) path: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    digits: &'a str,
}

impl<'a> Id<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let (path, rest) = text.rsplit_once('@').unwrap();
        let (range, digits) = rest.split_once(':').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        assert_eq!(digits.len(), 16, "{text}");
        Self {
            path,
            start: start.parse().unwrap(),
            end: end.parse().unwrap(),
            digits,
        }
    }

    /// The bytes of the notebook, if the passage is in it, where the id says. Front matter is not a passage.
    pub(super) fn proven(&self, root: &Path) -> Option<Vec<u8>> {
        let bytes = bytes_of(root, self.path)?;
        let passage = bytes.get(self.start..self.end)?;
        let is_text = std::str::from_utf8(passage).is_ok() && self.start >= body_start(&bytes);
        (is_text && sha256(passage).starts_with(self.digits)).then_some(bytes)
    }

    fn text(&self, bytes: &[u8]) -> String {
        String::from_utf8(bytes[self.start..self.end].to_vec()).unwrap()
    }
}

/// Where front matter ends: `---` on the first line, up to the next line that is `---` or `...`.
fn body_start(bytes: &[u8]) -> usize {
    let mut end = if bytes.starts_with("\u{feff}".as_bytes()) {
        3
    } else {
        0
    };
    let mut is_open = false;
    while end < bytes.len() {
        let rest = &bytes[end..];
        let line = rest.iter().position(|byte| b"\r\n".contains(byte));
        let line = line.unwrap_or(rest.len());
        let is_both = rest[line..].starts_with(b"\r\n");
        end += (line + 1 + usize::from(is_both)).min(rest.len());
        let text = rest[..line].trim_ascii_end();
        match is_open {
            false if text == b"---" => is_open = true,
            false => return 0,
            true if text == b"---" || text == b"..." => return end,
            true => {}
        }
    }
    0
}

/// The id that a passage of a notebook must have.
pub(super) fn id_of(path: &str, bytes: &[u8], start: usize, end: usize) -> String {
    let digits = sha256(&bytes[start..end]);
    format!("{path}@{start}-{end}:{}", &digits[..16])
}

/// The bytes of the notebook that an answer says a passage is in.
fn proven(root: &Path, id: &str, answer: &Value) -> Vec<u8> {
    let proven = Id::of(id).proven(root);
    proven.unwrap_or_else(|| panic!("FALSELY VERIFIED: {id}: {answer}"))
}

fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// What is said of the place of a passage is so in these bytes.
fn assert_place(root: &Path, id: &str, said: &Value) {
    let bytes = proven(root, id, said);
    let id = Id::of(id);
    let line = bytes[..id.start]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1;
    assert_eq!(said["line"], line, "{said}");
    let text = on_one_line(&String::from_utf8_lossy(&bytes));
    let (_, notebook) = id.path.split_once('/').unwrap();
    assert_eq!(said["notebook_id"], notebook, "{said}");
    let stem = notebook.rsplit('/').next().unwrap();
    let stem = stem.trim_end_matches(".md").replace('-', " ");
    for heading in said["heading_path"].as_array().unwrap() {
        let heading = heading.as_str().unwrap();
        let is_there = text.contains(heading) || heading == stem;
        assert!(is_there, "no such heading: {said}");
    }
}

/// Every reference of a search is what it says.
pub(super) fn assert_found(root: &Path, collection: &str, answer: &Value) {
    assert_eq!(answer["collection_id"], collection);
    let results = answer["results"].as_array().unwrap();
    assert_eq!(answer["metadata"]["returned"], results.len());
    for result in results {
        assert_eq!(result["verified"], true, "{result}");
        let id = result["reference_id"].as_str().unwrap();
        assert!(id.starts_with(&format!("{collection}/")), "{id}");
        let mut said = result.clone();
        said["notebook_id"] = result["source_pointer"]["notebook_id"].clone();
        assert_place(root, id, &said);
        let text = Id::of(id).text(&proven(root, id, result));
        let start: String = on_one_line(&text).chars().take(100).collect();
        assert_eq!(result["preview_snippet"], start, "{result}");
    }
}

/// A fetched passage is what it says.
pub(super) fn assert_fetched(root: &Path, answer: &Value) {
    assert_eq!(answer["integrity"]["verified"], true, "{answer}");
    let text = answer["source_id"].as_str().unwrap();
    assert_place(root, text, &answer["provenance"]);
    let (id, bytes) = (Id::of(text), proven(root, text, answer));
    assert_eq!(answer["passage"]["exact_text"], id.text(&bytes), "{answer}");
    let passage = &bytes[id.start..id.end];
    assert_eq!(answer["integrity"]["checksum"], sha256(passage));
    assert_eq!(answer["provenance"]["notebook_checksum"], sha256(&bytes));
    assert_eq!(answer["provenance"]["first_byte"], id.start);
    assert_eq!(answer["provenance"]["end_byte"], id.end);
    for (key, around) in [
        ("context_before", &bytes[body_start(&bytes)..id.start]),
        ("context_after", &bytes[id.end..]),
    ] {
        // Where everything is text the context is text of the notebook, cut at characters.
        let (said, Ok(around)) = (
            answer["passage"][key].as_str().unwrap(),
            std::str::from_utf8(around),
        ) else {
            continue;
        };
        let is_there = if key == "context_before" {
            around.ends_with(said)
        } else {
            around.starts_with(said)
        };
        assert!(is_there, "{key}: {answer}");
        assert!(said.chars().count() <= 500, "{key}: {answer}");
    }
}

/// Every item of a chunk of a stream is what it says.
pub(super) fn assert_delivered(root: &Path, collection: &str, chunk: &Value) {
    let items = chunk["payload"]["items"].as_array();
    for item in items.into_iter().flatten() {
        let id = item["reference_id"].as_str().unwrap();
        assert!(id.starts_with(&format!("{collection}/")), "{id}");
        if item["verified"] == false {
            assert!(Id::of(id).proven(root).is_none(), "falsely gone: {item}");
            assert_eq!(item.get("exact_text"), None, "{item}");
            assert_gone(root, id, &item["gone"]);
            continue;
        }
        assert_place(root, id, item);
        if chunk["chunk_type"] != "reference_identifiers" {
            let bytes = proven(root, id, item);
            let whole = Id::of(id).text(&bytes);
            let said = item["exact_text"].as_str().unwrap();
            assert_eq!(said, whole.chars().take(8000).collect::<String>(), "{item}");
            assert_eq!(item["checksum"], sha256(whole.as_bytes()), "{item}");
        }
    }
}

/// What is said of a passage that cannot be quoted is so.
pub(super) fn assert_gone(root: &Path, id: &str, said: &Value) {
    let there = bytes_of(root, Id::of(id).path);
    match said["reason"].as_str().unwrap() {
        "deleted" => assert!(there.is_none(), "falsely deleted: {said}"),
        "changed" => assert!(there.is_some(), "deleted, not changed: {said}"),
        "moved" => {
            let new = said["new_source_id"].as_str().unwrap();
            proven(root, new, said);
            assert_eq!(Id::of(new).digits, Id::of(id).digits, "{said}");
            let collection = |id: &str| id.split('/').next().unwrap().to_owned();
            assert_eq!(collection(new), collection(id), "{said}");
        }
        reason => panic!("{reason}: {said}"),
    }
}

/// The paths of all notebooks of a collection with their bytes, found by a walk that follows no link.
pub(super) fn notebooks(root: &Path, collection: &str) -> Vec<(String, Vec<u8>)> {
    fn walk(folder: &Path, prefix: &str, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            let path = format!("{prefix}{name}");
            if kind.is_dir() && path != "_artifacts" {
                walk(&entry.path(), &format!("{path}/"), found);
            } else if kind.is_file() && name.ends_with(".md") {
                found.push((path, fs::read(entry.path()).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(&root.join(collection), "", &mut found);
    found.sort();
    found
}

/// Every link of a chain that is said to hold holds, and no other.
pub(super) fn assert_chain(root: &Path, collection: &str, answer: &Value) {
    for link in answer["chain"].as_array().unwrap() {
        let name = link["name"].as_str().unwrap();
        let today = match link["level"].as_str().unwrap() {
            "passage" => {
                let bytes = proven(root, name, link);
                let id = Id::of(name);
                Some(sha256(&bytes[id.start..id.end]))
            }
            "notebook" | "source" => {
                bytes_of(root, &format!("{collection}/{name}")).map(|bytes| sha256(&bytes))
            }
            "payload" => bytes_of(root, &format!("{collection}/_artifacts/{name}"))
                .map(|bytes| sha256(&bytes)),
            "collection" => {
                let sums = notebooks(root, collection).into_iter();
                let lines: String = sums
                    .map(|(path, bytes)| format!("{}  ./{path}\n", sha256(&bytes)))
                    .collect();
                Some(sha256(lines.as_bytes()))
            }
            "step" => continue,
            level => panic!("{level}: {answer}"),
        };
        assert_eq!(link["today"].as_str(), today.as_deref(), "{link}");
        if let Some(recorded) = link["recorded"].as_str() {
            let is_same = today.as_deref() == Some(recorded);
            assert!(
                link["holds"] == is_same || link["level"] == "payload",
                "{link}"
            );
            assert!(is_same || link["holds"] == false, "{link}");
        }
    }
}

/// An artifact is what it says, and as fresh as it says. `sources` are the digests that were recorded.
pub(super) fn assert_artifact(
    root: &Path,
    collection: &str,
    sources: &[(String, String)],
    answer: &Value,
) {
    assert_eq!(answer["integrity"]["verified"], true);
    let id = answer["artifact_id"].as_str().unwrap();
    let path = format!("{collection}/_artifacts/{id}");
    let bytes = bytes_of(root, &path).unwrap_or_else(|| panic!("FALSELY VERIFIED: {answer}"));
    assert_eq!(answer["integrity"]["checksum"], sha256(&bytes), "{answer}");
    assert_eq!(
        answer["contents"].as_str().map(str::as_bytes),
        Some(bytes.as_slice())
    );
    let said = &answer["synthesis_metadata"]["staleness_indicator"];
    assert_eq!(*said, staleness(root, collection, sources), "{answer}");
}

/// How fresh something is that was made of sources with these digests.
pub(super) fn staleness(
    root: &Path,
    collection: &str,
    sources: &[(String, String)],
) -> &'static str {
    let is_same = |(notebook, recorded): &(String, String)| {
        bytes_of(root, &format!("{collection}/{notebook}"))
            .is_some_and(|bytes| sha256(&bytes) == *recorded)
    };
    if sources.iter().all(is_same) {
        "fresh"
    } else {
        "stale"
    }
}
