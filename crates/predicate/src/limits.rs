//! All limits of the language. Exceeding one is a named error.

/// Longest source text of one predicate, in bytes.
pub const MAX_SOURCE_BYTES: usize = 16 * 1024;

// The parser, the type checker and the evaluator recurse; this bounds their stack.
/// Deepest nesting of an expression. A chain of `&&` or `||` counts as one level however long it
/// is; every other operator, call, index or bracket counts as one more.
pub const MAX_DEPTH: usize = 64;

/// Steps one evaluation may take. One step is about one visited node, one visited element or
/// sixteen bytes of text touched.
pub const MAX_STEPS: u64 = 1_000_000;

/// Longest string or byte sequence an expression may produce, in bytes.
pub const MAX_STRING_BYTES: usize = 1024 * 1024;

/// Longest list an expression may produce, in elements.
pub const MAX_LIST_ITEMS: usize = 100_000;

/// Deepest nesting of two values that are compared with each other, or walked by `path`.
pub const MAX_VALUE_DEPTH: usize = 128;

/// Longest text of a `matches` pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// Largest compiled `matches` pattern, in bytes of memory.
pub const MAX_PATTERN_MEMORY: usize = 256 * 1024;

/// Deepest nesting of groups and repetitions in a `matches` pattern.
pub const MAX_PATTERN_DEPTH: u32 = 32;

/// Most `matches` patterns and JSONPath queries in one predicate, counted together.
pub const MAX_PATTERNS: usize = 64;

/// Longest JSONPath query, in bytes.
pub const MAX_PATH_BYTES: usize = 512;

// The JSONPath parser recurses for each bracket, and tries the inside of a filter in several ways, so its cost
// multiplies with each level.
/// Most brackets open at once in a JSONPath query.
pub const MAX_PATH_NESTING: usize = 8;

/// Most reasons an unknown answer carries; further ones are left out.
pub const MAX_MISSING: usize = 32;

/// Longest path text in a reason, in bytes; longer ones end in `…`.
pub const MAX_REASON_BYTES: usize = 256;

// As many as decimal128 of IEEE 754 has, whose largest exponent is the next limit. They fit an `i128`.
/// Most significant digits of a decimal.
pub const MAX_DECIMAL_DIGITS: u32 = 34;

/// Largest power of ten of a decimal's first digit, and the smallest when negated.
pub const MAX_DECIMAL_EXPONENT: i32 = 6144;
