//! What a host offers: interpreters, and the strongest isolation that holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::level::Level;
use crate::runtime::{Runtime, find_all};
use crate::selftest::{self, Failure};
use crate::sys;
use crate::worker::Worker;

/// No isolation level holds on this host.
#[derive(Debug, thiserror::Error)]
#[error("isolate submissions on this host: {}; see `proofmark doctor`", tried.join("; "))]
pub struct HostError {
    /// Each level tried, and what is missing for it.
    pub tried: Vec<String>,
}

/// A probed host; cheap to clone.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) level: Level,
    pub(crate) landlock: i32,
    pub(crate) runtimes: Vec<Runtime>,
    slots: AtomicU32,
}

impl Host {
    /// Finds the interpreters and the isolation level: the one demanded, or the
    /// strongest that passes the self-test.
    ///
    /// # Errors
    /// When the level demanded, or every level, is not to be had here. Nothing
    /// runs in a weaker place instead.
    pub fn probe(demanded: Option<Level>) -> Result<Host, HostError> {
        let landlock = sys::landlock_abi();
        let wanted: Vec<Level> = demanded.map_or_else(|| Level::ALL.to_vec(), |level| vec![level]);
        let mut tried = Vec::new();
        for level in wanted {
            match selftest::run(level, landlock) {
                Ok(()) => {
                    let inner = Inner { level, landlock, runtimes: find_all(), slots: AtomicU32::new(1) };
                    return Ok(Host { inner: Arc::new(inner) });
                }
                Err(failure) => tried.push(format!("level {level}: {failure}")),
            }
        }
        Err(HostError { tried })
    }

    /// What every level lacks here: `None` for one that passed its self-test.
    pub fn survey() -> Vec<(Level, Option<String>)> {
        let landlock = sys::landlock_abi();
        let test = |level| (level, selftest::run(level, landlock).err().map(|failure: Failure| failure.to_string()));
        Level::ALL.map(test).into()
    }

    /// The level in force.
    pub fn level(&self) -> Level {
        self.inner.level
    }

    /// The interpreters found.
    pub fn runtimes(&self) -> &[Runtime] {
        &self.inner.runtimes
    }

    /// A worker for the calling thread.
    pub fn worker(&self) -> Worker {
        Worker::new(Arc::clone(&self.inner), self.inner.slots.fetch_add(1, Ordering::Relaxed))
    }
}
