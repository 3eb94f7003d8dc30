//! What is on disk is verified, and nothing else.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::fs;

use proptest::prelude::*;
use sectile_vault::editor::{
    CallHooks, DeleteDocument, EditText, Operation, RenameDocument, Scope, WriteRequest,
};

use super::*;
use crate::editable_folder::tests::opened;

const PLAN: &str = "---\ntitle: Plan\n---\n# Plan\n\nSee [[feed|the feed plan]] first.\n\n## Budget\n\nThe pilot costs **350** a day,\n\
                    food included. Hay is \u{201c}extra\u{201d} \u{2014} always.\n\n| what | price |\n|---|---|\n| hay for the winter | 4,000 |\n\n\
                    ## Crew\n\nTwo people can't sail it alone.\n\n```\nlet crew = 3 + two;\n```\n";
const FEED: &str = "# Feed\r\n\r\nLe caf\u{e9} est pr\u{ea}t \u{e0} midi.\r\nIl est froid.\r\n\r\n预算已经定为四千欧元，\r\n不含冬天的干草。\r\n";

struct Bench {
    on_disk: tempfile::TempDir,
    folder: EditableFolder,
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

impl Bench {
    fn new(files: &[(&str, &str)], hide: &[&str]) -> Self {
        let on_disk = tempfile::tempdir().unwrap();
        for (at, text) in files {
            let file = on_disk.path().join(at);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let folder = opened(on_disk.path(), hide);
        Self { on_disk, folder }
    }

    fn check_with(&self, draft: &str, own: Option<&str>) -> QuoteReport {
        let resolve = |citation: &Citation| match self.folder.find(&citation.target, &|| false) {
            Ok(target) => CitedTarget::Found(0, target),
            Err(_) if citation.form == CitationForm::Attribution => CitedTarget::Other,
            Err(_) => CitedTarget::Missing,
        };
        let check = QuoteCheck {
            folders: vec![&self.folder],
            resolve: &resolve,
            draft: own.map(|own| (0, path(own))),
            limits: QuoteCheckLimits::default(),
            stop: &|| false,
        };
        check.check(draft).unwrap()
    }

    /// The results for a draft, in one line each, with everything that is claimed compared with the disk.
    fn told(&self, draft: &str) -> Vec<String> {
        let report = self.check_with(draft, None);
        let told = report.passages.iter().map(|passage| {
            let mut told = passage.verdict.word().to_owned();
            if let QuoteVerdict::Verified(places) | QuoteVerdict::Moved(places) = &passage.verdict {
                assert!(!places.places.is_empty());
                for place in &places.places {
                    self.prove(place);
                    let words: Vec<&str> = place.differences.iter().map(|one| one.word()).collect();
                    let heading = place.location.headings.last().map_or("", String::as_str);
                    told += &format!(" {}#{heading} {}", place.location.path, words.join(" "));
                }
            }
            if let QuoteVerdict::Changed { nearest, removed } = &passage.verdict {
                for change in nearest.iter().flat_map(|near| &near.diff) {
                    match change {
                        WordChange::Old(text) => told += &format!(" -{text}"),
                        WordChange::New(text) => told += &format!(" +{text}"),
                        WordChange::Same(_) => {}
                    }
                }
                if let Some(removed) = removed {
                    told += &format!(" removed from {} by {}", removed.path, removed.entry.number);
                }
            }
            told.trim_end().to_owned()
        });
        told.collect()
    }

    /// The bytes of a place are on disk, and have the digest.
    fn prove(&self, place: &PassagePlace) {
        let bytes = fs::read(self.on_disk.path().join(place.location.path.as_str())).unwrap();
        for part in &place.parts {
            assert_eq!(part.span.slice(&bytes), part.text.as_bytes());
            assert_eq!(part.digest, Digest::of(part.text.as_bytes()));
        }
    }

    fn edit(&self, at: &str, old: &str, new: &str) {
        self.write(Operation::EditText(EditText {
            path: Some(path(at)),
            section: None,
            old_text: old.to_owned(),
            new_text: new.to_owned(),
            expected_count: 1,
            expected_hash: None,
            scope: Scope::Subtree,
        }));
    }

    fn write(&self, operation: Operation) {
        let request = WriteRequest::new(vec![operation], "test", "tester");
        self.folder.write(&request, CallHooks::none()).unwrap();
    }

    fn overwrite(&self, at: &str, text: &str) {
        fs::write(self.on_disk.path().join(at), text).unwrap();
    }
}

fn bench() -> Bench {
    Bench::new(&[("projects/plan.md", PLAN), ("feed.md", FEED)], &[])
}

#[test]
fn what_is_on_disk_is_verified_and_what_differs_is_named() {
    let bench = bench();
    let budget = "verified projects/plan.md#Budget";
    for (draft, told) in [
        (
            "> The pilot costs **350** a day,\n> food included.",
            budget.to_owned(),
        ),
        (
            "\"The pilot costs 350 a day, food included\"",
            format!("{budget} white_space markup"),
        ),
        (
            "\"The pilot costs **350** a day, food included.\"",
            format!("{budget} white_space"),
        ),
        (
            "> Hay is \"extra\" - always.",
            format!("{budget} typography"),
        ),
        ("\"hay for the winter\"", budget.to_owned()),
        (
            "\"See the feed plan first.\"",
            "verified projects/plan.md#Plan markup".to_owned(),
        ),
        (
            "> Le cafe\u{301} est prêt",
            "verified feed.md#Feed normal_form".to_owned(),
        ),
        (
            "> prêt à midi.\n> Il est froid.",
            "verified feed.md#Feed white_space".to_owned(),
        ),
        (
            "> 预算已经定为四千欧元，不含冬天的干草。",
            "verified feed.md#Feed white_space".to_owned(),
        ),
        (
            "> let crew = 3 + two;",
            "verified projects/plan.md#Crew".to_owned(),
        ),
        (
            "> ## Crew\n>\n> Two people",
            "verified projects/plan.md#Crew".to_owned(),
        ),
        (
            "The paper said \"food included.\" and \"Two people can't sail it alone,\" too.",
            "verified projects/plan.md#Crew end_punctuation".to_owned(),
        ),
        (
            "> The pilot costs … food […] always.",
            format!("{budget} ellipsis"),
        ),
        ("> always.\n>\n> | what | price |", budget.to_owned()),
        (
            "> | hay for the winter | 4,000 |\n>\n> ## Crew\n>\n> Two people",
            budget.to_owned(),
        ),
    ] {
        let mut expected: Vec<&str> = told.split(' ').collect();
        let all = bench.told(draft);
        assert_eq!(all.len(), 1, "{draft}: {all:?}");
        let mut found: Vec<&str> = all[0].split(' ').collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{draft}: {all:?}");
    }
}

#[test]
fn one_changed_digit_is_a_change() {
    let bench = bench();
    for (draft, told) in [
        ("\"The pilot costs 360 a day\"", "changed -360 +350"),
        ("\"The pilot costs 35\"", "changed -35 +350"),
        ("\"hay for the winter | 4\"", "changed -4 +4,000"),
        ("> Two people can sail it alone.", "changed -can +can't"),
        ("> food … The pilot costs", "changed"),
        ("\"something that nobody ever wrote\"", "nowhere"),
        (
            "> 预算已经定为五千欧元，不含冬天的干草。",
            "changed -五 +四",
        ),
        ("\"the pilot costs 350 a day\"", "changed -the +The"),
    ] {
        let all = bench.told(draft);
        assert!(all[0].starts_with(told), "{draft}: {all:?}");
    }
}

#[test]
fn a_citation_says_where_it_must_be() {
    let bench = bench();
    let view = bench.folder.editor.view(&path("projects/plan.md")).unwrap();
    let ids = view.ids().to_vec();
    for (draft, told) in [
        ("\"The pilot costs 350\" ([[Plan#Budget]])", "verified"),
        ("\"The pilot costs 350\" ([[Plan]])", "verified"),
        (
            "\"The pilot costs 350\" ([[Plan#Crew]])",
            "moved projects/plan.md#Budget",
        ),
        (
            "\"The pilot costs 350\" ([[feed]])",
            "moved projects/plan.md#Budget",
        ),
        (
            "\"The pilot costs 350\" (old.md)",
            "moved projects/plan.md#Budget",
        ),
        (
            "> The pilot costs 350\n> \u{2014} feed",
            "moved projects/plan.md#Budget",
        ),
        (
            "> The pilot costs 350\n> \u{2014} old.md",
            "moved projects/plan.md#Budget",
        ),
        (
            "> The pilot costs 350\n> \u{2014} projects/plan.md#Crew",
            "moved projects/plan.md#Budget",
        ),
        (
            "> The pilot costs 350\n> \u{2014} Ann Author",
            "verified projects/plan.md#Budget",
        ),
    ] {
        let all = bench.told(draft);
        assert!(all[0].starts_with(told), "{draft}: {all:?}");
    }
    // The id of a section lasts.
    bench.write(Operation::RenameDocument(RenameDocument {
        path: path("projects/plan.md"),
        new_path: path("archive/old.md"),
        repair_links: true,
    }));
    let draft = format!("\"The pilot costs 350\" (projects/plan.md#{})", ids[1]);
    assert!(bench.told(&draft)[0].starts_with("verified archive/old.md#Budget"));
}

#[test]
fn the_history_says_which_change_removed_it() {
    let bench = bench();
    bench.edit("projects/plan.md", "a day", "per day");
    bench.edit("projects/plan.md", "**350** per day", "**400** per day");
    let told = bench.told("\"The pilot costs 350 a day\"");
    assert_eq!(
        told,
        ["changed -350 a +400 per removed from projects/plan.md by 1"]
    );
    let hash = *bench.folder.editor.view(&path("feed.md")).unwrap().hash();
    bench.write(Operation::DeleteDocument(DeleteDocument {
        path: path("feed.md"),
        expected_hash: Some(hash.to_string()),
    }));
    assert_eq!(
        bench.told("\"Il est froid.\" x"),
        ["changed removed from feed.md by 3"]
    );
    assert_eq!(bench.told("\"Il est chaud aussi\""), ["nowhere"]);
}

#[test]
fn hidden_notes_do_not_exist() {
    let secret = "# Secret\n\nThe safe opens with nine turns left.\n";
    let files = [
        ("a.md", "# A\n\nNothing to see here at all.\n"),
        ("private/s.md", secret),
    ];
    let open = Bench::new(&files, &[]);
    open.edit("private/s.md", "nine", "ten");
    let draft =
        "\"The safe opens with nine turns left\" and \"The safe opens with ten turns left\"";
    let told = open.told(draft);
    assert!(
        told[0].starts_with("changed") && told[1].starts_with("verified"),
        "{told:?}"
    );
    let hidden = Bench::new(&files, &["private/"]);
    assert_eq!(hidden.told(draft), ["nowhere", "nowhere"]);
    // Neither does their history.
    let folder = opened(open.on_disk.path(), &["private/"]);
    let on_disk = tempfile::tempdir().unwrap();
    let hidden = Bench { on_disk, folder };
    assert_eq!(hidden.told(draft), ["nowhere", "nowhere"]);
    assert_eq!(
        hidden.told("\"The safe opens with ten turns left\" (private/s.md)"),
        ["nowhere"]
    );
}

#[test]
fn the_draft_itself_is_not_a_place() {
    let draft = "# Draft\n\n> A sentence that only the draft has.\n";
    let bench = Bench::new(&[("draft.md", draft), ("a.md", "# A\n\ntext\n")], &[]);
    assert_eq!(
        bench.check_with(draft, None).passages[0].verdict.word(),
        "verified"
    );
    assert_eq!(
        bench.check_with(draft, Some("draft.md")).passages[0]
            .verdict
            .word(),
        "nowhere"
    );
}

#[test]
fn text_in_many_notes_has_several_places() {
    let texts: Vec<String> = (0..9)
        .map(|at| format!("# N{at}\n\nThe same words in all.\n"))
        .collect();
    let names: Vec<String> = (0..9).map(|at| format!("n{at}.md")).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .zip(&texts)
        .map(|(n, t)| (n.as_str(), t.as_str()))
        .collect();
    let bench = Bench::new(&files, &[]);
    let report = bench.check_with("\"The same words in all\"", None);
    let QuoteVerdict::Verified(places) = &report.passages[0].verdict else {
        panic!("{report:?}");
    };
    let paths: Vec<&str> = places
        .places
        .iter()
        .map(|place| place.location.path.as_str())
        .collect();
    assert_eq!(paths, ["n0.md", "n1.md", "n2.md", "n3.md", "n4.md"]);
    assert!(places.has_more);
}

#[test]
fn what_was_not_looked_at_is_said() {
    let bench = bench();
    let resolve = |_: &Citation| CitedTarget::Other;
    let check = QuoteCheck {
        folders: vec![&bench.folder],
        resolve: &resolve,
        draft: None,
        limits: QuoteCheckLimits {
            candidates: 0,
            scanned_bytes: 0,
            ..QuoteCheckLimits::default()
        },
        stop: &|| false,
    };
    let report = check.check("\"The pilot costs 350 a day\"").unwrap();
    assert_eq!(report.left_out.notes, 2);
    let stopped = QuoteCheck {
        stop: &|| true,
        ..check
    };
    assert!(matches!(
        stopped.check("\"one two three\""),
        Err(LibraryError::Cancelled)
    ));
}

/// Notes of words that markup is put around.
fn note() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[a-z]{2,7}",
        1 => "[0-9]{1,4}",
        1 => Just("naïve".to_owned()),
        1 => Just("**bold words**".to_owned()),
        1 => Just("[[feed|that]]".to_owned()),
        1 => Just("\u{201c}so\u{201d}".to_owned()),
    ];
    let paragraph = proptest::collection::vec((word, prop_oneof![Just(" "), Just("\n")]), 4..20);
    let paragraph = paragraph.prop_map(|words| {
        let words = words
            .into_iter()
            .flat_map(|(word, gap)| [word, gap.to_owned()]);
        words.collect::<String>().trim().to_owned()
    });
    proptest::collection::vec(paragraph, 1..5)
        .prop_map(|paragraphs| format!("# N\n\n{}\n", paragraphs.join("\n\n")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_passage_verifies_until_a_letter_or_digit_changes(
        texts in proptest::collection::vec(note(), 1..4),
        picks in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 3..9_usize, any::<prop::sample::Index>()), 1..6),
    ) {
        let names: Vec<String> = (0..texts.len()).map(|at| format!("n{at}.md")).collect();
        let files: Vec<(&str, &str)> = names.iter().zip(&texts).map(|(n, t)| (n.as_str(), t.as_str())).collect();
        let bench = Bench::new(&files, &[]);
        for (which, start, length, changed) in picks {
            let text = which.get(&texts);
            let note = ComparableText::as_read(&Source::new(text.as_bytes()), TextFolding::NONE);
            let words: Vec<&str> = note.text().split_whitespace().skip(1).collect();
            let start = start.index(words.len());
            let passage = words[start..words.len().min(start + length)].join(" ");
            let draft = format!("> {passage}\n");
            let told = bench.told(&draft);
            prop_assert!(told[0].starts_with("verified"), "{draft}: {told:?} {text}");
            let letters: Vec<(usize, char)> = passage.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric()).collect();
            let (at, c) = *changed.get(&letters);
            let other = if c.is_ascii_digit() { if c == '9' { '0' } else { char::from(c as u8 + 1) } } else if c == 'Q' { 'X' } else { 'Q' };
            let mut wrong = passage.clone();
            wrong.replace_range(at..at + 1, &other.to_string());
            // The other words may be elsewhere by chance.
            let is_elsewhere = texts.iter().any(|text| {
                let note = ComparableText::as_read(&Source::new(text.as_bytes()), TextFolding::ALL);
                let wanted = ComparableText::of_text(&wrong, TextFolding::ALL);
                note.text().contains(wanted.text())
            });
            let told = bench.told(&format!("> {wrong}\n"));
            prop_assert!(is_elsewhere || told[0].starts_with("changed") || told[0].starts_with("nowhere"), "{wrong}: {told:?}");
        }
    }

    #[test]
    fn edits_between_index_and_check_are_never_overlooked(
        steps in proptest::collection::vec((0..4_u8, 0..3_usize, 0..100_u32), 1..10),
    ) {
        let bench = Bench::new(&[("n0.md", "# N\n\nstart\n"), ("n1.md", "# N\n\nstart\n"), ("n2.md", "# N\n\nstart\n")], &[]);
        bench.folder.index.complete(&|| false).unwrap();
        let mut all = vec!["There were 0 ships in the harbour".to_owned()];
        for (kind, which, number) in steps {
            let at = format!("n{which}.md");
            let line = format!("There were {number} ships in the harbour");
            let now = fs::read_to_string(bench.on_disk.path().join(&at)).unwrap();
            let body = now.trim_start_matches("# N\n\n").trim_end().to_owned();
            match kind {
                0 => bench.overwrite(&at, &format!("# N\n\n{line}\n")),
                // Of the same length, as a careless cache would not see.
                1 => bench.overwrite(&at, &now.replace("ships", "boats")),
                _ => bench.edit(&at, &body, &line),
            }
            all.push(line);
            let draft: String = all.iter().map(|line| format!("> {line}\n\nand\n\n")).collect();
            let told = bench.told(&draft);
            let texts: Vec<String> = (0..3).map(|at| fs::read_to_string(bench.on_disk.path().join(format!("n{at}.md"))).unwrap()).collect();
            for (line, told) in all.iter().zip(told) {
                let is_there = texts.iter().any(|text| text.contains(line.as_str()));
                prop_assert_eq!(told.starts_with("verified"), is_there, "{}: {}", line, told);
            }
        }
    }
}
