//! Servers of one store that are restarted one after the other: in order while clients edit, and killed when the store has a
//! change and the client has no answer yet. Each call of a client goes to another server, as behind a balancer.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use sectile_test_servers::RequestFault;
use serde_json::{Value, json};

use crate::fixture::{
    DeskClient, Era, Http, STATIC, TestDesk, initialize, sectile,
    tenants::{BUCKET, DATABASE, StoreServer, TenantServers},
    wait_for, wait_for_exit,
};

const SERVERS: usize = 3;
/// How often each server is restarted while clients edit.
const ROUNDS: usize = 2;
/// The clients over HTTP, by turns of each era, and those of each era with servers of their own on stdio.
const HTTP_CLIENTS: usize = 4;
/// How often each server is killed between a commit and its answer.
const KILLS: usize = 2;
const NOTES: [(&str, &str); 2] = [
    ("a.md", "# A\n\n## One\n\nStart.\n\n## Two\n\nStart.\n"),
    ("b.md", "# B\n\n## One\n\nStart.\n\n## Two\n\nStart.\n"),
];
const SECTIONS: [&str; 4] = ["a.md#One", "a.md#Two", "b.md#One", "b.md#Two"];

/// Where the servers are now: one that is started again has another port.
type Addresses = [Mutex<SocketAddr>];

/// A client over HTTP that sends each call to the next server.
struct WanderingClient<'s> {
    era: Era,
    addresses: &'s Addresses,
    /// Its session at each server, where the era has them.
    sessions: Vec<Option<String>>,
    turn: usize,
}

impl<'s> WanderingClient<'s> {
    fn new(era: Era, addresses: &'s Addresses, turn: usize) -> Self {
        Self {
            era,
            addresses,
            sessions: vec![None; addresses.len()],
            turn,
        }
    }

    /// Calls a tool at the next server. Returns its result, or `None` if there is no answer.
    fn try_call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        self.turn += 1;
        let at = self.turn % self.addresses.len();
        let address = *self.addresses[at].lock().unwrap();
        if self.era == Era::Handshake && self.sessions[at].is_none() {
            let opened = Http::try_post_with(address, self.era, &initialize(0), &[])?;
            let session = opened.header("Mcp-Session-Id")?;
            self.sessions[at] = Some(session.to_owned());
        }
        let session = self.sessions[at].as_deref();
        let headers: Vec<(&str, &str)> =
            session.iter().map(|one| ("Mcp-Session-Id", *one)).collect();
        let id = self.turn as u64;
        let message = self.era.call(id, tool, arguments.clone());
        let answer = Http::try_post_with(address, self.era, &message, &headers);
        let answer = answer.filter(|answer| answer.status == 200);
        let Some(answer) = answer else {
            // A server that was restarted does not know the session.
            self.sessions[at] = None;
            return None;
        };
        let message = answer.events().pop();
        let message = message.or_else(|| serde_json::from_str(&answer.body).ok())?;
        Some(message["result"].clone()).filter(Value::is_object)
    }

    /// Calls a tool until it is answered.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        for _ in 0..2_000 {
            match self.try_call(tool, arguments) {
                Some(result) if result["isError"] == false => return result,
                Some(result) => assert_passing(&result),
                None => thread::sleep(Duration::from_millis(10)),
            }
        }
        panic!("{tool} {arguments} was never answered");
    }
}

/// Fails unless a call that was refused may be repeated.
#[track_caller]
fn assert_passing(result: &Value) {
    let text = result["content"][0]["text"].as_str().unwrap();
    let code = text.split(':').next().unwrap();
    let passing = ["busy", "store_unavailable", "outcome_unknown"];
    assert!(passing.contains(&code), "{text}");
}

fn append(line: &str, section: &str) -> Value {
    json!({ "id": section, "new": line, "place": "append", "request_id": line })
}

/// A server of these settings.
fn serving(settings: &Path) -> Command {
    let mut command = sectile();
    command.args(["serve", "desk", "--config"]).arg(settings);
    command.envs([STATIC]);
    command
}

/// The servers that are restarted.
struct Servers<'a> {
    desk: &'a TestDesk,
    /// The file of their settings, which is written once.
    settings: PathBuf,
    all: Vec<Http<'a>>,
    addresses: Arc<Addresses>,
    /// The requests of the store that were answered when a server was killed last.
    hushed_after: usize,
}

impl<'a> Servers<'a> {
    fn start(desk: &'a TestDesk, store: &TenantServers) -> Self {
        let settings = desk.vault.config(&format!(
            "[server.limits]\nrequests_per_minute = 0\n{}",
            store.settings()
        ));
        let all: Vec<Http<'a>> = (0..SERVERS)
            .map(|_| Http::spawn(&desk.vault, serving(&settings)))
            .collect();
        let address = |server: &Http<'_>| Mutex::new(server.address());
        let addresses = all.iter().map(address).collect();
        Self {
            desk,
            settings,
            all,
            addresses,
            hushed_after: 0,
        }
    }

    fn start_again(&mut self, at: usize) {
        self.all[at] = Http::spawn(&self.desk.vault, serving(&self.settings));
        *self.addresses[at].lock().unwrap() = self.all[at].address();
    }

    /// Asks a server to end, and starts it again once it has.
    fn restart(&mut self, at: usize) {
        let id = self.all[at].child().id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(asked.success());
        assert!(wait_for_exit(self.all[at].child()).success());
        self.start_again(at);
    }

    fn kill(&mut self, at: usize) {
        self.all[at].child().kill().unwrap();
        self.all[at].child().wait().unwrap();
    }

    /// Calls a tool at one server, which must answer.
    #[track_caller]
    fn ask(&self, at: usize, tool: &str, arguments: Value) -> Value {
        let message = Era::Stateless.call(7, tool, arguments);
        let answer = self.all[at].post(Era::Stateless, &message);
        let result = answer.json()["result"].clone();
        assert_eq!(result["isError"], false, "{result}");
        result
    }

    /// All changes, as one server tells them.
    fn history(&self, at: usize) -> Vec<Value> {
        let mut changes = Vec::new();
        let mut arguments = json!({ "limit": 100 });
        loop {
            let answer = self.ask(at, "changes", arguments)["structuredContent"].clone();
            changes.extend(answer["changes"].as_array().unwrap().iter().cloned());
            match answer.get("next") {
                Some(next) => arguments = json!({ "limit": 100, "cursor": next }),
                None => return changes,
            }
        }
    }
}

/// Ends the clients, also when a test fails meanwhile.
struct ClientStop<'a>(&'a AtomicBool);

impl Drop for ClientStop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Edits that a client was told of, with the sections' ids.
type Acknowledged = Vec<(String, String)>;

/// Appends lines until `is_over`, at least a few. `call` calls a tool until it is answered.
fn edit_until(
    name: &str,
    is_over: &AtomicBool,
    call: &mut dyn FnMut(&str, &Value) -> Value,
) -> Acknowledged {
    let mut acknowledged = Vec::new();
    while acknowledged.len() < 3 || !is_over.load(Ordering::SeqCst) {
        let line = format!("zz{name}x{}.", acknowledged.len());
        let section = SECTIONS[acknowledged.len() % SECTIONS.len()];
        let result = call("edit", &append(&line, section));
        let id = result["structuredContent"]["id"].as_str().unwrap();
        acknowledged.push((line, id.to_owned()));
    }
    acknowledged
}

/// A client on stdio with two servers of its own, which it uses by turns and starts again now and then.
fn edit_on_stdio(
    (desk, settings): (&TestDesk, &Path),
    era: Era,
    is_over: &AtomicBool,
) -> Acknowledged {
    let open = || DeskClient::connect(desk, era, serving(settings), "test");
    let mut own = [open(), open()];
    let mut calls = 0;
    edit_until(&format!("stdio{era:?}"), is_over, &mut |tool, arguments| {
        for _ in 0..500 {
            calls += 1;
            if calls % 5 == 0 {
                own[calls % 2] = open();
            }
            let result = own[calls % 2].call(tool, arguments.clone());
            if result["isError"] == false {
                return result;
            }
            assert_passing(&result);
        }
        panic!("{arguments} was never answered");
    })
}

/// Makes the store carry out what it is asked to, and answer nothing.
trait SilentStore {
    /// Stops answering: at once, or after `after` more requests where requests are counted.
    fn hush(&self, after: usize);
    /// Answers again.
    fn answer_again(&self);
    /// The state of the tenant in the store, as seen without a server.
    fn state(&self) -> Vec<u8>;
}

impl SilentStore for StoreServer {
    fn hush(&self, after: usize) {
        match self {
            // A commit is on the disk, and waits for another server that does not exist.
            Self::Postgres(postgres) => {
                postgres.sql(
                    DATABASE,
                    "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
                );
                postgres.sql(DATABASE, "SELECT pg_reload_conf()");
            }
            Self::S3(s3) => s3.fail(after, usize::MAX, RequestFault::Lose),
        }
    }

    fn answer_again(&self) {
        match self {
            Self::Postgres(postgres) => {
                postgres.sql(DATABASE, "ALTER SYSTEM RESET synchronous_standby_names");
                postgres.sql(DATABASE, "SELECT pg_reload_conf()");
                wait_for("the commits to end", || {
                    (self.state() == b"0").then_some(())
                });
            }
            Self::S3(s3) => s3.heal(),
        }
    }

    fn state(&self) -> Vec<u8> {
        match self {
            Self::Postgres(postgres) => {
                let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
                postgres.sql(DATABASE, waiting).into_bytes()
            }
            Self::S3(s3) => {
                let keys = s3.keys(BUCKET);
                let head = keys.iter().find(|key| key.contains("heads/")).unwrap();
                s3.object(BUCKET, head).unwrap().to_vec()
            }
        }
    }
}

/// Sends edits to one server until it is killed when the store has one and the client has no answer. Returns that edit, and
/// those that were answered meanwhile.
fn kill_before_the_answer(
    servers: &mut Servers<'_>,
    store: &TenantServers,
    (at, era, name): (usize, Era, &str),
) -> (Value, Vec<String>) {
    let mut answered = Vec::new();
    // Requests of the store that get an answer before none does.
    for after in servers.hushed_after.. {
        // The copy is that of the newest revision, and the pool has a connection.
        servers.ask(at, "fetch", json!({ "id": "a.md" }));
        let line = format!("zz{name}x{after}.");
        let edit = append(&line, SECTIONS[after % SECTIONS.len()]);
        let address = [Mutex::new(servers.all[at].address())];
        let before = store.server.state();
        store.server.hush(after);
        let mut is_killed = false;
        let result = thread::scope(|scope| {
            let edit = &edit;
            let calling = scope.spawn(move || {
                let mut client = WanderingClient::new(era, &address, 0);
                client.try_call("edit", edit)
            });
            wait_for("an answer, or the commit", || {
                if store.server.state() != before {
                    servers.kill(at);
                    is_killed = true;
                }
                (is_killed || calling.is_finished()).then_some(())
            });
            calling.join().unwrap()
        });
        store.server.answer_again();
        if is_killed {
            servers.start_again(at);
        }
        match result {
            None if is_killed => {
                servers.hushed_after = after.saturating_sub(1);
                return (edit, answered);
            }
            None => panic!("{edit} was not answered"),
            Some(result) if result["isError"] == false => {
                // In PostgreSQL the setting may not have been in force yet; in a bucket that cannot be.
                assert!(after < 40, "no commit reached the store without an answer");
                answered.push(line);
            }
            Some(result) => {
                assert_passing(&result);
                // It is made once when it is repeated, whether it was made or not.
                let mut client = WanderingClient::new(era, &servers.addresses, after);
                client.call("edit", &edit);
                answered.push(line);
            }
        }
    }
    unreachable!("the numbers do not end")
}

/// Checks what all servers say in the end: each line once, the same history, and the ids of the sections.
fn check(
    servers: &Servers<'_>,
    lines: &[String],
    ids: &BTreeMap<String, String>,
    read: &dyn Fn(&str) -> String,
) {
    let text = NOTES.map(|(path, _)| read(path)).concat();
    for line in lines {
        assert_eq!(text.matches(line.as_str()).count(), 1, "{line} in {text}");
    }
    assert_eq!(text.matches("zz").count(), lines.len(), "{text}");
    let history = servers.history(0);
    let edits = history.iter().filter(|change| change["tool"] == "edit");
    // Each section was edited once before.
    assert_eq!(edits.count(), lines.len() + SECTIONS.len());
    for at in 0..SERVERS {
        assert_eq!(servers.history(at), history, "server {at}");
        for (section, id) in ids {
            let result = servers.ask(at, "fetch", json!({ "id": id }));
            let shown = result["content"][0]["text"].as_str().unwrap();
            let (path, heading) = section.split_once('#').unwrap();
            assert!(
                shown.contains(path) && shown.contains(&format!("## {heading}\n")),
                "{section}: {shown}"
            );
        }
    }
    // The newest change is undone by another server than the one that is asked about it.
    let newest = history[0]["change"].as_str().unwrap();
    servers.ask(1, "undo", json!({ "change": newest }));
    let histories: Vec<_> = (0..SERVERS).map(|at| servers.history(at)).collect();
    assert!(histories.iter().all(|one| *one == histories[0]));
    assert_eq!(histories[0].len(), history.len() + 1);
    let text = NOTES.map(|(path, _)| read(path)).concat();
    assert_eq!(text.matches("zz").count(), lines.len() - 1, "{text}");
}

#[test]
fn rolling_restarts_and_kills_before_the_answer_neither_lose_nor_repeat_an_edit() {
    for kind in TenantServers::KINDS {
        let desk = TestDesk::new(&NOTES);
        let store = TenantServers::start_with_notes(kind, &desk.vault);
        let mut servers = Servers::start(&desk, &store);
        let (addresses, settings) = (Arc::clone(&servers.addresses), servers.settings.clone());
        let ids: BTreeMap<String, String> = {
            let mut client = WanderingClient::new(Era::Stateless, &addresses, 0);
            let mut id = |section: &&str| {
                let edit = json!({ "id": section, "old": "Start.", "new": "Begun." });
                let result = client.call("edit", &edit);
                let id = result["structuredContent"]["id"].as_str().unwrap();
                ((*section).to_owned(), id.to_owned())
            };
            SECTIONS.iter().map(&mut id).collect()
        };
        let is_over = AtomicBool::new(false);
        let acknowledged: Acknowledged = thread::scope(|scope| {
            let (is_over, addresses, settings) = (&is_over, &addresses, &settings);
            let over_http = (0..HTTP_CLIENTS).map(|number| {
                scope.spawn(move || {
                    let mut client = WanderingClient::new(Era::BOTH[number % 2], addresses, number);
                    let name = format!("http{number}");
                    edit_until(&name, is_over, &mut |tool, arguments| {
                        client.call(tool, arguments)
                    })
                })
            });
            let mut clients: Vec<_> = over_http.collect();
            let own = (&desk, settings.as_path());
            clients
                .extend(Era::BOTH.map(|era| scope.spawn(move || edit_on_stdio(own, era, is_over))));
            let stop = ClientStop(is_over);
            for at in 0..SERVERS * ROUNDS {
                servers.restart(at % SERVERS);
            }
            drop(stop);
            let done = clients.into_iter().map(|client| client.join().unwrap());
            done.flatten().collect()
        });
        let mut lines = Vec::new();
        for (line, id) in acknowledged {
            assert!(ids.values().any(|known| *known == id), "{line} {id}");
            lines.push(line);
        }
        let rolled = lines.len();
        for number in 0..SERVERS * KILLS {
            let (at, era) = (number % SERVERS, Era::BOTH[number % 2]);
            let name = format!("kill{number}");
            let (edit, answered) = kill_before_the_answer(&mut servers, &store, (at, era, &name));
            lines.extend(answered);
            lines.push(edit["new"].as_str().unwrap().to_owned());
            // In the second round the clients give up; the store has their edits all the same.
            if number < SERVERS {
                WanderingClient::new(era, &addresses, at).call("edit", &edit);
            }
        }
        println!(
            "{kind}: {rolled} edits during restarts, {} in all",
            lines.len()
        );
        check(&servers, &lines, &ids, &|path| {
            store.text(&desk.vault, path)
        });
    }
}
