//! `list_constraints`: everything that this world refuses, requires and bounds.

use std::borrow::Cow;

use schemars::JsonSchema;
use sectile_mcp::{AnswerFacts, CallContext, Tool};
use serde::{Deserialize, Serialize};

use super::super::{
    NotebookWorld,
    contexts::{HANDLE_IDLE_S, MOST_HANDLES},
    errors::NotebookError,
    limits::{self, Limit},
    seal::SEALED_HANDLE_S,
    streams::MOST_STREAMS,
    volatile::{VOLATILE, VOLATILE_RULES},
};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "list_constraints",
        "List constraints",
        "Returns mutation prohibitions, scope limits, citation requirements, and refusal conditions.",
    )
    .quick()
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListConstraintsParams {}

#[derive(Debug, Serialize, JsonSchema)]
struct ConstraintsAnswer {
    /// What is never done here.
    mutation_prohibitions: &'static [&'static str],
    /// What the world keeps to.
    scope_limits: ScopeLimits,
    /// What whoever uses an answer must do.
    citation_requirements: CitationRules,
    /// What is refused.
    refusal_conditions: &'static [&'static str],
    /// What happens when a request can be read in several ways.
    interpretation_rule: InterpretationRule,
    /// What the world can do at all.
    capabilities: WorldCapabilities,
    /// Bounds on what is handed out.
    limits: DisclosureLimits,
    /// Every limit that is enforced, with those above: fixed ones, those of the storage, and those of settings by their names.
    all_limits: Vec<Limit>,
    /// How long what is kept for a caller lasts.
    context_rules: Vec<Cow<'static, str>>,
    /// What differs between two equal calls on an equal library: the tool, a space, and the path in its answer. As long as the
    /// same tier answers, all else is the same, byte for byte.
    volatile_fields: Vec<Cow<'static, str>>,
    /// What else may change between equal calls, and how answers say so.
    volatile_rules: Vec<Cow<'static, str>>,
}

/// What the world keeps to.
#[derive(Debug, Serialize, JsonSchema)]
struct ScopeLimits {
    /// Its kind.
    world_type: &'static str,
    /// What it may decide.
    authority_level: &'static str,
    /// Whether it reasons.
    reasoning: &'static str,
    /// Whether it learns.
    learning: &'static str,
    /// Whether it decides.
    decisions: &'static str,
}

/// What whoever uses an answer must do.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CitationRequirements")]
struct CitationRules {
    /// With passages.
    passages: &'static str,
    /// With artifacts.
    artifacts: &'static str,
    /// With synthesis.
    synthesis: &'static str,
}

/// What happens when a request can be read in several ways.
#[derive(Debug, Serialize, JsonSchema)]
struct InterpretationRule {
    /// When a request is ambiguous.
    when_ambiguous: &'static [&'static str],
    /// When there is doubt.
    when_in_doubt: &'static [&'static str],
}

/// What the world can do at all.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Capabilities")]
struct WorldCapabilities {
    /// Reads notebooks and artifacts.
    read: bool,
    /// Writes them.
    write: bool,
    /// Changes them.
    mutate: bool,
    /// Runs anything.
    execute: bool,
    /// Keeps anything beyond the connection.
    persist: bool,
}

/// Bounds on what is handed out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Limits")]
struct DisclosureLimits {
    /// Most characters before and after a passage.
    max_passage_context: usize,
    /// Most results of a search, and most references of a stream.
    max_search_results: usize,
    /// How long a stream lasts, in seconds, from its beginning.
    stream_timeout_s: u64,
    /// Entries of one chunk of a stream.
    stream_chunk_size: usize,
    /// Streams of one context at the same time.
    max_streams: usize,
    /// How long a context_handle is good after its last use, in seconds. Where replicas share a secret: how long its
    /// streams and its count of calls are kept.
    context_handle_idle_s: u64,
    /// Where replicas share a secret: how long a context_handle is good after entering, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_handle_valid_s: Option<u64>,
    /// Handles at the same time.
    max_context_handles: usize,
}

fn handle(
    world: &NotebookWorld,
    _: ListConstraintsParams,
    call: &CallContext,
) -> Result<(ConstraintsAnswer, AnswerFacts), NotebookError> {
    if let Some(context) = world.context(None, call)? {
        context.record(world.now(), "list_constraints", Vec::new());
    }
    let constraints = &world.constraints;
    let limits = DisclosureLimits {
        max_passage_context: constraints.max_passage_context,
        max_search_results: constraints.max_search_results,
        stream_timeout_s: constraints.stream_timeout_s,
        stream_chunk_size: constraints.stream_chunk_size,
        max_streams: MOST_STREAMS,
        context_handle_idle_s: HANDLE_IDLE_S,
        context_handle_valid_s: world.contexts.are_sealed().then_some(SEALED_HANDLE_S),
        max_context_handles: MOST_HANDLES,
    };
    Ok((
        listed(limits, limits::all(world), call),
        AnswerFacts::default(),
    ))
}

fn listed(
    limits: DisclosureLimits,
    all_limits: Vec<Limit>,
    call: &CallContext,
) -> ConstraintsAnswer {
    // Rules about tools that are hidden from the caller are left out.
    let for_caller = |texts: &[&'static str]| -> Vec<Cow<'static, str>> {
        let texts = texts.iter().map(|text| call.for_caller(text));
        texts.filter(|text| !text.is_empty()).collect()
    };
    ConstraintsAnswer {
        mutation_prohibitions: &[
            "writing notebooks",
            "editing notebooks",
            "deleting notebooks",
            "modifying vectors",
            "modifying embeddings",
            "generating new knowledge",
            "applying reasoning outcomes",
            "persisting memory",
            "triggering workflows",
            "scheduling tasks",
            "calling external tools",
            "expanding affordances dynamically",
        ],
        scope_limits: ScopeLimits {
            world_type: "read-only knowledge jurisdiction",
            authority_level: "none",
            reasoning: "forbidden",
            learning: "forbidden",
            decisions: "forbidden",
        },
        citation_requirements: CitationRules {
            passages: "must quote verbatim",
            artifacts: "must include non-authoritative disclaimer",
            synthesis: "must label as synthesized with metadata",
        },
        refusal_conditions: &[
            "requests for mutation",
            "requests for reasoning",
            "requests for decision-making",
            "requests for external tool invocation",
            "requests for memory persistence",
            "ambiguous requests (when scope reduction insufficient)",
        ],
        interpretation_rule: InterpretationRule {
            when_ambiguous: &[
                "reduce scope",
                "return less data",
                "prefer references over content",
                "prefer artifacts over synthesis",
            ],
            when_in_doubt: &["do not answer", "explain why"],
        },
        capabilities: WorldCapabilities {
            read: true,
            write: false,
            mutate: false,
            execute: false,
            persist: false,
        },
        limits,
        all_limits,
        context_rules: for_caller(&[
            "no collection is active at the start; every tool that reads notebooks or artifacts needs one",
            "enter_collection replaces the active collection and ends its streams; with leave: true it only leaves it",
            "the end of the connection ends the context; nothing of it is kept",
            "a client without a connection passes the context_handle of enter_collection with each call",
            "a stream lasts for its time from its beginning, however it is used; the oldest makes room for one too many",
            "to cancel a stream: pull no more, enter or leave a collection, or close the connection",
        ]),
        volatile_fields: for_caller(&VOLATILE),
        volatile_rules: for_caller(&VOLATILE_RULES),
    }
}
