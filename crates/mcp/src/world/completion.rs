//! Completions: what a client may offer while somebody fills in a prompt's argument or a template's variable.

use std::collections::BTreeMap;

/// What is being filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionRequest {
    /// Of what.
    pub reference: CompletionReference,
    /// Name of the argument or variable.
    pub argument: String,
    /// What has been typed so far.
    pub value: String,
    /// What the other arguments or variables are, as far as they are filled in.
    pub others: BTreeMap<String, String>,
}

/// Whose argument or variable is being filled in. It exists and is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionReference {
    /// The prompt of this name.
    Prompt(String),
    /// The resource template of this form.
    Template(String),
}

/// How a world whose state is `S` completes: everything that fits, best first. The frame cuts it.
pub type Completer<S> = fn(&S, &CompletionRequest) -> Vec<String>;
