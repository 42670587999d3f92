//! Any bytes are a document or refused; what is added to one reads back, and can be taken out again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_hosts::{JsonText, Step};
use proofmark_receipt::Json;

fuzz_target!(|bytes: &[u8]| {
    let Ok(before) = JsonText::read(bytes, true) else { return };
    let mut changed = before.clone();
    let value = Json::parse(b"{\"command\": \"a\"}").expect("it is JSON");
    if changed.push(&["hooks", "Stop"], &value).is_err() {
        return;
    }
    let list = changed.json().as_object().and_then(|json| json.get("hooks")?.as_object()?.get("Stop")?.as_array());
    let count = list.map_or(0, <[Json]>::len);
    assert!(count > 0);
    changed.remove(&[Step::Name("hooks"), Step::Name("Stop"), Step::Index(count - 1)]).expect("it was added");
});
