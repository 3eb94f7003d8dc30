//! Checks the pages of `docs/contracts`: every requirement of a contract, where it is met, and the test that shows it.
//!
//! A page is worth only as much as its last column, so every test named there must have passed in the last recorded test
//! run. The record is nextest's JUnit file, which the gate's test step writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::ci;
use crate::process::Repo;

/// One page for each world that has a contract, and one for the console.
const PAGES: [&str; 7] = [
    "console", "desk", "docs", "editor", "hosted", "notebook", "vault",
];

const HEADER: [&str; 3] = ["requirement", "where", "shown by"];

/// The profile whose JUnit file is read; `.config/nextest.toml` defines it.
pub(crate) const PROFILE: &str = "ci";

/// The tests of a run by suite and name, and whether each passed.
type TestRecord = BTreeMap<(String, String), bool>;

/// Checks all pages against the last test run, and returns the number of requirements.
pub(crate) fn run(repo: &Repo) -> Result<Option<String>> {
    let record = record(repo)?;
    let mut findings = Vec::new();
    let mut counts = Vec::new();
    for page in PAGES {
        let path = format!("docs/contracts/{page}.md");
        let text = fs::read_to_string(repo.root.join(&path))
            .with_context(|| format!("every contract has a page, and {path} cannot be read"))?;
        let requirements = check(&text, &record, &mut |line, what| {
            findings.push(format!("{path}:{line}: {what}"));
        });
        counts.push(format!("{page} {requirements}"));
    }
    if findings.is_empty() {
        return Ok(Some(counts.join(", ")));
    }
    for finding in &findings {
        println!("{finding}");
    }
    bail!("{} findings in docs/contracts", findings.len())
}

fn junit(repo: &Repo) -> PathBuf {
    repo.target.join("nextest").join(PROFILE).join("junit.xml")
}

/// Removes the record of an earlier run, so that it is not mistaken for the current one.
pub(crate) fn forget(repo: &Repo) -> Result<()> {
    match fs::remove_file(junit(repo)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context("cannot remove the record of the last test run")
        }
        _ => Ok(()),
    }
}

fn record(repo: &Repo) -> Result<TestRecord> {
    let text = fs::read_to_string(junit(repo)).context(
        "there is no record of a test run; `cargo xtask ci --only test` with cargo-nextest writes one",
    )?;
    parse_junit(&text)
}

fn parse_junit(text: &str) -> Result<TestRecord> {
    let mut record = TestRecord::new();
    let mut reader = Reader::from_str(text);
    let mut current = None;
    loop {
        match reader.read_event()? {
            Event::Empty(tag) if tag.name().as_ref() == b"testcase" => {
                record.insert(test_of(&tag)?, true);
            }
            Event::Start(tag) if tag.name().as_ref() == b"testcase" => {
                current = Some(test_of(&tag)?);
                record.extend(current.clone().map(|test| (test, true)));
            }
            Event::Start(tag) | Event::Empty(tag)
                if matches!(tag.name().as_ref(), b"failure" | b"error" | b"skipped") =>
            {
                record.extend(current.clone().map(|test| (test, false)));
            }
            Event::End(tag) if tag.name().as_ref() == b"testcase" => current = None,
            Event::Eof => return Ok(record),
            _ => {}
        }
    }
}

fn test_of(tag: &BytesStart<'_>) -> Result<(String, String)> {
    let attribute = |name: &str| -> Result<String> {
        let found = tag.try_get_attribute(name)?;
        let found = found.with_context(|| format!("a test case without {name}"))?;
        Ok(String::from_utf8(found.value.into_owned())?)
    };
    Ok((attribute("classname")?, attribute("name")?))
}

/// Reports what is wrong with a page, and counts its requirements.
fn check(text: &str, record: &TestRecord, report: &mut impl FnMut(usize, String)) -> usize {
    let mut requirements = 0;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let Some(cells) = cells(line) else { continue };
        if cells.iter().all(|cell| cell.chars().all(|c| c == '-')) || cells == HEADER {
            continue;
        }
        let [requirement, place, shown] = cells.as_slice() else {
            report(line_number, "a row has three cells".to_owned());
            continue;
        };
        requirements += 1;
        if requirement.is_empty() || place.is_empty() {
            report(
                line_number,
                "a row says what is required and where it is met".to_owned(),
            );
        }
        let mut named = 0;
        for code in code_spans(shown) {
            if let Some(chore) = code.strip_prefix("cargo xtask ") {
                if ci::is_step(chore.split(' ').next().unwrap_or_default()) {
                    named += 1;
                } else {
                    report(line_number, format!("`{code}` is not a step of the gate"));
                }
                continue;
            }
            let Some(test) = test_named(code) else {
                continue;
            };
            named += 1;
            match record.get(&test) {
                Some(true) => {}
                Some(false) => report(line_number, format!("`{code}` did not pass")),
                None => report(
                    line_number,
                    format!("`{code}` is not among the tests that ran"),
                ),
            }
        }
        if named == 0 && !shown.starts_with("decided:") {
            report(
                line_number,
                "a row names a test, a step of the gate, or what was decided instead".to_owned(),
            );
        }
    }
    if requirements == 0 {
        report(1, "a page without requirements".to_owned());
    }
    requirements
}

/// Returns the cells of a table row; `\|` is a bar inside a cell.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in inner.chars() {
        match (escaped, c, cells.last_mut()) {
            (false, '|', _) => cells.push(String::new()),
            (_, _, Some(cell)) => cell.push(c),
            (_, _, None) => {}
        }
        escaped = c == '\\' && !escaped;
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

fn code_spans(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns nextest's suite and name of a test that a page names, or `None` for other code.
fn test_named(code: &str) -> Option<(String, String)> {
    let (place, name) = code.split_once("::")?;
    let suite = match place {
        "it" => "sectile::it".to_owned(),
        "sectile" => "sectile".to_owned(),
        "xtask" => "xtask::bin/xtask".to_owned(),
        "bench" => "sectile-bench::bin/sectile-bench".to_owned(),
        _ => match place.strip_suffix("-it") {
            Some(of_crate) => format!("sectile-{of_crate}::it"),
            None => format!("sectile-{place}"),
        },
    };
    Some((suite, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUNIT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1">
    <testsuite name="sectile::it" tests="2">
        <testcase name="vault::unit::reads" classname="sectile::it" time="0.5"/>
        <testcase name="vault::unit::fails" classname="sectile::it" time="0.5">
            <failure message="no" type="test failure">x</failure>
        </testcase>
    </testsuite>
    <testsuite name="sectile-vault" tests="1">
        <testcase name="walk::tests::sorted" classname="sectile-vault" time="0.5"></testcase>
    </testsuite>
</testsuites>"#;

    fn findings(rows: &str) -> Vec<String> {
        let page =
            format!("# A page\n\n| requirement | where | shown by |\n|---|---|---|\n{rows}\n");
        let mut findings = Vec::new();
        check(&page, &parse_junit(JUNIT).unwrap(), &mut |_, what| {
            findings.push(what);
        });
        findings
    }

    #[test]
    fn a_requirement_is_shown_by_tests_that_passed_a_step_or_a_decision() {
        let rows = "| a | `b` | `it::vault::unit::reads`, `vault::walk::tests::sorted` |\n\
                    | c \\| d | e | gate: `cargo xtask licences` |\n\
                    | f | g | decided: otherwise |";
        assert_eq!(findings(rows), Vec::<String>::new());
    }

    #[test]
    fn a_test_that_is_missing_or_failed_is_found() {
        let rows = "| a | b | `it::vault::unit::fails` |\n| a | b | decided: so; `it::vault::unit::gone` |";
        assert_eq!(
            findings(rows),
            [
                "`it::vault::unit::fails` did not pass",
                "`it::vault::unit::gone` is not among the tests that ran"
            ]
        );
    }

    #[test]
    fn a_row_that_shows_nothing_is_found() {
        for (row, what) in [
            ("| a | b | by eye |", "a row names a test"),
            ("| a | b |", "three cells"),
            ("| | b | `it::vault::unit::reads` |", "what is required"),
            ("| a | b | gate: `cargo xtask nothing` |", "not a step"),
            ("", "without requirements"),
        ] {
            let found = findings(row);
            assert!(
                found.iter().any(|finding| finding.contains(what)),
                "{row}: {found:?}"
            );
        }
    }
}
