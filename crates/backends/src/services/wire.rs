//! Requests to a vector service: JSON over our own connections, bounded in time, size and number of attempts.

use std::{fmt, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use sectile_client::{ClientError, Connections, Connector, PoolKey};
use sectile_library::StorageError;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::failure::ServiceFailure;
use crate::ServiceSettings;

/// The longest answer: a hundred of the largest records, with vectors that were not asked for.
const MAX_BODY_BYTES: usize = 64 << 20;
/// The longest body of an error.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// The pause before the first retry; each further one is at most twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause that is our own choice.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause that a service can ask for. A longer one ends the attempts.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// A client of one service. The key is in `headers` and nowhere else.
pub(super) struct ServiceClient {
    base: String,
    headers: HeaderMap,
    connections: Connections<Full<Bytes>>,
    timeout: Duration,
    /// The time that a request may take with all its attempts and pauses.
    patience: Duration,
    retries: usize,
}

impl fmt::Debug for ServiceClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceClient")
    }
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct ServiceReply {
    pub(super) status: StatusCode,
    body: Bytes,
}

impl ServiceReply {
    /// Returns the body of a success, or the failure.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, ServiceFailure> {
        self.success()?;
        self.json()
    }

    /// Returns the failure unless this is a success.
    pub(super) fn success(&self) -> Result<(), ServiceFailure> {
        match self.status.is_success() {
            true => Ok(()),
            false => Err(ServiceFailure::of_status(self.status.as_u16())),
        }
    }

    /// Returns the body, whatever the status.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, ServiceFailure> {
        serde_json::from_slice(&self.body).map_err(|_| ServiceFailure::Unclear)
    }
}

impl ServiceClient {
    /// # Errors
    /// Returns an error if the settings cannot be used.
    pub(super) fn new(
        settings: &ServiceSettings,
        headers: impl IntoIterator<Item = (HeaderName, String)>,
    ) -> Result<Self, StorageError> {
        let failed = |problem: &str| {
            StorageError::failed(format!(
                "The vector service cannot be used: {problem}. Correct the settings."
            ))
        };
        settings.check().map_err(failed)?;
        let roots = settings.extra_roots.as_deref();
        let connector = Connector::new(settings.proxy.clone(), roots, settings.connect_timeout);
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| failed("the API key has invalid characters"))?;
            value.set_sensitive(true);
            sent.insert(name, value);
        }
        Ok(Self {
            base: settings.url.trim_end_matches('/').to_owned(),
            headers: sent,
            connections: Connections::new(connector.map_err(failed)?),
            timeout: settings.timeout,
            patience: settings.patience,
            retries: settings.retries,
        })
    }

    /// Sends a request that can be repeated, and repeats it while the service throttles, fails or does not answer.
    pub(super) async fn ask(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<&Value>,
    ) -> Result<ServiceReply, ServiceFailure> {
        let uri: Uri = format!("{}{path_and_query}", self.base)
            .parse()
            .map_err(|_| ServiceFailure::Refused(414))?;
        let body = match body {
            Some(body) => Bytes::from(body.to_string()),
            None => Bytes::new(),
        };
        let until = Instant::now() + self.patience;
        let mut pause = FIRST_PAUSE;
        let mut left = self.retries;
        loop {
            let attempt = self.attempt(&method, &uri, body.clone()).await;
            let (failure, wanted) = match attempt {
                Ok((reply, after)) if is_transient(reply.status) => {
                    let failure = ServiceFailure::of_status(reply.status.as_u16());
                    (failure, after)
                }
                Ok((reply, _)) => return Ok(reply),
                Err(failure) if failure == ServiceFailure::Unclear => return Err(failure),
                Err(failure) => (failure, None),
            };
            let wait = match wanted {
                Some(wanted) if wanted > MAX_RETRY_AFTER => return Err(failure),
                Some(wanted) => wanted.max(jittered(pause)),
                None => jittered(pause),
            };
            if left == 0 || Instant::now() + wait >= until {
                return Err(failure);
            }
            left -= 1;
            pause = (pause * 2).min(MAX_PAUSE);
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends a request once. Returns the answer, and how long to wait before another attempt if it says so.
    async fn attempt(
        &self,
        method: &Method,
        uri: &Uri,
        body: Bytes,
    ) -> Result<(ServiceReply, Option<Duration>), ServiceFailure> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = self.headers.clone();
        let json = HeaderValue::from_static("application/json");
        request
            .headers_mut()
            .insert(header::CONTENT_TYPE, json.clone());
        request.headers_mut().insert(header::ACCEPT, json);
        // All requests use the same credentials.
        let purpose = PoolKey::server(uri);
        let exchange = self.connections.ask(purpose, request, |response| async {
            let (parts, body) = response.into_parts();
            let most = match parts.status.is_success() {
                true => MAX_BODY_BYTES,
                false => MAX_ERROR_BYTES,
            };
            let after = retry_after(&parts.headers);
            let body = whole(body, most).await?;
            let status = parts.status;
            Ok((ServiceReply { status, body }, after))
        });
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(ClientError::Unreachable)) => Err(ServiceFailure::Unreachable),
            Ok(Err(_)) => Err(ServiceFailure::BrokenOff),
            Err(_) => Err(ServiceFailure::TimedOut),
        }
    }
}

/// Returns whether another attempt may succeed.
fn is_transient(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || matches!(status.as_u16(), 408 | 500 | 502..=504)
}

/// Returns the seconds of a `Retry-After` header. A date is not honoured: clocks differ.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// Returns a random part of a pause, at least half of it, so that clients do not retry together.
fn jittered(pause: Duration) -> Duration {
    let half = pause / 2;
    let random = getrandom::u64().unwrap_or_default() % 1_000;
    half + half * u32::try_from(random).unwrap_or_default() / 1_000
}

async fn whole(mut body: Incoming, most: usize) -> Result<Bytes, ServiceFailure> {
    let announced = body.size_hint().exact();
    if announced.is_some_and(|bytes| bytes > most as u64) {
        return Err(ServiceFailure::Unclear);
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| ServiceFailure::BrokenOff)?.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > most {
            return Err(ServiceFailure::Unclear);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}
