//! Test cases of a policy: requests, the evidence presented with them, and the expected decisions.

use proofmark_evidence::{
    Comparison, Evidence, JudgmentDemand, JudgmentFact, ParseShareError, Person, ReceiptFact, ReceiptKind, Share,
    VotesDemand, suite_digest,
};
use proofmark_predicate::Decimal;
use proofmark_quorum::Votes;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};
use proofmark_receipt::{Json, Sha256Digest, SignerId, Timestamp, Trust, Verdict};

use crate::asker::{Asker, Separation};
use crate::counted::Counted;
use crate::decide::{Decision, decide};
use crate::disposition::{Disposition, Outcome};
use crate::moment::{History, Moment};
use crate::policy::{ActionPolicy, Demand, limit_keys};
use crate::request::Request;

/// The most cases of one file.
const MAX_CASES: usize = 10_000;
/// The time of a case without `now`: 2026-01-01.
const DEFAULT_NOW_MILLIS: i64 = 1_767_225_600_000;
/// How long an approval of a case counts, in milliseconds.
const APPROVED_FOR_MILLIS: i64 = 3_600_000;

/// The cases of one file.
#[derive(Clone, Debug)]
pub struct Cases {
    /// The policy's file, where the cases name one.
    pub policy: Option<String>,
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub request: Request,
    pub moment: Moment,
    receipts: Vec<CaseReceipt>,
    approvals: Vec<(String, u8)>,
    /// What limits had counted, by their ids; those that are not named had counted nothing.
    used: Vec<(String, Decimal)>,
    expect: Expectation,
}

/// A receipt, and the log that the case assumes it to be in.
#[derive(Clone, Debug)]
struct CaseReceipt {
    fact: ReceiptFact,
    /// The witnesses that have cosigned, as the policy calls them; `None` for a receipt that is in no log.
    cosigned: Option<Vec<String>>,
    /// The operators that agree in a quorum, and the others, as rules of the policy call them; `None` for a receipt of no quorum that was
    /// counted.
    reviewed: Option<Reviewed>,
}

#[derive(Clone, Debug, Default)]
struct Reviewed {
    agree: Vec<String>,
    disagree: Vec<String>,
}

#[derive(Clone, Debug)]
struct Expectation {
    outcome: Outcome,
    mode: Option<&'static str>,
    reasons: Option<Vec<String>>,
}

/// The result of one case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    pub name: String,
    pub decision: Decision,
    /// The differences from what was expected; empty when the case passed.
    pub differences: Vec<String>,
}

impl Cases {
    /// Reads cases.
    ///
    /// # Errors
    /// [`DocumentError`] names the field.
    pub fn read(document: &Json) -> Result<Self, DocumentError> {
        let fields = Field::root(document).fields()?;
        fields.only(&["policy", "cases"])?;
        let field = fields.need("cases", "write at least one")?;
        let items = field.items()?;
        if items.is_empty() || items.len() > MAX_CASES {
            return Err(field.error(Cause::Empty, format!("write 1 to {MAX_CASES} cases")));
        }
        let mut cases: Vec<Case> = Vec::new();
        for item in &items {
            let case = case(item)?;
            if cases.iter().any(|other| other.name == case.name) {
                let message = format!("another case has the name `{}`", shown(&case.name));
                return Err(item.error(Cause::DuplicateName, message).with_help("give each its own name"));
            }
            cases.push(case);
        }
        let policy = fields.get("policy").map(|field| field.text().map(str::to_owned)).transpose()?;
        Ok(Self { policy, cases })
    }
}

impl Case {
    /// Decides the case, and compares the decision with what is expected.
    #[must_use]
    pub fn run(&self, policy: &ActionPolicy) -> CaseResult {
        let keys = limit_keys(policy, &self.request);
        let counted = keys.iter().map(|key| match self.used.iter().find(|(id, _)| *id == key.id) {
            Some((_, used)) => Counted { used: *used, total: *used, ..Counted::nothing(key.key) },
            None => Counted::nothing(key.key),
        });
        let history = History { counted: counted.collect(), ..self.moment.history.clone() };
        let moment = Moment { now: self.moment.now.clone(), history };
        let decision = decide(policy, &self.request, &self.evidence(policy), &moment);
        let mut differences = self.expect.differences(&decision);
        let unknown = self.used.iter().filter(|(id, _)| !keys.iter().any(|key| key.id == *id));
        differences.extend(self.receipts.iter().filter_map(|receipt| receipt.unknown(policy)));
        differences
            .extend(unknown.map(|(id, _)| format!("`used` names `{}`, which does not count this action", shown(id))));
        CaseResult { name: self.name.clone(), differences, decision }
    }

    /// The documents of the case. Its approvals approve exactly its action.
    fn evidence(&self, policy: &ActionPolicy) -> Evidence {
        let subject = self.request.subject();
        let mut documents: Vec<_> = self.receipts.iter().map(|receipt| receipt.fact_under(policy)).collect();
        for (number, (role, reviewer)) in self.approvals.iter().enumerate() {
            // Reviewer n of a case is member n of the role; one that there is not is somebody whom the policy does not list.
            let members = policy.roles.members(role);
            let person = match members.clone().nth(usize::from(*reviewer)) {
                Some(member) => {
                    member.people.first().cloned().unwrap_or_else(|| Person::supposed(usize::from(*reviewer)))
                }
                None if members.count() > 0 => Person::Key(SignerId::from_bytes([*reviewer; 32])),
                None => Person::supposed(usize::from(*reviewer)),
            };
            let expires = self.moment.now.unix_millis().saturating_add(APPROVED_FOR_MILLIS);
            documents.push(ReceiptFact::blank_approval(
                &format!("approval {number}"),
                &person,
                role,
                &subject,
                &self.moment.now,
                Timestamp::from_unix_millis(expires),
            ));
        }
        Evidence::new(documents)
    }
}

impl CaseReceipt {
    /// The fact, in the first log of the policy.
    fn fact_under(&self, policy: &ActionPolicy) -> ReceiptFact {
        let logged = policy.log_policy().zip(self.cosigned.as_ref()).and_then(|(by, cosigned)| {
            let has_cosigned = |name: &str| cosigned.iter().any(|witness| witness == name);
            by.supposed(has_cosigned)
        });
        let votes = self.reviewed.as_ref().map(|reviewed| reviewed.under(policy, &self.fact.verified_at));
        // Somebody who has the role has signed a judgment, unless the case says who did.
        let signer = self.fact.signer.or_else(|| {
            let demand = JudgmentDemand { role: self.fact.judgment.as_ref()?.role.clone() };
            demand.keys(&policy.roles).next()
        });
        ReceiptFact { logged, votes, signer, ..self.fact.clone() }
    }

    /// What the case assumes about a log, a witness or an operator that the policy does not name.
    fn unknown(&self, policy: &ActionPolicy) -> Option<String> {
        if let Some(operator) = self.reviewed.as_ref().and_then(|reviewed| reviewed.unknown(policy)) {
            return Some(format!("`quorum` names `{}`, which no rule of the policy lists", shown(operator)));
        }
        let cosigned = self.cosigned.as_ref()?;
        let Some(by) = policy.log_policy() else {
            return Some("a receipt is `logged`, and the policy has no `log_policy`".to_owned());
        };
        let other = cosigned.iter().find(|name| !by.witnesses().any(|witness| witness == name.as_str()))?;
        Some(format!("`witnesses` names `{}`, which `log_policy` does not list", shown(other)))
    }
}

impl Reviewed {
    /// The votes, with the first key of each operator in the rules of the policy.
    fn under(&self, policy: &ActionPolicy, dated: &Timestamp) -> Votes {
        let has = |operators: &[String], operator: &str| operators.iter().any(|name| name == operator);
        let mut all = Votes::default();
        for demand in quorums(policy) {
            let (agrees, disagrees) = (|name: &str| has(&self.agree, name), |name: &str| has(&self.disagree, name));
            let votes = demand.supposed(dated, agrees, disagrees);
            all.agreeing.extend(votes.agreeing);
            all.others.extend(votes.others);
        }
        all
    }

    /// The first operator that no rule lists.
    fn unknown(&self, policy: &ActionPolicy) -> Option<&str> {
        let is_listed = |operator: &str| {
            quorums(policy).any(|demand| demand.operators().iter().any(|(listed, _)| *listed == operator))
        };
        self.agree.iter().chain(&self.disagree).map(String::as_str).find(|operator| !is_listed(operator))
    }
}

/// What the rules of a policy demand of quorums.
fn quorums(policy: &ActionPolicy) -> impl Iterator<Item = &VotesDemand> {
    let rules = policy.boundaries.iter().flat_map(|boundary| &boundary.require);
    rules.filter_map(|rule| match &rule.demand {
        Demand::Receipt(rule) => rule.demand.quorum.as_ref(),
        Demand::Fact(_) | Demand::Approval(_) | Demand::ToolCall(_) => None,
    })
}

impl Expectation {
    fn differences(&self, decision: &Decision) -> Vec<String> {
        let mut differences = Vec::new();
        if decision.outcome() != self.outcome {
            differences.push(format!("outcome is `{}`, expected `{}`", decision.outcome(), self.outcome));
        }
        if let Some(mode) = self.mode.filter(|mode| *mode != decision.disposition().mode()) {
            differences.push(format!("disposition is `{}`, expected `{mode}`", decision.disposition().mode()));
        }
        let found: Vec<_> = decision.reasons().map(|reason| reason.code.to_string()).collect();
        if let Some(expected) = self.reasons.as_ref().filter(|expected| **expected != found) {
            differences.push(format!("reasons are [{}], expected [{}]", found.join(", "), expected.join(", ")));
        }
        differences
    }
}

fn case(field: &Field<'_>) -> Result<Case, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["name", "request", "asker", "now", "denied", "used", "receipts", "approvals", "expect"])?;
    let now = match fields.get("now") {
        Some(field) => time(&field)?,
        None => Timestamp::from_unix_millis(DEFAULT_NOW_MILLIS),
    };
    let field = fields.need("request", "write the request, in either form")?;
    let request = Request::read(field.json).map_err(|error| field.error(Cause::InvalidValue, error.to_string()))?;
    let asker = fields.get("asker").map(|field| asker(&field)).transpose()?.unwrap_or_default();
    let receipts = items(&fields, "receipts")?;
    let receipts = receipts.iter().enumerate().map(|(number, field)| receipt(field, number, &now));
    Ok(Case {
        name: fields.need("name", "name the case")?.text()?.to_owned(),
        request: request.asked_by(&asker),
        receipts: receipts.collect::<Result<_, _>>()?,
        used: fields.get("used").map(|field| used(&field)).transpose()?.unwrap_or_default(),
        approvals: items(&fields, "approvals")?.iter().map(approval).collect::<Result<_, _>>()?,
        expect: expect(&fields.need("expect", "write the expected outcome, as in `{outcome: allow}`")?)?,
        moment: Moment {
            history: History {
                denied: fields.get("denied").map(|field| field.positive()).transpose()?.unwrap_or(0),
                denial: None,
                // Each limit's, once the policy is known.
                counted: Vec::new(),
            },
            now,
        },
    })
}

/// What limits had counted, as in `{paid: 940}`.
fn used(field: &Field<'_>) -> Result<Vec<(String, Decimal)>, DocumentError> {
    let mut used = Vec::new();
    for (id, number) in field.fields()?.iter() {
        let read = number.json.as_number().and_then(|number| number.as_str().parse::<Decimal>().ok());
        match read.filter(|number| *number >= Decimal::ZERO) {
            Some(number) => used.push((id.to_owned(), number)),
            None => return Err(number.wrong_type("a number from 0")),
        }
    }
    Ok(used)
}

/// Who asks, which no request says.
fn asker(field: &Field<'_>) -> Result<Asker, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["separation", "account"])?;
    let separation = fields.get("separation").map(|field| field.choice(&Separation::WORDS)).transpose()?;
    let account = fields.get("account").map(|field| field.text().map(str::to_owned)).transpose()?;
    Ok(Asker { separation: separation.unwrap_or_default(), account, ..Asker::default() })
}

fn items<'a>(fields: &Fields<'a>, name: &str) -> Result<Vec<Field<'a>>, DocumentError> {
    fields.get(name).map_or_else(|| Ok(Vec::new()), |field| field.items())
}

fn receipt(field: &Field<'_>, number: usize, now: &Timestamp) -> Result<CaseReceipt, DocumentError> {
    let fields = field.fields()?;
    fields.only(&RECEIPT_FIELDS)?;
    let reviewed = fields.get("quorum").map(|field| reviewed(&field)).transpose()?;
    let fact = fact(field, &fields, number, now)?;
    Ok(CaseReceipt { fact, cosigned: cosigned(&fields)?, reviewed })
}

/// The operators that agree in a quorum, and those that do not: `{agree: [acme, bolt], disagree: [cato]}`.
fn reviewed(field: &Field<'_>) -> Result<Reviewed, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["agree", "disagree"])?;
    let names = |name: &str| {
        let items = items(&fields, name)?;
        items.iter().map(|field| field.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()
    };
    Ok(Reviewed { agree: names("agree")?, disagree: names("disagree")? })
}

/// A judgment: `{role: maintainer, expires_at: 2026-01-01T00:00:00Z}`.
fn judgment(field: &Field<'_>) -> Result<JudgmentFact, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["role", "expires_at"])?;
    let role = fields.need("role", "say in which role")?.text()?.to_owned();
    Ok(JudgmentFact { role, expires_at: fields.get("expires_at").map(|field| time(&field)).transpose()? })
}

/// The witnesses that have cosigned the log that it is in, by their names in the policy. `logged: true` alone is a log without any.
fn cosigned(fields: &Fields<'_>) -> Result<Option<Vec<String>>, DocumentError> {
    let logged = fields.get("logged").map(|field| field.boolean()).transpose()?;
    let Some(field) = fields.get("witnesses") else { return Ok(logged.filter(|logged| *logged).map(|_| Vec::new())) };
    if logged == Some(false) {
        let error = field.error(Cause::ConflictingFields, "`logged` is `false`, so there is nothing to cosign");
        return Err(error.with_help("leave one of the two out"));
    }
    field.items()?.iter().map(|field| field.text().map(str::to_owned)).collect::<Result<_, _>>().map(Some)
}

const RECEIPT_FIELDS: [&str; 23] = [
    "of",
    "output",
    "kind",
    "suite",
    "specification",
    "tests",
    "tests_from",
    "comparison",
    "strength",
    "counter_run",
    "environment",
    "environment_from",
    "verdict",
    "tier",
    "verified_at",
    "valid",
    "trusted",
    "spent",
    "signer",
    "quorum",
    "judgment",
    "logged",
    "witnesses",
];

/// A receipt that is valid, of a trusted signer and not spent, unless the case says otherwise.
fn fact(field: &Field<'_>, fields: &Fields<'_>, number: usize, now: &Timestamp) -> Result<ReceiptFact, DocumentError> {
    let flag = |name: &str, default| fields.get(name).map_or(Ok(default), |field| field.boolean());
    let output = match (fields.get("of"), fields.get("output")) {
        (Some(text), None) => Sha256Digest::of(text.text()?.as_bytes()),
        (None, Some(digest)) => parsed(&digest)?,
        (Some(_), Some(_)) | (None, None) => {
            let message = "write either the verified text as `of`, or its digest as `output`";
            return Err(field.error(Cause::ConflictingFields, message));
        }
    };
    let tier = fields.get("tier").map(|field| tier(&field)).transpose()?.unwrap_or(0);
    let digest = |name: &str| fields.get(name).map(|field| parsed::<Sha256Digest>(&field)).transpose();
    let specification = digest("specification")?.unwrap_or_else(|| Sha256Digest::of(b""));
    let tests = digest("tests")?;
    let kind = ReceiptKind::read(fields)?;
    let comparisons = [Comparison::External, Comparison::InProcess].map(|one| (one.as_str(), one));
    let comparison = fields.get("comparison").map(|field| field.choice(&comparisons)).transpose()?;
    Ok(ReceiptFact {
        output,
        tier,
        specification,
        tests,
        tests_from: fields.get("tests_from").map(|field| field.text().map(str::to_owned)).transpose()?,
        suite: digest("suite")?.or_else(|| tests.map(|tests| suite_digest(&specification, &tests))),
        kind: Some(kind),
        comparison: Some(comparison.unwrap_or(Comparison::External)),
        strength: fields.get("strength").map(|field| share(&field)).transpose()?,
        counter_run: fields.get("counter_run").map(|field| share(&field)).transpose()?,
        environment: digest("environment")?,
        environment_from: fields.get("environment_from").map(|field| field.text().map(str::to_owned)).transpose()?,
        verdict: fields.get("verdict").map(|field| parsed(&field)).transpose()?.unwrap_or(Verdict::Pass),
        signer: fields.get("signer").map(|field| parsed(&field)).transpose()?,
        valid: flag("valid", true)?,
        trust: if flag("trusted", true)? { Trust::Trusted } else { Trust::Untrusted },
        judgment: fields.get("judgment").map(|field| judgment(&field)).transpose()?,
        spent: flag("spent", false)?,
        verified_at: fields.get("verified_at").map(|field| time(&field)).transpose()?.unwrap_or_else(|| now.clone()),
        ..ReceiptFact::blank(&format!("receipt {number}"), now)
    })
}

fn share(field: &Field<'_>) -> Result<Share, DocumentError> {
    let share = field.json.as_number().and_then(|number| number.as_str().parse().ok());
    share.ok_or_else(|| {
        field.error(Cause::InvalidValue, ParseShareError.to_string()).with_help("write one such as 0.85")
    })
}

fn tier(field: &Field<'_>) -> Result<u8, DocumentError> {
    let tier = field.json.as_number().and_then(|number| number.as_u64()).filter(|tier| *tier <= 3);
    // The cast is exact: the tier is at most 3.
    tier.map(|tier| tier as u8).ok_or_else(|| field.error(Cause::InvalidValue, "a tier is 0, 1, 2 or 3"))
}

fn approval(field: &Field<'_>) -> Result<(String, u8), DocumentError> {
    let fields = field.fields()?;
    fields.only(&["role", "reviewer"])?;
    let role = fields.need("role", "say in which role")?.text()?.to_owned();
    let reviewer = fields.get("reviewer").map(|field| Ok((field.clone(), field.positive()?))).transpose()?;
    match reviewer {
        None => Ok((role, 0)),
        // `positive` returns at least 1, so the subtraction cannot underflow.
        Some((field, number)) => match u8::try_from(number - 1) {
            Ok(number) => Ok((role, number)),
            Err(_) => Err(field.error(Cause::TooMany, "reviewers are numbered from 1 to 256")),
        },
    }
}

fn expect(field: &Field<'_>) -> Result<Expectation, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["outcome", "disposition", "reasons"])?;
    let outcomes = [Outcome::Allow, Outcome::AllowWithWarning, Outcome::ReplanRequired, Outcome::GoalFailTerminal];
    let outcome = fields.need("outcome", "say which outcome")?;
    let outcome = outcome.choice(&outcomes.map(|outcome| (outcome.as_str(), outcome)))?;
    let modes = Disposition::ALL.map(|disposition| (disposition.mode(), disposition.mode()));
    let reasons = |field: Field<'_>| {
        field.items()?.iter().map(|field| field.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()
    };
    Ok(Expectation {
        outcome,
        mode: fields.get("disposition").map(|field| field.choice(&modes)).transpose()?,
        reasons: fields.get("reasons").map(reasons).transpose()?,
    })
}

fn time(field: &Field<'_>) -> Result<Timestamp, DocumentError> {
    parsed(field)
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(field: &Field<'_>) -> Result<T, DocumentError> {
    field.text()?.parse().map_err(|error: T::Err| field.error(Cause::InvalidValue, error.to_string()))
}
