//! The clients of a bucket, made from its settings.

use std::time::Duration;

use http::{Uri, uri::Authority};
use object_store::{
    BackoffConfig, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
};
use sectile_client::Connector;

use super::wire::ObjectHttpService;
use crate::{
    S3Settings, S3Style,
    settings::{MAX_PAGE_OBJECTS, MAX_RETRIES},
};

/// The time after which a request is no longer retried.
pub(super) const RETRY_TIME: Duration = Duration::from_secs(10);
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(100);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The region that most storages without regions accept.
const NO_REGION: &str = "us-east-1";

/// Two clients of one bucket, which share their connections.
pub(super) struct BucketClients {
    /// Retries what can be retried.
    pub(super) reading: AmazonS3,
    /// Sends every request once: only the caller knows what a second condition would be compared with.
    pub(super) writing: AmazonS3,
}

impl S3Settings {
    /// Builds the clients, without connecting yet.
    pub(super) fn build(&self) -> Result<BucketClients, &'static str> {
        self.check()?;
        let roots = self.extra_roots.as_deref();
        let connector = Connector::new(self.proxy.clone(), roots, self.connect_timeout)?;
        let service = ObjectHttpService::new(connector, self.timeout);
        Ok(BucketClients {
            reading: self.client(service.clone(), self.retries.min(MAX_RETRIES))?,
            writing: self.client(service, 0)?,
        })
    }

    fn client(&self, service: ObjectHttpService, retries: usize) -> Result<AmazonS3, &'static str> {
        let region = match self.region.as_str() {
            "" => NO_REGION,
            region => region,
        };
        let style = self.style();
        let mut builder = AmazonS3Builder::new()
            .with_http_connector(service)
            .with_bucket_name(&self.bucket)
            .with_region(region)
            .with_allow_http(self.allow_http)
            .with_virtual_hosted_style_request(style == S3Style::VirtualHosted)
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: FIRST_PAUSE,
                    max_backoff: LONGEST_PAUSE,
                    base: 2.0,
                },
                max_retries: retries,
                retry_timeout: RETRY_TIME,
            });
        if !self.endpoint.is_empty() {
            builder = builder.with_endpoint(self.address(style)?);
        }
        builder = match &self.credentials {
            None => builder.with_skip_signature(true),
            Some(one) => {
                let signed = builder
                    .with_access_key_id(&one.access_key)
                    .with_secret_access_key(&one.secret);
                match &one.session_token {
                    Some(token) => signed.with_token(token),
                    None => signed,
                }
            }
        };
        builder.build().map_err(|_| "the settings are inconsistent")
    }

    pub(super) fn page_objects(&self) -> usize {
        self.page_objects.clamp(1, MAX_PAGE_OBJECTS)
    }

    /// Returns the endpoint, with the bucket in the host name where it belongs there.
    fn address(&self, style: S3Style) -> Result<String, &'static str> {
        if style == S3Style::Path {
            return Ok(self.endpoint.clone());
        }
        const WRONG: &str = "the endpoint has no host name to prepend the bucket to";
        let mut parts = self
            .endpoint
            .parse::<Uri>()
            .map_err(|_| WRONG)?
            .into_parts();
        let host = parts.authority.take().ok_or(WRONG)?;
        let is_address =
            host.host().starts_with('[') || host.host().parse::<std::net::Ipv4Addr>().is_ok();
        if is_address {
            return Err(WRONG);
        }
        let whole = format!("{}.{host}", self.bucket);
        parts.authority = Some(whole.parse::<Authority>().map_err(|_| WRONG)?);
        let address = Uri::from_parts(parts).map_err(|_| WRONG)?.to_string();
        Ok(address.trim_end_matches('/').to_owned())
    }
}
