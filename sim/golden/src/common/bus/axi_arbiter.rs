//! Arbiter of several managers.
