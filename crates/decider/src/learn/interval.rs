//! How sure a share is.

/// The interval of Clopper and Pearson at 95 % for `hits` of `all`: in which the share lies, with at least this confidence, that these
/// were drawn from. From nothing, it is everything.
pub(super) fn interval(hits: u64, all: u64) -> [f64; 2] {
    const TAIL: f64 = 0.025;
    if all == 0 {
        return [0.0, 1.0];
    }
    // The least share under which as many hits or more are not too rare, and the largest under which as few or fewer are not.
    let low = if hits == 0 { 0.0 } else { bisect(|share| 1.0 - at_most(hits - 1, all, share) < TAIL) };
    let high = if hits >= all { 1.0 } else { bisect(|share| at_most(hits, all, share) > TAIL) };
    [low, high]
}

/// Where a condition that holds for small shares ends.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// How probable at most `hits` of `all` are, if each is one with the probability `share`.
fn at_most(hits: u64, all: u64, share: f64) -> f64 {
    if share <= 0.0 {
        return 1.0;
    }
    if share >= 1.0 {
        return if hits >= all { 1.0 } else { 0.0 };
    }
    let (mut sum, mut log) = (0.0, all as f64 * (1.0 - share).ln());
    for hit in 0..=hits {
        sum += log.exp();
        log += ((all - hit) as f64 / (hit + 1) as f64).ln() + (share / (1.0 - share)).ln();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        // As `binom.test` of R gives them.
        for (hits, all, low, high) in [
            (0, 10, 0.0, 0.3085),
            (1, 10, 0.0025, 0.4450),
            (5, 10, 0.1871, 0.8129),
            (10, 10, 0.6915, 1.0),
            (12, 97, 0.0656, 0.2061),
            (0, 0, 0.0, 1.0),
        ] {
            let [found_low, found_high] = interval(hits, all);
            let is_near = (found_low - low).abs() < 2e-4 && (found_high - high).abs() < 2e-4;
            assert!(is_near, "{hits} of {all}: {found_low} {found_high}");
        }
    }
}
