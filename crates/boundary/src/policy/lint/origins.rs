//! Labels of values that no value can have.

use std::collections::BTreeSet;

use proofmark_flow::REQUEST;
use proofmark_receipt::document::shown;

use super::super::{ActionPolicy, OriginDemand};
use super::{Warning, warning};

/// What is asked for labels that no entry of `origins` gives.
pub(super) fn warnings(policy: &ActionPolicy) -> Vec<Warning> {
    let given: BTreeSet<&str> = policy.origins.iter().map(|rule| rule.label.as_str()).chain([REQUEST]).collect();
    let mut warnings = Vec::new();
    let mut unknown = |at: &str, label: &str| {
        if !given.contains(label) {
            let message = format!("no entry of `origins` gives the label `{}`, so no value has it", shown(label));
            warnings.push(warning(at, "unknown-label", message, "correct the label, or add an entry that gives it"));
        }
    };
    for rule in policy.boundaries.iter().flat_map(|boundary| &boundary.deny) {
        match &rule.origin {
            Some(OriginDemand::From(asked) | OriginDemand::Links(asked) | OriginDemand::Cover(asked)) => {
                asked.iter().flat_map(|asked| &asked.labels).for_each(|label| unknown(&rule.at, label));
            }
            Some(OriginDemand::Asked(_)) | None => {}
        }
    }
    for (index, rule) in policy.origins.iter().enumerate() {
        rule.labels_asked_for().for_each(|label| unknown(&format!("origins[{index}]"), label));
    }
    policy.clean.iter().for_each(|label| unknown("clean", label));
    warnings
}
