//! A value that can be replaced while it is in use.

use std::sync::Arc;

use tokio::sync::watch;

/// A value that can be replaced while it is in use. Holders keep the value they have, and can be notified of the next
/// one.
#[derive(Debug)]
pub struct LiveValue<T>(watch::Sender<Arc<T>>);

impl<T: Default> Default for LiveValue<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> LiveValue<T> {
    /// Wraps `value`.
    pub fn new(value: T) -> Self {
        Self(watch::Sender::new(Arc::new(value)))
    }

    /// Returns the current value.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.borrow())
    }

    /// Replaces the current value with `value`.
    pub fn set(&self, value: T) {
        self.0.send_replace(Arc::new(value));
    }

    /// Returns the values that come after the current one.
    pub fn replacements(&self) -> LiveUpdates<T> {
        LiveUpdates(self.0.subscribe())
    }
}

/// The successive replacements of a value.
pub struct LiveUpdates<T>(watch::Receiver<Arc<T>>);

impl<T> LiveUpdates<T> {
    /// Waits for the next value. Never returns if there cannot be another.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}
