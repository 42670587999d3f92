//! From a request to the jobs it asks for.

use crate::caps::{
    Caps, DEFAULT_DISK_MB, DEFAULT_MEMORY_MB, DEFAULT_OUTPUT_BYTES, DEFAULT_PROCESSES, DEFAULT_TIMEOUT,
    DEFAULT_TOTAL_TIMEOUT,
};
use crate::job::{Case, Job, Limits, Program};
use crate::request::{Code, Expected, Mode, Place, Request, RequestError, Suite, Test};

/// The jobs that answer a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Runs the submission on the inputs. Holds nothing of what is expected.
    pub submission: Job,
    /// Evaluates the expected expressions, apart from the submission; in the modes `call` and `stdio` there is none.
    pub expected: Option<Job>,
}

impl Request {
    /// Plans the jobs, with every limit lowered to the host's caps.
    ///
    /// # Errors
    ///
    /// [`RequestError`] where the suite has more tests than the host allows.
    pub fn plan(&self, caps: &Caps) -> Result<Plan, RequestError> {
        let suite = &self.suite;
        if suite.tests.len() > caps.tests {
            let message = format!(
                "{} tests are more than the {} this host allows; split the suite",
                suite.tests.len(),
                caps.tests
            );
            return Err(RequestError::new(Place::Field("verification.tests".to_owned()), Code::TooMany, message));
        }
        let source = self.output.clone();
        let program = match &suite.mode {
            Mode::Call { entrypoint } => Program::Call { source, entrypoint: entrypoint.clone() },
            Mode::Expression => Program::Expression { source },
            Mode::Stdio => Program::Stdio { source },
        };
        let submission = job(suite, program, caps, suite.tests.iter().map(|test| (test, &test.input)));
        let expected: Vec<_> =
            suite.tests.iter().filter_map(|test| Some((test, test.expected.expression()?))).collect();
        let expected = (!expected.is_empty()).then(|| job(suite, Program::Pristine, caps, expected.into_iter()));
        Ok(Plan { submission, expected })
    }
}

impl Expected {
    fn expression(&self) -> Option<&String> {
        match self {
            Expected::Expression(text) => Some(text),
            Expected::Json(_) | Expected::Text(..) | Expected::Value(_) => None,
        }
    }
}

fn job<'a>(suite: &Suite, program: Program, caps: &Caps, inputs: impl Iterator<Item = (&'a Test, &'a String)>) -> Job {
    let asked = &suite.limits;
    let case = |(test, input): (&Test, &String)| Case {
        input: input.clone(),
        timeout: test.timeout.or(asked.timeout).unwrap_or(DEFAULT_TIMEOUT).min(caps.timeout),
    };
    let limits = Limits {
        memory_mb: asked.memory_mb.unwrap_or(DEFAULT_MEMORY_MB).min(caps.memory_mb),
        total_timeout: asked.total_timeout.unwrap_or(DEFAULT_TOTAL_TIMEOUT).min(caps.total_timeout),
        output_bytes: asked.output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES).min(caps.output_bytes),
        processes: asked.processes.unwrap_or(DEFAULT_PROCESSES).min(caps.processes),
        disk_mb: asked.disk_mb.unwrap_or(DEFAULT_DISK_MB).min(caps.disk_mb),
    };
    Job { language: suite.language, runtime: suite.runtime.clone(), program, cases: inputs.map(case).collect(), limits }
}
