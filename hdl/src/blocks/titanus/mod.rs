//! Blocks of Titanus: key-value caches pruned and quantised on the fly.
