//! Decision receipts as groups of cases.

use std::path::Path;

use proofmark_boundary::{ActionPolicy, DecisionReceipt};
use proofmark_receipt::Json;

use super::{Case, Group, Location, Status};

/// The reasons of a decision. `request` is the file of the request. With the policy, rules are named by the ids of their
/// boundaries.
pub(crate) fn of_decision(receipt: &DecisionReceipt, request: &Path, policy: Option<&ActionPolicy>) -> Group {
    let document = receipt.document();
    let outcome = document.get("outcome").and_then(Json::as_str).unwrap_or_default();
    let changes = document.get("what_would_change_this").and_then(Json::as_array).unwrap_or_default();
    let changes: Vec<&str> = changes.iter().filter_map(Json::as_str).collect();
    let location =
        request.is_file().then(|| Location { file: request.display().to_string(), line: Some(1), column: None });
    let reasons = document.get("reasons").and_then(Json::as_array).unwrap_or_default();
    let cases = reasons.iter().map(|reason| {
        let member = |name: &str| reason.as_object()?.get(name)?.as_str();
        // Where the policy is known, its rules are named as it names them.
        let rule =
            member("rule").map(|place| policy.map_or_else(|| place.to_owned(), |policy| policy.rule_name(place)));
        let words = [member("message"), member("detail")].into_iter().flatten().collect::<Vec<_>>().join("\n");
        Case {
            code: member("code").map(str::to_owned),
            message: Some(words),
            location: location.clone(),
            help: (!changes.is_empty()).then(|| format!("it would be allowed if:\n{}", changes.join("\n"))),
            ..Case::new(rule.or(member("code").map(str::to_owned)).unwrap_or_default(), Status::Fail)
        }
    });
    let cases = cases.collect();
    let id = receipt.decision_id().to_string();
    let group = Group {
        summary: Some(outcome.to_owned()),
        receipt: Some(id.clone()),
        qualifies: true,
        json: vec![receipt.to_text()],
        ..Group::of_cases(format!("decision {id}"), cases)
    };
    group.with_result(outcome, receipt.disposition().allows())
}
