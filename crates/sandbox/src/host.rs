//! What a host offers: interpreters, and the strongest isolation that holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::level::Level;
use crate::runtime::{Finder, Runtime};
use crate::selftest::{self, Failure};
use crate::sys;
use crate::worker::Worker;

/// A probed host; cheap to clone.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// The level in force, or what every level tried lacks.
    pub(crate) level: Result<Level, String>,
    pub(crate) landlock: i32,
    pub(crate) runtimes: Finder,
    slots: AtomicU32,
}

impl Host {
    /// Finds the isolation level: the one demanded, or the
    /// strongest that passes the self-test.
    ///
    /// A host without it answers every job that the isolation is not to be had;
    /// nothing runs in a weaker place instead.
    pub fn probe(demanded: Option<Level>) -> Host {
        let landlock = sys::landlock_abi();
        let level = strongest(demanded, landlock);
        let other_uid = sys::effective_uid() == 0 && level != Ok(Level::A);
        let inner = Inner { level, landlock, runtimes: Finder::new(other_uid), slots: AtomicU32::new(1) };
        Host { inner: Arc::new(inner) }
    }

    /// What every level lacks here: `None` for one that passed its self-test.
    pub fn survey() -> Vec<(Level, Option<String>)> {
        let landlock = sys::landlock_abi();
        let test = |level| (level, selftest::run(level, landlock).err().map(|failure: Failure| failure.to_string()));
        Level::ALL.map(test).into()
    }

    /// The level in force, or what is missing for every level tried.
    ///
    /// # Errors
    /// The text for a person, when there is none.
    pub fn level(&self) -> Result<Level, &str> {
        self.inner.level.as_ref().copied().map_err(String::as_str)
    }

    /// Every interpreter on `PATH`. Starts each once to ask it, so this takes a
    /// while; jobs look up only what they need.
    pub fn runtimes(&self) -> Vec<Runtime> {
        self.inner.runtimes.survey()
    }

    /// A worker for the calling thread.
    pub fn worker(&self) -> Worker {
        Worker::new(Arc::clone(&self.inner), self.inner.slots.fetch_add(1, Ordering::Relaxed))
    }
}

fn strongest(demanded: Option<Level>, landlock: i32) -> Result<Level, String> {
    let wanted = demanded.map_or_else(|| Level::ALL.to_vec(), |level| vec![level]);
    let mut lacking = Vec::new();
    for level in wanted {
        match selftest::run(level, landlock) {
            Ok(()) => return Ok(level),
            Err(failure) => lacking.push(format!("level {level} {failure}")),
        }
    }
    Err(format!("failed to isolate the submission on this host: {}; see `proofmark doctor`", lacking.join("; ")))
}
