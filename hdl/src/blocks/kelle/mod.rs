//! Blocks of Kelle: key-value caches in eDRAM with adaptive refresh and a systolic evictor.
