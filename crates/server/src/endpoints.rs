//! All endpoints: one row each, with its method, path, role, handler and description.

use crate::deciding::deciding;
use crate::decisions::{DecisionEntry, DecisionPage, FindingPage, RequestTold, Reviewed, ToSign};
use crate::endpoint::Method::{Delete, Get, Post};
use crate::endpoint::{Endpoint, blocking, open, waiting};
use crate::health::{Index, Status};
use crate::keys::Role;
use crate::opaque::{
    Acceptance, AcpJob, AnyReceipt, Attempt, Checked, DecisionReceipt, DecisionRequest, Description, EventBatch,
    Excerpt, ExecutionReport, Jwks, PresentedReceipt, Receipt, ReceiptsToStore, Request, ReviewRequest, Reviews,
    RevocationRequest, SchemaRequest, SessionRequest, StatementRequest, Terms, WireDecision, WireRequest,
};
use crate::quorums::Collected;
use crate::receipts::{ChainPage, ReceiptPage, ReceivedAnswer, Rechecked, Redeemed, Stats};
use crate::runtime::{EventsAccepted, Probed, Reported};
use crate::steps::StepRun;
use crate::transparency::answers as log;
use crate::verifications::Job;
use crate::{
    acp, clawbizarre, decisions, docs, health, mcp, metrics, openapi, quorums, receipts, runtime, steps, verifications,
};

const ANY_ROLE: Option<Role> = None;
const AGENT: Option<Role> = Some(Role::Agent);
const REVIEWER: Option<Role> = Some(Role::Reviewer);
const ADMIN: Option<Role> = Some(Role::Admin);

/// All endpoints of the API, and more.
pub(crate) fn endpoints(more: Vec<Endpoint>) -> Vec<Endpoint> {
    [service(), decision_endpoints(), receipt_endpoints(), verification_endpoints(), reference_endpoints(), more]
        .into_iter()
        .flatten()
        .collect()
}

fn service() -> Vec<Endpoint> {
    vec![
        open("/", health::index).operation("index", "service", "List where everything is").ok::<Index>("The paths"),
        open("/health/live", health::live)
            .operation("live", "service", "Whether the server lives")
            .ok::<Status>("It does"),
        open("/healthz", health::live)
            .operation("healthz", "service", "Whether the server lives")
            .ok::<Status>("It does"),
        open("/readyz", health::ready)
            .operation("readyz", "service", "Whether the store can be written, tried at most every three seconds")
            .description(
                "Also says whether code can be verified, and which files of the server could not be read again.",
            )
            .ok::<Status>("It can")
            .named(500, "Internal")
            .named(503, "Unavailable"),
        open("/.well-known/jwks.json", health::keys)
            .operation("jwks", "service", "The public keys that receipts and decisions are signed with (RFC 7517)")
            .ok::<Jwks>("The keys"),
        open("/log/checkpoint", log::checkpoint)
            .operation("logCheckpoint", "log", "The checkpoint of the transparency log that was signed last")
            .description("In the form of C2SP tlog-checkpoint, with the cosignatures of witnesses.")
            .ok_text("text/plain", "The signed note")
            .not_found(),
        open("/log/tile/{*path}", log::tile),
        open("/openapi.json", openapi::document)
            .operation("openapi", "service", "This document")
            .ok::<Description>("The document"),
        open("/docs", docs::redirect)
            .operation("docs", "service", "This document as a page")
            .ok_text("text/html", "The page"),
        open("/docs/", docs::file),
        open("/docs/{*file}", docs::file),
        waiting(Get, "/metrics", ADMIN, metrics::show)
            .operation("metrics", "service", "Figures in the Prometheus text format")
            .ok_text("text/plain", "The figures"),
        waiting(Get, "/mcp", AGENT, mcp::http::follow),
        waiting(Post, "/mcp", AGENT, mcp::http::post),
        waiting(Delete, "/mcp", AGENT, mcp::http::end),
    ]
}

fn decision_endpoints() -> Vec<Endpoint> {
    vec![
        deciding("/v4/runtime/boundaries/preflight", AGENT, runtime::PREFLIGHT)
            .operation("preflight", "runtime", "Decide on an action of the runtime SDK")
            .description("What the unmodified SDK `verifiedx` asks before each action, in its own form.")
            .parameters(&["IdempotencyKey", "Policy"])
            .body::<WireRequest>()
            .ok::<WireDecision>("The decision, signed and stored")
            .unprocessable(),
        blocking(Post, "/v4/runtime/boundaries/executions/report", AGENT, runtime::report)
            .operation("report", "runtime", "Report an execution")
            .description("A report is compared with its decision. One without a decision, or of another action, is a finding.")
            .parameters(&["IdempotencyKey"])
            .body::<ExecutionReport>()
            .ok::<Reported>("It is stored; the findings about it are listed")
            .unprocessable(),
        blocking(Post, "/v4/runtime/taint/probe", AGENT, runtime::taint)
            .operation("probe", "runtime", "Label a text by fixed rules")
            .description("The same text always gets the same labels.")
            .body::<Excerpt>()
            .ok::<Probed>("The labels, and the rule that gave each first"),
        blocking(Post, "/v1/events/batch", AGENT, runtime::events)
            .operation("events", "runtime", "Count events; they are not stored")
            .description("The SDK sends them; decisions rest on what it sends with an action.")
            .body::<EventBatch>()
            .ok::<EventsAccepted>("How many there were"),
        deciding("/v1/decisions", AGENT, decisions::DECIDE)
            .operation("decide", "decisions", "Decide on a request in the plain form or the runtime's")
            .description("Only an outcome that allows is a permission. It spends the receipts and approvals that count once.")
            .parameters(&["IdempotencyKey", "Policy"])
            .body::<DecisionRequest>()
            .ok::<DecisionReceipt>("The receipt, signed and stored")
            .unprocessable(),
        blocking(Get, "/v1/decisions", ANY_ROLE, decisions::list)
            .operation("decisions", "decisions", "List decisions, newest first")
            .parameters(&["Outcome", "Class", "Agent", "Since", "Until", "Limit", "After"])
            .ok::<DecisionPage>("A page"),
        blocking(Get, "/v1/decisions/{id}", ANY_ROLE, decisions::show)
            .operation("decision", "decisions", "Show a decision")
            .ok::<DecisionEntry>("The decision")
            .not_found(),
        blocking(Get, "/v1/decisions/{id}/proof", ANY_ROLE, log::of_decision)
            .operation("decisionProof", "log", "Prove that a decision is in the transparency log")
            .ok_text("text/plain", "A proof file (C2SP tlog-proof) with the decision in it")
            .not_found(),
        blocking(Get, "/v1/findings", ANY_ROLE, decisions::findings)
            .operation("findings", "decisions", "List findings about executions, newest first")
            .parameters(&["Limit", "After"])
            .ok::<FindingPage>("A page"),
        blocking(Get, "/v1/reviews", REVIEWER, decisions::reviews)
            .operation("reviews", "reviews", "List decisions that wait for a review, newest first")
            .description("Of each action the newest, until it is approved, denied or allowed.")
            .parameters(&["Whose", "Environment", "Amount", "Since", "Until", "Limit", "After"])
            .ok::<DecisionPage>("A page"),
        blocking(Post, "/v1/reviews/{id}", REVIEWER, decisions::review)
            .operation("review", "reviews", "Approve or deny")
            .description("An approval counts for this action, environment and agent, once, or as far as its `scope`, where the rule offers it. One that would not count is refused, with the reason. A denial ends the grants for such actions.")
            .body::<ReviewRequest>()
            .ok::<Reviewed>("The review, and the approval signed for it")
            .not_found()
            .conflict()
            .unprocessable(),
        blocking(Post, "/v1/approvals/{id}/revoke", REVIEWER, decisions::revoke)
            .operation("revokeApproval", "reviews", "End an approval that reaches beyond one action")
            .description("It counts for nothing from then on. Approvals of one action end with the decision that they allow.")
            .body::<RevocationRequest>()
            .ok::<Receipt>("The signed revocation")
            .not_found()
            .conflict()
            .unprocessable(),
        blocking(Post, "/v1/sessions/requests", REVIEWER, decisions::tell_request)
            .operation("tellRequest", "reviews", "Tell what the user asked an agent for")
            .description("Values that come from it are the user's from here on. The session may not have begun yet. Hosts of agents cannot tell it.")
            .body::<SessionRequest>()
            .ok::<RequestTold>("The session")
            .unprocessable(),
        blocking(Post, "/v1/reviews/{id}/statement", REVIEWER, decisions::statement)
            .operation("reviewStatement", "reviews", "Show what a passkey signs to approve")
            .description("Send what it signed as `passkey` of the review, with the same note, role and expiry, within ten minutes.")
            .body::<StatementRequest>()
            .ok::<ToSign>("The statement and its challenge; nothing is stored")
            .not_found()
            .conflict()
            .unprocessable(),
    ]
}

fn receipt_endpoints() -> Vec<Endpoint> {
    vec![
        blocking(Get, "/v1/receipts", ANY_ROLE, receipts::list)
            .operation("receipts", "receipts", "List receipts, newest first")
            .parameters(&["Verdict", "Tier", "Task", "Signer", "Chain", "Since", "Until", "Limit", "After"])
            .ok::<ReceiptPage>("A page"),
        blocking(Post, "/v1/receipts", AGENT, receipts::receive)
            .operation("keepReceipts", "receipts", "Store receipts issued elsewhere, those that verify")
            .description("One receipt, or up to 1,000 as `receipts`. Whether the signer was trusted is stored with it.")
            .body::<ReceiptsToStore>()
            .ok::<ReceivedAnswer>("Whether it, or each of many, is stored")
            .unprocessable(),
        blocking(Post, "/v1/receipts/verify", ANY_ROLE, receipts::verify)
            .operation("verifyReceipt", "receipts", "Check a receipt of either kind; nothing is stored")
            .description(
                "Send a receipt by itself, or as `receipt` with the signers to trust in place of those trusted here.",
            )
            .body::<PresentedReceipt>()
            .ok::<Checked>("The result"),
        blocking(Get, "/v1/receipts/{id}", ANY_ROLE, receipts::show)
            .operation("receipt", "receipts", "Show a receipt with the bytes that were signed")
            .parameters(&["Signer"])
            .named(200, "StoredReceipt")
            .not_found(),
        blocking(Get, "/v1/receipts/{id}/proof", ANY_ROLE, log::of_receipt)
            .operation("receiptProof", "log", "Prove that a receipt is in the transparency log")
            .description("`proofmark log verify` checks it offline.")
            .ok_text("text/plain", "A proof file (C2SP tlog-proof) with the receipt in it")
            .not_found(),
        // A request has the expected outputs and the salt, which the agent that is tested must not read.
        blocking(Get, "/v1/receipts/{id}/request", ADMIN, receipts::request)
            .operation("receiptRequest", "receipts", "Show the request that a receipt issued here answers")
            .ok::<Request>("The stored request")
            .not_found(),
        blocking(Get, "/v1/receipts/{id}/chain", ANY_ROLE, receipts::chain)
            .operation(
                "chain",
                "receipts",
                "List the receipts of its chain, first to last, with the chain's end signed",
            )
            .parameters(&["Limit", "AfterPosition"])
            .ok::<ChainPage>("A page")
            .not_found(),
        blocking(Post, "/v1/receipts/{id}/redeem", AGENT, receipts::redeem)
            .operation("redeem", "receipts", "Use a receipt up, once for all")
            .description(
                "Only a `pass` by a trusted signer that no other receipt supersedes is redeemed, unless the body \
                 accepts more.",
            )
            .optional_body::<Terms>()
            .ok::<Redeemed>("It is used up now, and this is what it was")
            .not_found()
            .conflict()
            .unprocessable(),
        waiting(Post, "/v1/receipts/{id}/recheck", AGENT, receipts::recheck)
            .operation("recheck", "receipts", "Run the request of a receipt issued here again")
            .description("The new receipt supersedes the old one.")
            .parameters(&["Prefer"])
            .ok::<Rechecked>("The differences")
            .named(202, "Job")
            .not_found()
            .conflict()
            .unprocessable(),
        blocking(Post, "/v1/quorums", AGENT, quorums::collect)
            .operation("collectReviews", "receipts", "Collect stored reviews of the same work in one receipt of tier 2")
            .description(
                "The receipt is signed by this server, whose word counts for nothing: every reader counts the reviews again, by the \
                 reader's own list of reviewers.",
            )
            .body::<Reviews>()
            .ok::<Collected>("The receipt of the quorum, and its members")
            .unprocessable(),
        blocking(Get, "/v1/stats", ANY_ROLE, receipts::stats)
            .operation("stats", "receipts", "Count receipts by verdict: of a chain, of a signer, or all")
            .parameters(&["Chain", "Signer", "TaskType"])
            .ok::<Stats>(
                "The counts; superseded receipts, and those brought of signers who were not trusted, are counted apart",
            ),
    ]
}

fn verification_endpoints() -> Vec<Endpoint> {
    vec![
        waiting(Post, "/v1/verifications", AGENT, verifications::verify)
            .operation("verify", "verification", "Verify work: run its checks and issue a receipt")
            .description(
                "With `Prefer: respond-async`, or when it would take longer than 10 s (`Prefer: wait=60` waits longer), the \
                 answer is a job. The verdict `fail` is a successful answer.",
            )
            .parameters(&["IdempotencyKey", "Prefer", "Chain"])
            .body::<Request>()
            .named(200, "Receipt")
            .named(202, "Job")
            .conflict()
            .unprocessable(),
        waiting(Get, "/v1/jobs/{id}", AGENT, verifications::show)
            .operation("job", "verification", "Show a job, and its receipt when it is done")
            .ok::<Job>("The job")
            .not_found(),
        waiting(Delete, "/v1/jobs/{id}", AGENT, verifications::cancel)
            .operation("cancel", "verification", "Cancel a job, and kill what runs")
            .ok::<Job>("The job, cancelled")
            .not_found()
            .conflict(),
        waiting(Get, "/v1/jobs/{id}/events", AGENT, verifications::events)
            .operation("jobEvents", "verification", "Follow a job: each state as a server-sent event, until it is over")
            .ok_text("text/event-stream", "Events named by the state, each with the job as its data")
            .not_found(),
        blocking(Get, "/v1/steps/{run}/{step}", ANY_ROLE, steps::show)
            .operation("step", "steps", "Show where a step of a run is, with the receipts of its attempts")
            .parameters(&["BegunBy"])
            .ok::<StepRun>("The state")
            .not_found()
            .unprocessable(),
        blocking(Post, "/v1/steps/{run}/{step}/attempts", AGENT, steps::attempt)
            .operation("attempt", "steps", "Judge an attempt at a step by its contract")
            .description(
                "Of two attempts that race one is refused. A run belongs to the key that began it: 403 where that is \
                 another's, and the caller is not an administrator.",
            )
            .parameters(&["BegunBy"])
            .body::<Attempt>()
            .ok::<Acceptance>("The new state, and every rule")
            .not_found()
            .conflict()
            .unprocessable(),
        waiting(Post, "/v1/acp/evaluations", AGENT, acp::evaluate)
            .operation("evaluate", "commerce", "Evaluate a job of the Agent Commerce Protocol")
            .description("The tests in the requirements are run against the deliverable.")
            .parameters(&["IdempotencyKey", "Prefer", "Chain"])
            .body::<AcpJob>()
            .named(200, "Evaluation")
            .named(202, "Job")
            .conflict()
            .unprocessable(),
        blocking(Get, "/v1/acp/evaluations/{id}", ANY_ROLE, acp::show)
            .operation("evaluation", "commerce", "Show what a stored receipt answers an evaluator")
            .description(
                "Only the receipt of a job evaluated here counts. Of any other, and of one about other work than the \
                 parameters name, `approved` is null and `why` says what it is.",
            )
            .parameters(&["JobId", "Specification", "Tests", "Output"])
            .named(200, "Evaluation")
            .not_found(),
    ]
}

/// The paths of ClawBizarre's reference server.
fn reference_endpoints() -> Vec<Endpoint> {
    vec![
        waiting(Post, "/verify", AGENT, clawbizarre::verify)
            .operation("referenceVerify", "reference", "Verify work, as the reference server takes it")
            .description("As /v1/verifications; a suite that names no language is in Python.")
            .parameters(&["IdempotencyKey", "Prefer", "Chain"])
            .body::<Request>()
            .named(200, "Receipt")
            .named(202, "Job")
            .conflict()
            .unprocessable(),
        waiting(Post, "/verify/schema", AGENT, clawbizarre::verify_schema)
            .operation("referenceVerifySchema", "reference", "Check an output against a schema and constraints")
            .description("As /v1/verifications with `verification` of tier 1.")
            .parameters(&["IdempotencyKey", "Prefer", "Chain"])
            .body::<SchemaRequest>()
            .named(200, "Receipt")
            .named(202, "Job")
            .conflict()
            .unprocessable(),
        blocking(Get, "/receipt/{id}", ANY_ROLE, receipts::show)
            .operation("referenceReceipt", "reference", "Show a receipt, as the reference server does")
            .parameters(&["Signer"])
            .ok::<AnyReceipt>("The receipt")
            .not_found(),
        blocking(Post, "/receipt/verify", ANY_ROLE, clawbizarre::verify_receipt)
            .operation("referenceReceiptVerify", "reference", "Check a receipt, as the reference server does")
            .description("As /v1/receipts/verify, with another answer.")
            .body::<PresentedReceipt>()
            .ok::<clawbizarre::Validity>("Whether it is valid"),
        open("/health", clawbizarre::health)
            .operation("referenceHealth", "reference", "The server's version and languages")
            .ok::<clawbizarre::ReferenceHealth>("It lives"),
    ]
}
