//! Signals the processes of a server, and ends them and its folder with the test.
//!
//! A test that is killed cannot end its server. So a second process waits on a pipe that the test holds, which the system
//! closes however the test ends.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The process that ends the server.
#[derive(Debug)]
pub(super) struct Keeper {
    process: Child,
    /// `None` when it is to end.
    pipes: Mutex<Option<(ChildStdin, BufReader<ChildStdout>)>>,
}

impl Keeper {
    /// Starts it for the server in `folder`, a path without links.
    pub(super) fn start(folder: &Path) -> io::Result<Self> {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", include_str!("keeper.sh")]).arg(folder);
        // What ends the test's group must not end this.
        keeper.process_group(0).current_dir("/");
        let mut process = keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let pipes = process.stdin.take().zip(process.stdout.take().map(BufReader::new));
        Ok(Self { process, pipes: Mutex::new(pipes) })
    }

    /// Sends a signal, such as `KILL`, to all processes of the server; after `KILL` they have ended.
    pub(super) fn signal(&self, name: &str) -> io::Result<()> {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let (input, output) = pipes.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{name}\n").as_bytes())?;
        match output.read_line(&mut String::new())? {
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.pipes.lock().unwrap_or_else(PoisonError::into_inner).take());
        // It ends the server before itself.
        let _ended = self.process.wait();
    }
}
