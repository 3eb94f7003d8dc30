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
use sectile_client::{ClientError, Connections, Connector, PoolKey};

use super::{
    blobs::ETag,
    deletion::DeletionReport,
    error::{ObjectError, error_code},
    listing::Page,
};

/// The longest page of a listing: a thousand of the longest keys, each character written as an entity.
const MAX_PAGE_BYTES: u64 = 16 << 20;
/// The longest body of an error.
const MAX_ERROR_BYTES: u64 = 64 << 10;
/// The page that the library is always given. The real one is in [`ResponseSlot`].
const EMPTY_LIST: &[u8] = b"<ListBucketResult></ListBucketResult>";
/// The same for a deletion.
const NOTHING_DELETED: &[u8] = b"<DeleteResult></DeleteResult>";

tokio::task_local! {
    /// The slot of the deletion that a task makes: the library carries no value along with it.
    pub(super) static DELETION: ResponseSlot;
}

/// The purpose of a request, carried along with it, and its outcome.
#[derive(Clone, Debug)]
pub(super) struct ResponseSlot {
    wanted: ExpectedResponse,
    state: Arc<Mutex<SlotState>>,
}

#[derive(Debug, Default)]
struct SlotState {
    noted: Option<ResponseOutcome>,
    /// Whether a request was sent, and nothing was noted since.
    is_under_way: bool,
    /// Whether a request was sent of which nobody knows whether it was carried out.
    is_unsettled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedResponse {
    Page,
    /// At most this many bytes of an object, from its start.
    Object(u64),
    Write,
    Deletion,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ResponseOutcome {
    Page(Page),
    /// A whole object, and its tag if the storage told it.
    Object(Bytes, Option<ETag>),
    /// The object has more bytes than requested.
    TooLarge,
    /// There is no object with this key.
    Missing,
    /// The object still has the tag that the request named.
    Unchanged,
    /// The object was written, and has this tag.
    Written(Option<ETag>),
    /// The condition of a write does not hold.
    ConditionFailed,
    Deleted(DeletionReport),
    Trouble(ObjectError),
}

impl ResponseSlot {
    pub(super) fn for_page() -> Self {
        Self::new(ExpectedResponse::Page)
    }

    /// For an object of at most `most` bytes, requested as a range from its start that is one byte longer.
    pub(super) fn for_object(most: u64) -> Self {
        Self::new(ExpectedResponse::Object(most))
    }

    pub(super) fn for_write() -> Self {
        Self::new(ExpectedResponse::Write)
    }

    pub(super) fn for_deletion() -> Self {
        Self::new(ExpectedResponse::Deletion)
    }

    fn new(wanted: ExpectedResponse) -> Self {
        let state = Arc::default();
        Self { wanted, state }
    }

    /// Takes the outcome: that of the last attempt, if there were several.
    pub(super) fn take(&self) -> ResponseOutcome {
        let noted = self.state.lock().noted.take();
        // A request that was never sent has no outcome.
        noted.unwrap_or(ResponseOutcome::Trouble(ObjectError::Unclear))
    }

    /// Returns whether one of the attempts may have been carried out without a usable answer.
    pub(super) fn is_unsettled(&self) -> bool {
        let state = self.state.lock();
        state.is_unsettled || state.is_under_way
    }

    fn begin(&self) {
        self.state.lock().is_under_way = true;
    }

    fn note(&self, what: ResponseOutcome, is_settled: bool) {
        let mut state = self.state.lock();
        state.is_under_way = false;
        state.is_unsettled |= !is_settled;
        state.noted = Some(what);
    }

    /// Decides what an answer means for this request.
    fn judge(&self, answer: &BufferedResponse) -> ResponseOutcome {
        let judged = match (self.wanted, answer.status) {
            (ExpectedResponse::Page, StatusCode::OK) => match &answer.body {
                Some(body) => Page::parse(body).map(ResponseOutcome::Page),
                None => Err(ObjectError::Unclear),
            },
            (ExpectedResponse::Object(most), StatusCode::OK) => Ok(match &answer.body {
                Some(body) if body.len() as u64 <= most => {
                    ResponseOutcome::Object(body.clone(), answer.tag())
                }
                _ => ResponseOutcome::TooLarge,
            }),
            (ExpectedResponse::Object(most), StatusCode::PARTIAL_CONTENT) => partial(answer, most),
            // Only an empty object has no first byte.
            (ExpectedResponse::Object(_), StatusCode::RANGE_NOT_SATISFIABLE) => {
                Ok(ResponseOutcome::Object(Bytes::new(), None))
            }
            (ExpectedResponse::Object(_), StatusCode::NOT_MODIFIED) => {
                Ok(ResponseOutcome::Unchanged)
            }
            (ExpectedResponse::Deletion, StatusCode::OK) => match &answer.body {
                Some(body) => DeletionReport::parse(body).map(ResponseOutcome::Deleted),
                None => Err(ObjectError::Unclear),
            },
            (ExpectedResponse::Write, status) if status.is_success() => {
                Ok(ResponseOutcome::Written(answer.tag()))
            }
            (ExpectedResponse::Write, StatusCode::PRECONDITION_FAILED) => {
                Ok(ResponseOutcome::ConditionFailed)
            }
            (ExpectedResponse::Write, StatusCode::NOT_IMPLEMENTED) => {
                Err(ObjectError::Unconditional)
            }
            (ExpectedResponse::Object(_) | ExpectedResponse::Write, StatusCode::NOT_FOUND)
                if error_code(answer.error_body()) != "NoSuchBucket" =>
            {
                Ok(ResponseOutcome::Missing)
            }
            (_, status) => Err(ObjectError::of(status, answer.error_body())),
        };
        judged.unwrap_or_else(ResponseOutcome::Trouble)
    }
}

/// Decides whether a partial answer is the whole object or there is more.
fn partial(answer: &BufferedResponse, most: u64) -> Result<ResponseOutcome, ObjectError> {
    let range = answer.headers.get(header::CONTENT_RANGE);
    let (last, size) = range
        .and_then(|range| range.to_str().ok()?.trim().strip_prefix("bytes 0-"))
        .and_then(|range| range.split_once('/'))
        .and_then(|(last, size)| Some((last.parse::<u64>().ok()?, size.parse::<u64>().ok()?)))
        .ok_or(ObjectError::Unclear)?;
    if size > most {
        return Ok(ResponseOutcome::TooLarge);
    }
    let body = answer.body.as_ref().ok_or(ObjectError::Unclear)?;
    if last.checked_add(1) != Some(size) || body.len() as u64 != size {
        return Err(ObjectError::BrokenOff);
    }
    Ok(ResponseOutcome::Object(body.clone(), answer.tag()))
}

/// A complete answer.
struct BufferedResponse {
    status: StatusCode,
    headers: HeaderMap,
    /// `None` if it is longer than allowed.
    body: Option<Bytes>,
}

impl BufferedResponse {
    fn error_body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }

    fn tag(&self) -> Option<ETag> {
        self.headers.get(header::ETAG).and_then(ETag::parse)
    }
}

/// The HTTP service that makes requests for the library.
#[derive(Clone)]
pub(super) struct ObjectHttpService(Arc<Inner>);

struct Inner {
    connections: Connections<HttpRequestBody>,
    /// The time for one request, to the last byte of its answer.
    timeout: Duration,
}

impl fmt::Debug for ObjectHttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectHttpService")
    }
}

impl ObjectHttpService {
    pub(super) fn new(connector: Connector, timeout: Duration) -> Self {
        Self(Arc::new(Inner {
            connections: Connections::new(connector),
            timeout,
        }))
    }

    async fn answer(
        &self,
        request: HttpRequest,
        wanted: ExpectedResponse,
    ) -> Result<BufferedResponse, ObjectError> {
        // All requests use the same credentials, and most are made only once.
        let purpose = PoolKey::server(request.uri());
        let exchange = self
            .0
            .connections
            .ask(purpose, request, |response| whole(response, wanted));
        match tokio::time::timeout(self.0.timeout, exchange).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(ClientError::Unreachable)) => Err(ObjectError::Unreachable),
            Ok(Err(_)) => Err(ObjectError::BrokenOff),
            Err(_) => Err(ObjectError::TimedOut),
        }
    }
}

impl HttpConnector for ObjectHttpService {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for ObjectHttpService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let failed = |trouble: ObjectError| HttpError::new(trouble.kind(), trouble);
        // Every request that comes this way carries one, or is a deletion.
        let asked = request.extensions().get::<ResponseSlot>().cloned();
        let asked = asked.or_else(|| DELETION.try_with(Clone::clone).ok());
        let asked = asked.ok_or_else(|| failed(ObjectError::Unclear))?;
        asked.begin();
        let answer = match self.answer(request, asked.wanted).await {
            Ok(answer) => answer,
            Err(trouble) => {
                let is_settled = trouble == ObjectError::Unreachable;
                asked.note(ResponseOutcome::Trouble(trouble), is_settled);
                return Err(failed(trouble));
            }
        };
        let noted = asked.judge(&answer);
        let is_settled = answer.status.is_success()
            || ObjectError::is_proof_of_refusal(answer.status, answer.error_body());
        asked.note(noted.clone(), is_settled);
        let is_success = answer.status.is_success();
        match (noted, asked.wanted) {
            (ResponseOutcome::Trouble(trouble), _) if is_success => Err(failed(trouble)),
            (_, ExpectedResponse::Page) if is_success => {
                Ok(plain(StatusCode::OK, Bytes::from_static(EMPTY_LIST)))
            }
            (_, ExpectedResponse::Deletion) if is_success => {
                Ok(plain(StatusCode::OK, Bytes::from_static(NOTHING_DELETED)))
            }
            (ResponseOutcome::Object(..) | ResponseOutcome::TooLarge, _) => {
                Ok(plain(StatusCode::NO_CONTENT, Bytes::new()))
            }
            // The library decides by the status whether to retry.
            _ => Ok(plain(answer.status, Bytes::new())),
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
async fn whole(
    response: Response<Incoming>,
    wanted: ExpectedResponse,
) -> Result<BufferedResponse, ObjectError> {
    let (parts, body) = response.into_parts();
    let most = match wanted {
        _ if !parts.status.is_success() => MAX_ERROR_BYTES,
        ExpectedResponse::Page | ExpectedResponse::Deletion => MAX_PAGE_BYTES,
        ExpectedResponse::Write => MAX_ERROR_BYTES,
        // One more byte was requested, to see whether there is more.
        ExpectedResponse::Object(most) => most.saturating_add(1),
    };
    Ok(BufferedResponse {
        status: parts.status,
        headers: parts.headers,
        body: read(body, most).await?,
    })
}

/// Returns `None` if there are more than `most` bytes.
async fn read(mut body: Incoming, most: u64) -> Result<Option<Bytes>, ObjectError> {
    let announced = body.size_hint().exact();
    if announced.is_some_and(|bytes| bytes > most) {
        return Ok(None);
    }
    let announced = announced.and_then(|bytes| usize::try_from(bytes).ok());
    let mut bytes = BytesMut::with_capacity(announced.unwrap_or_default());
    while let Some(frame) = body.frame().await {
        // An answer that ends before its announced length is an error here.
        let Ok(data) = frame.map_err(|_| ObjectError::BrokenOff)?.into_data() else {
            continue;
        };
        if (bytes.len() + data.len()) as u64 > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Some(bytes.freeze()))
}
