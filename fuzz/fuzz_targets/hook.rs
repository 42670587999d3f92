//! Events of hosts: whatever is read of one is answered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_hosts::{Event, Host};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for host in Host::all() {
        if let Ok(message) = host.read(data) {
            if let Event::Before(call) = &message.event {
                assert!(!call.tool.is_empty() && call.paths.iter().flatten().all(|path| !path.contains("/../")));
            }
            drop(host.answers.deny(message.occasion, "no"));
        }
        drop(host.record.last_message(&text));
    }
});
