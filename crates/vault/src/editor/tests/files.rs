//! The attributes of a file are kept, or the file is left alone; and what is in the private folder is not trusted to be
//! a file of ours.

use std::{os::unix::fs::PermissionsExt as _, process::Command};

use super::*;

const JOURNAL: &str = ".sectile/journal";

fn rename(from: &str, to: &str) -> Operation {
    Operation::RenameDocument(RenameDocument {
        path: note(from),
        new_path: note(to),
        repair_links: false,
    })
}

fn delete(path: &str) -> Operation {
    Operation::DeleteDocument(DeleteDocument {
        path: note(path),
        expected_hash: None,
    })
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The attributes that are not visible in the bytes of a file.
#[cfg(target_os = "linux")]
fn attributes(path: &Path) -> (u32, u32, u32, Vec<(String, Vec<u8>)>) {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::metadata(path).unwrap();
    let mut list = vec![0; 4_096];
    let length = rustix::fs::listxattr(path, &mut list[..]).unwrap();
    let names = list[..length].split(|byte| *byte == 0);
    let mut all: Vec<(String, Vec<u8>)> = names
        .filter(|name| !name.is_empty())
        .map(|name| {
            let name = String::from_utf8(name.to_vec()).unwrap();
            let mut value = vec![0; 4_096];
            let length = rustix::fs::getxattr(path, &name, &mut value[..]).unwrap();
            (name, value[..length].to_vec())
        })
        .collect();
    all.sort();
    (metadata.mode(), metadata.uid(), metadata.gid(), all)
}

/// `user::rw-  user:1234:rw-  group::---  mask::rw-  other::---`: the mode shows the mask as the rights of the group.
#[cfg(target_os = "linux")]
fn acl() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (0x01, 6, u32::MAX),
        (0x02, 6, 1234),
        (0x04, 0, u32::MAX),
        (0x10, 6, u32::MAX),
        (0x20, 0, u32::MAX),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, who) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(who.to_le_bytes());
    }
    bytes
}

#[cfg(target_os = "linux")]
#[test]
fn owner_mode_acl_and_attributes_stay() {
    use rustix::fs::{XattrFlags, setxattr};
    let bench = Bench::new(&[("a.md", SAMPLE), ("b.md", SAMPLE)]);
    let path = bench.path("a.md");
    set_mode(&path, 0o600);
    let set = |name: &str, value: &[u8]| setxattr(&path, name, value, XattrFlags::empty());
    let has_acl = set("system.posix_acl_access", &acl()).is_ok();
    let has_own = set("user.colour", b"blue").is_ok();
    let has_owner = std::os::unix::fs::chown(&path, Some(1234), Some(1235)).is_ok();
    println!("acl {has_acl}, attribute {has_own}, owner {has_owner}");
    let before = attributes(&path);
    bench.write(insert("a.md", "Made", 0)).unwrap();
    assert_eq!(attributes(&path), before, "edited");
    bench.undo("a.md").unwrap();
    assert_eq!(attributes(&path), before, "undone");
    bench.write(rename("a.md", "deep/c.md")).unwrap();
    assert_eq!(attributes(&bench.path("deep/c.md")), before, "moved");
    // A file without any has none afterwards, whatever was edited before.
    let plain = attributes(&bench.path("b.md"));
    bench.write(insert("b.md", "Made", 0)).unwrap();
    assert_eq!(attributes(&bench.path("b.md")), plain);
}

/// New files in the private folder may inherit an access control list from it.
#[cfg(target_os = "linux")]
#[test]
fn no_rights_come_from_the_private_folder() {
    use rustix::fs::{XattrFlags, setxattr};
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    bench.write(insert("a.md", "First", 0)).unwrap();
    let temporary = bench.path(".sectile/tmp");
    let name = "system.posix_acl_default";
    if setxattr(&temporary, name, &acl(), XattrFlags::empty()).is_err() {
        println!("skipped: no access control lists here");
        return;
    }
    set_mode(&bench.path("a.md"), 0o640);
    let before = attributes(&bench.path("a.md"));
    bench.write(insert("a.md", "Second", 0)).unwrap();
    assert_eq!(attributes(&bench.path("a.md")), before);
}

#[test]
fn a_read_only_document_is_not_changed() {
    let bench = Bench::new(&[("a.md", SAMPLE), ("b.md", SAMPLE)]);
    bench.write(insert("a.md", "Made", 0)).unwrap();
    let text = bench.text("a.md");
    set_mode(&bench.path("a.md"), 0o444);
    let refused = Err(EditorError::ReadOnlyDocument);
    for operation in [
        insert("a.md", "More", 0),
        rename("a.md", "c.md"),
        delete("a.md"),
    ] {
        assert_eq!(bench.write(operation.clone()).map(|_| ()), refused);
        let tried = WriteRequest {
            dry_run: true,
            ..request(vec![operation])
        };
        let tried = bench.editor.write(&tried, CallHooks::none());
        assert_eq!(tried.map(|_| ()), refused);
    }
    assert_eq!(bench.undo("a.md").map(|_| ()), refused);
    let both = vec![insert("b.md", "More", 0), insert("a.md", "More", 0)];
    assert_eq!(write(&bench.editor, both).map(|_| ()), refused);
    assert_eq!(
        (bench.text("a.md"), bench.text("b.md")),
        (text, SAMPLE.to_owned())
    );
    set_mode(&bench.path("a.md"), 0o644);
    bench.undo("a.md").unwrap();
    assert_eq!(bench.text("a.md"), SAMPLE);
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

/// Documents can be read whatever is in the private folder, and nothing blocks on a pipe.
#[test]
fn what_is_not_a_regular_file_is_refused_and_nothing_blocks() {
    for (place, kind) in [
        (JOURNAL, "pipe"),
        (JOURNAL, "folder"),
        (JOURNAL, "link"),
        (JOURNAL, "large"),
        (".sectile/locks/journal", "pipe"),
    ] {
        let bench = Bench::new(&[("a.md", SAMPLE)]);
        bench.write(insert("a.md", "Made", 0)).unwrap();
        let text = bench.text("a.md");
        let path = bench.path(place);
        fs::remove_file(&path).unwrap();
        match kind {
            "pipe" => make_pipe(&path),
            "folder" => fs::create_dir(&path).unwrap(),
            "link" => std::os::unix::fs::symlink(bench.path("a.md"), &path).unwrap(),
            _ => {
                let file = fs::File::create(&path).unwrap();
                file.set_len(64 << 30).unwrap();
            }
        }
        let editor = bench.reopened();
        let view = editor.view(&note("a.md")).unwrap();
        assert_eq!(view.bytes(), text.as_bytes(), "{place} {kind}");
        let refused = write(&editor, vec![insert("a.md", "More", 0)]).unwrap_err();
        let is_named =
            matches!(&refused, EditorError::StrangePrivateFile { name, .. } if name == "journal");
        assert!(is_named, "{place} {kind}: {refused:?}");
        assert_eq!(bench.text("a.md"), text);
    }
}

#[test]
fn running_out_of_descriptors_is_said() {
    for number in [23, 24] {
        let error = std::io::Error::from_raw_os_error(number);
        assert_eq!(EditorError::from(error), EditorError::TooManyOpenFiles);
    }
    let read = EditorError::from(ReadError::TooManyOpenFiles);
    assert_eq!(read, EditorError::TooManyOpenFiles);
}

/// A released lock goes to the one that waits for it, but not to one that has given up.
#[test]
fn a_lock_is_handed_over() {
    let bench = Bench::new(&[("a.md", SAMPLE)]);
    let held = bench
        .editor
        .store
        .lock_documents(["a.md"], &|| false)
        .unwrap();
    let impatient = bench.reopened();
    assert!(
        impatient
            .store
            .try_lock_documents(["a.md"])
            .unwrap()
            .is_none()
    );
    let asked = std::cell::Cell::new(0);
    let given_up = impatient.store.lock_documents(["a.md"], &|| {
        asked.set(asked.get() + 1);
        asked.get() > 2
    });
    assert_eq!(given_up.map(|_| ()), Err(EditorError::Cancelled));
    std::thread::scope(|threads| {
        let patient = threads.spawn(|| {
            let editor = bench.reopened();
            editor.store.lock_documents(["a.md"], &|| false).map(|_| ())
        });
        drop(held);
        assert_eq!(patient.join().unwrap(), Ok(()));
    });
    drop(
        bench
            .editor
            .store
            .lock_documents(["a.md"], &|| false)
            .unwrap(),
    );
}

/// A batch reads what others recorded once, and is right about documents that they change afterwards all the same.
#[test]
fn documents_that_others_change_during_a_batch_are_seen_as_they_are() {
    let bench = Bench::new(&[("a.md", SAMPLE), ("b.md", SAMPLE), ("c.md", SAMPLE)]);
    let id = bench.id("b.md", "Beta");
    let other = bench.reopened();
    let batch = bench.editor.view_batch();
    let is_current = |path: &str| {
        let (seen, now) = (batch.view(&note(path)).unwrap(), other.view(&note(path)));
        let now = now.unwrap();
        assert_eq!(seen.bytes(), bench.text(path).as_bytes(), "{path}");
        assert_eq!((seen.ids(), seen.hash()), (now.ids(), now.hash()), "{path}");
    };
    is_current("a.md");
    // Another process edits a document and gives ids to one that was never seen; another program edits one.
    write(&other, vec![insert("b.md", "New", 0)]).unwrap();
    other.view(&note("c.md")).unwrap();
    fs::write(bench.path("a.md"), SAMPLE.replace("Alpha", "Other")).unwrap();
    for path in ["a.md", "b.md", "c.md"] {
        is_current(path);
    }
    assert!(batch.view(&note("b.md")).unwrap().ids().contains(&id));
    fs::remove_file(bench.path("c.md")).unwrap();
    let gone = batch.view(&note("c.md")).map(|_| ());
    assert_eq!(gone, Err(EditorError::DocumentNotFound));
}
