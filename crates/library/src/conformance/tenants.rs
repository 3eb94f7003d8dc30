//! The rules that all stores of tenants share.

use std::{collections::BTreeMap, thread};

use sectile_markdown::{Digest, NotePath};

use super::path;
use crate::tenants::{
    CopiedFile, FileWrite, KnownTenant, LogChange, LogName, TenantCommit, TenantCommitOutcome,
    TenantError, TenantFile, TenantRevision, TenantStore, TenantSummary, TenantUpdate,
};

/// Names that are no names of tenants, among them parts of paths and of statements.
const BAD_NAMES: &[&str] = &[
    "",
    "*",
    "..",
    ".",
    "a/b",
    "a b",
    "A",
    "é",
    "a'; DROP TABLE tenant; --",
    "a\0",
    "a\n",
    "a%2fb",
    "x123456789012345678901234567890123",
];

/// Checks an empty store against every shared rule.
///
/// # Panics
/// When the store breaks a rule.
pub fn check_tenant_store(store: &dyn TenantStore) {
    let check = TenantCheck { store };
    check.names();
    check.commits();
    check.logs();
    check.removed_files();
    check.same_commit_twice();
    check.tenants_are_apart();
    check.one_of_many_wins();
    check.created_again();
}

struct TenantCheck<'a> {
    store: &'a dyn TenantStore,
}

/// Returns the write of a file; `None` removes it.
fn write(name: &str, text: Option<&str>) -> FileWrite {
    let content = text.map(|text| {
        let state = CopiedFile {
            digest: Digest::of(text.as_bytes()),
            bytes: text.len() as u64,
            modified: 1_000,
        };
        (state, text.as_bytes().to_vec())
    });
    FileWrite {
        path: path(name),
        content,
    }
}

fn commit(id: &str, files: Vec<FileWrite>, logs: Vec<(LogName, LogChange)>) -> TenantCommit {
    TenantCommit {
        id: id.to_owned(),
        files,
        logs,
    }
}

fn known(revision: &TenantRevision, logs: &[(LogName, u64, u64)]) -> KnownTenant {
    KnownTenant {
        revision: Some(revision.clone()),
        logs: logs
            .iter()
            .map(|(log, replaced_at, len)| (*log, (*replaced_at, *len)))
            .collect(),
    }
}

impl TenantCheck<'_> {
    fn create(&self, tenant: &str) -> TenantRevision {
        assert_eq!(self.store.create(tenant), Ok(()), "{tenant}");
        self.revision(tenant)
    }

    fn remove(&self, tenant: &str) {
        assert_eq!(self.store.remove(tenant, &|| false), Ok(()), "{tenant}");
    }

    #[track_caller]
    fn revision(&self, tenant: &str) -> TenantRevision {
        match self.store.revision(tenant, &|| false) {
            Ok(revision) => revision,
            Err(error) => panic!("{tenant}: {error}"),
        }
    }

    #[track_caller]
    fn commit(&self, tenant: &str, base: &TenantRevision, commit: &TenantCommit) -> TenantRevision {
        match self.store.commit(tenant, base, commit) {
            Ok(TenantCommitOutcome::Committed(revision)) => revision,
            other => panic!("{tenant}: {other:?}"),
        }
    }

    #[track_caller]
    fn update(&self, tenant: &str, known: &KnownTenant) -> TenantUpdate {
        match self.store.update(tenant, known, &|| false) {
            Ok(update) => update,
            Err(error) => panic!("{tenant}: {error}"),
        }
    }

    /// Returns the files of a tenant with their text.
    #[track_caller]
    fn files(&self, tenant: &str) -> BTreeMap<String, String> {
        let update = self.update(tenant, &KnownTenant::default());
        assert!(update.is_complete);
        let wanted: Vec<(NotePath, Digest)> = update
            .files
            .iter()
            .filter_map(|file| Some((file.path.clone(), file.state?.digest)))
            .collect();
        assert_eq!(
            wanted.len(),
            update.files.len(),
            "a complete list has no removed files"
        );
        let Ok(found) = self.store.read(tenant, &wanted, &|| false) else {
            panic!("the files of {tenant} cannot be read");
        };
        let texts = found.into_iter().flatten();
        let texts = texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let names = wanted.iter().map(|(path, _)| path.to_string());
        names.zip(texts).collect()
    }

    fn names(&self) {
        assert_eq!(self.store.ready(), Ok(()));
        assert_eq!(self.store.tenants(&|| false), Ok(Vec::new()));
        let base = TenantRevision {
            number: 1,
            commit: "none".to_owned(),
        };
        let nothing = commit("nothing", Vec::new(), Vec::new());
        for name in BAD_NAMES.iter().chain(&["none"]) {
            let missing = || TenantError::NotFound;
            assert_eq!(
                self.store.revision(name, &|| false),
                Err(missing()),
                "{name:?}"
            );
            assert_eq!(
                self.store.remove(name, &|| false),
                Err(missing()),
                "{name:?}"
            );
            assert_eq!(
                self.store.commit(name, &base, &nothing),
                Err(missing()),
                "{name:?}"
            );
            assert_eq!(
                self.store
                    .read(name, &[(path("a.md"), Digest::of(b"a"))], &|| false)
                    .map(|found| found.iter().flatten().count())
                    .unwrap_or_default(),
                0
            );
            let update = self.store.update(name, &KnownTenant::default(), &|| false);
            assert_eq!(update.err(), Some(missing()), "{name:?}");
        }
        for name in BAD_NAMES {
            assert!(self.store.create(name).is_err(), "{name:?}");
        }
        let first = self.create("a-b_1");
        assert_eq!(self.store.create("a-b_1"), Err(TenantError::Exists));
        assert_eq!(self.revision("a-b_1"), first);
        assert!(self.files("a-b_1").is_empty());
        self.remove("a-b_1");
        assert_eq!(self.store.tenants(&|| false), Ok(Vec::new()));
    }

    fn commits(&self) {
        let first = self.create("one");
        let writes = vec![write("b.md", Some("B")), write("in/a.md", Some("A"))];
        let second = self.commit("one", &first, &commit("c1", writes, Vec::new()));
        assert_eq!(second.number, first.number + 1);
        assert_eq!(second.commit, "c1");
        assert_eq!(self.revision("one"), second);
        // On an older revision, nothing happens.
        let late = commit("c2", vec![write("b.md", Some("late"))], Vec::new());
        let behind = self.store.commit("one", &first, &late);
        assert_eq!(behind, Ok(TenantCommitOutcome::Behind));
        let forged = TenantRevision {
            commit: "other".to_owned(),
            ..second.clone()
        };
        let behind = self.store.commit("one", &forged, &late);
        assert_eq!(behind, Ok(TenantCommitOutcome::Behind));
        let expected = [("b.md", "B"), ("in/a.md", "A")];
        let expected: BTreeMap<String, String> = expected
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into();
        assert_eq!(self.files("one"), expected);
        // What a copy has already is not sent again.
        let same = self.update("one", &known(&second, &[]));
        assert!(!same.is_complete && same.files.is_empty() && same.logs.is_empty());
        let third = self.commit(
            "one",
            &second,
            &commit("c3", vec![write("b.md", Some("BB"))], Vec::new()),
        );
        let news = self.update("one", &known(&second, &[]));
        assert_eq!(news.revision, third);
        let state = CopiedFile {
            digest: Digest::of(b"BB"),
            bytes: 2,
            modified: 1_000,
        };
        let changed = TenantFile {
            path: path("b.md"),
            state: Some(state),
        };
        assert_eq!((news.is_complete, news.files), (false, vec![changed]));
        // Bytes that are no longer there are not replaced by others.
        let asked = [
            (path("b.md"), Digest::of(b"B")),
            (path("in/a.md"), Digest::of(b"A")),
        ];
        let read = self.store.read("one", &asked, &|| false);
        let Ok(read) = read else {
            panic!("the files cannot be read");
        };
        assert_eq!(read[1].as_deref(), Some(&b"A"[..]));
        assert!(read[0].as_deref().is_none_or(|bytes| bytes == b"B"));
        // A revision that nobody made is not believed.
        let unknown = self.update("one", &known(&forged, &[]));
        assert!(unknown.is_complete && unknown.files.len() == 2);
        let summary = TenantSummary {
            name: "one".to_owned(),
            revision: third.number,
            files: 2,
            bytes: 3,
        };
        assert_eq!(self.store.tenants(&|| false), Ok(vec![summary]));
        self.remove("one");
    }

    fn logs(&self) {
        let append = |text: &str| LogChange::Append(text.as_bytes().to_vec());
        let first = self.create("one");
        let lines = vec![
            (LogName::Journal, append("one\n")),
            (LogName::Ids, append("i\n")),
        ];
        let second = self.commit("one", &first, &commit("c1", Vec::new(), lines));
        let lines = vec![(LogName::Journal, append("two\n"))];
        let third = self.commit("one", &second, &commit("c2", Vec::new(), lines));
        let whole = self.update("one", &KnownTenant::default());
        let mut logs: Vec<(LogName, LogChange)> = Vec::new();
        let mut had = Vec::new();
        for update in whole.logs {
            let len = update.change.bytes().len() as u64;
            had.push((update.log, update.replaced_at, len));
            logs.push((update.log, update.change));
        }
        logs.sort_by_key(|(log, _)| *log);
        assert_eq!(
            logs,
            [
                (LogName::Journal, LogChange::Replace(b"one\ntwo\n".to_vec())),
                (LogName::Ids, LogChange::Replace(b"i\n".to_vec())),
            ]
        );
        assert!(self.update("one", &known(&third, &had)).logs.is_empty());
        let shorter: Vec<(LogName, u64, u64)> = had
            .iter()
            .map(|(log, at, len)| (*log, *at, (*len).min(4)))
            .collect();
        let news = self.update("one", &known(&second, &shorter)).logs;
        assert_eq!(news.len(), 1);
        assert_eq!(
            (news[0].log, &news[0].change),
            (LogName::Journal, &append("two\n"))
        );
        // The copy that wrote the first line may not know that a log counts as replaced by then.
        let own = [(LogName::Journal, 0, 4), (LogName::Ids, 0, 2)];
        let mut journal = b"one\n".to_vec();
        for news in self.update("one", &known(&second, &own)).logs {
            match (news.log, news.change) {
                (LogName::Journal, LogChange::Append(bytes)) => journal.extend(bytes),
                (LogName::Journal, LogChange::Replace(bytes)) => journal = bytes,
                (LogName::Ids, change) => assert_eq!(change, LogChange::Replace(b"i\n".to_vec())),
            }
        }
        assert_eq!(journal, b"one\ntwo\n");
        // A log that was replaced is sent whole, even to a copy with as many bytes.
        let lines = vec![(LogName::Journal, LogChange::Replace(b"another\n".to_vec()))];
        let fourth = self.commit("one", &third, &commit("c3", Vec::new(), lines));
        let news = self.update("one", &known(&third, &had)).logs;
        assert_eq!(news.len(), 1);
        assert_eq!(news[0].replaced_at, fourth.number);
        assert_eq!(news[0].change, LogChange::Replace(b"another\n".to_vec()));
        let lines = vec![(LogName::Journal, append("more\n"))];
        let fifth = self.commit("one", &fourth, &commit("c4", Vec::new(), lines));
        let had = [
            (LogName::Journal, fourth.number, 8),
            (LogName::Ids, second.number, 2),
        ];
        let news = self.update("one", &known(&fourth, &had)).logs;
        let journal = news.iter().find(|news| news.log == LogName::Journal);
        assert_eq!(journal.map(|news| &news.change), Some(&append("more\n")));
        assert_eq!(self.revision("one"), fifth);
        self.remove("one");
    }

    fn removed_files(&self) {
        let first = self.create("one");
        let writes = vec![write("a.md", Some("A")), write("b.md", Some("B"))];
        let second = self.commit("one", &first, &commit("c1", writes, Vec::new()));
        let writes = vec![write("a.md", None), write("none.md", None)];
        let third = self.commit("one", &second, &commit("c2", writes, Vec::new()));
        let news = self.update("one", &known(&second, &[]));
        assert!(!news.is_complete);
        let gone = news.files.iter().find(|file| file.path == path("a.md"));
        assert_eq!(gone.map(|file| file.state), Some(None));
        assert_eq!(self.files("one").keys().collect::<Vec<_>>(), ["b.md"]);
        let again = commit("c3", vec![write("a.md", Some("again"))], Vec::new());
        self.commit("one", &third, &again);
        assert_eq!(self.files("one")["a.md"], "again");
        let summary = self.store.tenants(&|| false).unwrap_or_default();
        assert_eq!((summary[0].files, summary[0].bytes), (2, 6));
        self.remove("one");
    }

    /// A commit whose answer was lost is sent again, perhaps after others have been made.
    fn same_commit_twice(&self) {
        let first = self.create("one");
        let append = commit(
            "c1",
            vec![write("a.md", Some("A"))],
            vec![(LogName::Journal, LogChange::Append(b"line\n".to_vec()))],
        );
        let second = self.commit("one", &first, &append);
        assert_eq!(self.commit("one", &first, &append), second);
        let other = commit("c2", vec![write("a.md", Some("AA"))], Vec::new());
        let third = self.commit("one", &second, &other);
        assert_eq!(self.commit("one", &first, &append), second);
        assert_eq!(self.revision("one"), third);
        assert_eq!(self.files("one")["a.md"], "AA");
        let logs = self.update("one", &KnownTenant::default()).logs;
        assert_eq!(logs[0].change.bytes(), b"line\n");
        self.remove("one");
    }

    fn tenants_are_apart(&self) {
        let (one, two) = (self.create("one"), self.create("two"));
        let of_one = commit("c1", vec![write("secret.md", Some("one"))], Vec::new());
        self.commit("one", &one, &of_one);
        assert!(self.files("two").is_empty());
        let asked = [(path("secret.md"), Digest::of(b"one"))];
        let read = self.store.read("two", &asked, &|| false);
        assert!(read.is_ok_and(|found| found == [None]));
        // The same id of a commit is another commit in another tenant.
        let of_two = commit("c1", vec![write("secret.md", Some("two"))], Vec::new());
        self.commit("two", &two, &of_two);
        assert_eq!(self.files("one")["secret.md"], "one");
        assert_eq!(self.files("two")["secret.md"], "two");
        self.remove("one");
        assert_eq!(self.files("two")["secret.md"], "two");
        self.remove("two");
    }

    fn one_of_many_wins(&self) {
        let mut base = self.create("one");
        for round in 0..4 {
            let outcomes: Vec<TenantCommitOutcome> = thread::scope(|scope| {
                let attempts: Vec<_> = (0..4)
                    .map(|writer| {
                        let base = base.clone();
                        scope.spawn(move || {
                            let text = format!("{round} {writer}");
                            let writes = vec![write("a.md", Some(&text))];
                            let id = format!("r{round}w{writer}");
                            let commit = commit(&id, writes, Vec::new());
                            self.store.commit("one", &base, &commit)
                        })
                    })
                    .collect();
                let joined = attempts.into_iter().map(|attempt| attempt.join());
                joined.flatten().flatten().collect()
            });
            assert_eq!(outcomes.len(), 4, "every attempt has an outcome");
            let winners = outcomes.iter().filter_map(|outcome| match outcome {
                TenantCommitOutcome::Committed(revision) => Some(revision),
                TenantCommitOutcome::Behind => None,
            });
            let winners: Vec<&TenantRevision> = winners.collect();
            assert_eq!(winners.len(), 1, "{outcomes:?}");
            let writer = winners[0].commit.rsplit('w').next().unwrap_or_default();
            assert_eq!(self.files("one")["a.md"], format!("{round} {writer}"));
            base = winners[0].clone();
        }
        self.remove("one");
    }

    /// A copy of a tenant that was removed is not taken for one of its successor.
    fn created_again(&self) {
        let first = self.create("one");
        let second = self.commit(
            "one",
            &first,
            &commit("c1", vec![write("a.md", Some("A"))], Vec::new()),
        );
        self.remove("one");
        thread::sleep(std::time::Duration::from_millis(2));
        let again = self.create("one");
        assert_ne!(again, first);
        let late = commit("c2", vec![write("a.md", Some("late"))], Vec::new());
        for base in [&first, &second] {
            let outcome = self.store.commit("one", base, &late);
            assert_eq!(outcome, Ok(TenantCommitOutcome::Behind));
        }
        let update = self.update("one", &known(&second, &[]));
        assert!(update.is_complete && update.files.is_empty() && update.logs.is_empty());
        self.remove("one");
    }
}
