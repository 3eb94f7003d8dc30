//! Which documents load, in which order and under which slug, and which are skipped.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::fs;

use proptest::prelude::*;
use sectile_manual::ManualPage;
use tempfile::TempDir;

use super::*;
use crate::worlds::docs::{
    DocsPath, DocsSection,
    sources::{DocsSources, SourceOptions},
};

fn folder<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

/// Settings with these extra paths and listed documents, written relative to `folder`.
fn settings(folder: &TempDir, extra: &[&str], listed: &[&str]) -> DocsSettings {
    let given = |written: &&str| DocsPath {
        written: (*written).to_owned(),
        location: folder.path().join(written),
    };
    DocsSettings {
        written: DocsSection {
            max_doc_bytes: 100,
            max_total_bytes: 1000,
            ..DocsSection::default()
        },
        documents: listed
            .iter()
            .map(|written| DocsDocument {
                path: given(written),
                slug: None,
                title: None,
                role: DocRole::Decision,
                description: None,
            })
            .collect(),
        extra_paths: extra.iter().map(given).collect(),
        ..DocsSettings::default()
    }
}

const MANUAL: &[ManualPage] = &[
    ManualPage {
        name: "docs/model.md",
        bytes: b"---\nrole: reasoning\n---\n# The model\n\nIt is one. Really.\n",
    },
    ManualPage {
        name: "docs/tools.md",
        bytes: b"# Tools\n",
    },
];

/// Every document as `slug label`, every skipped one as `label code`.
fn outcome(corpus: &DocsCorpus) -> (Vec<String>, Vec<String>) {
    let documents = corpus.documents.iter();
    let skipped = corpus.skipped.iter();
    (
        documents
            .map(|doc| format!("{} {}", doc.slug, doc.label))
            .collect(),
        skipped
            .map(|skipped| format!("{} {}", skipped.label, skipped.reason.code()))
            .collect(),
    )
}

/// The documents that `settings` name.
fn load(settings: &DocsSettings, embedded: &'static [ManualPage]) -> std::sync::Arc<DocsCorpus> {
    let sources = DocsSources::open(settings, embedded, SourceOptions::default());
    sources.current(&|| false).unwrap()
}

/// The paths that `settings` name and that do not exist.
fn missing(settings: &DocsSettings) -> Vec<String> {
    DocsSources::open(settings, &[], SourceOptions::default()).missing
}

#[track_caller]
fn check(corpus: &DocsCorpus, documents: &[&str], skipped: &[&str]) {
    let (loaded, left_out) = outcome(corpus);
    assert_eq!(loaded, documents);
    assert_eq!(left_out, skipped);
}

#[test]
fn roles_have_names_and_an_order() {
    for role in DocRole::ALL {
        assert_eq!(DocRole::parse(role.as_str()), Some(role));
    }
    assert_eq!(DocRole::parse("Pattern"), None);
    assert!(DocRole::ALL.is_sorted());
}

#[test]
fn the_manual_then_the_list_then_extra_paths_in_order_of_path() {
    let folder = folder([
        ("g/b.md", &b"# B\n"[..]),
        ("g/a/z.md", b"# Z\n"),
        ("g/a.MD", b"# A\r\n"),
        ("g/notes.txt", b"x"),
        ("g/other.markdown", b"x"),
        ("last.md", b"# Last\n"),
        ("first.md", b"\xef\xbb\xbf# First\n"),
    ]);
    let settings = settings(&folder, &["last.md", "./g/"], &["first.md", "g/b.md"]);
    let corpus = load(&settings, MANUAL);
    check(
        &corpus,
        &[
            "model docs/model.md",
            "tools docs/tools.md",
            "first first.md",
            "b g/b.md",
            "last last.md",
            "a g/a.MD",
            "z g/a/z.md",
        ],
        &[],
    );
    assert_eq!(corpus.notes, [""; 0]);
    let model = &corpus.documents[0];
    assert_eq!(
        (
            model.title.as_str(),
            model.role,
            model.description.as_str(),
            model.origin
        ),
        (
            "The model",
            DocRole::Reasoning,
            "It is one.",
            DocOrigin::Manual
        )
    );
    let bytes = |doc: &Doc| corpus.pages.read(doc.page).unwrap().into_owned();
    assert_eq!(bytes(model), MANUAL[0].bytes);
    let first = &corpus.documents[2];
    assert_eq!(
        (first.role, first.origin),
        (DocRole::Decision, DocOrigin::Extra)
    );
    assert_eq!(bytes(first), b"\xef\xbb\xbf# First\n");
    assert_eq!(bytes(&corpus.documents[5]), b"# A\r\n");

    let mut without = settings;
    without.written.include_default_docs = false;
    assert_eq!(load(&without, MANUAL).documents[0].slug, "first");
}

#[test]
fn a_file_counts_once_however_often_it_is_reached() {
    let folder = folder([("g/a.md", &b"# A\n"[..]), ("g/sub/b.md", b"# B\n")]);
    let settings = settings(
        &folder,
        &["g", "g/sub", "g/a.md", "g/../g"],
        &["g/sub/b.md", "g/sub/../sub/b.md"],
    );
    let corpus = load(&settings, &[]);
    check(&corpus, &["b g/sub/b.md", "a g/a.md"], &[]);
    assert_eq!(
        corpus.notes,
        [
            "`g/sub/../sub/b.md` is listed twice under `docs.documents`; the first entry counts. Remove the other."
        ]
    );
}

#[test]
fn slugs_never_clash() {
    let folder = folder([
        ("g/model.md", &b"# M\n"[..]),
        ("g/sub/model.md", b"# M\n"),
        ("g/sub/x.md", b"---\nslug: tools\n---\nx\n"),
        ("g/sub/y.md", b"---\nslug: BAD\n---\nx\n"),
    ]);
    let corpus = load(&settings(&folder, &["g"], &[]), MANUAL);
    check(
        &corpus,
        &[
            "model docs/model.md",
            "tools docs/tools.md",
            "model-2 g/model.md",
            "model-3 g/sub/model.md",
            "tools-2 g/sub/x.md",
            "y g/sub/y.md",
        ],
        &[],
    );
    assert_eq!(corpus.notes.len(), 4, "{:?}", corpus.notes);
    assert_eq!(
        corpus.notes[0],
        "`g/model.md`: the slug `model` is taken, so `model-2` is used. Give the document a `slug` of its own."
    );
    assert!(corpus.notes[3].starts_with("`g/sub/y.md`: `slug` in the front matter must be"));
}

#[test]
fn what_cannot_be_loaded_is_skipped_with_its_reason() {
    let large = vec![b'x'; 101];
    let folder = folder([
        ("g/empty.md", &b""[..]),
        ("g/blank.md", b" \n\t\n"),
        ("g/large.md", &large),
        ("g/latin.md", b"caf\xe9\n"),
        ("g/right.md", b"x\n"),
        ("g/data.bin", b"\0"),
        ("notes.txt", b"x"),
    ]);
    let settings = settings(
        &folder,
        &["g", "notes.txt", "missing.md", "missing", "notes.txt/x.md"],
        &["gone.md", "g", "notes.txt"],
    );
    let corpus = load(&settings, &[]);
    check(
        &corpus,
        &["right g/right.md"],
        &[
            "gone.md missing",
            "g folder",
            "notes.txt not_markdown",
            "g/blank.md empty",
            "g/empty.md empty",
            "g/large.md max_doc_bytes",
            "g/latin.md not_utf8",
            "missing.md missing",
            "missing missing",
            "notes.txt/x.md unreadable",
        ],
    );
    let place = folder.path().to_str().unwrap();
    for skipped in &corpus.skipped {
        let said = skipped.to_string();
        assert!(said.starts_with(&format!("`{}` ", skipped.label)), "{said}");
        assert!(said.contains("; ") && said.ends_with('.'), "{said}");
        assert!(!said.contains(place), "{said}");
    }
}

#[test]
fn limits_hold_for_the_manual_too_and_smaller_documents_may_still_fit() {
    let folder = folder([
        ("a.md", &[b'a'; 60][..]),
        ("b.md", &[b'b'; 50]),
        ("c.md", &[b'c'; 30]),
    ]);
    let mut settings = settings(&folder, &["."], &[]);
    settings.written.max_total_bytes = 100;
    let corpus = load(&settings, &MANUAL[1..]);
    check(
        &corpus,
        &["tools docs/tools.md", "a a.md", "c c.md"],
        &["b.md max_total_bytes"],
    );
    assert_eq!(corpus.total_bytes(), 98);
    settings.written.max_docs = 2;
    check(
        &load(&settings, &MANUAL[1..]),
        &["tools docs/tools.md", "a a.md"],
        &["b.md max_docs", "c.md max_docs"],
    );
    settings.written.max_docs = 1;
    settings.written.max_doc_bytes = 10;
    check(
        &load(&settings, MANUAL),
        &["tools docs/tools.md"],
        &[
            "docs/model.md max_doc_bytes",
            "a.md max_docs",
            "b.md max_docs",
            "c.md max_docs",
        ],
    );
}

#[cfg(unix)]
#[test]
fn links_pipes_and_odd_names_neither_block_nor_load_twice() {
    use std::os::unix::fs::symlink;

    let folder = folder([
        ("g/a.md", &b"# A\n"[..]),
        ("g/sub/b.md", b"# B\n"),
        ("g/back\\slash.md", b"x"),
        ("out/c.md", b"# C\n"),
        ("out/stored", b"# Stored\n"),
    ]);
    let at = |path: &str| folder.path().join(path);
    symlink(".", at("g/loop")).unwrap();
    symlink("..", at("g/sub/up")).unwrap();
    symlink("self.md", at("g/self.md")).unwrap();
    symlink("../out/c.md", at("g/z.md")).unwrap();
    symlink("a.md", at("g/picture.png")).unwrap();
    symlink("out", at("linked")).unwrap();
    symlink("out/stored", at("named.md")).unwrap();
    symlink("loop.md", at("loop.md")).unwrap();
    let _pipe = std::os::unix::net::UnixListener::bind(at("g/socket.md")).unwrap();
    let corpus = load(
        &settings(
            &folder,
            &["g", "linked", "g/socket.md", "loop.md"],
            &["named.md"],
        ),
        &[],
    );
    check(
        &corpus,
        &[
            "named named.md",
            "a g/a.md",
            "b g/sub/b.md",
            "c linked/c.md",
        ],
        &[
            "g/back\\slash.md odd_name",
            "g/loop link",
            "g/self.md link",
            "g/socket.md not_a_file",
            "g/sub/up link",
            "g/z.md link",
            "g/socket.md not_a_file",
            "loop.md unreadable",
        ],
    );
}

#[test]
fn absolute_paths_are_shown_by_their_last_part() {
    let folder = folder([("guides/sub/a.md", &b"# A\n"[..])]);
    let mut settings = settings(&folder, &[], &[]);
    for below in ["guides", "guides/nothing.md", ""] {
        let location = folder.path().join(below);
        settings.extra_paths.push(DocsPath {
            written: location.to_str().unwrap().to_owned(),
            location,
        });
    }
    check(
        &load(&settings, &[]),
        &["a guides/sub/a.md"],
        &["nothing.md missing"],
    );
    for (written, expected) in [
        ("a.md", "a.md"),
        ("./a//b/", "a/b"),
        (".", "."),
        ("./", "."),
        ("../x/a.md", "../x/a.md"),
        ("/etc/motd", "motd"),
        ("/", "."),
    ] {
        assert_eq!(label(written), expected, "{written}");
    }
}

#[test]
fn what_folders_keep_to_themselves_is_listed_apart_from_what_is_skipped() {
    let folder = folder([
        ("g/.gitignore", &b"drafts/\n"[..]),
        ("g/a.md", b"# A\n"),
        ("g/b.markdown", b"# B\n"),
        ("g/c.txt", b"x"),
        ("g/.hidden.md", b"# H\n"),
        ("g/.hidden.txt", b"x"),
        ("g/drafts/d.md", b"# D\n"),
        ("g/empty.md", b""),
    ]);
    let listed = |extra: &[&str]| {
        let settings = settings(&folder, extra, &[]);
        assert_eq!(missing(&settings), [""; 0]);
        let corpus = load(&settings, &[]);
        check(
            &DocsCorpus {
                documents: DocList::default(),
                ..DocsCorpus::clone(&corpus)
            },
            &[],
            &["g/empty.md empty"],
        );
        let left_out = corpus.left_out.iter();
        left_out
            .map(|one| format!("{} {}", one.label, one.reason.code()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        listed(&["g"]),
        [
            "g/.hidden.md hidden",
            "g/b.markdown not_markdown",
            "g/drafts/ ignored"
        ]
    );
    // A file that is named itself is loaded, wherever it is named; a file that is walked twice is reported once.
    assert_eq!(
        listed(&["g", "g/.hidden.md", "g/../g"]),
        ["g/b.markdown not_markdown", "g/drafts/ ignored"]
    );
}

#[test]
fn clients_get_names_that_do_not_tell_where_a_folder_is() {
    let folder = folder([
        ("team/secret-project/docs/deep/empty.md", &b""[..]),
        ("team/secret-project/large.md", &[b'x'; 101]),
    ]);
    let names = |extra: &[&str]| {
        let corpus = load(&settings(&folder, extra, &[]), &[]);
        let skipped = corpus.skipped.iter();
        skipped
            .map(|one| (one.name.clone(), one.slug.clone()))
            .collect::<Vec<_>>()
    };
    let empty = || ("docs/deep/empty.md".to_owned(), "empty".to_owned());
    assert_eq!(names(&["team/secret-project/docs"]), [empty()]);
    assert_eq!(
        names(&["team/secret-project/large.md"]),
        [("large.md".to_owned(), "large".to_owned())]
    );
    assert_eq!(
        names(&["team/secret-project/docs/.."])[0],
        empty(),
        "a folder that is named by its parent"
    );
    let settings = settings(&folder, &["team/nowhere", "here.md"], &[]);
    assert_eq!(missing(&settings), ["team/nowhere", "here.md"]);
}

#[test]
fn ten_thousand_files_are_all_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..10_000 {
        fs::write(folder.path().join(format!("{number:05}.md")), "x").unwrap();
    }
    let corpus = load(&settings(&folder, &["."], &[]), &[]);
    assert_eq!((corpus.documents.len(), corpus.skipped.len()), (32, 9968));
    assert_eq!(corpus.documents[31].label, "00031.md");
    assert!(corpus.skipped.is_sorted_by_key(|skipped| &skipped.label));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_in_which_files_are_made_does_not_matter(
        mut files in proptest::collection::btree_map("[ab]{1,2}(/[ab]{1,2}){0,2}", 0_usize..120, 1..12),
        seed in any::<u64>(),
    ) {
        // A name cannot be that of a folder as well; with the extension it cannot clash.
        let named: Vec<(String, Vec<u8>)> = std::mem::take(&mut files)
            .into_iter()
            .map(|(path, length)| (format!("{path}.md"), vec![b'x'; length]))
            .collect();
        let mut shuffled = named.clone();
        shuffled.sort_by_key(|(path, _)| {
            path.bytes().fold(seed, |hash, byte| hash.rotate_left(9) ^ u64::from(byte).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        });
        let load = |files: &[(String, Vec<u8>)]| {
            let folder = folder(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())));
            let mut settings = settings(&folder, &["."], &[]);
            settings.written.max_docs = 6;
            settings.written.max_total_bytes = 300;
            load(&settings, MANUAL)
        };
        let corpus = load(&named);
        let again = load(&shuffled);
        prop_assert_eq!(&corpus.documents, &again.documents);
        prop_assert_eq!(&corpus.skipped, &again.skipped);
        prop_assert_eq!(&corpus.left_out, &again.left_out);
        prop_assert_eq!((&corpus.notes, &corpus.listed), (&again.notes, &again.listed));
        prop_assert_eq!(corpus.documents.len() + corpus.skipped.len(), named.len() + MANUAL.len());
        let slugs: HashSet<&str> = corpus.documents.iter().map(|doc| doc.slug.as_str()).collect();
        prop_assert_eq!(slugs.len(), corpus.documents.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Documents that follow their files are those that are loaded afresh.
    #[test]
    fn documents_follow_their_files_as_if_loaded_again(
        steps in proptest::collection::vec((0..4_usize, 0..9_usize), 1..8),
    ) {
        const TEXTS: [&str; 8] = [
            "# One\n\nA text. More.\n",
            "---\ntitle: Other\nrole: decision\n---\nAnother text.\n",
            "---\nslug: p1\n---\n# Taken\n\nThe slug of a neighbour.\n",
            "---\nrole: none\n---\n# A problem\n",
            "---\na: [\n---\n# Not YAML\n",
            "",
            "# Long\n\nMore than the limit of one document allows, which is a hundred bytes in all of these tests here.\n",
            "# Half\n\nMore than sixty bytes, so that the limit of all matters.\n",
        ];
        let folder = folder([("g/p0.md", &b"# P0\n"[..]), ("g/p1.md", b"# P1\n\ntext\n"), ("g/p2.md", b"# P2\n")]);
        let mut settings = settings(&folder, &["g"], &[]);
        settings.written.max_total_bytes = 150;
        let sources = DocsSources::open(&settings, &[], SourceOptions::default());
        for (page, text) in steps {
            let path = folder.path().join(format!("g/p{page}.md"));
            match TEXTS.get(text) {
                Some(text) => fs::write(path, text).unwrap(),
                None => drop(fs::remove_file(path)),
            }
            let (followed, again) = (sources.current(&|| false).unwrap(), load(&settings, &[]));
            prop_assert_eq!(&followed.documents, &again.documents);
            prop_assert_eq!(&followed.skipped, &again.skipped);
            prop_assert_eq!((&followed.notes, &followed.listed), (&again.notes, &again.listed));
            for doc in followed.documents.iter() {
                prop_assert_eq!(Digest::of(&followed.pages.read(doc.page).unwrap()), doc.digest);
            }
        }
    }
}

/// A file whose time is in the future is read with every call, but its documents are indexed only when it changed.
#[test]
fn a_file_from_the_future_is_indexed_once() {
    let folder = folder([("a.md", &b"# A\n\ntext\n"[..])]);
    let settings = settings(&folder, &["a.md"], &[]);
    let file = fs::File::options()
        .write(true)
        .open(folder.path().join("a.md"));
    let future = std::time::SystemTime::now() + std::time::Duration::from_secs(3_600);
    file.unwrap().set_modified(future).unwrap();
    let sources = DocsSources::open(&settings, &[], SourceOptions::default());
    let current = || sources.current(&|| false).unwrap();
    let first = current();
    assert!(Arc::ptr_eq(&first, &current()));
    fs::write(folder.path().join("a.md"), "# B\n\ntext\n").unwrap();
    assert_eq!(current().documents[0].title, "B");
}
