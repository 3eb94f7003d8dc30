//! One connection through the proxy.

use std::future::pending;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{Mutex, watch};

use super::requests::{Requests, Step};
use super::{Fault, Shared};

const CHUNK: usize = 16 * 1024;

pub(super) async fn serve(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut fault = shared.fault.subscribe();
    let mut server = TcpStream::connect(shared.server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (client_reads, client_writes) = client.split();
    let (server_reads, server_writes) = server.split();
    let client_writes = Mutex::new(client_writes);
    tokio::select! {
        done = from_client(client_reads, server_writes, &client_writes, shared) => done,
        done = from_server(server_reads, &client_writes, shared) => done,
        _ = fault.wait_for(|fault| *fault == Fault::Refuse) => Ok(()),
    }
}

async fn from_client(
    mut client: ReadHalf<'_>,
    mut server: WriteHalf<'_>,
    answers: &Mutex<WriteHalf<'_>>,
    shared: &Shared,
) -> io::Result<()> {
    let mut fault = shared.fault.subscribe();
    let mut requests = Requests::default();
    let mut waiting = Vec::new();
    loop {
        if client.read_buf(&mut waiting).await? == 0 {
            server.shutdown().await?;
            // The server may have more to send.
            return pending().await;
        }
        while_hanging(&mut fault).await;
        loop {
            match requests.step(&waiting) {
                Step::Pass(length) => {
                    server.write_all(&waiting[..length]).await?;
                    waiting.drain(..length);
                }
                Step::Begin { request, length } => {
                    shared.state().requests.push(request);
                    if let Some(answer) = shared.spend(answer_of) {
                        skip(&mut client, length.saturating_sub(waiting.len() as u64)).await?;
                        let mut client = answers.lock().await;
                        client.write_all(answer.as_bytes()).await?;
                        return client.shutdown().await;
                    }
                }
                Step::More => break,
            }
        }
    }
}

async fn from_server(
    mut server: ReadHalf<'_>,
    client: &Mutex<WriteHalf<'_>>,
    shared: &Shared,
) -> io::Result<()> {
    let mut fault = shared.fault.subscribe();
    fault.mark_unchanged();
    let mut chunk = vec![0; CHUNK];
    let mut passed = 0;
    loop {
        let length = server.read(&mut chunk).await?;
        if length == 0 {
            return Ok(());
        }
        while_hanging(&mut fault).await;
        if fault.has_changed().unwrap_or_default() {
            fault.mark_unchanged();
            passed = 0;
        }
        let cut = shared.spend(|fault| match fault {
            Fault::Cut { after, .. } if passed + length > *after => {
                Some(after.saturating_sub(passed))
            }
            _ => None,
        });
        let mut client = client.lock().await;
        if let Some(left) = cut {
            client.write_all(&chunk[..left]).await?;
            return Ok(());
        }
        client.write_all(&chunk[..length]).await?;
        passed += length;
    }
}

/// Waits while nothing may move. A switch before or after that still counts as one.
async fn while_hanging(fault: &mut watch::Receiver<Fault>) {
    if *fault.borrow() != Fault::Hang {
        return;
    }
    // An error means that the proxy has ended, and this with it.
    drop(fault.wait_for(|fault| *fault != Fault::Hang).await);
    fault.mark_changed();
}

/// Reads the rest of a request that is not forwarded: closing before that would cost the client the answer.
async fn skip(client: &mut ReadHalf<'_>, length: u64) -> io::Result<()> {
    tokio::io::copy(&mut client.take(length), &mut tokio::io::sink()).await?;
    Ok(())
}

fn answer_of(fault: &Fault) -> Option<String> {
    let Fault::Answer {
        status,
        retry_after,
        ..
    } = fault
    else {
        return None;
    };
    let retry = retry_after.map(|seconds| format!("Retry-After: {seconds}\r\n"));
    Some(format!(
        "HTTP/1.1 {status} Fault\r\n{}Content-Length: 0\r\nConnection: close\r\n\r\n",
        retry.unwrap_or_default()
    ))
}
