//! The settings of the storages: plain data, which every build knows, with or without the feature `servers`.

use std::{fmt, path::PathBuf, time::Duration};

use http::Uri;
use sectile_client::BaseUrl;

/// The most retries of one request.
pub(crate) const MAX_RETRIES: usize = 3;
/// The most objects that S3 puts on a page.
pub(crate) const MAX_PAGE_OBJECTS: usize = 1000;

/// A bucket in S3-compatible storage. [`Self::new`] sets the defaults.
#[derive(Clone)]
pub struct S3Settings {
    /// The storage: `https://host:port`, with a path if it has one. Empty for AWS, whose host follows from the region.
    pub endpoint: String,
    /// The region. May be empty if there is an endpoint.
    pub region: String,
    /// The bucket.
    pub bucket: String,
    /// The folder inside the bucket that holds the collections. May be empty.
    pub prefix: String,
    /// Where the bucket name goes. By default, into the path if there is an endpoint, and into the host name for AWS.
    pub style: Option<S3Style>,
    /// The credentials that sign requests. Without them, requests are not signed.
    pub credentials: Option<S3Credentials>,
    /// Whether the endpoint may be unencrypted.
    pub allow_http: bool,
    /// The proxy to use, if any: `http://host:port`.
    pub proxy: Option<Uri>,
    /// Certificates (PEM) to trust in addition to the well-known ones.
    pub extra_roots: Option<String>,
    /// The largest file that is read, in bytes.
    pub max_note_bytes: u64,
    /// The time that a connection may take to open.
    pub connect_timeout: Duration,
    /// The time that one request may take, to the last byte of its answer.
    pub timeout: Duration,
    /// The number of retries of a request that was throttled, failed at the storage or broke off: at most 3, within at most
    /// 10 seconds.
    pub retries: usize,
    /// The number of objects on one page of a listing: at most 1,000.
    pub page_objects: usize,
}

/// A bucket that keeps indexes, and the copies of them on this machine.
#[derive(Clone, Debug)]
pub struct IndexBucketSettings {
    /// The bucket. The limit on notes in it does not apply.
    pub bucket: S3Settings,
    /// The folder of the copies.
    pub cache: PathBuf,
    /// The most bytes of all copies that are being searched, and also of those that are being built. The least recently
    /// used ones make room.
    pub max_cache_bytes: u64,
    /// The age at which an object that no state needs is removed. A build has to be published within half of it.
    pub grace: Duration,
}

impl IndexBucketSettings {
    /// Returns the settings for a bucket, with copies in the folder `cache`.
    #[must_use]
    pub fn new(bucket: S3Settings, cache: PathBuf) -> Self {
        Self {
            bucket,
            cache,
            max_cache_bytes: 8 << 30,
            grace: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// The place of the bucket name in a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum S3Style {
    /// In the path: `https://host/bucket/key`.
    Path,
    /// In the host name: `https://bucket.host/key`.
    VirtualHosted,
}

/// The credentials of the caller. They are never shown.
#[derive(Clone)]
pub struct S3Credentials {
    /// The access key.
    pub access_key: String,
    /// The secret that requests are signed with.
    pub secret: String,
    /// The token of temporary credentials.
    pub session_token: Option<String>,
}

impl S3Settings {
    /// Returns the settings for a bucket at an endpoint, without credentials.
    #[must_use]
    pub fn new(endpoint: impl Into<String>, bucket: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            region: String::new(),
            bucket: bucket.into(),
            prefix: String::new(),
            style: None,
            credentials: None,
            allow_http: false,
            proxy: None,
            extra_roots: None,
            max_note_bytes: 8 << 20,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(10),
            retries: MAX_RETRIES,
            page_objects: MAX_PAGE_OBJECTS,
        }
    }

    /// Returns the settings for a bucket of a Supabase project, such as `https://abc.supabase.co`.
    #[must_use]
    pub fn supabase(
        project_url: &str,
        region: impl Into<String>,
        bucket: impl Into<String>,
        credentials: S3Credentials,
    ) -> Self {
        let endpoint = Self::supabase_endpoint(project_url);
        Self {
            region: region.into(),
            style: Some(S3Style::Path),
            credentials: Some(credentials),
            ..Self::new(endpoint, bucket)
        }
    }

    /// Returns the S3 endpoint of a Supabase project.
    #[must_use]
    pub fn supabase_endpoint(project_url: &str) -> String {
        format!("{}/storage/v1/s3", project_url.trim_end_matches('/'))
    }

    /// Checks that these settings can describe a bucket.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with them.
    pub fn check(&self) -> Result<(), &'static str> {
        if !is_name(&self.bucket) {
            return Err("the bucket name is invalid");
        }
        match (self.endpoint.is_empty(), self.region.is_empty()) {
            (true, true) => return Err("there is neither an endpoint nor a region"),
            (_, false) if !is_name(&self.region) => {
                return Err("the region name is invalid");
            }
            _ => {}
        }
        if !self.endpoint.is_empty() {
            // The parser's reason would not say which address it is about.
            BaseUrl::parse(&self.endpoint).map_err(|_| "the endpoint is not https://host")?;
            if !self.allow_http && !self.endpoint.starts_with("https://") {
                return Err("the endpoint is not encrypted, and allow_http is not set");
            }
        }
        // They become header values.
        let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        match &self.credentials {
            Some(one) if !is_plain(&one.access_key) || one.access_key.contains([',', '/']) => {
                Err("the access key has invalid characters")
            }
            Some(one) if one.secret.is_empty() => Err("the secret is empty"),
            Some(one) if one.session_token.as_deref().is_some_and(|t| !is_plain(t)) => {
                Err("the session token has invalid characters")
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn style(&self) -> S3Style {
        // The wildcard certificate of AWS covers one label, so a bucket name with dots does not match it.
        let is_path = !self.endpoint.is_empty() || self.bucket.contains('.');
        self.style.unwrap_or(match is_path {
            true => S3Style::Path,
            false => S3Style::VirtualHosted,
        })
    }
}

/// The connection to the database, and the limits of its use.
#[derive(Clone)]
pub struct PostgresSettings {
    /// `postgres://...`, or keys and values. With `sslmode=require`, the connection is encrypted and the host name
    /// verified.
    pub connection: String,
    /// The password, if it is not in the connection string.
    pub password: Option<String>,
    /// Certificates (PEM) to trust in addition to the well-known ones.
    pub extra_roots: Option<String>,
    /// The most connections open at a time.
    pub max_connections: usize,
    /// The time that one statement of a search may take.
    pub statement_timeout: Duration,
    /// The time that connecting may take.
    pub connect_timeout: Duration,
    /// The number of chunks below which all vectors of a collection are compared, without a graph.
    pub exact_below: u64,
    /// The number of candidates by words, and also by meaning.
    pub candidates: usize,
    /// The memory for vectors and lists of large collections. A collection whose vectors do not fit into half of it is searched
    /// by the database alone.
    pub cache_bytes: usize,
    /// The number of chunks sent at a time when an index is written. Each takes some 3 kB, three times.
    pub batch: usize,
}

impl PostgresSettings {
    /// Returns the default settings for a connection string.
    #[must_use]
    pub fn new(connection: impl Into<String>) -> Self {
        Self {
            connection: connection.into(),
            password: None,
            extra_roots: None,
            max_connections: 8,
            statement_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            exact_below: 20_000,
            candidates: 400,
            cache_bytes: 128 << 20,
            batch: 3_000,
        }
    }

    /// Checks that the connection string is valid and contains no password, which others could read. A build without the
    /// feature `servers` cannot tell.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with it.
    pub fn check(&self) -> Result<(), &'static str> {
        // The parser of connection strings belongs to the client of the database.
        #[cfg(feature = "servers")]
        crate::postgres::check_connection(&self.connection)?;
        Ok(())
    }
}

/// A vector service, and the limits of its use. [`Self::new`] sets the defaults.
#[derive(Clone)]
pub struct ServiceSettings {
    /// The kind of service.
    pub kind: ServiceKind,
    /// The address: `https://host`, of the index itself for Pinecone.
    pub url: String,
    /// The API key, if the service wants one. It is never shown.
    pub api_key: Option<String>,
    /// Whether the address may be unencrypted.
    pub allow_http: bool,
    /// A name that tells the collections of this library from those of others in the same index.
    pub library: String,
    /// The proxy to use, if any: `http://host:port`.
    pub proxy: Option<Uri>,
    /// Certificates (PEM) to trust in addition to the well-known ones.
    pub extra_roots: Option<String>,
    /// The time that a connection may take to open.
    pub connect_timeout: Duration,
    /// The time that one attempt of a request may take.
    pub timeout: Duration,
    /// The time that a request may take with all its attempts.
    pub patience: Duration,
    /// The time that a search may take with all its requests.
    pub search_timeout: Duration,
    /// The number of retries of a request that was throttled, failed at the service or got no answer.
    pub retries: usize,
    /// The time that a writer waits until the service shows what it wrote.
    pub settle: Duration,
    /// The number of candidates by words, and also by meaning.
    pub candidates: usize,
}

/// The kinds of vector services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceKind {
    /// A serverless index of Pinecone.
    Pinecone,
    /// A server or cluster of Weaviate.
    Weaviate,
}

impl ServiceSettings {
    /// Returns the default settings for an address, without a key.
    #[must_use]
    pub fn new(kind: ServiceKind, url: impl Into<String>) -> Self {
        Self {
            kind,
            url: url.into(),
            api_key: None,
            allow_http: false,
            library: "sectile".to_owned(),
            proxy: None,
            extra_roots: None,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(20),
            patience: Duration::from_secs(60),
            search_timeout: Duration::from_secs(10),
            retries: 6,
            settle: Duration::from_secs(60),
            candidates: 400,
        }
    }

    /// Checks that these settings can describe a service.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with them.
    pub fn check(&self) -> Result<(), &'static str> {
        // The parser's reason would not say which address it is about.
        BaseUrl::parse(&self.url).map_err(|_| "the address is not https://host")?;
        if !self.allow_http && !self.url.starts_with("https://") {
            return Err("the address is not encrypted, and allow_http is not set");
        }
        let is_plain = |key: &String| !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic());
        match (&self.api_key, self.kind) {
            (None, ServiceKind::Pinecone) => Err("there is no API key"),
            (Some(key), _) if !is_plain(key) => Err("the API key has invalid characters"),
            _ => Ok(()),
        }
    }
}

/// Returns whether a name can be part of a host name and of a path unescaped.
fn is_name(text: &str) -> bool {
    let is_fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 255
        && text.bytes().all(is_fine)
        && !text.contains("..")
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Settings")
            .field("style", &self.style())
            .field("max_note_bytes", &self.max_note_bytes)
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServiceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceSettings")
            .field("kind", &self.kind)
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("candidates", &self.candidates)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("S3Credentials")
    }
}
