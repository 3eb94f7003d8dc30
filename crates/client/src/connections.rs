//! Connections kept for the next request, for as long as their state is beyond doubt.
//!
//! HTTP/1.1 matches answers to requests by order alone. If a server or a proxy sends one answer too many, all later ones
//! are shifted, and the next caller gets an answer meant for somebody else. Two rules prevent that:
//!
//! - A connection is reused only for the purpose it was opened for ([`PoolKey`]). Where that is one request of one caller,
//!   a leftover answer can only be an answer to that very request.
//! - A connection is kept only after an answer whose end is beyond doubt, and reused only if nothing has arrived since:
//!   neither in our buffers nor in those of the system.

use std::{
    collections::VecDeque,
    pin::{Pin, pin},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri, Version, header};
use hyper::{
    body::{Body, Incoming},
    client::conn::http1::{Builder, Connection, SendRequest},
};
use hyper_rustls::MaybeHttpsStream;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tower::Service as _;

use crate::{
    ClientError,
    connect::{Connector, IdleFlag, RoutedStream},
};

/// The time that an idle connection is kept.
const IDLE: Duration = Duration::from_secs(30);
/// The most idle connections, in all and for one caller: round numbers that bound the open sockets.
pub(crate) const MAX_IDLE: usize = 256;
pub(crate) const MAX_IDLE_PER_CALLER: usize = 64;
/// The longest head of an answer, give or take one read.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// The purpose of a connection: requests with an equal purpose share connections.
#[derive(Clone, PartialEq, Eq)]
pub struct PoolKey {
    server: Uri,
    /// The identity of the caller: all headers as they are sent.
    caller: Vec<u8>,
}

impl PoolKey {
    /// This request, down to the last byte, and no other.
    #[must_use]
    pub fn request<B>(request: &Request<B>) -> Self {
        Self {
            server: request.uri().clone(),
            caller: written(request.headers()),
        }
    }

    /// Any request to the server at `uri`. Only for servers that are always asked with the same identity.
    #[must_use]
    pub fn server(uri: &Uri) -> Self {
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
        Self {
            // A URI with an authority stays valid with another path.
            server: Uri::from_parts(parts).unwrap_or_default(),
            caller: Vec::new(),
        }
    }
}

/// Concatenates headers. A value cannot contain a line break.
fn written(headers: &HeaderMap) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// Opens connections, and keeps them for a while. Clones share them.
pub struct Connections<B: Body + 'static> {
    connector: Connector,
    kept: Arc<IdlePool<B>>,
}

impl<B: Body + 'static> Clone for Connections<B> {
    fn clone(&self) -> Self {
        Self {
            connector: self.connector.clone(),
            kept: Arc::clone(&self.kept),
        }
    }
}

impl<B> Connections<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Creates an empty set of connections.
    #[must_use]
    pub fn new(connector: Connector) -> Self {
        Self::keeping(connector, IDLE)
    }

    /// The same, with another idle time.
    pub(crate) fn keeping(connector: Connector, time: Duration) -> Self {
        let idle = Mutex::new(Idle {
            links: VecDeque::new(),
            is_swept: false,
        });
        let kept = Arc::new(IdlePool { time, idle });
        Self { connector, kept }
    }

    /// Sends `request` and passes the answer to `read`, which should read the body to its end if the connection is to be
    /// kept. A request is sent again only if no part of it had been sent. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] if no connection could be made, [`ClientError::Broken`] if there is no complete answer
    /// or one with two different ends.
    pub async fn ask<T, F>(
        &self,
        purpose: PoolKey,
        mut request: Request<B>,
        read: impl FnOnce(Response<Incoming>) -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = T>,
    {
        let uri = request.uri().clone();
        let host = host(&uri).ok_or(ClientError::Unreachable)?;
        request.headers_mut().entry(header::HOST).or_insert(host);
        let had_interim = watch_interim(&mut request);
        let (mut link, response) = loop {
            let (mut link, is_new) = match self.kept.take(&purpose) {
                Some(link) => (link, false),
                None => (self.open(&uri).await?, true),
            };
            // Something arrived, or it was closed. There may be another one.
            if !is_new && !link.is_quiet().await {
                continue;
            }
            *request.uri_mut() = link.form_of(&uri);
            match link.send(request).await {
                Ok(response) => break (link, response),
                Err(Some(unsent)) if !is_new => request = unsent,
                Err(_) => return Err(ClientError::Broken),
            }
        };
        let end = BodyFraming::of(&response);
        if end == BodyFraming::Twofold {
            return Err(ClientError::Broken);
        }
        let answer = link.drive(read(response)).await;
        let is_clear = end == BodyFraming::Clear && !had_interim.load(Ordering::Relaxed);
        if is_clear && link.is_quiet().await {
            self.kept.keep(purpose, link);
        }
        Ok(answer)
    }

    /// Returns the number of idle connections.
    #[cfg(test)]
    pub(crate) fn idle(&self) -> usize {
        self.kept.lock().links.len()
    }

    async fn open(&self, uri: &Uri) -> Result<PooledConnection<B>, ClientError> {
        let mut connector = self.connector.clone();
        let ready = std::future::poll_fn(|context| connector.poll_ready(context));
        ready.await.map_err(|_| ClientError::Unreachable)?;
        let stream = connector.call(uri.clone()).await;
        let stream = stream.map_err(|_| ClientError::Unreachable)?;
        let wire = wire(&stream);
        let (is_proxied, rest) = (wire.is_proxied(), wire.rest());
        let mut builder = Builder::new();
        builder.max_buf_size(MAX_HEAD_BYTES);
        let (sender, connection) = builder
            .handshake(stream)
            .await
            .map_err(|_| ClientError::Unreachable)?;
        Ok(PooledConnection {
            sender,
            connection,
            rest,
            is_proxied,
            has_ended: false,
        })
    }
}

/// Returns the connection below the encryption.
fn wire(stream: &MaybeHttpsStream<RoutedStream>) -> &RoutedStream {
    match stream {
        MaybeHttpsStream::Http(wire) => wire,
        MaybeHttpsStream::Https(encrypted) => encrypted.inner().get_ref().0.inner(),
    }
}

/// Returns the host of `uri`, with its port unless that is the default.
fn host(uri: &Uri) -> Option<HeaderValue> {
    let name = uri.host()?;
    let usual = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    let host = match uri.port_u16() {
        Some(port) if port != usual => HeaderValue::try_from(format!("{name}:{port}")),
        _ => HeaderValue::try_from(name),
    };
    host.ok()
}

/// Returns a flag that is set if an interim answer (1xx) arrives before the answer.
fn watch_interim<B>(request: &mut Request<B>) -> Arc<AtomicBool> {
    let seen = Arc::<AtomicBool>::default();
    let setting = Arc::clone(&seen);
    hyper::ext::on_informational(request, move |_| setting.store(true, Ordering::Relaxed));
    seen
}

/// How certain the end of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyFraming {
    /// It is given in one way, which nobody could read differently.
    Clear,
    /// Readers could differ, or the end is that of the connection.
    Doubtful,
    /// It is given in two ways, as when one answer is smuggled inside another.
    Twofold,
}

impl BodyFraming {
    fn of<B>(answer: &Response<B>) -> Self {
        let all = |name| answer.headers().get_all(name).iter();
        let mut lengths = all(header::CONTENT_LENGTH);
        let mut codings = all(header::TRANSFER_ENCODING);
        let (length, coding) = (lengths.next(), codings.next());
        if length.is_some() && coding.is_some() {
            return Self::Twofold;
        }
        let is_single = lengths.next().is_none() && codings.next().is_none();
        let is_plain = match (length, coding) {
            (Some(length), None) => length.as_bytes().iter().all(u8::is_ascii_digit),
            (None, Some(coding)) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
            _ => false,
        };
        // These have no body, but some servers send one.
        let status = answer.status();
        let is_bodiless = status.is_informational()
            || status == StatusCode::NO_CONTENT
            || status == StatusCode::NOT_MODIFIED;
        match is_single && is_plain && !is_bodiless && answer.version() == Version::HTTP_11 {
            true => Self::Clear,
            false => Self::Doubtful,
        }
    }
}

/// A connection. It makes progress only while somebody waits: no background task reads incoming data.
struct PooledConnection<B: Body + 'static> {
    sender: SendRequest<B>,
    connection: Connection<MaybeHttpsStream<RoutedStream>, B>,
    rest: IdleFlag,
    is_proxied: bool,
    has_ended: bool,
}

impl<B> PooledConnection<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Returns the request target to use on this connection. A proxy needs the server too.
    fn form_of(&self, uri: &Uri) -> Uri {
        match (self.is_proxied, uri.path_and_query()) {
            (false, Some(path)) => Uri::from(path.clone()),
            _ => uri.clone(),
        }
    }

    /// Sends a request; returns it if no part of it was sent.
    async fn send(
        &mut self,
        request: Request<B>,
    ) -> Result<Response<Incoming>, Option<Request<B>>> {
        let sending = self.sender.try_send_request(request);
        let sent = self.drive(sending).await;
        sent.map_err(|mut error| error.take_message())
    }

    /// Polls the connection while `work` waits for what arrives on it.
    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|context| {
            // The reason is reported to those who wait for something.
            self.has_ended |=
                !self.has_ended && Pin::new(&mut self.connection).poll(context).is_ready();
            work.as_mut().poll(context)
        })
        .await
    }

    /// Returns whether the connection is open, has no request in flight, and has received nothing unrequested.
    async fn is_quiet(&mut self) -> bool {
        if self.has_ended {
            return false;
        }
        let _resting = self.rest.begin();
        self.has_ended = std::future::poll_fn(|context| {
            Poll::Ready(Pin::new(&mut self.connection).poll(context).is_ready())
        })
        .await;
        !self.has_ended && self.sender.is_ready()
    }
}

/// The idle connections.
struct IdlePool<B: Body + 'static> {
    /// The time that they are kept.
    time: Duration,
    idle: Mutex<Idle<B>>,
}

struct Idle<B: Body + 'static> {
    /// In the order in which they were returned.
    links: VecDeque<(PoolKey, Instant, PooledConnection<B>)>,
    /// Whether a task that closes old connections is running.
    is_swept: bool,
}

impl<B> IdlePool<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
{
    fn lock(&self) -> MutexGuard<'_, Idle<B>> {
        self.idle.lock()
    }

    /// Takes the most recently used connection for `purpose`.
    fn take(&self, purpose: &PoolKey) -> Option<PooledConnection<B>> {
        let mut idle = self.lock();
        let place = idle
            .links
            .iter()
            .rposition(|(kept, since, _)| kept == purpose && since.elapsed() < self.time)?;
        idle.links.remove(place).map(|(_, _, link)| link)
    }

    fn keep(self: &Arc<Self>, purpose: PoolKey, link: PooledConnection<B>) {
        let mut idle = self.lock();
        let of_caller =
            |(kept, _, _): &(PoolKey, Instant, PooledConnection<B>)| kept.caller == purpose.caller;
        let surplus =
            if idle.links.iter().filter(|kept| of_caller(kept)).count() >= MAX_IDLE_PER_CALLER {
                idle.links.iter().position(of_caller)
            } else {
                (idle.links.len() >= MAX_IDLE).then_some(0)
            };
        let closed = surplus.and_then(|place| idle.links.remove(place));
        idle.links.push_back((purpose, Instant::now(), link));
        if !idle.is_swept {
            idle.is_swept = true;
            tokio::spawn(sweep(Arc::downgrade(self), self.time));
        }
        drop(idle);
        // Closing takes a while, and the others need not wait for it.
        drop(closed);
    }
}

/// Closes connections that have been idle for too long, until none are left.
async fn sweep<B>(kept: Weak<IdlePool<B>>, time: Duration)
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
{
    loop {
        tokio::time::sleep(time).await;
        let Some(kept) = kept.upgrade() else { return };
        let mut idle = kept.lock();
        let fresh = idle
            .links
            .partition_point(|(_, since, _)| since.elapsed() >= time);
        let old: Vec<_> = idle.links.drain(..fresh).collect();
        let is_done = idle.links.is_empty();
        idle.is_swept = !is_done;
        drop(idle);
        drop(old);
        if is_done {
            return;
        }
    }
}
