//! The documents that a walk finds.

#![expect(clippy::disallowed_methods, reason = "tests create files")]

use std::{cell::Cell, fs};

use tempfile::TempDir;

use super::*;

fn folder(files: &[(&str, &str)]) -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = Root::open(folder.path()).unwrap();
    (folder, root)
}

fn found(root: &Root, include: &[&str], exclude: &[&str]) -> Vec<String> {
    let owned = |patterns: &[&str]| patterns.iter().map(|one| (*one).to_owned()).collect();
    let walk = Walk::new(owned(include), owned(exclude)).unwrap();
    let paths = root.walk(&walk, &|| false).unwrap();
    paths.iter().map(|path| path.as_str().to_owned()).collect()
}

#[test]
fn markdown_is_found_sorted_and_hidden_files_are_not() {
    let (_folder, root) = folder(&[
        ("b.md", ""),
        ("a/z.markdown", ""),
        ("a/B.MD", ""),
        ("a.md", ""),
        ("a/n.txt", ""),
        ("a/back\\slash.md", ""),
        (".hidden.md", ""),
        (".git/x.md", ""),
        (".Sectile/x.md", ""),
        ("a/.md", ""),
    ]);
    assert_eq!(
        found(&root, &[], &[]),
        ["a.md", "a/B.MD", "a/z.markdown", "b.md"]
    );
}

#[test]
fn ignore_files_count_without_a_repository_and_the_nearest_decides() {
    let (_folder, root) = folder(&[
        (
            ".gitignore",
            "\u{feff}# comment\nbuild/\n/top.md\n*.tmp.md\n[bad\n",
        ),
        ("top.md", ""),
        ("a/top.md", ""),
        ("a/x.tmp.md", ""),
        ("a/build/x.md", ""),
        ("keep/.gitignore", "!*.tmp.md\nown.md\r\n"),
        ("keep/x.tmp.md", ""),
        ("keep/own.md", ""),
        ("keep/sub/own.md", ""),
        ("own.md", ""),
        ("both/.gitignore", "!a.md\n"),
        (".ignore", "both/a.md\n"),
        ("both/a.md", ""),
        ("both/b.md", ""),
    ]);
    assert_eq!(
        found(&root, &[], &[]),
        ["a/top.md", "both/b.md", "keep/x.tmp.md", "own.md"]
    );
}

#[test]
fn patterns_choose_documents_and_a_bad_one_is_reported() {
    let (_folder, root) = folder(&[
        ("docs/a.md", ""),
        ("docs/deep/b.md", ""),
        ("docs/drafts/c.md", ""),
        ("notes/d.md", ""),
        ("e.md", ""),
        (".gitignore", "notes/\n"),
    ]);
    assert_eq!(
        found(&root, &["docs/"], &["drafts"]),
        ["docs/a.md", "docs/deep/b.md"]
    );
    assert_eq!(
        found(&root, &["/*.md", "docs/**/b.md"], &[]),
        ["docs/deep/b.md", "e.md"]
    );
    assert_eq!(
        found(&root, &["notes/d.md"], &[]),
        [""; 0],
        "ignored stays ignored"
    );
    let error = Walk::new(Vec::new(), vec!["a[".to_owned()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the pattern `a[` is invalid: unclosed character class; missing ']'"
    );
}

#[test]
fn a_walk_can_be_stopped() {
    let (_folder, root) = folder(&[("a/b/c.md", ""), ("d.md", "")]);
    let left = Cell::new(2);
    let stop = || {
        left.set(left.get() - 1);
        left.get() == 0
    };
    assert_eq!(root.walk(&Walk::default(), &stop), Err(WalkError::Stopped));
}

#[cfg(unix)]
#[test]
fn links_pipes_and_odd_names_do_no_harm() {
    use std::os::unix::{ffi::OsStrExt as _, fs::symlink};
    let (folder, root) = folder(&[("a/b.md", "")]);
    let at = |name: &str| folder.path().join(name);
    symlink(folder.path(), at("a/loop")).unwrap();
    symlink(at("a/b.md"), at("link.md")).unwrap();
    let listener = std::os::unix::net::UnixListener::bind(at("socket.md"));
    assert!(listener.is_ok());
    symlink("/dev/zero", at("a/.gitignore")).unwrap();
    fs::write(
        folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.md")),
        "",
    )
    .unwrap();
    assert_eq!(found(&root, &[], &[]), ["a/b.md"]);
    drop(folder);
    assert_eq!(
        root.walk(&Walk::default(), &|| false),
        Err(WalkError::Unreadable(io::ErrorKind::NotFound))
    );
}

#[cfg(unix)]
#[test]
fn a_survey_says_what_was_passed_over() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, os::unix::fs::symlink};

    let (folder, root) = folder(&[
        (".gitignore", "ignored*\n"),
        ("b.md", ""),
        ("a/back\\slash.md", ""),
        ("a/x.txt", ""),
    ]);
    let at = |path: &str| folder.path().join(path);
    symlink(".", at("a/loop")).unwrap();
    symlink("self.md", at("self.md")).unwrap();
    symlink("nowhere", at("ignored-link.md")).unwrap();
    symlink("nowhere", at(".hidden.md")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket.md")).unwrap();
    fs::write(folder.path().join(OsStr::from_bytes(b"\xff.md")), "").unwrap();
    let survey = root.survey(&Walk::default(), &|| false).unwrap();
    assert_eq!(survey.documents, [NotePath::parse_vault("b.md").unwrap()]);
    let passed_over: Vec<_> = survey
        .passed_over
        .iter()
        .map(|(path, why)| (path.as_str(), *why))
        .collect();
    assert_eq!(
        passed_over,
        [
            ("a/back\\slash.md", ExclusionReason::OddName),
            ("a/loop", ExclusionReason::LinkToFolder),
            ("self.md", ExclusionReason::Link),
            ("socket.md", ExclusionReason::NotAFile),
            ("\u{fffd}.md", ExclusionReason::OddName),
        ]
    );
}

#[test]
fn a_survey_says_what_is_hidden_or_ignored() {
    let (_folder, root) = folder(&[
        (".gitignore", "ignored*\nbuild/\n"),
        ("b.md", ""),
        ("ignored.md", ""),
        ("ignored.txt", ""),
        ("a/.hidden.md", ""),
        ("a/.hidden.txt", ""),
        ("a/build/x.md", ""),
        (".drafts/x.md", ""),
        (".git/x.md", ""),
        (".sectile/x.md", ""),
        ("not-wanted.md", ""),
    ]);
    let walk = Walk::new(Vec::new(), vec!["not-*".to_owned()]).unwrap();
    let survey = root.survey(&walk, &|| false).unwrap();
    assert_eq!(survey.documents, [NotePath::parse_vault("b.md").unwrap()]);
    let left_out: Vec<_> = survey
        .left_out
        .iter()
        .map(|(path, why)| (path.as_str(), *why))
        .collect();
    assert_eq!(
        left_out,
        [
            (".drafts/", LeftOutReason::Hidden),
            ("a/.hidden.md", LeftOutReason::Hidden),
            ("a/build/", LeftOutReason::Ignored),
            ("ignored.md", LeftOutReason::Ignored),
            ("not-wanted.md", LeftOutReason::Ignored),
        ]
    );
    assert_eq!(survey.passed_over, []);
}
