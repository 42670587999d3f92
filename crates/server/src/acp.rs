//! `/v1/acp`: jobs of the Agent Commerce Protocol, run and answered as their evaluators need it.

use std::sync::Arc;

use axum::body::Body;
use proofmark_receipt::{Receipt, Sha256Digest};
use proofmark_verifier::Subject;
use proofmark_verifier::acp::{self, Evaluation};

use crate::body;
use crate::context::{Head, RequestContext};
use crate::problem::Problem;
use crate::reply::Reply;
use crate::router::AppState;
use crate::services::Services;
use crate::submit::{self, Answer};
use crate::verifications::{accepted, wanted, with_receipt};

/// `POST /v1/acp/evaluations`: `{job_id?, requirements, deliverable}`.
pub(crate) async fn evaluate(state: Arc<AppState>, head: Head, body: Body) -> Result<Reply, Problem> {
    let wanted = wanted(&state, head, body, read).await?;
    let tenant = wanted.tenant.clone();
    Ok(match submit::verify(&state.services, wanted).await? {
        Answer::Receipt(receipt) => {
            let id = receipt.receipt_id();
            let found = move |services: &Services| services.decider.evaluation(&tenant, &id, &Subject::default());
            told(submit::inside(&state.services, found).await??.ok_or_else(Problem::internal)?)
        }
        Answer::Job(view) => accepted(&view),
    })
}

/// `GET /v1/acp/evaluations/{id}`: what a receipt kept here answers an evaluator, who may name what it has to be about.
pub(crate) fn show(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&["job_id", "specification", "tests", "output"])?;
    let none = || Problem::not_found("such receipt");
    let id = context.variable("id").parse().map_err(|_| none())?;
    let digest = |name| context.parsed::<Sha256Digest>(name, "a digest: `sha256:` and 64 lower-case hex digits");
    let about = Subject {
        task_id: context.parameter("job_id").map(str::to_owned),
        specification: digest("specification")?,
        tests: digest("tests")?,
        output: digest("output")?,
    };
    Ok(told(context.decider.evaluation(&context.caller.tenant, &id, &about)?.ok_or_else(none)?))
}

fn read(text: String) -> Result<String, Problem> {
    let job = body::json(text.as_bytes())?;
    let request =
        acp::evaluation_request(&job).map_err(|error| Problem::bad(error.code(), format!("read the job: {error}")))?;
    Ok(request.to_text())
}

/// The answer. A receipt that does not count is not sent as a payment's receipt either.
fn told((receipt, evaluation): (Receipt, Evaluation)) -> Reply {
    let reply = Reply::from(evaluation.document);
    match evaluation.rejected {
        None => with_receipt(reply, &receipt.to_text()),
        Some(_) => reply,
    }
}
