//! The vector service that the settings describe, checked.

use std::time::Duration;

use sectile_backends::{ServiceKind, ServiceSettings};

use super::{VECTORS, storages::VectorStorageSection};
use crate::settings::{ConfigError, SettingsReader};

/// Returns the kind of service of a type of storage, if it is one.
pub(super) fn kind(name: &str) -> Option<ServiceKind> {
    match name {
        "pinecone" => Some(ServiceKind::Pinecone),
        "weaviate" => Some(ServiceKind::Weaviate),
        _ => None,
    }
}

/// Returns the service of the vectors, if they are in one.
pub(super) fn service(
    reader: SettingsReader<'_>,
    raw: &VectorStorageSection,
) -> Result<Option<ServiceSettings>, ConfigError> {
    let key = |name: &str| format!("{VECTORS}.{name}");
    let Some(kind) = kind(&raw.kind) else {
        return match raw.url.is_empty() {
            true => Ok(None),
            false => Err(reader.refuse(
                &key("url"),
                format!("empty for {}, which is not a service", raw.kind),
            )),
        };
    };
    if !raw.connection.is_empty() {
        let expected = format!("empty for {}, whose address is in `url`", raw.kind);
        return Err(reader.refuse(&key("connection"), expected));
    }
    let api_key = reader.secret(
        (&key("api_key_file"), &raw.api_key_file),
        (&key("api_key_env"), &raw.api_key_env),
    )?;
    let settings = ServiceSettings {
        api_key: api_key.map(|secret| secret.reveal().to_owned()),
        allow_http: raw.allow_http,
        library: raw.library.clone(),
        extra_roots: reader.text(&key("ca_file"), &raw.ca_file)?,
        connect_timeout: Duration::from_millis(raw.connect_timeout_ms),
        timeout: Duration::from_millis(raw.timeout_ms),
        search_timeout: Duration::from_millis(raw.statement_timeout_ms),
        candidates: raw.candidates,
        ..ServiceSettings::new(kind, &raw.url)
    };
    match settings.check() {
        Ok(()) => Ok(Some(settings)),
        Err(problem) => Err(reader.refuse(
            &key("url"),
            format!("the address of a usable {} service ({problem})", raw.kind),
        )),
    }
}
