//! Names of tenants that somebody hopes are paths or statements.

use serde_json::{Value, json};

use super::{ok, refused, server, vault_of};
use crate::fixture::{
    AUDIENCE, Era, Http, ISSUER, TOKEN_SECRET, claims,
    tenants::{TENANT, TenantServers},
    token,
};

const NAMES: [&str; 14] = [
    "../acme",
    "acme/../acme",
    "acme/",
    "/acme",
    "./acme",
    "acme%2F..",
    "ACME",
    " acme",
    "acme'; DROP SCHEMA sectile_desk CASCADE; --",
    "acme' OR 'a'='a",
    "acme\" --",
    "%",
    "acm%",
    "$(rm -rf acme)",
];

#[test]
fn names_made_of_paths_and_statements_lead_nowhere() {
    for kind in TenantServers::KINDS {
        let vault = vault_of(&[("plan.md", "# Plan\n\nWork.\n")]);
        let store = TenantServers::start_with_notes(kind, &vault);
        std::fs::write(vault.outside().join("secret"), TOKEN_SECRET).unwrap();
        let settings = format!(
            "[server.auth.tokens]\nsecret_file = 'outside/secret'\nissuer = '{ISSUER}'\naudience = ['{AUDIENCE}']\n\
             [server.limits]\nrequests_per_minute = 0\n{}",
            store.settings_for(None)
        );
        let http = Http::spawn(&vault, server(&vault, &settings));
        let call = |name: &str, tool: &str, arguments: Value| {
            let mut claims = claims("ada", "editor");
            claims["vaults"] = json!([name]);
            let bearer = format!("Bearer {}", token(&claims));
            let headers = [("Authorization", bearer.as_str()), ("X-Vault-Id", name)];
            let era = Era::Stateless;
            let answer = http.post_with(era, &era.call(7, tool, arguments), &headers);
            (answer.status, answer.body)
        };
        let calls = [
            ("fetch", json!({ "id": "plan.md" })),
            (
                "edit",
                json!({ "id": "plan.md", "old": "Work.", "new": "Gone." }),
            ),
            ("create", json!({ "path": "new.md", "text": "# New\n" })),
        ];
        let (status, text) = call(TENANT, "fetch", calls[0].1.clone());
        assert!(status == 200 && text.contains("Work."), "{text}");
        for name in NAMES {
            for (tool, arguments) in &calls {
                let like_nobody = call("nobody", tool, arguments.clone());
                let (status, text) = call(name, tool, arguments.clone());
                // A name that no vault can have is refused before the store is asked.
                assert!(
                    (400..500).contains(&status) || (status, text.clone()) == like_nobody,
                    "{name} {tool}: {status} {text}"
                );
                assert!(!text.contains("Work."), "{name}: {text}");
            }
            let (create, remove) = (["create", name], ["remove", name, "--yes"]);
            refused(&store, &vault, &create, "lower-case letters");
            refused(&store, &vault, &remove, "there is no tenant");
        }
        let listed = ok(&store, &vault, &["list", "--json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let tenants = listed["tenants"].as_array();
        assert_eq!(tenants.map(Vec::len), Some(1), "{listed}");
        assert_eq!(store.text(&vault, "plan.md"), "# Plan\n\nWork.\n");
    }
}
