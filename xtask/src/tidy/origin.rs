//! Checks that the repository contains only our own work: no third-party corpus, query set, manual or licence.
//!
//! A file does not show who wrote it. So files of the types in which third-party text usually arrives are allowed only if a
//! row here says what they are, and a review sees every new row.

use super::{Finding, Tree};

/// Extensions of files in which third-party text usually arrives, in any folder.
const DATA: &[&str] = &[
    "7z", "adoc", "arrow", "br", "bz2", "csv", "db", "docx", "epub", "feather", "gz", "htm",
    "html", "ipynb", "json", "jsonl", "mdx", "ndjson", "npy", "npz", "parquet", "pdf", "rst",
    "sqlite", "tar", "tex", "tgz", "tsv", "txt", "xml", "xz", "zip", "zst",
];

/// Such files that are our own: a file, or a folder with a trailing slash, and how it was made.
const OURS: &[(&str, &str)] = &[
    (
        "bench/k8s-docs/qrels-questions.tsv",
        "labels of our questions",
    ),
    ("bench/k8s-docs/questions.jsonl", "our own questions"),
    (
        "crates/sectile/test_data/editor_pitfalls.json",
        "our own documents and calls, and the results of editors",
    ),
    (
        "crates/sectile/test_data/section_source.json",
        "our own documents, and the answers of the contract's original",
    ),
    (
        "crates/sectile/src/worlds/desk/card/",
        "the page that we wrote for reviews",
    ),
    ("docs/comparison.json", "measured by `cargo xtask compare`"),
    ("model/checkpoints/", "weights that we trained"),
    ("model/classes.tsv", "written by classes.py"),
    ("model/requirements-bench.txt", "names of packages"),
    ("model/requirements-train.txt", "names of packages"),
    ("model/requirements.txt", "names of packages"),
    (
        "model/vectors-static-2.jsonl",
        "vectors of our model for our own strings",
    ),
    (
        "model/vectors-transformer-1.jsonl",
        "vectors of our model for our own strings",
    ),
    ("note-store/src/mebibyte.gz", "a mebibyte of one byte"),
    ("test-corpus/words/", "sentences that we wrote for tests"),
    ("xtask/console/package.json", "names of packages"),
];

/// Our own Markdown: a file, or a folder with a trailing slash.
const MARKDOWN: &[&str] = &[
    ".github/",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "STYLE.md",
    "bench/k8s-docs/QUESTIONS.md",
    "crates/client/test_data/ORIGIN.md",
    "crates/mcp/test_data/ORIGIN.md",
    "crates/sectile/src/",
    "crates/sectile/test_data/ORIGIN.md",
    "docs/",
    "examples/decision-gate/README.md",
    "model/MODEL_CARD.md",
    "model/README.md",
    "model/TRAINING.md",
    "note-store/README.md",
    "test-corpus/manual/",
];

/// Names of files that usually accompany third-party work.
const PAPERS: &[&str] = &[
    "attribution",
    "authors",
    "copying",
    "copyright",
    "credits",
    "licence",
    "license",
    "notice",
    "origin",
    "sha256sums",
    "third-party",
    "third_party",
];

/// Such files that belong here: our own licences, and those of the models that ours are derived from.
const OUR_PAPERS: &[&str] = &[
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "crates/client/test_data/ORIGIN.md",
    "crates/mcp/test_data/ORIGIN.md",
    "crates/sectile/test_data/ORIGIN.md",
    "model/LICENSE-all-MiniLM-L6-v2",
    "model/NOTICE",
];

/// The size in bytes that a file written by a person does not exceed.
const LARGE: usize = 100_000;
/// Larger files that a program generates.
const LARGE_FILES: &[&str] = &["Cargo.lock", "crates/sectile/test_data/section_source.json"];

/// The alternative to committing third-party text.
const INSTEAD: &str = "third-party text stays outside the repository: let `cargo xtask eval` read it from ../shared, and \
                       write your own documents for tests (`test-corpus`)";

pub(super) fn only_ours(tree: &Tree) -> Vec<Finding> {
    let texts = tree.files.iter();
    let texts = texts.map(|file| (file.path.as_str(), Some(file.text.len())));
    let others = tree.not_text.iter().map(|path| (path.as_str(), None));
    let mut findings = Vec::new();
    for (path, size) in texts.chain(others) {
        let mut report = |message: String| {
            findings.push(Finding {
                path: path.to_owned(),
                line: 1,
                message,
            });
        };
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_listed = |(place, _): &(&str, &str)| covers(place, path);
        // Seeds of failed cases, written by proptest.
        let is_seed = path.contains("/proptest-regressions/") && ending == "txt";
        if DATA.contains(&ending) && !is_seed && !OURS.iter().any(is_listed) {
            report(format!(
                "a data file without a row in `OURS` (xtask/src/tidy/origin.rs) that says how we made it; {INSTEAD}"
            ));
        }
        if ["md", "markdown"].contains(&ending) && !MARKDOWN.iter().any(|place| covers(place, path))
        {
            report(format!(
                "Markdown outside the folders in `MARKDOWN` (xtask/src/tidy/origin.rs); {INSTEAD}"
            ));
        }
        let is_paper = ending != "rs" && PAPERS.iter().any(|paper| name.starts_with(paper));
        if is_paper && !OUR_PAPERS.contains(&path) {
            report(format!(
                "a licence or notice file without a row in `OUR_PAPERS` (xtask/src/tidy/origin.rs); {INSTEAD}"
            ));
        }
        if let Some(size) = size.filter(|size| *size > LARGE && !LARGE_FILES.contains(&path)) {
            report(format!("{size} bytes of text, at most {LARGE}; {INSTEAD}"));
        }
    }
    findings
}

/// Returns whether a row covers a path: the same file, or a folder above it.
fn covers(place: &str, path: &str) -> bool {
    if place.ends_with('/') {
        path.starts_with(place)
    } else {
        path == place
    }
}

/// Finds rows for files that no longer exist, which would admit other files under their names.
pub(super) fn rows_of_origin_are_needed(tree: &Tree) -> Vec<Finding> {
    let paths: Vec<&str> = tree
        .files
        .iter()
        .map(|file| file.path.as_str())
        .chain(tree.not_text.iter().map(String::as_str))
        .collect();
    let places = OURS.iter().map(|(place, _)| place);
    let places = places.chain(MARKDOWN).chain(OUR_PAPERS).chain(LARGE_FILES);
    let is_used = |place: &&&str| paths.iter().any(|path| covers(place, path));
    places
        .filter(|place| !is_used(place))
        .map(|place| Finding {
            path: "xtask/src/tidy/origin.rs".to_owned(),
            line: 1,
            message: format!("`{place}` no longer exists: remove its row"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{found, found_beside};
    use super::*;

    #[track_caller]
    fn refused(path: &str, text: &str, why: &str) {
        let findings = found(only_ours, &[(path, text)]);
        assert_eq!(findings.len(), 1, "{path}: {findings:?}");
        assert!(findings[0].contains(why), "{findings:?}");
        assert!(findings[0].contains(INSTEAD), "{findings:?}");
    }

    #[track_caller]
    fn allowed(path: &str, text: &str) {
        assert_eq!(
            found(only_ours, &[(path, text)]),
            Vec::<String>::new(),
            "{path}"
        );
    }

    #[test]
    fn a_planted_corpus_is_refused() {
        refused(
            "crates/sectile/tests/data/x/corpus.jsonl",
            "{\"_id\":\"0\",\"text\":\"x\"}\n",
            "a data file without a row",
        );
        refused("test-corpus/qrels.TSV", "a\tb\t1\n", "a data file");
        refused("bench/k8s-docs/queries.jsonl", "", "a data file");
        refused("docs/export.csv", "", "a data file");
        allowed("bench/k8s-docs/questions.jsonl", "");
        allowed("test-corpus/words/things.txt", "");
    }

    #[test]
    fn a_packed_corpus_is_refused() {
        let findings = found_beside(only_ours, &["crates/sectile/tests/data/corpus.jsonl.gz"]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].contains("a data file"), "{findings:?}");
        assert_eq!(
            found_beside(only_ours, &["note-store/src/mebibyte.gz"]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn markdown_of_others_is_refused() {
        let path = "examples/decision-gate/Docs/guides/security_guide.md";
        refused(path, "# Security Guide\n", "Markdown outside");
        refused(
            "crates/sectile/tests/data/a.markdown",
            "",
            "Markdown outside",
        );
        allowed("docs/model.md", "# The model\n");
        allowed("examples/decision-gate/README.md", "");
    }

    #[test]
    fn papers_of_others_are_refused() {
        refused(
            "examples/x/LICENSE",
            "Apache License",
            "a licence or notice file",
        );
        refused("crates/a/NOTICE", "", "a licence or notice file");
        refused("examples/x/SHA256SUMS", "", "a licence or notice file");
        let twice = found(only_ours, &[("crates/a/ORIGIN.md", "")]);
        assert_eq!(twice.len(), 2, "{twice:?}");
        allowed("model/NOTICE", "");
        allowed("LICENSE-MIT", "");
    }

    #[test]
    fn a_text_under_another_ending_is_too_large() {
        let text = "word ".repeat(LARGE);
        refused("crates/a/src/corpus.inc", &text, "500000 bytes of text");
        allowed("Cargo.lock", &text);
    }

    #[test]
    fn a_row_without_a_file_is_told() {
        let rows = found(rows_of_origin_are_needed, &[("README.md", "")]);
        assert!(
            !rows.iter().any(|row| row.contains("`README.md`")),
            "{rows:?}"
        );
        assert!(rows.iter().any(|row| row.contains("`docs/`")), "{rows:?}");
    }
}
