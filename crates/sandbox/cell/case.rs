//! What a zygote and the supervisor say to each other, whose side is `src/zygote.rs`.
//!
//! The supervisor begins with the filter of every case, and the zygote answers `ready`. For each case the supervisor then sends
//! limits and descriptors; the zygote answers `P` with descriptors of the processes that it made, and `S` with the wait status of
//! the leaf once that has ended.

#![allow(dead_code, reason = "each program uses a part")]

use crate::kernel::{self, Answer, Passed};

/// The socket to the supervisor, which keeps message boundaries.
pub(crate) const CONTROL: i32 = 3;

/// A filter has fewer steps.
const MAX_STEPS: usize = 64;
/// The numbers of a message: three limits, and 1 for a case that waits to be released, which may be missing.
const NUMBERS: usize = 4;
const LIMITS: usize = 3;

/// The step that failed and must not, as the status that a zygote or a leaf ends with.
#[derive(Clone, Copy)]
pub(crate) enum Failure {
    /// Also the end of a zygote whose supervisor is gone.
    Message = 69,
    Namespace,
    Fork,
    Rights,
    Return,
    Loop,
    Random,
    Wait,
}

/// A process that runs our own code only, and forks a leaf for each case.
pub(crate) struct Zygote {
    steps: [[u8; 8]; MAX_STEPS],
    step_count: usize,
    /// A descriptor of itself, by which it returns to its pid namespace.
    itself: i32,
}

impl Zygote {
    /// Receives the filter, and says that cases may come; hands over the descriptors that the supervisor shall have.
    pub(crate) fn begin(handed_over: &[i32]) -> Result<Zygote, Failure> {
        let mut zygote = Zygote { steps: [[0; 8]; MAX_STEPS], step_count: 0, itself: -1 };
        let length = kernel::read(CONTROL, zygote.steps.as_flattened_mut()).unwrap_or(0);
        zygote.step_count = length / size_of::<[u8; 8]>();
        zygote.itself = kernel::open_self().map_err(|_| Failure::Namespace)?;
        // One that fills its place may have been longer.
        let is_whole = (1..MAX_STEPS).contains(&zygote.step_count);
        if is_whole && kernel::send(CONTROL, b"ready", handed_over) { Ok(zygote) } else { Err(Failure::Message) }
    }

    /// The next case. What is forked after this is in a new pid namespace.
    pub(crate) fn next_case(&self) -> Result<Case, Failure> {
        let case = Case::receive().ok_or(Failure::Message)?;
        kernel::leave_pid_namespace().map_err(|_| Failure::Namespace)?;
        Ok(case)
    }

    /// Hands the processes of a case to the supervisor, and forgets what belongs to the case.
    pub(crate) fn hand_over<const COUNT: usize>(&self, case: &Case, pids: [usize; COUNT]) -> Result<(), Failure> {
        kernel::enter_pid_namespace(self.itself).map_err(|_| Failure::Return)?;
        let processes = pids.map(|pid| kernel::open_process(pid).unwrap_or(-1));
        let is_sent = kernel::send(CONTROL, b"P", &processes);
        for fd in processes.iter().chain(case.passed.fds()) {
            kernel::close(*fd);
        }
        if is_sent { Ok(()) } else { Err(Failure::Message) }
    }

    /// Says how the leaf ended.
    pub(crate) fn report(&self, status: i32) -> Result<(), Failure> {
        let [a, b, c, d] = status.to_ne_bytes();
        if kernel::send(CONTROL, &[b'S', a, b, c, d], &[]) { Ok(()) } else { Err(Failure::Message) }
    }

    /// In the leaf: gives up what a submission may not do.
    pub(crate) fn confine(&self) -> Answer<()> {
        kernel::give_up_rights(self.steps.get(..self.step_count).unwrap_or_default())
    }
}

/// What the supervisor sends for a case.
pub(crate) struct Case {
    pub(crate) limits: [u64; LIMITS],
    /// Whether the leaf waits until the supervisor releases it.
    pub(crate) waits: bool,
    passed: Passed,
}

impl Case {
    /// `None` once the supervisor is gone or sends something else.
    fn receive() -> Option<Case> {
        let mut numbers = [[0; 8]; NUMBERS];
        let (length, passed) = kernel::receive(CONTROL, numbers.as_flattened_mut())?;
        let [limits @ .., waits] = numbers.map(u64::from_ne_bytes);
        let is_whole = length >= size_of::<[u64; LIMITS]>() && !passed.fds().is_empty();
        is_whole.then_some(Case { limits, waits: waits == 1, passed })
    }

    /// In the places 0, 1, 2, … of a program.
    pub(crate) fn fds(&self) -> &[i32] {
        self.passed.fds()
    }

    /// Of a leaf that runs a harness.
    pub(crate) fn pipes(&self) -> Result<Pipes, Failure> {
        let [job, result, stdout, stderr] = *self.fds() else { return Err(Failure::Message) };
        Ok(Pipes { job, result, stdout, stderr })
    }
}

/// Where a leaf reads its job from, and where it writes to.
#[derive(Clone, Copy)]
pub(crate) struct Pipes {
    pub(crate) job: i32,
    pub(crate) result: i32,
    pub(crate) stdout: i32,
    pub(crate) stderr: i32,
}
