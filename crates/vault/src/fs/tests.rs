//! Paths that open, paths that do not, and races that cannot change it.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
};

use super::*;

struct Fixture {
    _temp: tempfile::TempDir,
    vault: PathBuf,
    outside: PathBuf,
}

/// A folder `vault` with a note, and a folder `vault-secret` next to it that must stay out of reach.
fn fixture() -> Fixture {
    let temp = tempfile::tempdir().unwrap();
    let (vault, outside) = (temp.path().join("vault"), temp.path().join("vault-secret"));
    fs::create_dir_all(vault.join("inbox")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(vault.join("inbox/one.md"), "# One\n").unwrap();
    fs::write(outside.join("secret.md"), "# SECRET\n").unwrap();
    Fixture {
        _temp: temp,
        vault,
        outside,
    }
}

impl Fixture {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        let note = NotePath::parse_vault(path).expect("a valid path");
        let bytes = Root::open(&self.vault).expect("a root").read(&note, 1000)?;
        Ok(String::from_utf8(bytes).unwrap())
    }
}

#[test]
fn reads_regular_files_and_links_that_stay_inside() {
    let fixture = fixture();
    symlink("inbox/one.md", fixture.vault.join("relative.md")).unwrap();
    symlink(
        fixture.vault.join("inbox/one.md"),
        fixture.vault.join("absolute.md"),
    )
    .unwrap();
    symlink(fixture.vault.join("inbox"), fixture.vault.join("folder")).unwrap();
    for path in [
        "inbox/one.md",
        "relative.md",
        "absolute.md",
        "folder/one.md",
    ] {
        assert_eq!(fixture.read(path).as_deref(), Ok("# One\n"), "{path}");
    }
}

#[test]
fn links_that_leave_are_refused_whether_or_not_the_target_exists() {
    let fixture = fixture();
    let link = |name: &str, target: &Path| symlink(target, fixture.vault.join(name)).unwrap();
    link("out.md", &fixture.outside.join("secret.md"));
    link("out-relative.md", Path::new("../vault-secret/secret.md"));
    link("out-missing.md", &fixture.outside.join("missing.md"));
    link("out-folder", &fixture.outside);
    for path in [
        "out.md",
        "out-relative.md",
        "out-missing.md",
        "out-folder/secret.md",
        "out-folder/missing.md",
    ] {
        assert_eq!(fixture.read(path), Err(ReadError::OutsideRoot), "{path}");
    }
}

#[test]
fn what_is_not_a_regular_file_is_not_a_note_and_does_not_block() {
    let fixture = fixture();
    let pipe = std::process::Command::new("mkfifo")
        .arg(fixture.vault.join("pipe.md"))
        .status()
        .unwrap();
    assert!(pipe.success());
    let _socket = std::os::unix::net::UnixListener::bind(fixture.vault.join("socket.md")).unwrap();
    symlink("loop.md", fixture.vault.join("loop.md")).unwrap();
    symlink("nowhere.md", fixture.vault.join("dangling.md")).unwrap();
    fs::create_dir(fixture.vault.join(".sectile")).unwrap();
    fs::write(fixture.vault.join(".sectile/journal.md"), "# J\n").unwrap();
    let long = format!("{}.md", "x".repeat(5000));
    for path in [
        "pipe.md",
        "socket.md",
        "loop.md",
        "dangling.md",
        "inbox",
        "missing.md",
        "inbox/one.md/below.md",
        &long,
        ".sectile/journal.md",
        ".Sectile/journal.md",
    ] {
        assert_eq!(fixture.read(path), Err(ReadError::NotFound), "{path}");
    }
}

#[test]
fn size_is_checked_before_reading() {
    let fixture = fixture();
    fs::write(fixture.vault.join("big.md"), "x".repeat(1001)).unwrap();
    fs::write(fixture.vault.join("fits.md"), "x".repeat(1000)).unwrap();
    fs::File::create(fixture.vault.join("sparse.md"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    assert_eq!(
        fixture.read("big.md"),
        Err(ReadError::TooLarge { limit: 1000 })
    );
    assert_eq!(
        fixture.read("sparse.md"),
        Err(ReadError::TooLarge { limit: 1000 })
    );
    assert_eq!(fixture.read("fits.md").map(|text| text.len()), Ok(1000));
}

#[test]
fn a_root_must_be_a_folder() {
    let fixture = fixture();
    assert_eq!(
        Root::open(&fixture.vault.join("no")).unwrap_err(),
        RootError::NotFound
    );
    assert_eq!(
        Root::open(&fixture.vault.join("inbox/one.md")).unwrap_err(),
        RootError::NotAFolder
    );
}

#[test]
fn swapping_a_note_for_a_link_never_leaks_what_is_outside() {
    let fixture = fixture();
    let note = fixture.vault.join("swapped.md");
    let spare = fixture.vault.join("spare");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..2000 {
                match turn % 3 {
                    0 => symlink(fixture.outside.join("secret.md"), &spare).unwrap(),
                    1 => fs::write(&spare, "# Inside\n").unwrap(),
                    _ => symlink("inbox/one.md", &spare).unwrap(),
                }
                fs::rename(&spare, &note).unwrap();
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            match fixture.read("swapped.md") {
                Ok(text) => assert!(
                    ["", "# Inside\n", "# One\n"].contains(&text.as_str()),
                    "leaked {text:?}"
                ),
                Err(error) => assert!(
                    matches!(error, ReadError::OutsideRoot | ReadError::NotFound),
                    "{error:?}"
                ),
            }
        }
    });
}

#[test]
fn a_place_is_looked_at_through_links() {
    let fixture = fixture();
    let at = |path: &str| fixture.vault.join(path);
    symlink(at("inbox/one.md"), at("link")).unwrap();
    symlink("loop", at("loop")).unwrap();
    fs::write(at("back\\slash.md"), "").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket.md")).unwrap();
    for path in ["inbox/one.md", "link", "inbox/../inbox/./one.md"] {
        let Ok(PathTarget::File(root, note)) = PathTarget::at(&at(path)) else {
            panic!("{path} is a file");
        };
        assert_eq!(note.as_str(), "one.md");
        assert_eq!(root.location(), at("inbox").canonicalize().unwrap());
        assert_eq!(root.read(&note, 100).unwrap(), b"# One\n");
    }
    assert!(matches!(
        PathTarget::at(&fixture.vault),
        Ok(PathTarget::Folder(_))
    ));
    for path in ["socket.md", "back\\slash.md"] {
        assert!(
            matches!(PathTarget::at(&at(path)), Ok(PathTarget::Other)),
            "{path}"
        );
    }
    for path in ["missing.md", "", "loop", "inbox/one.md/x", "a\0b"] {
        let found = PathTarget::at(Path::new(path));
        assert!(found.is_err(), "{path:?}: {found:?}");
    }
    assert_eq!(
        PathTarget::at(&at("missing.md")).err(),
        Some(RootError::NotFound)
    );
}
