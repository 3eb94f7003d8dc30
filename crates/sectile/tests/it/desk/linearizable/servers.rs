//! The same for a tenant that several servers edit.

use std::{sync::Barrier, thread};

use super::{
    CLIENTS, Caller, DOCUMENTS, Recorder, SEED, calls, judge, over_http, path, start, text,
};
use crate::{
    fixture::{Era, Http, STATIC, TestVault, sectile, tenants::TenantServers},
    notebook::dice::Dice,
};

/// Servers that share the tenant.
const SERVERS: usize = 3;

#[test]
fn clients_of_several_servers_see_one_order_of_all_edits_in_every_store() {
    println!("seed {SEED:#x}, {} calls", calls());
    for kind in TenantServers::KINDS {
        let vault = TestVault::empty();
        for document in 0..DOCUMENTS {
            vault.note(&path(document), text(&start(document)));
        }
        let store = TenantServers::start_with_notes(kind, &vault);
        let servers: Vec<Http<'_>> = (0..SERVERS)
            .map(|_| {
                let mut command = sectile();
                command.args(["serve", "desk", "--config"]).envs([STATIC]);
                let settings = format!(
                    "[server.limits]\nrequests_per_minute = 0\n{}",
                    store.settings()
                );
                command.arg(vault.config(&settings));
                Http::spawn(&vault, command)
            })
            .collect();
        let recorder = Recorder::default();
        let each = calls() / (4 * CLIENTS);
        let ready = Barrier::new(CLIENTS);
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (servers, recorder, ready) = (&servers, &recorder, &ready);
                scope.spawn(move || {
                    let era = Era::BOTH[client / 2 % 2];
                    // Each call goes to another server, as behind a balancer.
                    let mut all: Vec<_> = servers
                        .iter()
                        .map(|server| over_http(server, era))
                        .collect();
                    let mut turn = client;
                    let mut ask = |tool: &str, arguments| {
                        turn += 1;
                        all[turn % SERVERS](tool, arguments)
                    };
                    let mut caller = Caller {
                        name: client.to_string(),
                        dice: Dice::new(SEED + client as u64),
                        words: 0,
                        recorder,
                        ask: &mut ask,
                    };
                    ready.wait();
                    caller.play(each);
                });
            }
        });
        let (steps, refused, busy) =
            judge(recorder, &|document| store.text(&vault, &path(document)));
        println!("{kind}: {steps} steps, {refused} refused, {busy} busy");
        // Clients got in each other's way, or nothing was tested.
        assert!(refused > 0 && busy * 10 < steps as u64, "{refused} {busy}");
    }
}
