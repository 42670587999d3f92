//! `/v1/acp`: jobs of the Agent Commerce Protocol, run and answered as their evaluators need it.

use std::sync::Arc;

use axum::body::Body;
use proofmark_receipt::Receipt;
use proofmark_verifier::acp;

use crate::body;
use crate::call::{Call, Head};
use crate::door::Doorkeeper;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::verifications::{accepted, wanted, with_receipt};
use crate::work::{self, Answer};

/// `POST /v1/acp/evaluations`: `{job_id?, requirements, deliverable}`.
pub(crate) async fn evaluate(keeper: Arc<Doorkeeper>, head: Head, body: Body) -> Result<Reply, Problem> {
    let wanted = wanted(&keeper, head, body, read).await?;
    Ok(match work::verify(&keeper.bench, wanted).await? {
        Answer::Receipt(receipt) => evaluation(&receipt),
        Answer::Job(view) => accepted(&view),
    })
}

/// `GET /v1/acp/evaluations/{id}`: what a receipt kept here answers an evaluator.
pub(crate) fn show(call: &Call<'_>) -> Result<Reply, Problem> {
    let none = || Problem::not_found("such receipt");
    let id = call.variable("id").parse().map_err(|_| none())?;
    let kept = call.desk.store().kept_receipt(&id)?.filter(|kept| kept.tenant == call.caller.tenant);
    Ok(evaluation(&kept.ok_or_else(none)?.receipt))
}

fn read(text: String) -> Result<String, Problem> {
    let job = body::json(text.as_bytes())?;
    let request =
        acp::evaluation_request(&job).map_err(|error| Problem::bad(error.code(), format!("read the job: {error}")))?;
    Ok(request.to_text())
}

fn evaluation(receipt: &Receipt) -> Reply {
    with_receipt(acp::evaluation(receipt).into(), &receipt.to_text())
}
