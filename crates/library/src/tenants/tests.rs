//! Servers that share a tenant: every change that was answered is there, once, on all of them.

#![expect(clippy::disallowed_methods, reason = "tests make the files")]

use std::{collections::BTreeMap, sync::Arc, thread};

use proptest::prelude::*;
use sectile_markdown::Digest;
use sectile_vault::{
    JournalKey, NotePath, Walk,
    editor::{
        CallHooks, ChangeFilter, CreateDocument, DeleteDocument, EditText, EditorError,
        EditorOptions, Operation, RenameDocument, RenameFolder, Scope, UndoRequest, WriteReport,
        WriteRequest,
    },
};

use super::*;
use crate::{
    clock,
    editable_folder::EditableFolder,
    folder::MAX_NOTE_BYTES,
    live_folder::{FolderQuery, LiveFolderOptions, SecondTierUse},
    manual_page::NoteCut,
    testing::{CommitFault, MemoryTenants},
};

const TENANT: &str = "acme";
const ROOMY: TenantQuota = TenantQuota {
    files: 1_000,
    bytes: 1 << 20,
};

type Outcome<T> = Result<Result<T, EditorError>, SharedFolderError>;

/// A server, with a copy of the tenant's folder.
struct Server {
    _on_disk: tempfile::TempDir,
    folder: Arc<SharedFolder>,
}

fn path(text: &str) -> NotePath {
    NotePath::parse_vault(text).unwrap()
}

fn store(files: &[(&str, &str)]) -> Arc<MemoryTenants> {
    let store = Arc::new(MemoryTenants::default());
    store.create(TENANT).unwrap();
    let writes = files.iter().map(|(name, text)| FileWrite {
        path: path(name),
        content: Some((
            CopiedFile {
                digest: Digest::of(text.as_bytes()),
                bytes: text.len() as u64,
                modified: 1_000_000,
            },
            text.as_bytes().to_vec(),
        )),
    });
    let commit = TenantCommit {
        id: "import".to_owned(),
        files: writes.collect(),
        logs: Vec::new(),
    };
    let base = store.revision(TENANT, &|| false).unwrap();
    let made = store.commit(TENANT, &base, &commit).unwrap();
    assert!(matches!(made, TenantCommitOutcome::Committed(_)));
    store
}

fn options(location: &std::path::Path) -> (EditorOptions, LiveFolderOptions) {
    let key = JournalKey::new(&[7; JournalKey::BYTES]);
    let index = LiveFolderOptions {
        location: location.to_owned(),
        walk: Walk::default(),
        cut: NoteCut::Notes,
        max_note_bytes: MAX_NOTE_BYTES,
        cache: None,
        shared_vectors: None,
        clock: clock::now,
        second_tier: SecondTierUse::Unused,
    };
    (EditorOptions::new(key, clock::now), index)
}

impl Server {
    fn new(store: &Arc<MemoryTenants>) -> Self {
        Self::with(store, ROOMY)
    }

    fn with(store: &Arc<MemoryTenants>, quota: TenantQuota) -> Self {
        let on_disk = tempfile::tempdir().unwrap();
        let folder = Self::open(store, on_disk.path(), quota);
        Self {
            _on_disk: on_disk,
            folder: Arc::new(folder),
        }
    }

    fn open(
        store: &Arc<MemoryTenants>,
        location: &std::path::Path,
        quota: TenantQuota,
    ) -> SharedFolder {
        let store: Arc<dyn TenantStore> = Arc::<MemoryTenants>::clone(store);
        SharedFolder::open(store, TENANT, location, options(location), quota, &|| false).unwrap()
    }

    fn call<T>(
        &self,
        access: FolderAccess,
        mut work: impl FnMut(&EditableFolder) -> T,
    ) -> Result<T, SharedFolderError> {
        let folders = [Arc::clone(&self.folder)];
        call(&folders, access, &|| false, &mut |handles| {
            work(&handles[0])
        })
    }

    fn write(&self, operation: &Operation, id: Option<&str>) -> Outcome<WriteReport> {
        let mut request = WriteRequest::new(vec![operation.clone()], "edit", "caller");
        request.request = id.map(|id| (id.to_owned(), "digest".to_owned()));
        self.call(FolderAccess::Write, |folder| {
            folder.write(&request, CallHooks::none())
        })
    }

    #[track_caller]
    fn edit(&self, name: &str, old: &str, new: &str) {
        self.write(&replace(name, old, new), None).unwrap().unwrap();
    }

    #[track_caller]
    fn text(&self, name: &str) -> String {
        let viewed = self.call(FolderAccess::Read, |folder| folder.editor.view(&path(name)));
        String::from_utf8(viewed.unwrap().unwrap().bytes().to_vec()).unwrap()
    }

    /// Returns the ids of the sections of a document.
    #[track_caller]
    fn ids(&self, name: &str) -> Vec<String> {
        let viewed = self.call(FolderAccess::Read, |folder| folder.editor.view(&path(name)));
        viewed.unwrap().unwrap().ids().to_vec()
    }

    fn undo(&self) -> Outcome<WriteReport> {
        self.call(FolderAccess::Write, |folder| {
            let entry = folder.editor.newest_change_of("caller")?;
            let request = UndoRequest {
                path: None,
                entry,
                redo: false,
                actor: "caller".to_owned(),
                reason: None,
                request: None,
                dry_run: false,
            };
            folder.undo(&request, CallHooks::none())
        })
    }

    fn found(&self, word: &str) -> Vec<String> {
        let found = self.call(FolderAccess::Read, |folder| {
            let state = folder.index.complete(&|| false).unwrap();
            let query = FolderQuery::parse(word, 0, &|_| false).unwrap();
            let hits = state.search(&query, 0..10, &|| false).unwrap().hits;
            hits.iter().map(|hit| hit.path.to_string()).collect()
        });
        found.unwrap()
    }

    /// Returns the files of the copy.
    fn files(&self) -> BTreeMap<String, String> {
        self.call(FolderAccess::Read, |folder| {
            let location = folder.editor.root().location().to_owned();
            let mut files = BTreeMap::new();
            collect(&location, "", &mut files);
            files
        })
        .unwrap()
    }
}

fn collect(folder: &std::path::Path, above: &str, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{above}{}", entry.file_name().into_string().unwrap());
        if name == ".sectile" {
            continue;
        }
        match entry.path().is_dir() {
            true => collect(&entry.path(), &format!("{name}/"), files),
            false => {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                files.insert(name, text);
            }
        }
    }
}

fn replace(name: &str, old: &str, new: &str) -> Operation {
    Operation::EditText(EditText {
        path: Some(path(name)),
        section: None,
        old_text: old.to_owned(),
        new_text: new.to_owned(),
        expected_count: 1,
        scope: Scope::Subtree,
        expected_hash: None,
    })
}

fn create(name: &str, text: &str) -> Operation {
    Operation::CreateDocument(CreateDocument {
        path: path(name),
        content: text.to_owned(),
    })
}

#[test]
fn a_change_is_everywhere_at_the_next_call() {
    let store = store(&[
        ("a.md", "# A\n\nOne.\n"),
        ("in/b.md", "# B\n\n[a](../a.md)\n"),
    ]);
    let (one, two) = (Server::new(&store), Server::new(&store));
    assert_eq!(one.text("a.md"), "# A\n\nOne.\n");
    // Both give a section the same id, whoever met it first.
    assert_eq!(one.ids("in/b.md"), two.ids("in/b.md"));
    assert_eq!(two.ids("a.md"), one.ids("a.md"));
    one.edit("a.md", "One.", "Zanzibar.");
    assert_eq!(store.texts(TENANT)["a.md"], "# A\n\nZanzibar.\n");
    assert_eq!(two.text("a.md"), "# A\n\nZanzibar.\n");
    assert_eq!(two.ids("a.md"), one.ids("a.md"));
    // Another server can undo it, and a third one that starts now has all of it.
    two.undo().unwrap().unwrap();
    assert_eq!(one.text("a.md"), "# A\n\nOne.\n");
    let three = Server::new(&store);
    assert_eq!(three.text("a.md"), "# A\n\nOne.\n");
    assert_eq!(three.ids("a.md"), one.ids("a.md"));
    let entries = three.call(FolderAccess::Read, |folder| {
        folder.editor.changes(
            &ChangeFilter {
                limit: 10,
                ..ChangeFilter::default()
            },
            CallHooks::none(),
        )
    });
    assert_eq!(entries.unwrap().unwrap().0.len(), 2);
}

#[test]
fn search_follows_on_every_server() {
    let store = store(&[("a.md", "# A\n\nOne.\n")]);
    let (one, two) = (Server::new(&store), Server::new(&store));
    assert!(two.found("zanzibar").is_empty());
    one.edit("a.md", "One.", "Zanzibar.");
    assert_eq!(one.found("zanzibar"), ["a.md"]);
    assert_eq!(two.found("zanzibar"), ["a.md"]);
    two.write(&create("b.md", "# B\n\nQuixotic.\n"), None)
        .unwrap()
        .unwrap();
    assert_eq!(one.found("quixotic"), ["b.md"]);
}

#[test]
fn files_and_folders_move_with_links_and_leave_nothing_behind() {
    let store = store(&[
        ("start.md", "# Start\n\n[b](old/in/b.md) ![p](old/p.png)\n"),
        ("old/in/b.md", "# B\n\n[s](../../start.md)\n"),
        ("old/p.png", "not text"),
    ]);
    let (one, two) = (Server::new(&store), Server::new(&store));
    let rename = Operation::RenameFolder(RenameFolder {
        path: path("old"),
        new_path: path("deep/new"),
    });
    one.write(&rename, None).unwrap().unwrap();
    let expected: Vec<String> = ["deep/new/in/b.md", "deep/new/p.png", "start.md"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(
        store.texts(TENANT).into_keys().collect::<Vec<_>>(),
        expected
    );
    assert_eq!(two.files(), store.texts(TENANT));
    assert_eq!(
        two.text("start.md"),
        "# Start\n\n[b](deep/new/in/b.md) ![p](deep/new/p.png)\n"
    );
    assert_eq!(
        two.text("deep/new/in/b.md"),
        "# B\n\n[s](../../../start.md)\n"
    );
    two.undo().unwrap().unwrap();
    assert_eq!(one.files(), store.texts(TENANT));
    assert!(one.files().contains_key("old/p.png"));
    let delete = Operation::DeleteDocument(DeleteDocument {
        path: path("old/in/b.md"),
        expected_hash: None,
    });
    one.write(&delete, None).unwrap().unwrap();
    // A folder in which nothing is left is nowhere.
    for server in [&one, &two, &Server::new(&store)] {
        let has_folder = server.call(FolderAccess::Read, |folder| {
            folder.editor.root().location().join("old/in").exists()
        });
        assert_eq!(has_folder, Ok(false));
    }
    let rename = Operation::RenameDocument(RenameDocument {
        path: path("start.md"),
        new_path: path("old/start.md"),
        repair_links: true,
    });
    two.write(&rename, None).unwrap().unwrap();
    assert_eq!(one.files(), store.texts(TENANT));
}

#[test]
fn a_refused_change_is_nowhere() {
    let store = store(&[("a.md", "# A\n\nOne.\n")]);
    let (one, two) = (Server::new(&store), Server::new(&store));
    store.fail([CommitFault::Refused]);
    let refused = one.write(&replace("a.md", "One.", "Two."), Some("r1"));
    assert!(matches!(refused, Err(SharedFolderError::Store { .. })));
    assert_eq!(one.text("a.md"), "# A\n\nOne.\n");
    assert!(one.found("two").is_empty());
    store.fail([CommitFault::Refused]);
    assert!(one.write(&create("b.md", "# B\n"), None).is_err());
    assert_eq!(one.files().into_keys().collect::<Vec<_>>(), ["a.md"]);
    // The same request can be made again, here or elsewhere.
    let made = two.write(&replace("a.md", "One.", "Two."), Some("r1"));
    made.unwrap().unwrap();
    let again = one.write(&replace("a.md", "One.", "Two."), Some("r1"));
    again.unwrap().unwrap();
    assert_eq!(one.text("a.md"), "# A\n\nTwo.\n");
    // Ids that the store did not take are not given out.
    store.fail([CommitFault::Refused]);
    let three = Server::new(&store);
    let created = three.write(&create("c.md", "# C\n\n## D\n"), None);
    assert!(created.is_err());
    two.write(&create("c.md", "# C\n\n## D\n"), None)
        .unwrap()
        .unwrap();
    assert_eq!(three.ids("c.md"), two.ids("c.md"));
}

#[test]
fn a_change_whose_answer_was_lost_is_made_once() {
    let store = store(&[("a.md", "# A\n\nOne.\n")]);
    let (one, two) = (Server::new(&store), Server::new(&store));
    let append = replace("a.md", "One.", "One. More.");
    store.fail([CommitFault::MadeWithoutAnswer]);
    let lost = one.write(&append, Some("r1"));
    assert!(matches!(
        lost,
        Err(SharedFolderError::OutcomeUnknown { .. })
    ));
    for server in [&one, &two] {
        server.write(&append, Some("r1")).unwrap().unwrap();
        assert_eq!(server.text("a.md"), "# A\n\nOne. More.\n");
    }
    store.fail([CommitFault::LostWithoutAnswer]);
    let lost = two.write(&replace("a.md", "More", "Less"), Some("r2"));
    assert!(matches!(
        lost,
        Err(SharedFolderError::OutcomeUnknown { .. })
    ));
    assert_eq!(two.text("a.md"), "# A\n\nOne. More.\n");
    let made = two.write(&replace("a.md", "More", "Less"), Some("r2"));
    made.unwrap().unwrap();
    assert_eq!(one.text("a.md"), "# A\n\nOne. Less.\n");
}

#[test]
fn without_the_store_nothing_is_answered() {
    let store = store(&[("a.md", "# A\n\nOne.\n")]);
    let one = Server::new(&store);
    assert_eq!(one.text("a.md"), "# A\n\nOne.\n");
    store.set_away(true);
    let away = one.call(FolderAccess::Read, |folder| {
        folder.editor.view(&path("a.md")).is_ok()
    });
    assert!(matches!(away, Err(SharedFolderError::Store { .. })));
    assert!(one.write(&replace("a.md", "One.", "Two."), None).is_err());
    store.set_away(false);
    assert_eq!(one.text("a.md"), "# A\n\nOne.\n");
    // Gone between the start of a call and its commit.
    let request = WriteRequest::new(vec![replace("a.md", "One.", "Two.")], "edit", "caller");
    let failed = one.call(FolderAccess::Write, |folder| {
        store.set_away(true);
        folder.write(&request, CallHooks::none()).is_ok()
    });
    assert!(matches!(failed, Err(SharedFolderError::Store { .. })));
    assert!(one.call(FolderAccess::Read, |_| ()).is_err());
    store.set_away(false);
    assert_eq!(one.text("a.md"), "# A\n\nOne.\n");
}

#[test]
fn a_call_that_panics_leaves_nothing() {
    let store = store(&[("a.md", "# A\n\nOne.\n")]);
    let one = Server::new(&store);
    let request = WriteRequest::new(vec![replace("a.md", "One.", "Two.")], "edit", "caller");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        one.call(FolderAccess::Write, |folder| {
            folder.write(&request, CallHooks::none()).unwrap();
            panic!("a defect");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(one.text("a.md"), "# A\n\nOne.\n");
    one.edit("a.md", "One.", "Three.");
    assert_eq!(store.texts(TENANT)["a.md"], "# A\n\nThree.\n");
}

/// If it cannot be found out what a call changed, all of the copy is compared with the store.
#[test]
fn a_copy_that_cannot_be_looked_at_shows_nothing_that_was_not_committed() {
    let store = store(&[("a.md", "# A\n\nOne.\n"), ("in/b.md", "# B\n")]);
    let one = Server::new(&store);
    one.edit("in/b.md", "# B", "# C");
    let request = WriteRequest::new(vec![replace("a.md", "One.", "Two.")], "edit", "caller");
    let journal = one.folder.location().join(".sectile/journal");
    let failed = one.call(FolderAccess::Write, |folder| {
        folder.write(&request, CallHooks::none()).unwrap();
        std::fs::remove_file(&journal).unwrap();
        std::fs::create_dir(&journal).unwrap();
    });
    assert!(matches!(failed, Err(SharedFolderError::Local(_))));
    std::fs::remove_dir(&journal).unwrap();
    assert_eq!(one.text("a.md"), "# A\n\nOne.\n");
    assert_eq!(one.files(), store.texts(TENANT));
    one.edit("a.md", "One.", "Three.");
    assert_eq!(Server::new(&store).files(), store.texts(TENANT));
    one.undo().unwrap().unwrap();
    assert_eq!(store.texts(TENANT)["a.md"], "# A\n\nOne.\n");
}

#[test]
fn a_tenant_that_is_full_can_shrink() {
    let store = store(&[("a.md", "# A\n\nOne.\n"), ("b.md", "# B\n")]);
    let quota = TenantQuota {
        files: 2,
        bytes: 40,
    };
    let one = Server::with(&store, quota);
    let full = one.write(&create("c.md", "# C\n"), None);
    let expected = SharedFolderError::OverQuota {
        limit: 2,
        what: "files",
    };
    assert_eq!(full.err(), Some(expected));
    let long = "x".repeat(100);
    let full = one.write(&replace("a.md", "One.", &long), None);
    let expected = SharedFolderError::OverQuota {
        limit: 40,
        what: "bytes",
    };
    assert_eq!(full.err(), Some(expected));
    assert_eq!(one.files(), store.texts(TENANT));
    one.edit("a.md", "One.", "1");
    let tight = TenantQuota { files: 1, bytes: 5 };
    let tight = Server::with(&store, tight);
    tight.edit("a.md", "# A", "#");
    let delete = Operation::DeleteDocument(DeleteDocument {
        path: path("b.md"),
        expected_hash: None,
    });
    tight.write(&delete, None).unwrap().unwrap();
    assert_eq!(one.files().into_keys().collect::<Vec<_>>(), ["a.md"]);
}

#[test]
fn a_copy_that_was_damaged_is_mended_when_it_is_opened() {
    let store = store(&[("a.md", "# A\n\nOne.\n"), ("in/b.md", "# B\n")]);
    let on_disk = tempfile::tempdir().unwrap();
    let first = Server::open(&store, on_disk.path(), ROOMY);
    let viewed = call(
        &[Arc::new(first)],
        FolderAccess::Read,
        &|| false,
        &mut |handles| {
            handles[0]
                .editor
                .view(&path("a.md"))
                .unwrap()
                .ids()
                .to_vec()
        },
    );
    let ids = viewed.unwrap();
    let at = |name: &str| on_disk.path().join(name);
    std::fs::write(at("a.md"), "forged").unwrap();
    std::fs::write(at("more.md"), "more").unwrap();
    std::fs::remove_file(at("in/b.md")).unwrap();
    std::fs::write(at(".sectile/journal"), "forged\n").unwrap();
    std::fs::write(at(".sectile/ids"), "forged\n").unwrap();
    let again = Server {
        folder: Arc::new(Server::open(&store, on_disk.path(), ROOMY)),
        _on_disk: tempfile::tempdir().unwrap(),
    };
    assert_eq!(again.files(), store.texts(TENANT));
    assert_eq!(again.ids("a.md"), ids);
    again.edit("a.md", "One.", "Two.");
    assert_eq!(store.texts(TENANT)["a.md"], "# A\n\nTwo.\n");
}

#[test]
fn a_tenant_that_was_created_again_is_another() {
    let store = store(&[("a.md", "# A\n\nOne.\n")]);
    let one = Server::new(&store);
    one.edit("a.md", "One.", "Two.");
    store.remove(TENANT, &|| false).unwrap();
    let gone = one.call(FolderAccess::Read, |_| ());
    assert_eq!(gone, Err(SharedFolderError::NotFound));
    store.create(TENANT).unwrap();
    assert!(one.files().is_empty());
    one.write(&create("a.md", "# New\n"), None)
        .unwrap()
        .unwrap();
    assert_eq!(Server::new(&store).text("a.md"), "# New\n");
}

/// Many servers append to few documents at the same time: every answered edit is there once.
#[test]
fn no_edit_of_many_servers_is_lost() {
    const SERVERS: usize = 3;
    const EDITS: usize = 8;
    let store = store(&[("a.md", "# A\n\nend\n"), ("b.md", "# B\n\nend\n")]);
    let servers: Vec<Server> = (0..SERVERS).map(|_| Server::new(&store)).collect();
    thread::scope(|scope| {
        for (number, server) in servers.iter().enumerate() {
            scope.spawn(move || {
                for edit in 0..EDITS {
                    let name = ["a.md", "b.md"][(number + edit) % 2];
                    let marker = format!("m{number}x{edit}.\nend");
                    server.edit(name, "end", &marker);
                    // The next call sees it.
                    assert!(server.text(name).contains(&marker[..marker.len() - 4]));
                }
            });
        }
    });
    let texts = store.texts(TENANT);
    let all = format!("{}{}", texts["a.md"], texts["b.md"]);
    for number in 0..SERVERS {
        for edit in 0..EDITS {
            assert_eq!(all.matches(&format!("m{number}x{edit}.")).count(), 1);
        }
    }
    for server in &servers {
        assert_eq!(server.files(), texts);
    }
}

/// A step of a game that servers play on one tenant.
#[derive(Clone, Debug)]
enum Step {
    Create(usize, usize),
    Append(usize, usize),
    Rename(usize, usize, usize),
    RenameFolder(usize, bool),
    Delete(usize, usize),
    Undo(usize),
    Read(usize, usize),
    Restart(usize),
    Fail(CommitFault),
}

const NAMES: [&str; 5] = ["a.md", "b.md", "in/c.md", "in/d.md", "out/d.md"];

fn step() -> impl Strategy<Value = Step> {
    let server = 0..2_usize;
    let name = 0..NAMES.len();
    prop_oneof![
        2 => (server.clone(), name.clone()).prop_map(|(s, n)| Step::Create(s, n)),
        6 => (server.clone(), name.clone()).prop_map(|(s, n)| Step::Append(s, n)),
        2 => (server.clone(), name.clone(), name.clone()).prop_map(|(s, n, m)| Step::Rename(s, n, m)),
        1 => (server.clone(), any::<bool>()).prop_map(|(s, back)| Step::RenameFolder(s, back)),
        1 => (server.clone(), name.clone()).prop_map(|(s, n)| Step::Delete(s, n)),
        2 => server.clone().prop_map(Step::Undo),
        3 => (server.clone(), name).prop_map(|(s, n)| Step::Read(s, n)),
        1 => server.prop_map(Step::Restart),
        2 => prop_oneof![
            Just(CommitFault::Refused),
            Just(CommitFault::MadeWithoutAnswer),
            Just(CommitFault::LostWithoutAnswer)
        ].prop_map(Step::Fail),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Whatever happens, an answer agrees with the store, and so do the copies.
    #[test]
    fn copies_agree_with_the_store(steps in proptest::collection::vec(step(), 1..40)) {
        let store = store(&[("a.md", "# A\n\n[c](in/c.md)\n"), ("in/c.md", "# C\n")]);
        let mut servers = [Server::new(&store), Server::new(&store)];
        for (number, step) in steps.into_iter().enumerate() {
            let before = store.texts(TENANT);
            let outcome = match step.clone() {
                Step::Fail(fault) => {
                    store.fail([fault]);
                    continue;
                }
                Step::Restart(server) => {
                    servers[server] = Server::new(&store);
                    continue;
                }
                Step::Read(server, name) => {
                    let read = servers[server].call(FolderAccess::Read, |folder| {
                        folder.editor.view(&path(NAMES[name])).ok().map(|view| view.bytes().to_vec())
                    });
                    if let Ok(read) = read {
                        let stored = store.texts(TENANT).get(NAMES[name]).cloned();
                        prop_assert_eq!(read.map(|bytes| String::from_utf8(bytes).unwrap()), stored);
                    }
                    continue;
                }
                Step::Create(server, name) => {
                    servers[server].write(&create(NAMES[name], &format!("# N{number}\n")), None)
                }
                Step::Append(server, name) => {
                    servers[server].write(&replace(NAMES[name], "# ", &format!("s{number}\n\n# ")), None)
                }
                Step::Rename(server, name, to) => servers[server].write(
                    &Operation::RenameDocument(RenameDocument {
                        path: path(NAMES[name]),
                        new_path: path(NAMES[to]),
                        repair_links: true,
                    }),
                    None,
                ),
                Step::RenameFolder(server, back) => {
                    let (from, to) = if back { ("moved/x", "in") } else { ("in", "moved/x") };
                    let rename = RenameFolder { path: path(from), new_path: path(to) };
                    servers[server].write(&Operation::RenameFolder(rename), None)
                }
                Step::Delete(server, name) => servers[server].write(
                    &Operation::DeleteDocument(DeleteDocument { path: path(NAMES[name]), expected_hash: None }),
                    None,
                ),
                Step::Undo(server) => servers[server].undo(),
            };
            let after = store.texts(TENANT);
            match outcome {
                Ok(Ok(report)) => {
                    for document in &report.documents {
                        let stored = after.get(document.path.as_str()).map(|text| Digest::of(text.as_bytes()));
                        prop_assert_eq!(stored, document.hash, "{:?}", step);
                    }
                }
                Ok(Err(_)) | Err(SharedFolderError::Store { .. }) => prop_assert_eq!(before, after, "{:?}", step),
                Err(SharedFolderError::OutcomeUnknown { .. }) => {}
                Err(error) => prop_assert!(false, "{step:?}: {error}"),
            }
        }
        for server in &servers {
            // The last faults may still hit a commit of ids, which is then repeated.
            let files = (0..5).find_map(|_| {
                server.call(FolderAccess::Read, |folder| {
                    let mut files = BTreeMap::new();
                    collect(folder.editor.root().location(), "", &mut files);
                    files
                }).ok()
            });
            prop_assert_eq!(files, Some(store.texts(TENANT)));
        }
    }
}
