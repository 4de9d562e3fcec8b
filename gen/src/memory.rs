//! Memory of the process.

/// Has the allocator give back what threads have freed.
///
/// The allocator of glibc keeps an arena for each thread, and what a thread has freed stays in its arena. Threads that
/// lower a model free ten times as much as they keep, so one arena for all takes a third less. It also keeps large areas
/// that were freed once, up to 32 MiB each. With a fixed threshold they go back to the system at once.
///
/// A request that the allocator refuses, or another allocator, changes nothing.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes any two integers, and locks what it changes.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 22);
    }
}
