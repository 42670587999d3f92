//! The rule of a quorum: how the verdicts of its reviews become one.

use std::collections::BTreeMap;
use std::fmt;

use proofmark_receipt::{Sha256Digest, Verdict};

/// A review as the rule counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ballot {
    pub(crate) verdict: Verdict,
    /// Votes agree where this is equal, too; `None` where the verdict alone counts.
    pub(crate) outcomes: Option<Sha256Digest>,
}

/// How many reviews have which vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Reviews with the verdict `pass`.
    pub pass: usize,
    /// Reviews with `fail` or `partial`.
    pub no: usize,
    /// Reviews with `error`, which have no vote.
    pub none: usize,
}

/// The result of the rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// `pass`, `fail`, or `error` where too few agree.
    pub verdict: Verdict,
    /// The places of the reviews that agree on it, in their order. None agree on `error`.
    pub agreeing: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Vote {
    Pass,
    No,
}

impl Tally {
    pub(crate) fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut tally = Self::default();
        for verdict in verdicts {
            match vote(verdict) {
                Some(Vote::Pass) => tally.pass += 1,
                Some(Vote::No) => tally.no += 1,
                None => tally.none += 1,
            }
        }
        tally
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pass, {} fail, {} no answer", self.pass, self.no, self.none)
    }
}

/// Counts: `threshold` votes for `pass` are a `pass`, as many against it a `fail`, and all else is an `error`. Only the largest set
/// of votes with equal outcomes counts.
///
/// More than half of the ballots have to agree, so neither two sets nor both sides of one can reach the threshold.
pub(crate) fn rule(threshold: usize, ballots: &[Ballot]) -> Ruling {
    let mut sets: BTreeMap<Option<Sha256Digest>, Vec<(usize, Vote)>> = BTreeMap::new();
    for (place, ballot) in ballots.iter().enumerate() {
        if let Some(vote) = vote(ballot.verdict) {
            sets.entry(ballot.outcomes).or_default().push((place, vote));
        }
    }
    let largest = sets.into_values().max_by_key(Vec::len).unwrap_or_default();
    for (wanted, verdict) in [(Vote::Pass, Verdict::Pass), (Vote::No, Verdict::Fail)] {
        let votes = largest.iter().filter(|(_, vote)| *vote == wanted);
        let agreeing: Vec<usize> = votes.map(|(place, _)| *place).collect();
        if agreeing.len() >= threshold {
            return Ruling { verdict, agreeing };
        }
    }
    Ruling { verdict: Verdict::Error, agreeing: Vec::new() }
}

fn vote(verdict: Verdict) -> Option<Vote> {
    match verdict {
        Verdict::Pass => Some(Vote::Pass),
        Verdict::Fail | Verdict::Partial => Some(Vote::No),
        Verdict::Error => None,
    }
}
