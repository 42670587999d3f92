//! How large a program may be. Exceeding a limit is a named error.

/// Longest text of a program, in bytes.
pub const MAX_SOURCE_BYTES: usize = 1024 * 1024;

/// Most tokens of a program, spaces and comments counted.
pub const MAX_TOKENS: usize = 400_000;

/// Most brackets, and literals with expressions inside, open at once.
pub const MAX_DEPTH: usize = 256;

/// Most mutants of one kind that are considered.
pub const MAX_CANDIDATES: usize = 10_000;

/// For each mutant that is wanted, so many are looked at, of which the others equal one before.
pub const MAX_TRIES: usize = 4;

/// Longest expression that a mutant repeats, in bytes.
pub const MAX_REPEATED_BYTES: usize = 4096;
