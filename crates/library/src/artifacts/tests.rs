//! Answers about artifacts, and what they never reveal.

use crate::{
    artifacts::*,
    testing::{Memory, keep, sidecar},
};

/// Returns a collection with one set of a text file, and one of a text file and an object.
fn library() -> Memory {
    let storage = Memory::of(&[
        ("c/a.md", "alpha"),
        ("c/b.md", "beta"),
        ("c/_artifacts/one/summary.md", "the summary"),
        ("c/_artifacts/two/facts.json", "{\"b\": [1], \"a\": 2}"),
        ("c/_artifacts/two/text.txt", "text"),
        ("c/_artifacts/two/stray.txt", "not recorded"),
        ("c/_artifacts/loose.md", "no set"),
        ("d/x.md", "other"),
    ]);
    sidecar(&storage, "c", "one", &["a.md"], &["summary.md"]);
    let mut two = sidecar(
        &storage,
        "c",
        "two",
        &["a.md", "b.md"],
        &["facts.json", "text.txt"],
    );
    two.status = Status::Canonical;
    two.created_by = Maker::HumanExport;
    two.confidence_note = Some("Read twice.".to_owned());
    keep(&storage, "c", "two", &two);
    storage
}

/// Returns all sets, without being stopped.
fn retrieve(storage: &Memory, collection: &str, id: &str) -> Result<Artifact, LibraryError> {
    crate::artifacts::retrieve(storage, collection, id, &|| false)
}

fn sets(storage: &Memory, collection: &str) -> Result<ArtifactSets, LibraryError> {
    crate::artifacts::sets(storage, collection, None, &|| false)
}

fn count(storage: &Memory, collection: &str) -> Result<(usize, bool), LibraryError> {
    crate::artifacts::count(storage, collection, &mut RecordBudget::default(), &|| false)
}

fn failure(storage: &Memory, id: &str) -> String {
    match retrieve(storage, "c", id) {
        Err(LibraryError::Failed { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sets_are_listed_with_their_members() {
    let storage = library();
    let listed = serde_json::to_string(&sets(&storage, "c").unwrap()).unwrap();
    assert_eq!(
        listed,
        r#"{"artifact_sets":[{"artifact_set_id":"one","artifact_type":"summary","created_at":1000,"status":"offered","source_notebooks":["a.md"],"artifact_count":1,"artifact_ids":["one/summary.md"]},{"artifact_set_id":"two","artifact_type":"summary","created_at":1000,"status":"canonical","source_notebooks":["a.md","b.md"],"artifact_count":2,"artifact_ids":["two/facts.json","two/text.txt"]}],"problems":[]}"#
    );
    assert_eq!(count(&storage, "c"), Ok((3, true)));
    assert_eq!(sets(&storage, "d").unwrap(), ArtifactSets::default());
    assert_eq!(
        sets(&storage, "none"),
        Err(LibraryError::CollectionNotFound)
    );
}

#[test]
fn an_artifact_has_the_shape_of_the_contract() {
    let storage = library();
    let artifact = retrieve(&storage, "c", "one/summary.md").unwrap();
    assert_eq!(
        serde_json::to_string(&artifact).unwrap(),
        r#"{"artifact_id":"one/summary.md","artifact_type":"summary","status":"offered","contents":"the summary","provenance":{"source_notebooks":["a.md"],"transformation_steps":[{"step_order":1,"tool":"summarise","timestamp":2000,"parameters":{}}],"created_at":1000,"created_by":"synthesis_pipeline"},"synthesis_metadata":{"synthesized":true,"confidence_note":"No confidence note was recorded.","last_refreshed":null,"staleness_indicator":"fresh"},"disclaimer":"This artifact is derived material. It is offered for inspection only and carries no authority. Verify against source notebooks for authoritative content.","immutable":true,"integrity":{"checksum":"5dfd4a54aa40be70e0c7ca9a1e28bbf0d4d4a0d4d5a2e3a2b1a9f7ad2d9c6f10","verified":true}}"#
            .replace(
                "5dfd4a54aa40be70e0c7ca9a1e28bbf0d4d4a0d4d5a2e3a2b1a9f7ad2d9c6f10",
                &Digest::of(b"the summary").to_string()
            )
    );
    assert_eq!(retrieve(&storage, "c", "one"), Ok(artifact));
    let object = retrieve(&storage, "c", "two/facts.json").unwrap();
    assert_eq!(
        serde_json::to_string(&object.contents).unwrap(),
        r#"{"b":[1],"a":2}"#
    );
    assert!(!object.synthesis_metadata.synthesized);
    assert_eq!(object.synthesis_metadata.confidence_note, "Read twice.");
    assert_eq!(object.disclaimer, DISCLAIMER, "also when it is canonical");
}

#[test]
fn ids_that_name_no_artifact() {
    let storage = library();
    for id in [
        "",
        "/",
        "none",
        "one/none.md",
        "one/set.toml",
        "two/stray.txt",
        "loose.md",
        "../c",
        "one/../two/text.txt",
        "ONE/summary.md",
        "one/summary.md/",
        "one/Summary.md",
        "_artifacts/one/summary.md",
    ] {
        let expected = LibraryError::ArtifactNotFound {
            artifact_id: id.to_owned(),
        };
        assert_eq!(retrieve(&storage, "c", id), Err(expected), "{id:?}");
    }
    let Err(LibraryError::AmbiguousArtifact { message }) = retrieve(&storage, "c", "two") else {
        panic!("a set of two");
    };
    assert_eq!(
        message,
        ("The set holds 2 artifacts. Ask for one of them: `two/facts.json`, `two/text.txt`.")
    );
}

#[test]
fn a_payload_that_drifted_is_never_answered() {
    let storage = library();
    storage.write("c", "_artifacts/one/summary.md", b"the Summary");
    assert_eq!(
        failure(&storage, "one/summary.md"),
        "The payload of `one/summary.md` does not match its recorded digest, so it is not returned."
    );
    storage.remove("c", "_artifacts/one/summary.md");
    assert!(failure(&storage, "one").contains("does not exist"));
    let checked = check(&storage, "c").unwrap();
    assert!(checked.sets[1].drifted_artifacts.is_empty());
    assert_eq!(checked.sets[0].drifted_artifacts[0].id, "one/summary.md");
}

#[test]
fn text_json_and_binary_payloads() {
    let storage = library();
    for (file, bytes, expected) in [
        ("x.json", &b"[1, 2]"[..], Some("\"[1, 2]\"")),
        ("x.json", b"{broken", Some("\"{broken\"")),
        ("x.md", b"{\"a\": 1}", Some("\"{\\\"a\\\": 1}\"")),
        (
            "x.md",
            "gr\u{fc}n\r\n".as_bytes(),
            Some("\"gr\u{fc}n\\r\\n\""),
        ),
        ("x.md", b"", Some("\"\"")),
        ("x.png", b"\x89PNG", None),
        ("x.md", b"a\0b", None),
    ] {
        storage.write("c", &format!("_artifacts/three/{file}"), bytes);
        sidecar(&storage, "c", "three", &[], &[file]);
        let contents = retrieve(&storage, "c", "three").map(|artifact| artifact.contents);
        match expected {
            Some(text) => {
                assert_eq!(serde_json::to_string(&contents.unwrap()).unwrap(), text);
            }
            None => assert!(failure(&storage, "three").contains("is binary")),
        }
    }
}

#[test]
fn staleness_is_a_matter_of_content() {
    let storage = library();
    let indicator = |id: &str| {
        let artifact = retrieve(&storage, "c", id).unwrap();
        artifact.synthesis_metadata.staleness_indicator
    };
    assert_eq!(indicator("one"), Staleness::Fresh);
    storage.set_modified("c", "a.md", 1_900_000_000_000);
    assert_eq!(indicator("one"), Staleness::Fresh, "age says nothing");
    storage.write("c", "b.md", b"Beta");
    assert_eq!(indicator("two/text.txt"), Staleness::Stale);
    assert_eq!(indicator("one"), Staleness::Fresh);
    storage.write("c", "b.md", b"beta");
    assert_eq!(indicator("two/text.txt"), Staleness::Fresh);
    storage.remove("c", "a.md");
    assert_eq!(indicator("one"), Staleness::Stale);
    let drifted = &check(&storage, "c").unwrap().sets[1].drifted_sources;
    assert_eq!(drifted[0].problem, "no longer exists, or cannot be read");
    sidecar(&storage, "c", "one", &[], &["summary.md"]);
    assert_eq!(indicator("one"), Staleness::Unknown);
}

#[test]
fn a_damaged_record_hides_no_other() {
    let storage = library();
    storage.write(
        "c",
        "_artifacts/one/set.toml",
        b"format = 1\ntype = \"poem\"\n",
    );
    storage.write("c", "_artifacts/bare/x.md", b"no record");
    let listed = sets(&storage, "c").unwrap();
    assert_eq!(listed.artifact_sets.len(), 1);
    let problems: Vec<(&str, &str)> = listed
        .problems
        .iter()
        .map(|problem| (problem.artifact_set_id.as_str(), problem.message.as_str()))
        .collect();
    assert_eq!(
        problems[0],
        ("bare", "`set.toml` of the set `bare` is missing.")
    );
    assert_eq!(problems[1].0, "one");
    assert!(problems[1].1.contains("line 2"), "{}", problems[1].1);
    assert_eq!(failure(&storage, "one/summary.md"), problems[1].1);
    assert_eq!(failure(&storage, "bare/x.md"), problems[0].1);
    assert!(retrieve(&storage, "c", "two/text.txt").is_ok());
    assert_eq!(check(&storage, "c").unwrap().damaged.len(), 2);
    assert_eq!(count(&storage, "c"), Ok((2, true)));
}

#[test]
fn links_from_notebooks_to_artifacts() {
    let storage = library();
    let of = |names: &[&str]| {
        let paths: Vec<NotePath> = names
            .iter()
            .map(|name| NotePath::parse_vault(name).unwrap())
            .collect();
        let found = linked_to(&storage, "c", &paths, 50, &|| false).unwrap();
        links(&storage, "c", &paths, &found.ids, &|| false).unwrap()
    };
    let linked = of(&["b.md", "other.md"]);
    let ids: Vec<&str> = linked
        .iter()
        .map(|link| link.artifact_id.as_str())
        .collect();
    assert_eq!(ids, ["two/facts.json", "two/text.txt"]);
    assert_eq!(linked[0].matching_sources, ["b.md"]);
    assert_eq!(linked[0].status, Status::Canonical);
    // Only what was asked for, and only while it is made from them.
    let b = [NotePath::parse_vault("b.md").unwrap()];
    let asked = ["one/summary.md", "two/text.txt", "gone/x.md"].map(str::to_owned);
    let some = links(&storage, "c", &b, &asked, &|| false).unwrap();
    assert_eq!(some.len(), 1);
    assert_eq!(some[0].artifact_id, "two/text.txt");
    assert_eq!(of(&["a.md"]).len(), 3);
    assert_eq!(of(&[]), []);
    storage.write("c", "_artifacts/two/set.toml", b"damaged");
    assert_eq!(of(&["b.md"]), []);
}

/// A collection with this many sets, each of these files, made from these notebooks.
fn many(sets: usize, sources: &[&str], files: &[&str]) -> Memory {
    let storage = Memory::default();
    for source in sources {
        storage.write("c", source, source.as_bytes());
    }
    for set in 0..sets {
        let set = format!("set-{set:04}");
        for file in files {
            storage.write("c", &format!("_artifacts/{set}/{file}"), file.as_bytes());
        }
        sidecar(&storage, "c", &set, sources, files);
    }
    storage
}

/// All pages of a list.
fn pages(storage: &Memory) -> Vec<ArtifactSets> {
    let mut pages: Vec<ArtifactSets> = Vec::new();
    loop {
        let cursor = pages.last().and_then(|page| page.next_cursor.clone());
        let page = crate::artifacts::sets(storage, "c", cursor.as_deref(), &|| false).unwrap();
        let is_last = page.next_cursor.is_none();
        assert_eq!(page.total_sets.is_none(), is_last);
        pages.push(page);
        assert!(pages.len() < 1_000, "there is an end");
        if is_last {
            return pages;
        }
    }
}

#[test]
fn a_long_list_comes_in_pages_and_is_whole() {
    let names: Vec<String> = (0..400)
        .map(|n| format!("{n}-{}.md", "x".repeat(150)))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let storage = many(150, &["a.md", "b.md"], &["one.md", "two.md"]);
    for file in &names {
        storage.write("c", &format!("_artifacts/set-0070/{file}"), file.as_bytes());
    }
    sidecar(&storage, "c", "set-0070", &["a.md"], &names);
    storage.write("c", "_artifacts/set-0071/set.toml", b"damaged");
    let pages = pages(&storage);
    assert!(pages.len() > 3, "{}", pages.len());
    let mut ids = Vec::new();
    for page in &pages {
        let text = serde_json::to_string(page).unwrap();
        assert!(text.len() < 2 * MOST_LISTED_BYTES, "{}", text.len());
        ids.extend(
            page.artifact_sets
                .iter()
                .flat_map(|set| set.artifact_ids.clone()),
        );
    }
    let mut expected = Vec::new();
    for set in (0..150).filter(|set| *set != 71) {
        let files: &[&str] = if set == 70 {
            &names
        } else {
            &["one.md", "two.md"]
        };
        expected.extend(files.iter().map(|file| format!("set-{set:04}/{file}")));
    }
    assert_eq!(ids, expected);
    let problems = pages.iter().flat_map(|page| &page.problems);
    assert_eq!(problems.count(), 1);
    assert!(pages[0].total_sets == Some(150));
    // A cursor of a set or an artifact that is gone, or of nothing at all, is a place in the alphabet.
    let behind = crate::artifacts::sets(&storage, "c", Some("set-0140x/y"), &|| false).unwrap();
    assert_eq!(behind.artifact_sets[0].artifact_set_id, "set-0141");
    let behind = crate::artifacts::sets(&storage, "c", Some("zzz"), &|| false).unwrap();
    assert_eq!(behind, ArtifactSets::default());
}

#[test]
fn a_set_of_many_sources_does_not_fill_an_answer() {
    let names: Vec<String> = (0..200)
        .map(|n| format!("deep/{n}/{}.md", "n".repeat(60)))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let storage = many(2, &names, &["one.md"]);
    let listed = sets(&storage, "c").unwrap();
    assert_eq!(listed.artifact_sets.len(), 2);
    for set in &listed.artifact_sets {
        assert_eq!(set.source_count, Some(200));
        assert!((10..200).contains(&set.source_notebooks.len()));
    }
    let whole = retrieve(&storage, "c", "set-0000").unwrap();
    assert_eq!(whole.provenance.source_notebooks.len(), 200);
}

#[test]
fn records_beyond_what_one_call_reads_are_told_of() {
    let storage = many(6, &["a.md"], &["one.md", "two.md"]);
    let one = storage
        .read(
            "c",
            &NotePath::parse_vault("_artifacts/set-0000/set.toml").unwrap(),
        )
        .unwrap()
        .unwrap();
    let mut budget = RecordBudget(one.len() * 3);
    let counted = crate::artifacts::count(&storage, "c", &mut budget, &|| false);
    assert_eq!(counted, Ok((6, false)));
    assert_eq!(count(&storage, "c"), Ok((12, true)));
}

#[test]
fn a_source_is_read_once_and_only_as_long_as_it_matters() {
    let storage = many(30, &["a.md", "b.md", "c.md"], &["one.md", "two.md"]);
    let notebooks = [NotePath::parse_vault("b.md").unwrap()];
    let linked = |most| linked_to(&storage, "c", &notebooks, most, &|| false).unwrap();
    let before = storage.read_of_notebooks();
    let found = linked(50);
    assert_eq!(
        (found.ids.len(), found.total, found.is_complete),
        (50, 60, true)
    );
    assert_eq!(storage.read_of_notebooks(), before, "records are enough");
    let all = links(&storage, "c", &notebooks, &found.ids, &|| false).unwrap();
    assert_eq!(all.len(), 50);
    assert!(
        all.iter()
            .all(|link| link.staleness_indicator == Staleness::Fresh)
    );
    assert_eq!(storage.read_of_notebooks() - before, 3);
    // The first that changed decides.
    storage.write("c", "a.md", b"changed");
    let some = links(&storage, "c", &notebooks, &linked(3).ids, &|| false).unwrap();
    assert_eq!(some[0].staleness_indicator, Staleness::Stale);
    assert_eq!(storage.read_of_notebooks() - before, 4);
}

#[test]
fn a_call_that_nobody_waits_for_ends_soon() {
    use std::cell::Cell;
    let storage = many(20, &["a.md", "b.md", "c.md"], &["one.md"]);
    let notebooks = [NotePath::parse_vault("b.md").unwrap()];
    let patience = Cell::new(0);
    let stop = || {
        patience.set(patience.get() - 1);
        patience.get() < 0
    };
    let cancelled = Err(LibraryError::Cancelled);
    for left in 0..4 {
        let before = storage.read_of_notebooks();
        let ends = |asks: &dyn Fn() -> Result<(), LibraryError>| {
            patience.set(left);
            assert_eq!(asks(), cancelled, "{left}");
            assert_eq!(patience.get(), -1, "nothing was done after it");
        };
        ends(&|| crate::artifacts::sets(&storage, "c", None, &stop).map(drop));
        ends(&|| {
            crate::artifacts::count(&storage, "c", &mut RecordBudget::default(), &stop).map(drop)
        });
        ends(&|| linked_to(&storage, "c", &notebooks, 50, &stop).map(drop));
        let ids: Vec<String> = (0..20).map(|set| format!("set-{set:04}/one.md")).collect();
        ends(&|| links(&storage, "c", &notebooks, &ids, &stop).map(drop));
        ends(&|| crate::artifacts::retrieve(&storage, "c", "set-0000/one.md", &stop).map(drop));
        let read = storage.read_of_notebooks() - before;
        assert!(read <= 2 * usize::try_from(left).unwrap(), "{read}");
    }
}
