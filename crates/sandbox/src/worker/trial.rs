//! Tries whether an interpreter survives a fork, where it does not promise to.

use std::time::{Duration, Instant};

use proofmark_checks::Limits;

use super::{Backend, frame};
use crate::runtime::Runtime;
use crate::toolchain::Trial;
use crate::watch::Why;
use crate::zygote::ZygoteError;

/// A worker that is asked for fewer cases starts an interpreter for each: that takes less time than a warm one and its trial.
const WORTHWHILE_CASES: usize = 4;

/// How long one leaf of a trial may take.
const PATIENCE: Duration = Duration::from_secs(10);

const LIMITS: Limits =
    Limits { memory_mb: 512, total_timeout: PATIENCE, output_bytes: 1 << 16, processes: 16, disk_mb: 0 };

impl Backend {
    /// Tries it out once a host, where enough cases are asked for and the interpreter needs a trial.
    pub(super) fn try_to_fork(&mut self, runtime: &Runtime) {
        let Some(trial) = &runtime.toolchain().trial else { return };
        if self.asked < WORTHWHILE_CASES || self.host.trials.outcome(runtime).is_some() {
            return;
        }
        // The limits of the group are those of the job.
        let group = self.group.take();
        let passed = trial
            .expressions
            .iter()
            .all(|(text, answer)| self.passes(runtime, trial, text, *answer).is_ok_and(|passes| passes));
        self.group = group;
        self.host.trials.note(runtime, passed);
    }

    fn passes(
        &mut self,
        runtime: &Runtime,
        trial: &Trial,
        text: &str,
        answer: Option<&str>,
    ) -> Result<bool, ZygoteError> {
        let job = frame("expression", &[trial.submission, text]);
        let leaf = self.run_warm(runtime, &LIMITS, &job, Instant::now() + PATIENCE)?;
        Ok(match answer {
            Some(answer) => leaf.is_conclusive() && leaf.bytes == answer.as_bytes(),
            None => leaf.why == Why::Ended && leaf.bytes.is_empty(),
        })
    }
}
