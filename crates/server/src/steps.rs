//! `/v1/steps`: attempts at workflow steps, judged by their contracts, and where a run is.

use proofmark_receipt::Json;
use proofmark_verifier::{StepSigners, StoredStep, stored_step};
use serde::Serialize;
use utoipa::ToSchema;

use crate::attempt_body::{AttemptBody, step_id};
use crate::context::RequestContext;
use crate::opaque::{Receipt, StepState};
use crate::problem::Problem;
use crate::reply::{Document, Reply};

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepRun {
    run: String,
    begun_by: String,
    step: String,
    #[schema(value_type = StepState)]
    state: Document,
    /// Of its attempts, first to last
    #[schema(value_type = Vec<Receipt>)]
    receipts: Vec<Document>,
}

/// `POST /v1/steps/{run}/{step}/attempts`: `{workflow, response, trace?, context?, attempt?, receipts?}`. Of two attempts
/// that race, one is refused. `begun_by` names whose run is meant, where the caller did not begin it.
pub(crate) fn attempt(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["begun_by"])?;
    let Json::Object(mut body) = context.json()? else {
        return Err(Problem::bad("wrong_type", "the body is not an object").help("send `workflow` and `response`"));
    };
    for name in ["run", "step"] {
        // It is refused even where both agree: which one counts would otherwise be a guess.
        if body.insert(name, context.variable(name)).is_some() {
            let message = format!("`{name}` is in the path and in the body");
            return Err(Problem::bad("unknown_field", message).help("leave it out of the body"));
        }
    }
    let body = AttemptBody::read(&Json::from(body))?;
    let accepted = context.services.accept(&context.caller, context.parameter("begun_by"), &body, &context.stop)?;
    Ok(accepted.to_json().into())
}

/// `GET /v1/steps/{run}/{step}`: the state of the step in the run, and the receipts of its attempts, first to last. The run
/// is the one that the caller began under this name, or that `begun_by` did.
pub(crate) fn show(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["begun_by"])?;
    let begun_by = context.parameter("begun_by").unwrap_or(&context.caller.id);
    let (run, step) = (context.variable("run"), step_id(context.variable("step"))?);
    let trusted = context.decider.trusted();
    let signers = StepSigners::without_workflow(trusted.signers(), Some(context.decider.key().signer()));
    let stored = stored_step(&context.store(), begun_by, run, &step, &signers)?;
    let StoredStep { state, receipts, .. } = stored.ok_or_else(|| {
        Problem::not_found("step of a run begun by this caller").help("name who began the run with `?begun_by=ID`")
    })?;
    Reply::json(&StepRun {
        run: run.to_owned(),
        begun_by: begun_by.to_owned(),
        step,
        state: Document::from(&state.to_json()),
        receipts: receipts.iter().map(|receipt| receipt.document().into()).collect(),
    })
}
