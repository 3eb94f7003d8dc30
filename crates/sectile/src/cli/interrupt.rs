//! Ctrl-C and SIGTERM for commands that can stop anywhere without harm.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{runtime, signal};

/// The exit code after a second interrupt: 128 + SIGINT, by convention.
const AT_ONCE: i32 = 130;

/// A flag that is set when the command is asked to stop.
#[derive(Clone)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts listening. `stopped` is called on the first request to stop; a second one ends the process at once.
    pub(super) fn listen(stopped: impl Fn() + Send + 'static) -> io::Result<Self> {
        let is_wanted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_wanted);
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::new()?
        };
        let thread = std::thread::Builder::new().name("interrupt".to_owned());
        thread.spawn(move || {
            runtime.block_on(async {
                signals.next().await;
                flag.store(true, Ordering::Relaxed);
                stopped();
                signals.next().await;
            });
            end_at_once();
        })?;
        Ok(Self(is_wanted))
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[expect(clippy::exit, reason = "a person who asks twice does not want to wait")]
fn end_at_once() {
    std::process::exit(AT_ONCE);
}

#[cfg(unix)]
struct Signals {
    interrupt: signal::unix::Signal,
    terminate: signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if signal::ctrl_c().await.is_err() {
            // No more signals can arrive.
            std::future::pending::<()>().await;
        }
    }
}
