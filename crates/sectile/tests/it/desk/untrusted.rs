//! Folders that are not what they seem, and disks that cannot be written.

use serde_json::json;

use super::NOTES;
use crate::fixture::TestDocuments;

#[cfg(unix)]
#[test]
fn a_private_folder_that_is_a_link_is_not_followed() {
    let desk = TestDocuments::desk_in_folder(NOTES);
    let outside = desk.vault().outside();
    std::os::unix::fs::symlink(&outside, desk.location(".sectile")).unwrap();
    let before = std::fs::read_dir(&outside).unwrap().count();
    let mut client = desk.open();
    let call = json!({ "id": "index.md", "old": "See", "new": "Look at" });
    let text = client.error_text("edit", call);
    assert!(!text.contains(outside.to_str().unwrap()), "{text}");
    assert_eq!(desk.text("index.md"), NOTES[1].1);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), before);
}

/// Root may write to a folder without permission; then there is nothing to see.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = TestDocuments::desk_in_folder(NOTES);
    let root = desk.location("");
    let allow =
        |mode| std::fs::set_permissions(&root, std::fs::Permissions::from_mode(mode)).unwrap();
    allow(0o555);
    if std::fs::write(root.join("probe"), "").is_ok() {
        std::fs::remove_file(root.join("probe")).unwrap();
        allow(0o755);
        return;
    }
    let mut client = desk.open();
    let call = json!({ "id": "index.md", "old": "See", "new": "Look at" });
    client.assert_error("edit", call, "not_permitted");
    let call = json!({ "path": "new.md", "text": "x" });
    client.assert_error("create", call, "not_permitted");
    allow(0o755);
    assert_eq!(desk.text("index.md"), NOTES[1].1);
}

#[test]
fn a_root_that_disappears_is_reported_and_comes_back() {
    let desk = TestDocuments::desk_in_folder(NOTES);
    let mut client = desk.open();
    let call = json!({ "id": "index.md", "old": "See", "new": "Look at" });
    let root = desk.location("");
    let root = root.components().as_path();
    let away = desk.vault().outside().join("away");
    std::fs::rename(root, &away).unwrap();
    let text = client.error_text("edit", call.clone());
    let code = text.split(':').next().unwrap_or_default();
    assert!(["root_gone", "not_found", "io"].contains(&code), "{text}");
    std::fs::rename(&away, root).unwrap();
    client.ok("edit", call);
    assert!(desk.text("index.md").contains("Look at"));
}

/// A history that came with the folder is shown, but nothing of it is acted on.
#[test]
fn a_foreign_history_is_not_undone() {
    let desk = TestDocuments::desk_in_folder(NOTES);
    let mut client = desk.open();
    let change = client.ok(
        "edit",
        json!({ "id": "index.md", "old": "See", "new": "Look at" }),
    );
    client.leave();
    let mut command = desk.command("");
    let other = desk.vault().outside().join("state");
    command.env("XDG_STATE_HOME", other);
    let mut client =
        crate::fixture::Editor::connect(&desk, crate::fixture::Era::Handshake, command, &json!({}));
    let call = json!({ "change": change["change"] });
    client.assert_error("undo", call, "foreign_history");
    client.assert_error("undo", json!({}), "nothing_to_undo");
    assert!(desk.text("index.md").contains("Look at"));
}
