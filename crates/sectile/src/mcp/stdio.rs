//! MCP over standard input and output: one JSON-RPC message a line.
//!
//! The transport is ours. It answers what rmcp would drop (malformed lines, batches, oversize, ids already in use), and
//! at the end of input it lets running calls answer before it closes.

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rmcp::{
    RoleServer, ServiceExt as _,
    model::{
        ClientJsonRpcMessage, ClientNotification, JsonRpcError, JsonRpcMessage, RequestId,
        ServerJsonRpcMessage,
    },
    transport::{Transport, stdio_pipes},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::{Notify, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    Surface,
    message::{self, Rejected},
    server::Server,
};

/// How long running calls may still answer after the input has ended.
const DRAIN: Duration = Duration::from_secs(10);
/// Answers that may wait for a slow reader before more input is taken.
const OUTGOING: usize = 64;

/// Serves `surface` until the input ends or `shutdown` fires.
///
/// # Errors
/// When standard output breaks or the server loop ends in an unexpected way.
pub async fn serve(
    surface: Arc<Surface>,
    max_line_bytes: usize,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let (reader, writer) = stdio_pipes();
    serve_streams(surface, reader, writer, max_line_bytes, shutdown).await
}

/// Serves `surface` over any pair of streams, as [`serve`] does over standard input and output.
///
/// # Errors
/// When the writer breaks or the server loop ends in an unexpected way.
pub async fn serve_streams(
    surface: Arc<Surface>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    max_line_bytes: usize,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let transport = LineTransport::new(reader, writer, max_line_bytes);
    let running = match Server(surface).serve_with_ct(transport, shutdown).await {
        Ok(running) => running,
        // The client left, or the process was told to stop, before the first request.
        Err(_) => return Ok(()),
    };
    running
        .waiting()
        .await
        .map(|_| ())
        .map_err(io::Error::other)
}

struct LineTransport<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are known to hold no line end.
    scanned: usize,
    max_line_bytes: usize,
    /// Inside a line that is too long: what is left of it is thrown away.
    skipping: bool,
    seen_request: bool,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<io::Result<()>>>,
    in_flight: Arc<InFlight>,
}

/// Requests without an answer yet.
#[derive(Default)]
struct InFlight {
    ids: Mutex<HashSet<RequestId>>,
    emptied: Notify,
}

impl InFlight {
    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, id: &RequestId) -> bool {
        self.ids().insert(id.clone())
    }

    fn remove(&self, id: &RequestId) {
        let mut ids = self.ids();
        ids.remove(id);
        if ids.is_empty() {
            self.emptied.notify_waiters();
        }
    }

    async fn drained(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.ids().is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    fn new(
        reader: R,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        max_line_bytes: usize,
    ) -> Self {
        let (outgoing, lines) = mpsc::channel(OUTGOING);
        Self {
            reader,
            buffer: Vec::new(),
            scanned: 0,
            max_line_bytes,
            skipping: false,
            seen_request: false,
            outgoing: Some(outgoing),
            writer: Some(tokio::spawn(write_lines(writer, lines))),
            in_flight: Arc::default(),
        }
    }

    /// The next complete line, without its end, or `None` at the end of input. Safe to drop at any await.
    async fn next_line(&mut self) -> Option<Line> {
        loop {
            if let Some(end) = self.buffer[self.scanned..]
                .iter()
                .position(|byte| *byte == b'\n')
            {
                let line: Vec<u8> = self.buffer.drain(..=self.scanned + end).collect();
                self.scanned = 0;
                if std::mem::take(&mut self.skipping) {
                    continue;
                }
                return Some(Line::Complete(line));
            }
            self.scanned = self.buffer.len();
            if self.skipping {
                self.buffer.clear();
                self.scanned = 0;
            } else if self.buffer.len() > self.max_line_bytes {
                self.skipping = true;
                return Some(Line::TooLong);
            }
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) if self.buffer.is_empty() || self.skipping => return None,
                Ok(0) | Err(_) => {
                    self.scanned = 0;
                    return Some(Line::Complete(std::mem::take(&mut self.buffer)));
                }
                Ok(_) => {}
            }
        }
    }

    /// What a line means for rmcp: a message, or nothing because it has been answered here.
    fn accept(&mut self, line: &Line) -> Result<ClientJsonRpcMessage, Option<Box<JsonRpcError>>> {
        let bytes = match line {
            Line::Complete(bytes) => bytes,
            Line::TooLong => {
                let error =
                    message::invalid_request("Invalid request: the message is too large.", None);
                return Err(Some(Box::new(error)));
            }
        };
        if bytes.len() > self.max_line_bytes {
            return self.accept(&Line::TooLong);
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(None);
        }
        let decoded = message::decode(bytes).map_err(|rejected| match rejected {
            Rejected::Answer(error) => Some(error),
            Rejected::Silence => None,
        })?;
        match &decoded {
            JsonRpcMessage::Request(request) => {
                if !self.in_flight.insert(&request.id) {
                    let message = "Invalid request: a request with this id is still running.";
                    return Err(Some(Box::new(message::invalid_request(
                        message,
                        Some(request.id.clone()),
                    ))));
                }
                self.seen_request = true;
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // A cancelled request gets no answer, so nothing else would take it off the list.
                    self.in_flight.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        // rmcp ends the connection when something other than a request comes first.
        if self.seen_request {
            Ok(decoded)
        } else {
            Err(None)
        }
    }
}

enum Line {
    Complete(Vec<u8>),
    TooLong,
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let in_flight = Arc::clone(&self.in_flight);
        async move {
            let line = encode(&item)?;
            let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
            outgoing
                .ok_or_else(broken)?
                .send(line)
                .await
                .map_err(|_| broken())?;
            match &item {
                JsonRpcMessage::Response(response) => in_flight.remove(&response.id),
                JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => in_flight.remove(id),
                _ => {}
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // A place for the answer is kept ready, so that no await stands between reading a line and answering it.
            let place = self.outgoing.clone()?.reserve_owned().await.ok()?;
            let Some(line) = self.next_line().await else {
                drop(place);
                // Late answers are not worth waiting for beyond this; the process is about to end.
                if tokio::time::timeout(DRAIN, self.in_flight.drained())
                    .await
                    .is_err()
                {
                    tracing::warn!("calls were still running when the input had ended");
                }
                return None;
            };
            match self.accept(&line) {
                Ok(message) => return Some(message),
                Err(Some(error)) => {
                    tracing::info!(target: "sectile::call", outcome = "rejected", code = error.error.code.0);
                    let answer = ServerJsonRpcMessage::Error(*error);
                    if let Ok(line) = encode(&answer) {
                        place.send(line);
                    }
                }
                Err(None) => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        match self.writer.take() {
            Some(writer) => writer.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}

fn encode(message: &ServerJsonRpcMessage) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

async fn write_lines(
    mut writer: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    while let Some(line) = lines.recv().await {
        writer.write_all(&line).await?;
        writer.flush().await?;
    }
    Ok(())
}
