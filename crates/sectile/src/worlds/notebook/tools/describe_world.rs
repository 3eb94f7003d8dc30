//! `describe_world`: the purpose of this world, and what it refuses.

use schemars::JsonSchema;
use sectile_library::open_collection::IndexState;
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
    /// The context_handle that enter_collection returned, to see its session; not needed if the connection keeps the
    /// collection.
    context_handle: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WorldDescription {
    /// Facts about the world.
    world: WorldFacts,
    /// Purposes of the world.
    purpose: &'static [&'static str],
    /// Boundaries of the world.
    boundaries: Boundaries,
    /// Tools available to this caller.
    available_affordances: Vec<String>,
    /// Requirements for anyone who uses an answer.
    citation_requirements: CitationRequirements,
    /// Whether answers include their provenance.
    provenance_available: bool,
    /// Search method and its current state.
    retrieval: Retrieval,
    /// State kept for this caller, in memory only.
    session: CallerSession,
}

/// Facts about the world.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "World")]
struct WorldFacts {
    /// Name of the world.
    name: &'static str,
    /// Type of the world.
    r#type: &'static str,
    /// Authority of the world.
    authority_level: &'static str,
    /// Whether the world changes anything.
    mutation: &'static str,
    /// Data that is stored permanently.
    persistence: &'static str,
}

/// Boundaries of the world.
#[derive(Debug, Serialize, JsonSchema)]
struct Boundaries {
    /// Material that the world contains.
    scope: &'static str,
    /// Whether the world reasons.
    reasoning: &'static str,
    /// Whether the world learns.
    learning: &'static str,
    /// Whether the world makes decisions.
    decisions: &'static str,
}

/// Requirements for anyone who uses an answer.
#[derive(Debug, Serialize, JsonSchema)]
struct CitationRequirements {
    /// Whether passages must be quoted word for word.
    passages_must_quote: bool,
    /// Whether artifacts must carry their disclaimer.
    artifacts_must_disclaim: bool,
    /// Whether synthesis must be labelled.
    synthesis_must_label: bool,
}

/// Search method and its current state.
#[derive(Debug, Serialize, JsonSchema)]
struct Retrieval {
    /// The search method.
    method: &'static str,
    /// Index and models that searches of the active collection use; null before the first search.
    active: Option<ActiveRetrieval>,
}

/// Index and models that searches of a collection use.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Active")]
struct ActiveRetrieval {
    /// `lexical+semantic` or `lexical`.
    retrieval: &'static str,
    /// Location of the index: `folder`, `memory`, or the name of its backend.
    index: &'static str,
    /// Vectors that are compared: `exact` (all of them) or `graph` (those that a graph leads to).
    vectors: &'static str,
    /// The tier that answers: `static` (always available) or `transformer` (finds more; available once `sectile notebook
    /// index` has completed it).
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

/// State kept for this caller.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
struct CallerSession {
    /// The active collection; null in the safe state, in which nothing can be read.
    active_collection: Option<String>,
    /// When the session began, in milliseconds since 1970; null if nothing is kept.
    created_at: Option<i64>,
    /// Number of calls answered before this one.
    accesses: u64,
    /// The last of these calls.
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
        .and_then(|collection| world.open_collections.opened(collection));
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
            active: open.map(|open_collection| ActiveRetrieval::of(&open_collection.state())),
        },
        session,
    };
    Ok((described, AnswerFacts::default()))
}
