//! A server in this process that emulates the API of a service, with faults.
//!
//! Faults depend on the number of requests, never on time, except for those that are about time.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::background::{Background, adopt, listen};
use crate::must;

/// The largest request that is read.
const MAX_BODY: usize = 64 << 20;

/// A fault of an emulated service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceFault {
    /// The answer is 429, with `Retry-After` in seconds if there is a number.
    Throttled(Option<u64>),
    /// The answer is this status with an error in JSON.
    Status(u16),
    /// The work is done, and then the connection is closed without an answer.
    LostAnswer,
    /// The work is done, and the answer comes after this time.
    Late(Duration),
    /// The answer is 200 with something else than JSON.
    Garbage,
    /// The answer is 200 with JSON of another shape.
    OtherShape,
    /// The answer announces more than it has, and breaks off.
    BreaksOff,
    /// There is no answer, until the client gives up.
    Never,
    /// A batch is done in part only, as the service reports it.
    PartialBatch,
}

/// A request, read to its end.
pub(crate) struct ApiRequest {
    pub(crate) method: Method,
    /// The path, percent signs as they were sent.
    pub(crate) path: String,
    /// The parameters of the query, decoded.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Whether a batch is to be done in part only.
    pub(crate) is_partial: bool,
}

impl ApiRequest {
    /// Returns the first value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The answer of an emulated service: a status, and JSON unless it has no body.
pub(crate) struct ApiAnswer {
    pub(crate) status: u16,
    pub(crate) body: Option<Value>,
}

impl ApiAnswer {
    pub(crate) fn ok(body: Value) -> Self {
        let body = Some(body);
        Self { status: 200, body }
    }

    pub(crate) fn of(status: u16, body: Value) -> Self {
        let body = Some(body);
        Self { status, body }
    }
}

/// The API of a service, and its data.
pub(crate) trait EmulatedApi: Send + 'static {
    fn answer(&mut self, request: &ApiRequest) -> ApiAnswer;
}

struct EmulatorState<A> {
    api: A,
    faults: Vec<PlannedFault>,
    requests: Vec<String>,
    /// The time that answering took since somebody asked.
    busy: Duration,
}

/// A fault of the next requests with some path.
struct PlannedFault {
    path: String,
    /// The number of such requests that pass before.
    skipped: usize,
    left: usize,
    fault: ServiceFault,
}

/// A running emulator. It ends when dropped.
pub(crate) struct Emulator<A> {
    shared: Arc<Mutex<EmulatorState<A>>>,
    address: SocketAddr,
    _server: Background,
}

impl<A: EmulatedApi> Emulator<A> {
    #[track_caller]
    pub(crate) fn start(api: A) -> Self {
        must(Self::new(api))
    }

    fn new(api: A) -> Result<Self> {
        let listener = listen(0)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Mutex::new(EmulatorState {
            api,
            faults: Vec::new(),
            requests: Vec::new(),
            busy: Duration::ZERO,
        }));
        let serving = Arc::clone(&shared);
        let server = Background::start(async move {
            let Ok(listener) = adopt(listener) else {
                return;
            };
            while let Ok((stream, _)) = listener.accept().await {
                // A client that went away is noticed when it is answered.
                drop(stream.set_nodelay(true));
                let shared = Arc::clone(&serving);
                tokio::spawn(async move {
                    let service = service_fn(|request| serve(Arc::clone(&shared), request));
                    let connection = http1::Builder::new()
                        .timer(TokioTimer::new())
                        .serve_connection(TokioIo::new(stream), service);
                    // A fault, or a client that went away, ends a connection.
                    drop(connection.await);
                });
            }
        })?;
        Ok(Self {
            shared,
            address,
            _server: server,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes the next `times` requests whose path contains `path` fail.
    pub(crate) fn fail(&self, path: &str, times: usize, fault: ServiceFault) {
        self.fail_after(path, 0, times, fault);
    }

    /// Makes `times` requests whose path contains `path` fail, after `skipped` that pass.
    pub(crate) fn fail_after(&self, path: &str, skipped: usize, times: usize, fault: ServiceFault) {
        self.shared.lock().faults.push(PlannedFault {
            path: path.to_owned(),
            skipped,
            left: times,
            fault,
        });
    }

    /// Ends all faults.
    pub(crate) fn recover(&self) {
        self.shared.lock().faults.clear();
    }

    /// Returns method and path of every request since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().requests)
    }

    pub(crate) fn busy(&self) -> Duration {
        std::mem::take(&mut self.shared.lock().busy)
    }

    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut A) -> T) -> T {
        work(&mut self.shared.lock().api)
    }
}

/// The error that closes a connection.
#[derive(Debug)]
struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("closed on purpose")
    }
}

impl std::error::Error for Closed {}

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Closed>;

async fn serve<A: EmulatedApi>(
    shared: Arc<Mutex<EmulatorState<A>>>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Closed> {
    let (parts, body) = request.into_parts();
    let limited = http_body_util::Limited::new(body, MAX_BODY);
    let body = limited.collect().await.map_err(|_| Closed)?.to_bytes();
    let path = parts.uri.path().to_owned();
    let fault = {
        let mut shared = shared.lock();
        shared.requests.push(format!("{} {path}", parts.method));
        let planned = shared.faults.iter_mut();
        let mut planned = planned.filter(|one| one.left > 0 && path.contains(&one.path));
        planned.next().and_then(|one| match one.skipped {
            0 => {
                one.left -= 1;
                Some(one.fault.clone())
            }
            _ => {
                one.skipped -= 1;
                None
            }
        })
    };
    let error = || json!({ "code": 13, "message": "emulated fault", "details": [] });
    match &fault {
        Some(ServiceFault::Throttled(seconds)) => {
            let mut response = plain(429, Some(error()));
            if let Some(seconds) = seconds {
                response
                    .headers_mut()
                    .insert(header::RETRY_AFTER, (*seconds).into());
            }
            return Ok(response);
        }
        Some(ServiceFault::Status(status)) => return Ok(plain(*status, Some(error()))),
        Some(ServiceFault::Garbage) => return Ok(raw(b"<html>busy</html>".to_vec())),
        Some(ServiceFault::OtherShape) => return Ok(raw(b"[1,\"two\",{\"three\":[]}]".to_vec())),
        Some(ServiceFault::Never) => std::future::pending().await,
        _ => {}
    }
    let api_request = ApiRequest {
        method: parts.method,
        path,
        query: parameters(parts.uri.query().unwrap_or_default()),
        headers: parts.headers,
        body,
        is_partial: fault == Some(ServiceFault::PartialBatch),
    };
    let answer = {
        let mut shared = shared.lock();
        let started = Instant::now();
        let answer = shared.api.answer(&api_request);
        shared.busy += started.elapsed();
        answer
    };
    match fault {
        Some(ServiceFault::LostAnswer) => Err(Closed),
        Some(ServiceFault::Late(time)) => {
            tokio::time::sleep(time).await;
            Ok(plain(answer.status, answer.body))
        }
        Some(ServiceFault::BreaksOff) => {
            let mut response = plain(answer.status, answer.body);
            let broken = BrokenBody(Some(Bytes::from_static(b"{\"a")));
            *response.body_mut() = broken.boxed_unsync();
            response.headers_mut().remove(header::CONTENT_LENGTH);
            Ok(response)
        }
        _ => Ok(plain(answer.status, answer.body)),
    }
}

/// A body of one piece and an error.
struct BrokenBody(Option<Bytes>);

impl hyper::body::Body for BrokenBody {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Closed>>> {
        let next = match self.0.take() {
            Some(bytes) => Ok(hyper::body::Frame::data(bytes)),
            None => Err(Closed),
        };
        std::task::Poll::Ready(Some(next))
    }
}

fn plain(status: u16, body: Option<Value>) -> Response<Body> {
    let bytes = body.map(|body| body.to_string().into_bytes());
    let mut response = raw(bytes.unwrap_or_default());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    response
}

fn raw(bytes: Vec<u8>) -> Response<Body> {
    let body = Full::new(Bytes::from(bytes)).map_err(|never: Infallible| match never {});
    let mut response = Response::new(body.boxed_unsync());
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

fn parameters(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_encoding::percent_decode_str(&text)
            .decode_utf8_lossy()
            .into_owned()
    };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}
