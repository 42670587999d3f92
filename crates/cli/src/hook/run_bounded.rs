//! Programs that are run for a limited time, with limited output.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_hosts::HookOutput;
use rustix::process::{Pid, Signal, kill_process_group};

/// The most of each output that is looked at, in bytes.
const MAX_OUTPUT: u64 = 1 << 20;
/// How long the output may stay open after the program has ended.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a program with this input. After `limit` it is killed with everything that it started.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run(command: &mut Command, input: &[u8], limit: Duration) -> io::Result<HookOutput> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let group = Pid::from_child(&child);
    let (input, stdin) = (input.to_vec(), child.stdin.take());
    // It may end without reading, and then writing fails, which says nothing.
    thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input).is_ok()));
    let readers = [collect(child.stdout.take()), collect(child.stderr.take())];
    let since = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if since.elapsed() > limit {
            let _gone = kill_process_group(group, Signal::KILL);
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(5));
    };
    // What it started may hold its output open.
    let _gone = kill_process_group(group, Signal::KILL);
    let [stdout, stderr] = readers.map(|reader| reader.recv_timeout(GRACE).unwrap_or_default());
    Ok(HookOutput { code, stdout, stderr })
}

/// What is read from an output, up to its end. A process that left the group may keep it open.
fn collect(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What could be read counts; the rest is read so that the program does not wait.
            drop(from.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes));
            drop(io::copy(&mut from, &mut io::sink()));
        }
        sender.send(bytes)
    });
    receiver
}
