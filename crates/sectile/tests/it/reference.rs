//! The pages of the manual that the program makes are those that are kept in `docs/`.

use std::{fs, path::Path};

use crate::fixture::sectile;

fn check_page(page: &str) {
    let output = sectile().args(["reference", page]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let kept = fs::read_to_string(docs.join(format!("{page}.md"))).unwrap_or_default();
    // Not `assert_eq`: two whole pages would bury the one line that helps.
    assert!(
        printed == kept,
        "docs/{page}.md is not what `sectile reference {page}` prints: run cargo xtask reference"
    );
}

#[test]
fn the_tools_page_is_up_to_date() {
    check_page("tools");
}

#[test]
fn the_errors_page_is_up_to_date() {
    check_page("errors");
}

#[test]
fn the_configuration_page_is_up_to_date() {
    check_page("configuration");
}
