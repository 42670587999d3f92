//! How large a program may be. Exceeding a limit is a named error.

/// Longest text of a program, in bytes.
pub const MAX_SOURCE_BYTES: usize = 1024 * 1024;

/// Most tokens of a program, spaces and comments counted.
pub const MAX_TOKENS: usize = 400_000;

/// Most brackets, and literals with expressions inside, open at once.
pub const MAX_DEPTH: usize = 256;
