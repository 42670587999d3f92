//! Whether the store can be written: a decision that cannot be stored is not given.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::problem::Problem;
use crate::services::Services;
use crate::submit;

/// How long the result of a probe is answered again: anyone may ask, and a probe writes.
const READY_FOR: Duration = Duration::from_secs(3);

/// The result of the last probe of the store, and when that was. Requests that arrive during a probe wait for it.
#[derive(Default)]
pub(crate) struct Readiness {
    last: Mutex<Option<(Instant, Result<(), Problem>)>>,
}

impl Readiness {
    pub(crate) async fn probe(&self, services: &Arc<Services>) -> Result<(), Problem> {
        let mut last = self.last.lock().await;
        if let Some((_, result)) = last.as_ref().filter(|(at, _)| at.elapsed() < READY_FOR) {
            return result.clone();
        }
        let probed = submit::blocking(services, |services| services.decider.store().probe()).await;
        let result = probed.and_then(|probed| probed.map_err(Problem::from));
        *last = Some((Instant::now(), result.clone()));
        result
    }
}
