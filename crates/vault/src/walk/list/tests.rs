//! The listing of a folder, and that links do not change it.

#![expect(clippy::disallowed_methods, reason = "tests create files")]

use std::{
    fs,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
};

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

fn names(listed: Result<Vec<(NotePath, FileStamp)>, WalkError>) -> Vec<String> {
    let listed = listed.unwrap();
    listed.iter().map(|(path, _)| path.to_string()).collect()
}

fn walk(include: &[&str], exclude: &[&str]) -> Walk {
    let owned = |patterns: &[&str]| patterns.iter().map(|one| (*one).to_owned()).collect();
    Walk::new(owned(include), owned(exclude)).unwrap()
}

#[test]
fn documents_of_one_folder_with_the_rules_of_the_root() {
    let (_folder, root) = folder(&[
        (".gitignore", "/a/build/\n*.tmp.md\n"),
        ("a/b.md", "four"),
        ("a/a/z.md", ""),
        ("a/a.md", ""),
        ("a/build/x.md", ""),
        ("a/x.tmp.md", ""),
        ("a/.hidden/x.md", ""),
        ("a/c:/x.md", ""),
        ("a/n.txt", ""),
        ("a/keep/.gitignore", "own.md\n"),
        ("a/keep/own.md", ""),
        ("a/keep/x.md", ""),
        ("ab/x.md", ""),
        ("top.md", ""),
    ]);
    let all = Walk::default();
    let listed = root.list("a", &all, &|| false).unwrap();
    let (path, stamp) = &listed[2];
    assert_eq!((path.as_str(), stamp.bytes), ("b.md", 4));
    assert!(stamp.modified_ns > 1_600_000_000_000_000_000 && stamp.file != 0);
    assert_eq!(
        names(root.list("a", &all, &|| false)),
        ["a.md", "a/z.md", "b.md", "keep/x.md"]
    );
    assert_eq!(
        names(root.list("a", &walk(&["a/a/"], &[]), &|| false)),
        ["a/z.md"]
    );
    assert_eq!(
        names(root.list("a", &walk(&[], &["keep"]), &|| false)),
        ["a.md", "a/z.md", "b.md"]
    );
    assert_eq!(
        names(root.list_files("a/keep", &all, &|| false)),
        ["x.md"],
        "hidden files are no files"
    );
    assert_eq!(
        names(root.list_files("a", &walk(&["nothing"], &[]), &|| false)),
        ["a.md", "a/z.md", "b.md", "keep/x.md", "n.txt"]
    );
    assert_eq!(
        root.list("a", &all, &|| true),
        Err(WalkError::Stopped),
        "nobody waits"
    );
}

#[test]
fn only_a_real_folder_directly_below_the_root_is_listed() {
    let (folder, root) = folder(&[
        (".gitignore", "/secret\n"),
        ("a/b/c.md", ""),
        ("secret/x.md", ""),
        ("file.md", ""),
    ]);
    symlink("a", folder.path().join("link")).unwrap();
    symlink(folder.path(), folder.path().join("a/up")).unwrap();
    symlink("c.md", folder.path().join("a/b/linked.md")).unwrap();
    let all = Walk::default();
    assert_eq!(names(root.list("a", &all, &|| false)), ["b/c.md"]);
    for name in [
        "", ".", "..", "a/b", "a/", "./a", "link", "secret", "file.md", "A", "none", ".sectile",
        "a\0", "b\\..",
    ] {
        let listed = root.list(name, &all, &|| false);
        assert!(
            matches!(listed, Err(WalkError::Unreadable(_))),
            "{name:?} {listed:?}"
        );
    }
    assert_eq!(names(root.list_files("a/b", &all, &|| false)), ["c.md"]);
    assert!(root.list_files("a/up/a", &all, &|| false).is_err());
}

#[test]
fn folders_that_count() {
    let (folder, root) = folder(&[
        (".gitignore", "ignored/\n"),
        ("b/x.md", ""),
        ("_a/x.md", ""),
        ("A b/x.md", ""),
        ("ignored/x.md", ""),
        ("excluded/x.md", ""),
        (".git/x.md", ""),
        ("c:/x.md", ""),
        ("back\\slash/x.md", ""),
        ("x.md", ""),
    ]);
    symlink("b", folder.path().join("link")).unwrap();
    assert_eq!(
        root.folders(&walk(&[], &["excluded"])).unwrap(),
        ["A b", "_a", "b"]
    );
}

#[test]
fn what_a_walk_would_come_to() {
    let (folder, root) = folder(&[
        (".gitignore", "/a/drafts/\n"),
        ("a/b/c.md", ""),
        ("a/drafts/x.md", ""),
        ("a/b/.gitignore", "own.md"),
        ("a/b/own.md", ""),
    ]);
    symlink("b", folder.path().join("a/link")).unwrap();
    let reaches = |path: &str| {
        let path = NotePath::parse_vault(path).unwrap();
        root.reaches(&path, &Walk::default()).unwrap()
    };
    for path in ["a/b/c.md", "a/collection.toml", "a/b/new.md"] {
        assert!(reaches(path), "{path}");
    }
    for path in [
        "A/b/c.md",
        "a/drafts/x.md",
        "a/b/own.md",
        "a/link/c.md",
        "a/.git/config",
        "none/x.md",
        "a/b/c.md/x.md",
    ] {
        assert!(!reaches(path), "{path}");
    }
}

#[test]
fn a_folder_swapped_for_a_link_is_never_walked_through() {
    let (folder, root) = folder(&[("a/in/one.md", ""), ("outside/secret.md", "")]);
    let at = |path: &str| folder.path().join(path);
    symlink(at("outside"), at("link")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..300 {
                fs::rename(at("a/in"), at("real")).unwrap();
                fs::rename(at("link"), at("a/in")).unwrap();
                fs::rename(at("a/in"), at("link")).unwrap();
                fs::rename(at("real"), at("a/in")).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            let listed = names(root.list("a", &Walk::default(), &|| false));
            assert!(listed.iter().all(|path| path == "in/one.md"), "{listed:?}");
        }
    });
}

#[test]
fn everything_that_a_walk_comes_to_is_listed_with_stamps() {
    let (folder, root) = folder(&[
        (".gitignore", "drafts/\n"),
        ("b.md", "four"),
        ("a/b.markdown", ""),
        ("a/in/.gitignore", "left-out.md\n"),
        ("a/in/left-out.md", ""),
        ("a/in/c.md", "text!"),
        ("ab/x.md", ""),
        ("drafts/x.md", ""),
        (".hidden/x.md", ""),
        ("x.txt", ""),
    ]);
    symlink("a", folder.path().join("link")).unwrap();
    let all = Walk::default();
    let listed = root.list_all(&all, &|| false);
    let expected = ["a/b.markdown", "a/in/c.md", "ab/x.md", "b.md"];
    assert_eq!(names(listed.clone()), expected);
    assert_eq!(listed.unwrap()[1].1.bytes, 5);
    let walked = root.walk(&all, &|| false).unwrap();
    assert_eq!(
        walked,
        expected.map(|name| NotePath::parse_vault(name).unwrap())
    );
    let some = walk(&["a/"], &["in"]);
    assert_eq!(names(root.list_all(&some, &|| false)), ["a/b.markdown"]);
    assert_eq!(root.list_all(&all, &|| true), Err(WalkError::Stopped));
}

#[test]
fn documents_at_the_top_are_listed_without_what_is_below() {
    let (folder, root) = folder(&[
        (".gitignore", "left-out.md\n"),
        ("b.md", "four"),
        ("a.markdown", ""),
        ("left-out.md", ""),
        (".hidden.md", ""),
        ("x.txt", ""),
        ("deep/c.md", ""),
        ("back\\slash.md", ""),
    ]);
    symlink("b.md", folder.path().join("link.md")).unwrap();
    let all = Walk::default();
    let listed = root.list_top(&all, &|| false);
    assert_eq!(names(listed.clone()), ["a.markdown", "b.md"]);
    assert_eq!(listed.unwrap()[1].1.bytes, 4);
    assert_eq!(
        names(root.list_top(&walk(&["a*"], &[]), &|| false)),
        ["a.markdown"]
    );
    assert_eq!(root.list_top(&all, &|| true), Err(WalkError::Stopped));
    let has = |walk: &Walk, ending: &str| {
        root.has_at_top(walk, &|path: &NotePath| path.as_str().ends_with(ending))
            .unwrap()
    };
    assert!(has(&all, ".md") && has(&all, ".markdown"));
    assert!(!has(&walk(&[], &["b.md"]), ".md"));
    assert!(!has(&walk(&["a*"], &[]), ".md"));
}
