//! The launcher of a warm cell: starts the interpreter of each case, in a pid namespace of its own.
//!
//! Between cases nothing runs here but this program, which holds nothing of a submission. For each case it forks the
//! first process of a new pid namespace, which gives up what a submission may not do, starts the interpreter, reaps, and
//! ends with it; the kernel then ends whatever else is in that namespace.
//!
//! Arguments: a descriptor to hand over at the start, 0 for none; then the interpreter's path, which is also the first of
//! its arguments, and the rest of them. Its environment is ours. `build.rs` compiles it, and `src/zygote.rs` starts it.

#![no_std]
#![no_main]

mod case;
mod kernel;
mod program;

use case::{CONTROL, Case, Failure, Zygote};
use kernel::{CLOSE_RANGE_CLOEXEC, EINTR, call, exit, nr};

/// Starts the interpreter of each case.
struct Launcher {
    zygote: Zygote,
    interpreter: Interpreter,
    /// The two ends of a pipe for the wait status of a case's interpreter, or for what it was not started for: a negative
    /// error number.
    ends: i32,
    ended: i32,
}

/// Its path, arguments and environment, as the kernel takes them.
struct Interpreter {
    path: usize,
    argv: usize,
    env: usize,
}

/// Where the kernel starts us: the count of arguments, each as a C string, and the environment.
unsafe extern "C" fn main(stack: *const usize) -> ! {
    // SAFETY: the kernel lays the arguments out so, and ends both lists with a null.
    let (handed_over, argv, env) = unsafe {
        let count = stack.read();
        (program::number(stack.add(2).read() as *const u8), stack.add(3), stack.add(count + 2))
    };
    // SAFETY: `argv` has the interpreter's path at the least, or the null that ends it.
    let path = unsafe { argv.read() };
    let failure = serve(handed_over as i32, Interpreter { path, argv: argv as usize, env: env as usize });
    exit(failure as usize)
}

/// Runs cases until one cannot be run.
fn serve(handed_over: i32, interpreter: Interpreter) -> Failure {
    let file = [handed_over];
    let begun = Zygote::begin(if handed_over > 0 { &file } else { &[] });
    if handed_over > 0 {
        kernel::close(handed_over);
    }
    let (zygote, [ends, ended]) = match (begun, kernel::pipe()) {
        (Ok(zygote), Ok(pipe)) => (zygote, pipe),
        (Err(failure), _) => return failure,
        (_, Err(_)) => return Failure::Message,
    };
    let launcher = Launcher { zygote, interpreter, ends, ended };
    loop {
        if let Err(failure) = launcher.run() {
            return failure;
        }
    }
}

impl Launcher {
    /// Starts a case, and tells the supervisor of its first process and how its interpreter ended.
    fn run(&self) -> Result<(), Failure> {
        let case = self.zygote.next_case()?;
        let first = kernel::fork().map_err(|_| Failure::Fork)?;
        if first == 0 {
            self.lead(&case);
        }
        self.zygote.hand_over(&case, [first])?;
        let own = kernel::wait(first).map_err(|_| Failure::Wait)?;
        let mut status = [0; 4];
        let is_reported = kernel::read(self.ends, &mut status) == Ok(status.len());
        // One that is killed cannot report.
        let is_killed = own & 0x7F != 0;
        match (is_reported, is_killed) {
            (true, _) => self.zygote.report(i32::from_ne_bytes(status)),
            (false, true) => self.zygote.report(own),
            (false, false) => Err(Failure::Message),
        }
    }

    /// The first process of a case's pid namespace: starts the interpreter, reaps all, and ends with it.
    fn lead(&self, case: &Case) -> ! {
        let confined = kernel::limit(&case.limits).and_then(|()| {
            if case.waits {
                wait_for_release();
            }
            self.zygote.confine()
        });
        let interpreter = match confined.and_then(|()| kernel::fork()) {
            Ok(0) => self.become_interpreter(case),
            Ok(pid) => pid,
            Err(error) => self.report(error as i32),
        };
        // A pipe is closed once the interpreter has closed it.
        let ended = self.ended as usize;
        let _none_open = kernel::close_range(0, ended - 1, 0);
        let _none_open = kernel::close_range(ended + 1, u32::MAX as usize, 0);
        loop {
            let mut status = 0;
            match kernel::reap(kernel::ANY, 0, &mut status) {
                Ok(pid) if pid == interpreter => self.report(status),
                Ok(_) | Err(EINTR) => {}
                Err(_) => exit(0),
            }
        }
    }

    fn become_interpreter(&self, case: &Case) -> ! {
        let _is_never_a_leader = kernel::start_session();
        let mut place = 0;
        for fd in case.fds() {
            let _is_open = kernel::duplicate(*fd, place);
            place += 1;
        }
        let _none_open = kernel::close_range(place as usize, u32::MAX as usize, CLOSE_RANGE_CLOEXEC);
        let Interpreter { path, argv, env } = self.interpreter;
        // SAFETY: the lists are those that the kernel gave to us, each ended by a null.
        match unsafe { call(nr::EXECVE, [path, argv, env, 0, 0]) } {
            Err(error) => self.report(error as i32),
            Ok(_) => exit(0),
        }
    }

    /// Says how the interpreter ended, or why it did not start, and ends.
    fn report(&self, status: i32) -> ! {
        kernel::write_all(self.ended, &status.to_ne_bytes());
        exit(0)
    }
}

/// Waits until the supervisor has put this process where it is counted.
fn wait_for_release() {
    if kernel::read(CONTROL, &mut [0]) != Ok(1) {
        exit(0);
    }
}
