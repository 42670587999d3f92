//! `/v1/acp`: jobs of the Agent Commerce Protocol, run and answered as their evaluators need it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use proofmark_receipt::Receipt;
use proofmark_verifier::acp;

use crate::body;
use crate::call::Call;
use crate::door::Doorkeeper;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::verifications::{accepted, wanted, with_receipt};
use crate::work::{self, Answer};

/// `POST /v1/acp/evaluations`: `{job_id?, requirements, deliverable}`.
pub(crate) async fn evaluate(State(keeper): State<Arc<Doorkeeper>>, request: Request) -> Response {
    let evaluated = async {
        let wanted = wanted(&keeper, request, read).await?;
        Ok::<_, Problem>(match work::verify(&keeper.bench, wanted).await? {
            Answer::Receipt(receipt) => evaluation(&receipt),
            Answer::Job(view) => accepted(&view),
        })
    };
    evaluated.await.into_response()
}

/// `GET /v1/acp/evaluations/{id}`: what the receipt of a verification run here answers an evaluator. A receipt that
/// somebody brought, under whatever id, answers nothing.
pub(crate) fn show(call: &Call<'_>) -> Result<Reply, Problem> {
    let none = || Problem::not_found("such receipt");
    let id = call.variable("id").parse().map_err(|_| none())?;
    Ok(evaluation(&call.store().job_receipt(&id)?.ok_or_else(none)?.receipt))
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
