//! Signs a checkpoint of what was stored, within a second or so, while no other server on the store does.

use std::sync::Arc;
use std::time::Duration;

use proofmark_log::{LogError, Published};
use proofmark_store::StoreError;
use proofmark_verifier::clock;
use tokio::time::{Instant, MissedTickBehavior};
use tracing::{error, info, warn};

use super::ServedLog;
use crate::metrics;
use crate::services::Services;

/// How often the store is asked for new entries.
const ROUND: Duration = Duration::from_secs(1);
/// How often witnesses are asked that did not cosign, where nothing new was stored.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// What the servers on a store call signing its log.
const DUTY: &str = "log";
/// When a place that failed to take the copy is asked again: after this delay, then after twice as long each time.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_mins(1);

/// The result of a round.
struct Round {
    published: Option<Published>,
    copied: Result<(), LogError>,
}

/// When a place that failed to take the copy is asked again.
#[derive(Default)]
struct Backoff {
    failed: u32,
    due: Option<Instant>,
}

impl Backoff {
    fn fail(&mut self, now: Instant) {
        let factor = 1_u32.checked_shl(self.failed).unwrap_or(u32::MAX);
        self.failed = self.failed.saturating_add(1).min(u32::BITS - 1);
        self.due = Some(now + FIRST_DELAY.saturating_mul(factor).min(MAX_DELAY));
    }

    fn waits(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now < due)
    }
}

/// Publishes until the server ends.
pub(crate) async fn publish(log: Arc<ServedLog>, services: Arc<Services>) {
    let mut rounds = tokio::time::interval(ROUND);
    let (mut last_asked, mut backoff) = (None::<Instant>, Backoff::default());
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        if backoff.waits(Instant::now()) {
            continue;
        }
        // What failed is tried as a whole, so that it is known when it is over.
        let is_due = log.failure().is_some() || last_asked.is_none_or(|asked| asked.elapsed() >= ASK_AGAIN);
        let (own_log, own_services) = (Arc::clone(&log), Arc::clone(&services));
        let Ok(done) = tokio::task::spawn_blocking(move || round(&own_log, &own_services, is_due)).await else {
            continue;
        };
        let Round { published, copied } =
            done.unwrap_or_else(|problem| Round { published: None, copied: Err(problem) });
        match &copied {
            Err(LogError::Copy { .. }) => {
                metrics::note_copy_failure();
                backoff.fail(Instant::now());
            }
            _ => backoff = Backoff::default(),
        }
        if let Some(published) = published {
            last_asked = Some(Instant::now());
            if published.is_new {
                info!(entries = published.checkpoint.size, "a checkpoint of the log was signed");
            }
            ask(&log, &services, published);
        }
        match copied {
            Ok(()) => drop(log.note(None)),
            Err(problem) => {
                // Once: it is tried again.
                let cause = problem.to_string();
                if log.note(Some(cause.clone())) {
                    error!(cause, "the log cannot be signed or copied");
                }
            }
        }
    }
}

/// Has witnesses cosign, while further checkpoints are signed: one that is slow delays only its own line.
fn ask(log: &Arc<ServedLog>, services: &Arc<Services>, published: Published) {
    let Some(asking) = log.begin_asking() else { return };
    let (log, services) = (Arc::clone(log), Arc::clone(services));
    drop(tokio::task::spawn_blocking(move || {
        match log.keeper(services.decider.store()).cosign(&published, clock::now().unix_seconds()) {
            Ok(cosigning) => {
                for (witness, cause) in cosigning.missing {
                    warn!(witness, cause, "a witness did not cosign the log");
                }
            }
            Err(error) => warn!(cause = error.to_string(), "cosignatures of the log cannot be kept"),
        }
        drop(asking);
    }));
}

/// Signs what is new, and where `is_due` also what witnesses have not cosigned; then copies it. Where another server has the duty, what it has signed
/// is kept here.
fn round(log: &ServedLog, services: &Services, is_due: bool) -> Result<Round, LogError> {
    let store = services.decider.store();
    let has_duty = services.verifications.take_on(DUTY)?;
    let is_behind = || -> Result<bool, StoreError> {
        let state = store.log_state()?;
        // Also where it has fewer than were signed, which is an error.
        Ok(state.checkpoint.is_empty() || state.signed != store.log_length()?)
    };
    let keeper = log.keeper(store);
    if !has_duty {
        // Another server writes to the copy.
        log.forget_copy();
        return keeper.follow().map(|()| Round { published: None, copied: Ok(()) });
    }
    let published = if is_due || is_behind()? { Some(keeper.publish()?) } else { None };
    Ok(Round { published, copied: keeper.copy() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_fails_is_asked_later_and_later() {
        let (mut backoff, begun) = (Backoff::default(), Instant::now());
        assert!(!backoff.waits(begun));
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            backoff.fail(begun);
            let due = begun + Duration::from_secs(seconds);
            assert!(
                backoff.waits(due.checked_sub(Duration::from_millis(1)).unwrap()) && !backoff.waits(due),
                "{seconds}"
            );
        }
    }
}
