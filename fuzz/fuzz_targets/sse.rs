//! Any stream of events is read alike wherever its parts end, and what is written of it reads back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_guard::{SseItem, SseReader};

fuzz_target!(|bytes: &[u8]| {
    let Ok(whole) = SseReader::default().push(bytes) else { return };
    let mut reader = SseReader::default();
    let parts = bytes.chunks(3).map(|part| reader.push(part).expect("it was read before"));
    assert_eq!(parts.collect::<Vec<_>>().concat(), whole);
    for item in whole {
        let data = match &item {
            SseItem::Event(event) => event.data.as_ref().map(|data| String::from_utf8_lossy(data).into_owned()),
            SseItem::Comment(_) => None,
        };
        // Bytes that are not UTF-8 become longer.
        let Ok(again) = SseReader::default().push(item.written(data.as_deref()).as_bytes()) else { continue };
        assert_eq!(again.len(), 1);
    }
});
