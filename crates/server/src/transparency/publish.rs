//! Signs a checkpoint of what was stored, within a second or so, while no other server on the store does.

use std::sync::Arc;
use std::time::Duration;

use proofmark_log::{LogError, Published};
use proofmark_store::StoreError;
use proofmark_verifier::clock;
use tokio::time::{Instant, MissedTickBehavior};
use tracing::{error, info, warn};

use super::ServedLog;
use crate::services::Services;

/// How often the store is asked for new entries.
const ROUND: Duration = Duration::from_secs(1);
/// How often witnesses are asked that did not cosign, where nothing new was stored.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// What the servers on a store call signing its log.
const DUTY: &str = "log";

/// Publishes until the server ends.
pub(crate) async fn publish(log: Arc<ServedLog>, services: Arc<Services>) {
    let mut rounds = tokio::time::interval(ROUND);
    let mut last_asked = None::<Instant>;
    rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        rounds.tick().await;
        let is_due = last_asked.is_none_or(|asked| asked.elapsed() >= ASK_AGAIN);
        let (own_log, own_services) = (Arc::clone(&log), Arc::clone(&services));
        let Ok(done) = tokio::task::spawn_blocking(move || round(&own_log, &own_services, is_due)).await else {
            continue;
        };
        match done {
            Ok(None) => {}
            Ok(Some(published)) => {
                last_asked = Some(Instant::now());
                if published.is_new {
                    info!(entries = published.checkpoint.size, "a checkpoint of the log was signed");
                }
                log.note(None);
                ask(&log, &services, published);
            }
            Err(problem) => {
                // Once: it is tried again every second.
                let cause = problem.to_string();
                if log.note(Some(cause.clone())) {
                    error!(cause, "the log cannot be signed");
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

/// Signs what is new, and where `is_due` also what witnesses have not cosigned. Where another server has the duty, what it has signed is kept here.
fn round(log: &ServedLog, services: &Services, is_due: bool) -> Result<Option<Published>, LogError> {
    let store = services.decider.store();
    let has_duty = services.verifications.take_on(DUTY)?;
    let is_behind = || -> Result<bool, StoreError> {
        let state = store.log_state()?;
        // Also where it has fewer than were signed, which is an error.
        Ok(state.checkpoint.is_empty() || state.signed != store.log_length()?)
    };
    let keeper = log.keeper(store);
    if !has_duty {
        return keeper.follow().map(|()| None);
    }
    if !(is_due || is_behind()?) {
        return Ok(None);
    }
    keeper.publish().map(Some)
}
