//! A value that can be replaced while it is in use.

use std::sync::Arc;

use tokio::sync::watch;

/// A value that can be replaced while it is in use. Anyone who has it keeps what they have, and can hear of the next one.
#[derive(Debug)]
pub struct LiveValue<T>(watch::Sender<Arc<T>>);

impl<T: Default> Default for LiveValue<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> LiveValue<T> {
    /// Holds `value` for now.
    pub fn new(value: T) -> Self {
        Self(watch::Sender::new(Arc::new(value)))
    }

    /// The value as it is now.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.borrow())
    }

    /// Puts `value` in place of the one before.
    pub fn set(&self, value: T) {
        self.0.send_replace(Arc::new(value));
    }

    /// What comes after the value as it is now.
    pub fn replacements(&self) -> LiveUpdates<T> {
        LiveUpdates(self.0.subscribe())
    }
}

/// The values that take the place of one another.
pub struct LiveUpdates<T>(watch::Receiver<Arc<T>>);

impl<T> LiveUpdates<T> {
    /// Waits for the next one. Never ends when there can be no other.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}
