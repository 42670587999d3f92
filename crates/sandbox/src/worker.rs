//! Runs jobs, one leaf a case.

mod answer;
mod command;
mod expression;
mod launched;
mod shared;
mod trial;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proofmark_checks::{Case, CaseOutcome, End, Job, Limits, MAX_WRITTEN_BYTES, Outcome, Program, Written};

use crate::cell::{Blueprint, Body, Cell, CellError, Ground};
use crate::filter::{Audience, Counted};
use crate::groups::Group;
use crate::host::{Host, Inner};
use crate::level::Level;
use crate::program;
use crate::runtime::Runtime;
use crate::sys::{self, Exit};
use crate::toolchain;
use crate::tree::Tree;
use crate::watch::{Bounds, Input, Output, Why, finish, finish_tail, watch};
use crate::zygote::{LeafLimits, Zygote, ZygoteError};
use answer::{nonzero, one_answer, read_frame, without_answer};
use launched::{Kind, Role, Start};
pub use shared::SharedJob;

/// Of a command's standard error only the end is kept, for the message.
const STDERR_KEPT: usize = 4096;

/// How much all answers of a pristine process may have together.
const MAX_PRISTINE_BYTES: usize = 64 << 20;

/// What counts as the user's processes beside a leaf's: the zygote and its init.
const OWN_PROCESSES: u64 = 2;

/// How much an answer may be framed by, beyond the value itself.
const FRAME_SLACK: usize = 32 << 10;

/// Runs jobs one after another in this thread. Not shared between threads: its
/// warm interpreters die with the thread that started them.
pub struct Worker {
    host: Arc<Inner>,
    slot: u32,
    /// What runs jobs, or why nothing does; none before the first job.
    backend: Option<Result<Backend, String>>,
    /// Keeps the worker in its thread.
    _thread_bound: PhantomData<*const ()>,
}

impl Host {
    /// A worker for the calling thread.
    pub fn worker(&self) -> Worker {
        Worker::new(Arc::clone(&self.inner), self.inner.next_slot())
    }
}

impl Worker {
    fn new(host: Arc<Inner>, slot: u32) -> Worker {
        Worker { host, slot, backend: None, _thread_bound: PhantomData }
    }

    fn backend(&mut self) -> &mut Result<Backend, String> {
        self.backend.get_or_insert_with(|| {
            let (level, ground) = self.host.tested().clone()?;
            let (host, slot) = (Arc::clone(&self.host), self.slot);
            let (zygotes, stops) = (HashMap::new(), Vec::new());
            Ok(Backend { host, level, ground, slot, group: None, zygotes, asked: 0, stops })
        })
    }

    /// Runs every case of the job, each in a process of its own (but for
    /// [`Program::Pristine`], one for all), and answers what each returned.
    ///
    /// Nothing it starts survives the call, save warm processes that hold nothing
    /// of a submission.
    pub fn run(&mut self, job: &Job) -> Outcome {
        let watch = Watch { cancelled: &Arc::default(), ran: &|_| {}, offer: &|_| {} };
        self.run_watched(&Arc::new(job.clone()), &watch)
    }

    /// Runs the job as [`Worker::run`] does, but for as long as it is wanted:
    /// once it is cancelled, what runs is killed and no further case starts. The
    /// cases it did not come to are [`End::Unavailable`], so a cancelled outcome
    /// is of no use.
    pub fn run_watched(&mut self, job: &Arc<Job>, watch: &Watch<'_>) -> Outcome {
        let mut cases = Vec::with_capacity(job.cases.len());
        let outcome = self.run_each(job, watch, &mut |case| cases.push(case));
        Outcome { cases, ..outcome }
    }

    /// As [`Worker::run_watched`], but `each` gets the cases, in their order and as soon as those before them have ended, and
    /// the outcome has none.
    pub fn run_each(&mut self, job: &Arc<Job>, watch: &Watch<'_>, each: &mut dyn FnMut(CaseOutcome)) -> Outcome {
        match self.backend() {
            Ok(backend) => {
                backend.stops = vec![Arc::clone(watch.cancelled)];
                backend.run(job, watch, each)
            }
            Err(lacking) => unavailable(job, String::new(), lacking, each),
        }
    }
}

/// How a job is followed and cancelled while it runs.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Set to true, from any thread, it ends the job.
    pub cancelled: &'a Arc<AtomicBool>,
    /// Called after each case with how many have ended so far.
    pub ran: &'a dyn Fn(usize),
    /// Called before the first case of a job that other workers may join ([`Worker::join`]).
    pub offer: &'a dyn Fn(&Arc<SharedJob>),
}

/// A worker on a host that can isolate.
struct Backend {
    /// The control group of its cases, where the host has any. The first to go: it
    /// stands in a folder that goes with the ground.
    group: Option<Group>,
    host: Arc<Inner>,
    level: Level,
    ground: Arc<Ground>,
    slot: u32,
    zygotes: HashMap<Kind, Zygote>,
    /// How many leaves the cases need that this worker was asked to run.
    asked: usize,
    /// Each of them, once set, ends the case at hand.
    stops: Vec<Arc<AtomicBool>>,
}

impl Backend {
    fn run(&mut self, job: &Arc<Job>, watch: &Watch<'_>, each: &mut dyn FnMut(CaseOutcome)) -> Outcome {
        let runtime = match self.runtime(job) {
            Ok(runtime) => runtime,
            Err((name, why)) => return unavailable(job, name, &why, each),
        };
        if let Err(why) = self.prepare(&runtime, job) {
            return unavailable(job, runtime.name, &why, each);
        }
        match &job.program {
            Program::Pristine => {
                let cases = self.run_pristine(&runtime, job, Instant::now() + job.limits.total_timeout);
                (watch.ran)(cases.len());
                cases.into_iter().for_each(each);
            }
            Program::Call { .. } | Program::Expression { .. } | Program::Stdio { .. } | Program::Command(_) => {
                self.run_cases(&runtime, job, watch, each);
            }
        }
        let mut isolation = self.level.mechanisms(self.ground.landlock > 0);
        if self.group.is_some() {
            isolation.push("control-group".to_owned());
        }
        self.end_cases();
        if matches!(job.program, Program::Command(_)) {
            isolation.extend(["loopback", "host-programs"].map(str::to_owned));
        }
        if job.limits.disk_mb > 0 {
            isolation.push(format!("private-tmp:{}m", job.limits.disk_mb));
        }
        let environment = matches!(job.program, Program::Command(_)).then(|| runtime.importable());
        Outcome { runtime: runtime.name, isolation, limits: job.limits, environment, cases: Vec::new() }
    }

    /// The runtime of a job. The error is the name of the one that cannot run it, and the reason.
    fn runtime(&self, job: &Job) -> Result<Runtime, (String, String)> {
        let runtimes = &self.host.runtimes;
        let found = runtimes.find(job.language, job.runtime.as_deref(), self.host.reach());
        let found = found.ok_or_else(|| (String::new(), missing(&self.host, job)))?;
        let name = found.name.clone();
        let lacks = |why: &str| Err((name.clone(), why.to_owned()));
        let runtime = match found.with_packages(&job.packages, self.level.has_namespaces()) {
            Ok(runtime) => runtime.loading_for(job),
            Err(error) => return lacks(&format!("failed to {error}")),
        };
        let runtime = match &job.program {
            Program::Command(project) => runtime.with_environment(project),
            _ => Ok(runtime),
        };
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return lacks(&format!("failed to {error}")),
        };
        if job.limits.disk_mb > 0 && !self.level.has_namespaces() {
            return lacks(NO_DISK);
        }
        let is_whole = matches!(job.program, Program::Stdio { .. });
        if is_whole && !runtime.toolchain().extension.is_empty() && !self.level.has_namespaces() {
            return lacks(NO_NAME);
        }
        Ok(runtime)
    }

    /// Makes what all cases of a job need. A case's clock does not count what only its first pays for.
    fn prepare(&mut self, runtime: &Runtime, job: &Job) -> Result<(), String> {
        self.limit_group(runtime, &job.limits).map_err(|error| format!("failed to limit a control group ({error})"))?;
        let leaves = if matches!(job.program, Program::Expression { .. }) { expression::LEAVES } else { 1 };
        self.asked += job.cases.len().saturating_mul(leaves);
        self.warm_up(runtime, &job.program, &job.limits).map_err(|error| format!("failed to {error}"))
    }

    /// Sets the limits of the job where the kernel counts.
    fn limit_group(&mut self, runtime: &Runtime, limits: &Limits) -> io::Result<()> {
        if let (Ok(groups), None) = (&self.ground.groups, &self.group) {
            self.group = Some(groups.group(&self.slot.to_string())?);
        }
        let Some(group) = &mut self.group else { return Ok(()) };
        group.limit(limits, program::tasks(runtime.toolchain(), limits))
    }

    /// Ends what cases may have left, and empties the files that held the submission.
    fn end_cases(&mut self) {
        self.forget_submission();
        self.group.iter().for_each(Group::end);
    }

    fn run_case(&mut self, runtime: &Runtime, job: &Job, case: &Case, end: Instant) -> CaseOutcome {
        let started = Instant::now();
        let not_run = |end| {
            let (elapsed, timeout, written) = (Duration::ZERO, case.timeout, Written::default());
            CaseOutcome { end, elapsed, timeout, written, inside: None }
        };
        if self.is_cancelled() {
            return not_run(End::Unavailable(CANCELLED.to_owned()));
        }
        if started >= end {
            return not_run(End::TotalTimeout);
        }
        let deadline = (started + case.timeout).min(end);
        let mut inside = None;
        let result = match &job.program {
            Program::Command(project) => self.run_project(runtime, job, project, deadline),
            Program::Stdio { source } => self.run_whole(runtime, job, source, &case.input, deadline),
            Program::Call { source, entrypoint } => {
                let frame = frame("call", &[source, entrypoint, &case.input]);
                self.run_harness(runtime, &job.limits, frame, deadline)
                    .map(|leaf| one_answer(leaf, runtime.toolchain()))
            }
            Program::Expression { source } => {
                self.run_expression(runtime, job, source, &case.input, deadline, &mut inside)
            }
            Program::Pristine => {
                let why = "failed to plan: a pristine job has no single case".to_owned();
                Ok((End::Unavailable(why), Written::default()))
            }
        };
        let (found, written) = match result {
            Ok(ended) => ended,
            Err(error) => (End::Unavailable(format!("failed to {error}")), Written::default()),
        };
        // A command is the only case of its job, whose time is its own.
        let shared = !matches!(job.program, Program::Command(_));
        let found = if shared && found == End::Timeout && deadline == end { End::TotalTimeout } else { found };
        CaseOutcome { end: found, elapsed: started.elapsed(), timeout: case.timeout, written, inside }
    }

    fn run_pristine(&mut self, runtime: &Runtime, job: &Job, end: Instant) -> Vec<CaseOutcome> {
        if self.is_cancelled() {
            return not_run(job, CANCELLED).collect();
        }
        let started = Instant::now();
        let inputs: Vec<&str> = job.cases.iter().map(|case| case.input.as_str()).collect();
        let patience = job.cases.iter().map(|case| case.timeout).sum();
        let output_bytes = job.limits.output_bytes.saturating_mul(inputs.len()).min(MAX_PRISTINE_BYTES);
        let limits = Limits { output_bytes, ..job.limits };
        let leaf = self.run_harness(runtime, &limits, frame("pristine", &inputs), (started + patience).min(end));
        let elapsed = started.elapsed();
        let leaf = match leaf {
            Ok(leaf) => leaf,
            Err(error) => return not_run(job, &format!("failed to {error}")).collect(),
        };
        let mut frames = leaf.bytes.split_inclusive(|byte| *byte == b'\n');
        let mut next = || match frames.next() {
            Some(line) => read_frame(line, runtime.toolchain()),
            None => without_answer(&leaf, runtime.toolchain()),
        };
        job.cases
            .iter()
            .map(|case| CaseOutcome {
                end: next(),
                elapsed,
                timeout: case.timeout,
                // No submission wrote it.
                written: Written::default(),
                inside: None,
            })
            .collect()
    }

    /// One leaf that reads a framed job and writes framed answers.
    fn run_harness(
        &mut self,
        runtime: &Runtime,
        limits: &Limits,
        job: Vec<u8>,
        deadline: Instant,
    ) -> Result<Exited, ZygoteError> {
        let started = Instant::now();
        if self.forks_warm(runtime, limits) {
            // A fresh interpreter has seen nothing of the failure.
            let gone = self.run_warm(runtime, limits, &job, deadline);
            let gone = gone.or_else(|_first| self.run_warm(runtime, limits, &job, deadline));
            if runtime.toolchain().trial.is_none() || gone.as_ref().is_ok_and(Exited::is_conclusive) {
                return gone;
            }
        }
        // A fork that gave no answer takes no time from the fresh interpreter that runs its case.
        let deadline = deadline + started.elapsed();
        let (mut pipes, [job_out, result_in, stdout, stderr]) = Pipes::open(job, limits)?;
        let fds = vec![program::null(false)?, stdout, stderr, job_out, result_in];
        let running = self.begin(&Start { runtime, limits, deadline, source: None }, fds)?;
        let why = watch(running.pidfd(), &mut pipes.input, &mut pipes.outputs, &self.bounds(limits, deadline))?;
        let exit = self.end(running, why)?;
        Ok(pipes.exited(why, exit))
    }

    fn forks_warm(&self, runtime: &Runtime, limits: &Limits) -> bool {
        let toolchain = runtime.toolchain();
        let is_able = toolchain.trial.is_none() || self.host.trials.outcome(runtime) == Some(true);
        toolchain.forks && is_able && limits.disk_mb == 0 && self.level.has_namespaces()
    }

    /// Whether the cases of a program are forks of a warm interpreter.
    fn runs_warm(&self, runtime: &Runtime, program: &Program, limits: &Limits) -> bool {
        has_harness(program) && self.forks_warm(runtime, limits)
    }

    fn warm_up(&mut self, runtime: &Runtime, program: &Program, limits: &Limits) -> Result<(), ZygoteError> {
        let is_harness = has_harness(program);
        if is_harness && limits.disk_mb == 0 && self.level.has_namespaces() {
            self.try_to_fork(runtime);
        }
        if self.runs_warm(runtime, program, limits) {
            match self.take_zygote(runtime) {
                Ok(zygote) => drop(self.zygotes.insert(Kind::of(runtime, Role::Harness), zygote)),
                // Its cases get a fresh interpreter each.
                Err(_) if runtime.toolchain().trial.is_some() => {}
                Err(error) => return Err(error),
            }
        } else if self.launches(limits) && !matches!(program, Program::Command(_)) {
            let role = if is_harness { Role::LaunchedHarness } else { Role::LaunchedProgram };
            let launcher = self.take_launcher(runtime, role)?;
            self.zygotes.insert(Kind::of(runtime, role), launcher);
        }
        Ok(())
    }

    fn take_zygote(&mut self, runtime: &Runtime) -> Result<Zygote, ZygoteError> {
        match self.zygotes.remove(&Kind::of(runtime, Role::Harness)) {
            Some(zygote) if !zygote.is_worn() => Ok(zygote),
            Some(_) | None => {
                self.forget_packages(Role::Harness);
                Zygote::start(runtime, self.level, self.slot, &self.ground)
            }
        }
    }

    fn run_warm(
        &mut self,
        runtime: &Runtime,
        limits: &Limits,
        job: &[u8],
        deadline: Instant,
    ) -> Result<Exited, ZygoteError> {
        // It is out of the map while in use: an error on the way drops it, and with it
        // whatever state it was in.
        let mut zygote = self.take_zygote(runtime)?;
        let (mut pipes, theirs) = Pipes::open(job.to_vec(), limits)?;
        let leaf_limits = LeafLimits {
            data_bytes: program::data_bytes(runtime.toolchain(), limits),
            processes: u64::from(limits.processes) + runtime.toolchain().threads + OWN_PROCESSES,
            cpu_seconds: cpu_seconds(deadline),
            waits: false,
        };
        // Where the kernel counts, a leaf gets its job only once it is counted.
        if self.group.is_none() {
            pipes.input.feed();
        }
        let leaf = zygote.fork(&leaf_limits, &theirs)?;
        let apart = leaf.apart.as_ref().and_then(sys::pid_of);
        if let Some(group) = &self.group {
            // It waits for its job, so it is there. One that is not counted must not get it.
            let pid = apart.or_else(|| sys::pid_of(&leaf.pidfd));
            group.admit(pid.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?)?;
        }
        drop(theirs);
        let bounds = Bounds { watches_init: apart.is_some(), apart, ..self.bounds(limits, deadline) };
        let why = watch(&leaf.pidfd, &mut pipes.input, &mut pipes.outputs, &bounds)?;
        let exit = zygote.reaped()?;
        if why != Why::Stuck {
            self.zygotes.insert(Kind::of(runtime, Role::Harness), zygote);
        }
        Ok(pipes.exited(why, exit))
    }

    /// The submission as a whole program between standard input and output.
    fn run_whole(
        &mut self,
        runtime: &Runtime,
        job: &Job,
        source: &str,
        input: &str,
        deadline: Instant,
    ) -> Result<(End, Written), ZygoteError> {
        let (stdin, stdin_in) = sys::pipe()?;
        let (stdout_out, stdout) = sys::pipe()?;
        let (stderr_out, stderr) = sys::pipe()?;
        let mut outputs =
            [Output::fatal_past(job.limits.output_bytes, stdout_out)?, Output::last(MAX_WRITTEN_BYTES, stderr_out)?];
        let mut input = Input::new(stdin_in, input.as_bytes().to_vec())?;
        let start = Start { runtime, limits: &job.limits, deadline, source: Some(source) };
        let running = self.begin(&start, vec![stdin, stdout, stderr])?;
        let why = watch(running.pidfd(), &mut input, &mut outputs, &self.bounds(&job.limits, deadline))?;
        let exit = self.end(running, why)?;
        let [stdout, stderr] = outputs;
        let stderr = finish_tail(stderr);
        if (why, exit) == (Why::Ended, Exit::Code(0)) {
            return Ok((End::Text(finish(stdout)), Written { stderr, ..Written::default() }));
        }
        let end = match (why, exit) {
            (Why::Ended, Exit::Code(code)) => nonzero(code, &stderr.bytes),
            (Why::Ended, Exit::Signal(signal)) => End::Signal(signal),
            (Why::Deadline, _) => End::Timeout,
            (Why::Memory, _) => End::MemoryLimit,
            (Why::Output, _) => End::OutputLimit,
            (Why::Cancelled, _) => End::Unavailable(CANCELLED.to_owned()),
            (Why::Stuck, _) => End::Unavailable(STUCK.to_owned()),
        };
        Ok((end, Written { stdout: finish_tail(stdout), stderr, ..Written::default() }))
    }

    fn is_cancelled(&self) -> bool {
        self.stops.iter().any(|stop| stop.load(Ordering::Relaxed))
    }

    fn bounds(&self, limits: &Limits, deadline: Instant) -> Bounds<'_> {
        let memory_bytes = u64::from(limits.memory_mb) << 20;
        Bounds {
            deadline,
            memory_bytes,
            group: self.group.as_ref(),
            kill_signal: self.level.kill_signal(),
            watches_init: true,
            apart: None,
            is_command: false,
            stops: &self.stops,
        }
    }

    fn counted(&self) -> Counted {
        match (&self.group, self.ground.landlock) {
            (Some(_), _) => Counted::ByKernel,
            (None, 0) => Counted::WithoutSharing,
            (None, _) => Counted::ByUs,
        }
    }

    fn start_body(
        &self,
        runtime: &Runtime,
        limits: &Limits,
        body: &Body<'_>,
        tree: &Tree,
        fds: &[OwnedFd],
        deadline: Instant,
    ) -> Result<Cell, CellError> {
        let is_command = matches!(body, Body::Project { .. });
        let rlimits = if is_command { program::command_limits } else { program::limits };
        let rlimits = rlimits(runtime.toolchain(), limits, self.level, cpu_seconds(deadline));
        let blueprint = Blueprint {
            level: self.level,
            slot: self.slot,
            tree,
            disk_mb: limits.disk_mb,
            limits: &rlimits,
            audience: if is_command { Audience::Command(self.counted()) } else { Audience::Submission },
            ground: &self.ground,
            group: self.group.as_ref(),
        };
        Cell::start(&blueprint, body, fds)
    }
}

const NO_DISK: &str = "failed to give the submission a place to write: isolation level C has no disk; leave `limits.disk_mb` out, \
    or verify where level A or B is available";

const NO_NAME: &str = "failed to name the submission's file as its language needs it: isolation level C has no files of its own; \
    use the mode `call` or `expression`, or verify where level A or B is available";

const STUCK: &str = "failed to end a killed process in time: the host is out of order";

const CANCELLED: &str = "failed to run it to its end: it was cancelled";

/// The supervisor's ends of the pipes of a leaf that runs a harness.
struct Pipes {
    input: Input,
    /// The answer, standard output and standard error.
    outputs: [Output; 3],
}

impl Pipes {
    /// New pipes, the first with the job in it; and the leaf's ends: the job, the answer, standard output and error.
    fn open(job: Vec<u8>, limits: &Limits) -> io::Result<(Pipes, [OwnedFd; 4])> {
        let (job_out, job_in) = sys::pipe()?;
        let (result_out, result_in) = sys::pipe()?;
        let (stdout_out, stdout_in) = sys::pipe()?;
        let (stderr_out, stderr_in) = sys::pipe()?;
        let outputs = [
            Output::fatal_past(limits.output_bytes + FRAME_SLACK, result_out)?,
            Output::last(MAX_WRITTEN_BYTES, stdout_out)?,
            Output::last(MAX_WRITTEN_BYTES, stderr_out)?,
        ];
        Ok((Pipes { input: Input::new(job_in, job)?, outputs }, [job_out, result_in, stdout_in, stderr_in]))
    }

    fn exited(self, why: Why, exit: Exit) -> Exited {
        let [result, stdout, stderr] = self.outputs;
        let written = Written { stdout: finish_tail(stdout), stderr: finish_tail(stderr), ..Written::default() };
        Exited { why, exit, bytes: finish(result), written }
    }
}

/// A leaf that has ended.
struct Exited {
    why: Why,
    exit: Exit,
    bytes: Vec<u8>,
    written: Written,
}

impl Exited {
    /// Whether it answered, or was ended by us.
    fn is_conclusive(&self) -> bool {
        self.why != Why::Ended || (self.exit == Exit::Code(0) && !self.bytes.is_empty())
    }
}

/// A backstop behind the wall clock: whole seconds of processor time.
fn cpu_seconds(deadline: Instant) -> u64 {
    deadline.saturating_duration_since(Instant::now()).as_secs() + 2
}

/// The job as a harness reads it: mode and lengths on one line, then the pieces.
fn frame(mode: &str, pieces: &[&str]) -> Vec<u8> {
    let mut head = mode.to_owned();
    for piece in pieces {
        head.push(' ');
        head.push_str(&piece.len().to_string());
    }
    head.push('\n');
    head.push_str(&pieces.concat());
    head.into_bytes()
}

fn has_harness(program: &Program) -> bool {
    match program {
        Program::Call { .. } | Program::Expression { .. } | Program::Pristine => true,
        Program::Stdio { .. } | Program::Command(_) => false,
    }
}

fn missing(host: &Inner, job: &Job) -> String {
    let found = host.runtimes.survey_of(job.language, host.reach());
    let found: BTreeSet<String> = found.into_iter().map(|runtime| runtime.name).collect();
    let wanted = job.runtime.clone().unwrap_or_else(|| job.language.to_string());
    let found = if found.is_empty() { "none".to_owned() } else { Vec::from_iter(found).join(", ") };
    if let Some((major, minor)) = toolchain::of(job.language).minimum {
        let name = toolchain::of(job.language).name;
        return format!(
            "failed to find the runtime `{wanted}`: {} needs {name} {major}.{minor} or later, found {found}; install it",
            job.language
        );
    }
    format!("failed to find the runtime `{wanted}`: found {found}; install it or ask for one that is there")
}

fn unavailable(job: &Job, runtime: String, why: &str, each: &mut dyn FnMut(CaseOutcome)) -> Outcome {
    not_run(job, why).for_each(each);
    Outcome { runtime, limits: job.limits, ..Outcome::default() }
}

/// The cases of a job that could not be run.
fn not_run(job: &Job, why: &str) -> impl Iterator<Item = CaseOutcome> {
    job.cases.iter().map(move |case| CaseOutcome {
        end: End::Unavailable(why.to_owned()),
        elapsed: Duration::ZERO,
        timeout: case.timeout,
        written: Written::default(),
        inside: None,
    })
}
