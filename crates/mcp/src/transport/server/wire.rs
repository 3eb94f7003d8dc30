//! Conversions to rmcp's own types: entries of listings, and completions.

use std::sync::Arc;

use rmcp::model::{
    Annotations, CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, MetaObject,
    Prompt, PromptArgument, Reference, Resource, ResourceTemplate, Tool, ToolAnnotations,
};

use crate::{
    Access, CompletionReference, CompletionRequest, ToolCard,
    call::error::invalid_params,
    world::{
        app::{resource_fields, tool_fields},
        naming::Naming,
        surface::BoundPrompt,
    },
};

/// Makes the entry of a tool. `app` is the resource that the client shows beside its calls.
pub(super) fn wire_tool(card: &ToolCard, naming: &Naming<'_>, app: Option<&str>) -> Tool {
    let mut tool = Tool::new(
        card.name.clone(),
        naming.text(card.description),
        Arc::new(naming.schema(&card.input).into_owned()),
    );
    tool.title = Some(card.title.to_owned());
    let output = card.output.as_ref();
    tool.output_schema = output.map(|output| Arc::new(naming.schema(output).into_owned()));
    tool.annotations = Some(ToolAnnotations::from_raw(
        Some(card.title.to_owned()),
        Some(card.access == Access::Read),
        Some(card.access == Access::Destructive),
        Some(card.idempotent),
        Some(card.open_world),
    ));
    let mut meta = card.meta.clone();
    meta.extend(app.map(tool_fields).unwrap_or_default());
    tool.meta = (!meta.is_empty()).then_some(MetaObject(meta));
    tool
}

pub(super) fn wire_resource(resource: crate::Resource) -> Resource {
    let mut wire = Resource::new(resource.uri, resource.name);
    wire.title = Some(resource.title);
    wire.description = Some(resource.description);
    wire.mime_type = Some(resource.mime_type.to_owned());
    wire.size = resource.size;
    wire.meta = resource_fields(resource.mime_type).map(MetaObject);
    wire.annotations = resource.last_modified.map(|time| {
        let mut annotations = Annotations::default();
        annotations.last_modified = Some(time);
        annotations
    });
    wire
}

pub(super) fn wire_template(
    template: &crate::ResourceTemplate,
    naming: &Naming<'_>,
) -> ResourceTemplate {
    let mut wire = ResourceTemplate::new(template.uri_template.clone(), template.name);
    wire.title = Some(template.title.to_owned());
    wire.description = Some(naming.text(template.description).into_owned());
    wire.mime_type = Some(template.mime_type.to_owned());
    wire
}

pub(super) fn wire_prompt(prompt: &BoundPrompt, naming: &Naming<'_>) -> Prompt {
    let arguments = prompt
        .arguments
        .iter()
        .map(|argument| {
            PromptArgument::new(argument.name)
                .with_description(naming.text(argument.description))
                .with_required(argument.required)
        })
        .collect();
    let mut wire = Prompt::new(
        prompt.name,
        Some(naming.text(prompt.description)),
        Some(arguments),
    );
    wire.title = Some(prompt.title.to_owned());
    wire
}

pub(super) fn asked_completion(
    request: CompleteRequestParams,
) -> Result<CompletionRequest, ErrorData> {
    let reference = match request.r#ref {
        Reference::Prompt(prompt) => CompletionReference::Prompt(prompt.name),
        Reference::Resource(template) => CompletionReference::Template(template.uri),
        _ => return Err(invalid_params()),
    };
    let others = request.context.and_then(|context| context.arguments);
    Ok(CompletionRequest {
        reference,
        argument: request.argument.name,
        value: request.argument.value,
        others: others.into_iter().flatten().collect(),
    })
}

/// Returns the first of `values`, as many as an answer may have, and their total number.
pub(super) fn wire_completion(mut values: Vec<String>) -> CompleteResult {
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut completion = CompletionInfo::default();
    completion.has_more = Some(total > values.len());
    completion.total = u32::try_from(total).ok();
    completion.values = values;
    CompleteResult::new(completion)
}
