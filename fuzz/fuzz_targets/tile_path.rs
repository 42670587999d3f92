//! Any text is a path of a tile or a bundle, in its one spelling, or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_tlog::TilePath;

fuzz_target!(|text: &str| {
    if let Ok(path) = text.parse::<TilePath>() {
        assert_eq!(path.to_string(), text);
    }
});
