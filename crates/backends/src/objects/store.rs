//! The client of a bucket, made from its settings.

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
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The region that most storages without regions accept.
const NO_REGION: &str = "us-east-1";

impl S3Settings {
    /// Builds the storage, without connecting yet.
    pub(super) fn build(&self) -> Result<AmazonS3, &'static str> {
        self.check()?;
        let roots = self.extra_roots.as_deref();
        let connector = Connector::new(self.proxy.clone(), roots, self.connect_timeout)?;
        let region = match self.region.as_str() {
            "" => NO_REGION,
            region => region,
        };
        let style = self.style();
        let mut builder = AmazonS3Builder::new()
            .with_http_connector(ObjectHttpService::new(connector, self.timeout))
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
                max_retries: self.retries.min(MAX_RETRIES),
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
