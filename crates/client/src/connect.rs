//! Opening of connections: directly or through a proxy, plain or encrypted, within a time limit.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::{Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
    rt::TokioIo,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio::net::TcpStream;
use tower::Service;

use crate::is_host_and_port;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type BoxedResultFuture<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Returns a TLS configuration that trusts the well-known authorities and those in `extra_roots` (PEM).
///
/// # Errors
/// Returns a short description of what is wrong with the certificates.
pub fn tls(extra_roots: Option<&str>) -> Result<ClientConfig, &'static str> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    if let Some(pem) = extra_roots {
        let known = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate.map_err(|_| "it is not PEM")?;
            roots
                .add(certificate)
                .map_err(|_| "a certificate in it cannot be used")?;
        }
        if roots.len() == known {
            return Err("it contains no certificate");
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| "encryption cannot be set up")?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}

/// Opens connections, each within a time limit that covers name resolution, proxy and TLS.
#[derive(Clone)]
pub struct Connector {
    inner: HttpsConnector<Route>,
    timeout: Duration,
}

impl Connector {
    /// Opens connections within `timeout`, through `proxy` if there is one, with [`tls`] for `https` addresses.
    ///
    /// # Errors
    /// Returns a short description of what is wrong with the proxy or the certificates.
    pub fn new(
        proxy: Option<Uri>,
        extra_roots: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, &'static str> {
        let proxy = proxy.map(checked_proxy).transpose()?;
        let tls = Arc::new(tls(extra_roots)?);
        Ok(Self {
            inner: HttpsConnector::from((Route::new(proxy, timeout), tls)),
            timeout,
        })
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<RoutedStream>;
    type Error = BoxError;
    type Future = BoxedResultFuture<Self::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.inner.call(to);
        let timeout = self.timeout;
        Box::pin(async move { tokio::time::timeout(timeout, connecting).await? })
    }
}

fn checked_proxy(proxy: Uri) -> Result<Uri, &'static str> {
    let authority = proxy.authority().map(|authority| authority.as_str());
    match (proxy.scheme_str(), authority, proxy.host()) {
        (Some("http"), Some(authority), Some(host)) if is_host_and_port(host, authority) => {
            Ok(proxy)
        }
        _ => Err("the proxy is not http://host:port"),
    }
}

/// The route to a server, before encryption.
#[derive(Clone)]
struct Route {
    tcp: HttpConnector,
    proxy: Option<Uri>,
}

impl Route {
    fn new(proxy: Option<Uri>, connect_timeout: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        // An encrypted connection starts as TCP too.
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Shared among the addresses of a host, so that a silent one leaves time for the others.
        tcp.set_connect_timeout(Some(connect_timeout));
        Self { tcp, proxy }
    }
}

impl Service<Uri> for Route {
    type Response = RoutedStream;
    type Error = BoxError;
    type Future = BoxedResultFuture<RoutedStream>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        match self.proxy.clone() {
            None => {
                let connecting = self.tcp.call(to);
                Box::pin(async move { Ok(RoutedStream::new(connecting.await?, false)) })
            }
            Some(proxy) if to.scheme() == Some(&Scheme::HTTPS) => {
                let connecting = Tunnel::new(proxy, self.tcp.clone()).call(to);
                Box::pin(async move { Ok(RoutedStream::new(connecting.await?, false)) })
            }
            Some(proxy) => {
                let connecting = self.tcp.call(proxy);
                Box::pin(async move { Ok(RoutedStream::new(connecting.await?, true)) })
            }
        }
    }
}

/// A connection that knows whether a proxy reads the requests on it, which then have to name the server.
pub struct RoutedStream {
    stream: TokioIo<TcpStream>,
    is_proxied: bool,
    rest: IdleFlag,
}

impl RoutedStream {
    fn new(stream: TokioIo<TcpStream>, is_proxied: bool) -> Self {
        Self {
            stream,
            is_proxied,
            rest: IdleFlag::default(),
        }
    }

    pub(crate) fn is_proxied(&self) -> bool {
        self.is_proxied
    }

    pub(crate) fn rest(&self) -> IdleFlag {
        self.rest.clone()
    }
}

/// Whether a connection is at rest. Nothing may arrive on it then, and end of stream counts as much as data.
#[derive(Clone, Default)]
pub(crate) struct IdleFlag(Arc<AtomicBool>);

/// A guard that keeps the connection at rest until it is dropped.
pub(crate) struct IdleGuard(IdleFlag);

impl IdleFlag {
    pub(crate) fn begin(&self) -> IdleGuard {
        self.0.store(true, Ordering::Relaxed);
        IdleGuard(self.clone())
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for IdleGuard {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

/// Returns whether the system has nothing to read from `stream`, not even its end. The runtime cannot be asked: it learns
/// about incoming data only when it next polls for events.
fn is_silent(stream: &TcpStream) -> bool {
    #[cfg(unix)]
    let same = std::os::fd::AsFd::as_fd(stream).try_clone_to_owned();
    #[cfg(windows)]
    let same = std::os::windows::io::AsSocket::as_socket(stream).try_clone_to_owned();
    // This does not block, because the original stream is non-blocking.
    let looked = same.and_then(|same| std::net::TcpStream::from(same).peek(&mut [0]));
    matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

impl Connection for RoutedStream {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_proxied)
    }
}

impl Read for RoutedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_on() && !is_silent(self.stream.inner()) {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for RoutedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }
}
