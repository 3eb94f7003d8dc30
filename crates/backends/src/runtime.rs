//! The bridge from blocking threads to futures: one small runtime for all backends of a process.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use sectile_library::StorageError;
use tokio::runtime::{Builder, Runtime};

/// The interval at which cancellation is checked: too short for a person to notice.
const ASKED: Duration = Duration::from_millis(20);

/// Runs futures for threads that block on them. Clones share the runtime's threads. Must not be used from within a future.
#[derive(Clone, Debug)]
pub struct BlockingRuntime(Arc<RuntimeGuard>);

#[derive(Debug)]
struct RuntimeGuard(Option<Runtime>);

impl Drop for RuntimeGuard {
    fn drop(&mut self) {
        // The last clone may be dropped inside a future, which must not block until the runtime has ended.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl BlockingRuntime {
    /// # Errors
    /// Returns an error if the system cannot start threads.
    pub fn new() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("backends")
            .enable_all()
            .build()?;
        Ok(Self(Arc::new(RuntimeGuard(Some(runtime)))))
    }

    /// Returns the result of `work`, unless `stop` returns `true` first or `limit` passes. Work that nobody waits for is
    /// dropped.
    ///
    /// # Errors
    /// [`StorageError::Cancelled`], or a failure that says that it took too long.
    pub fn run<T>(
        &self,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        work: impl Future<Output = Result<T, StorageError>>,
    ) -> Result<T, StorageError> {
        let Some(runtime) = &self.0.0 else {
            return Err(StorageError::Cancelled);
        };
        let until = Instant::now() + limit;
        runtime.block_on(async {
            let mut work = std::pin::pin!(work);
            loop {
                match tokio::time::timeout(ASKED, work.as_mut()).await {
                    Ok(result) => return result,
                    Err(_) if stop() => return Err(StorageError::Cancelled),
                    Err(_) if Instant::now() >= until => {
                        return Err(StorageError::failed("The storage did not answer in time."));
                    }
                    Err(_) => {}
                }
            }
        })
    }
}
