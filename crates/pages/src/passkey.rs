//! `/ui/passkey`: a reviewer makes a passkey, and is shown the line that the policy's owner adds. Nothing of it is stored.

use askama::Template;
use proofmark_boundary::ActionPolicy;
use proofmark_decider::{PolicyAsked, SignedApproval};
use proofmark_passkey::Origin;
use proofmark_receipt::Json;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;

use super::frame::{Frame, Here};
use super::html::html;
use super::visit::Visit;

#[derive(Template)]
#[template(path = "passkey.html")]
struct PasskeyPage {
    frame: Frame,
}

/// `GET /ui/passkey`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[])?;
    html(&PasskeyPage { frame: Frame::of(visit, Here::Policy, "Passkey")? })
}

/// Whether a policy that the tenant can ask, or this one, lists anybody with a passkey of pages with an origin of this host.
pub(crate) fn are_listed(visit: &Visit<'_>, asked: Option<&PolicyAsked>) -> bool {
    let host = visit.host.as_deref().unwrap_or_default();
    // A proxy in front may speak TLS; the browser knows, and the form says it.
    let origins = ["https", "http"].map(|scheme| format!("{scheme}://{host}").parse::<Origin>());
    let policies = visit.context.decider.policies_of(&visit.context.caller.tenant);
    let of_step = if let Some(PolicyAsked::OfStep(policy)) = asked { Some(policy) } else { None };
    let mut all = policies.iter().map(|(_, policy)| policy).chain(of_step);
    all.any(|policy| origins.iter().flatten().any(|origin| policy.lists_passkeys_of(origin)))
}

/// The roles in which somebody may approve with a passkey of pages with an origin of this host: who it is, is known once they sign.
pub(crate) fn roles(visit: &Visit<'_>) -> Vec<String> {
    let host = visit.host.as_deref().unwrap_or_default();
    let origins = ["https", "http"].map(|scheme| format!("{scheme}://{host}").parse::<Origin>());
    let policies = visit.context.decider.policies_of(&visit.context.caller.tenant);
    let of = |policy: &ActionPolicy| -> Vec<String> {
        origins.iter().flatten().flat_map(|origin| policy.roles_of_passkeys(origin)).map(str::to_owned).collect()
    };
    policies.iter().flat_map(|(_, policy)| of(policy)).collect()
}

/// What a passkey has signed, as the form of a page sends it: `{receipt_id, verified_at}` of the statement, and the assertion.
pub(crate) fn signed(visit: &Visit<'_>, text: &str) -> Result<SignedApproval, Problem> {
    let unreadable = || Problem::bad("invalid_parameter", "invalid `passkey`").help("approve again on the page");
    let json = Json::parse(text.as_bytes()).map_err(|_| unreadable())?;
    // That of this server, or the form was refused before.
    let origin = visit.origin.as_deref().and_then(|origin| origin.parse().ok()).ok_or_else(unreadable)?;
    json.as_object().and_then(|object| SignedApproval::read(object, Some(origin))).ok_or_else(unreadable)
}
