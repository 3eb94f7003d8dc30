//! Chains that hold, chains that do not, and a root that other programs compute too.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make files and ask the shell"
)]

use std::{fs, process::Command};

use sectile_markdown::Span;
use sectile_vault::Walk;

use crate::{
    artifacts::record::RecordStep,
    folder::FolderStorage,
    ids::SourceId,
    provenance::*,
    testing::{Memory, keep, sidecar},
};

fn quote(storage: &Memory) -> Quote {
    let notebook = NotePath::parse_vault("a.md").unwrap();
    let bytes = storage.read("c", &notebook).unwrap().unwrap();
    let span = Span::new(bytes.len() - 5, bytes.len());
    let digest = Digest::of(&bytes[span.start..span.end]);
    Quote {
        id: SourceId::new("c", &notebook, span, &digest),
        text: "alpha".to_owned(),
        before: String::new(),
        after: String::new(),
        digest,
        notebook_digest: Digest::of(&bytes),
        notebook_title: "A".to_owned(),
        heading_path: Vec::new(),
        line: 1,
        timestamp: None,
        author: None,
        verified_at: 0,
    }
}

fn held(chain: &[ChainLink]) -> Vec<(Level, bool)> {
    chain.iter().map(|link| (link.level, link.holds)).collect()
}

#[test]
fn a_passage_is_part_of_a_notebook_of_a_collection() {
    let storage = Memory::of(&[
        ("c/a.md", "---\ntitle: A\ndate: 1970-01-02\n---\nalpha"),
        ("c/b.md", "beta"),
        ("c/collection.toml", "author = 'Ada'"),
    ]);
    let quote = quote(&storage);
    let told = of_source(&storage, &quote, &|| false).unwrap();
    assert_eq!(
        serde_json::to_value(&told.provenance).unwrap(),
        serde_json::json!({
            "origin_notebook": { "notebook_id": "a.md", "title": "A", "author": "Ada", "created_at": 86_400_000 },
            "transformation_steps": [],
            "tools_involved": [],
            "confidence_notes": [
                "The passage is quoted from the notebook's file without any transformation.",
                "Every link of the chain holds."
            ],
        })
    );
    assert_eq!(
        held(&told.chain),
        [
            (Level::Passage, true),
            (Level::Notebook, true),
            (Level::Collection, true)
        ]
    );
    let root = collection_root(&storage, "c", &|| false).unwrap();
    assert_eq!(told.chain[2].today, Some(root.root.to_string()));
    storage.write("c", "a.md", b"---\ntitle: A\n---\nomega and alpha");
    let told = of_source(&storage, &quote, &|| false).unwrap();
    assert!(told.chain[..2].iter().all(|link| !link.holds));
    storage.remove("c", "a.md");
    let told = of_source(&storage, &quote, &|| false).unwrap();
    assert!(
        told.chain.iter().all(|link| !link.holds),
        "{:?}",
        told.chain
    );
    assert_eq!(told.chain[0].today, None);
}

#[test]
fn an_artifact_leads_back_to_its_sources() {
    let storage = Memory::of(&[
        ("c/a.md", "---\nauthor: Bo\n---\nalpha"),
        ("c/b.md", "beta"),
        ("c/_artifacts/s/x.md", "summary"),
    ]);
    let mut record = sidecar(&storage, "c", "s", &["b.md", "a.md"], &["x.md"]);
    let told = of_artifact(&storage, "c", "s", &|| false).unwrap();
    let lineage = &told.provenance;
    let origins: Vec<&str> = lineage
        .origin_notebooks
        .iter()
        .map(|one| one.notebook_id.as_str())
        .collect();
    assert_eq!(origins, ["b.md", "a.md"]);
    assert_eq!(
        lineage.origin_notebook.as_ref(),
        lineage.origin_notebooks.first()
    );
    assert_eq!(lineage.origin_notebooks[1].author.as_deref(), Some("Bo"));
    assert_eq!(lineage.tools_involved, ["summarise"]);
    assert_eq!(lineage.transformation_steps[0].inputs.len(), 2);
    assert!(told.chain.iter().all(|link| link.holds), "{:?}", told.chain);
    assert_eq!(
        told.chain.iter().map(|link| link.level).collect::<Vec<_>>(),
        [
            Level::Payload,
            Level::Step,
            Level::Source,
            Level::Source,
            Level::Collection
        ]
    );
    let middle = Digest::of(b"in between");
    let first = RecordStep {
        outputs: vec![middle],
        ..record.steps[0].clone()
    };
    let last = RecordStep {
        inputs: vec![middle],
        tool: "polish".to_owned(),
        ..record.steps[0].clone()
    };
    record.steps = vec![first, last];
    keep(&storage, "c", "s", &record);
    let told = of_artifact(&storage, "c", "s/x.md", &|| false).unwrap();
    assert!(told.chain.iter().all(|link| link.holds));
    assert_eq!(told.provenance.tools_involved, ["summarise", "polish"]);
}

#[test]
fn each_broken_link_is_told() {
    let storage = Memory::of(&[("c/a.md", "alpha"), ("c/_artifacts/s/x.md", "summary")]);
    let record = sidecar(&storage, "c", "s", &["a.md"], &["x.md"]);
    let with = |change: &dyn Fn(&mut ArtifactRecord)| {
        let mut record = record.clone();
        change(&mut record);
        keep(&storage, "c", "s", &record);
        let told = of_artifact(&storage, "c", "s", &|| false).unwrap();
        held(&told.chain)
            .iter()
            .map(|(_, holds)| *holds)
            .collect::<Vec<_>>()
    };
    let strange = Digest::of(b"strange");
    assert_eq!(with(&|_| {}), [true, true, true, true]);
    assert_eq!(
        with(&|record| record.steps[0].inputs = vec![strange]),
        [true, false, true, true]
    );
    assert_eq!(
        with(&|record| record.steps[0].inputs.clear()),
        [true, false, true, true]
    );
    assert_eq!(
        with(&|record| record.steps[0].outputs = vec![strange]),
        [false, false, true, true]
    );
    assert_eq!(
        with(&|record| record.steps[0].outputs.push(strange)),
        [true, false, true, true]
    );
    assert_eq!(with(&|record| record.steps.clear()), [false, true, true]);
    assert_eq!(with(&|record| record.sources.clear()), [true, false, false]);
    keep(&storage, "c", "s", &record);
    storage.write("c", "a.md", b"changed");
    let told = of_artifact(&storage, "c", "s", &|| false).unwrap();
    assert_eq!(
        held(&told.chain)[2..],
        [(Level::Source, false), (Level::Collection, true)]
    );
    assert!(
        told.provenance
            .confidence_notes
            .contains(&"A recorded source has changed or no longer exists.".to_owned())
    );
}

#[test]
fn a_payload_that_drifted_is_told_without_its_contents() {
    let storage = Memory::of(&[("c/a.md", "alpha"), ("c/_artifacts/s/x.md", "summary")]);
    sidecar(&storage, "c", "s", &["a.md"], &["x.md"]);
    storage.write("c", "_artifacts/s/x.md", b"DRIFTED");
    let told = of_artifact(&storage, "c", "s/x.md", &|| false).unwrap();
    let link = &told.chain[0];
    assert_eq!(
        link.statement,
        "The payload does not have its recorded digest."
    );
    assert_eq!(link.today, Some(Digest::of(b"DRIFTED").to_string()));
    assert!(!link.holds && told.chain[1..].iter().all(|link| link.holds));
    assert!(!serde_json::to_string(&told).unwrap().contains("DRIFTED"));
    storage.remove("c", "_artifacts/s/x.md");
    let told = of_artifact(&storage, "c", "s/x.md", &|| false).unwrap();
    assert_eq!((told.chain[0].holds, &told.chain[0].today), (false, &None));
}

#[test]
fn the_root_depends_on_bytes_and_paths_alone() {
    let storage = Memory::of(&[("c/a.md", "x"), ("c/b/c.md", "y"), ("c/n.txt", "z")]);
    let root = |storage: &Memory| collection_root(storage, "c", &|| false).unwrap();
    let first = root(&storage);
    assert_eq!(first.notebooks, 2);
    let lines = format!(
        "{}  ./a.md\n{}  ./b/c.md\n",
        Digest::of(b"x"),
        Digest::of(b"y")
    );
    assert_eq!(first.root, Digest::of(lines.as_bytes()));
    storage.write("c", "n.txt", b"other");
    storage.write("c", "a.md", b"x");
    assert_eq!(root(&storage), first);
    storage.write("c", "a.md", b"X");
    assert_ne!(root(&storage).root, first.root);
    assert_eq!(
        collection_root(&storage, "c", &|| true),
        Err(LibraryError::Cancelled)
    );
}

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Library) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let storage = FolderStorage::open(folder.path(), Walk::default(), 1000).unwrap();
    let storage = Library::of(std::sync::Arc::new(storage));
    (folder, storage)
}

#[test]
fn a_change_is_seen_though_digests_are_remembered() {
    let (folder, storage) = folder(&[("c/a.md", "one"), ("c/big.md", &"x".repeat(1001))]);
    let root = || collection_root(&storage, "c", &|| false).unwrap();
    let first = root();
    assert_eq!((first.notebooks, first.left_out.len()), (1, 1));
    let file = fs::File::options()
        .write(true)
        .open(folder.path().join("c/a.md"))
        .unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000);
    file.set_modified(long_ago).unwrap();
    assert_eq!(root(), first);
    for text in ["two", "six", "ten"] {
        fs::write(folder.path().join("c/a.md"), text).unwrap();
        file.set_modified(long_ago).unwrap();
        let lines = format!("{}  ./a.md\n", Digest::of(text.as_bytes()));
        assert_eq!(root().root, Digest::of(lines.as_bytes()), "{text}");
    }
}

/// The command of the head comment of `root`.
#[test]
fn an_ordinary_shell_computes_the_same_root() {
    let files = [
        ("c/b.md", "beta"),
        ("c/B.MD", "upper"),
        ("c/a/z.md", "z"),
        ("c/a.md", "a"),
        ("c/-option.md", "minus"),
        ("c/a b\u{e9}.md", "space"),
        ("c/line\nbreak.md", "break"),
        ("c/.hidden/x.md", "hidden"),
        ("c/.x.md", "hidden"),
        ("c/_artifacts/s/x.md", "derived"),
        ("c/n.txt", "text"),
    ];
    let (folder, storage) = folder(&files);
    let script = include_str!("root.rs")
        .lines()
        .map(|line| line.trim_start_matches("//! "));
    let script: Vec<&str> = script
        .skip_while(|line| *line != "```sh")
        .skip(1)
        .take_while(|line| *line != "```")
        .collect();
    let ran = Command::new("sh")
        .arg("-c")
        .arg(script.join("\n"))
        .current_dir(folder.path().join("c"))
        .output();
    let printed = match ran {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            String::from_utf8(output.stdout).unwrap()
        }
        // No shell, or no `sha256sum`.
        _ => return,
    };
    let root = collection_root(&storage, "c", &|| false).unwrap();
    assert_eq!(printed, format!("{}  -\n", root.root));
    assert_eq!(root.notebooks, 7);
}
