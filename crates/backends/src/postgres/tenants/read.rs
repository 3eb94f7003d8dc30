//! What a copy of a tenant's folder needs to be up to date.

use std::collections::HashMap;

use sectile_library::tenants::{
    CopiedFile, KnownTenant, LogChange, LogUpdate, TenantError, TenantFile, TenantRevision,
    TenantUpdate,
};
use sectile_markdown::{Digest, NotePath};
use tokio_postgres::Row;

use super::{TenantFailure, TransactionMode, begin, damaged, log_name, signed, unsigned};
use crate::postgres::session::Session;

const HEAD: &str = "SELECT t.revision, t.commit, t.known_from,
        EXISTS (SELECT FROM sectile_desk.made m WHERE m.tenant = $1 AND m.revision = $2 AND m.commit = $3)
    FROM sectile_desk.tenant t WHERE t.name = $1";
const FILES: &str = "SELECT path, digest, length, modified FROM sectile_desk.file
    WHERE tenant = $1 AND revision > $2 ORDER BY path";
const LOGS: &str = "SELECT name, replaced_at, length FROM sectile_desk.log WHERE tenant = $1";
const PARTS: &str = "SELECT start, bytes FROM sectile_desk.log_part
    WHERE tenant = $1 AND name = $2 AND start >= $3 ORDER BY start";
const BYTES: &str = "SELECT path, digest, bytes FROM sectile_desk.file
    WHERE tenant = $1 AND path = ANY($2) AND digest IS NOT NULL";

/// Returns the difference between `known` and the present state, from one snapshot.
pub(super) async fn update(
    session: Session,
    tenant: &str,
    known: &KnownTenant,
) -> Result<TenantUpdate, TenantFailure> {
    begin(&session, tenant, TransactionMode::Read).await?;
    let client = session.client()?;
    let since = known.revision.as_ref();
    let number = since.map_or(-1, |revision| signed(revision.number));
    let id = since.map_or("", |revision| revision.commit.as_str());
    let head = client
        .query_opt(HEAD, &[&tenant, &number, &id])
        .await?
        .ok_or(TenantError::NotFound)?;
    let revision = TenantRevision {
        number: unsigned(head.try_get(0)?)?,
        commit: head.try_get(1)?,
    };
    let is_known =
        since == Some(&revision) || (head.try_get(3)? && head.try_get::<_, i64>(2)? <= number);
    let from = if is_known { number } else { -1 };
    let mut files = Vec::new();
    for row in client.query(FILES, &[&tenant, &from]).await? {
        let file = file(&row)?;
        // Of a complete list, removed files are not a part.
        if is_known || file.state.is_some() {
            files.push(file);
        }
    }
    let mut logs = Vec::new();
    for row in client.query(LOGS, &[&tenant]).await? {
        let name: String = row.try_get(0)?;
        let log = log_name(&name)?;
        let (replaced_at, length) = (unsigned(row.try_get(1)?)?, unsigned(row.try_get(2)?)?);
        let had = known.logs.get(&log).copied();
        let had = had.filter(|(at, len)| *at == replaced_at && *len <= length);
        if had == Some((replaced_at, length)) {
            continue;
        }
        let start = had.map_or(0, |(_, len)| len);
        let parts = client
            .query(PARTS, &[&tenant, &name, &signed(start)])
            .await?;
        let bytes = joined(&parts, start, length)?;
        let change = match had {
            Some(_) => LogChange::Append(bytes),
            None => LogChange::Replace(bytes),
        };
        logs.push(LogUpdate {
            log,
            replaced_at,
            change,
        });
    }
    session.done().await?;
    Ok(TenantUpdate {
        revision,
        is_complete: !is_known,
        files,
        logs,
    })
}

/// Puts the parts of a log together.
fn joined(parts: &[Row], start: u64, length: u64) -> Result<Vec<u8>, TenantFailure> {
    let mut bytes: Vec<u8> = Vec::new();
    for part in parts {
        if unsigned(part.try_get(0)?)? != start + bytes.len() as u64 {
            return Err(damaged());
        }
        bytes.extend_from_slice(part.try_get::<_, &[u8]>(1)?);
    }
    match start + bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(damaged()),
    }
}

fn file(row: &Row) -> Result<TenantFile, TenantFailure> {
    let path = NotePath::parse_vault(row.try_get(0)?).map_err(|_| damaged())?;
    let digest: Option<&[u8]> = row.try_get(1)?;
    let state = match digest {
        None => None,
        Some(digest) => Some(CopiedFile {
            digest: parsed(digest)?,
            bytes: unsigned(row.try_get(2)?)?,
            modified: row.try_get(3)?,
        }),
    };
    Ok(TenantFile { path, state })
}

fn parsed(digest: &[u8]) -> Result<Digest, TenantFailure> {
    digest
        .try_into()
        .map(Digest::from_bytes)
        .map_err(|_| damaged())
}

/// Returns the bytes of files, where they are still those with this digest.
pub(super) async fn read(
    session: Session,
    tenant: &str,
    files: &[(NotePath, Digest)],
) -> Result<Vec<Option<Vec<u8>>>, TenantFailure> {
    begin(&session, tenant, TransactionMode::Read).await?;
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    let rows = session.client()?.query(BYTES, &[&tenant, &paths]).await?;
    session.done().await?;
    let mut found: HashMap<String, (Digest, Vec<u8>)> = HashMap::new();
    for row in rows {
        let digest = parsed(row.try_get(1)?)?;
        found.insert(row.try_get(0)?, (digest, row.try_get(2)?));
    }
    let bytes = files.iter().map(|(path, digest)| {
        let (found, bytes) = found.remove(path.as_str())?;
        (found == *digest).then_some(bytes)
    });
    Ok(bytes.collect())
}
