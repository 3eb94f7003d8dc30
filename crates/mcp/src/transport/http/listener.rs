//! Connections: accepted, encrypted if that is configured, bounded, and closed in order.
//!
//! A connection takes a slot among those that may be open (`places`), which it may lose to another while it has no
//! request in flight. A client that makes no progress loses it as well: during the TLS handshake, while it sends the
//! head of a request or none at all, and while it does not read its answer. The endpoint handles the body of a request.

mod connection_slots;
mod stall;
mod tls;

#[cfg(test)]
mod tests;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, HttpBody},
};
use bytes::Bytes;
use http::Request;
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

pub use self::tls::ServerTls;

use self::{
    connection_slots::{Bounds, ConnectionSlot, ConnectionSlots, RequestGuard},
    stall::StallTimeoutStream,
};
use crate::access::LiveValue;

/// Largest buffer of a connection, unless heads may be longer.
const BUFFER_BYTES: usize = 64 << 10;
/// How long to back off after the system failed to accept a connection: the first pause, doubled each time, up
/// to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];

/// Settings of the listener.
#[derive(Clone)]
pub struct ListenerSettings {
    /// Certificate and key, if connections are encrypted.
    pub tls: Option<Arc<LiveValue<ServerTls>>>,
    /// Connections that may be open at the same time.
    pub max_connections: usize,
    /// The same for one address, unless it is that of a proxy.
    pub max_connections_per_address: usize,
    /// Reverse proxies, whose address represents many clients.
    pub trusted_proxies: Vec<IpAddr>,
    /// How long the head of a request may take to arrive, and how long a client may go without reading.
    pub head_timeout: Duration,
    /// Largest head of a request, in bytes.
    pub max_head_bytes: usize,
}

/// Serves `app` until `shutdown` fires and open requests are answered, or `drain` has passed since. Every request has
/// the address of its peer, a [`SocketAddr`], in its extensions.
pub(super) async fn serve(
    listener: TcpListener,
    app: Router,
    settings: &ListenerSettings,
    shutdown: &CancellationToken,
    drain: Duration,
) -> io::Result<()> {
    let places = Arc::new(ConnectionSlots::new(Bounds {
        max: settings.max_connections,
        per_address: settings.max_connections_per_address,
        proxies: settings.trusted_proxies.clone(),
    }));
    let connections = GracefulShutdown::new();
    // Everything that is still open when this function returns ends with it.
    let abandoned = CancellationToken::new();
    let _abandon = abandoned.clone().drop_guard();
    let server = Arc::new(ConnectionServer {
        protocol: protocol(settings),
        // Prepared once, not with each request.
        app: app.with_state(()),
        settings: settings.clone(),
        shutdown: shutdown.clone(),
    });
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            taken = persistently(|| listener.accept()) => taken,
        };
        let Some(place) = places.take(peer.ip()) else {
            tracing::debug!("a connection was closed because too many are open");
            continue;
        };
        let (server, abandoned) = (Arc::clone(&server), abandoned.clone());
        let watcher = connections.watcher();
        tokio::spawn(async move {
            tokio::select! {
                () = abandoned.cancelled() => {}
                () = server.attend(stream, (peer, &place), watcher) => {}
                () = place.given_up() => tracing::debug!("a connection was closed to make room for another"),
            }
        });
    }
    drop(listener);
    if timeout(drain, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered before the shutdown deadline");
    }
    Ok(())
}

/// Everything that a connection is served with.
struct ConnectionServer {
    protocol: http1::Builder,
    app: Router,
    settings: ListenerSettings,
    shutdown: CancellationToken,
}

impl ConnectionServer {
    /// Serves one connection until it ends.
    async fn attend(
        &self,
        stream: TcpStream,
        peer: (SocketAddr, &Arc<ConnectionSlot>),
        watcher: Watcher,
    ) {
        // Answers are small and written in pieces; waiting to fill a packet would cost 40 ms a call.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(kind = ?error.kind(), "TCP_NODELAY could not be set");
        }
        let patience = self.settings.head_timeout;
        let stream = StallTimeoutStream::new(stream, patience);
        let Some(tls) = &self.settings.tls else {
            return self.converse(stream, peer, watcher).await;
        };
        let handshake = TlsAcceptor::from(tls.get().config()).accept(stream);
        let encrypted = tokio::select! {
            biased;
            // There is no request yet that needs an answer.
            () = self.shutdown.cancelled() => return,
            encrypted = timeout(patience, handshake) => encrypted,
        };
        match encrypted {
            Ok(Ok(stream)) => self.converse(stream, peer, watcher).await,
            Ok(Err(error)) => tracing::debug!(kind = ?error.kind(), "the TLS handshake failed"),
            Err(_) => tracing::debug!("the TLS handshake timed out"),
        }
    }

    /// Answers the requests that come over `stream`.
    async fn converse(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
        (peer, place): (SocketAddr, &Arc<ConnectionSlot>),
        watcher: Watcher,
    ) {
        let app = &self.app;
        let answer = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let asking = place.asks();
            let answer = app.clone().call(request);
            async move {
                let asking = asking.ok_or(ConnectionDisplaced)?;
                let answer = answer.await.unwrap_or_else(|never| match never {});
                Ok::<_, ConnectionDisplaced>(answer.map(|body| TrackedBody {
                    body,
                    _asking: asking,
                }))
            }
        });
        let connection = self.protocol.serve_connection(TokioIo::new(stream), answer);
        if let Err(error) = watcher.watch(connection).await {
            // The text of the error could show what the client sent.
            let timed_out = error.is_timeout();
            tracing::debug!(timed_out, "a connection failed");
        }
    }
}

/// A request arrived on a connection that has lost its slot to another.
#[derive(Debug, thiserror::Error)]
#[error("the connection was closed to make room for another")]
struct ConnectionDisplaced;

/// The body of an answer. Until it has been sent, its connection has a request in flight.
struct TrackedBody {
    body: Body,
    _asking: RequestGuard,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn protocol(settings: &ListenerSettings) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        // Counts from the end of the previous request, so it also closes an idle connection.
        .header_read_timeout(settings.head_timeout)
        .max_header_size(settings.max_head_bytes)
        .max_buf_size(settings.max_head_bytes.max(BUFFER_BYTES));
    protocol
}

/// Accepts the next connection, however often the system fails to provide one: when it is out of file descriptors, for
/// example, it would fail again at once.
async fn persistently<T, F: Future<Output = io::Result<T>>>(mut accept: impl FnMut() -> F) -> T {
    let [mut pause, longest] = PAUSES;
    loop {
        match accept().await {
            Ok(taken) => return taken,
            // This client has disconnected; there may be others.
            Err(error) if concerns_one(error.kind()) => {}
            Err(error) => {
                tracing::warn!(kind = ?error.kind(), "cannot accept connections for now");
                sleep(pause).await;
                pause = longest.min(pause * 2);
            }
        }
    }
}

fn concerns_one(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}
