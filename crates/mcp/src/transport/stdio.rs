//! MCP over standard input and output: one JSON-RPC message per line.
//!
//! The transport is ours. It answers what rmcp would drop (malformed lines, batches, oversized messages, ids already in
//! use), and at the end of input it lets running calls answer before it closes.

mod lines;

use std::{io, sync::Arc, time::Duration};

use rmcp::{
    RoleServer, ServiceExt as _,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta as _, JsonRpcError,
        JsonRpcMessage, JsonRpcRequest, ServerJsonRpcMessage, ServerResult,
    },
    transport::{Transport, stdio_pipes},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::Mutex,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use self::lines::{InputLine, LineReader};
use crate::{
    Connection, Surface,
    call::{error::method_not_found, structured::put_text_in_place},
    transport::{
        in_flight::InFlightRequests,
        message::{self, Rejection},
        server::McpServer,
    },
};

/// How long running calls may still answer after the input has ended.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves `surface` until the input ends or `shutdown` fires.
///
/// # Errors
/// Returns an error if standard output breaks or the server loop ends unexpectedly.
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
/// Returns an error if the writer breaks or the server loop ends unexpectedly.
pub async fn serve_streams(
    surface: Arc<Surface>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    max_line_bytes: usize,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let connection = Arc::<Connection>::default();
    let transport = LineTransport::new(reader, writer, max_line_bytes, connection.ended());
    let server = McpServer::for_streams(surface, connection);
    let running = match server.serve_with_ct(transport, shutdown).await {
        Ok(running) => running,
        // The client disconnected, or the process was told to stop, before the first request.
        Err(_) => return Ok(()),
    };
    running
        .waiting()
        .await
        .map(|_| ())
        .map_err(io::Error::other)
}

struct LineTransport<R, W> {
    lines: LineReader<R>,
    output: Arc<Output<W>>,
    in_flight: Arc<InFlightRequests>,
    seen_request: bool,
    /// The answer to a line that was rejected here. No more input is read until it is written, so that a client that
    /// sends garbage and never reads cannot fill the memory.
    rejection: Option<JoinHandle<io::Result<()>>>,
    /// Fires at the end of input, so that work that only waits for the client stops waiting.
    ended: CancellationToken,
}

struct Output<W> {
    writer: Mutex<W>,
    /// Fires when the reader has gone away.
    broken: CancellationToken,
}

/// The action for a line.
#[expect(
    clippy::large_enum_variant,
    reason = "it is matched at once and never stored"
)]
enum InputAction {
    /// Pass it to rmcp.
    Pass(ClientJsonRpcMessage),
    /// Answer it here.
    Answer(JsonRpcError),
    /// Ignore it.
    Ignore,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    fn new(reader: R, writer: W, max_line_bytes: usize, ended: CancellationToken) -> Self {
        Self {
            lines: LineReader::new(reader, max_line_bytes),
            output: Arc::new(Output {
                writer: Mutex::new(writer),
                broken: CancellationToken::new(),
            }),
            in_flight: Arc::default(),
            seen_request: false,
            rejection: None,
            ended,
        }
    }

    /// Returns the next message for rmcp, or `None` at the end. May be dropped at any await and called again.
    async fn next_message(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(rejection) = &mut self.rejection {
                let written = rejection.await;
                self.rejection = None;
                written.ok()?.ok()?;
            }
            let Some(line) = self.lines.next().await else {
                self.drain().await;
                return None;
            };
            match self.line(line) {
                InputAction::Pass(message) => return Some(message),
                InputAction::Answer(error) => self.answer(error),
                InputAction::Ignore => {}
            }
        }
    }

    fn line(&mut self, line: InputLine) -> InputAction {
        let bytes = match line {
            InputLine::Complete(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => {
                return InputAction::Ignore;
            }
            InputLine::Complete(bytes) => bytes,
            InputLine::TooLong => {
                let message = "Invalid Request: the message is too large.";
                return InputAction::Answer(message::invalid_request(message, None));
            }
        };
        match message::decode(&bytes).map(|decoded| decoded.message) {
            Ok(JsonRpcMessage::Request(request)) => self.request(request),
            Ok(JsonRpcMessage::Notification(mut notification)) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &mut notification.notification
                    && let Some(id) = &mut cancelled.params.request_id
                    && let Some(known_by) = self.in_flight.cancel(id)
                {
                    *id = known_by;
                }
                self.pass(JsonRpcMessage::Notification(notification))
            }
            Ok(message) => self.pass(message),
            Err(Rejection::Answer(error)) => InputAction::Answer(*error),
            Err(Rejection::Silence) => InputAction::Ignore,
        }
    }

    fn request(&mut self, mut request: JsonRpcRequest<ClientRequest>) -> InputAction {
        // rmcp answers any ping that comes first, but the stateless era has none.
        let is_ping = matches!(request.request, ClientRequest::PingRequest(_));
        if is_ping && request.request.get_meta().protocol_version().is_some() {
            return InputAction::Answer(JsonRpcError::new(Some(request.id), method_not_found()));
        }
        let Some(known_by) = self.in_flight.start(&request.id) else {
            return InputAction::Answer(message::still_running(request.id));
        };
        request.id = known_by;
        self.seen_request = true;
        self.pass(JsonRpcMessage::Request(request))
    }

    /// rmcp closes the connection when something other than a request comes first.
    fn pass(&self, message: ClientJsonRpcMessage) -> InputAction {
        if self.seen_request {
            InputAction::Pass(message)
        } else {
            InputAction::Ignore
        }
    }

    /// Writes in a task of its own: a caller of [`Self::next_message`] may drop it, and half a line must not be
    /// written.
    fn answer(&mut self, error: JsonRpcError) {
        tracing::info!(target: "sectile::call", outcome = "rejected");
        let output = Arc::clone(&self.output);
        self.rejection = Some(tokio::spawn(async move {
            let mut writer = output.writer.lock().await;
            output
                .write(&mut writer, &ServerJsonRpcMessage::Error(error))
                .await
        }));
    }

    async fn drain(&mut self) {
        self.ended.cancel();
        if tokio::time::timeout(DRAIN, self.in_flight.drained())
            .await
            .is_err()
        {
            tracing::warn!("calls were still running when the input ended");
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        let in_flight = Arc::clone(&self.in_flight);
        async move {
            let mut writer = output.writer.lock().await;
            // The id is free before the client can read the answer, and may be reused at once.
            if !address(&mut item, &in_flight) {
                return Ok(());
            }
            output.write(&mut writer, &item).await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let output = Arc::clone(&self.output);
        tokio::select! {
            biased;
            () = output.broken.cancelled() => None,
            message = self.next_message() => message,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.writer.lock().await.flush().await
    }
}

/// Puts the client's id of its request wherever a message names one; returns whether the message is still wanted.
fn address(message: &mut ServerJsonRpcMessage, in_flight: &InFlightRequests) -> bool {
    if let Some(id) = message::answered_mut(message) {
        let Some(client_id) = in_flight.finish(id) else {
            return false;
        };
        *id = client_id;
    }
    match message {
        JsonRpcMessage::Response(response) => {
            if let ServerResult::SubscriptionsListenResult(result) = &mut response.result {
                result.meta.set_subscription_id(response.id.clone());
            }
            true
        }
        JsonRpcMessage::Notification(notification) => {
            let Some(known_by) = notification.notification.get_meta().subscription_id() else {
                return true;
            };
            let client_id = in_flight.given(&known_by);
            let is_wanted = client_id.is_some();
            if let Some(client_id) = client_id {
                let meta = notification.notification.get_meta_mut();
                meta.set_subscription_id(client_id);
            }
            is_wanted
        }
        JsonRpcMessage::Request(_) | JsonRpcMessage::Error(_) => true,
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes a message as one line.
    async fn write(&self, writer: &mut W, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        put_text_in_place(&mut line, message);
        line.push(b'\n');
        let result = match writer.write_all(&line).await {
            Ok(()) => writer.flush().await,
            Err(error) => Err(error),
        };
        if result.is_err() {
            self.broken.cancel();
        }
        result
    }
}
