//! Regular expressions, and how much work they are.

use proofmark_predicate::Budget;
use regex::{Regex, RegexBuilder};

use super::MAX_PATTERN_BYTES;
use super::error::TooMuch;

/// Compiled sizes tried in turn. The first that holds a pattern tells how much work one byte of text can cost.
const SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, MAX_PATTERN_BYTES];

/// The most work that a pattern is for 16 bytes of text, in steps.
pub(super) const MAX_STEPS_PER_BLOCK: u64 = (MAX_PATTERN_BYTES >> 12) as u64;

/// A pattern, and how much work it may be.
pub(super) struct Pattern {
    regex: Regex,
    /// How many steps 16 bytes of text count as: one for each 4 KiB of the compiled pattern.
    steps_per_block: u64,
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Result<Pattern, regex::Error> {
        let build = |size: usize| {
            let regex = RegexBuilder::new(pattern).size_limit(size).build()?;
            Ok(Pattern { regex, steps_per_block: (size >> 12) as u64 })
        };
        let too_big = |built: &Result<Pattern, regex::Error>| matches!(built, Err(regex::Error::CompiledTooBig(_)));
        // A pattern too big for every size is built once more for its error, which names the largest size.
        SIZES.into_iter().map(build).find(|built| !too_big(built)).unwrap_or_else(|| build(MAX_PATTERN_BYTES))
    }

    pub(super) fn is_match(&self, text: &str, budget: &Budget<'_>) -> Result<bool, TooMuch> {
        budget.charge(blocks(text).saturating_mul(self.steps_per_block))?;
        Ok(self.regex.is_match(text))
    }

    pub(super) fn steps_per_block(&self) -> u64 {
        self.steps_per_block
    }
}

/// The parts of a text by which a search in it is charged.
pub(super) fn blocks(text: &str) -> u64 {
    text.len() as u64 / 16 + 1
}
