//! Ids lead where people mean, or are refused; and what is written is found at once.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::fs;

use proptest::prelude::*;
use sectile_vault::{
    JournalKey, PathRules,
    editor::{
        CreateDocument, DeleteDocument, DeleteSection, MoveSection, Operation, Placement,
        RenameDocument, RenameSection, SectionRef, View,
    },
};

use super::{given_id::GivenId, *};
use crate::{
    clock,
    folder::MAX_NOTE_BYTES,
    live_folder::{FolderQuery, SecondTierUse},
};

/// Opens a folder without what `hide` covers, and without a cache.
pub(crate) fn opened(location: &Path, hide: &[&str]) -> EditableFolder {
    let key = JournalKey::new(&[7; JournalKey::BYTES]);
    let hide = hide.iter().map(|pattern| (*pattern).to_owned());
    let editor = EditorOptions {
        hide: PathRules::new(hide.collect()).unwrap(),
        ..EditorOptions::new(key, clock::now)
    };
    let index = LiveFolderOptions {
        location: location.to_owned(),
        walk: Walk::default(),
        cut: crate::manual_page::NoteCut::Notes,
        max_note_bytes: MAX_NOTE_BYTES,
        cache: None,
        shared_vectors: None,
        clock: clock::now,
        second_tier: SecondTierUse::Read,
    };
    EditableFolder::open(location, editor, index).unwrap()
}

struct Bench {
    on_disk: tempfile::TempDir,
    folder: EditableFolder,
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_rules(files, &[])
    }

    fn with_rules(files: &[(&str, &str)], hide: &[&str]) -> Self {
        let on_disk = tempfile::tempdir().unwrap();
        for (at, text) in files {
            let file = on_disk.path().join(at);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let folder = opened(on_disk.path(), hide);
        Self { on_disk, folder }
    }

    fn view(&self, at: &str) -> Arc<View> {
        self.folder.editor.view(&path(at)).unwrap()
    }

    /// The id of the section with this heading.
    fn id(&self, at: &str, heading: &str) -> String {
        let sections = self.view(at).sections();
        let found = sections
            .into_iter()
            .find(|section| section.heading == heading);
        found.unwrap().id
    }

    fn find(&self, id: &str) -> Result<FoundTarget, FindError> {
        self.folder.find(id, &|| false)
    }

    /// What an id means, in one line, with headings in place of ids.
    fn told(&self, id: &str) -> String {
        let names = |names: Vec<NearName>| {
            let names: Vec<String> = names
                .iter()
                .map(|name| format!("{} in {}", name.title, name.place))
                .collect();
            names.join("; ")
        };
        match self.find(id) {
            Ok(FoundTarget::Top) => "top".to_owned(),
            Ok(FoundTarget::Folder(path)) => format!("{path}/"),
            Ok(FoundTarget::Document(path)) => path.to_string(),
            Ok(FoundTarget::Section { path, id }) => {
                let view = self.folder.editor.view(&path).unwrap();
                let position = view.position_of(&id).unwrap();
                format!("{path} > {}", view.heading_path(position).join(" > "))
            }
            Err(FindError::Malformed(reason)) => format!("malformed: {reason:?}"),
            Err(FindError::Several(near)) => format!("several: {}", names(near)),
            Err(FindError::NotFound(near)) => format!("none: {}", names(near)),
            Err(error) => error.to_string(),
        }
    }

    fn write(&self, operation: Operation) -> WriteReport {
        let request = WriteRequest::new(vec![operation], "test", "tester");
        self.folder.write(&request, CallHooks::none()).unwrap()
    }

    fn undo(&self, entry: Option<u64>) {
        let request = UndoRequest {
            path: None,
            entry,
            redo: false,
            actor: "tester".to_owned(),
            reason: None,
            request: None,
            dry_run: false,
        };
        self.folder.undo(&request, CallHooks::none()).unwrap();
    }

    fn found(&self, query: &str) -> Vec<String> {
        let state = self.folder.index.current(&|| false).unwrap();
        let query = FolderQuery::parse(query, 0, &|_| false).unwrap();
        let hits = state.search(&query, 0..10, &|| false).unwrap().hits;
        hits.iter().map(|hit| hit.path.to_string()).collect()
    }
}

const PLAN: &str = "---\naliases: [Big plan]\n---\nIntro ^start\n\n# Plan\n\n## Budget\n\nMoney ^sum\n\n### Catering\n\n## Crew\n\n\
                    ### Catering\n\n## A/B\n\n### C\n\n## A\n\n### B\n\n#### C\n\n> ## Quoted\n\n## Notes: 100%\n";

fn harbour() -> Bench {
    Bench::new(&[
        ("projects/plan.md", PLAN),
        ("projects/old plan.md", "# Old\n"),
        ("people/ada.md", "# Ada\n"),
        ("other/ada.md", "# Other Ada\n"),
        ("C# notes.md", "# Sharp\n"),
    ])
}

#[test]
fn ids_as_callers_write_them() {
    let bench = harbour();
    let budget = bench.id("projects/plan.md", "Budget");
    for (id, expected) in [
        ("", "top"),
        ("/", "top"),
        (".", "top"),
        ("projects/plan.md", "projects/plan.md"),
        ("./projects/plan.md", "projects/plan.md"),
        ("projects\\plan.md", "projects/plan.md"),
        ("projects/plan", "projects/plan.md"),
        ("plan", "projects/plan.md"),
        ("Plan", "projects/plan.md"),
        (" PLAN ", "projects/plan.md"),
        ("[[Plan]]", "projects/plan.md"),
        ("![[Plan|shown]]", "projects/plan.md"),
        ("[[/projects/plan]]", "projects/plan.md"),
        ("big plan", "projects/plan.md"),
        ("projects/old%20plan.md", "projects/old plan.md"),
        ("Old Plan", "projects/old plan.md"),
        ("projects", "projects/"),
        ("projects/", "projects/"),
        ("C# notes.md", "C# notes.md"),
        ("C# notes", "C# notes.md"),
        ("C# notes#Sharp", "C# notes.md > Sharp"),
        (
            "projects/plan.md#Budget",
            "projects/plan.md > Plan > Budget",
        ),
        (
            "projects/plan.md#budget",
            "projects/plan.md > Plan > Budget",
        ),
        ("plan#Plan/Budget", "projects/plan.md > Plan > Budget"),
        ("[[Plan#Budget|x]]", "projects/plan.md > Plan > Budget"),
        (
            "[[Plan#Budget#Catering]]",
            "projects/plan.md > Plan > Budget > Catering",
        ),
        (
            "plan#Budget/Catering",
            "projects/plan.md > Plan > Budget > Catering",
        ),
        (
            "plan#Plan/Catering",
            "several: Catering in projects/plan.md / Plan / Budget; Catering in projects/plan.md / Plan / Crew",
        ),
        (
            "plan#Catering",
            "several: Catering in projects/plan.md / Plan / Budget; Catering in projects/plan.md / Plan / Crew",
        ),
        (
            "plan#catering-1",
            "projects/plan.md > Plan > Crew > Catering",
        ),
        // A heading with a slash wins over a path.
        ("plan#A/B", "projects/plan.md > Plan > A/B"),
        ("plan#A/B/C", "projects/plan.md > Plan > A/B > C"),
        ("plan#A/ B", "projects/plan.md > Plan > A > B"),
        ("plan#a/b", "projects/plan.md > Plan > A/B"),
        ("plan#Notes: 100%", "projects/plan.md > Plan > Notes: 100%"),
        (
            "plan#Notes%3A 100%25",
            "projects/plan.md > Plan > Notes: 100%",
        ),
        ("[[Plan#^sum]]", "projects/plan.md > Plan > Budget"),
        ("plan#^start", "projects/plan.md"),
        ("plan#^gone", "none: "),
        ("ada", "several: Ada in other; Ada in people"),
        ("people/ada", "people/ada.md"),
        ("plann", "none: plan in projects"),
        ("projects#Budget", "none: "),
        ("unknown-1kebc1", "none: "),
    ] {
        assert_eq!(
            bench.told(id).to_lowercase(),
            expected.to_lowercase(),
            "{id:?}"
        );
    }
    let section = "projects/plan.md > Plan > Budget";
    for id in [
        budget.clone(),
        format!("#{budget}"),
        format!("projects/plan.md#{budget}"),
        format!("plan#{budget}"),
        // The id lasts, whatever its document is called.
        format!("gone.md#{budget}"),
        format!("people/ada.md#{budget}"),
    ] {
        assert_eq!(bench.told(&id), section, "{id:?}");
    }
}

/// The nearest come first.
#[test]
fn a_heading_that_is_not_there_is_answered_with_those_that_are() {
    let bench = harbour();
    for (id, expected) in [
        (
            "plan#Bugdet money budget",
            "none: Budget in projects/plan.md / Plan; ",
        ),
        ("plan#Bugdet", "none: Budget in projects/plan.md / Plan; "),
        (
            "plan#Budget/Caterin",
            "none: Catering in projects/plan.md / Plan / Budget; ",
        ),
        ("plan.md#unknown-1kebc1", "none: "),
    ] {
        let told = bench.told(id);
        assert!(told.starts_with(expected), "{id:?}: {told}");
        assert_eq!(told.matches(" in projects/plan.md").count(), 5, "{told}");
    }
}

#[test]
fn malformed_ids_are_refused() {
    let bench = harbour();
    let long = "x/".repeat(50_000);
    for (id, expected) in [
        ("#", MalformedId::NoName),
        ("##", MalformedId::NoName),
        ("[[]]", MalformedId::NoName),
        ("[[|x]]", MalformedId::NoName),
        ("#Budget", MalformedId::NoName),
        ("plan#", MalformedId::NoSection),
        ("plan# ", MalformedId::NoSection),
        ("plan#Budget/", MalformedId::EmptyHeading),
        ("plan#/Budget", MalformedId::EmptyHeading),
        ("plan#Budget//Catering", MalformedId::EmptyHeading),
        ("projects%2Fplan.md", MalformedId::EncodedSeparator),
        ("projects%5Cplan.md", MalformedId::EncodedSeparator),
        ("plan.md%23Budget", MalformedId::EncodedSeparator),
        ("\u{feff}", MalformedId::Invisible),
        ("\u{3000} ", MalformedId::Invisible),
        ("projects/pl\u{200b}an.md", MalformedId::Invisible),
        ("plan#Bud\u{202e}get", MalformedId::Invisible),
        ("plan\0.md", MalformedId::ControlCharacter),
        ("plan\n.md", MalformedId::ControlCharacter),
        ("plan%00.md", MalformedId::ControlCharacter),
        ("..", MalformedId::LeadsUp),
        ("../plan.md", MalformedId::LeadsUp),
        ("projects/../plan.md", MalformedId::LeadsUp),
        ("..\\plan.md", MalformedId::LeadsUp),
        ("%2e%2e/plan.md", MalformedId::LeadsUp),
        ("[[../plan]]", MalformedId::LeadsUp),
        ("/etc/passwd", MalformedId::Absolute),
        ("\\\\server\\share", MalformedId::Absolute),
        ("C:\\plan.md", MalformedId::Absolute),
        ("c:/plan.md", MalformedId::Absolute),
        ("~/plan.md", MalformedId::Absolute),
        ("%2Fetc/passwd", MalformedId::Absolute),
        ("https://example.org/plan.md", MalformedId::Address),
        ("[[plan", MalformedId::Brackets),
        ("plan]]", MalformedId::Brackets),
        ("[[plan]] and [[ada]]", MalformedId::Brackets),
        (&long, MalformedId::TooLong),
    ] {
        assert_eq!(
            bench.find(id),
            Err(FindError::Malformed(expected)),
            "{id:.40}"
        );
    }
}

#[test]
fn a_section_is_found_wherever_it_went() {
    let bench = harbour();
    let budget = bench.id("projects/plan.md", "Budget");
    let named = |id: &str| SectionRef {
        id: Some(id.to_owned()),
        heading: None,
    };
    bench.write(Operation::RenameDocument(RenameDocument {
        path: path("projects/plan.md"),
        new_path: path("done/plan 2025.md"),
        repair_links: true,
    }));
    assert_eq!(bench.told(&budget), "done/plan 2025.md > Plan > Budget");
    assert_eq!(
        bench.told("projects/plan.md"),
        "none: plan 2025 in done; old plan in projects"
    );
    bench.write(Operation::Move(MoveSection {
        path: None,
        section: named(&budget),
        at: Placement::Position(1),
        to: Some(path("people/ada.md")),
        level: None,
        expected_hash: None,
    }));
    assert!(bench.told(&budget).starts_with("people/ada.md > "));
    assert_eq!(
        bench.told(&format!("done/plan 2025.md#{budget}")),
        bench.told(&budget)
    );
    let report = bench.write(Operation::Delete(DeleteSection {
        path: None,
        section: named(&budget),
        expected_hash: None,
    }));
    let entry = report.entry.unwrap();
    assert_eq!(bench.find(&budget), Err(FindError::Deleted { entry }));
    bench.undo(Some(entry));
    assert!(bench.told(&budget).starts_with("people/ada.md > "));
}

#[test]
fn a_note_with_the_name_of_a_section_is_not_taken_for_it() {
    let bench = harbour();
    let budget = bench.id("projects/plan.md", "Budget");
    bench.write(Operation::CreateDocument(CreateDocument {
        path: path(&format!("{budget}.md")),
        content: "# Budget\n".to_owned(),
    }));
    assert!(matches!(bench.find(&budget), Err(FindError::Several(names)) if names.len() == 2));
    assert_eq!(bench.told(&format!("{budget}.md")), format!("{budget}.md"));
}

#[test]
fn what_is_written_is_found_at_once() {
    let bench = harbour();
    assert!(bench.found("quince").is_empty());
    let report = bench.write(Operation::CreateDocument(CreateDocument {
        path: path("new/fruit.md"),
        content: "---\naliases: Obst\n---\nA quince, see [[ada]] and [[plan]].\n".to_owned(),
    }));
    let into = |at: &str| {
        let state = bench.folder.index.current(&|| false).unwrap();
        let edges = bench.folder.links(&state).links_to(&path(at), 0..10).0;
        edges
            .iter()
            .map(|edge| edge.from.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(bench.found("quince"), ["new/fruit.md"]);
    assert_eq!(bench.told("obst"), "new/fruit.md");
    assert_eq!(into("projects/plan.md"), ["new/fruit.md"]);
    bench.write(Operation::RenameDocument(RenameDocument {
        path: path("new/fruit.md"),
        new_path: path("fruit/quinces.md"),
        repair_links: true,
    }));
    assert_eq!(bench.found("quince"), ["fruit/quinces.md"]);
    assert_eq!(bench.told("fruit"), "fruit/");
    assert_eq!(into("projects/plan.md"), ["fruit/quinces.md"]);
    let report = (
        report,
        bench.write(Operation::DeleteDocument(DeleteDocument {
            path: path("fruit/quinces.md"),
            expected_hash: None,
        })),
    );
    assert!(bench.found("quince").is_empty());
    assert!(into("projects/plan.md").is_empty());
    bench.undo(report.1.entry);
    assert_eq!(bench.found("quince"), ["fruit/quinces.md"]);
    assert!(bench.folder.index.take_external_changes().is_empty());
    // Another program writes.
    fs::write(
        bench.on_disk.path().join("people/ada.md"),
        "# Ada\n\nA medlar for [[quinces]].\n",
    )
    .unwrap();
    assert_eq!(bench.found("medlar"), ["people/ada.md"]);
    assert_eq!(into("fruit/quinces.md"), ["people/ada.md"]);
    assert!(report.0.entry.is_some());
}

#[test]
fn what_is_hidden_does_not_exist() {
    let files = [
        (
            "open.md",
            "[a](private/secret.md) [[secret]] [b](private/) [c](pic.png)\n\n# Open\n",
        ),
        ("private/secret.md", "---\naliases: Geheim\n---\n# Secret\n"),
        ("pic.png", ""),
    ];
    let bench = Bench::with_rules(&files, &["private/", "*.png"]);
    let empty = Bench::new(&files[..1]);
    for id in [
        "private/secret.md",
        "private/secret",
        "secret",
        "Geheim",
        "private/",
        "private",
        "secret#Secret",
    ] {
        assert_eq!(bench.find(id), empty.find(id), "{id}");
        assert!(
            matches!(bench.find(id), Err(FindError::NotFound(_))),
            "{id}"
        );
    }
    let edges = |bench: &Bench| {
        let state = bench.folder.index.current(&|| false).unwrap();
        bench.folder.links(&state).out_of(&path("open.md"))
    };
    assert_eq!(edges(&bench), edges(&empty));
    assert!(edges(&bench).iter().all(|edge| edge.to.problem().is_some()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every section is found by its lasting id and, where they are unique, by its headings.
    #[test]
    fn sections_are_found_by_all_of_their_names(
        headings in proptest::collection::vec((1..4_usize, "(A|B|A/B|C#|b|D d){1}"), 1..7),
    ) {
        let text: String = headings
            .iter()
            .map(|(level, heading)| format!("{} {heading}\n\n", "#".repeat(*level)))
            .collect();
        let bench = Bench::new(&[("n.md", &text)]);
        let view = bench.view("n.md");
        for (position, id) in view.ids().iter().enumerate() {
            let target = FoundTarget::Section { path: path("n.md"), id: id.clone() };
            prop_assert_eq!(bench.find(&format!("n.md#{id}")), Ok(target.clone()));
            prop_assert_eq!(bench.find(id), Ok(target.clone()));
            let names = view.heading_path(position);
            match bench.find(&format!("n#{}", names.join("/"))) {
                Ok(found) if found == target => {}
                // Another section has a heading that looks like the path.
                Ok(FoundTarget::Section { id: other, .. }) => {
                    let other = view.heading_path(view.position_of(&other).unwrap());
                    let last = other.last().unwrap();
                    prop_assert!(last.contains(['/', '#']), "{:?} {:?}", other, names);
                    prop_assert!(names.join("/").ends_with(last.as_str()), "{:?} {:?}", other, names);
                }
                Err(FindError::Several(several)) => prop_assert!(several.len() > 1),
                other => prop_assert!(false, "{:?} for {:?}", other, names),
            }
        }
    }

    /// Any text is an id, or is refused; a refusal of the form alone needs no folder.
    #[test]
    fn any_text_is_an_id_or_refused(text in "(\\[\\[|\\]\\]|#|\\^|/|\\\\|\\.\\.|%2f|%00|plan|Budget|ada|~|C:|://|-1kebc1| |\\||.){0,6}") {
        let bench = harbour();
        match (GivenId::parse(&text), bench.find(&text)) {
            (Err(reason), found) => prop_assert_eq!(found, Err(FindError::Malformed(reason))),
            (Ok(GivenId::Top), found) => prop_assert_eq!(found, Ok(FoundTarget::Top)),
            (Ok(_), Err(FindError::Editor(error))) => prop_assert!(false, "{}", error),
            (Ok(_), Err(FindError::Library(error))) => prop_assert!(false, "{}", error),
            (Ok(_), _) => {}
        }
    }
}

/// Links in many spellings, most of which lead to one of [`NOTES`].
const LINKS: [&str; 14] = [
    "[[plan]]",
    "[[Plan#Two]]",
    "[[winter]]",
    "[[sub/plan|x]]",
    "![[b]]",
    "[[./b]]",
    "[x](plan.md)",
    "[x](./sub/../plan.md#two)",
    "[x](/plan)",
    "[x](pl%61n.md)",
    "[x](../plan.md)",
    "<a href=\"b.md\">x</a>",
    "[x][r]\n\n[r]: b.md",
    "no link",
];
const NOTES: [&str; 5] = ["plan.md", "b.md", "sub/plan.md", "sub/b.md", "c.md"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// What the index says about links is enough: a change repairs and reports what it does when every note is read.
    #[test]
    fn a_change_repairs_the_links_that_the_editor_alone_repairs(
        links in proptest::collection::vec((any::<bool>(), proptest::collection::vec(0..LINKS.len(), 0..4)), NOTES.len()),
        which in 0..NOTES.len(),
        change in 0..4_usize,
    ) {
        let texts: Vec<String> = links.iter().map(|(has_alias, links)| {
            let start = if *has_alias { "---\naliases: [Winter]\n---\n" } else { "" };
            let links: Vec<&str> = links.iter().map(|link| LINKS[*link]).collect();
            format!("{start}# One\n\n{}\n\n## Two\n", links.join("\n\n"))
        }).collect();
        let files: Vec<(&str, &str)> = NOTES.into_iter().zip(texts.iter().map(String::as_str)).collect();
        let at = path(NOTES[which]);
        let renamed = |to: &str| Operation::RenameDocument(RenameDocument {
            path: at.clone(),
            new_path: path(to),
            repair_links: true,
        });
        let operation = match change {
            0 => renamed("sub/new.md"),
            1 => renamed("sub/deep/b.md"),
            2 => Operation::DeleteDocument(DeleteDocument { path: at.clone(), expected_hash: None }),
            _ => Operation::Rename(RenameSection {
                path: Some(at.clone()),
                section: SectionRef { id: None, heading: Some("Two".to_owned()) },
                heading: "Three".to_owned(),
                level: None,
                repair_links: true,
                expected_hash: None,
            }),
        };
        let request = WriteRequest::new(vec![operation], "test", "tester");
        let outcome = |by_index: bool| {
            let bench = Bench::new(&files);
            let report = match by_index {
                true => bench.folder.write(&request, CallHooks::none()),
                false => bench.folder.editor.write(&request, CallHooks::none()),
            };
            let report = report.unwrap();
            let state = bench.folder.index.complete(&|| false).unwrap();
            let texts: Vec<(String, String)> = state.notes().iter().map(|note| {
                let text = fs::read_to_string(bench.on_disk.path().join(note.path.as_str()));
                (note.path.to_string(), text.unwrap())
            }).collect();
            (report.repaired_links, report.broken_links, texts)
        };
        prop_assert_eq!(outcome(true), outcome(false));
    }
}

#[test]
fn a_canonical_id_is_found_without_the_index() {
    let bench = Bench::with_rules(
        &[
            ("plan.md", "# Plan\n\n## Budget\n"),
            ("sub/plan.md", "---\naliases: [plan.md]\n---\n# Other\n"),
            ("secret/plan.md", "# Secret\n"),
        ],
        &["secret/"],
    );
    let id = bench.id("plan.md", "Budget");
    let section = FoundTarget::Section {
        path: path("plan.md"),
        id: id.clone(),
    };
    assert_eq!(
        bench.folder.canonical(&format!("plan.md#{id}")),
        Some(section.clone())
    );
    assert_eq!(bench.find(&format!("plan.md#{id}")), Ok(section.clone()));
    // Everything else is looked up, with the same result where it is one.
    for given in [
        "Plan",
        "plan",
        "./plan.md",
        "PLAN.md",
        "sub/../plan.md",
        "[[plan]]",
    ] {
        assert_eq!(
            bench.folder.canonical(&format!("{given}#{id}")),
            None,
            "{given}"
        );
    }
    for given in [
        "plan.md#Budget",
        "plan.md#budget",
        "plan.md#",
        "plan.md",
        "secret/plan.md#secret-1",
    ] {
        assert_eq!(bench.folder.canonical(given), None, "{given}");
    }
    assert_eq!(bench.find(&format!("sub/plan.md#{id}")), Ok(section));
}
