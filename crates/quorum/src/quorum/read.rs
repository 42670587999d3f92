use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Receipt, Results, Verdict};

use super::{
    AgreeOn, ChainRecord, FORMAT, MAX_REVIEWS, MIN_REVIEWS, NAME, Quorum, Review, TIER, is_size, is_threshold,
};
use crate::form;

const MEMBERS: [&str; 5] = ["format", "threshold", "agree_on", "challenge", "reviews"];
const REVIEW_MEMBERS: [&str; 8] = ["receipt_id", "hash", "signer", "verdict", "tier", "outcomes", "head", "length"];

/// The whole form of a receipt of tier 2.
pub(super) fn quorum(receipt: &Receipt) -> Result<Quorum, DocumentError> {
    form::demand(receipt.tier() == TIER, "tier", "a quorum is of tier 2")?;
    let verdict = receipt.verdict();
    form::demand(verdict != Verdict::Partial, "verdict", "a quorum is never `partial`")?;
    let field = form::metadata(receipt, NAME).ok_or_else(|| form::wrong("metadata.quorum", "missing field"))?;
    let quorum = read(&field)?;
    form::common(receipt, NAME, quorum.is_structural(), verdict == Verdict::Error)?;
    results(receipt.results(), &quorum.results(verdict))?;
    Ok(quorum)
}

/// The one check, of which the issuer may say more than is expected.
fn results(found: &Results, expected: &Results) -> Result<(), DocumentError> {
    let counts = |results: &Results| (results.total, results.passed, results.failed, results.errors);
    form::demand(counts(found) == counts(expected), "results", "expected the one check `quorum`, with the verdict")?;
    let (found, expected) = (found.details.first(), expected.details.first());
    let place = "results.details[0]";
    let equal = found.zip(expected).is_some_and(|(found, expected)| {
        found.name == expected.name && found.expected == expected.expected && found.actual == expected.actual
    });
    form::demand(equal, place, "it does not say how many of the reviews agree, and how many have which verdict")
}

fn read(field: &Field<'_>) -> Result<Quorum, DocumentError> {
    let fields = field.fields()?;
    fields.only(&MEMBERS)?;
    fields.need("format", "write `proofmark-quorum/1`")?.choice(&[(FORMAT, ())])?;
    let agree_on = [AgreeOn::Verdict, AgreeOn::Outcomes].map(|agree_on| (agree_on.as_str(), agree_on));
    let agree_on = fields.need("agree_on", "say what the reviews agree on")?.choice(&agree_on)?;
    let challenge =
        fields.get("challenge").map(|field| form::parsed(&field, "a challenge", "write 64 lower-case hex digits"));
    let listed = fields.need("reviews", "list the reviews")?;
    let items = listed.array()?;
    if !is_size(items.len()) {
        let error = listed.error(Cause::TooMany, format!("{} reviews", items.len()));
        return Err(error.with_help(format!("list {MIN_REVIEWS} to {MAX_REVIEWS}")));
    }
    let items = listed.items()?;
    let reviews = items.iter().map(|item| review(item, agree_on)).collect::<Result<Vec<_>, _>>()?;
    if let Some((item, _)) =
        items.iter().skip(1).zip(reviews.array_windows()).find(|(_, [one, next])| one.hash >= next.hash)
    {
        return Err(item.error(Cause::InvalidValue, "the reviews are not sorted by `hash`, or one is listed twice"));
    }
    form::unique(places(&items, "receipt_id").zip(reviews.iter().map(|review| review.receipt_id)), "receipt")?;
    form::unique(places(&items, "signer").zip(reviews.iter().map(|review| review.signer)), "signer")?;
    let threshold = fields.need("threshold", "write how many reviews have to agree")?;
    let count = usize::try_from(threshold.positive()?).unwrap_or(usize::MAX);
    if !is_threshold(count, reviews.len()) {
        let error = threshold.error(Cause::InvalidValue, format!("{count} of {} is not a majority", reviews.len()));
        return Err(error.with_help("write more than half of the reviews, and at most all"));
    }
    Ok(Quorum { threshold: count, agree_on, reviews, challenge: challenge.transpose()? })
}

fn places<'a>(items: &'a [Field<'_>], name: &'a str) -> impl Iterator<Item = String> + 'a {
    items.iter().map(move |item| format!("{}.{name}", item.at))
}

fn review(item: &Field<'_>, agree_on: AgreeOn) -> Result<Review, DocumentError> {
    let fields = item.fields()?;
    fields.only(&REVIEW_MEMBERS)?;
    let outcomes = match agree_on {
        AgreeOn::Outcomes => {
            Some(form::digest(&fields.need("outcomes", "write the digest of what its checks came to")?)?)
        }
        AgreeOn::Verdict => match fields.get("outcomes") {
            Some(field) => return Err(field.error(Cause::ConflictingFields, "the reviews agree on the verdict alone")),
            None => None,
        },
    };
    let record = match (fields.get("head"), fields.get("length")) {
        (Some(head), Some(length)) => Some(ChainRecord { head: form::digest(&head)?, length: length.positive()? }),
        (None, None) => None,
        (Some(field), None) | (None, Some(field)) => {
            return Err(field.error(Cause::ConflictingFields, "`head` and `length` stand together"));
        }
    };
    Ok(Review {
        receipt_id: form::receipt_id(&fields.need("receipt_id", "name the receipt")?)?,
        hash: form::digest(&fields.need("hash", "write the hash of the whole receipt")?)?,
        signer: form::signer(&fields.need("signer", "name its signer")?)?,
        verdict: form::parsed(
            &fields.need("verdict", "write its verdict")?,
            "a verdict",
            "write `pass`, `fail`, `partial` or `error`",
        )?,
        tier: tier(&fields.need("tier", "write its tier")?)?,
        outcomes,
        record,
    })
}

fn tier(field: &Field<'_>) -> Result<u8, DocumentError> {
    let number = field.json.as_number().ok_or_else(|| field.wrong_type("an integer"))?;
    match number.as_u64() {
        Some(0) => Ok(0),
        Some(1) => Ok(1),
        Some(3) => Ok(3),
        _ => {
            let error = field.error(Cause::InvalidValue, "a review is of tier 0, 1 or 3");
            Err(error.with_help("a quorum of quorums would hide who counted"))
        }
    }
}
