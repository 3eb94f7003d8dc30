//! Commits: one transaction each, and certainty about those whose answer was lost.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use sectile_library::{
    StorageError,
    tenants::{LogChange, TenantCommit, TenantCommitOutcome, TenantError, TenantRevision},
};

use super::{LARGE, PostgresTenants, TenantFailure, TransactionMode, begin, signed, unsigned};
use crate::postgres::{failure::PostgresFailureKind, session::Session};

/// The pauses before a commit whose answer was lost is sent again. A server that restarts is back within seconds.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(3),
];
/// The number of revisions for which removed files and ids of commits are remembered. A copy that is further behind
/// compares all files.
const REMEMBERED: i64 = 4_096;

const LOCKED: &str = "SELECT revision, commit FROM sectile_desk.tenant WHERE name = $1 FOR UPDATE";
const MADE: &str = "SELECT revision FROM sectile_desk.made WHERE tenant = $1 AND commit = $2";
const BEFORE: &str = "SELECT count(*), coalesce(sum(length), 0)::bigint FROM sectile_desk.file
    WHERE tenant = $1 AND path = ANY($2) AND digest IS NOT NULL";
const FILES: &str =
    "INSERT INTO sectile_desk.file (tenant, revision, path, digest, length, modified, bytes)
    SELECT $1, $2, * FROM unnest($3::text[], $4::bytea[], $5::int8[], $6::int8[], $7::bytea[])
    ON CONFLICT (tenant, path) DO UPDATE SET revision = excluded.revision, digest = excluded.digest,
        length = excluded.length, modified = excluded.modified, bytes = excluded.bytes";
const CUT: &str = "DELETE FROM sectile_desk.log_part WHERE tenant = $1 AND name = $2";
const REPLACED: &str = "INSERT INTO sectile_desk.log (tenant, name, replaced_at, length) VALUES ($1, $2, $3, $4)
    ON CONFLICT (tenant, name) DO UPDATE SET replaced_at = excluded.replaced_at, length = excluded.length
    RETURNING 0::bigint";
/// Returns where the appended bytes start.
const APPENDED: &str =
    "INSERT INTO sectile_desk.log AS l (tenant, name, replaced_at, length) VALUES ($1, $2, $3, $4)
    ON CONFLICT (tenant, name) DO UPDATE SET length = l.length + excluded.length
    RETURNING l.length - $4";
const PART: &str =
    "INSERT INTO sectile_desk.log_part (tenant, name, start, bytes) VALUES ($1, $2, $3, $4)";
const NEWEST: &str = "UPDATE sectile_desk.tenant SET revision = $2, commit = $3, files = files + $4, bytes = bytes + $5
    WHERE name = $1";
const REMEMBER: &str =
    "INSERT INTO sectile_desk.made (tenant, revision, commit) VALUES ($1, $2, $3)";
const FORGET: [&str; 3] = [
    "DELETE FROM sectile_desk.made WHERE tenant = $1 AND revision < $2",
    "DELETE FROM sectile_desk.file WHERE tenant = $1 AND revision < $2 AND digest IS NULL",
    "UPDATE sectile_desk.tenant SET known_from = $2 WHERE name = $1",
];

impl PostgresTenants {
    /// Makes a commit. If its answer is lost, it is sent again: either it is found, or it is made now.
    pub(super) fn commit_surely(
        &self,
        tenant: &str,
        base: &TenantRevision,
        commit: &TenantCommit,
    ) -> Result<TenantCommitOutcome, TenantError> {
        let mut is_doubtful = false;
        let mut pauses = PAUSES.into_iter();
        loop {
            // From the moment when the end of the transaction is sent, only an answer says whether it was made.
            let is_ending = AtomicBool::new(false);
            let work = async {
                let done = match self.sessions.take().await {
                    Ok(session) => make(session, tenant, base, commit, &is_ending).await,
                    Err(failure) => Err(failure.into()),
                };
                Ok(done)
            };
            let failure = match self.waiting.run(LARGE, &|| false, work) {
                Ok(Ok(outcome)) => return Ok(outcome),
                Ok(Err(TenantFailure::Postgres(failure))) => self.explained(failure, &|| false),
                Ok(Err(failure)) => failure,
                Err(error) => TenantError::Storage(error).into(),
            };
            is_doubtful |= is_ending.load(Ordering::Relaxed);
            let is_broken = matches!(&failure, TenantFailure::Postgres(failure)
                if failure.kind == PostgresFailureKind::Broken);
            if is_broken {
                self.sessions.forget();
            }
            match pauses.next() {
                Some(pause) if is_doubtful || is_broken => thread::sleep(pause),
                _ if is_doubtful => return Err(lost(failure.into())),
                _ => return Err(failure.into()),
            }
        }
    }
}

fn lost(error: TenantError) -> TenantError {
    let reason = match error {
        TenantError::Storage(StorageError::Failed { message }) => message,
        other => other.to_string(),
    };
    TenantError::OutcomeUnknown { message: reason }
}

async fn make(
    session: Session,
    tenant: &str,
    base: &TenantRevision,
    commit: &TenantCommit,
    is_ending: &AtomicBool,
) -> Result<TenantCommitOutcome, TenantFailure> {
    begin(&session, tenant, TransactionMode::Write).await?;
    let client = session.client()?;
    // Also waits for an earlier attempt of the same commit that is still being made.
    let row = client.query_opt(LOCKED, &[&tenant]).await?;
    let row = row.ok_or(TenantError::NotFound)?;
    let present = TenantRevision {
        number: unsigned(row.try_get(0)?)?,
        commit: row.try_get(1)?,
    };
    if present != *base {
        let made = client.query_opt(MADE, &[&tenant, &commit.id]).await?;
        session.done().await?;
        return match made {
            Some(row) => Ok(TenantCommitOutcome::Committed(TenantRevision {
                number: unsigned(row.try_get(0)?)?,
                commit: commit.id.clone(),
            })),
            None => Ok(TenantCommitOutcome::Behind),
        };
    }
    let number = signed(base.number) + 1;
    let (files, bytes) = write_files(&session, tenant, number, commit).await?;
    write_logs(&session, tenant, number, commit).await?;
    client
        .execute(NEWEST, &[&tenant, &number, &commit.id, &files, &bytes])
        .await?;
    client
        .execute(REMEMBER, &[&tenant, &number, &commit.id])
        .await?;
    if number % REMEMBERED == 0 {
        for statement in FORGET {
            client
                .execute(statement, &[&tenant, &(number - REMEMBERED)])
                .await?;
        }
    }
    is_ending.store(true, Ordering::Relaxed);
    session.done().await?;
    Ok(TenantCommitOutcome::Committed(TenantRevision {
        number: unsigned(number)?,
        commit: commit.id.clone(),
    }))
}

/// Writes the files of a commit, and returns the change in their number and in their bytes.
async fn write_files(
    session: &Session,
    tenant: &str,
    number: i64,
    commit: &TenantCommit,
) -> Result<(i64, i64), TenantFailure> {
    if commit.files.is_empty() {
        return Ok((0, 0));
    }
    let client = session.client()?;
    let paths: Vec<&str> = commit.files.iter().map(|file| file.path.as_str()).collect();
    let before = client.query_one(BEFORE, &[&tenant, &paths]).await?;
    let (mut files, mut bytes) = (-before.try_get::<_, i64>(0)?, -before.try_get::<_, i64>(1)?);
    let (mut digests, mut lengths, mut modified, mut contents) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for file in &commit.files {
        let state = file.content.as_ref().map(|(state, _)| state);
        digests.push(state.map(|state| state.digest.as_bytes().to_vec()));
        lengths.push(state.map_or(0, |state| signed(state.bytes)));
        modified.push(state.map_or(0, |state| state.modified));
        contents.push(file.content.as_ref().map(|(_, bytes)| bytes.as_slice()));
        files += i64::from(state.is_some());
        bytes += state.map_or(0, |state| signed(state.bytes));
    }
    client
        .execute(
            FILES,
            &[
                &tenant, &number, &paths, &digests, &lengths, &modified, &contents,
            ],
        )
        .await?;
    Ok((files, bytes))
}

async fn write_logs(
    session: &Session,
    tenant: &str,
    number: i64,
    commit: &TenantCommit,
) -> Result<(), TenantFailure> {
    let client = session.client()?;
    for (log, change) in &commit.logs {
        let (name, bytes) = (log.file(), change.bytes());
        let length = signed(bytes.len() as u64);
        let statement = match change {
            LogChange::Append(_) => APPENDED,
            LogChange::Replace(_) => {
                client.execute(CUT, &[&tenant, &name]).await?;
                REPLACED
            }
        };
        let row = client
            .query_one(statement, &[&tenant, &name, &number, &length])
            .await?;
        let start: i64 = row.try_get(0)?;
        client
            .execute(PART, &[&tenant, &name, &start, &bytes])
            .await?;
    }
    Ok(())
}
