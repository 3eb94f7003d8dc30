//! Checks that type names are unique in a crate: a reader must know which type a name refers to.
//!
//! Definitions are found line by line. Test code and aliases may repeat a name.

use std::collections::BTreeMap;

use super::{Finding, TextFile, Tree};

/// Types with two definitions of which `cfg` compiles one, by package folder.
const TWINS: &[(&str, &str)] = &[("crates/sectile", "Servers"), ("crates/sectile", "Signals")];

pub(super) fn unique_types(tree: &Tree) -> Vec<Finding> {
    let mut first: BTreeMap<(&str, &str), (&TextFile, usize)> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in tree.rust_files().filter(|file| !file.is_test()) {
        // The targets of `fuzz` are crates of their own.
        let Some((package, _)) = file.path.split_once("/src/") else {
            continue;
        };
        for (line, name) in
            product_lines(file).filter_map(|(line, text)| Some((line, defined_type(text)?)))
        {
            let (before, at) = *first.entry((package, name)).or_insert((file, line));
            let is_first = (&before.path, at) == (&file.path, line);
            if !is_first && !TWINS.contains(&(package, name)) {
                let message = format!(
                    "a second `{name}` in the crate; the first is at {}:{at}",
                    before.path
                );
                findings.push(Finding::new(file, line, message));
            }
        }
    }
    findings
}

/// Returns the lines before the test module, which clippy keeps at the end of a file.
fn product_lines(file: &TextFile) -> impl Iterator<Item = (usize, &str)> {
    let mut is_for_tests = false;
    file.numbered_lines().take_while(move |(_, line)| {
        let line = line.trim();
        let is_module = line.ends_with('{') && line.split(' ').any(|word| word == "mod");
        let ends = is_for_tests && is_module;
        is_for_tests = line == "#[cfg(test)]" || (is_for_tests && line.starts_with("#["));
        !ends
    })
}

/// Returns the name of the type that `line` defines.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line
        .split_whitespace()
        .skip_while(|word| word.starts_with("pub") || word.ends_with(')'));
    if !["enum", "struct", "trait", "union"].contains(&words.next()?) {
        return None;
    }
    let name = words
        .next()?
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .next()?;
    name.starts_with(char::is_uppercase).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn a_second_type_of_a_name_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "//! A.\npub struct Place;\n"),
            (
                "crates/a/src/b.rs",
                "pub(in crate::b) enum Place<T> {\n    Here(T),\n}\n",
            ),
            ("crates/b/src/lib.rs", "trait Place {}\n"),
        ];
        assert_eq!(
            found(unique_types, &files),
            [
                "crates/a/src/b.rs:1: a second `Place` in the crate; the first is at crates/a/src/lib.rs:2"
            ]
        );
    }

    #[test]
    fn every_way_to_define_a_type_is_seen() {
        for (line, name) in [
            ("struct One;", Some("One")),
            ("    pub(super) struct Two(u8);", Some("Two")),
            ("pub(in crate::a) enum Three {", Some("Three")),
            ("pub trait Four: Send {", Some("Four")),
            ("union Five<'a> {", Some("Five")),
            ("/// A struct Six.", None),
            ("type Seven = u8;", None),
            ("struct $name {", None),
            ("use Eight as struct_of;", None),
        ] {
            assert_eq!(defined_type(line), name, "{line}");
        }
    }

    #[test]
    fn tests_and_twins_may_repeat_a_name() {
        let inline = "struct A;\n#[cfg(test)]\n#[expect(unused)]\nmod tests {\n    struct A;\n}\n";
        let files = [
            ("crates/a/src/lib.rs", inline),
            ("crates/a/src/b/tests.rs", "struct A;\n"),
            ("crates/a/src/testing.rs", "struct A;\n"),
            ("crates/a/tests/it/main.rs", "struct A;\n"),
            (
                "crates/sectile/src/a.rs",
                "struct Signals {}\nstruct Signals;\n",
            ),
            ("fuzz/fuzz_targets/a.rs", "struct B;\n"),
            ("fuzz/fuzz_targets/b.rs", "struct B;\n"),
        ];
        assert_eq!(found(unique_types, &files), Vec::<String>::new());
        let after = "#[cfg(test)]\nmod tests;\nstruct A;\nstruct A;\n";
        assert_eq!(
            found(unique_types, &[("crates/a/src/lib.rs", after)]).len(),
            1
        );
    }
}
