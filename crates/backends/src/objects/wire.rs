//! Requests on the wire: over our own connections, with timeouts, and with complete answers only.
//!
//! The library signs requests and retries them where that helps. It reads bodies piece by piece, and continues after a
//! break with another request. Here an answer is taken whole or not at all, so that every object is what one answer said.
//! The outcome of a request is recorded beside it, because the library's errors do not carry it.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpRequest, HttpRequestBody, HttpResponse,
        HttpService,
    },
};
use parking_lot::Mutex;
use sectile_client::{ClientError, Connections, Connector, Purpose};

use super::{
    listing::Page,
    trouble::{Trouble, error_code},
};

/// The longest page of a listing: a thousand of the longest keys, each character written as an entity.
const MAX_PAGE_BYTES: u64 = 16 << 20;
/// The longest body of an error.
const MAX_ERROR_BYTES: u64 = 64 << 10;
/// The page that the library is always given. The real one is in [`Asked`].
const EMPTY_LIST: &[u8] = b"<ListBucketResult></ListBucketResult>";

/// The purpose of a request, carried along with it, and its outcome.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    wanted: Wanted,
    noted: Arc<Mutex<Option<Noted>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Page,
    /// At most this many bytes of an object, from its start.
    Object(u64),
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    Page(Page),
    /// A whole object.
    Object(Bytes),
    /// The object has more bytes than requested.
    TooLarge,
    /// There is no object with this key.
    Missing,
    Trouble(Trouble),
}

impl Asked {
    pub(super) fn for_page() -> Self {
        Self::new(Wanted::Page)
    }

    /// For an object of at most `most` bytes, requested as a range from its start that is one byte longer.
    pub(super) fn for_object(most: u64) -> Self {
        Self::new(Wanted::Object(most))
    }

    fn new(wanted: Wanted) -> Self {
        let noted = Arc::default();
        Self { wanted, noted }
    }

    /// Takes the outcome: that of the last attempt, if there were several.
    pub(super) fn take(&self) -> Noted {
        let mut noted = self.noted.lock();
        // A request that was never sent has no outcome.
        noted.take().unwrap_or(Noted::Trouble(Trouble::Unclear))
    }

    fn note(&self, what: Noted) {
        *self.noted.lock() = Some(what);
    }

    /// Decides what an answer means for this request.
    fn judge(&self, answer: &Answer) -> Noted {
        let judged = match (self.wanted, answer.status) {
            (Wanted::Page, StatusCode::OK) => match &answer.body {
                Some(body) => Page::parse(body).map(Noted::Page),
                None => Err(Trouble::Unclear),
            },
            (Wanted::Object(most), StatusCode::OK) => Ok(match &answer.body {
                Some(body) if body.len() as u64 <= most => Noted::Object(body.clone()),
                _ => Noted::TooLarge,
            }),
            (Wanted::Object(most), StatusCode::PARTIAL_CONTENT) => partial(answer, most),
            // Only an empty object has no first byte.
            (Wanted::Object(_), StatusCode::RANGE_NOT_SATISFIABLE) => {
                Ok(Noted::Object(Bytes::new()))
            }
            (Wanted::Object(_), StatusCode::NOT_FOUND)
                if error_code(answer.error_body()) != "NoSuchBucket" =>
            {
                Ok(Noted::Missing)
            }
            (_, status) => Err(Trouble::of(status, answer.error_body())),
        };
        judged.unwrap_or_else(Noted::Trouble)
    }
}

/// Decides whether a partial answer is the whole object or there is more.
fn partial(answer: &Answer, most: u64) -> Result<Noted, Trouble> {
    let range = answer.headers.get(header::CONTENT_RANGE);
    let (last, size) = range
        .and_then(|range| range.to_str().ok()?.trim().strip_prefix("bytes 0-"))
        .and_then(|range| range.split_once('/'))
        .and_then(|(last, size)| Some((last.parse::<u64>().ok()?, size.parse::<u64>().ok()?)))
        .ok_or(Trouble::Unclear)?;
    if size > most {
        return Ok(Noted::TooLarge);
    }
    let body = answer.body.as_ref().ok_or(Trouble::Unclear)?;
    if last.checked_add(1) != Some(size) || body.len() as u64 != size {
        return Err(Trouble::BrokenOff);
    }
    Ok(Noted::Object(body.clone()))
}

/// A complete answer.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    /// `None` if it is longer than allowed.
    body: Option<Bytes>,
}

impl Answer {
    fn error_body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }
}

/// The HTTP service that makes requests for the library.
#[derive(Clone)]
pub(super) struct Wire(Arc<Inner>);

struct Inner {
    connections: Connections<HttpRequestBody>,
    /// The time for one request, to the last byte of its answer.
    timeout: Duration,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

impl Wire {
    pub(super) fn new(connector: Connector, timeout: Duration) -> Self {
        Self(Arc::new(Inner {
            connections: Connections::new(connector),
            timeout,
        }))
    }

    async fn answer(&self, request: HttpRequest, wanted: Wanted) -> Result<Answer, Trouble> {
        // All requests use the same credentials, and most are made only once.
        let purpose = Purpose::server(request.uri());
        let exchange = self
            .0
            .connections
            .ask(purpose, request, |response| whole(response, wanted));
        match tokio::time::timeout(self.0.timeout, exchange).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(ClientError::Unreachable)) => Err(Trouble::Unreachable),
            Ok(Err(_)) => Err(Trouble::BrokenOff),
            Err(_) => Err(Trouble::TimedOut),
        }
    }
}

impl HttpConnector for Wire {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Wire {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let failed = |trouble: Trouble| HttpError::new(trouble.kind(), trouble);
        // Every request that comes this way carries one.
        let asked = request.extensions().get::<Asked>().cloned();
        let asked = asked.ok_or_else(|| failed(Trouble::Unclear))?;
        let answer = match self.answer(request, asked.wanted).await {
            Ok(answer) => answer,
            Err(trouble) => {
                asked.note(Noted::Trouble(trouble));
                return Err(failed(trouble));
            }
        };
        let noted = asked.judge(&answer);
        asked.note(noted.clone());
        match noted {
            Noted::Trouble(trouble) if answer.status.is_success() => Err(failed(trouble)),
            // The library decides by the status whether to retry.
            Noted::Trouble(_) | Noted::Missing => Ok(plain(answer.status, Bytes::new())),
            Noted::Page(_) => Ok(plain(StatusCode::OK, Bytes::from_static(EMPTY_LIST))),
            Noted::Object(_) | Noted::TooLarge => Ok(plain(StatusCode::NO_CONTENT, Bytes::new())),
        }
    }
}

fn plain(status: StatusCode, body: Bytes) -> HttpResponse {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let length = HeaderValue::from_static("0");
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, length);
    response
}

/// Reads an answer to its end, unless it is too long.
async fn whole(response: Response<Incoming>, wanted: Wanted) -> Result<Answer, Trouble> {
    let (parts, body) = response.into_parts();
    let most = match wanted {
        _ if !parts.status.is_success() => MAX_ERROR_BYTES,
        Wanted::Page => MAX_PAGE_BYTES,
        // One more byte was requested, to see whether there is more.
        Wanted::Object(most) => most.saturating_add(1),
    };
    Ok(Answer {
        status: parts.status,
        headers: parts.headers,
        body: read(body, most).await?,
    })
}

/// Returns `None` if there are more than `most` bytes.
async fn read(mut body: Incoming, most: u64) -> Result<Option<Bytes>, Trouble> {
    let announced = body.size_hint().exact();
    if announced.is_some_and(|bytes| bytes > most) {
        return Ok(None);
    }
    let announced = announced.and_then(|bytes| usize::try_from(bytes).ok());
    let mut bytes = BytesMut::with_capacity(announced.unwrap_or_default());
    while let Some(frame) = body.frame().await {
        // An answer that ends before its announced length is an error here.
        let Ok(data) = frame.map_err(|_| Trouble::BrokenOff)?.into_data() else {
            continue;
        };
        if (bytes.len() + data.len()) as u64 > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Some(bytes.freeze()))
}
