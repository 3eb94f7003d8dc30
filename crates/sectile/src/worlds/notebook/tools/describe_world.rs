//! `describe_world`: the purpose of this world, and what it refuses.

use schemars::JsonSchema;
use sectile_library::shelf::IndexState;
use sectile_mcp::{AnswerFacts, CallContext, Tool};
use serde::{Deserialize, Serialize};

use super::super::{
    NotebookWorld, answers::retrieval, contexts::AccessRecord, errors::NotebookError,
};

pub(super) fn tool() -> Tool<NotebookWorld> {
    Tool::read(
        "describe_world",
        "Describe the world",
        "Returns the purpose, boundaries, prohibitions, and requirements of the Open Notebook world.",
    )
    .quick()
    .call(handle)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DescribeWorldParams {
    /// Handle from enter_collection, to see its session; a connection that keeps its collection needs none.
    context_handle: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WorldDescription {
    /// What kind of world this is.
    world: WorldFacts,
    /// What it is for.
    purpose: &'static [&'static str],
    /// What it keeps to.
    boundaries: Boundaries,
    /// The tools that there are for this caller.
    available_affordances: Vec<String>,
    /// What whoever uses an answer must do.
    citation_requirements: CitationRequirements,
    /// Whether answers say where they come from.
    provenance_available: bool,
    /// How searches work.
    retrieval: Retrieval,
    /// What is kept for this caller, in memory only.
    session: CallerSession,
}

/// What kind of world this is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "World")]
struct WorldFacts {
    /// Its name.
    name: &'static str,
    /// Its kind.
    r#type: &'static str,
    /// What it may decide.
    authority_level: &'static str,
    /// Whether it changes anything.
    mutation: &'static str,
    /// What lasts.
    persistence: &'static str,
}

/// What the world keeps to.
#[derive(Debug, Serialize, JsonSchema)]
struct Boundaries {
    /// What it holds.
    scope: &'static str,
    /// Whether it reasons.
    reasoning: &'static str,
    /// Whether it learns.
    learning: &'static str,
    /// Whether it decides.
    decisions: &'static str,
}

/// What whoever uses an answer must do.
#[derive(Debug, Serialize, JsonSchema)]
struct CitationRequirements {
    /// Passages are quoted word for word.
    passages_must_quote: bool,
    /// Artifacts carry their disclaimer.
    artifacts_must_disclaim: bool,
    /// Synthesis is labelled.
    synthesis_must_label: bool,
}

/// How searches work.
#[derive(Debug, Serialize, JsonSchema)]
struct Retrieval {
    /// The method.
    method: &'static str,
    /// What searches of the active collection use; null before the first.
    active: Option<ActiveRetrieval>,
}

/// What searches of a collection use.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Active")]
struct ActiveRetrieval {
    /// `lexical+semantic` or `lexical`.
    retrieval: &'static str,
    /// Where the index is: `folder`, `memory`, or the name of the backend that keeps it.
    index: &'static str,
    /// Which vectors are compared: `exact` (all of them) or `graph` (those that a graph leads to).
    vectors: &'static str,
    /// Which tier answers: `static` (at once, always) or `transformer` (finds more; once `sectile notebook index` completed it).
    tier: &'static str,
    /// The embedding model of the tier.
    model: &'static str,
}

impl ActiveRetrieval {
    fn of(state: &IndexState) -> Self {
        let (index, is_exact) = match state.backend {
            Some(backend) => (backend.name, backend.is_exact),
            None if state.on_disk => ("folder", true),
            None => ("memory", true),
        };
        Self {
            retrieval: retrieval(state),
            index,
            vectors: if is_exact { "exact" } else { "graph" },
            tier: state.tier.name(),
            model: state.model,
        }
    }
}

/// What is kept for this caller.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
struct CallerSession {
    /// The collection that was entered; null: the safe state, in which nothing can be read.
    active_collection: Option<String>,
    /// When it began, in milliseconds since 1970; null where nothing is kept.
    created_at: Option<i64>,
    /// Calls that were answered before this one.
    accesses: u64,
    /// The last of them.
    last_access: Option<AccessRecord>,
}

fn handle(
    world: &NotebookWorld,
    params: DescribeWorldParams,
    call: &CallContext,
) -> Result<(WorldDescription, AnswerFacts), NotebookError> {
    let context = world.context(params.context_handle.as_deref(), call)?;
    let session = context.as_ref().map(|context| CallerSession {
        active_collection: context.collection(),
        created_at: Some(context.created_at()),
        accesses: context.accesses(),
        last_access: context.last_access(),
    });
    let session = session.unwrap_or_default();
    let open = session
        .active_collection
        .as_deref()
        .and_then(|collection| world.shelves.opened(collection));
    if let Some(context) = context {
        context.record(world.now(), "describe_world", Vec::new());
    }
    let described = WorldDescription {
        world: WorldFacts {
            name: "Open Notebook",
            r#type: "read-only knowledge jurisdiction",
            authority_level: "none",
            mutation: "forbidden",
            persistence: "external only (artifacts, vectors)",
        },
        purpose: &[
            "preserve human-authored cognition",
            "enable safe inspection and retrieval",
            "prevent ungoverned synthesis",
        ],
        boundaries: Boundaries {
            scope: "previously authored notebooks and derived artifacts only",
            reasoning: "forbidden",
            learning: "forbidden",
            decisions: "forbidden",
        },
        available_affordances: call.usable_tools().map(str::to_owned).collect(),
        citation_requirements: CitationRequirements {
            passages_must_quote: true,
            artifacts_must_disclaim: true,
            synthesis_must_label: true,
        },
        provenance_available: true,
        retrieval: Retrieval {
            method: "words (BM25F) and meaning (embedding similarity) of section chunks, fused in whole numbers",
            active: open.map(|shelf| ActiveRetrieval::of(&shelf.state())),
        },
        session,
    };
    Ok((described, AnswerFacts::default()))
}
