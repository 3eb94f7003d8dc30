//! `sectile tools`: the contract of the worlds, read from their tables.

use clap::ValueEnum as _;
use serde_json::{Value, json};

use super::{
    args::ToolsArgs,
    ui::{CliError, HEADING, Styled, aligned, print, wants_json},
};
use crate::{
    mcp::{ToolCard, WorldCard},
    worlds,
};

pub(super) fn run(args: &ToolsArgs) -> Result<(), CliError> {
    let wanted = args.world.and_then(|world| world.to_possible_value());
    let worlds: Vec<WorldCard> = worlds::cards()
        .into_iter()
        .filter(|world| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.get_name() == world.name)
        })
        .collect();
    if wants_json(args.json) {
        let listing: Vec<Value> = worlds.iter().map(world_json).collect();
        return print(format_args!("{}\n", Value::Array(listing)));
    }
    for world in &worlds {
        let rows: Vec<(String, String)> = world
            .tools
            .iter()
            .map(|tool| {
                (
                    tool.name.clone(),
                    format!("{:<11} {}", tool.access.name(), tool.description),
                )
            })
            .collect();
        print(format_args!(
            "{}\n{}",
            Styled(HEADING, world.name),
            aligned(&rows)
        ))?;
    }
    Ok(())
}

fn world_json(world: &WorldCard) -> Value {
    let tools: Vec<Value> = world.tools.iter().map(tool_json).collect();
    json!({ "world": world.name, "tools": tools })
}

fn tool_json(tool: &ToolCard) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "access": tool.access.name(),
        "idempotent": tool.idempotent,
        "open_world": tool.open_world,
        "input_schema": *tool.input,
        "output_schema": *tool.output,
    })
}
