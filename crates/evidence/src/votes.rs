//! Whose reviews of a quorum count, and the votes that were found in one.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use proofmark_quorum::{QuorumDemand, Reviewers, TierError, Vote, Votes};
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::{Json, Object, SignerId, Timestamp, object};

use crate::receipt::MAX_AHEAD_MILLIS;
use crate::refusal::Refusal;

/// The most keys whose reviews one rule counts: the condition that would meet it names each, and has to be short enough to be read.
const MAX_KEYS: usize = 64;

/// How many of which operators have to agree, so that a receipt of a quorum counts. Who collected the reviews does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VotesDemand {
    of: Arc<Reviewers>,
    at_least: NonZeroUsize,
    complete: bool,
}

impl VotesDemand {
    /// Reads `{of, at_least, complete}`. `of` is the text of a reviewers file.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write; also for a demand that no quorum could meet.
    pub fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(&["of", "at_least", "atLeast", "complete"])?;
        let of = read_reviewers(&fields)?;
        let operators = of.operators().len();
        let help = "say how many of the operators have to agree, as in `at_least: 2`";
        let field = fields.either("at_least", "atLeast")?.map_or_else(|| fields.need("at_least", help), Ok)?;
        let at_least = usize::try_from(field.positive()?).unwrap_or(usize::MAX);
        let Some(at_least) = NonZeroUsize::new(at_least).filter(|count| count.get() <= operators) else {
            let message = format!("`of` lists {operators} operators, and this asks for {at_least}");
            return Err(field
                .error(Cause::InvalidValue, message)
                .with_help("list more operators in `of`, or ask for fewer"));
        };
        let complete = fields.get("complete").map_or(Ok(false), |field| field.boolean())?;
        Ok(Self { of: Arc::new(of), at_least, complete })
    }

    /// The keys of each operator whose reviews count, sorted by their names.
    #[must_use]
    pub fn operators(&self) -> Vec<(&str, Vec<SignerId>)> {
        self.of.operators().into_iter().map(|operator| (operator, self.of.keys(operator))).collect()
    }

    /// How many of them have to agree.
    #[must_use]
    pub fn at_least(&self) -> usize {
        self.at_least.get()
    }

    /// Whether each of them has to be among the reviews.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether it is met by what was counted of a receipt.
    pub(crate) fn meets(
        &self,
        counted: Option<&Votes>,
        max_age_millis: Option<i64>,
        now: &Timestamp,
    ) -> Result<(), Refusal> {
        let now_millis = now.unix_millis();
        let oldest = max_age_millis.map_or(i64::MIN, |max| now_millis.saturating_sub(max));
        let demand = QuorumDemand {
            of: &self.of,
            at_least: self.at_least,
            complete: self.complete,
            dated: oldest..=now_millis.saturating_add(MAX_AHEAD_MILLIS),
        };
        match counted.ok_or(Refusal::NotCounted)?.meet(&demand, now) {
            Ok(()) => Ok(()),
            Err(TierError::QuorumIncomplete { .. }) => Err(Refusal::QuorumIncomplete),
            Err(_) => Err(Refusal::QuorumNotMet),
        }
    }

    /// Votes that meet it at this moment: every operator agrees.
    #[must_use]
    pub fn met(&self, now: &Timestamp) -> Votes {
        self.supposed(now, |_| true, |_| false)
    }

    /// The votes of a quorum in which some operators agree and others do not, for cases and hypotheses.
    #[must_use]
    pub fn supposed(&self, now: &Timestamp, agrees: impl Fn(&str) -> bool, disagrees: impl Fn(&str) -> bool) -> Votes {
        let first = |operator: &str| self.of.keys(operator).into_iter().next();
        let mut votes = Votes::default();
        for operator in self.of.operators() {
            match first(operator) {
                Some(signer) if agrees(operator) => {
                    votes.agreeing.push(Vote { signer, verified_at: now.clone(), expires_at: None });
                }
                Some(signer) if disagrees(operator) => votes.others.push(signer),
                _ => {}
            }
        }
        votes
    }
}

impl fmt::Display for VotesDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operators = self.of.operators().len();
        write!(f, "in which {} of {operators} operators agree", self.at_least)?;
        if self.complete { f.write_str(", and all of them are asked") } else { Ok(()) }
    }
}

fn read_reviewers(fields: &Fields<'_>) -> Result<Reviewers, DocumentError> {
    const HELP: &str = "name the file of reviewers, as in `of: reviewers.txt`, or write its lines as a block: `of: |`, and then \
                        `reviewer OPERATOR KEY` for each key";
    let field = fields.need("of", HELP)?;
    let reviewers = Reviewers::parse(field.text()?.as_bytes());
    let reviewers = reviewers.map_err(|error| field.error(Cause::InvalidValue, error.to_string()).with_help(HELP))?;
    let keys: usize = reviewers.operators().into_iter().map(|operator| reviewers.keys(operator).len()).sum();
    if keys > MAX_KEYS {
        let error = field.error(Cause::TooMany, format!("{keys} keys"));
        return Err(
            error.with_help(format!("list at most {MAX_KEYS}: those of the operators whose reviews are asked for"))
        );
    }
    Ok(reviewers)
}

/// As decisions record it: `{agreeing: [{signer, verified_at, expires_at}], others: [signer]}`.
#[must_use]
pub fn votes_to_object(votes: &Votes) -> Object {
    let vote = |vote: &Vote| {
        let vote = object! {
            "signer": vote.signer.to_string(),
            "verified_at": vote.verified_at.as_str(),
            "expires_at"?: vote.expires_at.as_ref().map(|end| end.as_str()),
        };
        Json::Object(vote)
    };
    object! {
        "agreeing": votes.agreeing.iter().map(vote).collect::<Vec<_>>(),
        "others": votes.others.iter().map(|signer| Json::from(signer.to_string())).collect::<Vec<_>>(),
    }
}

/// Reads it back; `None` for another form.
#[must_use]
pub fn read_votes(json: &Json) -> Option<Votes> {
    let vote = |json: &Json| {
        let vote = json.as_object()?;
        let expires_at = match vote.get("expires_at") {
            Some(end) => Some(end.as_str()?.parse().ok()?),
            None => None,
        };
        let verified_at = vote.get("verified_at")?.as_str()?.parse().ok()?;
        Some(Vote { signer: vote.get("signer")?.as_str()?.parse().ok()?, verified_at, expires_at })
    };
    let object = json.as_object()?;
    let agreeing = object.get("agreeing")?.as_array()?.iter().map(vote).collect::<Option<Vec<_>>>()?;
    let others = object.get("others")?.as_array()?.iter().map(|signer| signer.as_str()?.parse().ok());
    Some(Votes { agreeing, others: others.collect::<Option<Vec<_>>>()? })
}
