//! Files in which hosts record their sessions.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_decider::HostRecord;
use proofmark_evidence::trace::MAX_TRACE_BYTES;
use proofmark_hosts::Host;

/// The longest file that is read, in bytes. The lines of it that are about calls have at most [`MAX_TRACE_BYTES`].
const MAX_FILE: u64 = 512 << 20;
/// How much of the end of a file is searched for the last message, in bytes.
const MAX_TAIL: u64 = 4 << 20;
/// How long a host may take to record that it asks about a stop.
const RECORDED_WITHIN: Duration = Duration::from_secs(5);
/// How long a host writes nothing once it has written all.
const QUIET: Duration = Duration::from_millis(300);
/// How often the record is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until the record has what the agent said and did before it stopped: some hosts write it only after they ask.
pub(super) fn wait_for_stop(host: &Host, path: Option<&str>) {
    let has_open_stop = host.record.has_open_stop;
    let Some((path, has_open_stop)) = path.zip(has_open_stop) else { return };
    let begun = Instant::now();
    while !tail(path).is_some_and(|tail| has_open_stop(&tail)) && begun.elapsed() < RECORDED_WITHIN {
        thread::sleep(LOOK_EVERY);
    }
}

/// The lines of the host's record of a session that may be about calls.
pub(super) fn record(host: &Host, path: Option<&str>) -> HostRecord {
    let Some(path) = path.filter(|_| host.record.form().is_some()) else { return HostRecord::Missing };
    match lines(host, path) {
        Ok(None) => HostRecord::Missing,
        Ok(Some(lines)) => HostRecord::Lines(lines),
        Err(why) => HostRecord::Unreadable(why),
    }
}

/// As [`record`], once the host has written nothing for a moment: it may write down what it did after it asks.
pub(super) fn settled(host: &Host, path: Option<&str>) -> HostRecord {
    let length = || fs::metadata(path?).ok().map(|found| found.len());
    let (begun, mut known, mut since) = (Instant::now(), length(), Instant::now());
    while known.is_some() && since.elapsed() < QUIET && begun.elapsed() < RECORDED_WITHIN {
        thread::sleep(LOOK_EVERY);
        let now = length();
        if now != known {
            (known, since) = (now, Instant::now());
        }
    }
    record(host, path)
}

fn lines(host: &Host, path: &str) -> Result<Option<String>, String> {
    // Opening a pipe would block.
    let Ok(found) = fs::metadata(path) else { return Ok(None) };
    if !found.is_file() || found.len() > MAX_FILE {
        return Err("the record of the host is not a file of a length that is read".to_owned());
    }
    let unreadable = |error: std::io::Error| format!("the record of the host cannot be read: {error}");
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(unreadable)?).take(MAX_FILE);
    let (mut lines, mut line) = (String::new(), Vec::new());
    loop {
        line.clear();
        // The host may be writing the last line.
        if reader.read_until(b'\n', &mut line).map_err(unreadable)? == 0 || line.last() != Some(&b'\n') {
            return Ok(Some(lines));
        }
        let text = std::str::from_utf8(&line).map_err(|_| "the record of the host is not UTF-8".to_owned())?;
        if host.record.may_be_about_a_call(text) {
            lines.push_str(text);
        }
        if lines.len() > MAX_TRACE_BYTES {
            return Err("the record of the host has more about calls than is read".to_owned());
        }
    }
}

/// The agent's last message: what the host says, unless that is several messages, of which the record has the last.
pub(super) fn last_message(host: &Host, path: Option<&str>, said: Option<&str>) -> Option<String> {
    if let Some(said) = said.filter(|_| !host.record.joins_messages) {
        return Some(said.to_owned());
    }
    let recorded = path.and_then(tail).and_then(|tail| host.record.last_message(&tail));
    match (said, recorded) {
        (Some(said), Some(recorded)) if said.trim_end().ends_with(recorded.trim_end()) => Some(recorded),
        (Some(said), _) => Some(said.to_owned()),
        (None, recorded) => recorded,
    }
}

/// The whole lines at the end of a file.
fn tail(path: &str) -> Option<String> {
    use std::io::Seek;
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut file = File::open(path).ok()?;
    let from = found.len().saturating_sub(MAX_TAIL);
    file.seek(std::io::SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
