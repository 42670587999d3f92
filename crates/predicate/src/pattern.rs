//! The patterns of `matches`: compiled when the predicate is loaded, matched in linear time.

use regex::{Regex, RegexBuilder};

use crate::error::Fault;
use crate::limits::{MAX_PATTERN_BYTES, MAX_PATTERN_DEPTH, MAX_PATTERN_MEMORY};

/// Limits on the compiled size, tried in turn. The first one that a pattern fits into says how much work a byte of text can
/// cost, which the step count depends on.
const SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 128 << 10, MAX_PATTERN_MEMORY];

#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    steps_per_block: u64,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, Fault> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(Fault::Pattern(format!("it has more than {MAX_PATTERN_BYTES} bytes")));
        }
        for size in SIZES {
            match compile(text, size) {
                Ok(regex) => {
                    // The engine's worst case for one byte of text is proportional to the compiled size: 4 KiB of it
                    // count as one step for sixteen bytes.
                    let steps_per_block = u64::try_from(size >> 12).unwrap_or(u64::MAX);
                    return Ok(Self { regex, steps_per_block });
                }
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(other) => {
                    let message = other.to_string();
                    // The lines before it repeat the pattern with a caret; the caller shows where the fault is.
                    let last = message.lines().last().unwrap_or_default();
                    return Err(Fault::Pattern(last.trim_start_matches("error: ").to_owned()));
                }
            }
        }
        Err(Fault::Pattern("it is too large once compiled".to_owned()))
    }

    /// The pattern as written.
    pub(crate) fn text(&self) -> &str {
        self.regex.as_str()
    }

    /// Whether the pattern is found anywhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Steps a match over a text of this many bytes counts as.
    pub(crate) fn steps(&self, bytes: usize) -> u64 {
        u64::try_from(bytes / 16).unwrap_or(u64::MAX).saturating_add(1).saturating_mul(self.steps_per_block)
    }
}

fn compile(text: &str, size: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text)
        .size_limit(size)
        .dfa_size_limit(MAX_PATTERN_MEMORY * 4)
        .nest_limit(MAX_PATTERN_DEPTH)
        .build()
}
