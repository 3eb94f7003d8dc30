//! The console of desks that a store keeps: pages of the tenants that a visitor is bound to, and of nobody else's.

use sectile_test_servers::Fault;
use serde_json::json;

use super::{
    Visitor,
    sign_in::{sign_in, try_sign_in},
};
use crate::{
    desk::callers::{call, key_with_role},
    fixture::{Http, STATIC, TestVault, sectile, tenants::TenantServers},
};

const PAGES: [&str; 5] = [
    "/documents",
    "/documents?id=plan.md",
    "/changes",
    "/search?q=work",
    "/calls",
];

/// Two tenants with a note each, and the keys of their people.
struct TwoTenants {
    vault: TestVault,
    store: TenantServers,
    ada: String,
    boss: String,
    eve: String,
}

impl TwoTenants {
    fn new(kind: &str) -> Self {
        let vault = TestVault::empty();
        vault.note("plan.md", "# Plan\n\nWork for acme.\n\n## Part\n\nMore.\n");
        let store = TenantServers::start(kind, &vault);
        store.import(&vault, "acme");
        vault.note("plan.md", "# Plan\n\nWork for globex.\n");
        vault.note("garden.md", "# Garden\n\nRoses.\n");
        store.import(&vault, "globex");
        Self {
            ada: key_with_role(&vault, "editor", "ada", &["acme"]),
            boss: key_with_role(&vault, "admin", "boss", &["acme"]),
            eve: key_with_role(&vault, "admin", "eve", &["globex"]),
            vault,
            store,
        }
    }

    fn serve(&self) -> Http<'_> {
        let settings = format!(
            "[server.auth]\nkeys_file = 'keys.toml'\n[server.limits]\nrequests_per_minute = 0\n{}",
            self.store.settings_for(None)
        )
        .replace("_timeout_ms = 4000", "_timeout_ms = 700")
        .replace("_timeout_ms = 2000", "_timeout_ms = 500")
        .replace("\ntimeout_ms = 3000", "\ntimeout_ms = 400");
        let mut command = sectile();
        command.args(["serve", "desk", "--config"]).envs([STATIC]);
        command.arg(self.vault.config(&settings));
        Http::spawn(&self.vault, command)
    }
}

fn all_pages(visitor: &Visitor<'_, '_>) -> String {
    PAGES.map(|path| visitor.page(path)).concat()
}

#[test]
fn visitors_see_their_tenant_on_every_page_and_no_other() {
    for kind in TenantServers::KINDS {
        let tenants = TwoTenants::new(kind);
        let server = tenants.serve();
        let TwoTenants { ada, boss, eve, .. } = &tenants;
        let edit = json!({ "id": "plan.md", "old": "Work for acme.", "new": "Work is done." });
        assert_eq!(call(&server, ada, "edit", &edit)["isError"], false);
        let search = json!({ "query": "roses" });
        assert_eq!(call(&server, eve, "search", &search)["isError"], false);
        let [ada, boss, eve] = [ada, boss, eve].map(|key| sign_in(&server, key));
        for visitor in [&ada, &boss] {
            let seen = all_pages(visitor);
            assert!(seen.contains("Work is done."), "{seen}");
            for word in ["globex", "Roses", "garden", ">eve<", "(key:eve)"] {
                assert!(!seen.contains(word), "{word}: {seen}");
            }
        }
        // An admin of a tenant sees the calls of its people, and those of nobody else.
        let calls = boss.page("/calls");
        assert!(
            calls.contains("(key:ada)") && !calls.contains("(key:eve)"),
            "{calls}"
        );
        let calls = eve.page("/calls");
        assert!(
            calls.contains("(key:eve)") && !calls.contains("(key:ada)"),
            "{calls}"
        );
        let seen = all_pages(&eve);
        assert!(
            seen.contains("Work for globex.") && !seen.contains("acme"),
            "{seen}"
        );
        assert_eq!(eve.get("/documents?id=acme:plan.md").status, 404);
    }
}

#[test]
fn what_a_form_undoes_on_one_server_is_undone_on_all() {
    for kind in TenantServers::KINDS {
        let tenants = TwoTenants::new(kind);
        let (one, other) = (tenants.serve(), tenants.serve());
        let edit = json!({ "id": "plan.md", "old": "Work for acme.", "new": "Work is done." });
        let done = call(&one, &tenants.ada, "edit", &edit);
        let change = done["structuredContent"]["change"].as_str().unwrap();
        let ada = sign_in(&other, &tenants.ada);
        assert!(ada.page("/changes").contains("is done"));
        let answer = ada.undo(change);
        assert_eq!(answer.status, 303, "{answer:?}");
        let read = json!({ "id": "plan.md" });
        let text = call(&one, &tenants.ada, "fetch", &read).to_string();
        assert!(text.contains("Work for acme."), "{text}");
        // Nobody undoes what belongs to another tenant.
        let eve = sign_in(&one, &tenants.eve);
        assert_eq!(eve.undo(change).status, 404);
    }
}

#[test]
fn a_store_that_is_away_is_a_notice_and_comes_back() {
    for kind in TenantServers::KINDS {
        let tenants = TwoTenants::new(kind);
        let server = tenants.serve();
        let ada = sign_in(&server, &tenants.ada);
        assert!(ada.page("/documents").contains("plan"));
        tenants.store.proxy.set(Fault::Refuse);
        let answer = ada.get("/documents");
        assert!(answer.status >= 500, "{answer:?}");
        assert!(answer.body.contains("store_unavailable"), "{answer:?}");
        assert!(!answer.body.contains("127.0.0.1"), "{answer:?}");
        // Who somebody is does not depend on the store.
        assert_eq!(try_sign_in(&server, &tenants.boss).status, 303);
        tenants.store.proxy.set(Fault::Pass);
        assert!(ada.page("/documents").contains("plan"));
    }
}
