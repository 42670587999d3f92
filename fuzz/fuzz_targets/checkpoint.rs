//! Any text is a checkpoint or refused; what is read is what was written, up to extension lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_tlog::Checkpoint;

fuzz_target!(|text: &str| {
    let Ok(checkpoint) = Checkpoint::parse(text) else { return };
    assert!(text.starts_with(&checkpoint.text()));
    assert_eq!(Checkpoint::parse(&checkpoint.text()), Ok(checkpoint));
});
