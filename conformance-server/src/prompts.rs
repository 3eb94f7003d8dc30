//! The prompts that the suite asks for.

use sectile_mcp::{CallContext, ContentPart, Failure, JsonObject, Prompt, PromptArgument};
use serde_json::Value;

use crate::{
    FixtureWorld,
    forms::{asked_for, text_form},
    resources::{media, picture},
};

/// All prompts, in listing order.
pub(crate) fn table() -> Vec<Prompt<FixtureWorld>> {
    let prompt = |name, description, arguments, render| Prompt {
        name,
        title: name,
        description,
        arguments,
        render,
    };
    vec![
        prompt("test_simple_prompt", "Is one text.", &[], |_, _, _| {
            Ok(vec![message("This is a simple prompt for testing.")])
        }),
        prompt(
            "test_prompt_with_arguments",
            "Repeats its arguments.",
            &[FIRST, SECOND],
            |_, arguments, _| {
                let [first, second] = [FIRST, SECOND].map(|known| text(arguments, known.name));
                let text = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
                Ok(vec![text.into()])
            },
        ),
        prompt(
            "test_prompt_with_embedded_resource",
            "Contains a resource.",
            &[URI],
            |_, arguments, _| {
                let resource = ContentPart::Resource {
                    uri: text(arguments, URI.name).to_owned(),
                    content: media("text/plain", b"Embedded resource content for testing."),
                };
                let request = message("Please process the embedded resource above.");
                Ok(vec![resource, request])
            },
        ),
        prompt(
            "test_prompt_with_image",
            "Contains a picture.",
            &[],
            |_, _, _| {
                let request = message("Please analyze the image above.");
                Ok(vec![ContentPart::Image(picture()), request])
            },
        ),
        prompt(
            "test_input_required_result_prompt",
            "Asks the person for a context.",
            &[],
            ask_for_context,
        ),
    ]
}

const FIRST: PromptArgument = PromptArgument {
    name: "arg1",
    description: "First test argument.",
    required: true,
};
const SECOND: PromptArgument = PromptArgument {
    name: "arg2",
    description: "Second test argument.",
    required: true,
};
const URI: PromptArgument = PromptArgument {
    name: "resourceUri",
    description: "URI of the resource to embed.",
    required: true,
};

fn ask_for_context(
    _: &FixtureWorld,
    _: &JsonObject,
    context: &CallContext,
) -> Result<Vec<ContentPart>, Failure> {
    let question = "What context should the prompt use?";
    let answer = asked_for(context, &text_form("user_context", question, "context"));
    Ok(vec![answer?.into()])
}

fn message(text: &str) -> ContentPart {
    text.to_owned().into()
}

fn text<'a>(arguments: &'a JsonObject, name: &str) -> &'a str {
    let value = arguments.get(name).and_then(Value::as_str);
    value.unwrap_or_default()
}
