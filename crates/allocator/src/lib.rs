//! The memory allocator of the programs.
//!
//! Releases are linked statically with musl, whose allocator is made to be small: it has one lock for all
//! threads. There it is mimalloc's; everywhere else it stays the C library's. A program says `use pumice_allocator as _;` to have it.

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
