//! Reads what a leaf left as the end of its case.

use proofmark_checks::{End, Written};

use super::{CANCELLED, Exited, STUCK};
use crate::sys::Exit;
use crate::toolchain::Toolchain;
use crate::watch::Why;

/// How many names of types an exception has at most; the harnesses write no more.
const MAX_TYPES: usize = 16;

/// How a leaf ended that was to answer one case, and what it wrote.
pub(super) fn one_answer(mut leaf: Exited, toolchain: &Toolchain) -> (End, Written) {
    let end = one_end(&leaf, toolchain);
    (end, std::mem::take(&mut leaf.written))
}

fn one_end(leaf: &Exited, toolchain: &Toolchain) -> End {
    let mut frames = leaf.bytes.split_inclusive(|byte| *byte == b'\n');
    match (leaf.why, frames.next(), frames.next()) {
        (Why::Ended, Some(line), None) => read_frame(line, toolchain),
        (Why::Ended, Some(_), Some(_)) => {
            End::NoAnswer("the submission wrote into the channel of its answer".to_owned())
        }
        (Why::Ended, None, _) | (Why::Deadline | Why::Memory | Why::Output | Why::Cancelled | Why::Stuck, _, _) => {
            without_answer(leaf, toolchain)
        }
    }
}

pub(super) fn without_answer(leaf: &Exited, toolchain: &Toolchain) -> End {
    match (leaf.why, leaf.exit) {
        (Why::Deadline, _) => End::Timeout,
        (Why::Memory, _) => End::MemoryLimit,
        (Why::Output, _) => End::OutputLimit,
        (Why::Cancelled, _) => End::Unavailable(CANCELLED.to_owned()),
        (Why::Stuck, _) => End::Unavailable(STUCK.to_owned()),
        (Why::Ended, Exit::Signal(libc::SIGXCPU)) => End::Timeout,
        (Why::Ended, Exit::Signal(signal)) if ran_out(leaf, toolchain, signal) => End::MemoryLimit,
        (Why::Ended, Exit::Signal(signal)) => End::Signal(signal),
        (Why::Ended, Exit::Code(code)) => {
            End::NoAnswer(format!("the process ended with exit status {code} before it answered"))
        }
    }
}

/// Whether the runtime has ended itself by this signal because its memory was used up, as it says.
fn ran_out(leaf: &Exited, toolchain: &Toolchain, signal: i32) -> bool {
    let said = String::from_utf8_lossy(&leaf.written.stderr.bytes);
    toolchain.memory_signals.contains(&signal) && toolchain.memory_words.iter().any(|words| said.contains(words))
}

/// One line of a harness: `V` and a value, or `E` and an exception.
pub(super) fn read_frame(line: &[u8], toolchain: &Toolchain) -> End {
    match line.strip_suffix(b"\n").and_then(|line| line.split_first()) {
        Some((b'V', value)) => Some(End::Value(value.to_vec())),
        Some((b'E', rest)) => exception(rest, toolchain),
        _ => None,
    }
    .unwrap_or_else(|| End::NoAnswer("the submission wrote into the channel of its answer".to_owned()))
}

/// The type and the text of an exception in hex, and the line of the submission, 0 for none; and where the call itself raised
/// it the names of its types, in hex.
fn exception(written: &[u8], toolchain: &Toolchain) -> Option<End> {
    let mut parts = written.split(|byte| *byte == b' ');
    let (kind, text) = (hex_text(parts.next()?)?, hex_text(parts.next()?)?);
    let line = parse_line(parts.next()?)?;
    let types = parts.by_ref().take(MAX_TYPES).map(hex_text).collect::<Option<_>>()?;
    match parts.next() {
        None if toolchain.memory_exception == Some(&kind) => Some(End::MemoryLimit),
        None => Some(End::Raised { kind, text, line, types }),
        Some(_) => None,
    }
}

fn parse_line(digits: &[u8]) -> Option<Option<u32>> {
    let digits = std::str::from_utf8(digits).ok()?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number past the largest is not a line, but the exception is one.
    plain.then(|| digits.parse().ok().filter(|line| *line > 0))
}

fn hex_text(hex: &[u8]) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes = hex
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn nonzero(code: i32, stderr: &[u8]) -> End {
    let stderr = String::from_utf8_lossy(stderr);
    match stderr.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => End::Raised {
            kind: format!("exit status {code}"),
            text: line.trim().to_owned(),
            line: None,
            types: Vec::new(),
        },
        None => End::Exit(code),
    }
}
