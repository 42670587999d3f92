//! Any bytes are a policy of logs and witnesses or refused; all witnesses together meet every quorum.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_tlog::{Cosignature, Policy};

fuzz_target!(|bytes: &[u8]| {
    let Ok(policy) = Policy::parse(bytes) else { return };
    let all = policy.witnesses().iter().map(|witness| Cosignature { witness: witness.key.clone(), time: 0 });
    assert!(policy.is_met_by(&all.collect::<Vec<_>>()));
});
