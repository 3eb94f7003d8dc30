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
    /// Operations that are never performed.
    mutation_prohibitions: &'static [&'static str],
    /// Boundaries of the world.
    scope_limits: ScopeLimits,
    /// Requirements for anyone who uses an answer.
    citation_requirements: CitationRules,
    /// Requests that are refused.
    refusal_conditions: &'static [&'static str],
    /// Handling of ambiguous requests.
    interpretation_rule: InterpretationRule,
    /// Capabilities of the world.
    capabilities: WorldCapabilities,
    /// Limits on what is returned.
    limits: DisclosureLimits,
    /// Every limit that is enforced, including those above: fixed limits, limits of the storage, and limits from settings
    /// by their names.
    all_limits: Vec<Limit>,
    /// Rules for the state kept for a caller.
    context_rules: Vec<Cow<'static, str>>,
    /// Fields that may differ between two equal calls on the same library: the tool, a space, and the path in its answer.
    /// As long as the same tier answers, everything else is the same, byte for byte.
    volatile_fields: Vec<Cow<'static, str>>,
    /// Other changes between equal calls, and how answers show them.
    volatile_rules: Vec<Cow<'static, str>>,
}

/// Boundaries of the world.
#[derive(Debug, Serialize, JsonSchema)]
struct ScopeLimits {
    /// Type of the world.
    world_type: &'static str,
    /// Authority of the world.
    authority_level: &'static str,
    /// Whether the world reasons.
    reasoning: &'static str,
    /// Whether the world learns.
    learning: &'static str,
    /// Whether the world makes decisions.
    decisions: &'static str,
}

/// Requirements for anyone who uses an answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CitationRequirements")]
struct CitationRules {
    /// Requirement for passages.
    passages: &'static str,
    /// Requirement for artifacts.
    artifacts: &'static str,
    /// Requirement for synthesis.
    synthesis: &'static str,
}

/// Handling of ambiguous requests.
#[derive(Debug, Serialize, JsonSchema)]
struct InterpretationRule {
    /// Actions if a request is ambiguous.
    when_ambiguous: &'static [&'static str],
    /// Actions in case of doubt.
    when_in_doubt: &'static [&'static str],
}

/// Capabilities of the world.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Capabilities")]
struct WorldCapabilities {
    /// Whether it reads notebooks and artifacts.
    read: bool,
    /// Whether it writes them.
    write: bool,
    /// Whether it changes them.
    mutate: bool,
    /// Whether it executes anything.
    execute: bool,
    /// Whether it keeps anything after the connection ends.
    persist: bool,
}

/// Limits on what is returned.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Limits")]
struct DisclosureLimits {
    /// Maximum number of characters before and after a passage.
    max_passage_context: usize,
    /// Maximum number of results of a search, and of references in a stream.
    max_search_results: usize,
    /// Lifetime of a stream from its start, in seconds.
    stream_timeout_s: u64,
    /// Number of entries in one chunk of a stream.
    stream_chunk_size: usize,
    /// Maximum number of streams in one context.
    max_streams: usize,
    /// Time for which a context_handle is valid after its last use, in seconds. If replicas share a secret, the time for
    /// which its streams and its count of calls are kept.
    context_handle_idle_s: u64,
    /// If replicas share a secret, the time for which a context_handle is valid after entering, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_handle_valid_s: Option<u64>,
    /// Maximum number of handles at the same time.
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
            "a client without a connection passes the context_handle from enter_collection with each call",
            "a stream expires a fixed time after its start, however it is used; a stream over the limit replaces the oldest",
            "to cancel a stream: stop pulling, enter or leave a collection, or close the connection",
        ]),
        volatile_fields: for_caller(&VOLATILE),
        volatile_rules: for_caller(&VOLATILE_RULES),
    }
}
