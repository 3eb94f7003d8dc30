//! Entries of listings as rmcp writes them.

use std::sync::Arc;

use rmcp::model::{
    Annotations, Prompt, PromptArgument, Resource, ResourceTemplate, Tool, ToolAnnotations,
};

use crate::mcp::{self, Access, ToolCard, surface::BoundPrompt};

pub(super) fn wire_tool(card: &ToolCard) -> Tool {
    let mut tool = Tool::new(
        card.name.clone(),
        card.description,
        Arc::new(card.input.clone()),
    );
    tool.title = Some(card.title.to_owned());
    tool.output_schema = Some(Arc::new(card.output.clone()));
    tool.annotations = Some(ToolAnnotations::from_raw(
        Some(card.title.to_owned()),
        Some(card.access == Access::Read),
        Some(card.access == Access::Destructive),
        Some(card.idempotent),
        Some(card.open_world),
    ));
    tool
}

pub(super) fn wire_resource(resource: mcp::Resource) -> Resource {
    let mut wire = Resource::new(resource.uri, resource.name);
    wire.title = Some(resource.title);
    wire.description = Some(resource.description);
    wire.mime_type = Some(resource.mime_type.to_owned());
    wire.size = resource.size;
    wire.annotations = resource.last_modified.map(|time| {
        let mut annotations = Annotations::default();
        annotations.last_modified = Some(time);
        annotations
    });
    wire
}

pub(super) fn wire_template(template: &mcp::ResourceTemplate) -> ResourceTemplate {
    let mut wire = ResourceTemplate::new(template.uri_template, template.name);
    wire.title = Some(template.title.to_owned());
    wire.description = Some(template.description.to_owned());
    wire.mime_type = Some(template.mime_type.to_owned());
    wire
}

pub(super) fn wire_prompt(prompt: &BoundPrompt) -> Prompt {
    let arguments = prompt
        .arguments
        .iter()
        .map(|argument| {
            PromptArgument::new(argument.name)
                .with_description(argument.description)
                .with_required(argument.required)
        })
        .collect();
    let mut wire = Prompt::new(prompt.name, Some(prompt.description), Some(arguments));
    wire.title = Some(prompt.title.to_owned());
    wire
}
