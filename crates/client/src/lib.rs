//! The HTTP client for the servers that Sectile calls: note stores, key sets, contexts.
//!
//! One GET at a time: no redirects, no cookies, no proxies except a configured one, bounded in time and size. A request is
//! sent again only if no part of it had been sent. A connection is reused only for the very same request, so that no answer
//! can reach anyone but those who asked for it.

mod connect;
mod connections;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header, uri::PathAndQuery};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Incoming};

pub use self::{
    connect::{Connector, RoutedStream, tls},
    connections::{Connections, PoolKey},
};

/// How much of an unwanted body is read so that its connection can be reused, and for how long. Beyond that a new connection
/// is cheaper.
const MAX_REST_BYTES: usize = 16 << 10;
const REST_TIMEOUT: Duration = Duration::from_millis(100);

/// The limits and the route of a client's requests.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// The time that a connection may take to open.
    pub connect_timeout: Duration,
    /// The time that an answer may take, to its last byte.
    pub timeout: Duration,
    /// The longest body of an answer, in bytes.
    pub max_body_bytes: usize,
    /// The proxy to use, if any: `http://host:port`.
    pub proxy: Option<Uri>,
    /// Certificates (PEM) to trust in addition to the well-known ones.
    pub extra_roots: Option<String>,
}

/// The base of a URL: scheme, host, and the start of the path. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    base: Uri,
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BaseUrl")
    }
}

impl BaseUrl {
    /// Parses an `http` or `https` URL without query, fragment or user.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with it.
    pub fn parse(url: &str) -> Result<Self, &'static str> {
        if url.contains('#') {
            return Err("it has a fragment");
        }
        let base: Uri = url.parse().map_err(|_| "it is not a URL")?;
        let scheme = base.scheme_str();
        if !matches!(scheme, Some("http" | "https")) {
            return Err("it does not start with http:// or https://");
        }
        if base.query().is_some() {
            return Err("it has a query");
        }
        let authority = base.authority().ok_or("it has no host")?;
        if authority.as_str().contains('@') {
            return Err("it names a user");
        }
        if !is_host_and_port(authority.host(), authority.as_str()) {
            return Err("its host or port is invalid");
        }
        Ok(Self { base })
    }

    /// Returns the address of `path_and_query` below this one. It only concatenates: what is sent is exactly what was
    /// given, including dots and percent signs.
    fn at(&self, path_and_query: &str) -> Option<Uri> {
        let base = self.base.path();
        let whole = match path_and_query.as_bytes().first() {
            None => base.to_owned(),
            Some(b'/') => {
                let base = base.strip_suffix('/').unwrap_or(base);
                format!("{base}{path_and_query}")
            }
            Some(b'?') => format!("{base}{path_and_query}"),
            Some(_) => return None,
        };
        let parsed = PathAndQuery::try_from(whole.as_str()).ok()?;
        // The parser drops a fragment.
        if parsed.as_str() != whole {
            return None;
        }
        let mut parts = self.base.clone().into_parts();
        parts.path_and_query = Some(parsed);
        Uri::from_parts(parts).ok()
    }
}

/// Returns whether there is a host, followed by nothing or by a valid port.
fn is_host_and_port(host: &str, authority: &str) -> bool {
    // The brackets of an IPv6 address are not part of it.
    let name = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if rustls::pki_types::ServerName::try_from(name.unwrap_or(host)).is_err() {
        return false;
    }
    match authority.strip_prefix(host) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix(':')
            .and_then(|port| port.parse::<u16>().ok())
            .is_some_and(|port| port > 0),
        None => false,
    }
}

/// The client. Clones share their connections.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    connections: Connections<Empty<Bytes>>,
    timeout: Duration,
    max_body_bytes: usize,
}

/// The answer of another server.
#[derive(Debug)]
pub struct Reply {
    /// The status code.
    pub status: StatusCode,
    /// The body; empty unless the status is a success.
    pub body: Bytes,
}

/// The reason why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// No connection could be made. Nothing was sent.
    #[error("the server cannot be reached")]
    Unreachable,
    /// It took too long.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The connection broke, or the answer was not HTTP.
    #[error("the connection broke off")]
    Broken,
    /// The body is too long.
    #[error("the answer is too large")]
    TooLarge,
    /// The body is compressed, which was not asked for.
    #[error("the answer has an encoding that was not requested")]
    Encoded,
}

impl Client {
    /// # Errors
    /// Returns a short description of what is wrong with the settings.
    pub fn new(settings: ClientSettings) -> Result<Self, &'static str> {
        let roots = settings.extra_roots.as_deref();
        let connector = Connector::new(settings.proxy, roots, settings.connect_timeout)?;
        Ok(Self(Arc::new(Inner {
            connections: Connections::new(connector),
            timeout: settings.timeout,
            max_body_bytes: settings.max_body_bytes,
        })))
    }

    /// Requests `path_and_query` below `target`, sent exactly as given: empty, or starting with `/` or `?`. Must be called
    /// within a Tokio runtime.
    ///
    /// # Errors
    /// Returns an error if there is no answer.
    pub async fn get(
        &self,
        target: &BaseUrl,
        path_and_query: &str,
        headers: HeaderMap,
    ) -> Result<Reply, ClientError> {
        // An invalid URI cannot be requested.
        let uri = target.at(path_and_query).ok_or(ClientError::Unreachable)?;
        let mut request = Request::new(Empty::new());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let exchange = tokio::time::timeout(self.0.timeout, self.0.exchange(request));
        exchange.await.unwrap_or(Err(ClientError::TimedOut))
    }
}

impl Inner {
    async fn exchange(&self, request: Request<Empty<Bytes>>) -> Result<Reply, ClientError> {
        let purpose = PoolKey::request(&request);
        let max_body_bytes = self.max_body_bytes;
        let answer = self
            .connections
            .ask(purpose, request, |response| async move {
                let status = response.status();
                if !status.is_success() {
                    drain(response.into_body()).await;
                    let body = Bytes::new();
                    return Ok(Reply { status, body });
                }
                if is_encoded(&response) {
                    return Err(ClientError::Encoded);
                }
                let body = read(response.into_body(), max_body_bytes).await?;
                Ok(Reply { status, body })
            });
        answer.await?
    }
}

/// Returns whether the body is encoded in any way but chunked.
fn is_encoded(response: &Response<Incoming>) -> bool {
    let is_other = |name: header::HeaderName, plain: &str| {
        let values = response.headers().get_all(name);
        values.iter().any(|value| match value.to_str() {
            Ok(list) => list
                .split(',')
                .map(str::trim)
                .any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(plain)),
            Err(_) => true,
        })
    };
    is_other(header::CONTENT_ENCODING, "identity") || is_other(header::TRANSFER_ENCODING, "chunked")
}

async fn read(mut body: Incoming, max_bytes: usize) -> Result<Bytes, ClientError> {
    let announced = body.size_hint().exact();
    if announced.is_some_and(|bytes| bytes > max_bytes as u64) {
        return Err(ClientError::TooLarge);
    }
    // A short answer arrives in one piece, which is passed on without a copy.
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| ClientError::Broken)?.into_data() else {
            continue;
        };
        if first.len().max(rest.len()) + data.len() > max_bytes {
            return Err(ClientError::TooLarge);
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
            continue;
        }
        if rest.is_empty() {
            let announced = announced.and_then(|bytes| usize::try_from(bytes).ok());
            rest.reserve(announced.unwrap_or(first.len() + data.len()));
            rest.extend_from_slice(&first);
        }
        rest.extend_from_slice(&data);
    }
    Ok(if rest.is_empty() {
        first
    } else {
        rest.freeze()
    })
}

/// Reads a short body to its end, so that the connection can be reused. A long or slow one costs the connection instead.
async fn drain(mut body: Incoming) {
    if body.size_hint().lower() > MAX_REST_BYTES as u64 {
        return;
    }
    let reading = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > MAX_REST_BYTES {
                break;
            }
        }
    };
    // Nothing depends on whether it was in time.
    drop(tokio::time::timeout(REST_TIMEOUT, reading).await);
}
