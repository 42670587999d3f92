//! What a host offers: interpreters, and the strongest isolation that holds.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cell::Ground;
use crate::groups::Groups;
use crate::level::Level;
use crate::runtime::{Finder, Runtime};
use crate::selftest::{self, Failure};
use crate::sys;
use crate::trials::Trials;

/// A probed host; cheap to clone.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    /// The level in force and what its cells share, or what every level tried lacks.
    pub(crate) level: Result<(Level, Arc<Ground>), String>,
    pub(crate) runtimes: Finder,
    pub(crate) trials: Trials,
    slots: AtomicU32,
}

impl Host {
    /// Finds the isolation level: the one demanded, or the
    /// strongest that passes the self-test.
    ///
    /// On a host without it every case ends as unavailable; nothing runs with weaker
    /// isolation instead.
    pub fn probe(demanded: Option<Level>) -> Host {
        let level = strongest(demanded);
        let other_uid = sys::effective_uid() == 0 && !matches!(level, Ok((Level::A, _)));
        let inner =
            Inner { level, runtimes: Finder::new(other_uid), trials: Trials::default(), slots: AtomicU32::new(1) };
        Host { inner: Arc::new(inner) }
    }

    /// What every level lacks here: `None` for one that passed its self-test.
    pub fn survey() -> Vec<(Level, Option<String>)> {
        let ground = Ground::find();
        let test = |level| match &ground {
            Ok(ground) => selftest::run(level, ground).err().map(|failure: Failure| failure.to_string()),
            Err(error) => Some(error.to_string()),
        };
        Level::ALL.map(|level| (level, test(level))).into()
    }

    /// The level in force, or what is missing for every level tried.
    ///
    /// # Errors
    /// The text for a person, when there is none.
    pub fn level(&self) -> Result<Level, &str> {
        self.inner.level.as_ref().map(|(level, _)| *level).map_err(String::as_str)
    }

    /// Where the control groups are in which the kernel counts what a submission
    /// makes it hold.
    ///
    /// # Errors
    /// The text for a person, when there are none: the memory of a submission's
    /// processes is then added up.
    pub fn control_groups(&self) -> Result<&Path, String> {
        let (_, ground) = self.inner.level.as_ref().map_err(String::clone)?;
        ground.groups.as_ref().map(Groups::folder).map_err(ToString::to_string)
    }

    /// Every interpreter on `PATH`. Starts each once to ask it, so this takes a
    /// while; jobs look up only what they need.
    pub fn runtimes(&self) -> Vec<Runtime> {
        self.inner.runtimes.survey()
    }
}

impl Inner {
    /// A number that no other worker of this host has.
    pub(crate) fn next_slot(&self) -> u32 {
        self.slots.fetch_add(1, Ordering::Relaxed)
    }
}

fn strongest(demanded: Option<Level>) -> Result<(Level, Arc<Ground>), String> {
    let ground = Ground::find().map_err(|error| format!("failed to {error}"))?;
    let wanted = demanded.map_or_else(|| Level::ALL.to_vec(), |level| vec![level]);
    let mut lacking = Vec::new();
    for level in wanted {
        match selftest::run(level, &ground) {
            Ok(()) => return Ok((level, Arc::new(ground))),
            Err(failure) => lacking.push(format!("level {level} {failure}")),
        }
    }
    Err(format!("failed to isolate the submission on this host: {}; see `proofmark doctor`", lacking.join("; ")))
}
