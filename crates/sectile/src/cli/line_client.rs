//! A client that speaks MCP with a server over a pair of streams, one message per line.

use std::sync::Arc;

use sectile_mcp::{Surface, stdio};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
    ReadHalf, WriteHalf, split,
};
use tokio_util::sync::CancellationToken;

use super::ui::CliError;

/// Longest message that a server in this process takes.
const MAX_BYTES: usize = 1 << 20;

/// A client that waits for the answer to each request. Dropping it closes the streams, which ends the server.
pub(super) struct LineClient<R, W> {
    from_server: BufReader<R>,
    to_server: W,
    next_id: u64,
}

impl LineClient<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>> {
    /// Connects to a surface that is served in this process, over in-memory pipes.
    pub(super) async fn of_surface(surface: Surface) -> Result<Self, CliError> {
        let surface = Arc::new(surface);
        let (ours, theirs) = tokio::io::duplex(MAX_BYTES);
        let (reader, writer) = split(theirs);
        tokio::spawn(stdio::serve_streams(
            surface,
            reader,
            writer,
            MAX_BYTES,
            CancellationToken::new(),
        ));
        let (from_server, to_server) = split(ours);
        Self::connect(from_server, to_server).await
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineClient<R, W> {
    /// Greets the server at the other end of two streams.
    pub(super) async fn connect(from_server: R, to_server: W) -> Result<Self, CliError> {
        let mut client = Self {
            from_server: BufReader::new(from_server),
            to_server,
            next_id: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "sectile-demo", "version": env!("CARGO_PKG_VERSION") },
        });
        client.request("initialize", &hello).await?;
        Ok(client)
    }

    /// Sends one request and waits for its answer.
    pub(super) async fn request(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<Value, CliError> {
        self.next_id += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.to_server
            .write_all(format!("{message}\n").as_bytes())
            .await?;
        self.to_server.flush().await?;
        let mut line = String::new();
        self.from_server.read_line(&mut line).await?;
        serde_json::from_str(&line).map_err(|_| CliError::failed("the server's answer is not JSON"))
    }

    /// Calls a tool and returns the text of its answer; an error result is an error.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Result<String, CliError> {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", &params).await?;
        let text = answer_text(&answer);
        match answer["result"]["isError"] == false {
            true => Ok(text.to_owned()),
            false => Err(CliError::failed(text)),
        }
    }
}

/// Returns the text of a tool's answer.
pub(super) fn answer_text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_default()
}
