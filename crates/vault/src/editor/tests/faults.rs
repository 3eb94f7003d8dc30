//! Commits that are interrupted, refused by the system, or meet a damaged journal.
//!
//! A scenario is a folder and one operation in it. It runs in a process of its own, in which a fault is armed, so that
//! faults, which are global to a process, never affect another test.

mod damage;
mod errors;
mod kills;
mod surroundings;

use std::{collections::BTreeMap, process::Command};

use super::*;

/// Scenario, fault and folder for a child process, separated by bars.
const CHILD: &str = "SECTILE_TEST_FAULT";
/// Prefix of the child's last line, before the name of the outcome.
const SAID: &str = "said:";

/// The documents below a folder, by path.
type Documents = BTreeMap<String, Vec<u8>>;

/// One operation, in a folder that is prepared for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    First,
    Edit,
    Batch,
    Create,
    RenameDocument,
    DeleteDocument,
    Undo,
    Redo,
    UndoBatch,
    UndoDelete,
    UndoRename,
    RenameFolder,
    UndoFolder,
    AfterOutsideEdit,
    Compact,
    Purge,
}

const SCENARIOS: [Scenario; 16] = [
    Scenario::First,
    Scenario::Edit,
    Scenario::Batch,
    Scenario::Create,
    Scenario::RenameDocument,
    Scenario::DeleteDocument,
    Scenario::Undo,
    Scenario::Redo,
    Scenario::UndoBatch,
    Scenario::UndoDelete,
    Scenario::UndoRename,
    Scenario::RenameFolder,
    Scenario::UndoFolder,
    Scenario::AfterOutsideEdit,
    Scenario::Compact,
    Scenario::Purge,
];

const OTHER: &str = "# C\n\nc\n\n## D\n\nd\n";

impl Scenario {
    fn named(name: &str) -> Self {
        *SCENARIOS
            .iter()
            .find(|one| format!("{one:?}") == name)
            .unwrap()
    }

    /// The document whose history contains the operation.
    fn path(self) -> &'static str {
        match self {
            Self::Create => "new/n.md",
            Self::RenameDocument => "moved/a.md",
            Self::RenameFolder => "deep/er/e.md",
            _ => "a.md",
        }
    }

    /// Prepares the folder.
    fn prepare(self, folder: &Path) {
        fs::create_dir_all(folder.join("b")).unwrap();
        fs::write(folder.join("a.md"), SAMPLE).unwrap();
        fs::write(folder.join("b/c.md"), OTHER).unwrap();
        if self == Self::First {
            return;
        }
        if matches!(self, Self::RenameFolder | Self::UndoFolder) {
            fs::write(folder.join("b/e.md"), "# E\n\n[a](../a.md) [c](c.md)\n").unwrap();
            let links = "# Links\n\n[c](b/c.md#d) ![](b/p.png) [[e]]\n";
            fs::write(folder.join("links.md"), links).unwrap();
            fs::write(folder.join("b/p.png"), "picture").unwrap();
        }
        let editor = open(folder);
        for path in documents(folder)
            .keys()
            .filter(|path| path.ends_with(".md"))
        {
            editor.view(&note(path)).unwrap();
        }
        let operation = update("a.md", by_heading("Gamma"), "First.");
        write(&editor, vec![operation]).unwrap();
        let undo_last = || take_back(&editor, &undo("a.md", false)).unwrap();
        match self {
            Self::Undo => {
                write(&editor, edit()).unwrap();
            }
            Self::Redo => {
                write(&editor, edit()).unwrap();
                undo_last();
            }
            Self::UndoBatch => {
                write(&editor, batch()).unwrap();
            }
            Self::UndoDelete => {
                write(&editor, delete_document()).unwrap();
            }
            Self::UndoRename => {
                write(&editor, rename_document()).unwrap();
            }
            Self::UndoFolder => {
                write(&editor, rename_folder()).unwrap();
            }
            Self::AfterOutsideEdit => {
                let text = fs::read_to_string(folder.join("a.md")).unwrap();
                let text = text.replace("Alpha body.", "Outside.");
                fs::write(folder.join("a.md"), text).unwrap();
            }
            Self::Compact => {
                for round in 0..6 {
                    let text = format!("Round {round}.");
                    write(&editor, vec![update("a.md", by_heading("Beta"), &text)]).unwrap();
                }
            }
            _ => {}
        }
    }

    /// Performs the operation.
    fn act(self, editor: &Editor) -> Result<(), EditorError> {
        let redo = self == Self::Redo;
        match self {
            Self::First | Self::Edit | Self::AfterOutsideEdit | Self::Compact => {
                write(editor, edit()).map(|_| ())
            }
            Self::Batch => write(editor, batch()).map(|_| ()),
            Self::Create => write(editor, create()).map(|_| ()),
            Self::RenameDocument => write(editor, rename_document()).map(|_| ()),
            Self::DeleteDocument => write(editor, delete_document()).map(|_| ()),
            Self::RenameFolder => write(editor, rename_folder()).map(|_| ()),
            Self::UndoFolder => take_back(editor, &undo("deep/er/e.md", false)).map(|_| ()),
            Self::Undo | Self::Redo | Self::UndoBatch => {
                take_back(editor, &undo("a.md", redo)).map(|_| ())
            }
            Self::UndoRename => take_back(editor, &undo("moved/a.md", false)).map(|_| ()),
            Self::UndoDelete => take_back(editor, &undo_entry(2)).map(|_| ()),
            Self::Purge => editor.purge(None, None).map(|_| ()),
        }
    }

    /// Undoes the operation. Not every one can be undone.
    fn act_back(self, editor: &Editor) -> Option<Result<(), EditorError>> {
        let back = match self {
            Self::Purge => return None,
            Self::DeleteDocument => {
                let last = editor.store.state().ledger.entries().next_back()?.number;
                undo_entry(last)
            }
            Self::Redo => undo("a.md", false),
            Self::Undo | Self::UndoBatch => undo("a.md", true),
            Self::UndoDelete | Self::UndoRename => undo("a.md", true),
            Self::UndoFolder => undo("b/e.md", true),
            _ => undo(self.path(), false),
        };
        Some(take_back(editor, &back).map(|_| ()))
    }

    /// Opens an editor. For [`Self::Compact`], the journal's limit is so small that it must be rewritten.
    fn open(self, folder: &Path) -> Editor {
        let max_journal_bytes = match self {
            Self::Compact => 1_500,
            _ => EditorLimits::default().max_journal_bytes,
        };
        let limits = EditorLimits {
            max_journal_bytes,
            ..EditorLimits::default()
        };
        open_within(folder, limits)
    }
}

fn edit() -> Vec<Operation> {
    vec![
        update("a.md", by_heading("Beta"), "Other."),
        insert("a.md", "Made", 1),
    ]
}

fn batch() -> Vec<Operation> {
    let to_other = Operation::Move(MoveSection {
        path: Some(note("a.md")),
        section: by_heading("Beta"),
        at: Placement::Position(1),
        to: Some(note("b/c.md")),
        level: None,
        expected_hash: None,
    });
    vec![to_other, update("a.md", by_heading("Alpha"), "Batch.")]
}

fn create() -> Vec<Operation> {
    vec![Operation::CreateDocument(CreateDocument {
        path: note("new/n.md"),
        content: "# N\n\n## M\n".to_owned(),
    })]
}

fn rename_folder() -> Vec<Operation> {
    vec![Operation::RenameFolder(RenameFolder {
        path: note("b"),
        new_path: note("deep/er"),
    })]
}

fn rename_document() -> Vec<Operation> {
    vec![Operation::RenameDocument(RenameDocument {
        path: note("a.md"),
        new_path: note("moved/a.md"),
        repair_links: false,
    })]
}

fn delete_document() -> Vec<Operation> {
    vec![Operation::DeleteDocument(DeleteDocument {
        path: note("a.md"),
        expected_hash: None,
    })]
}

fn undo_entry(number: u64) -> UndoRequest {
    UndoRequest {
        path: None,
        entry: Some(number),
        ..undo("a.md", false)
    }
}

/// All documents below `folder`.
fn documents(folder: &Path) -> Documents {
    files(folder, false)
}

/// Temporary files next to documents, or all other files.
fn files(folder: &Path, is_ours: bool) -> Documents {
    let mut found = Documents::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_wanted = name.starts_with(".sectile-") == is_ours || path.is_dir();
            if name == ".sectile" || !is_wanted {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                found.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A folder prepared for a scenario, and its contents before and after.
struct Stage {
    scenario: Scenario,
    template: TempDir,
    before: Documents,
    after: Documents,
}

impl Stage {
    fn new(scenario: Scenario) -> Self {
        let template = scratch();
        scenario.prepare(template.path());
        let before = documents(template.path());
        let trial = scratch();
        copy_folder(template.path(), trial.path());
        scenario.act(&scenario.open(trial.path())).unwrap();
        let after = documents(trial.path());
        Self {
            scenario,
            template,
            before,
            after,
        }
    }

    /// A copy to try something in.
    fn set(&self) -> TempDir {
        let folder = scratch();
        copy_folder(self.template.path(), folder.path());
        folder
    }
}

/// Runs `count` for several scenarios at once, and adds up the results.
fn in_each(scenarios: &[Scenario], count: impl Fn(Scenario) -> usize + Sync) -> usize {
    std::thread::scope(|threads| {
        let count = &count;
        let all: Vec<_> = scenarios
            .iter()
            .map(|scenario| threads.spawn(move || count(*scenario)))
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    })
}

/// The outcome of a child process.
#[derive(Debug)]
enum Outcome {
    Killed,
    Said(String),
}

/// Runs a scenario with a fault in a process of its own.
fn run_child(scenario: Scenario, fault: &str, folder: &Path) -> Outcome {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "editor::tests::faults::child", "--nocapture"])
        .env(
            CHILD,
            format!("{scenario:?}|{fault}|{}", folder.to_str().unwrap()),
        )
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said = text.lines().find_map(|line| {
        let (_, said) = line.split_once(SAID)?;
        Some(said.to_owned())
    });
    match (output.status.code(), said) {
        (Some(0), Some(said)) => Outcome::Said(said),
        (None, None) => Outcome::Killed,
        other => panic!(
            "{scenario:?} {fault}: {other:?}\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

/// No fault: the child reports the steps it took.
const STEPS: &str = "steps";

/// The price of durability: `cargo xtask bench` measures an edit against this many flushes.
#[test]
fn an_edit_takes_four_flushes_and_one_swap() {
    let stage = Stage::new(Scenario::Edit);
    let Outcome::Said(steps) = run_child(Scenario::Edit, STEPS, stage.set().path()) else {
        panic!("nothing was to end it");
    };
    let costly = |step: &&str| step.starts_with("flush") || *step == "place";
    let costly: Vec<&str> = steps.split(' ').filter(costly).collect();
    let expected = [
        "flush_journal",
        "flush_temporary",
        "place",
        "flush_folder",
        "flush_journal",
    ];
    assert_eq!(costly, expected);
}

/// A folder with a new entry is flushed before the answer, up to the root.
#[test]
fn parents_of_new_folders_are_flushed() {
    let stage = Stage::new(Scenario::Create);
    let Outcome::Said(steps) = run_child(Scenario::Create, STEPS, stage.set().path()) else {
        panic!("nothing was to end it");
    };
    let steps: Vec<&str> = steps.split(' ').collect();
    let at = |wanted: &str| steps.iter().position(|step| *step == wanted).unwrap();
    assert!(at("make_folder") < at("flush_parent"));
    assert!(at("flush_parent") < at("place"));
    assert!(at("flush_root") < at("place"));
}

/// Not a test itself: the process in which a scenario runs. Without a parent it does nothing.
#[test]
fn child() {
    let Ok(job) = std::env::var(CHILD) else {
        return;
    };
    let [scenario, fault, folder] = job.split('|').collect::<Vec<_>>()[..] else {
        panic!("{job}")
    };
    let scenario = Scenario::named(scenario);
    if let Some(surroundings) = fault.strip_prefix(errors::ALL) {
        println!("{SAID}{}", errors::meet_all(scenario, surroundings));
        return;
    }
    crate::fault::arm(fault);
    let editor = scenario.open(Path::new(folder));
    let result = match scenario.act(&editor) {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("{error:?}"),
    };
    if fault == STEPS {
        println!("{SAID}{}", crate::fault::steps_taken().join(" "));
        return;
    }
    println!("{SAID}{result}");
}

/// Checks that a folder is intact: the journal is read without damage, nothing is pending or left over, and every view
/// is the same for another process.
fn check_whole(folder: &Path, what: &str) {
    let editor = open(folder);
    for path in documents(folder)
        .keys()
        .filter(|path| path.ends_with(".md"))
    {
        let view = editor.view(&note(path)).unwrap();
        let mut ids = view.ids().to_vec();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), view.ids().len(), "{what}: an id names two");
        let other = open(folder).view(&note(path)).unwrap();
        assert_eq!(view.ids(), other.ids(), "{what}");
    }
    assert!(editor.damage().is_empty(), "{what}: {:?}", editor.damage());
    assert!(
        editor.store.state().ledger.pending(None).is_empty(),
        "{what}"
    );
    let private = folder.join(".sectile");
    check_displaced(&private, what);
    let beside = files(folder, true);
    assert!(beside.is_empty(), "{what}: left over: {beside:?}");
    let left: Vec<String> = [private.join("tmp"), private]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| {
            let known = ["tmp", "locks", "journal", "ids", "displaced", ".gitignore"];
            !known.contains(&name.as_str())
        })
        .collect();
    assert!(left.is_empty(), "{what}: left over: {left:?}");
}

/// Checks that every file that is kept for a while holds the replaced bytes, as its name says.
fn check_displaced(private: &Path, what: &str) {
    for entry in fs::read_dir(private.join("displaced"))
        .into_iter()
        .flatten()
    {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let before = name.split('-').nth(3).unwrap();
        let digest = sectile_markdown::Digest::of(&fs::read(entry.path()).unwrap()).to_string();
        assert!(digest.starts_with(before), "{what}: {name}");
    }
}

/// The ids of all sections of all documents, by heading.
fn ids_by_heading(folder: &Path) -> BTreeMap<String, String> {
    let editor = open(folder);
    let mut ids = BTreeMap::new();
    for path in documents(folder)
        .keys()
        .filter(|path| path.ends_with(".md"))
    {
        for section in editor.view(&note(path)).unwrap().sections() {
            ids.insert(section.heading, section.id);
        }
    }
    ids
}
