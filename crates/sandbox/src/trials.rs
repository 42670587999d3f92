//! What is known of interpreters that do not promise to survive a fork.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use proofmark_checks::Language;

use crate::runtime::Runtime;

/// Which interpreters of a host survive a fork.
#[derive(Default)]
pub(crate) struct Trials(Mutex<BTreeMap<(Language, PathBuf), bool>>);

impl Trials {
    /// Whether the interpreter passed its trial; `None` before it.
    pub(crate) fn outcome(&self, runtime: &Runtime) -> Option<bool> {
        self.0.lock().ok()?.get(&(runtime.language, runtime.path.clone())).copied()
    }

    /// Keeps the outcome.
    pub(crate) fn note(&self, runtime: &Runtime, passed: bool) {
        if let Ok(mut outcomes) = self.0.lock() {
            outcomes.insert((runtime.language, runtime.path.clone()), passed);
        }
    }
}
