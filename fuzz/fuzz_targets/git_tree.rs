//! No tree of git panics the reader, and what is read is a name of a file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_checks::tree_entries;

fuzz_target!(|data: &[u8]| {
    for id_bytes in [20, 32] {
        for entry in tree_entries(data, id_bytes).into_iter().flatten() {
            assert_eq!(entry.id.len(), 2 * id_bytes);
            assert!(!entry.name.is_empty() && !entry.name.contains(&b'/') && !entry.name.contains(&0));
        }
    }
});
