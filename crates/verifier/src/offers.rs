//! Running jobs whose cases other workers may run as well.

use std::sync::Arc;
use std::time::Duration;

use proofmark_sandbox::SharedJob;

/// How often a worker without work looks whether a job wants it: that depends on how long the job runs.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The running jobs that other workers may join, each with what its owner knows it by.
pub struct Offers<T>(Vec<(T, Arc<SharedJob>)>);

impl<T> Default for Offers<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Offers<T> {
    /// Offers a running job.
    pub fn add(&mut self, of: T, shared: &Arc<SharedJob>) {
        self.0.push((of, Arc::clone(shared)));
    }

    /// Removes the offers of a job whose owner has returned.
    pub fn withdraw(&mut self, is_of: impl Fn(&T) -> bool) {
        self.0.retain(|(of, _)| !is_of(of));
    }

    /// The job that a worker should join: of those that want one, the one with the fewest.
    #[must_use]
    pub fn best(&self) -> Option<(T, Arc<SharedJob>)> {
        let wanting = self.0.iter().filter(|(_, shared)| shared.wants_worker());
        wanting.min_by_key(|(_, shared)| shared.workers()).cloned()
    }

    /// Whether a job may want a worker later.
    #[must_use]
    pub fn is_any_open(&self) -> bool {
        self.0.iter().any(|(_, shared)| shared.is_open())
    }
}
