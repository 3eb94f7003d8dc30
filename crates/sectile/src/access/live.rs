//! A value that can be replaced while it is in use.

use std::sync::{Arc, PoisonError, RwLock};

/// A value that can be replaced while it is in use. Whoever has it keeps what they have.
#[derive(Debug, Default)]
pub struct Live<T>(RwLock<Arc<T>>);

impl<T> Live<T> {
    /// Holds `value` for now.
    pub fn new(value: T) -> Self {
        Self(RwLock::new(Arc::new(value)))
    }

    /// The value as it is now.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts `value` in place of the one before.
    pub fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}
