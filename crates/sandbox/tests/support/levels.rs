//! The isolation levels of this host.

#![allow(dead_code, reason = "not every test uses all of this")]

use proofmark_sandbox::{Host, Level};

/// The levels that are available here; each of the others is a skip.
pub fn available() -> Vec<Level> {
    let survey = Host::survey().into_iter();
    survey.filter(|(level, lacking)| is_available(*level, lacking.as_deref())).map(|(level, _)| level).collect()
}

/// Whether this level is available here; a skip if not.
pub fn has(level: Level) -> bool {
    let lacking = Host::survey().into_iter().find(|(surveyed, _)| *surveyed == level).and_then(|(_, lacking)| lacking);
    is_available(level, lacking.as_deref())
}

fn is_available(level: Level, lacking: Option<&str>) -> bool {
    let Some(reason) = lacking else { return true };
    let need = format!("level-{}", level.as_str().to_ascii_lowercase());
    proofmark_testing::skip(&need, &format!("isolation level {level} is unavailable: {reason}"));
    false
}
