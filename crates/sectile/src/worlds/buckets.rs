//! The settings of a bucket, which several worlds have.

use std::time::Duration;

use schemars::JsonSchema;
use sectile_backends::{S3Credentials, S3Settings, S3Style};
use serde::{Deserialize, Serialize};

use crate::settings::{ConfigError, SettingsReader};

/// Access to a bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct S3Section {
    /// URL of the storage, such as `https://storage.example`; for `supabase`, the URL of the project. If empty, AWS in the
    /// given region.
    pub(crate) endpoint: String,
    /// Region of the bucket. May be empty if `endpoint` is set.
    pub(crate) region: String,
    /// Whether the bucket name is part of the host name instead of the path.
    pub(crate) virtual_hosted: bool,
    /// Whether an unencrypted (`http`) endpoint is allowed.
    pub(crate) allow_http: bool,
    /// File with the access key. If empty, `access_key_env` is used.
    pub(crate) access_key_file: String,
    /// Environment variable with the access key. If empty, requests are not signed.
    pub(crate) access_key_env: String,
    /// File with the secret key. If empty, `secret_key_env` is used.
    pub(crate) secret_key_file: String,
    /// Environment variable with the secret key.
    pub(crate) secret_key_env: String,
    /// Environment variable with the session token of temporary credentials. If empty, none is sent.
    pub(crate) session_token_env: String,
    /// HTTP proxy, such as `http://proxy.example:3128`. If empty, none is used.
    pub(crate) proxy: String,
    /// File with certificates (PEM) to trust in addition to the well-known ones.
    pub(crate) ca_file: String,
    /// Time limit for one request, in milliseconds.
    pub(crate) timeout_ms: u64,
}

impl Default for S3Section {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            region: String::new(),
            virtual_hosted: false,
            allow_http: false,
            access_key_file: String::new(),
            access_key_env: String::new(),
            secret_key_file: String::new(),
            secret_key_env: String::new(),
            session_token_env: String::new(),
            proxy: String::new(),
            ca_file: String::new(),
            timeout_ms: 10_000,
        }
    }
}

/// Returns the bucket that the section `section` of the settings describes.
pub(crate) fn s3(
    reader: SettingsReader<'_>,
    section: &str,
    kind: &str,
    (path, raw): (&str, &S3Section),
) -> Result<S3Settings, ConfigError> {
    let key = |name: &str| format!("{section}.s3.{name}");
    let path_key = format!("{section}.path");
    let path = path.strip_prefix("s3://").unwrap_or(path);
    let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
    if bucket.is_empty() {
        return Err(reader.refuse(&path_key, "a bucket: `bucket`, or `bucket/folder`"));
    }
    let secret = |name: &str, file: &str, variable: &str| {
        reader.secret(
            (&key(&format!("{name}_file")), file),
            (&key(&format!("{name}_env")), variable),
        )
    };
    let access = secret("access_key", &raw.access_key_file, &raw.access_key_env)?;
    let hidden = secret("secret_key", &raw.secret_key_file, &raw.secret_key_env)?;
    let token = secret("session_token", "", &raw.session_token_env)?;
    let credentials = match (access, hidden) {
        (Some(access), Some(hidden)) => Some(S3Credentials {
            access_key: access.reveal().to_owned(),
            secret: hidden.reveal().to_owned(),
            session_token: token.map(|token| token.reveal().to_owned()),
        }),
        (None, None) => None,
        (Some(_), None) => {
            let expected = "set, here or as secret_key_env, when there is an access key";
            return Err(reader.refuse(&key("secret_key_file"), expected));
        }
        (None, Some(_)) => {
            let expected = "set, here or as access_key_env, when there is a secret key";
            return Err(reader.refuse(&key("access_key_file"), expected));
        }
    };
    let endpoint = match kind {
        "supabase" => S3Settings::supabase_endpoint(&raw.endpoint),
        _ => raw.endpoint.clone(),
    };
    let settings = S3Settings {
        region: raw.region.clone(),
        prefix: prefix.to_owned(),
        style: raw.virtual_hosted.then_some(S3Style::VirtualHosted),
        credentials,
        allow_http: raw.allow_http,
        proxy: reader.proxy(&key("proxy"), &raw.proxy)?,
        extra_roots: reader.text(&key("ca_file"), &raw.ca_file)?,
        max_note_bytes: reader.max_note_bytes,
        timeout: Duration::from_millis(raw.timeout_ms),
        ..S3Settings::new(endpoint, bucket)
    };
    match settings.check() {
        Ok(()) => Ok(settings),
        Err(problem) => Err(reader.refuse(&path_key, format!("a usable bucket ({problem})"))),
    }
}
