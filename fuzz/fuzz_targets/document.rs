//! Any bytes are a YAML document or refused, and what is read reads back equal as JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_receipt::document::{self, Format};

fuzz_target!(|bytes: &[u8]| {
    let Ok((read, places)) = document::parse_with_places(bytes, Format::Yaml) else { return };
    assert_eq!(document::parse(read.to_text().as_bytes(), Format::Json).as_ref(), Ok(&read));
    for name in read.as_object().into_iter().flat_map(|object| object.iter()).map(|(name, _)| name).take(8) {
        assert!(places.find(&read, name).is_some_and(|start| start <= bytes.len()));
    }
});
