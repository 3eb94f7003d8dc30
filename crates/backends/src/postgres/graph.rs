//! Vector graphs: one database index for each collection that is too large for a full comparison.
//!
//! A graph is built after the changes are committed, in a transaction of its own: until then, all vectors are compared.
//! Building one blocks other writers, but no readers.

use super::{failure::PostgresFailure, rows::CollectionRow, session::Session, terms::fnv, update};

const STATE: &str = "UPDATE sectile.collection SET has_graph = $2 WHERE id = $1";
const KNOWN: &str = "SELECT indexname::text FROM pg_indexes
    WHERE schemaname = 'sectile' AND tablename = 'chunk' AND starts_with(indexname, $1)";

/// Creates or drops the graph of a collection according to its size: `size` is the number of chunks from which there is
/// one. Returns whether there is one now.
pub(super) async fn adjust(
    session: Session,
    name: &str,
    size: u64,
) -> Result<bool, PostgresFailure> {
    let found = update::begin(&session, name).await?;
    let wanted = found
        .as_ref()
        .filter(|collection| is_wanted(collection, size));
    let prefix = format!("vector_{:016x}_", fnv(b'g', name));
    let wanted_name = wanted.map(|collection| format!("{prefix}{}", collection.id));
    let client = session.client()?;
    let mut is_there = false;
    for row in client.query(KNOWN, &[&prefix]).await? {
        let known: &str = row.try_get(0)?;
        if Some(known) == wanted_name.as_deref() {
            is_there = true;
        } else {
            // Letters, digits and underscores only. Readers wait while this waits for other readers: not for long.
            client
                .batch_execute(&format!(
                    "SET LOCAL lock_timeout = '2s'; DROP INDEX sectile.{known}; SET LOCAL lock_timeout = 0"
                ))
                .await?;
        }
    }
    if let (Some(wanted_name), Some(collection), false) = (&wanted_name, wanted, is_there) {
        let id = collection.id;
        client
            .batch_execute(&format!(
                "SET LOCAL maintenance_work_mem = '256MB';
                CREATE INDEX {wanted_name} ON sectile.chunk USING hnsw (vector halfvec_cosine_ops)
                WHERE collection = {id}"
            ))
            .await?;
    }
    if let Some(collection) = &found
        && collection.has_graph != wanted.is_some()
    {
        client
            .execute(STATE, &[&collection.id, &wanted.is_some()])
            .await?;
    }
    let has_graph = wanted.is_some();
    session.done().await?;
    Ok(has_graph)
}

fn is_wanted(collection: &CollectionRow, size: u64) -> bool {
    u64::try_from(collection.chunks).unwrap_or_default() >= size
}
