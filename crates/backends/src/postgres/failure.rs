//! Messages for errors of PostgreSQL: chosen by its codes, never in its own words, which may quote data.

use std::{error::Error as _, io};

use deadpool_postgres::{PoolError, TimeoutType};
use sectile_library::StorageError;
use tokio_postgres::error::SqlState;

/// An error of the database, and how it can be handled.
#[derive(Debug)]
pub(super) struct PostgresFailure {
    pub(super) error: StorageError,
    pub(super) kind: PostgresFailureKind,
}

/// The ways in which a failure can be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostgresFailureKind {
    /// The connection is lost. Another one may work.
    Broken,
    /// A table or column is missing.
    Schema,
    /// There is nothing to do here.
    Other,
}

impl PostgresFailure {
    pub(super) fn new(kind: PostgresFailureKind, message: impl Into<String>) -> Self {
        let error = StorageError::failed(message);
        Self { error, kind }
    }

    pub(super) fn other(message: impl Into<String>) -> Self {
        Self::new(PostgresFailureKind::Other, message)
    }

    /// An index that this program cannot use.
    pub(super) fn other_rules() -> Self {
        let message = OTHER_RULES.to_owned();
        Self::from(StorageError::OtherRules { message })
    }
}

impl From<StorageError> for PostgresFailure {
    fn from(error: StorageError) -> Self {
        let kind = PostgresFailureKind::Other;
        Self { error, kind }
    }
}

impl From<PoolError> for PostgresFailure {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::from(error),
            PoolError::Timeout(TimeoutType::Wait) => Self::other(
                "All connections to PostgreSQL are in use. Try again in a moment, or allow more of them.",
            ),
            PoolError::Timeout(_) => Self::other(UNREACHABLE),
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                Self::other("The connections to PostgreSQL are closed.")
            }
        }
    }
}

impl From<tokio_postgres::Error> for PostgresFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(code) = error.code() {
            return of_code(code);
        }
        if error.is_closed() {
            return Self::new(PostgresFailureKind::Broken, BROKEN);
        }
        let io = error
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>());
        let is_connecting = error.to_string().starts_with("error connecting");
        match io {
            // TLS errors surface as read errors.
            Some(io) if io.kind() == io::ErrorKind::InvalidData => Self::other(ENCRYPTION),
            Some(_) if is_connecting => Self::other(UNREACHABLE),
            Some(_) => Self::new(PostgresFailureKind::Broken, BROKEN),
            None if is_connecting => Self::other(UNREACHABLE),
            None if error.to_string().contains("TLS") => Self::other(ENCRYPTION),
            None if error.to_string().contains("configuration") => Self::other(
                "PostgreSQL requires credentials that the settings do not have. Set a user and a password.",
            ),
            None => Self::other("PostgreSQL sent an answer that cannot be parsed."),
        }
    }
}

const UNREACHABLE: &str =
    "PostgreSQL cannot be reached. Check that it runs, and the host and the port in the settings.";
const BROKEN: &str = "The connection to PostgreSQL broke. Try again.";
const ENCRYPTION: &str = "No encrypted connection to PostgreSQL could be made. Check that the server offers TLS, and that its \
    certificate is for this host and signed by an authority that the settings trust.";
const OTHER_RULES: &str = "The index in PostgreSQL was built with another model or other rules. \
    Run `sectile notebook index --to postgres` to rebuild it.";

fn of_code(code: &SqlState) -> PostgresFailure {
    let kind = match code.code() {
        "42P01" | "42703" | "42883" | "42704" | "3F000" => PostgresFailureKind::Schema,
        // With 0A000 the schema has changed since the statement was prepared on this connection.
        "57P01" | "57P02" | "57P03" | "57P05" | "0A000" => PostgresFailureKind::Broken,
        code if code.starts_with("08") => PostgresFailureKind::Broken,
        _ => PostgresFailureKind::Other,
    };
    let message = match code.code() {
        "28P01" | "28000" => {
            "PostgreSQL refused the user. Check the user and the password in the settings, and \
             whether the server requires encryption."
        }
        "3D000" => "The database does not exist. Check its name in the settings, or create it.",
        "42P01" | "42703" | "42883" | "42704" | "3F000" => super::schema::MISSING,
        "42501" => {
            "The user may not do that in this database. An administrator must grant it privileges \
             on the schema `sectile`."
        }
        "57014" => "PostgreSQL took longer than the settings allow. Try again, or allow more time.",
        "55P03" => SOMEBODY_ELSE,
        "40001" | "40P01" => "Another process wrote at the same time. Try again.",
        "57P01" | "57P02" => BROKEN,
        "57P03" => "PostgreSQL is starting or stopping. Try again in a moment.",
        "53100" => "The disk of PostgreSQL is full. Make room there, and try again.",
        "53300" => {
            "PostgreSQL accepts no more connections. Try again in a moment, or allow fewer here."
        }
        "25006" => "This PostgreSQL server is read-only. Index with the writable one.",
        "22000" => return PostgresFailure::other_rules(),
        code if code.starts_with("08") => BROKEN,
        code if code.starts_with("53") => {
            "PostgreSQL does not have enough memory or disk space. Try again later."
        }
        code => {
            let message = format!("PostgreSQL refused the request (code {code}).");
            return PostgresFailure::new(kind, message);
        }
    };
    PostgresFailure::new(kind, message)
}

/// The message for the second of two concurrent writers.
pub(super) const SOMEBODY_ELSE: &str =
    "Another process is writing this collection's index. Try again when it has finished.";
