//! `/v1/acp`: jobs of the Agent Commerce Protocol, run and answered as their evaluators need it.

use std::sync::Arc;

use axum::body::Body;
use proofmark_decider::{Evaluation, Subject};
use proofmark_interop::acp;
use proofmark_receipt::{Json, Receipt, Sha256Digest};

use crate::context::{Head, RequestContext};
use crate::problem::Problem;
use crate::reply::Reply;
use crate::state::AppState;
use crate::submit::{self, Answer, Source};
use crate::verifications::{accepted, submission, with_receipt};

/// `POST /v1/acp/evaluations`: `{job_id?, requirements, deliverable}`.
pub(crate) async fn evaluate(state: Arc<AppState>, head: Head, body: Body) -> Result<Reply, Problem> {
    let tenant = head.caller.tenant.clone();
    let submission = submission(&state, head, body, |text| Source::Foreign(text, request_of_job)).await?;
    match submit::verify(&state.services, submission).await? {
        Answer::Job(view) => accepted(&view),
        Answer::Receipt(receipt) => {
            let id = receipt.receipt_id();
            // It is judged as stored: what a receipt is worth depends on the request and the receipts stored with it.
            let evaluated = submit::blocking(&state.services, move |services| {
                services.decider.evaluation(&tenant, &id, &Subject::default())
            });
            let (receipt, evaluation) = evaluated.await??.ok_or_else(Problem::internal)?;
            Ok(reply(&receipt, evaluation))
        }
    }
}

/// `GET /v1/acp/evaluations/{id}`: what a stored receipt answers an evaluator, who may name what it has to be about.
pub(crate) fn show(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["job_id", "specification", "tests", "output"])?;
    let not_found = || Problem::not_found("receipt");
    let id = context.variable("id").parse().map_err(|_| not_found())?;
    let digest = |name| context.parsed::<Sha256Digest>(name, "a digest: `sha256:` and 64 lower-case hex digits");
    let about = Subject {
        task_id: context.parameter("job_id").map(str::to_owned),
        specification: digest("specification")?,
        tests: digest("tests")?,
        output: digest("output")?,
    };
    let evaluated = context.decider.evaluation(&context.caller.tenant, &id, &about)?;
    let (receipt, evaluation) = evaluated.ok_or_else(not_found)?;
    Ok(reply(&receipt, evaluation))
}

fn request_of_job(job: Json) -> Result<Json, Problem> {
    acp::evaluation_request(&job).map_err(|error| Problem::unreadable("read the job", &error))
}

/// A receipt that does not count is not sent as a payment's receipt either.
fn reply(receipt: &Receipt, evaluation: Evaluation) -> Reply {
    let reply = Reply::from(evaluation.document);
    match evaluation.rejected {
        None => with_receipt(reply, &receipt.to_text()),
        Some(_) => reply,
    }
}
