//! The settings of a desk whose folders are those of many tenants, in a store that servers share.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use sectile_backends::{PostgresSettings, S3Settings};
use sectile_library::tenants::{TenantQuota, is_tenant_name};
use serde::{Deserialize, Serialize};

use crate::{
    settings::{ConfigError, SettingsReader, cache_folder},
    worlds::buckets::{S3Section, s3},
};

/// The section of the settings.
const STORE: &str = "desk.store";

/// Store of the folders of many tenants, which several servers can share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoreSection {
    /// Type of store: `postgres` (a PostgreSQL database) or `s3` (storage that speaks S3 and honours conditional writes).
    /// Empty: the desk serves folders of this machine.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// For `postgres`, the database, without a password: `postgres://user@host:5432/database?sslmode=require`.
    pub(crate) connection: String,
    /// File with the password, relative to the settings file. If empty, `password_env` is used.
    pub(crate) password_file: String,
    /// Environment variable with the password. If empty, no password is sent.
    pub(crate) password_env: String,
    /// File with certificates (PEM) to trust in addition to the well-known ones.
    pub(crate) ca_file: String,
    /// Maximum number of open connections to the database.
    #[schemars(range(min = 1, max = 1_000))]
    pub(crate) max_connections: usize,
    /// Time limit for opening a connection, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) connect_timeout_ms: u64,
    /// Time limit for a statement, in milliseconds.
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) statement_timeout_ms: u64,
    /// For `s3`, the bucket, optionally with a folder: `bucket/folder`.
    pub(crate) path: String,
    /// Tenant of callers that are bound to none by their key, token or role. Empty: they see nothing.
    pub(crate) tenant: String,
    /// Folder for the working copies of the tenants, relative to the settings file. Empty: `sectile-tenants` in your cache
    /// folder.
    pub(crate) copies: String,
    /// Number of tenants that stay open on this server. Those that were not used for the longest time are closed.
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) max_open: usize,
    /// Maximum number of files of a tenant.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub(crate) max_files: u64,
    /// Maximum size of a tenant's files, in bytes.
    #[schemars(range(min = 1, max = 1_099_511_627_776_u64))]
    pub(crate) max_bytes: u64,
    /// For `s3`, access to the bucket.
    pub(crate) s3: S3Section,
}

impl Default for StoreSection {
    fn default() -> Self {
        Self {
            kind: String::new(),
            connection: String::new(),
            password_file: String::new(),
            password_env: String::new(),
            ca_file: String::new(),
            max_connections: 8,
            connect_timeout_ms: 5_000,
            statement_timeout_ms: 10_000,
            path: String::new(),
            tenant: String::new(),
            copies: String::new(),
            max_open: 64,
            max_files: 20_000,
            max_bytes: 1 << 30,
            s3: S3Section::default(),
        }
    }
}

/// The checked settings of a store.
#[derive(Debug)]
pub(crate) struct StoreSettings {
    /// Where the tenants are.
    pub(crate) location: StoreLocation,
    /// The tenant of callers that are bound to none.
    pub(crate) tenant: Option<String>,
    /// The folder of the working copies.
    pub(crate) copies: PathBuf,
    pub(crate) max_open: usize,
    pub(crate) quota: TenantQuota,
}

/// Where tenants are.
#[derive(Debug)]
pub(crate) enum StoreLocation {
    Postgres(Box<PostgresConnection>),
    Bucket(Box<S3Settings>),
}

/// A database, whose address and password are never shown.
pub(crate) struct PostgresConnection(pub(crate) PostgresSettings);

impl std::fmt::Debug for PostgresConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PostgresConnection")
    }
}

impl StoreSection {
    /// Checks the section; `None` if it names no store.
    pub(super) fn check(
        &self,
        reader: SettingsReader<'_>,
    ) -> Result<Option<StoreSettings>, ConfigError> {
        let key = |name: &str| format!("{STORE}.{name}");
        let location = match self.kind.as_str() {
            "" => return Ok(None),
            "postgres" => StoreLocation::Postgres(Box::new(self.postgres(reader)?)),
            "s3" => {
                let bucket = s3(reader, STORE, "s3", (&self.path, &self.s3))?;
                StoreLocation::Bucket(Box::new(bucket))
            }
            _ => return Err(reader.refuse(&key("type"), "postgres or s3")),
        };
        if !self.tenant.is_empty() && !is_tenant_name(&self.tenant) {
            let expected = "named with 1 to 32 lower-case letters, digits, - and _";
            return Err(reader.refuse(&key("tenant"), expected));
        }
        let copies = reader.place(&key("copies"), &self.copies);
        let copies = copies.or_else(|| Some(cache_folder()?.join("sectile-tenants")));
        let copies = copies
            .ok_or_else(|| reader.refuse(&key("copies"), "a folder: the home folder is unknown"))?;
        Ok(Some(StoreSettings {
            location,
            tenant: Some(self.tenant.clone()).filter(|tenant| !tenant.is_empty()),
            copies,
            max_open: self.max_open,
            quota: TenantQuota {
                files: self.max_files,
                bytes: self.max_bytes,
            },
        }))
    }

    fn postgres(&self, reader: SettingsReader<'_>) -> Result<PostgresConnection, ConfigError> {
        let key = |name: &str| format!("{STORE}.{name}");
        let password = reader.secret(
            (&key("password_file"), &self.password_file),
            (&key("password_env"), &self.password_env),
        )?;
        let settings = PostgresSettings {
            password: password.map(|secret| secret.reveal().to_owned()),
            extra_roots: reader.text(&key("ca_file"), &self.ca_file)?,
            max_connections: self.max_connections,
            connect_timeout: Duration::from_millis(self.connect_timeout_ms),
            statement_timeout: Duration::from_millis(self.statement_timeout_ms),
            ..PostgresSettings::new(&self.connection)
        };
        match settings.check() {
            Ok(()) => Ok(PostgresConnection(settings)),
            Err(problem) => Err(reader.refuse(
                &key("connection"),
                format!("like postgres://user@host:5432/database, without a password ({problem})"),
            )),
        }
    }
}
