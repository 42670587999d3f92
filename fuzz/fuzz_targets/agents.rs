//! What a program beside an agent and the server that decides say to each other: what one side reads, the other could have written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_agents::{Begun, Follows, HookAnswer, HookEvent, NewGuard, Sent};

fn read_as<T: Sent + PartialEq + std::fmt::Debug>(data: &[u8]) {
    if let Ok(read) = T::parse(data) {
        assert_eq!(T::parse(read.to_json().to_text().as_bytes()), Ok(read));
    }
}

fuzz_target!(|data: &[u8]| {
    read_as::<NewGuard>(data);
    read_as::<Begun>(data);
    read_as::<Follows>(data);
    read_as::<HookEvent>(data);
    read_as::<HookAnswer>(data);
});
