//! From a request to the jobs it asks for.

use std::borrow::Cow;
use std::path::{Component, Path};

use proofmark_receipt::document::shown;
use proofmark_receipt::json::Json;

use crate::caps::{
    Caps, DEFAULT_DISK_MB, DEFAULT_MEMORY_MB, DEFAULT_OUTPUT_BYTES, DEFAULT_PROCESSES, DEFAULT_TIMEOUT,
    DEFAULT_TOTAL_TIMEOUT,
};
use crate::command::{Command, DEFAULT_COMMAND_MEMORY_MB, DEFAULT_COMMAND_PROCESSES, Packages, own_modules};
use crate::counter::CounterRun;
use crate::files::DEFAULT_COMMAND_DISK_MB;
use crate::job::{Case, Job, Limits, Need, Program, Project};
use crate::reporting::{Report, Runner};
use crate::request::{Checks, Code, Place, Request, RequestError};
use crate::suite::{Expected, Mode, Suite, Test};

/// The jobs that a request needs: none for constraints, for a project that cannot be laid out, or for a submission without a
/// program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Runs the submission on the inputs, or the command of a project. Holds nothing of what is expected.
    pub submission: Option<Job>,
    /// Evaluates the expected expressions that are not plain literals, apart from the submission.
    pub expected: Option<Job>,
}

impl Request {
    /// Plans the jobs, with every limit lowered to the host's caps.
    ///
    /// # Errors
    ///
    /// [`RequestError`] where the suite has more tests than the host allows, or the command asks to read what it may not.
    pub fn plan(&self, caps: &Caps) -> Result<Plan, RequestError> {
        match &self.checks {
            Checks::Suite(suite) => plan_suite(suite, &self.output, caps),
            Checks::Command(command) => plan_command(command, caps),
            Checks::Constraints { .. } => Ok(Plan::default()),
        }
    }

    /// Plans the two jobs of a counter-run.
    ///
    /// # Errors
    ///
    /// [`RequestError`] as for [`Request::plan`].
    pub fn plan_counter(&self, counter: &CounterRun, caps: &Caps) -> Result<[Job; 2], RequestError> {
        let [first, second] = &counter.sides;
        let job = |side| {
            let Plan { submission, .. } = plan_command(side, caps)?;
            submission.ok_or_else(|| {
                let place = Place::Field("verification.counter_run".to_owned());
                RequestError::new(place, Code::ConflictingFields, "the command cannot run")
            })
        };
        Ok([job(first)?, job(second)?])
    }
}

fn plan_suite(suite: &Suite, output: &str, caps: &Caps) -> Result<Plan, RequestError> {
    if suite.tests.len() > caps.tests {
        // Not lowered like the limits: the verdict would be that of another suite.
        let message = format!("{} tests are more than the {} this host allows", suite.tests.len(), caps.tests);
        let place = Place::Field("verification.tests".to_owned());
        return Err(RequestError::new(place, Code::TooMany, message).with_help("split the suite"));
    }
    let Ok(source) = suite.program(output) else { return Ok(Plan::default()) };
    let source = source.to_owned();
    let program = match &suite.mode {
        Mode::Call { entrypoint } => Program::Call { source, entrypoint: entrypoint.clone() },
        Mode::Expression => Program::Expression { source },
        Mode::Stdio => Program::Stdio { source },
    };
    let submission = Some(job(suite, program, caps, suite.tests.iter().map(|test| (test, given(test)))));
    let expected: Vec<_> =
        suite.tests.iter().filter_map(|test| Some((test, Cow::from(Test::expression(test)?)))).collect();
    let expected = (!expected.is_empty()).then(|| job(suite, Program::Pristine, caps, expected.into_iter()));
    Ok(Plan { submission, expected })
}

fn plan_command(command: &Command, caps: &Caps) -> Result<Plan, RequestError> {
    let allowed = |path: &String| {
        let path = Path::new(path);
        // `starts_with` compares name by name and keeps `..`: `/data/../etc` would count as below `/data`.
        let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        plain && caps.readable.iter().any(|allowed| path.starts_with(allowed))
    };
    if let Some(index) = command.readable.iter().position(|path| !allowed(path)) {
        let place = Place::Field(format!("verification.readable[{index}]"));
        let error = RequestError::new(place, Code::Unsupported, "this host does not let commands read the path");
        return Err(error.with_help("leave it out, or allow it with `--readable`"));
    }
    if command.unusable.is_some() {
        return Ok(Plan::default());
    }
    let (folders, locked) = match (&command.packages, &caps.locked) {
        (Packages::None, _) => (Vec::new(), None),
        (Packages::Installed, _) => (caps.packages.clone(), None),
        (Packages::Lock(_), Some(locked)) => (locked.folders.clone(), Some(locked.clone())),
        (Packages::Lock(_), None) => {
            let place = Place::Field("verification.packages".to_owned());
            let error = RequestError::new(place, Code::Unsupported, "nothing was installed from the lock file");
            return Err(error.with_help("write `packages: true`"));
        }
    };
    if let Report::File(report) = &command.report
        && let Some(folder) = folders.iter().find(|folder| Path::new(report).starts_with(&folder.at))
    {
        // A file that is there before the run is not a report of the run.
        let message = format!("the report is in `{}`, which the command cannot write", shown(&folder.at));
        let place = Place::Field("verification.report".to_owned());
        return Err(RequestError::new(place, Code::ConflictingFields, message).with_help("write it elsewhere"));
    }
    let asked = &command.limits;
    let timeout = command.timeout().min(caps.total_timeout);
    let limits = Limits {
        memory_mb: asked.memory_mb.unwrap_or(DEFAULT_COMMAND_MEMORY_MB).min(caps.command_memory_mb),
        total_timeout: timeout,
        output_bytes: asked.output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES).min(caps.output_bytes),
        processes: asked.processes.unwrap_or(DEFAULT_COMMAND_PROCESSES).min(caps.command_processes),
        disk_mb: asked.disk_mb.unwrap_or(DEFAULT_COMMAND_DISK_MB).min(caps.command_disk_mb),
    };
    let program = Program::Command(Box::new(Project {
        files: command.files.clone(),
        arguments: command.arguments.clone(),
        report: match &command.report {
            Report::File(path) => Some(path.clone()),
            Report::Stdout(_) | Report::ExitStatus => None,
        },
        tells_tests: command.runner.is_some_and(Runner::tells_tests),
        needs: needs(command),
        packages: command.packages != Packages::None,
        locked,
        modules: command.language.has_packages().then(|| own_modules(&command.files)),
        origin: caps.origin.clone(),
        folders,
        readable: command.readable.clone(),
        env: command.env.clone(),
    }));
    let cases = vec![Case { input: String::new(), timeout }];
    let (language, runtime) = (command.language, command.runtime.clone());
    let job = Job { language, runtime, packages: Vec::new(), program, cases, limits };
    Ok(Plan { submission: Some(job), expected: None })
}

/// The first version of Node.js whose `--test` writes TAP when it is told to.
const NODE_WITH_REPORTERS: [u32; 2] = [18, 15];

/// What the command cannot run without.
fn needs(command: &Command) -> Option<Need> {
    match command.runner {
        Some(Runner::Pytest) => Some(Need::Package("pytest")),
        Some(Runner::NodeTest) => Some(Need::Version(NODE_WITH_REPORTERS)),
        // What lacks these says so itself: their programs and packages are those of the host's `/usr`.
        Some(Runner::Unittest | Runner::Rspec | Runner::Minitest | Runner::Bats) => None,
        Some(Runner::Jest | Runner::Vitest | Runner::Mocha | Runner::Tap | Runner::Tape | Runner::Ava) | None => {
            command.script.clone().map(Need::Script)
        }
    }
}

impl Test {
    /// The expression whose value is expected.
    fn expression(&self) -> Option<&str> {
        match &self.expected {
            Expected::Expression(text) => Some(text),
            Expected::Json(_) | Expected::Text(..) | Expected::Value(_) | Expected::Raises(_) => None,
        }
    }
}

/// What the program is given: the input, or all that a call takes besides positional arguments.
fn given(test: &Test) -> Cow<'_, str> {
    if test.kwargs.is_empty() && test.construct.is_none() {
        return Cow::Borrowed(&test.input);
    }
    let kwargs = Json::from(test.kwargs.clone()).to_text();
    // All three are JSON, and copying them as text is cheaper than reading them.
    let construct = test.construct.as_ref().map(|arguments| format!(r#","construct":{arguments}"#)).unwrap_or_default();
    Cow::Owned(format!(r#"{{"args":{},"kwargs":{kwargs}{construct}}}"#, test.input))
}

fn job<'a>(
    suite: &Suite,
    program: Program,
    caps: &Caps,
    inputs: impl Iterator<Item = (&'a Test, Cow<'a, str>)>,
) -> Job {
    let asked = &suite.limits;
    let limits = Limits {
        memory_mb: asked.memory_mb.unwrap_or(DEFAULT_MEMORY_MB).min(caps.memory_mb),
        total_timeout: asked.total_timeout.unwrap_or(DEFAULT_TOTAL_TIMEOUT).min(caps.total_timeout),
        output_bytes: asked.output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES).min(caps.output_bytes),
        processes: asked.processes.unwrap_or(DEFAULT_PROCESSES).min(caps.processes),
        disk_mb: asked.disk_mb.unwrap_or(DEFAULT_DISK_MB).min(caps.disk_mb),
    };
    Job {
        language: suite.language,
        runtime: suite.runtime.clone(),
        packages: suite.packages.clone(),
        program,
        cases: inputs
            .map(|(test, input)| Case {
                input: input.into_owned(),
                timeout: test.timeout.or(asked.timeout).unwrap_or(DEFAULT_TIMEOUT).min(caps.timeout),
            })
            .collect(),
        limits,
    }
}
