//! The delay before an attempt: a function of the attempt and a seed, so that it can be computed again.

use proofmark_receipt::Sha256Digest;

use crate::workflow::{Jitter, OnFailure, Strategy};

/// The delay after `attempt` failed, in milliseconds.
///
/// With `i` the initial delay, `m` the longest one and `n` the attempt, the base is `min(m, i)` (fixed), `min(m, i·n)`
/// (linear) or `min(m, i·2^(n−1))` (exponential). Without jitter the delay is the base; with `full` it is
/// `⌊r·(base+1)⌋`; with `equal` it is `⌈base/2⌉ + ⌊r·(⌊base/2⌋+1)⌋`. `r` in [0, 1) is the first 8 bytes, as a
/// big-endian fraction, of SHA-256 of `proofmark/retry-delay`, a zero byte, the seed (8 bytes) and the attempt (4).
pub fn delay_ms(on_failure: &OnFailure, attempt: u32, seed: u64) -> u64 {
    let base = base_ms(on_failure, attempt);
    match on_failure.jitter {
        Jitter::None => base,
        Jitter::Full => draw(base, attempt, seed),
        // The two halves add up to `base` at most, so the sum does not overflow.
        Jitter::Equal => base.div_ceil(2) + draw(base / 2, attempt, seed),
    }
}

/// A seed for a run: the first 8 bytes of SHA-256 of its name and the step's.
pub fn seed(run: &str, step: &str) -> u64 {
    // The zero bytes keep `a` and `bc` apart from `ab` and `c`.
    let named = format!("proofmark/run-seed\0{run}\0{step}");
    first_bytes(&Sha256Digest::of(named.as_bytes()))
}

/// The longest delay that can occur, in milliseconds.
pub(crate) fn longest_delay_ms(on_failure: &OnFailure) -> u64 {
    match on_failure.max_attempts {
        0 | 1 => 0,
        // No delay follows the last attempt, and delays never shrink.
        attempts => base_ms(on_failure, attempts - 1),
    }
}

fn base_ms(on_failure: &OnFailure, attempt: u32) -> u64 {
    let initial = on_failure.initial_delay_ms;
    let grown = match on_failure.strategy {
        Strategy::Fixed => initial,
        Strategy::Linear => initial.saturating_mul(u64::from(attempt)),
        Strategy::Exponential => {
            // A `u64` has room for 63 doublings, and `MAX_ATTEMPTS` is 100.
            let factor = 1u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
            initial.saturating_mul(factor)
        }
    };
    grown.min(on_failure.max_delay_ms)
}

/// A whole number from 0 to `most`.
fn draw(most: u64, attempt: u32, seed: u64) -> u64 {
    let mut drawn_from = b"proofmark/retry-delay\0".to_vec();
    drawn_from.extend_from_slice(&seed.to_be_bytes());
    drawn_from.extend_from_slice(&attempt.to_be_bytes());
    let fraction = u128::from(first_bytes(&Sha256Digest::of(&drawn_from)));
    // The fraction is below 2^64, so the product is below (most + 1) · 2^64 and its upper half is at most `most`.
    u64::try_from((fraction * (u128::from(most) + 1)) >> 64).unwrap_or(most)
}

fn first_bytes(digest: &Sha256Digest) -> u64 {
    digest.as_bytes().iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
}
