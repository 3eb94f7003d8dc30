//! Async work on a thread of its own, which ends when dropped.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::{self, JoinHandle};

use anyhow::Result;
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::sync::watch;

pub(crate) struct Background {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Runs `work`, and everything it spawns, until it ends or this is dropped.
    pub(crate) fn start<W>(work: W) -> Result<Self>
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, mut stopped) = watch::channel(false);
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = work => {}
                    _ = stopped.wait_for(|stop| *stop) => {}
                }
            });
        });
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended as well.
            drop(thread.join());
        }
    }
}

pub(crate) fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Returns a listener that a runtime can take over.
pub(crate) fn listen(port: u16) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(loopback(port))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Registers the listener with the current runtime.
pub(crate) fn adopt(listener: std::net::TcpListener) -> io::Result<TcpListener> {
    TcpListener::from_std(listener)
}
