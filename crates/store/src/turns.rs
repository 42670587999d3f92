//! Fair turns at something of which there is little: threads, and connections that read.
//!
//! Of those who wait, the one has the next turn who used least of late. Nobody has all turns, and those who used more than the mean do not
//! have all together, so one is free for who comes seldom. Nothing here waits or knows a clock: callers do.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// After how long a use counts half.
const HALF_LIFE: Duration = Duration::from_secs(5);
/// How often uses are made to count less.
const FADE_EVERY: Duration = Duration::from_millis(500);
/// After how long somebody who has used nothing since is forgotten.
const REMEMBERED: Duration = Duration::from_secs(60);

/// The turns, and who waits for one, each with what the caller hands over when it is there.
#[derive(Debug)]
pub struct Turns<K, W> {
    most: Most,
    held: usize,
    known: HashMap<K, Known<W>>,
    /// The sum of what everybody used.
    used: f64,
    /// When running turns were last added to it.
    at: Instant,
    faded: Instant,
    next: u64,
}

/// How many turns there are at a time.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    pub of_all: usize,
    pub of_one: usize,
    /// The most of those together who used more than the mean.
    pub of_heavy: usize,
}

impl Most {
    /// So many for one, and one more for the others.
    #[must_use]
    pub fn and_one(of_one: usize) -> Self {
        Self { of_all: of_one + 1, of_one, of_heavy: of_one }
    }
}

#[derive(Debug)]
struct Known<W> {
    /// Each with its number: of equals the first that came is next.
    waiting: VecDeque<(u64, W)>,
    held: usize,
    /// Seconds that it had turns for, of which old ones count less.
    used: f64,
    seen: Instant,
}

impl<K: Clone + Eq + Hash, W> Turns<K, W> {
    /// All are free.
    #[must_use]
    pub fn new(most: Most, now: Instant) -> Self {
        Self { most, held: 0, known: HashMap::new(), used: 0.0, at: now, faded: now, next: 0 }
    }

    /// Takes a turn if one is free for `who`.
    pub fn begin(&mut self, who: &K, now: Instant) -> bool {
        self.pass_to(now);
        // Nobody who waits may have a turn that is free: it would have been handed over when it became free.
        let may = self.may_begin(who);
        let known = self.known_as(who, now);
        if may {
            known.held += 1;
            self.held += 1;
        }
        may
    }

    /// Has `who` wait for a turn, behind its own others; [`Turns::hand_over`] says when it is there.
    pub fn wait(&mut self, who: &K, waiting: W, now: Instant) {
        let number = self.next;
        self.next += 1;
        self.known_as(who, now).waiting.push_back((number, waiting));
    }

    /// Takes the next turn for one who waits, if there is one.
    pub fn hand_over(&mut self, now: Instant) -> Option<(K, W)> {
        self.pass_to(now);
        let waiting = self.known.iter().filter_map(|(who, known)| Some((who, known.used, known.waiting.front()?.0)));
        let may = waiting.filter(|(who, ..)| self.may_begin(who));
        let (who, ..) =
            may.min_by(|(_, one, first), (_, other, second)| one.total_cmp(other).then(first.cmp(second)))?;
        let who = who.clone();
        let known = self.known.get_mut(&who)?;
        let (_, waiting) = known.waiting.pop_front()?;
        known.held += 1;
        self.held += 1;
        Some((who, waiting))
    }

    /// Gives a turn of `who` back.
    pub fn end(&mut self, who: &K, now: Instant) {
        self.pass_to(now);
        if let Some(known) = self.known.get_mut(who).filter(|known| known.held > 0) {
            known.held -= 1;
            known.seen = now;
            self.held -= 1;
        }
    }

    /// Whether `who` used more of late than the mean.
    #[must_use]
    pub fn is_heavy(&self, who: &K) -> bool {
        self.known.get(who).is_some_and(|known| known.used > self.mean())
    }

    /// How many turns are taken.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    fn may_begin(&self, who: &K) -> bool {
        if self.held >= self.most.of_all {
            return false;
        }
        let Some(known) = self.known.get(who) else { return true };
        if known.held >= self.most.of_one {
            return false;
        }
        let mean = self.mean();
        !self.is_heavy(who) || {
            let heavy = self.known.values().filter(|known| known.used > mean);
            heavy.map(|known| known.held).sum::<usize>() < self.most.of_heavy
        }
    }

    /// A little more than the mean, so that one who is alone, or equals, are not above it by the last digit.
    fn mean(&self) -> f64 {
        self.used / self.known.len().max(1) as f64 * 1.001
    }

    fn known_as(&mut self, who: &K, now: Instant) -> &mut Known<W> {
        let new = || Known { waiting: VecDeque::new(), held: 0, used: 0.0, seen: now };
        let known = self.known.entry(who.clone()).or_insert_with(new);
        known.seen = now;
        known
    }

    /// Counts what was used until now.
    fn pass_to(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        if passed > 0.0 && self.held > 0 {
            for known in self.known.values_mut().filter(|known| known.held > 0) {
                let more = passed * known.held as f64;
                known.used += more;
                self.used += more;
            }
        }
        self.at = self.at.max(now);
        let since = now.saturating_duration_since(self.faded);
        if since >= FADE_EVERY {
            self.fade(since, now);
        }
    }

    fn fade(&mut self, since: Duration, now: Instant) {
        let left = 0.5_f64.powf(since.as_secs_f64() / HALF_LIFE.as_secs_f64());
        self.known.retain(|_, known| {
            known.used *= left;
            known.held > 0 || !known.waiting.is_empty() || now.saturating_duration_since(known.seen) < REMEMBERED
        });
        // Anew, so that errors of rounding do not add up.
        self.used = self.known.values().map(|known| known.used).sum();
        self.faded = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Who gets the turns that are free now.
    fn handed_over(turns: &mut Turns<char, u32>, now: Instant) -> Vec<(char, u32)> {
        std::iter::from_fn(|| turns.hand_over(now)).collect()
    }

    #[test]
    fn many_of_one_do_not_stop_the_one_of_another() {
        let now = Instant::now();
        let mut turns = Turns::new(Most::and_one(2), now);
        assert!(turns.begin(&'a', now) && turns.begin(&'a', now));
        assert!(!turns.begin(&'a', now), "one has everything");
        (0..1_000).for_each(|number| turns.wait(&'a', number, now));
        assert_eq!(handed_over(&mut turns, now), []);
        assert!(turns.begin(&'b', now));
        turns.wait(&'b', 7, now);
        // All are taken. The first that is free is for the one who used less, not for who waits longest.
        let later = now + SECOND;
        assert_eq!(handed_over(&mut turns, later), []);
        turns.end(&'a', later);
        assert_eq!(handed_over(&mut turns, later), [('b', 7)]);
        turns.end(&'a', later);
        assert_eq!(handed_over(&mut turns, later), [('a', 0)]);
    }

    #[test]
    fn those_who_use_much_leave_a_turn_together() {
        let mut now = Instant::now();
        let mut turns = Turns::new(Most::and_one(3), now);
        assert!(turns.begin(&'z', now));
        turns.end(&'z', now);
        for who in ['a', 'b', 'c', 'd'] {
            assert!(turns.begin(&who, now));
        }
        assert!(!turns.begin(&'z', now), "there are four");
        for who in ['a', 'b', 'c', 'd'] {
            turns.wait(&who, 1, now);
        }
        now += SECOND;
        turns.end(&'a', now);
        assert!(turns.is_heavy(&'a') && !turns.is_heavy(&'z') && !turns.is_heavy(&'y'));
        // Three of them still have turns: the fourth is for who used less than the mean.
        assert_eq!(handed_over(&mut turns, now), []);
        assert!(turns.begin(&'z', now));
        turns.end(&'z', now);
        turns.end(&'b', now);
        assert_eq!(handed_over(&mut turns, now).len(), 1);
        assert_eq!(turns.held(), 3);
    }

    #[test]
    fn what_was_used_long_ago_is_forgotten_and_equals_take_turns() {
        let mut now = Instant::now();
        let mut turns = Turns::new(Most { of_all: 1, of_one: 1, of_heavy: 1 }, now);
        assert!(turns.begin(&'a', now));
        (0..3).for_each(|number| turns.wait(&'a', number, now));
        (0..3).for_each(|number| turns.wait(&'b', number, now));
        let mut order = String::new();
        let mut who = 'a';
        for _ in 0..6 {
            now += SECOND;
            turns.end(&who, now);
            (who, _) = turns.hand_over(now).unwrap();
            order.push(who);
        }
        assert_eq!(order, "bababa");
        turns.end(&who, now);
        now += REMEMBERED;
        assert!(turns.begin(&'c', now));
        assert_eq!(turns.known.len(), 1);
    }
}
