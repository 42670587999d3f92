//! `/v1/quorums`: reviews that are stored here, collected in one receipt.

use proofmark_quorum::{AgreeOn, Bundle, Challenge, MAX_REVIEWS, ParseChallengeError};
use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Json, Object, Receipt, ReceiptId, SignerId, object};
use proofmark_store::{StoreError, Tenant};
use proofmark_verifier::{CollectError, Collecting, Destination, IssueError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::context::RequestContext;
use crate::opaque::Receipt as AnIssuedReceipt;
use crate::problem::Problem;
use crate::reply::{Document, Reply};
use crate::services::Services;

/// The longest id of a task, in bytes.
const MAX_TASK_ID: usize = 1_024;

/// The receipt of a quorum, and its members.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Collected {
    #[schema(value_type = AnIssuedReceipt)]
    receipt: Document,
    /// In the order in which the receipt lists them
    #[schema(value_type = Vec<AnIssuedReceipt>)]
    members: Vec<Document>,
}

/// Reviews to collect.
pub(crate) struct ReviewsBody {
    /// The receipts, each with its signer where several have one id.
    reviews: Vec<(ReceiptId, Option<SignerId>)>,
    collecting: Collecting,
}

/// Why reviews are not collected, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReviewsError {
    #[error("read the reviews: {0}")]
    Fields(#[from] DocumentError),
    #[error("collect the reviews: no receipt `{0}` is stored here")]
    NotStored(ReceiptId),
    #[error("collect the reviews: several receipts have the id `{0}`")]
    Several(ReceiptId),
    #[error("collect the reviews: the receipt `{0}` was superseded by a newer one")]
    Superseded(ReceiptId),
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReviewsError {
    /// What to do about it.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::Fields(error) => error.help(),
            Self::NotStored(_) => Some("store it first, with `POST /v1/receipts`".to_owned()),
            Self::Several(_) => Some("also name its signer: `{\"receipt_id\": …, \"signer\": …}`".to_owned()),
            Self::Superseded(_) => Some("name the newer one".to_owned()),
            Self::Collect(error) => error.help(),
            Self::Store(error) => error.help(),
        }
    }
}

impl From<ReviewsError> for Problem {
    fn from(error: ReviewsError) -> Self {
        let code = match error {
            ReviewsError::Fields(error) => return Self::unreadable("read the reviews", &error),
            ReviewsError::Store(error) | ReviewsError::Collect(CollectError::Issue(IssueError::Store(error))) => {
                return error.into();
            }
            ReviewsError::Collect(CollectError::Issue(error)) => return error.into(),
            ReviewsError::Collect(CollectError::Randomness(error)) => {
                return Self::internal().cause(error);
            }
            ReviewsError::NotStored(_) => "no_review",
            ReviewsError::Several(_) => "several_issuers",
            ReviewsError::Superseded(_) => "superseded",
            ReviewsError::Collect(CollectError::Compose(_)) => "no_quorum",
        };
        Self::unprocessable(code, error.to_string()).maybe_help(error.help())
    }
}

impl ReviewsBody {
    /// Reads `{reviews, threshold, agree_on?, challenge?, task_id?}`.
    pub(crate) fn read(body: &Json) -> Result<Self, DocumentError> {
        let fields = Field::root(body).fields()?;
        fields.only(&["reviews", "threshold", "agree_on", "challenge", "task_id"])?;
        let field = fields.need("reviews", "name the receipts of the reviews by their ids")?;
        let items = field.items()?;
        // The rule of a quorum has the least number.
        if items.len() > MAX_REVIEWS {
            let error = field.error(Cause::TooMany, format!("{} reviews", items.len()));
            return Err(error.with_help(format!("name at most {MAX_REVIEWS}")));
        }
        let threshold = fields.need("threshold", "say how many of them have to agree: more than half")?.positive()?;
        let words = [AgreeOn::Verdict, AgreeOn::Outcomes].map(|agree_on| (agree_on.as_str(), agree_on));
        let agree_on = fields.get("agree_on").map(|field| field.choice(&words)).transpose()?;
        Ok(Self {
            reviews: items.iter().map(review).collect::<Result<_, _>>()?,
            collecting: Collecting {
                threshold: usize::try_from(threshold).unwrap_or(usize::MAX),
                agree_on: agree_on.unwrap_or(AgreeOn::Verdict),
                challenge: fields.get("challenge").map(|field| challenge(&field)).transpose()?,
                task_id: fields.get("task_id").map(|field| task_id(&field)).transpose()?,
            },
        })
    }
}

/// The id of a receipt, or `{receipt_id, signer}`.
fn review(field: &Field<'_>) -> Result<(ReceiptId, Option<SignerId>), DocumentError> {
    let id = |field: &Field<'_>| {
        field.text()?.parse().map_err(|_| {
            field.error(Cause::InvalidValue, "this is not the id of a receipt").with_help("write the whole id")
        })
    };
    if field.json.as_object().is_none() {
        return Ok((id(field)?, None));
    }
    let fields = field.fields()?;
    fields.only(&["receipt_id", "signer"])?;
    let signer = fields.need("signer", "write its signer id")?;
    let key = signer.text()?.parse().map_err(|_| {
        signer.error(Cause::InvalidValue, "this is not a signer id").with_help("write the `signer_id` of its signature")
    })?;
    Ok((id(&fields.need("receipt_id", "name the receipt")?)?, Some(key)))
}

fn challenge(field: &Field<'_>) -> Result<Challenge, DocumentError> {
    let wrong =
        |error: ParseChallengeError| field.error(Cause::InvalidValue, error.to_string()).with_help(error.help());
    field.text()?.parse().map_err(wrong)
}

fn task_id(field: &Field<'_>) -> Result<String, DocumentError> {
    let text = field.text()?;
    if text.len() > MAX_TASK_ID {
        let error = field.error(Cause::TooLarge, format!("the id is longer than {MAX_TASK_ID} bytes"));
        return Err(error.with_help("shorten it"));
    }
    Ok(text.to_owned())
}

impl Services {
    /// Collects reviews of a tenant that are stored here. The receipt of the quorum is stored, too.
    pub(crate) fn collect(&self, tenant: &Tenant, body: ReviewsBody) -> Result<Bundle, ReviewsError> {
        let store = self.decider.store().of(tenant);
        let mut reviews: Vec<Receipt> = Vec::new();
        for (id, signer) in body.reviews {
            let stored = match signer {
                Some(signer) => store.receipt_by(&id, &signer.to_string())?,
                None => store.receipt(&id)?,
            };
            let stored = stored.ok_or(ReviewsError::NotStored(id))?;
            if stored.others > 0 {
                return Err(ReviewsError::Several(id));
            }
            if stored.superseded_by.is_some() {
                return Err(ReviewsError::Superseded(id));
            }
            reviews.push(stored.receipt);
        }
        Ok(body.collecting.compose(&reviews)?.issue(&self.decider.issuer(), Destination::of(tenant))?)
    }
}

/// `{receipt, members}`: every receipt with the bytes that were signed.
pub(crate) fn to_json(bundle: &Bundle) -> Object {
    object! {
        "receipt": bundle.receipt.document().clone(),
        "members": bundle.members.iter().map(|member| member.document().clone()).collect::<Vec<_>>(),
    }
}

/// `POST /v1/quorums`: collects stored reviews.
pub(crate) fn collect(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&[])?;
    let body = ReviewsBody::read(&context.json()?).map_err(ReviewsError::from)?;
    let Bundle { receipt, members } = context.services.collect(&context.caller.tenant, body)?;
    Reply::json(&Collected {
        receipt: receipt.document().into(),
        members: members.iter().map(|member| member.document().into()).collect(),
    })
}
