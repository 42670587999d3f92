//! Reviews: a human's word on a decision, kept with the approval it becomes, or as a denial that counts until it ends.

use std::sync::atomic::AtomicBool;

use proofmark_boundary::{
    ActionPolicy, DecisionReceipt, EvidenceItem, History, Moment, Request, judge_rules, roles_asked,
};
use proofmark_evidence::{Approval, ApprovalError, Evidence, Refusal, Reviewer};
use proofmark_receipt::{Json, Receipt, SignError, SigningKey, Timestamp};
use proofmark_store::{Bundle, Decision, NewReceipt, Review, ReviewVerdict, Store, StoreError, Tenant, TenantStore};

use crate::clock;
use crate::decide::{self, DecideError, Question};
use crate::decider::Decider;
use crate::presented;

/// How long an approval counts when nothing is said, in milliseconds.
const APPROVED_FOR: i64 = 3_600_000;
/// How long a denial counts when nothing is said, in milliseconds.
const DENIED_FOR: i64 = 8 * 3_600_000;
/// The longest either counts, in milliseconds.
const MAX_EXPIRY: i64 = 30 * 86_400_000;
/// The longest note, in bytes.
const MAX_NOTE: usize = 4_096;

/// What a reviewer says.
#[derive(Clone, Copy, Debug)]
pub struct NewReview<'a> {
    /// Whose decision it is.
    pub tenant: &'a Tenant,
    /// The decision.
    pub decision_id: &'a str,
    /// Who says it, which the decider's key vouches for.
    pub reviewer: &'a Reviewer,
    /// Whether the action is approved.
    pub approve: bool,
    /// Why.
    pub note: &'a str,
    /// In which role; else the one the decision asks for.
    pub role: Option<&'a str>,
    /// How long the word counts, in milliseconds.
    pub expires_in: Option<i64>,
}

/// Why a review is not kept.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// There is no such decision, for this tenant.
    #[error("review the decision `{0}`: there is none with this id")]
    Unknown(String),
    /// An allowed action waits for nobody.
    #[error("review the decision `{0}`: the action was allowed, so there is nothing to review")]
    Allowed(String),
    /// A denial stands until it ends.
    #[error(
        "approve: {reviewer} denied the action in the review of decision `{decision_id}`, until {until}; ask for it again after that"
    )]
    Denied {
        /// Who denied it.
        reviewer: String,
        /// The decision that was reviewed.
        decision_id: String,
        /// When the denial ends.
        until: Timestamp,
    },
    /// Several roles are asked for.
    #[error("approve: the decision asks for several roles; choose one of {} as `role`", .0.join(", "))]
    Roles(Vec<String>),
    /// No rule asks for such an approval.
    #[error("approve as `{role}`: no rule that looks at this action asks for it{}; deny the action, or change what blocks it", asked(.roles))]
    NotAsked {
        /// The role it was given in.
        role: String,
        /// The roles rules ask for.
        roles: Vec<String>,
    },
    /// It would not count.
    #[error("approve as `{role}`: the approval {}, so it cannot count; {}", .why.words(), way_out(*.why))]
    CannotCount {
        /// The role it was given in.
        role: String,
        /// Why it would not count.
        why: Refusal,
    },
    /// There are as many approvals as are asked for.
    #[error("approve as `{0}`: as many approvals as are asked for are there and not used; let the agent ask again")]
    Enough(String),
    /// What was asked is not kept.
    #[error(
        "approve the decision `{0}`: the facts it was made on are not kept; let the agent ask again, and review that decision"
    )]
    NoFacts(String),
    /// The note is empty or too long.
    #[error("review: the note has to have 1 to {MAX_NOTE} bytes; say why")]
    Note,
    /// An expiry nobody would wait for.
    #[error("review: a review counts for at least a second and at most 30 days; choose another `expires_in`")]
    Expiry,
    /// It cannot be approved.
    #[error("approve: {0}")]
    Approval(#[from] ApprovalError),
    /// It cannot be signed.
    #[error("sign the approval: {0}")]
    Sign(#[from] SignError),
    /// The decision cannot be read.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn asked(roles: &[String]) -> String {
    match roles.is_empty() {
        true => String::new(),
        false => format!(", but for {}", roles.join(", ")),
    }
}

fn way_out(why: Refusal) -> &'static str {
    match why {
        Refusal::Signer => {
            "approve with `proofmark approve` and a key of the role, or let the reviewer's entry in the file of API keys, or \
             the policy, name the role"
        }
        Refusal::SameReviewer => "let somebody else approve",
        Refusal::OtherRole => {
            "let somebody else approve, or let the policy or the file of API keys give both roles to one"
        }
        _ => "let the agent ask again, and review that decision",
    }
}

impl Decider {
    /// Keeps a reviewer's word. An approval is signed with the decider's key, which vouches for the reviewer, and counts when
    /// the action is asked for again; one that would not count is refused. A denial answers the next requests for the
    /// action.
    ///
    /// # Errors
    /// [`ReviewError`]; nothing is kept then.
    pub fn review(&self, word: &NewReview<'_>) -> Result<(Review, Option<Receipt>), ReviewError> {
        let unknown = || ReviewError::Unknown(word.decision_id.chars().take(80).collect());
        let store = self.store.of(word.tenant);
        let kept = store.decision(word.decision_id)?.ok_or_else(unknown)?;
        // Whether an approval counts depends on those before it.
        let _same_subject = self.take_turn("review", word.tenant, &kept.about.subject);
        if word.note.trim().is_empty() || word.note.len() > MAX_NOTE {
            return Err(ReviewError::Note);
        }
        let now = clock::now_in(&self.store)?;
        let expires_in = word.expires_in.unwrap_or(if word.approve { APPROVED_FOR } else { DENIED_FOR });
        if !(1_000..=MAX_EXPIRY).contains(&expires_in) {
            return Err(ReviewError::Expiry);
        }
        let until = Timestamp::from_unix_millis(now.unix_millis().saturating_add(expires_in));
        let review = Review {
            decision_id: kept.decision_id.clone(),
            subject: kept.about.subject.clone(),
            verdict: if word.approve { ReviewVerdict::Approved } else { ReviewVerdict::Denied },
            reviewer: word.reviewer.id.clone(),
            person: word.reviewer.person(self.key.signer()).to_string(),
            role: String::new(),
            note: word.note.to_owned(),
            receipt_id: None,
            reviewed_at: now.unix_millis(),
            until: until.unix_millis(),
        };
        open_to_review(&store, &kept)?;
        let (review, approval) = match word.approve {
            true => {
                not_denied(&store, &kept, &now)?;
                if store.reviews(&kept.decision_id)?.iter().any(|other| is_again(other, &review, word.role)) {
                    return Err(StoreError::Reviewed(kept.decision_id).into());
                }
                let (role, receipt) = self.approval(word, &kept, &now, until)?;
                let receipt_id = Some(receipt.receipt_id().to_string());
                (Review { role, receipt_id, ..review }, Some(receipt))
            }
            false => (review, None),
        };
        self.keep(word.tenant, bundle(approval.clone(), review.clone()))?;
        Ok((review, approval))
    }

    fn approval(
        &self,
        word: &NewReview<'_>,
        kept: &Decision,
        now: &Timestamp,
        expires_at: Timestamp,
    ) -> Result<(String, Receipt), ReviewError> {
        let decision = decide::read(kept)?;
        let role = role(word.role, &decision)?;
        let (reviewer, note) = (word.reviewer.clone(), word.note.to_owned());
        let approval = Approval { reviewer, role: role.clone(), note, expires_at };
        let id = clock::receipt_id().map_err(DecideError::from)?;
        let receipt = approval.draft(decision.document(), id, now.clone())?.sign(&self.key)?;
        self.would_count(word.tenant, kept, &role, &receipt, now)?;
        Ok((role, receipt))
    }

    /// Whether an approval would be one of those that are asked for, if the action was asked for again now.
    fn would_count(
        &self,
        tenant: &Tenant,
        kept: &Decision,
        role: &str,
        receipt: &Receipt,
        now: &Timestamp,
    ) -> Result<(), ReviewError> {
        let (store, policy) = (self.store.of(tenant), self.policy().ok_or(DecideError::NoPolicy)?);
        let facts = store.newest_facts(&kept.about.subject)?.and_then(|text| Json::parse(text.as_bytes()).ok());
        let request = match facts {
            Some(Json::Object(facts)) => Request::from_facts(facts).ok(),
            _ => None,
        };
        let request = request.ok_or_else(|| ReviewError::NoFacts(kept.decision_id.clone()))?;
        let own = Some(self.key.signer());
        // Its budget ends it; a review is kept even when its caller has gone.
        let stop = &AtomicBool::new(false);
        let question = Question { policy, request: &request, folders: &[], trusted: &self.trusted, own, stop };
        let evidence = decide::evidence(&question, &store, now)?;
        let mut fact = [presented::fact(receipt, &self.trusted, Some(&store))?];
        decide::vouch(&mut fact, own);
        let documents = evidence.documents().iter().cloned().chain(fact).collect();
        counted(policy, &request, &Evidence::new(documents), now, (role, receipt))
    }
}

/// Looks at what the rules make of the approval.
fn counted(
    policy: &ActionPolicy,
    request: &Request,
    evidence: &Evidence,
    now: &Timestamp,
    (role, receipt): (&str, &Receipt),
) -> Result<(), ReviewError> {
    let moment = Moment { now: now.clone(), history: History::default() };
    let findings = judge_rules(policy, request, evidence, &moment);
    let items = || findings.iter().flat_map(|finding| &finding.evidence);
    let (content, mut refused) = (receipt.content(), None);
    for item in items() {
        match item {
            EvidenceItem::Document { document, refusal, .. } if document.content == content => match refusal {
                None => return Ok(()),
                Some(why) => refused = Some(*why),
            },
            _ => {}
        }
    }
    let roles: Vec<String> = roles_asked(&findings).into_iter().map(str::to_owned).collect();
    let role = role.to_owned();
    Err(match refused {
        Some(why) => ReviewError::CannotCount { role, why },
        None if roles.contains(&role) => ReviewError::Enough(role),
        None => ReviewError::NotAsked { role, roles },
    })
}

/// Signs a reviewer's approval of the action a decision receipt is about with their own key, and keeps it.
///
/// # Errors
/// [`ReviewError`] when there is nothing to approve, this key has approved it, or it cannot be kept.
pub fn approve(
    role: Option<&str>,
    note: String,
    expires_in: i64,
    decision: &DecisionReceipt,
    (key, store): (&SigningKey, &Store),
) -> Result<Receipt, ReviewError> {
    let (decision_id, now) = (decision.decision_id().to_string(), clock::now_in(store)?);
    if decision.disposition().allows() {
        return Err(ReviewError::Allowed(decision_id));
    }
    let role = self::role(role, decision)?;
    let reviewer = Reviewer::of_key(key.signer());
    let person = reviewer.person(key.signer()).to_string();
    let expires_at = Timestamp::from_unix_millis(now.unix_millis().saturating_add(expires_in));
    let until = expires_at.unix_millis();
    let approval = Approval { reviewer, role: role.clone(), note: note.clone(), expires_at };
    let id = clock::receipt_id().map_err(DecideError::from)?;
    let receipt = approval.draft(decision.document(), id, now.clone())?.sign(key)?;
    // It counts for the tenant whose decision it is.
    let kept = store.all_tenants_decision(&decision_id)?;
    let of = store.of(&kept.as_ref().map_or(Tenant::LOCAL, |(tenant, _)| tenant.clone()));
    if let Some((_, kept)) = &kept {
        open_to_review(&of, kept)?;
        not_denied(&of, kept, &now)?;
    }
    let review = Review {
        subject: kept.map_or_else(|| decision_id.clone(), |(_, kept)| kept.about.subject),
        decision_id,
        verdict: ReviewVerdict::Approved,
        reviewer: key.signer().to_string(),
        person,
        role,
        note,
        receipt_id: Some(receipt.receipt_id().to_string()),
        reviewed_at: now.unix_millis(),
        until,
    };
    of.submit_bundle(bundle(Some(receipt.clone()), review)).wait()?;
    Ok(receipt)
}

fn bundle(approval: Option<Receipt>, review: Review) -> Bundle {
    let at = review.reviewed_at;
    Bundle { receipt: approval.map(NewReceipt::of), review: Some(review), at, ..Bundle::default() }
}

/// The role of an approval: what was said, else the one the decision asks for.
fn role(said: Option<&str>, decision: &DecisionReceipt) -> Result<String, ReviewError> {
    let mut asked = Approval::roles_asked(decision.document());
    match said {
        Some(role) if asked.is_empty() || asked.iter().any(|asked| asked == role) => Ok(role.to_owned()),
        Some(role) => Err(ReviewError::NotAsked { role: role.to_owned(), roles: asked }),
        None if asked.len() > 1 => Err(ReviewError::Roles(asked)),
        None => asked.pop().ok_or_else(|| ReviewError::NotAsked { role: "reviewer".to_owned(), roles: Vec::new() }),
    }
}

/// Whether somebody who has reviewed a decision reviews it again, if not in another role.
fn is_again(earlier: &Review, new: &Review, role: Option<&str>) -> bool {
    earlier.person == new.person && role.is_none_or(|role| earlier.role == role || earlier.role.is_empty())
}

/// Whether there is something to say of a decision.
fn open_to_review(store: &TenantStore<'_>, kept: &Decision) -> Result<(), ReviewError> {
    let id = kept.decision_id.clone();
    if kept.allowed {
        return Err(ReviewError::Allowed(id));
    }
    match store.allowed_since(&id)? {
        Some(by) => Err(StoreError::AllowedSince(id, by).into()),
        None => Ok(()),
    }
}

/// A denial stands: who thinks otherwise waits until it ends.
fn not_denied(store: &TenantStore<'_>, kept: &Decision, now: &Timestamp) -> Result<(), ReviewError> {
    match store.denial(&kept.about.subject, now.unix_millis())? {
        Some(denial) => Err(ReviewError::Denied {
            reviewer: denial.reviewer,
            decision_id: denial.decision_id,
            until: Timestamp::from_unix_millis(denial.until),
        }),
        None => Ok(()),
    }
}
