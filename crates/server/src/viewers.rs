//! Who looks at what waits. It is held in memory, for a short time, and only for people to see.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long somebody counts as looking after a page was loaded.
const LOOKING: Duration = Duration::from_secs(120);
/// The most looks that are held.
const MAX_LOOKS: usize = 1_000;
/// The most people that are named.
const MAX_NAMED: usize = 5;

/// Who has opened which decision in the last two minutes.
#[derive(Debug, Default)]
pub struct Viewers(Mutex<VecDeque<Look>>);

#[derive(Debug)]
struct Look {
    tenant: String,
    decision: String,
    who: String,
    at: Instant,
}

impl Viewers {
    /// Notes that somebody looks at a decision of a tenant; the names of the others who do, those who came last first.
    pub fn look(&self, tenant: &str, decision: &str, who: &str) -> Vec<String> {
        let now = Instant::now();
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |look: &Look| look.tenant == tenant && look.decision == decision;
        looks.retain(|look| now.duration_since(look.at) < LOOKING && !(is_same(look) && look.who == who));
        let others =
            looks.iter().rev().filter(|look| is_same(look)).take(MAX_NAMED).map(|look| look.who.clone()).collect();
        if looks.len() >= MAX_LOOKS {
            looks.pop_front();
        }
        let [tenant, decision, who] = [tenant, decision, who].map(str::to_owned);
        looks.push_back(Look { tenant, decision, who, at: now });
        others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn others_are_named_for_two_minutes_within_a_tenant() {
        let viewers = Viewers::default();
        assert!(viewers.look("acme", "d", "ann").is_empty());
        assert_eq!(viewers.look("acme", "d", "bob"), ["ann"]);
        assert_eq!(viewers.look("acme", "d", "ann"), ["bob"]);
        assert!(viewers.look("acme", "e", "bob").is_empty() && viewers.look("other", "d", "bob").is_empty());
        tokio::time::advance(LOOKING).await;
        assert!(viewers.look("acme", "d", "cid").is_empty());
        (0..MAX_LOOKS * 2).for_each(|number| drop(viewers.look("acme", "f", &number.to_string())));
        assert_eq!(viewers.0.lock().unwrap().len(), MAX_LOOKS);
        assert_eq!(viewers.look("acme", "f", "ann").len(), MAX_NAMED);
    }
}
