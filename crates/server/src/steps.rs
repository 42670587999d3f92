//! `/v1/steps`: attempts at workflow steps, judged by their contracts, and where a run is.

use proofmark_receipt::{Json, Object};
use proofmark_verifier::{StoredStep, stored_step};

use crate::call::Call;
use crate::problem::Problem;
use crate::sent;

/// `POST /v1/steps/{run}/{step}/attempts`: `{workflow, response, trace?, context?, attempt?, receipts?}`. Of two attempts
/// that race, one is refused. `begun_by` names whose run is meant, where the caller did not begin it.
pub(crate) fn attempt(call: &Call<'_>) -> Result<Json, Problem> {
    call.only(&["begun_by"])?;
    let Json::Object(mut body) = call.json()? else {
        return Err(Problem::bad("wrong_type", "the body has to be an object with `workflow` and `response`"));
    };
    for name in ["run", "step"] {
        if body.insert(name, call.variable(name)).is_some() {
            return Err(Problem::bad(
                "unknown_field",
                format!("`{name}` stands in the path; leave it out of the body"),
            ));
        }
    }
    let sent = sent::attempt(&Json::from(body))?;
    Ok(call.bench.accept(&call.caller, call.parameter("begun_by"), &sent, &call.stop)?.to_json())
}

/// `GET /v1/steps/{run}/{step}`: the state of the step in the run, and the receipts of its attempts, first to last. The run
/// is the one that the caller began under this name, or that `begun_by` did.
pub(crate) fn show(call: &Call<'_>) -> Result<Json, Problem> {
    call.only(&["begun_by"])?;
    let begun_by = call.parameter("begun_by").unwrap_or(&call.caller.id);
    let (run, step) = (call.variable("run"), &sent::step(call.variable("step"))?);
    let found = stored_step(&call.store(), begun_by, run, step)?;
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
