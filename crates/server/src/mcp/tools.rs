//! The tools with their schemas, as clients are told.

use std::sync::LazyLock;

use proofmark_checks::Language;
use proofmark_receipt::Json;
use proofmark_receipt::json::Limits;

use super::request::{INTERNAL_ERROR, Refusal};

const TOOLS: &str = include_str!("tools.json");

/// The tool that verifies, by the name that the VRF specification gives it.
pub(super) const VERIFY: &str = "cb_verify_work";
pub(super) const ACCEPT: &str = "accept_step";
pub(super) const COLLECT: &str = "collect_reviews";
/// The tool that needs a policy.
pub(super) const DECIDE: &str = "decide_action";

/// The tools that can be used with or without a policy. Only the list leaves one out: a call of it is answered with the error that
/// there is no policy.
pub(super) fn usable(with_policy: bool) -> Result<Vec<Json>, Refusal> {
    Ok(all()?.iter().filter(|tool| with_policy || name(tool) != Some(DECIDE)).cloned().collect())
}

/// Whether there is a tool of this name.
pub(super) fn is_known(name_of_tool: &str) -> Result<bool, Refusal> {
    Ok(all()?.iter().any(|tool| name(tool) == Some(name_of_tool)))
}

fn name(tool: &Json) -> Option<&str> {
    tool.as_object()?.get("name")?.as_str()
}

fn all() -> Result<&'static [Json], Refusal> {
    static READ: LazyLock<Result<Vec<Json>, String>> = LazyLock::new(|| {
        let text = TOOLS.replace("{languages}", &Language::choices());
        match Json::parse_with(text.as_bytes(), Limits::default()).map_err(|error| error.to_string())? {
            Json::Array(tools) => Ok(tools),
            _ => Err("they are not a list".to_owned()),
        }
    });
    READ.as_deref().map_err(|error| Refusal::new(INTERNAL_ERROR, format!("the tools cannot be listed: {error}")))
}
