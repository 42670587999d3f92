//! What a host offers: interpreters, and the strongest isolation that holds.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use proofmark_checks::Language;

use crate::cell::Ground;
use crate::groups::Groups;
use crate::level::Level;
use crate::runtime::{Finder, Reach, Runtime};
use crate::selftest::{self, Failure};
use crate::sys;
use crate::trials::Trials;

/// A host; cheap to clone.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    demanded: Option<Level>,
    tested: OnceLock<Tested>,
    pub(crate) runtimes: Finder,
    pub(crate) trials: Trials,
    slots: AtomicU32,
}

/// The level in force and what its cells share, or what every level tried lacks.
type Tested = Result<(Level, Arc<Ground>), String>;

impl Host {
    /// Finds the isolation level: the one demanded, or the
    /// strongest that passes the self-test.
    ///
    /// On a host without it every case ends as unavailable; nothing runs with weaker
    /// isolation instead.
    pub fn probe(demanded: Option<Level>) -> Host {
        let host = Host::untested(demanded);
        host.inner.tested();
        host
    }

    /// As [`Host::probe`], but the level is found when something first runs, or asks
    /// for it.
    pub fn untested(demanded: Option<Level>) -> Host {
        let (tested, runtimes, slots) = (OnceLock::new(), Finder::default(), AtomicU32::new(1));
        Host { inner: Arc::new(Inner { demanded, tested, runtimes, trials: Trials::default(), slots }) }
    }

    /// Finds the level, and at the same time these interpreters: a language, and the
    /// runtime demanded where one is. Jobs that need them wait for neither then.
    pub fn prepare(&self, wanted: &[(Language, Option<String>)]) {
        thread::scope(|scope| {
            for (language, demand) in wanted {
                scope.spawn(|| self.inner.runtimes.find(*language, demand.as_deref(), Reach::Own));
            }
            self.inner.tested();
        });
    }

    /// The interpreter that a job of this language would get, with the runtime demanded where one is.
    pub fn runtime(&self, language: Language, demand: Option<&str>) -> Option<Runtime> {
        self.inner.runtimes.find(language, demand, Reach::Own)
    }

    /// What every level lacks here: `None` for one that passed its self-test.
    pub fn survey() -> Vec<(Level, Option<String>)> {
        let ground = Ground::find();
        let levels = Level::ALL.map(|level| match &ground {
            Ok(ground) => (level, selftest::run(level, ground).err().map(|failure: Failure| failure.to_string())),
            Err(error) => (level, Some(error.to_string())),
        });
        levels.into()
    }

    /// The level in force, or what is missing for every level tried.
    ///
    /// # Errors
    /// The text for a person, when there is none.
    pub fn level(&self) -> Result<Level, &str> {
        self.inner.tested().as_ref().map(|(level, _)| *level).map_err(String::as_str)
    }

    /// Where the control groups are in which the kernel counts what a submission
    /// makes it hold.
    ///
    /// # Errors
    /// The text for a person, when there are none: the memory of a submission's
    /// processes is then added up.
    pub fn control_groups(&self) -> Result<&Path, String> {
        let (_, ground) = self.inner.tested().as_ref().map_err(String::clone)?;
        ground.groups.as_ref().map(Groups::folder).map_err(ToString::to_string)
    }

    /// Every interpreter on `PATH`. Starts each once to ask it, so this takes a
    /// while; jobs look up only what they need.
    pub fn runtimes(&self) -> Vec<Runtime> {
        self.inner.runtimes.survey(self.inner.reach())
    }
}

impl Inner {
    pub(crate) fn tested(&self) -> &Tested {
        self.tested.get_or_init(|| strongest(self.demanded))
    }

    /// Who must be able to reach an interpreter.
    pub(crate) fn reach(&self) -> Reach {
        let shown = sys::effective_uid() != 0 || matches!(self.tested(), Ok((Level::A, _)));
        if shown { Reach::Own } else { Reach::Others }
    }

    /// A number that no other worker of this host has.
    pub(crate) fn next_slot(&self) -> u32 {
        self.slots.fetch_add(1, Ordering::Relaxed)
    }
}

fn strongest(demanded: Option<Level>) -> Tested {
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
