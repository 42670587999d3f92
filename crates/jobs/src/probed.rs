//! The host that code runs on, while its isolation is tested beside everything else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use proofmark_checks::Language;
use proofmark_sandbox::{Host, Runtime};
use proofmark_verifier::sync::lock;

use crate::SelfTest;

/// A host whose probe runs in a thread of its own.
#[derive(Default)]
pub(super) struct ProbedHost {
    probe: Mutex<Probe>,
    changed: Condvar,
    runtimes: OnceLock<Vec<(Language, String)>>,
    languages: OnceLock<Vec<Language>>,
}

#[derive(Default)]
enum Probe {
    #[default]
    Running,
    Ended(Host),
    /// It panicked, so nothing is known about the host.
    Lost,
    /// Nobody waits for it any more.
    Abandoned,
}

impl ProbedHost {
    /// Probes the host, lets those who wait go on, and then asks for its languages.
    pub(super) fn probe(&self, probe: impl FnOnce() -> Host) {
        let probed = catch_unwind(AssertUnwindSafe(probe));
        let host = probed.as_ref().ok().cloned();
        self.set(probed.map_or(Probe::Lost, Probe::Ended));
        if let Some(host) = host {
            // This starts every interpreter once, which no verification needs to wait for.
            let found = host.runtimes();
            let runtimes = found.iter().map(|Runtime { language, version, .. }| (*language, version.clone()));
            let mut languages: Vec<Language> = found.iter().map(|Runtime { language, .. }| *language).collect();
            // They are listed language by language, so equal ones are neighbours.
            languages.dedup();
            // Set once, because a host is probed once.
            drop(self.runtimes.set(runtimes.collect()));
            drop(self.languages.set(languages));
        }
    }

    /// Lets those who wait go: the server stops.
    pub(super) fn abandon(&self) {
        self.set(Probe::Abandoned);
    }

    /// Waits for the end of the probe. The inner option is none where it panicked; the outer one where nobody needs the host
    /// any more.
    pub(super) fn wait(&self) -> Option<Option<Host>> {
        let waited = self.changed.wait_while(lock(&self.probe), |probe| matches!(probe, Probe::Running));
        match &*waited.unwrap_or_else(PoisonError::into_inner) {
            Probe::Ended(host) => Some(Some(host.clone())),
            Probe::Lost => Some(None),
            Probe::Running | Probe::Abandoned => None,
        }
    }

    pub(super) fn self_test(&self) -> SelfTest {
        match &*lock(&self.probe) {
            Probe::Running | Probe::Abandoned => SelfTest::Running,
            Probe::Ended(host) if host.level().is_ok() => SelfTest::Passed,
            Probe::Ended(_) | Probe::Lost => SelfTest::Failed,
        }
    }

    /// The languages that there are runtimes for; empty until they were asked for.
    pub(super) fn languages(&self) -> &[Language] {
        self.languages.get().map_or(&[], Vec::as_slice)
    }

    /// The interpreters that code can be run with, by language and version: empty where it cannot be isolated. None until the
    /// host was tested and asked for them.
    pub(super) fn runtimes(&self) -> Option<&[(Language, String)]> {
        match self.self_test() {
            SelfTest::Running => None,
            SelfTest::Failed => Some(&[]),
            SelfTest::Passed => self.runtimes.get().map(Vec::as_slice),
        }
    }

    fn set(&self, new: Probe) {
        let mut probe = lock(&self.probe);
        // Abandoned before it ended: the workers have gone.
        if !matches!(*probe, Probe::Abandoned) {
            *probe = new;
        }
        drop(probe);
        self.changed.notify_all();
    }
}
