//! Any bytes are a message or refused, and what would be forwarded reads back as the same message on one line. A message to this
//! program is read as the guard reads it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_guard::{Message, Sender};
use proofmark_receipt::json::Limits;

fuzz_target!(|bytes: &[u8]| {
    for sender in [Sender::Client, Sender::Server] {
        let Ok(message) = Message::read(bytes, sender) else { continue };
        assert!(!message.text.contains(['\r', '\n', '\u{2028}', '\u{2029}']));
        let again = Message::read(message.text.as_bytes(), sender).expect("it was read before");
        assert_eq!((again.body, again.text), (message.body, message.text));
    }
    let own = Message::read_own(bytes, Limits { max_bytes: 4 << 20, max_depth: 66, ..Limits::default() });
    let guarded = Message::read(bytes, Sender::Client);
    if let (Ok(own), Ok(guarded)) = (&own, &guarded) {
        assert_eq!((&own.body, &own.kind), (&guarded.body, &guarded.kind));
    }
});
