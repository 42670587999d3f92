//! `/v1/acp`: jobs of the Agent Commerce Protocol, run and answered as their evaluators need it.

use std::sync::Arc;

use axum::body::Body;
use proofmark_interop::acp;
use proofmark_receipt::{Receipt, Sha256Digest};
use proofmark_verifier::{Evaluation, Subject};

use crate::body;
use crate::call::{Call, Head};
use crate::door::Doorkeeper;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::verifications::{accepted, wanted, with_receipt};
use crate::work::{self, Answer};
use crate::workbench::Workbench;

/// `POST /v1/acp/evaluations`: `{job_id?, requirements, deliverable}`.
pub(crate) async fn evaluate(keeper: Arc<Doorkeeper>, head: Head, body: Body) -> Result<Reply, Problem> {
    let wanted = wanted(&keeper, head, body, read).await?;
    let tenant = wanted.tenant.clone();
    Ok(match work::verify(&keeper.bench, wanted).await? {
        Answer::Receipt(receipt) => {
            let id = receipt.receipt_id();
            let found = move |bench: &Workbench| bench.decider.evaluation(&tenant, &id, &Subject::default());
            told(work::inside(&keeper.bench, found).await??.ok_or_else(Problem::internal)?)
        }
        Answer::Job(view) => accepted(&view),
    })
}

/// `GET /v1/acp/evaluations/{id}`: what a receipt kept here answers an evaluator, who may name what it has to be about.
pub(crate) fn show(call: &Call<'_>) -> Result<Reply, Problem> {
    call.only(&["job_id", "specification", "tests", "output"])?;
    let none = || Problem::not_found("such receipt");
    let id = call.variable("id").parse().map_err(|_| none())?;
    let digest = |name| call.parsed::<Sha256Digest>(name, "a digest: `sha256:` and 64 lower-case hex digits");
    let about = Subject {
        task_id: call.parameter("job_id").map(str::to_owned),
        specification: digest("specification")?,
        tests: digest("tests")?,
        output: digest("output")?,
    };
    Ok(told(call.decider.evaluation(&call.caller.tenant, &id, &about)?.ok_or_else(none)?))
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
