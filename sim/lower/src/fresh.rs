//! A golden model as it is after a reset.

use std::sync::{Mutex, PoisonError};

/// A model that has done nothing yet. Threads take copies of it.
#[derive(Debug)]
pub struct Fresh<A>(Mutex<A>);

impl<A: Clone> Fresh<A> {
    /// Keeps a model that has done nothing yet.
    #[must_use]
    pub fn new(model: A) -> Self {
        Self(Mutex::new(model))
    }

    /// A copy.
    #[must_use]
    pub fn copy(&self) -> A {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<A: Clone> Clone for Fresh<A> {
    fn clone(&self) -> Self {
        Self::new(self.copy())
    }
}
