//! How a server ends: its input does, a signal comes, or its client leaves.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    thread,
};

use serde_json::{Value, json};

use super::{
    ENDLESS, QUICK, SLOW, answers_to, connections::KeptAlive, ids, note, post, spawn, terminate,
};
use crate::fixture::{
    Era, Http, Stdio, TestVault, assert_nothing_leaks, initialize, wait_for, wait_for_exit,
};

/// A fault that gives a test time to act while a call runs.
const SHORT_SLEEP: (&str, &str) = ("SECTILE_FAULT", "sleep:get_note_outline:300");

#[test]
fn a_last_line_without_an_end_is_answered() {
    let vault = TestVault::sample();
    let call = Era::Handshake.call(1, QUICK, note());
    let input = format!("{}\n{call}", initialize(0));
    let answers = answers_to(&vault, &[], input.as_bytes());
    assert_eq!(ids(&answers), [json!(0), json!(1)], "{answers:?}");
    let input = Era::Stateless.call(1, QUICK, note()).to_string();
    let answers = answers_to(&vault, &[], input.as_bytes());
    assert_eq!(ids(&answers), [json!(1)], "{answers:?}");
}

#[test]
fn input_that_ends_after_the_first_message_is_still_answered() {
    let vault = TestVault::sample();
    let without_metadata = Era::Handshake.request(1, "tools/list", json!({}));
    let mut old = Era::Stateless.request(1, "tools/list", json!({}));
    old["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2024-11-05");
    for (case, line) in [
        ("initialize", initialize(1).to_string()),
        (
            "discover",
            Era::Stateless
                .request(1, "server/discover", json!({}))
                .to_string(),
        ),
        (
            "ping",
            Era::Handshake.request(1, "ping", json!({})).to_string(),
        ),
        ("no metadata", without_metadata.to_string()),
        ("a version that is not served", old.to_string()),
        ("not JSON", "{not json".to_owned()),
        ("a batch", "[]".to_owned()),
    ] {
        for end in ["\n", ""] {
            let answers = answers_to(&vault, &[], format!("{line}{end}").as_bytes());
            assert_eq!(answers.len(), 1, "{case}, then {end:?}: {answers:?}");
        }
    }
}

#[test]
fn calls_that_still_run_when_the_input_ends_are_answered() {
    let vault = TestVault::sample();
    for era in Era::BOTH {
        let mut input = match era {
            Era::Handshake => format!("{}\n", initialize(0)),
            Era::Stateless => String::new(),
        };
        for (id, tool) in [(1, SLOW), (2, QUICK), (3, SLOW)] {
            input += &format!("{}\n", era.call(id, tool, note()));
        }
        let answers = answers_to(&vault, &[SHORT_SLEEP], input.as_bytes());
        let calls: Vec<Value> = answers
            .into_iter()
            .filter(|answer| answer["id"] != 0)
            .collect();
        assert_eq!(ids(&calls), [json!(1), json!(2), json!(3)], "{era:?}");
        for answer in calls {
            assert_eq!(answer["result"]["isError"], false, "{era:?}: {answer}");
        }
    }
}

#[test]
fn a_signal_ends_the_server_at_any_time() {
    let vault = TestVault::sample();
    for case in ["fresh", "idle", "busy"] {
        let mut server = Stdio::start_with(&vault, None, &[ENDLESS]);
        wait_for("the server to say that it serves", || {
            server.log().contains("serving on stdio").then_some(())
        });
        if case != "fresh" {
            server.exchange(&initialize(0));
        }
        if case == "busy" {
            server.send_line(&Era::Handshake.call(1, SLOW, note()).to_string());
            // The ping is read after the call, so the call is under way.
            server.exchange(&Era::Handshake.request(2, "ping", json!({})));
        }
        terminate(server.process_id());
        wait_for("the server to end", || server.has_ended().then_some(()));
        assert_eq!(server.finish().code(), Some(0), "{case}");
    }
}

#[test]
fn a_client_that_stops_reading_does_not_leave_the_process_behind() {
    let vault = TestVault::sample();
    for leaves_input_open in [false, true] {
        let mut child = spawn(&vault, &[]);
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        writeln!(input, "{}", initialize(0)).unwrap();
        output.read_line(&mut String::new()).unwrap();
        drop(output);
        // The server may be gone after any of these, and then they cannot all be written.
        let written = (1..=3).try_for_each(|id| {
            let call = Era::Handshake.call(id, QUICK, note());
            writeln!(input, "{call}")
        });
        let still_open = leaves_input_open.then_some(input);
        let status = wait_for_exit(&mut child);
        assert!(status.code().is_some(), "{status}, {written:?}");
        drop(still_open);
    }
}

#[test]
fn a_call_that_runs_when_the_signal_comes_is_answered() {
    let vault = TestVault::sample();
    let config = vault.config("[server.limits]\nmax_in_flight = 1\nmax_waiting = 0\n");
    let sleep = ("SECTILE_FAULT", "sleep:get_note_outline:1500");
    for era in Era::BOTH {
        let mut server = Http::start_with(&vault, Some(&config), &[sleep]);
        let process_id = server.child().id();
        let answer = thread::scope(|scope| {
            let call = scope.spawn(|| {
                // Until the asking below does not happen to have the only place.
                wait_for("a place", || {
                    let answer = post(&server, era, &era.call(1, SLOW, note()));
                    (!answer.body.contains("busy")).then_some(answer)
                })
            });
            wait_for("the only place to be taken", || {
                let answer = post(&server, era, &era.call(2, QUICK, note())).json();
                (answer["error"]["data"]["kind"] == "busy").then_some(())
            });
            terminate(process_id);
            call.join().unwrap()
        });
        assert_eq!(answer.status, 200, "{era:?}: {answer:?}");
        assert_eq!(
            answer.json()["result"]["isError"],
            false,
            "{era:?}: {answer:?}"
        );
        assert_eq!(wait_for_exit(server.child()).code(), Some(0), "{era:?}");
    }
}

#[test]
fn an_idle_server_ends_at_a_signal_although_connections_are_open() {
    let vault = TestVault::sample();
    let mut server = Http::start(&vault);
    let mut connection = KeptAlive::open(&server);
    connection.exchange(&Era::Handshake.request(1, "tools/list", json!({})));
    terminate(server.child().id());
    assert_eq!(wait_for_exit(server.child()).code(), Some(0));
}

/// A pipe holds 64 kB. A server that waits for room in it would stop here.
#[test]
#[cfg(target_os = "linux")]
fn a_log_that_nobody_reads_does_not_stop_the_server() {
    let vault = TestVault::sample();
    let mut server = spawn(&vault, &[]);
    let mut input = server.stdin.take().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    for id in 1..=1500 {
        let call = Era::Stateless.call(id, QUICK, note());
        input.write_all(format!("{call}\n").as_bytes()).unwrap();
        let line = answers.next().unwrap().unwrap();
        assert_nothing_leaks(&line, &vault, "stdout");
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id);
    }
    drop(input);
    assert!(wait_for_exit(&mut server).success());
    let mut log = String::new();
    server.stderr.unwrap().read_to_string(&mut log).unwrap();
    assert_nothing_leaks(&log, &vault, "stderr");
}
