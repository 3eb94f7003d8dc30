//! Vector graphs: for each collection that is too large for a full comparison, one database index per tier.
//!
//! The graph of the first tier is built after the changes are committed, in a transaction of its own: until then, all
//! vectors are compared. That of the second tier is built before this tier answers. Building one blocks other writers, but
//! no readers.

use super::{
    PostgresTuning, failure::PostgresFailure, rows::CollectionRow, session::Session, terms::fnv,
    update,
};

const STATE: &str =
    "UPDATE sectile.collection SET has_graph = $2, tier_graph = $3 WHERE id = $1 RETURNING *";
const KNOWN: &str = "SELECT indexname::text FROM pg_indexes
    WHERE schemaname = 'sectile' AND tablename IN ('chunk', 'meaning')
    AND (starts_with(indexname, $1) OR starts_with(indexname, $2))";
/// The number of bytes of a model's fingerprint in the name of a graph.
const MODEL_BYTES: usize = 4;

/// The names of a collection's graphs. They consist of letters, digits and underscores only.
struct GraphNames {
    first: String,
    second: String,
}

impl GraphNames {
    /// Returns the beginnings of all names for a collection.
    fn prefixes(collection: &str) -> Self {
        let digits = fnv(b'g', collection);
        Self {
            first: format!("vector_{digits:016x}_"),
            second: format!("meaning_{digits:016x}_"),
        }
    }

    /// Returns the name of the first tier's graph.
    fn of_first(&self, collection: &CollectionRow) -> String {
        format!("{}{}", self.first, collection.id)
    }

    /// Returns the name of the graph for a model of the second tier.
    fn of_second(&self, collection: &CollectionRow, model: &[u8]) -> String {
        let model: String = hexadecimal(&model[..model.len().min(MODEL_BYTES)]);
        format!("{}{}_{model}", self.second, collection.meaning)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Creates the first tier's graph of a collection, or drops its graphs, according to its size, in a transaction that the
/// caller ends. Returns its row after that, or `None` if there is no such collection.
pub(super) async fn adjust(
    session: &Session,
    name: &str,
    rules: &PostgresTuning,
) -> Result<Option<CollectionRow>, PostgresFailure> {
    let found = update::begin(session, name).await?;
    let wanted = found
        .as_ref()
        .filter(|collection| is_wanted(collection, rules.exact_below));
    let names = GraphNames::prefixes(name);
    let first = wanted.map(|collection| names.of_first(collection));
    // A graph of a tier that is being filled again will be needed.
    let second: Vec<String> = wanted
        .map(|collection| {
            let own = rules.second.as_ref().map(|second| &second.fingerprint);
            let models = collection.tier.iter().chain(own);
            models
                .map(|model| names.of_second(collection, model))
                .collect()
        })
        .unwrap_or_default();
    let client = session.client()?;
    let (mut has_first, mut has_second) = (false, false);
    for row in client.query(KNOWN, &[&names.first, &names.second]).await? {
        let known: &str = row.try_get(0)?;
        if Some(known) == first.as_deref() {
            has_first = true;
        } else if second.iter().any(|wanted| wanted == known) {
            has_second |= second.first().is_some_and(|wanted| wanted == known);
        } else {
            // Readers wait while this waits for other readers: not for long.
            client
                .batch_execute(&format!(
                    "SET LOCAL lock_timeout = '2s'; DROP INDEX sectile.{known}; SET LOCAL lock_timeout = 0"
                ))
                .await?;
        }
    }
    if let (Some(first), Some(collection), false) = (&first, wanted, has_first) {
        let id = collection.id;
        client
            .batch_execute(&format!(
                "SET LOCAL maintenance_work_mem = '256MB';
                CREATE INDEX {first} ON sectile.chunk USING hnsw (vector halfvec_cosine_ops)
                WHERE collection = {id}"
            ))
            .await?;
    }
    let mut adjusted = found.clone();
    if let Some(collection) = &found
        && (collection.has_graph, collection.tier_graph) != (wanted.is_some(), has_second)
    {
        let row = client
            .query_one(STATE, &[&collection.id, &wanted.is_some(), &has_second])
            .await?;
        adjusted = CollectionRow::of(&row)?;
    }
    Ok(adjusted)
}

/// Creates the graph of a model's vectors in the second tier, unless the collection is small or has it. Returns whether it
/// has one. The transaction goes on.
pub(super) async fn add_second(
    session: &Session,
    name: &str,
    collection: &CollectionRow,
    model: &[u8],
    size: u64,
) -> Result<bool, PostgresFailure> {
    if !is_wanted(collection, size) {
        return Ok(false);
    }
    let wanted = GraphNames::prefixes(name).of_second(collection, model);
    let (meaning, model) = (collection.meaning, hexadecimal(model));
    session
        .client()?
        .batch_execute(&format!(
            "SET LOCAL maintenance_work_mem = '256MB';
            CREATE INDEX IF NOT EXISTS {wanted} ON sectile.meaning USING hnsw (vector halfvec_cosine_ops)
            WHERE collection = {meaning} AND model = '\\x{model}'"
        ))
        .await?;
    Ok(true)
}

/// Returns whether a collection is large enough for graphs: `size` is the number of chunks from which there are some.
pub(super) fn is_wanted(collection: &CollectionRow, size: u64) -> bool {
    u64::try_from(collection.chunks).unwrap_or_default() >= size
}
