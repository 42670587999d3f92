//! `/v1/steps`: attempts at workflow steps, judged by their contracts, and where a run is.

use proofmark_receipt::{Json, Object};
use proofmark_verifier::{StoredStep, kept_step};

use crate::attempt_body;
use crate::context::RequestContext;
use crate::problem::Problem;

/// `POST /v1/steps/{run}/{step}/attempts`: `{workflow, response, trace?, context?, attempt?, receipts?}`. Of two attempts
/// that race, one is refused. `begun_by` names whose run is meant, where the caller did not begin it.
pub(crate) fn attempt(context: &RequestContext<'_>) -> Result<Json, Problem> {
    context.only(&["begun_by"])?;
    let Json::Object(mut body) = context.json()? else {
        return Err(Problem::bad("wrong_type", "the body has to be an object with `workflow` and `response`"));
    };
    for name in ["run", "step"] {
        if body.insert(name, context.variable(name)).is_some() {
            return Err(Problem::bad(
                "unknown_field",
                format!("`{name}` stands in the path; leave it out of the body"),
            ));
        }
    }
    let sent = attempt_body::attempt(&Json::from(body))?;
    Ok(context.services.accept(&context.caller, context.parameter("begun_by"), &sent, &context.stop)?.to_json())
}

/// `GET /v1/steps/{run}/{step}`: the state of the step in the run, and the receipts of its attempts, first to last. The run
/// is the one that the caller began under this name, or that `begun_by` did.
pub(crate) fn show(context: &RequestContext<'_>) -> Result<Json, Problem> {
    context.only(&["begun_by"])?;
    let begun_by = context.parameter("begun_by").unwrap_or(&context.caller.id);
    let (run, step) = (context.variable("run"), &attempt_body::step(context.variable("step"))?);
    let found = kept_step(&context.store(), begun_by, run, step)?;
    let StoredStep { state, receipts } = found.ok_or_else(|| {
        let other = "such step in such a run of yours; name who began another's run with `?begun_by=ID`";
        Problem::not_found(other)
    })?;
    let mut answer = Object::new();
    answer.insert("run", run);
    answer.insert("begun_by", begun_by);
    answer.insert("step", step.as_str());
    answer.insert("state", state.to_json());
    answer.insert("receipts", receipts.iter().map(|receipt| receipt.document().clone()).collect::<Vec<_>>());
    Ok(answer.into())
}
