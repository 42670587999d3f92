//! Ends a server that its guard has left behind.
//!
//! A guard that is killed cannot end its server, and a server need not end when its standard input closes. So a second process
//! waits on a pipe that the guard holds, which the system closes however the guard ends.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::exit::Exit;

/// How long a server may go on after its standard input was closed.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// How often it is looked whether it has ended.
const ROUND: Duration = Duration::from_millis(20);
/// The longest process id, in bytes.
const MAX_PID: u64 = 32;

/// End the server whose process group standard input names, once standard input is closed
#[derive(Args)]
pub(super) struct WatchServer {}

impl WatchServer {
    pub(super) fn run(self) -> Exit {
        let mut text = String::new();
        // The guard writes the group once, and holds the pipe for as long as it lives.
        let read = io::stdin().lock().take(MAX_PID).read_to_string(&mut text);
        let group = text.trim().parse().ok().filter(|group| *group > 1).and_then(Pid::from_raw);
        match (read, group) {
            (Ok(_), Some(group)) => {
                end_group(group);
                Exit::Yes
            }
            // The guard ended before it had a server.
            _ => Exit::NoAnswer,
        }
    }
}

/// The process that ends a server whose guard is gone.
pub(super) struct Watch(Child);

impl Watch {
    /// Starts it. It does nothing until it knows the server.
    ///
    /// # Errors
    /// When it cannot be started: then nothing may be guarded.
    pub(super) fn start() -> io::Result<Self> {
        // This very program, also where its file was replaced meanwhile.
        let mut watch = Command::new("/proc/self/exe");
        watch.args(["guard", "watch-server"]);
        watch.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What ends the guard's group must not end this.
        watch.process_group(0);
        watch.spawn().map(Self)
    }

    /// Tells it the server.
    ///
    /// # Errors
    /// When it has ended.
    pub(super) fn set_group(&self, group: Pid) -> io::Result<()> {
        let pipe = self.0.stdin.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut pipe: &std::process::ChildStdin = pipe;
        pipe.write_all(format!("{}\n", group.as_raw_nonzero()).as_bytes())
    }

    /// Ends it: the server has ended, or is not to be ended.
    pub(super) fn stop(mut self) {
        // It may have ended already.
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// Waits for a server and what it started to end after its standard input was closed; then ends them.
pub(super) fn end_group(group: Pid) {
    for signal in [Signal::TERM, Signal::KILL] {
        let since = Instant::now();
        while since.elapsed() < GRACE {
            if test_kill_process_group(group).is_err() {
                return;
            }
            thread::sleep(ROUND);
        }
        let _gone = kill_process_group(group, signal);
    }
}
