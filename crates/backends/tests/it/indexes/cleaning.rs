//! What is removed from a bucket, and what never is.

use std::time::Duration;

use sectile_library::mirror::{IndexMirror as _, IndexPublishing as _, Publication};
use sectile_test_servers::RequestFault;

use super::{Home, LATER, NEVER};

#[test]
fn what_no_state_needs_is_removed_after_the_period_of_grace() {
    let home = Home::small();
    let machine = home.machine();
    home.build(&machine).unwrap();
    let report = machine.indexes.clean("lab", NEVER).unwrap();
    assert_eq!((report.removed, report.recent), (0, 0));
    assert_eq!(report.needed + 1, home.keys().len());
    let first = home.keys();
    // A build that was given up, after it had uploaded something.
    home.notes
        .write("lab", "c.md", b"# Plums\n\nPlums are blue.\n");
    let abandoned = home.hasty();
    let mut build = abandoned.indexes.begin("lab", NEVER).unwrap();
    home.update(build.folder(), "lab").unwrap();
    home.s3.fail(1, usize::MAX, RequestFault::Drop);
    build.publish(NEVER).unwrap_err();
    home.s3.heal();
    drop(build);
    assert_eq!(home.keys().len(), first.len() + 1);
    let report = machine.indexes.clean("lab", NEVER).unwrap();
    assert_eq!((report.removed, report.recent), (0, 1));
    // Time passes for the storage, whatever the clocks here say. Pages may be as short as the storage likes.
    home.s3.advance_clock(LATER);
    home.s3.limit_pages(1);
    let report = machine.indexes.clean("lab", NEVER).unwrap();
    assert_eq!((report.removed, report.recent), (1, 0));
    assert_eq!(home.keys(), first);
    // Old pieces that the state needs stay, however old.
    assert_eq!(home.build(&machine), Ok(Publication::Published));
    assert_eq!(home.found(&home.machine()).unwrap(), home.expected());
}

/// A piece that is removed and one with the same bytes that is uploaded again are different objects, so that a cleaning
/// that began before the upload cannot remove what a later state names.
#[test]
fn a_piece_that_comes_back_is_another_object() {
    let home = Home::small();
    let machine = home.machine();
    home.build(&machine).unwrap();
    let pieces = |home: &Home| -> Vec<String> {
        let keys = home.keys().into_iter();
        keys.filter(|key| !key.ends_with("manifest")).collect()
    };
    let before = pieces(&home);
    home.s3.delete(super::BUCKET, &home.state_key());
    // The same index again, by a build that knows of no state.
    assert_eq!(home.build(&home.machine()), Ok(Publication::Published));
    let after = pieces(&home);
    assert_eq!(after.len(), before.len() * 2);
    let digests = |keys: &[String]| -> std::collections::BTreeSet<String> {
        let keys = keys.iter();
        keys.map(|key| key.split_once('/').unwrap().1[..64].to_owned())
            .collect()
    };
    assert_eq!(digests(&before), digests(&after));
    home.s3.advance_clock(LATER);
    machine.indexes.clean("lab", NEVER).unwrap();
    let left = pieces(&home);
    assert!(left.iter().all(|key| !before.contains(key)));
    assert_eq!(home.found(&home.machine()).unwrap(), home.expected());
}

#[test]
fn a_build_that_takes_longer_than_pieces_are_kept_is_not_published() {
    let home = Home::small();
    let machine = home.machine_with(|settings| settings.grace = Duration::ZERO);
    let refused = home.build(&machine).unwrap_err();
    assert!(refused.to_string().contains("took too long"), "{refused}");
    assert!(home.keys().iter().all(|key| !key.ends_with("manifest")));
}

#[test]
fn a_removed_index_is_gone_and_does_not_come_back_by_halves() {
    let home = Home::small();
    let (machine, other) = (home.machine(), home.machine());
    assert_eq!(machine.indexes.remove("lab", NEVER), Ok(false));
    assert_eq!(home.keys().len(), 0);
    home.build(&machine).unwrap();
    home.build_of(&machine, "lab").unwrap();
    other.indexes.fetch("lab", NEVER).unwrap();
    // A build that began before the removal, and has uploaded its pieces.
    home.notes
        .write("lab", "c.md", b"# Plums\n\nPlums are blue.\n");
    let mut build = other.indexes.begin("lab", NEVER).unwrap();
    home.update(build.folder(), "lab").unwrap();
    assert_eq!(machine.indexes.remove("lab", NEVER), Ok(true));
    assert_eq!(home.keys().len(), 1, "{:?}", home.keys());
    let left = home.s3.object(super::BUCKET, &home.state_key()).unwrap();
    assert!(!String::from_utf8_lossy(&left).contains("lab"));
    assert_eq!(machine.indexes.published(NEVER).unwrap(), []);
    assert_eq!(machine.indexes.remove("lab", NEVER), Ok(false));
    assert_eq!(build.publish(NEVER), Ok(Publication::Superseded));
    drop(build);
    // Copies are removed where they are, and elsewhere when they are next compared.
    assert!(!machine.indexes.folder("lab").join("manifest").exists());
    assert!(other.indexes.folder("lab").join("manifest").exists());
    other.indexes.fetch("lab", NEVER).unwrap();
    assert!(!other.indexes.folder("lab").join("manifest").exists());
    assert_eq!(home.build(&other), Ok(Publication::Published));
    assert_eq!(home.found(&machine).unwrap(), home.expected());
}
