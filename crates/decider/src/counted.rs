//! What the limits of a policy have counted, from rows that are compared with the decisions that were signed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use proofmark_boundary::{ActionPolicy, Counted, CountedAction, DecisionReceipt, LimitKey, Request, limit_keys};
use proofmark_receipt::Timestamp;
use proofmark_store::{Decision as StoredDecision, StoredCount, TenantStore};
use proofmark_verifier::{ChangedDecision, signed_count};

use crate::decide::DecideError;

/// Decisions that were verified, by their ids.
type Verified = BTreeMap<String, DecisionReceipt>;

/// The limits that an action may count under, and the last action that each had counted when it was begun.
pub(crate) struct Limits<'a> {
    store: &'a TenantStore<'a>,
    /// The receipt of a stored decision, once it is genuine.
    signed: &'a dyn Fn(&StoredDecision) -> Result<DecisionReceipt, ChangedDecision>,
    keys: Vec<LimitKey>,
    last: Vec<Option<StoredCount>>,
}

impl<'a> Limits<'a> {
    /// To be read before the time of the decision, so that nothing is counted later than that.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn of(
        store: &'a TenantStore<'a>,
        signed: &'a dyn Fn(&StoredDecision) -> Result<DecisionReceipt, ChangedDecision>,
        policy: &ActionPolicy,
        request: &Request,
    ) -> Result<Self, DecideError> {
        let keys = limit_keys(policy, request);
        let digests: Vec<_> = keys.iter().map(|key| (key.key, None)).collect();
        let last = if keys.is_empty() { Vec::new() } else { store.last_counts(&digests)? };
        Ok(Self { store, signed, keys, last })
    }

    /// What they had counted at this time.
    ///
    /// # Errors
    /// When the store cannot be read, and where a row is not what was signed.
    pub(crate) fn at(&self, now: &Timestamp) -> Result<Vec<Counted>, DecideError> {
        let begin = |key: &LimitKey| Some((key.key, Some(now.unix_millis().saturating_sub(key.window_millis?))));
        let begins: Vec<_> = self.keys.iter().filter_map(begin).collect();
        let mut before = match begins.is_empty() {
            true => Vec::new(),
            false => self.store.last_counts(&begins)?,
        }
        .into_iter();
        let (mut counted, mut decisions) = (Vec::new(), BTreeMap::new());
        for (key, last) in self.keys.iter().zip(&self.last) {
            // In the order of the keys that have a window.
            let before = key.window_millis.and_then(|_| before.next()).flatten();
            let Some(last) = last else {
                counted.push(Counted::nothing(key.key));
                continue;
            };
            let last = self.genuine(last, &mut decisions)?;
            let before = before.as_ref().map(|before| self.genuine(before, &mut decisions)).transpose()?;
            // A count that is not known does not allow the action.
            counted.extend(Counted::up_to(&last, before.as_ref()));
        }
        Ok(counted)
    }

    /// The action of a row, which says what its decision has counted.
    fn genuine(&self, stored: &StoredCount, decisions: &mut Verified) -> Result<CountedAction, DecideError> {
        let missing =
            || ChangedDecision { id: stored.by.clone(), why: "it has counted an action, and is not there".to_owned() };
        let decision = match decisions.entry(stored.by.clone()) {
            // Actions with several recipients count under each.
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let row = self.store.decision(&stored.by)?.ok_or_else(missing)?;
                place.insert((self.signed)(&row)?)
            }
        };
        Ok(signed_count(stored, decision)?)
    }
}
