//! Connections: requests in, steps out.

use std::{io, sync::Arc};

use percent_encoding::percent_decode_str;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::sleep,
};

use crate::{
    Request, Shared,
    answer::{Step, steps},
    notes,
};

const MAX_HEAD_BYTES: usize = 1 << 20;
const MAX_HEADERS: usize = 64;
const NOTES: &str = "/api/v1/notes/";
const CONTEXT: &str = "/api/v1/hosted-context";

/// Accepts connections until it is told to stop.
pub(crate) async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => continue,
            },
            _ = stopped.wait_for(|stop| *stop) => return,
        };
        let number = {
            let mut state = shared.state();
            state.connections += 1;
            state.connections - 1
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // The client may disconnect at any time.
            drop(serve(stream, &shared, number).await);
        });
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared, connection: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(request) = next_request(&mut stream, &mut buffer, connection).await? {
        let steps = respond(shared, &request);
        if !shared.settings.forgets {
            shared.state().requests.push(request);
        }
        for step in steps {
            match step {
                Step::Send(bytes) => stream.write_all(&bytes).await?,
                Step::Repeat(bytes, times) => {
                    for _ in 0..times {
                        stream.write_all(&bytes).await?;
                    }
                }
                Step::Drip(bytes, pause) => {
                    for byte in bytes {
                        stream.write_all(&[byte]).await?;
                        sleep(pause).await;
                    }
                }
                Step::Wait(time) => sleep(time).await,
                Step::Hang => {
                    while stream.read(&mut [0; 64]).await? > 0 {}
                    return Ok(());
                }
                Step::Close => return stream.shutdown().await,
            }
        }
    }
    Ok(())
}

/// Reads up to the end of the next head. This store takes no requests with a body.
async fn next_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> io::Result<Option<Request>> {
    loop {
        if let Some((request, length)) = parse(buffer, connection)? {
            buffer.drain(..length);
            return Ok(Some(request));
        }
        if buffer.len() > MAX_HEAD_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse(bytes: &[u8], connection: usize) -> io::Result<Option<(Request, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request
        .parse(bytes)
        .map_err(|_| io::ErrorKind::InvalidData)?;
    let httparse::Status::Complete(length) = parsed else {
        return Ok(None);
    };
    let header = |header: &httparse::Header<'_>| {
        let value = String::from_utf8_lossy(header.value).into_owned();
        (header.name.to_ascii_lowercase(), value)
    };
    Ok(Some((
        Request {
            connection,
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            headers: request.headers.iter().map(header).collect(),
        },
        length,
    )))
}

fn respond(shared: &Shared, request: &Request) -> Vec<Step> {
    let settings = &shared.settings;
    if request.method != "GET" {
        return steps(
            (405, serde_json::json!({ "error": "Method not allowed" })),
            None,
        );
    }
    if request.target == CONTEXT {
        // Faults are for notes only; contexts are always answered properly.
        return steps(notes::context(settings, request), None);
    }
    let segment = request.target.strip_prefix(NOTES);
    match segment.filter(|segment| !segment.is_empty() && !segment.contains(['/', '?'])) {
        Some(segment) => {
            let path = percent_decode_str(segment).decode_utf8_lossy();
            let fault = shared.fault(Some(&path));
            steps(notes::note(settings, request, &path), fault)
        }
        // The list of notes, which nobody may request, is as absent as anything else.
        None => {
            let answer = (404, serde_json::json!({ "error": "Not found" }));
            steps(answer, shared.fault(None))
        }
    }
}
