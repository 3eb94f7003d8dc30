//! Completions: the values that a client may offer while a user fills in a prompt's argument or a template's variable.

use std::collections::BTreeMap;

use crate::CallContext;

/// A request for completions of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionRequest {
    /// The prompt or template that the value belongs to.
    pub reference: CompletionReference,
    /// Name of the argument or variable.
    pub argument: String,
    /// The text typed so far.
    pub value: String,
    /// The other arguments or variables that are already filled in.
    pub others: BTreeMap<String, String>,
}

/// The prompt or template whose value is being filled in. It exists and is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionReference {
    /// The prompt of this name.
    Prompt(String),
    /// The resource template with this URI template.
    Template(String),
}

/// Completes values for a world whose state is `S`: returns everything that fits and that the caller may see, best first.
/// The frame truncates it.
pub type Completer<S> = fn(&S, &CompletionRequest, &CallContext) -> Vec<String>;
