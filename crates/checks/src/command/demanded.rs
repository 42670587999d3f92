//! The tests that a request names: `must_pass` and `must_keep`.

use std::collections::BTreeSet;

use proofmark_receipt::document::{Cause, DocumentError, Fields};

/// The lists, which a run is held to alike: tests that did not pass before the work, and tests that did.
const LISTS: [&str; 2] = ["must_pass", "must_keep"];
/// The most tests of both lists.
const MAX_DEMANDED: usize = 20_000;
/// The longest name of a test, in bytes.
const MAX_NAME_BYTES: usize = 4_096;

/// Reads both lists: each test once, in the order of the lists.
pub(super) fn read(verification: &Fields<'_>) -> Result<Vec<String>, DocumentError> {
    let (mut demanded, mut seen) = (Vec::new(), BTreeSet::new());
    for list in LISTS.iter().filter_map(|name| verification.get(name)) {
        for field in list.items()? {
            let name = field.text()?;
            if name.is_empty() || name.len() > MAX_NAME_BYTES {
                let message = format!("the name of a test has between 1 and {MAX_NAME_BYTES} bytes");
                return Err(field.error(Cause::InvalidValue, message));
            }
            if seen.insert(name.to_owned()) {
                demanded.push(name.to_owned());
            }
        }
        if demanded.len() > MAX_DEMANDED {
            let error = list.error(Cause::TooMany, format!("more than {MAX_DEMANDED} tests"));
            return Err(error.with_help("name fewer"));
        }
    }
    Ok(demanded)
}
