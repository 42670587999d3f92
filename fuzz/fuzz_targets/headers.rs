//! Any headers are held against any message without a panic, and what they repeat is accepted where it is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_guard::{Headers, Message, Sender};

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let Ok(message) = Message::read(lines.next().unwrap_or_default(), Sender::Client) else { return };
    let names = ["Mcp-Method", "mcp-name", "MCP-Protocol-Version", "Mcp-Param-A"];
    if let Ok(headers) = Headers::read(names.into_iter().zip(lines)) {
        let _ = headers.is_stateless(&message);
    }
});
