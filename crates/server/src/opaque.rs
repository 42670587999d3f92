//! Schemas that `/openapi.json` has by hand: of documents that are signed or made elsewhere, of request bodies, which are
//! read strictly and not by serde, and of words.

use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Types that stand for the schemas of these names in `openapi/*.json`.
macro_rules! schemas {
    ($($name:ident)*) => {$(
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                Ref::from_schema_name(stringify!($name)).into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

schemas! {
    Acceptance AcpJob AnyReceipt Anything Attempt ChainHead Checked DecisionReceipt DecisionRequest Description EventBatch
    Excerpt ExecutionReport FindingCode Hashes JobStateName Jwks MaybeObject Mode Next Outcome PasskeyStatement
    PresentedReceipt Receipt ReceiptsToStore Request ReviewRequest Reviews StatementRequest ReviewVerdictName RevocationRequest SchemaRequest
    SessionRequest
    SignatureStatus StatusName StepState StoredTrust
    TaintLabel TaintRules Terms Time Trust Uuid VerdictName VerificationStatus WireDecision WireRequest
}
