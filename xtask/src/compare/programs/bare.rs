//! Servers with one tool that does nothing: the cost of the protocol alone.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::{Client, Program, ProgramFacts, Reply, Tools, Workspace, command};
use crate::install::PythonEnvironment;

const FASTMCP: PythonEnvironment = PythonEnvironment {
    name: "fastmcp",
    // The newest version whose dependencies could all be fetched.
    packages: &[("fastmcp", "3.4.0")],
    options: &[],
};

pub(super) struct BarePython;

pub(super) struct BareRust;

impl Program for BarePython {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "fastmcp",
            name: "a bare FastMCP server",
            version: FASTMCP.packages[0].1,
            registry: "PyPI",
            purpose: "has one tool that does nothing: what any server in Python costs",
        }
    }

    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>> {
        FASTMCP.install(&tools.folder)
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        let mut command = command(&FASTMCP.python(&tools.folder), workspace);
        command.arg(tools.repo.root.join("xtask/compare/bare_server.py"));
        Ok(command)
    }

    fn nothing(&self, client: &mut Client) -> Result<Reply> {
        client.call("nothing", &json!({}))
    }
}

impl Program for BareRust {
    fn facts(&self) -> ProgramFacts {
        ProgramFacts {
            id: "rmcp",
            name: "a bare rmcp server",
            version: "3.8.0",
            registry: "`bench/src/bin/bare_server.rs`",
            purpose: "has one tool that does nothing: what any server with Sectile's protocol library costs",
        }
    }

    fn install(&self, tools: &Tools<'_>) -> Result<Option<String>> {
        let is_built = tools.sectile.with_file_name("bare_server").is_file();
        Ok((!is_built)
            .then(|| "`bare_server` is not beside `sectile`; `cargo build --release -p sectile-bench` makes it".to_owned()))
    }

    fn serve(&self, tools: &Tools<'_>, workspace: &Workspace) -> Result<Command> {
        Ok(command(
            &tools.sectile.with_file_name("bare_server"),
            workspace,
        ))
    }

    fn nothing(&self, client: &mut Client) -> Result<Reply> {
        client.call("nothing", &json!({}))
    }
}
