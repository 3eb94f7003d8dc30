//! The `notebook` world: a read-only library whose quotes prove themselves.
//!
//! It starts with nothing loaded. A caller enters a collection, and from then on every call is about that collection alone,
//! until the connection ends or another one is entered. Every quote is read and hashed in the call that returns it.

mod answers;
mod contexts;
pub(crate) mod errors;
pub(crate) mod limits;
mod naming;
mod not_searched;
mod open;
mod open_library;
mod seal;
mod settings;
mod streams;
mod tokens;
mod tools;
mod volatile;

use std::sync::Arc;

use sectile_library::{
    SearchQuery,
    ids::SourceId,
    open_collection::VerifiedResults,
    open_collections::{IndexStorage, OpenCollections},
    quote::Quote,
};
pub(crate) use sectile_library::{clock::Clock, library::Library};
use sectile_mcp::{CallContext, JsonObject, UnknownTool, WorldSpec, access::Secret};
use serde_json::{Value, json};

use self::{
    contexts::{Context, ContextRegistry, EnteredContext},
    errors::NotebookError,
    limits::Limit,
    seal::HandleSeal,
};
pub(crate) use self::{
    open::ENTRY,
    open_library::OpenLibrary,
    settings::{ArtifactLocation, Constraints, NotebookSection, NotebookSettings},
};

/// State of the world.
pub(crate) struct NotebookWorld {
    storage: Arc<Library>,
    open_collections: OpenCollections,
    contexts: ContextRegistry,
    constraints: Constraints,
    /// The limits of the surrounding server, by setting.
    server_limits: Vec<Limit>,
    clock: Clock,
}

/// Returns the contract of the world.
pub(crate) fn spec(constraints: &Constraints) -> WorldSpec<NotebookWorld> {
    WorldSpec {
        tools: tools::table(constraints),
        sessions: true,
        unknown_tool: UnknownTool::Answer(errors::forbidden),
        tool_meta: object(json!({
            "reversible": true,
            "authority_level": "none",
            "mutation": false,
        })),
        result_meta: object(json!({
            "provenance_available": true,
            "constraints_checkable": true,
        })),
        starts: "Open Notebook starts in SAFE mode: no collection context is loaded.",
        refused: Some(errors::refused),
        ready: Some(|world| world.ready().map_err(|error| error.message().into_owned())),
        ..WorldSpec::new(
            "notebook",
            include_str!("notebook/instructions.md"),
            errors::envelope,
            errors::list,
        )
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

impl NotebookWorld {
    /// Creates a world of the notebooks in `storage`, without reading any of them yet.
    pub(crate) fn new(
        storage: Arc<Library>,
        indexes: IndexStorage,
        constraints: Constraints,
        clock: Clock,
    ) -> Self {
        Self {
            open_collections: OpenCollections::new(Arc::clone(&storage), indexes, clock),
            storage,
            contexts: ContextRegistry::default(),
            constraints,
            server_limits: Vec::new(),
            clock,
        }
    }

    /// Returns the same world in a server with these limits, which are reported to callers as well.
    pub(crate) fn within(self, server_limits: Vec<Limit>) -> Self {
        Self {
            server_limits,
            ..self
        }
    }

    /// Returns the same world as one of several replicas, which accept each other's handles: those sealed with `secret`.
    /// `None` if no key can be derived from it.
    pub(crate) fn sharing(self, secret: &Secret) -> Option<Self> {
        let contexts = ContextRegistry::sealed(HandleSeal::new(secret)?);
        Some(Self { contexts, ..self })
    }

    /// Checks that the storage and the indexes are available. Blocks until they answer.
    fn ready(&self) -> Result<(), NotebookError> {
        self.storage.ask(|storage| storage.ready())?;
        Ok(self.open_collections.ready()?)
    }

    fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Returns the context of the caller: the one with the handle in the call, otherwise that of its connection. There is
    /// none without a connection, nor in the stateless era.
    fn context(
        &self,
        handle: Option<&str>,
        call: &CallContext,
    ) -> Result<Option<Arc<Context>>, NotebookError> {
        if let Some(handle) = handle {
            let found = self.contexts.find(call.caller(), handle, self.now());
            return found.map(Some);
        }
        Ok(self.connection_context(call))
    }

    /// Returns the context of the caller's connection, except in the stateless era.
    fn connection_context(&self, call: &CallContext) -> Option<Arc<Context>> {
        let connection = call.connection.as_ref().filter(|_| !call.is_stateless);
        connection.map(|connection| connection.value(|| Context::new(self.now())))
    }

    /// Returns the collection that the caller has entered.
    fn entered(
        &self,
        handle: Option<&str>,
        call: &CallContext,
    ) -> Result<EnteredContext, NotebookError> {
        let context = self
            .context(handle, call)?
            .ok_or(NotebookError::HandleMissing)?;
        let collection = context
            .collection()
            .ok_or(NotebookError::NoCollectionContext)?;
        Ok(EnteredContext {
            context,
            collection,
        })
    }

    /// Searches the active collection.
    fn search(
        &self,
        entered: &EnteredContext,
        query: &SearchQuery,
        most: usize,
        call: &CallContext,
    ) -> Result<VerifiedResults, NotebookError> {
        let stop = || call.cancelled.is_cancelled();
        Ok(self
            .open_collections
            .search(&entered.collection, query, most, &stop)?)
    }

    /// Reads and hashes a passage, with `around` characters on both sides.
    fn quote(&self, id: &SourceId, around: usize) -> Result<Quote, NotebookError> {
        Ok(self.open_collections.quote(id, around)?)
    }
}

/// Parses the id that a caller passes. The id alone says whether it belongs to the active collection, so that nothing is
/// revealed about the contents of others.
fn source_id(entered: &EnteredContext, given: &str) -> Result<SourceId, NotebookError> {
    let id = SourceId::parse(given).ok_or_else(|| NotebookError::SourceIdMalformed {
        source_id: given.to_owned(),
    })?;
    match id.collection == entered.collection {
        true => Ok(id),
        false => Err(NotebookError::SourceOutsideCollection {
            source_id: given.to_owned(),
        }),
    }
}

/// Parses a query; one that is empty or too long is refused.
fn search_query(query: &str) -> Result<SearchQuery, NotebookError> {
    let refused = |message: String| NotebookError::AmbiguousRequest {
        argument: "query",
        message,
    };
    if query.trim().is_empty() {
        return Err(refused("The query is empty.".to_owned()));
    }
    SearchQuery::parse(query).map_err(|error| refused(error.to_string()))
}
