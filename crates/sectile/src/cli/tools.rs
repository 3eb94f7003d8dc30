//! `sectile tools`: the contract of the worlds, read from their tables.

use sectile_mcp::{
    Access, ToolCard, WorldCard,
    access::{AccessTarget, Role},
};
use serde_json::{Value, json};

use super::{
    args::{RoleName, ToolsArgs},
    ui::{CliError, DIM, HEADING, StyledText, aligned, print},
};
use crate::{
    config::{self, AccessSettings},
    worlds,
};

pub(super) fn run(args: &ToolsArgs) -> Result<(), CliError> {
    let worlds: Vec<WorldCard> = cards(args)?
        .into_iter()
        .filter(|world| args.world.is_none_or(|wanted| wanted.name == world.name))
        .collect();
    if args.json {
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
            StyledText(HEADING, world.name),
            aligned(&rows)
        ))?;
        if rows.is_empty() {
            print(format_args!("  {}\n", StyledText(DIM, "nothing")))?;
        }
    }
    Ok(())
}

/// Returns every world with its tools, or with those that a role may use.
fn cards(args: &ToolsArgs) -> Result<Vec<WorldCard>, CliError> {
    let Some(role) = args.role else {
        return Ok(worlds::cards());
    };
    let file = args.config.clone().or_else(config::named_config_file);
    let loaded = config::load(file.as_deref(), &[])?;
    let roles = AccessSettings::roles(&loaded)?;
    let mut worlds = worlds::cards_with(&loaded.raw.worlds);
    for world in &mut worlds {
        let name = world.name;
        world.tools.retain(|tool| {
            let thing = AccessTarget {
                world: name,
                name: &tool.name,
                family: None,
                changes: tool.access != Access::Read,
            };
            roles.allows(role.into(), thing)
        });
    }
    Ok(worlds)
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Self {
        match role {
            RoleName::Viewer => Self::Viewer,
            RoleName::Editor => Self::Editor,
            RoleName::Evaluator => Self::Evaluator,
            RoleName::Admin => Self::Admin,
        }
    }
}

fn world_json(world: &WorldCard) -> Value {
    let tools: Vec<Value> = world.tools.iter().map(tool_json).collect();
    json!({ "world": world.name, "tools": tools })
}

fn tool_json(tool: &ToolCard) -> Value {
    let mut object = json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "access": tool.access.name(),
        "idempotent": tool.idempotent,
        "open_world": tool.open_world,
        "input_schema": *tool.input,
    });
    if let Some(output) = &tool.output {
        object["output_schema"] = Value::Object((**output).clone());
    }
    object
}
