//! The page of tools: one section for each tool of each world.

use sectile_mcp::{Access, ToolCard, WorldCard};

use super::{
    page::{ListEntry, MarkdownPage, as_code, link, listed},
    schema::{Side, fields},
};

/// An answer shared by several tools is repeated if it is shorter than this, so that a section is self-contained.
const SHORT_ANSWER: usize = 400;

/// An answer shared by several tools.
struct SharedAnswer<'a> {
    heading: String,
    tools: Vec<&'a ToolCard>,
}

impl SharedAnswer<'_> {
    /// Returns the heading of this answer and the fields that the answer of `tool` describes differently, if it has the
    /// same fields and describes most of them in the same way.
    fn difference(&self, tool: &ToolCard) -> Option<(&str, Vec<ListEntry>)> {
        let own = self.tools.first()?;
        let names = |tool: &ToolCard| -> Option<Vec<String>> {
            let properties = tool.output.as_ref()?.get("properties")?.as_object()?;
            Some(properties.keys().cloned().collect())
        };
        let same_names = names(own)? == names(tool)?;
        let own = answer_fields(own)?;
        let mut differs = answer_fields(tool)?;
        let all = differs.len();
        differs.retain(|item| !own.contains(item));
        (same_names && differs.len() * 2 < all).then_some((self.heading.as_str(), differs))
    }
}

pub(super) fn page(worlds: &[WorldCard]) -> String {
    let mut page = MarkdownPage::new(
        "tools",
        "Tools",
        "Every tool of every world, with what it does, its arguments and its answer.",
    );
    page.paragraph(
        "*Access* says what a tool may do: `read` changes nothing; `write` adds or changes, in a way that can be undone; \
         `destructive` removes or overwrites. Repeating the same call of an *idempotent* tool changes nothing more. An \
         argument that is not required may be left out; an optional field of an answer is not always present.",
    );
    for world in worlds {
        let shared = shared_answers(world, worlds);
        write_world(&mut page, world, worlds);
        for tool in &world.tools {
            write_tool(&mut page, world, tool, worlds, &shared);
        }
        for answer in &shared {
            write_shared(&mut page, world, answer, worlds);
        }
    }
    page.into_text()
}

fn write_world(page: &mut MarkdownPage, world: &WorldCard, worlds: &[WorldCard]) {
    page.heading(2, format_args!("The {} world", world.name));
    let tools = world.tools.iter().map(|tool| link(&heading(tool, worlds)));
    let tools: Vec<String> = tools.collect();
    page.paragraph(format_args!("Tools: {}.", tools.join(", ")));
    if !world.prompts.is_empty() {
        page.paragraph(format_args!("Prompts: {}.", as_code(&world.prompts)));
    }
    if !world.templates.is_empty() {
        let templates = as_code(&world.templates);
        page.paragraph(format_args!("Resource templates: {templates}."));
    }
}

/// Returns the heading of a tool. If several worlds have a tool of this name, the heading includes the world.
fn heading(tool: &ToolCard, worlds: &[WorldCard]) -> String {
    let all = worlds
        .iter()
        .flat_map(|world| world.tools.iter().map(move |other| (world, other)));
    let mut same = all.filter(|(_, other)| other.name == tool.name);
    match (same.next(), same.next()) {
        (Some(_), Some(_)) => {
            let own = worlds
                .iter()
                .find(|world| world.tools.iter().any(|other| std::ptr::eq(other, tool)));
            let world = own.map_or("", |world| world.name);
            format!("{} of the {world} world", tool.name)
        }
        _ => tool.name.clone(),
    }
}

fn write_tool(
    page: &mut MarkdownPage,
    world: &WorldCard,
    tool: &ToolCard,
    worlds: &[WorldCard],
    shared: &[SharedAnswer<'_>],
) {
    page.heading(3, heading(tool, worlds));
    page.paragraph(tool.description);
    let yes_or_no = |answer| if answer { "yes" } else { "no" };
    page.paragraph(format_args!(
        "A tool of the `{}` world. Access: {}. Idempotent: {}.",
        world.name,
        tool.access.name(),
        yes_or_no(tool.idempotent),
    ));
    let arguments = fields(&tool.input, Side::Arguments);
    write_fields(page, "Arguments", &arguments);
    if !tool.aliases.is_empty() {
        let aliases = tool.aliases.iter();
        let aliases = aliases.map(|also| format!("`{}` for `{}`", also.alias, also.name));
        let aliases: Vec<String> = aliases.collect();
        page.paragraph(format_args!("Also accepted: {}.", aliases.join(", ")));
    }
    match shared.iter().find_map(|shared| shared.difference(tool)) {
        Some((heading, differs)) if differs.is_empty() => {
            page.paragraph(format_args!("Answer: see {}.", link(heading)));
        }
        Some((heading, differs)) => {
            page.paragraph(format_args!("Answer: see {}, but here:", link(heading)));
            page.list(&differs);
        }
        None => match answer_fields(tool) {
            Some(fields) => write_fields(page, "Answer", &fields),
            None => page.paragraph("Answer: text, without structured content."),
        },
    }
}

/// Returns the fields of a tool's answer, unless it is text.
fn answer_fields(tool: &ToolCard) -> Option<Vec<ListEntry>> {
    let schema = tool.output.as_ref()?;
    Some(fields(schema, Side::Answer))
}

fn write_fields(page: &mut MarkdownPage, title: &str, items: &[ListEntry]) {
    if items.is_empty() {
        page.paragraph(format_args!("{title}: none."));
        return;
    }
    page.paragraph(format_args!("{title}:"));
    page.list(items);
}

fn write_shared(
    page: &mut MarkdownPage,
    world: &WorldCard,
    answer: &SharedAnswer<'_>,
    worlds: &[WorldCard],
) {
    page.heading(3, &answer.heading);
    let tools = answer.tools.iter().map(|tool| link(&heading(tool, worlds)));
    let tools: Vec<String> = tools.collect();
    page.paragraph(format_args!(
        "The answer of these tools of the `{}` world: {}.",
        world.name,
        tools.join(", ")
    ));
    if let Some(fields) = answer.tools.first().and_then(|tool| answer_fields(tool)) {
        write_fields(page, "Fields", &fields);
    }
}

/// Returns the long answers that several tools of a world share, in the order of their first tools.
fn shared_answers<'a>(world: &'a WorldCard, worlds: &[WorldCard]) -> Vec<SharedAnswer<'a>> {
    let schema = |tool: &'a ToolCard| tool.output.as_deref();
    let mut found: Vec<Vec<&'a ToolCard>> = Vec::new();
    for tool in world.tools.iter().filter(|tool| tool.output.is_some()) {
        let same = found
            .iter_mut()
            .find(|tools| tools.first().is_some_and(|one| schema(one) == schema(tool)));
        match same {
            Some(tools) => tools.push(tool),
            None => found.push(vec![tool]),
        }
    }
    let is_worth_it = |tools: &Vec<&ToolCard>| {
        let is_long = |tool: &&ToolCard| {
            answer_fields(tool).is_some_and(|fields| listed(&fields).len() > SHORT_ANSWER)
        };
        tools.len() > 1 && tools.first().is_some_and(is_long)
    };
    let mut shared: Vec<SharedAnswer<'a>> = Vec::new();
    for tools in found.into_iter().filter(is_worth_it) {
        let are_writes = tools.iter().all(|tool| tool.access != Access::Read);
        let is_first = shared.iter().all(|other| !other.heading.starts_with(WRITE));
        let heading = match tools.first() {
            _ if are_writes && is_first => format!("{WRITE}{}", of_world(world, worlds)),
            Some(tool) => format!("Answer of {} and others", heading(tool, worlds)),
            None => continue,
        };
        shared.push(SharedAnswer { heading, tools });
    }
    shared
}

const WRITE: &str = "Answer of a write";

/// Names the world, if several worlds can write.
fn of_world(world: &WorldCard, worlds: &[WorldCard]) -> String {
    let writes = |world: &&WorldCard| {
        let mut tools = world.tools.iter();
        tools.any(|tool| tool.access != Access::Read)
    };
    if worlds.iter().filter(writes).count() > 1 {
        format!(" in the {} world", world.name)
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use sectile_mcp::{
        AnswerFacts, CallContext, ErrorList, ErrorResponse, Failure, Tool, WorldSpec,
    };

    use super::*;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct ReadParams {
        /// What to read.
        id: String,
    }

    fn read(
        (): &(),
        params: ReadParams,
        _: &CallContext,
    ) -> Result<(String, AnswerFacts), Failure> {
        Ok((params.id, AnswerFacts::default()))
    }

    #[test]
    fn a_tool_that_answers_with_text_is_described_without_fields() {
        let tool = |name| {
            let tool = Tool::read(name, "Read", "Read a page.");
            tool.alias("path", "id").call_text(read)
        };
        let envelope = |failure: &Failure| ErrorResponse::Text(failure.told());
        let spec = WorldSpec {
            tools: vec![tool("read"), tool("peek")],
            ..WorldSpec::new("texts", "", envelope, ErrorList::default)
        };
        let page = page(&[spec.card()]);
        let (_, last) = page
            .split_once("### peek")
            .expect("a section for each tool");
        let expected = "Arguments:\n\n- `id` (string, required): What to read.\n\nAlso accepted: `path` for `id`.\n\n\
                        Answer: text, without structured content.\n";
        assert!(last.ends_with(expected), "{last}");
    }
}
