//! Events of hosts: whatever is read of one is answered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_hook::{Answer, Event, Host, last_message, read};

fuzz_target!(|data: &[u8]| {
    for host in Host::ALL {
        if let Ok(message) = read(host, data) {
            if let Event::Before(call) = &message.event {
                assert!(!call.tool.is_empty() && call.paths.iter().flatten().all(|path| !path.contains("/../")));
            }
            drop(Answer::deny(host, message.occasion, "no"));
        }
    }
    drop(last_message(&String::from_utf8_lossy(data)));
});
