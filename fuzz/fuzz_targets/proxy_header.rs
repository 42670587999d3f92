//! Any bytes of a proxy are read to an end, and asking for more never goes beyond the longest header.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_server::ProxyHeader;

fuzz_target!(|bytes: &[u8]| {
    let mut came = 0;
    while let Some(part) = bytes.get(..came) {
        match ProxyHeader::read(part) {
            Ok(ProxyHeader::Part(missing)) => {
                assert!(missing > 0);
                came += missing;
            }
            Ok(ProxyHeader::Whole(_)) | Err(_) => break,
        }
    }
    assert!(came <= 16 + 4_096);
});
