//! How much of a program its suite sees: mutants of a program that passes run through the same suite.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proofmark_checks::{
    Caps, CaseOutcome, Checks, End, Fault, Job, Language, Plan, Program, Request, RequestError, Suite, SuiteJudging,
};
use proofmark_evidence::Share;
use proofmark_mutation::{Drawn, LexError, METHOD, Place, Source, draw, is_load_error};
use proofmark_receipt::{Object, Sha256Digest, Status, object};
use proofmark_sandbox::{Watch, Worker};

/// Most mutants that are run of one program.
pub const MAX_MUTANTS: usize = 200;

/// How long mutants are run where nothing else is asked.
pub const DEFAULT_STRENGTH_TIME: Duration = Duration::from_secs(30);

/// A mutant's case may take so many times what the program itself took for it, and the grace besides.
const PATIENCE: u32 = 20;
const GRACE: Duration = Duration::from_millis(250);

/// Why the strength of a suite was not measured.
#[derive(Debug, thiserror::Error)]
pub enum StrengthError {
    /// The request cannot be planned.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// It has no suite with cases.
    #[error("measure the strength of the suite: it has no cases that run one by one")]
    NoCases,
    /// It has nothing to run.
    #[error("measure the strength of the suite: the submission has no program")]
    NoProgram,
    /// The program cannot be split into tokens.
    #[error("measure the strength of the suite: failed to {0}")]
    Tokens(#[from] LexError),
    /// The program itself does not pass, or passes only at times.
    #[error("measure the strength of the suite: the program does not pass the test `{0}`")]
    NotPassed(String),
    /// The sandbox could not run a case.
    #[error("measure the strength of the suite: a case could not be run ({0})")]
    Unavailable(String),
    /// It was cancelled.
    #[error("measure the strength of the suite: it was cancelled")]
    Cancelled,
}

impl StrengthError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Request(error) => error.help(),
            Self::NoCases => {
                Some("name a request with `tests` of the mode `call`, `expression` or `stdio`; leave `--strength` out for a project or for constraints".to_owned())
            }
            Self::NotPassed(_) => {
                Some("run `proofmark verify` with the same program, and repair it or the suite".to_owned())
            }
            Self::Unavailable(_) => Some("run `proofmark doctor`".to_owned()),
            Self::NoProgram | Self::Tokens(_) | Self::Cancelled => None,
        }
    }
}

/// What came of the mutants of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    /// How many ran: each is killed, survived or invalid.
    pub mutants: u64,
    /// How many failed a check, or took too long.
    pub killed: u64,
    pub survived: u64,
    /// How many did not load.
    pub invalid: u64,
    /// How many were drawn; more than ran where the time was over.
    pub drawn: u64,
    pub survivors: Vec<Survivor>,
}

/// A mutant that passes the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// The word for what it changes.
    pub class: &'static str,
    /// Where the change begins in the program.
    pub place: Place,
    /// The first line that differs, of the program and of the mutant.
    pub before: String,
    pub after: String,
}

impl Strength {
    /// The share of mutants that were killed, of those that loaded; none where none loaded.
    #[must_use]
    pub fn figure(&self) -> Option<Share> {
        Share::of(self.killed, self.killed + self.survived)
    }

    /// What a receipt says of it: `metadata.strength`. The survivors would show hidden tests.
    #[must_use]
    pub fn metadata(&self) -> Object {
        let mut metadata = object! {
            "method": METHOD,
            "mutants": self.mutants,
            "killed": self.killed,
            "survived": self.survived,
            "invalid": self.invalid,
        };
        if let Some(figure) = self.figure() {
            metadata.insert("figure", figure.to_string());
        }
        metadata
    }
}

/// Runs mutants of a program that passes through its own suite, for this long at most.
///
/// Which mutants those are depends on nothing but submission and suite; how many of them run depends on the time as well.
///
/// # Errors
/// Where the suite has no cases, or the program does not pass them.
pub fn strength(
    worker: &mut Worker,
    caps: &Caps,
    request: &Request,
    time: Duration,
    cancelled: &AtomicBool,
) -> Result<Strength, StrengthError> {
    let started = Instant::now();
    let Checks::Suite(suite) = &request.checks else { return Err(StrengthError::NoCases) };
    let Plan { submission, expected } = request.plan(caps)?;
    let job = submission.ok_or(StrengthError::NoProgram)?;
    let text = source_of(&job.program).ok_or(StrengthError::NoProgram)?.to_owned();
    let expected = expected.map(|job| worker.run(&job));
    let judging = request.suite_judging(job.limits, expected.as_ref()).ok_or(StrengthError::NoProgram)?;
    let source = Source { name: "submission", language: suite.language, text: &text };
    let drawn = draw(&[source], &seed(request), MAX_MUTANTS).map_err(|(_, error)| error)?;
    let mut trials = Trials::new(job, judging, cancelled);
    trials.run_unchanged(worker, suite)?;
    let mut strength = Strength { drawn: drawn.len() as u64, ..Strength::default() };
    for Drawn { mutant, .. } in drawn {
        if started.elapsed() >= time {
            break;
        }
        strength.mutants += 1;
        match trials.run(worker, mutant.apply(&text))? {
            Fate::KilledBy(_) => strength.killed += 1,
            Fate::Invalid => strength.invalid += 1,
            Fate::Survived => {
                strength.survived += 1;
                let (before, after) = mutant.lines(&text);
                let (before, place) = (before.to_owned(), mutant.place(&text));
                strength.survivors.push(Survivor { class: mutant.class.as_str(), place, before, after });
            }
        }
    }
    strength.survivors.sort_by_key(|survivor| survivor.place);
    Ok(strength)
}

/// What the mutants are drawn by: what a receipt has of submission and suite, so that anyone draws the same.
fn seed(request: &Request) -> Vec<u8> {
    let tests = request.hashes.tests.as_ref().map(Sha256Digest::to_string).unwrap_or_default();
    format!("{METHOD} {} {tests}", request.hashes.output).into_bytes()
}

fn source_of(program: &Program) -> Option<&str> {
    match program {
        Program::Call { source, .. } | Program::Expression { source } | Program::Stdio { source } => Some(source),
        Program::Pristine | Program::Command(_) => None,
    }
}

fn with_source(program: &Program, source: String) -> Program {
    match program {
        Program::Call { entrypoint, .. } => Program::Call { source, entrypoint: entrypoint.clone() },
        Program::Expression { .. } => Program::Expression { source },
        Program::Stdio { .. } => Program::Stdio { source },
        other @ (Program::Pristine | Program::Command(_)) => other.clone(),
    }
}

/// The suite, as mutants run through it.
struct Trials<'a> {
    /// Runs the program itself.
    job: Job,
    judging: SuiteJudging<'a>,
    cancelled: &'a AtomicBool,
    /// The tests, those first that have killed most mutants.
    order: Vec<usize>,
    kills: Vec<u64>,
}

impl<'a> Trials<'a> {
    fn new(job: Job, judging: SuiteJudging<'a>, cancelled: &'a AtomicBool) -> Trials<'a> {
        let order = Vec::from_iter(0..job.cases.len());
        let kills = vec![0; job.cases.len()];
        Trials { job, judging, cancelled, order, kills }
    }

    /// Runs the program itself, which has to pass. What it takes bounds what its mutants may take.
    fn run_unchanged(&mut self, worker: &mut Worker, suite: &Suite) -> Result<(), StrengthError> {
        let mut took = Vec::with_capacity(self.job.cases.len());
        self.run_cases(worker, self.job.clone(), &mut |test, case| {
            took.push(case.elapsed);
            if self.passes(test, case)? {
                return Ok(Next::Case);
            }
            let name = suite.tests.get(test).map(|test| test.name.clone());
            Err(StrengthError::NotPassed(name.unwrap_or_default()))
        })?;
        for (case, took) in self.job.cases.iter_mut().zip(took) {
            case.timeout = case.timeout.min(took.saturating_mul(PATIENCE) + GRACE);
        }
        Ok(())
    }

    /// Runs one mutant up to the first check that it does not pass.
    fn run(&mut self, worker: &mut Worker, source: String) -> Result<Fate, StrengthError> {
        let cases = self.order.iter().filter_map(|test| self.job.cases.get(*test).cloned()).collect();
        let job = Job { program: with_source(&self.job.program, source), cases, ..self.job.clone() };
        let mut fate = Fate::Survived;
        self.run_cases(worker, job, &mut |position, case| {
            let test = self.order.get(position).copied().unwrap_or(position);
            if self.passes(test, case)? {
                return Ok(Next::Case);
            }
            fate = if loads(self.job.language, case) { Fate::KilledBy(test) } else { Fate::Invalid };
            Ok(Next::Nothing)
        })?;
        if let Fate::KilledBy(test) = fate {
            self.kills.get_mut(test).into_iter().for_each(|kills| *kills += 1);
            // A stable sort: of tests that have killed as many, the first of the suite comes first.
            self.order.sort_by_key(|test| Reverse(self.kills.get(*test).copied()));
        }
        Ok(fate)
    }

    fn passes(&self, test: usize, case: &CaseOutcome) -> Result<bool, StrengthError> {
        match (self.judging.look(test, case), &case.end) {
            (Some((Status::Pass, _)), _) => Ok(true),
            (Some((_, Some(Fault::Verifier))), End::Unavailable(why)) => Err(StrengthError::Unavailable(why.clone())),
            (Some((_, Some(Fault::Verifier))) | None, _) => {
                Err(StrengthError::Unavailable("its expected value is not known".to_owned()))
            }
            (Some(_), _) => Ok(false),
        }
    }

    /// Runs the cases of a job one by one, for as long as `each` wants another.
    fn run_cases(
        &self,
        worker: &mut Worker,
        job: Job,
        each: &mut dyn FnMut(usize, &CaseOutcome) -> Result<Next, StrengthError>,
    ) -> Result<(), StrengthError> {
        let stop = Arc::new(AtomicBool::new(false));
        let watch = Watch { cancelled: &stop, ran: &|_| {}, offer: &|_| {} };
        let mut next = Ok(Next::Case);
        let mut position = 0;
        worker.run_each(&Arc::new(job), &watch, &mut |case| {
            if matches!(next, Ok(Next::Case)) {
                let is_cancelled = self.cancelled.load(Ordering::Relaxed);
                next = if is_cancelled { Err(StrengthError::Cancelled) } else { each(position, &case) };
            }
            // The cases that follow do not start then.
            stop.store(!matches!(next, Ok(Next::Case)), Ordering::Relaxed);
            position += 1;
        });
        next.map(|_| ())
    }
}

/// What runs after a case.
enum Next {
    Case,
    Nothing,
}

/// What came of one mutant.
enum Fate {
    /// By the test with this index.
    KilledBy(usize),
    Survived,
    Invalid,
}

/// Whether a program that did not pass a case was loaded before it.
fn loads(language: Language, case: &CaseOutcome) -> bool {
    match &case.end {
        // The call itself raised nothing: it did not begin.
        End::Raised { types, kind, .. } => !types.is_empty() && !is_load_error(language, kind),
        // The interpreter says so on its standard error, and the program has said nothing.
        End::Exit(_) | End::NoAnswer(_) => {
            !is_load_error(language, &String::from_utf8_lossy(&case.written.stderr.bytes))
        }
        _ => true,
    }
}
