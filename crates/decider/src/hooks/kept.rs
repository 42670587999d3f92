//! Sessions that were verified, so that an event need not read its session from the beginning.
//!
//! What is kept ends with an entry that was verified. An event reads what came after it, which must be linked to that entry and signed;
//! if the entry is not the one that the store has at its place, or the store has fewer, the event fails. Events of one session take
//! turns, so that the second of two goes on from what the first leaves. Judging a stop may take seconds, so it takes no turn: an event
//! that comes meanwhile reads the session anew.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use proofmark_store::Tenant;
use proofmark_verifier::sync::{KeyGuard, KeyedLock, Waiting, lock};

use super::Seen;
use crate::session_decider::Verified;

/// How many sessions are kept.
const MAX_SESSIONS: usize = 1_024;
/// How many bytes their entries have together. Read, they take some ten times as much at most.
const MAX_BYTES: usize = 16 << 20;
/// How many of these the sessions of one tenant have.
const MAX_BYTES_OF_TENANT: usize = MAX_BYTES / 4;
/// What a session counts for beside its entries.
const BYTES_OF_SESSION: usize = 1 << 10;

/// What is known of the sessions that had events of late.
#[derive(Default)]
pub struct KeptSessions {
    all: Mutex<VecDeque<Kept>>,
    turns: KeyedLock,
}

struct Kept {
    tenant: Tenant,
    session: String,
    verified: Verified<Seen>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.verified.bytes.saturating_add(BYTES_OF_SESSION)
    }
}

impl KeptSessions {
    /// Waits for the turn of an event of a session; none if `stop` is set before it comes.
    pub(super) fn turn(&self, tenant: &Tenant, session: &str, stop: &AtomicBool) -> Option<KeyGuard> {
        // A tenant has no NUL in its name.
        let turn = self.turns.take(format!("{tenant}\0{session}"));
        turn.map_or_else(|waiting: Waiting| waiting.wait_unless(stop), Some)
    }

    /// Takes what is known of a session out.
    pub(super) fn take(&self, tenant: &Tenant, session: &str) -> Option<Verified<Seen>> {
        let mut all = lock(&self.all);
        let at = all.iter().position(|kept| kept.tenant == *tenant && kept.session == session)?;
        all.remove(at).map(|kept| kept.verified)
    }

    /// Keeps what is known of a session. Those that had no event for longest make room, first those of the same tenant.
    pub(super) fn put(&self, tenant: &Tenant, session: &str, verified: Verified<Seen>) {
        let mut all = lock(&self.all);
        all.retain(|kept| kept.tenant != *tenant || kept.session != session);
        all.push_back(Kept { tenant: tenant.clone(), session: session.to_owned(), verified });
        let mut left = MAX_BYTES_OF_TENANT;
        let mut fits = |kept: &Kept| {
            let rest = left.checked_sub(kept.bytes());
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        let mut newest: VecDeque<Kept> = VecDeque::new();
        for kept in all.drain(..).rev() {
            if kept.tenant != *tenant || fits(&kept) {
                newest.push_front(kept);
            }
        }
        while newest.len() > MAX_SESSIONS || newest.iter().map(Kept::bytes).sum::<usize>() > MAX_BYTES {
            newest.pop_front();
        }
        *all = newest;
    }
}
