//! Ids through everything that can happen to documents and to their records: edits by us and by other programs,
//! restarts, moved files, and deleted state. A section that nobody touched keeps its id, and no id ever names two
//! sections.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;

/// An event. Numbers choose documents and sections, in whatever range there is.
#[derive(Clone, Debug)]
enum Act {
    Look(usize),
    LookAtAll,
    Restart,
    Outside(usize, Vec<Outside>),
    MoveFile(usize),
    OurInsert(usize, usize),
    OurUpdate(usize, usize),
    OurDelete(usize, usize),
    OurUndo(usize),
    Lose(Loss),
}

/// A change that another program makes to a document between two saves.
#[derive(Clone, Debug)]
enum Outside {
    AddLine(usize),
    RenameHeading(usize),
    Insert(usize),
    Remove(usize),
    MoveToEnd(usize),
}

/// State that someone deletes.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Everything,
    Journal,
    Ids,
}

/// A section in a file: all of its lines hold its token, which tells it from every other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    token: usize,
    heading: String,
    lines: Vec<String>,
}

struct Model {
    folder: TempDir,
    editor: Editor,
    documents: BTreeMap<String, Vec<Written>>,
    /// Every id that was ever handed out, with the section that it names.
    ever: HashMap<String, usize>,
    /// The state at the last look at a document, unless what was recorded since is lost.
    last: BTreeMap<String, Vec<(String, Written)>>,
    next: usize,
}

impl Model {
    fn new(sections: &[usize]) -> Self {
        let folder = scratch();
        let editor = open(folder.path());
        let mut model = Self {
            folder,
            editor,
            documents: BTreeMap::new(),
            ever: HashMap::new(),
            last: BTreeMap::new(),
            next: 0,
        };
        for (at, count) in sections.iter().enumerate() {
            let all = (0..*count).map(|_| model.fresh()).collect();
            model.documents.insert(format!("d{at}.md"), all);
        }
        for path in model.paths() {
            model.save(&path);
        }
        model
    }

    fn paths(&self) -> Vec<String> {
        self.documents.keys().cloned().collect()
    }

    fn path(&self, at: usize) -> String {
        let paths = self.paths();
        paths[at % paths.len()].clone()
    }

    fn fresh(&mut self) -> Written {
        self.next += 1;
        let token = self.next;
        Written {
            token,
            heading: format!("Heading {token}"),
            lines: vec![format!("first {token}"), format!("second {token}")],
        }
    }

    /// Writes a document as the model has it.
    fn save(&self, path: &str) {
        let text: String = self.documents[path]
            .iter()
            .map(|one| format!("# {}\n\n{}\n\n", one.heading, one.lines.join("\n")))
            .collect();
        fs::write(self.folder.path().join(path), text).unwrap();
    }

    /// Loads the result of our edit of a document.
    fn load(&mut self, path: &str) {
        let text = fs::read_to_string(self.folder.path().join(path)).unwrap();
        let sections = text.split("# ").skip(1).map(|section| {
            let mut lines = section.lines();
            let heading = lines.next().unwrap().to_owned();
            let lines: Vec<String> = lines
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect();
            let token = heading.rsplit(' ').next().unwrap().parse().unwrap();
            Written {
                token,
                heading,
                lines,
            }
        });
        self.documents.insert(path.to_owned(), sections.collect());
    }

    fn look(&mut self, path: &str) {
        let ids = self.editor.view(&note(path)).unwrap().ids().to_vec();
        let written = &self.documents[path];
        assert_eq!(ids.len(), written.len(), "{path}");
        let now: Vec<(String, Written)> = ids.into_iter().zip(written.iter().cloned()).collect();
        for (id, one) in &now {
            let named = *self.ever.entry(id.clone()).or_insert(one.token);
            assert_eq!(named, one.token, "{id} named another section before");
        }
        for (id, one) in self.last.get(path).into_iter().flatten() {
            if let Some((new, _)) = now.iter().find(|(_, new)| new == one) {
                assert_eq!(new, id, "{path}: nothing happened to {one:?}");
            }
        }
        let unique: BTreeSet<&String> = now.iter().map(|(id, _)| id).collect();
        assert_eq!(unique.len(), now.len(), "{path}: an id names two");
        self.last.insert(path.to_owned(), now);
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Look(at) => self.look(&self.path(*at)),
            Act::LookAtAll => self.paths().iter().for_each(|path| self.look(path)),
            Act::Restart => self.editor = open(self.folder.path()),
            Act::Outside(at, edits) => {
                let path = self.path(*at);
                for edit in edits {
                    self.outside(&path, edit);
                }
                self.save(&path);
            }
            Act::MoveFile(at) => {
                let path = self.path(*at);
                // A file that changed and moved between two looks is a different document to everyone.
                self.look(&path);
                self.next += 1;
                let target = format!("m{}.md", self.next);
                let at = |path: &str| self.folder.path().join(path);
                fs::rename(at(&path), at(&target)).unwrap();
                let sections = self.documents.remove(&path).unwrap();
                let last = self.last.remove(&path).unwrap();
                self.documents.insert(target.clone(), sections);
                self.last.insert(target.clone(), last);
                self.look(&target);
            }
            Act::OurInsert(at, position) => {
                let (path, made) = (self.path(*at), self.fresh());
                self.look(&path);
                let position = position % (self.documents[&path].len() + 1);
                let insert = Operation::Insert(InsertSection {
                    path: Some(note(&path)),
                    at: Placement::Position(position),
                    heading: made.heading,
                    content: made.lines.join("\n"),
                    level: Some(1),
                    headings: PayloadHeadings::Inside,
                    label: None,
                });
                write(&self.editor, vec![insert]).unwrap();
                self.load(&path);
                self.look(&path);
            }
            Act::OurUpdate(at, section) => self.ours(*at, *section, |path, id, one| {
                let content = format!("{}\nupdated {}", one.lines.join("\n"), one.token);
                update(path, by_id(id), &content)
            }),
            Act::OurDelete(at, section) => {
                self.ours(*at, *section, |path, id, _| delete(path, by_id(id)));
            }
            Act::OurUndo(at) => {
                let path = self.path(*at);
                self.look(&path);
                if take_back(&self.editor, &undo(&path, false)).is_ok() {
                    self.load(&path);
                }
                self.look(&path);
            }
            Act::Lose(loss) => {
                let private = self.folder.path().join(".sectile");
                let gone = match loss {
                    Loss::Everything => fs::remove_dir_all(private),
                    Loss::Journal => fs::remove_file(private.join("journal")),
                    Loss::Ids => fs::remove_file(private.join("ids")),
                };
                if gone.is_ok() {
                    self.last.clear();
                }
            }
        }
    }

    /// An edit of ours, of a section by the id that it was just seen with.
    fn ours(
        &mut self,
        at: usize,
        section: usize,
        operation: impl Fn(&str, &str, &Written) -> Operation,
    ) {
        let path = self.path(at);
        self.look(&path);
        let seen = &self.last[&path];
        if seen.is_empty() {
            return;
        }
        let (id, one) = &seen[section % seen.len()];
        write(&self.editor, vec![operation(&path, id, one)]).unwrap();
        self.load(&path);
        self.look(&path);
    }

    fn outside(&mut self, path: &str, edit: &Outside) {
        let made = self.fresh();
        let sections = self.documents.get_mut(path).unwrap();
        let count = sections.len();
        match edit {
            Outside::Insert(at) => sections.insert(at % (count + 1), made),
            _ if count == 0 => {}
            Outside::AddLine(at) => {
                let one = &mut sections[at % count];
                one.lines
                    .push(format!("line {} of {}", made.token, one.token));
            }
            Outside::RenameHeading(at) => {
                let one = &mut sections[at % count];
                one.heading = format!("Renamed {} {}", made.token, one.token);
            }
            Outside::Remove(at) => {
                sections.remove(at % count);
            }
            Outside::MoveToEnd(at) => {
                let one = sections.remove(at % count);
                sections.push(one);
            }
        }
    }
}

fn act() -> impl Strategy<Value = Act> {
    let outside = prop_oneof![
        any::<usize>().prop_map(Outside::AddLine),
        any::<usize>().prop_map(Outside::RenameHeading),
        any::<usize>().prop_map(Outside::Insert),
        any::<usize>().prop_map(Outside::Remove),
        any::<usize>().prop_map(Outside::MoveToEnd),
    ];
    let loss = prop_oneof![Just(Loss::Everything), Just(Loss::Journal), Just(Loss::Ids)];
    prop_oneof![
        4 => any::<usize>().prop_map(Act::Look),
        2 => Just(Act::LookAtAll),
        3 => Just(Act::Restart),
        6 => (any::<usize>(), proptest::collection::vec(outside, 1..3))
            .prop_map(|(at, edits)| Act::Outside(at, edits)),
        1 => any::<usize>().prop_map(Act::MoveFile),
        2 => any::<(usize, usize)>().prop_map(|(at, position)| Act::OurInsert(at, position)),
        2 => any::<(usize, usize)>().prop_map(|(at, section)| Act::OurUpdate(at, section)),
        1 => any::<(usize, usize)>().prop_map(|(at, section)| Act::OurDelete(at, section)),
        1 => any::<usize>().prop_map(Act::OurUndo),
        1 => loss.prop_map(Act::Lose),
    ]
}

proptest! {
    #![proptest_config(super::scripts::cases(400))]

    #[test]
    fn a_section_that_nobody_touched_keeps_its_id_and_no_id_names_two(
        sections in proptest::collection::vec(0_usize..5, 1..4),
        script in proptest::collection::vec(act(), 1..40),
    ) {
        let mut model = Model::new(&sections);
        for act in &script {
            model.act(act);
        }
        model.act(&Act::LookAtAll);
        model.act(&Act::Restart);
        model.act(&Act::LookAtAll);
    }
}

/// All ids of a document that was only ever read were lost: another program saved it, someone looked, the process was
/// restarted, and another program saved it again.
#[test]
fn ids_outlive_two_outside_edits_with_a_restart_between() {
    let text = "# X\n\nintro\n\n## A\n\nalpha\n\n## B\n\nbeta\n\n## C\n\ngamma\n";
    for script in [
        "1 look restart 2",
        "1 look 2 restart",
        "1 restart",
        "1 restart 2",
        "1 look 2 look",
        "edit 1 look restart 2",
        "edit purge 1 look restart 2",
        "edit purge 1 restart 2 look restart",
    ] {
        let mut bench = Bench::new(&[("x.md", text)]);
        let ids = |bench: &Bench| bench.editor.view(&note("x.md")).unwrap().ids().to_vec();
        let before = ids(&bench);
        let save = |bench: &Bench, old: &str, new: &str| {
            fs::write(bench.path("x.md"), bench.text("x.md").replace(old, new)).unwrap();
        };
        for step in script.split(' ') {
            match step {
                "1" => save(&bench, "beta", "beta one"),
                "2" => save(&bench, "gamma", "gamma two"),
                "look" => assert_eq!(ids(&bench).len(), before.len()),
                "restart" => bench.editor = bench.reopened(),
                "purge" => assert_eq!(bench.editor.purge(None, None).unwrap(), 1),
                _ => {
                    let edit = update("x.md", by_id(&before[1]), "alpha 2");
                    bench.write(edit).unwrap();
                }
            }
        }
        assert_eq!(ids(&bench), before, "{script}");
    }
}

/// Ids of a folder whose state was deleted name nothing, no matter when that was.
#[test]
fn an_id_of_lost_state_names_nothing() {
    let bench = Bench::new(&[("a.md", SAMPLE), ("b.md", SAMPLE)]);
    let old: Vec<String> = ["a.md", "b.md"]
        .iter()
        .flat_map(|path| bench.editor.view(&note(path)).unwrap().ids().to_vec())
        .collect();
    fs::remove_dir_all(bench.path(".sectile")).unwrap();
    let editor = bench.reopened();
    for path in ["b.md", "a.md"] {
        let view = editor.view(&note(path)).unwrap();
        assert!(view.ids().iter().all(|id| !old.contains(id)));
    }
    for id in &old {
        let refused = write(&editor, vec![update("a.md", by_id(id), "x")]).unwrap_err();
        assert!(
            matches!(refused, EditorError::SectionNotFound { .. }),
            "{refused:?}"
        );
    }
    assert_eq!(bench.text("a.md"), SAMPLE);
}

/// Reading does not touch the journal, and what it writes grows with the folder, not with the number of reads.
#[test]
fn reading_does_not_grow_what_is_written() {
    let many = "# a\n".repeat(5_000);
    let bench = Bench::new(&[("a.md", SAMPLE), ("many.md", &many)]);
    for _ in 0..3 {
        let editor = bench.reopened();
        editor.view(&note("a.md")).unwrap();
        editor.view(&note("many.md")).unwrap();
    }
    assert!(!bench.path(".sectile/journal").exists());
    let ids = || fs::metadata(bench.path(".sectile/ids")).unwrap().len();
    let once = ids();
    assert!(once < 100 * 5_000, "{once} bytes");
    let editor = bench.reopened();
    for round in 0..200 {
        fs::write(bench.path("a.md"), format!("{SAMPLE}\nround {round}\n")).unwrap();
        bench.reopened().view(&note("a.md")).unwrap();
    }
    editor.view(&note("a.md")).unwrap();
    assert!(!bench.path(".sectile/journal").exists());
    assert!(ids() < once + (512 << 10), "{} bytes", ids());
    // Ids that are too many to record last as long as the process, and can be used there.
    let text = "# a\n".repeat(70_000);
    fs::write(bench.path("huge.md"), text).unwrap();
    let view = editor.view(&note("huge.md")).unwrap();
    assert_eq!(editor.view(&note("huge.md")).unwrap().ids(), view.ids());
    assert!(ids() < once + (512 << 10), "{} bytes", ids());
    let section = by_id(&view.ids()[60_000]);
    write(&editor, vec![update("huge.md", section, "x")]).unwrap();
    let after = bench.reopened().view(&note("huge.md")).unwrap();
    assert_eq!(after.ids(), view.ids());
}

#[test]
fn an_undo_does_not_give_an_id_to_two_sections() {
    let bench = Bench::new(&[
        ("a.md", "# A\n\n# B\n\none\ntwo\nthree\nfour"),
        ("b.md", "# A\n\n```\n# not a heading\n```"),
    ]);
    let id = bench.id("a.md", "B");
    let moved = Operation::Move(MoveSection {
        path: None,
        section: by_id(&id),
        at: Placement::Next {
            relative: RelativePlacement::After,
            anchor: by_id(&bench.id("b.md", "A")),
        },
        to: None,
        level: None,
        expected_hash: None,
    });
    let entry = bench.write(moved).unwrap().entry.unwrap();
    // Now the lines of the section are in a code block, below another heading.
    let text = bench.text("b.md").replacen("```\n", "", 1);
    fs::write(bench.path("b.md"), text).unwrap();
    let taken = bench.editor.view(&note("b.md")).unwrap();
    let position = taken.position_of(&id).unwrap();
    assert_eq!(taken.heading_path(position), ["not a heading"]);
    assert_eq!(
        bench.undo("a.md").unwrap_err(),
        EditorError::UndoOverlaps { entry: entry + 1 }
    );
    assert!(!bench.text("a.md").contains("# B"));
}
