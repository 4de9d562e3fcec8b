//! Independent pieces of work on threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does `work` on the items in order, on so many threads. After an item for which `work` is false, no other item
/// begins.
pub(crate) fn while_true<T: Sync>(threads: NonZeroUsize, items: &[T], work: impl Fn(&T) -> bool + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(items.len()) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !work(item) {
                        next.store(items.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
}
