//! A server of the docs world on documents of a test, and a client of it.

use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Era, Http, Stdio, TestVault, initialize, sectile};

/// Documents and settings of a test.
pub(super) struct Library {
    vault: TestVault,
    settings: String,
}

/// Three documents with a role each, and one without.
pub(super) const SAMPLE: [(&str, &str); 4] = [
    (
        "why.md",
        "---\nrole: reasoning\n---\n# Why it works\n\nThe mental model of lanes.\n\n## Trust lanes\n\nA lane is verified or asserted.\n\n## Fences\n\n```\n## Not a heading about zebras\n```\n",
    ),
    (
        "which.md",
        "---\nrole: decision\n---\n# Which tool\n\nChoose a tool.\n\n## Precheck\n\nUse precheck to test a lane without a record.\n\n### Inputs\n\nTakes max_doc_bytes and a ToolSpec.\n\n## Live\n\n### Inputs\n\nTakes a run id.\n",
    ),
    (
        "names.md",
        "---\nrole: ontology\n---\n# Names\n\nAll names.\n\n## Comparators\n\nThe comparator, and what it compares.\n\n#### Deeper\n\nStays inside: quagga.\n",
    ),
    (
        "steps.md",
        "# Steps\n\nHow to do it.\n\n## Empty\n\n## Lane recipe\n\nBuild a lane.\r\nThen test it.\n",
    ),
];

pub(super) const SEARCH: &str = "sectile_docs_search";

impl Library {
    pub(super) fn new(documents: &[(&str, &str)], settings: &str) -> Self {
        let vault = TestVault::empty();
        for (path, text) in documents {
            vault.note(path, text);
        }
        let settings =
            format!("{settings}\n[docs]\ninclude_default_docs = false\nextra_paths = ['vault']\n");
        Self { vault, settings }
    }

    /// The sample, with settings before the `[docs]` table.
    pub(super) fn sample(settings: &str) -> Self {
        Self::new(&SAMPLE, settings)
    }

    /// The sample, with more keys of the `[docs]` table.
    pub(super) fn with(docs: &str) -> Self {
        Self::sample("").and(docs)
    }

    /// The same, with more keys of the `[docs]` table.
    pub(super) fn and(mut self, docs: &str) -> Self {
        self.settings.push_str(docs);
        self
    }

    pub(super) fn vault(&self) -> &TestVault {
        &self.vault
    }

    pub(super) fn command(&self) -> Command {
        let mut command = sectile();
        command.args(["serve", "docs", "--config"]);
        command.arg(self.vault.config(&self.settings));
        command
    }

    pub(super) fn open(&self) -> Client<'_> {
        self.open_in(Era::Handshake)
    }

    pub(super) fn open_in(&self, era: Era) -> Client<'_> {
        Client::new(&self.vault, self.command(), era)
    }

    pub(super) fn http(&self) -> Http<'_> {
        Http::spawn(&self.vault, self.command())
    }
}

pub(super) struct Client<'a> {
    pub(super) server: Stdio<'a>,
    era: Era,
    /// Notices that came before an answer.
    pub(super) notices: Vec<Value>,
}

impl<'a> Client<'a> {
    pub(super) fn new(vault: &'a TestVault, command: Command, era: Era) -> Self {
        let mut server = Stdio::spawn(vault, command);
        if era == Era::Handshake {
            let answer = server.exchange(&initialize(0));
            assert!(answer["result"].is_object(), "{answer}");
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            server.send_line(&initialized.to_string());
        }
        Self {
            server,
            era,
            notices: Vec::new(),
        }
    }

    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let message = self.era.request(7, method, params);
        self.server.send_line(&message.to_string());
        loop {
            let line: Value = serde_json::from_str(&self.server.receive_line()).unwrap();
            match line["id"].is_null() {
                true => self.notices.push(line),
                false => return line,
            }
        }
    }

    /// Every byte of an answer.
    pub(super) fn bytes(&mut self, method: &str, params: Value) -> String {
        let message = self.era.request(7, method, params);
        self.server.send_line(&message.to_string());
        self.server.receive_line()
    }

    pub(super) fn call(&mut self, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": SEARCH, "arguments": arguments }),
        )
    }

    /// What a search answers; it must succeed.
    pub(super) fn search(&mut self, arguments: Value) -> Value {
        let answer = self.call(arguments);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// The URIs of the sections that a query finds.
    pub(super) fn found(&mut self, query: &str) -> Vec<String> {
        uris(&self.search(json!({ "query": query })))
    }

    pub(super) fn tool_names(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        tools.iter().map(|tool| text(&tool["name"])).collect()
    }
}

pub(super) fn uris(answer: &Value) -> Vec<String> {
    let sections = answer["sections"].as_array().unwrap();
    sections
        .iter()
        .map(|section| text(&section["uri"]))
        .collect()
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
