//! The collection that a caller has entered, and the state that lives as long: running streams and a log of returned
//! references. All of it is in memory only.
//!
//! In the handshake eras a connection has one context, and entering a collection replaces what it holds. In the stateless
//! era every `enter_collection` creates a context of its own, which later calls name by its handle. Where replicas share a
//! secret, the handle itself says what was entered (`seal.rs`), and a replica creates a context when it first sees the
//! handle.

use std::{
    cmp::Reverse,
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use schemars::JsonSchema;
use sectile_library::tiers::Tier;
use serde::Serialize;

use super::{
    errors::NotebookError,
    seal::HandleSeal,
    streams::{SharedStream, Stream, StreamEnd, Streams},
    tokens::uuid,
};

/// Time in seconds for which the context of a handle is kept after its last use. Unless it is sealed, the handle expires
/// with it.
pub(crate) const HANDLE_IDLE_S: u64 = 3600;

/// Maximum number of handles with a context at the same time.
pub(crate) const MOST_HANDLES: usize = 256;

/// Maximum number of access records in a context. Older ones are dropped, but still counted.
pub(super) const MOST_RECORDS: usize = 256;

/// The state of a connection, or of a handle.
pub(crate) struct Context {
    /// Time of creation, in milliseconds since 1970.
    created_at: i64,
    state: Mutex<ContextState>,
}

#[derive(Default)]
struct ContextState {
    /// `None`: the safe state, in which nothing can be read.
    collection: Option<String>,
    streams: Streams,
    /// The tier that answered the last search in the collection.
    tier: Option<Tier>,
    log: VecDeque<AccessRecord>,
    accesses: u64,
}

/// One call that was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AccessRecord {
    /// Time of the call, in milliseconds since 1970.
    pub(crate) timestamp: i64,
    /// The tool that was called.
    pub(crate) tool: &'static str,
    /// The active collection.
    pub(crate) collection_id: Option<String>,
    /// The references that were returned.
    pub(crate) reference_ids: Vec<String>,
}

impl Context {
    /// Creates a context in the safe state.
    pub(crate) fn new(now: i64) -> Self {
        Self {
            created_at: now,
            state: Mutex::default(),
        }
    }

    /// Returns the time of creation, in milliseconds since 1970.
    pub(crate) fn created_at(&self) -> i64 {
        self.created_at
    }

    /// Returns the active collection.
    pub(crate) fn collection(&self) -> Option<String> {
        self.state().collection.clone()
    }

    /// Makes `collection` the active one. All state of the previous one is dropped, and its streams end.
    pub(crate) fn enter(&self, collection: &str, now: i64) {
        let mut state = self.state();
        state.collection = Some(collection.to_owned());
        state.tier = None;
        state.streams.end_all(StreamEnd::CollectionChanged, now);
    }

    /// Returns to the safe state, in which nothing can be read.
    pub(crate) fn leave(&self, now: i64) {
        let mut state = self.state();
        state.collection = None;
        state.tier = None;
        state.streams.end_all(StreamEnd::CollectionLeft, now);
    }

    /// Remembers the tier that answered a search. Returns that of the previous search.
    pub(crate) fn searched_with(&self, tier: Tier) -> Option<Tier> {
        self.state().tier.replace(tier)
    }

    /// Records that `tool` answered a call.
    pub(crate) fn record(&self, timestamp: i64, tool: &'static str, reference_ids: Vec<String>) {
        let mut state = self.state();
        let collection_id = state.collection.clone();
        state.log.push_back(AccessRecord {
            timestamp,
            tool,
            collection_id,
            reference_ids,
        });
        if state.log.len() > MOST_RECORDS {
            state.log.pop_front();
        }
        state.accesses += 1;
    }

    /// Returns the number of calls that were answered.
    pub(crate) fn accesses(&self) -> u64 {
        self.state().accesses
    }

    /// Returns the last call that was answered.
    pub(crate) fn last_access(&self) -> Option<AccessRecord> {
        self.state().log.back().cloned()
    }

    /// Registers a stream of the active collection.
    pub(crate) fn begin(&self, stream: Stream, now: i64) -> Result<(), NotebookError> {
        let mut state = self.state();
        // Another call may have entered a different collection while this one searched.
        if state.collection.as_deref() != Some(stream.collection()) {
            return Err(NotebookError::StreamTokenInvalid {
                reason: StreamEnd::CollectionChanged.reason(),
            });
        }
        state.streams.begin(stream, now);
        Ok(())
    }

    /// Returns the running stream with this token.
    pub(crate) fn stream(&self, token: &str, now: i64) -> Result<SharedStream, NotebookError> {
        self.state().streams.find(token, now)
    }

    /// Ends the stream with this token, which is exhausted.
    pub(crate) fn finish(&self, token: &str) {
        self.state().streams.end(token, StreamEnd::Finished);
    }

    fn state(&self) -> MutexGuard<'_, ContextState> {
        self.state.lock()
    }
}

/// A context whose collection is known.
pub(crate) struct EnteredContext {
    pub(crate) context: Arc<Context>,
    pub(crate) collection: String,
}

/// The contexts that are named by a handle.
#[derive(Default)]
pub(crate) struct ContextRegistry {
    /// The seal, if several replicas accept the same handles.
    seal: Option<HandleSeal>,
    all: Mutex<Vec<IssuedHandle>>,
}

struct IssuedHandle {
    handle: String,
    caller: Option<String>,
    last_used: i64,
    context: Arc<Context>,
}

impl ContextRegistry {
    /// Creates a registry whose handles are sealed, so that other replicas can open them.
    pub(crate) fn sealed(seal: HandleSeal) -> Self {
        Self {
            seal: Some(seal),
            all: Mutex::default(),
        }
    }

    /// Returns whether handles are sealed.
    pub(crate) fn are_sealed(&self) -> bool {
        self.seal.is_some()
    }

    /// Creates a context for `caller` in which `collection` is entered. Returns it with its handle.
    pub(crate) fn make(
        &self,
        caller: Option<&str>,
        collection: &str,
        now: i64,
    ) -> Result<(String, Arc<Context>), NotebookError> {
        let handle = match &self.seal {
            Some(seal) => seal.seal(caller, collection, now)?,
            None => uuid()?,
        };
        let mut all = self.all.lock();
        all.retain(|handed| !handed.has_expired(now));
        let context = keep(&mut all, caller, &handle, collection, now);
        Ok((handle, context))
    }

    /// Returns the context of `caller` with this handle. A handle of another caller is unknown. A sealed handle that was
    /// made elsewhere, or whose context has expired, gets a new context.
    pub(crate) fn find(
        &self,
        caller: Option<&str>,
        handle: &str,
        now: i64,
    ) -> Result<Arc<Context>, NotebookError> {
        // Checked even if there is a context: the handle must not be valid for longer here than elsewhere.
        let opened = match &self.seal {
            Some(seal) => Some(
                seal.open(caller, handle, now)
                    .ok_or(NotebookError::SealedHandleUnknown)?,
            ),
            None => None,
        };
        let mut all = self.all.lock();
        all.retain(|handed| !handed.has_expired(now));
        let found = all
            .iter_mut()
            .find(|handed| handed.handle == handle && handed.caller.as_deref() == caller);
        match (found, opened) {
            (Some(handed), _) => {
                handed.last_used = now;
                Ok(Arc::clone(&handed.context))
            }
            (None, Some(collection)) => Ok(keep(&mut all, caller, handle, &collection, now)),
            (None, None) => Err(NotebookError::HandleUnknown),
        }
    }

    /// Drops the context of `caller` with this handle, if there is one. A sealed handle stays valid, because other replicas
    /// cannot know; only its context here is dropped.
    pub(crate) fn drop_handle(&self, caller: Option<&str>, handle: &str) {
        self.all
            .lock()
            .retain(|handed| handed.handle != handle || handed.caller.as_deref() != caller);
    }
}

/// Adds a new context for `handle` to `all`, and evicts another one if there are too many.
fn keep(
    all: &mut Vec<IssuedHandle>,
    caller: Option<&str>,
    handle: &str,
    collection: &str,
    now: i64,
) -> Arc<Context> {
    if all.len() >= MOST_HANDLES {
        // The caller with the most contexts loses one; in a tie, the caller that asks for another.
        let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
        for handed in all.iter() {
            *counts.entry(handed.caller.as_deref()).or_default() += 1;
        }
        let spared = |handed: &IssuedHandle| {
            let holder = handed.caller.as_deref();
            let count = counts.get(&holder).copied().unwrap_or_default();
            (Reverse(count), holder != caller, handed.last_used)
        };
        let oldest = all
            .iter()
            .enumerate()
            .min_by_key(|(at, handed)| (spared(handed), *at))
            .map(|(at, _)| at);
        if let Some(at) = oldest {
            all.remove(at);
        }
    }
    let context = Arc::new(Context::new(now));
    context.enter(collection, now);
    all.push(IssuedHandle {
        handle: handle.to_owned(),
        caller: caller.map(str::to_owned),
        last_used: now,
        context: Arc::clone(&context),
    });
    context
}

impl IssuedHandle {
    fn has_expired(&self, now: i64) -> bool {
        let idle = now.saturating_sub(self.last_used);
        u64::try_from(idle).is_ok_and(|idle| idle >= HANDLE_IDLE_S * 1000)
    }
}

#[cfg(test)]
mod tests {
    use sectile_library::{
        open_collection::{IndexState, VerifiedResults},
        testing::Memory,
    };
    use sectile_mcp::access::Secret;

    use super::{super::streams::StreamStart, *};

    /// An empty stream.
    fn stream(collection: &str, token: &str) -> Stream {
        let found = VerifiedResults {
            hits: Vec::new(),
            total: 0,
            state: IndexState {
                as_of: 0,
                on_disk: false,
                backend: None,
                changed: Some(0),
                unseen: 0,
                left_out: Some(Arc::default()),
                semantic: false,
                tier: Tier::Static,
                model: "none",
            },
            unknown_words: Vec::new(),
            corrected_words: Vec::new(),
        };
        let beginning = StreamStart {
            token: token.to_owned(),
            query: "x",
            collection,
            expires_at: 1000,
            page: 10,
            tier_before: None,
        };
        Stream::new(beginning, found, Memory::shared(&[]).as_ref(), &|| false).expect("a stream")
    }

    fn ended(context: &Context, token: &str) -> Option<&'static str> {
        match context.stream(token, 0).err()? {
            NotebookError::StreamTokenInvalid { reason } => Some(reason),
            error => panic!("{error:?}"),
        }
    }

    #[test]
    fn entering_ends_the_streams_of_the_context_and_of_no_other() {
        let (context, other) = (Context::new(0), Context::new(0));
        for (context, token) in [(&context, "x"), (&other, "y")] {
            context.enter("a", 0);
            context.begin(stream("a", token), 0).expect("it begins");
        }
        assert_eq!(ended(&context, "x"), None);
        assert_eq!(ended(&other, "x"), Some("unknown"), "a token is not shared");
        context.enter("a", 0);
        assert_eq!(ended(&context, "x"), Some("collection_changed"));
        assert_eq!(ended(&other, "y"), None);
        other.finish("y");
        assert_eq!(ended(&other, "y"), Some("finished"));
    }

    #[test]
    fn a_context_that_was_left_is_as_safe_as_at_the_start() {
        let context = Context::new(0);
        context.leave(0);
        assert_eq!(context.collection(), None);
        context.enter("a", 0);
        context.begin(stream("a", "x"), 0).expect("it begins");
        context.searched_with(Tier::Static);
        context.leave(0);
        assert_eq!(context.collection(), None);
        assert_eq!(ended(&context, "x"), Some("collection_left"));
        context.enter("a", 0);
        assert_eq!(context.searched_with(Tier::Transformer), None);
    }

    #[test]
    fn the_tier_of_the_last_search_is_known_until_a_collection_is_entered() {
        let context = Context::new(0);
        context.enter("a", 0);
        assert_eq!(context.searched_with(Tier::Static), None);
        assert_eq!(context.searched_with(Tier::Transformer), Some(Tier::Static));
        context.enter("b", 0);
        assert_eq!(context.searched_with(Tier::Static), None);
    }

    #[test]
    fn a_stream_of_a_collection_that_was_left_meanwhile_does_not_begin() {
        let context = Context::new(0);
        context.enter("b", 0);
        let begun = context.begin(stream("a", "x"), 0);
        let reason = "collection_changed";
        assert_eq!(begun, Err(NotebookError::StreamTokenInvalid { reason }));
        assert_eq!(ended(&context, "x"), Some("unknown"));
    }

    const HOUR: i64 = 3_600_000;

    #[test]
    fn a_context_starts_without_a_collection_and_has_one_at_a_time() {
        let context = Context::new(0);
        assert_eq!(context.collection(), None);
        context.enter("a", 0);
        context.enter("b", 0);
        assert_eq!(context.collection().as_deref(), Some("b"));
    }

    #[test]
    fn a_handle_is_good_for_its_caller_until_it_was_idle_for_too_long() {
        let contexts = ContextRegistry::default();
        let (handle, made) = contexts.make(Some("ada"), "a", 0).expect("a handle");
        let found = contexts.find(Some("ada"), &handle, HOUR - 1);
        assert!(Arc::ptr_eq(&found.expect("a context"), &made));
        let unknown = |result: Result<Arc<Context>, NotebookError>| result.err();
        let strange = Some(NotebookError::HandleUnknown);
        assert_eq!(unknown(contexts.find(None, &handle, HOUR)), strange);
        assert_eq!(unknown(contexts.find(Some("eve"), &handle, HOUR)), strange);
        assert_eq!(unknown(contexts.find(Some("ada"), "x", HOUR)), strange);
        // The use at HOUR - 1 counts; attempts by other callers do not.
        assert!(contexts.find(Some("ada"), &handle, 2 * HOUR - 2).is_ok());
        assert_eq!(
            unknown(contexts.find(Some("ada"), &handle, 3 * HOUR - 2)),
            strange
        );
    }

    #[test]
    fn a_handle_can_be_given_up_by_its_caller_only() {
        let contexts = ContextRegistry::default();
        let (handle, _) = contexts.make(Some("ada"), "a", 0).expect("a handle");
        contexts.drop_handle(Some("eve"), &handle);
        assert!(contexts.find(Some("ada"), &handle, 0).is_ok());
        contexts.drop_handle(Some("ada"), &handle);
        assert!(contexts.find(Some("ada"), &handle, 0).is_err());
    }

    #[test]
    fn there_are_only_so_many_handles_and_who_asks_for_many_loses_their_own() {
        let contexts = ContextRegistry::default();
        let make = |caller, now| contexts.make(Some(caller), "a", now).expect("a handle").0;
        let of_ada = make("ada", 0);
        let of_eve: Vec<String> = (1..=300).map(|now| make("eve", now)).collect();
        assert_eq!(contexts.all.lock().len(), MOST_HANDLES);
        assert!(contexts.find(Some("ada"), &of_ada, 300).is_ok());
        assert!(contexts.find(Some("eve"), &of_eve[0], 300).is_err());
        assert!(contexts.find(Some("eve"), &of_eve[299], 300).is_ok());
        // A caller with few contexts loses none, neither to other callers nor to its own new ones.
        let others = [make("ada", 301), make("bob", 302), make("ada", 303)];
        for (caller, handle) in [
            ("ada", &of_ada),
            ("ada", &others[0]),
            ("bob", &others[1]),
            ("ada", &others[2]),
        ] {
            assert!(contexts.find(Some(caller), handle, 304).is_ok());
        }
        assert_eq!(contexts.all.lock().len(), MOST_HANDLES);
    }

    fn replica(secret: &str) -> ContextRegistry {
        ContextRegistry::sealed(HandleSeal::new(&Secret::new(secret)).expect("a key"))
    }

    #[test]
    fn a_sealed_handle_is_good_on_every_replica_with_the_secret_and_nowhere_else() {
        let (one, two, strange) = (replica("same"), replica("same"), replica("other"));
        let (handle, made) = one.make(Some("ada"), "a", 0).expect("a handle");
        let here = one.find(Some("ada"), &handle, 1).expect("a context");
        assert!(Arc::ptr_eq(&here, &made));
        let there = two.find(Some("ada"), &handle, 1).expect("a context");
        assert_eq!(there.collection().as_deref(), Some("a"));
        assert_eq!(there.accesses(), 0, "what is kept is local");
        let again = two.find(Some("ada"), &handle, 2).expect("a context");
        assert!(Arc::ptr_eq(&there, &again), "it is made once");
        let unknown = Some(NotebookError::SealedHandleUnknown);
        assert_eq!(strange.find(Some("ada"), &handle, 1).err(), unknown);
        for replica in [&one, &two] {
            assert_eq!(replica.find(Some("eve"), &handle, 1).err(), unknown);
            assert_eq!(replica.find(None, &handle, 1).err(), unknown);
            assert_eq!(replica.find(Some("ada"), "x", 1).err(), unknown);
        }
        let plain = ContextRegistry::default().find(Some("ada"), &handle, 1);
        assert_eq!(plain.err(), Some(NotebookError::HandleUnknown));
    }

    #[test]
    fn a_sealed_handle_outlives_what_is_kept_for_it_but_not_its_day() {
        let contexts = replica("same");
        let (handle, made) = contexts.make(None, "a", 0).expect("a handle");
        let later = contexts.find(None, &handle, HOUR).expect("a context");
        assert!(!Arc::ptr_eq(&later, &made), "the first one was idle");
        assert_eq!(later.collection().as_deref(), Some("a"));
        contexts.drop_handle(None, &handle);
        let after = contexts.find(None, &handle, HOUR).expect("still good");
        assert!(!Arc::ptr_eq(&after, &later));
        for hour in 2..24 {
            assert!(contexts.find(None, &handle, hour * HOUR).is_ok());
        }
        let ended = contexts.find(None, &handle, 24 * HOUR).err();
        assert_eq!(ended, Some(NotebookError::SealedHandleUnknown));
    }

    #[test]
    fn the_log_is_bounded_and_its_count_exact() {
        let context = Context::new(0);
        context.record(1, "list_collections", Vec::new());
        context.enter("a", 0);
        for now in 2..=1000 {
            context.record(now, "fetch_passage", vec!["x".to_owned()]);
        }
        assert_eq!(context.accesses(), 1000);
        assert_eq!(context.state().log.len(), MOST_RECORDS);
        let last = AccessRecord {
            timestamp: 1000,
            tool: "fetch_passage",
            collection_id: Some("a".to_owned()),
            reference_ids: vec!["x".to_owned()],
        };
        assert_eq!(context.last_access(), Some(last));
    }
}
