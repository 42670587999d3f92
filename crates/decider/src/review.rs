//! Reviews: a person's approval of a decision, stored as a signed receipt, or a denial that counts until it expires.

mod error;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proofmark_boundary::{
    ActionPolicy, DecisionReceipt, EvidenceItem, History, Moment, Request, judge_rules, roles_asked,
};
use proofmark_evidence::{Approval, Evidence, Person, Reviewer, Scope, WantedScope};
use proofmark_passkey::approved;
use proofmark_receipt::document::shown;
use proofmark_receipt::{Draft, Json, Object, Receipt, ReceiptId, Sha256Digest, Timestamp};
use proofmark_statement::{ActionStatement, OtherActionError};
use proofmark_store::{Decision, JudgedReview, NewReceipt, Review, ReviewVerdict, StoreError, Tenant, TenantStore};
use proofmark_verifier::presented::{self, Presented};
use proofmark_verifier::{Reviewed, clock};

use crate::decide::{self, DecideError, Question};
use crate::decider::Decider;
use crate::deciding::settled;
use crate::grant::{self, is_note};
use crate::passkey::{self, SignedApproval, Statement};
use crate::policies::PolicyAsked;
pub use error::ReviewError;

/// How long an approval counts by default, in milliseconds.
const APPROVED_FOR: i64 = 3_600_000;
/// How long a denial counts by default, in milliseconds.
const DENIED_FOR: i64 = 8 * 3_600_000;
/// The shortest either counts, in milliseconds.
const MIN_EXPIRY: i64 = 1_000;
/// The longest either counts, in milliseconds.
const MAX_EXPIRY: i64 = 30 * 86_400_000;

/// A review to store.
#[derive(Clone, Copy, Debug)]
pub struct NewReview<'a> {
    /// Whose decision it is.
    pub tenant: &'a Tenant,
    pub decision_id: &'a str,
    /// Who reviews it.
    pub reviewer: &'a Reviewer,
    pub approve: bool,
    /// Why.
    pub note: &'a str,
    /// In which role; by default the one that the decision asks for.
    pub role: Option<&'a str>,
    /// How long it counts, in milliseconds.
    pub expires_in: Option<i64>,
    /// The digest of what the reviewer was shown ([`ActionStatement::shown`]). None where the caller shows the action in a way of its
    /// own, as a client of the API does: then it is that of the stored action.
    pub shown: Option<Sha256Digest>,
    /// What the reviewer's passkey has signed, which then says who reviews it.
    pub signed: Option<&'a SignedApproval>,
    /// What an approval reaches beyond the one action; by default nothing.
    pub scope: Option<&'a WantedScope>,
}

/// How somebody with a key approves.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalTerms<'a> {
    /// In which role; by default the one that the decision asks for.
    pub role: Option<&'a str>,
    /// Why.
    pub note: &'a str,
    /// How long it counts, in milliseconds.
    pub expires_in: i64,
    /// What it reaches beyond the one action.
    pub scope: Option<&'a WantedScope>,
}

impl Decider {
    /// Stores a review. An approval is signed with the decider's key and counts when the action is asked for again; one that
    /// would not count is refused. A denial answers the next requests for the action.
    ///
    /// # Errors
    /// [`ReviewError`]; nothing is stored then.
    pub fn review(&self, new: &NewReview<'_>) -> Result<(Review, Option<Receipt>), ReviewError> {
        let store = self.store.of(new.tenant);
        let Some(stored) = store.decision(new.decision_id)? else {
            return Err(ReviewError::Unknown(new.decision_id.to_owned()));
        };
        // What an authenticator counts is compared with what it counted before.
        let _same_page = new.signed.map(|signed| self.lock("passkey", new.tenant, signed.origin.as_str()));
        // Whether an approval counts depends on those before it. An approval of a row that is not what was signed is refused.
        let reviewed = Reviewed::of(&stored);
        let _same_subject = self.lock("review", new.tenant, &reviewed.subject);
        settled(|| match self.review_once(new, &stored, &reviewed) {
            // Through another server, at the same time: whether this one counts is judged again.
            // The same where a grant that a denial ends was ended meanwhile.
            Err(ReviewError::Store(StoreError::ReviewedMeanwhile(_) | StoreError::Spent(_))) => Ok(None),
            reviewed => reviewed.map(Some),
        })
    }

    fn review_once(
        &self,
        new: &NewReview<'_>,
        stored: &Decision,
        Reviewed { fingerprint, subject }: &Reviewed,
    ) -> Result<(Review, Option<Receipt>), ReviewError> {
        let store = self.store.of(new.tenant);
        // First, so that a review that is stored meanwhile makes this one fail, whatever was seen of it.
        let seen = store.review_count(subject)?;
        let period = Period::new(clock::now_in(&self.store)?, new)?;
        open_to_review(&store, stored, new.approve)?;
        let review = Review {
            decision_id: stored.decision_id.clone(),
            fingerprint: fingerprint.clone(),
            subject: subject.clone(),
            verdict: if new.approve { ReviewVerdict::Approved } else { ReviewVerdict::Denied },
            reviewer: new.reviewer.id.clone(),
            person: new.reviewer.person(self.key.signer()).to_string(),
            role: String::new(),
            note: new.note.to_owned(),
            receipt_id: None,
            reviewed_at: period.from.unix_millis(),
            until: period.until.unix_millis(),
        };
        // Not asked whether it would count: a denial can only block.
        if !new.approve {
            // If the action in the row was changed, it cannot be shown. The decision can be denied all the same.
            let decision = decide::read(stored).ok().filter(|decision| statement_of(decision, stored).is_ok());
            if let Some(decision) = decision.filter(|_| new.shown.is_some()) {
                digest_shown(&decision, stored, new)?;
            }
            let said = (new.reviewer, new.note);
            let mut writes = grant::ended_by_denial(&store, stored, said, &period.from, &self.key)?;
            writes.push(review.clone().into());
            store.submit_all(writes).wait()?;
            return Ok((review, None));
        }
        not_denied(&store, stored, &period.from)?;
        let decision = decide::read(stored)?;
        let shown = digest_shown(&decision, stored, new)?;
        let (role, draft) = self.draft(&store, &decision, new, shown, &period)?;
        let review = Review { role: role.clone(), ..review };
        let (review, draft) = match new.signed {
            Some(signed) => self.with_passkey(&store, &decision, review, draft, signed)?,
            None => (review, draft),
        };
        // The writer refuses this, too; here, so that no approval is signed that is then not stored.
        if store.reviews(&stored.decision_id)?.iter().any(|earlier| is_again(earlier, &review, new.role)) {
            return Err(StoreError::Reviewed(stored.decision_id.clone()).into());
        }
        let approval = draft.sign(&self.key)?;
        self.would_count(new.tenant, stored, &role, &approval, &period.from)?;
        let review = Review { receipt_id: Some(approval.receipt_id().to_string()), ..review };
        let judged = JudgedReview { review: review.clone(), seen };
        let writes = vec![NewReceipt::single(approval.clone()).into(), judged.into()];
        store.submit_all(writes).wait()?;
        Ok((review, Some(approval)))
    }

    /// Approves the action a decision receipt is about with the decider's own key, which is the reviewer's, and stores the
    /// approval. It is for reviewers with a key: whether it counts is judged when the action is asked for again. `shown` is the
    /// digest of what the reviewer was shown.
    ///
    /// # Errors
    /// [`ReviewError`] when there is nothing to approve, this key has approved it, or it cannot be stored.
    pub fn approve(
        &self,
        decision: &DecisionReceipt,
        shown: Sha256Digest,
        terms: &ApprovalTerms<'_>,
    ) -> Result<Receipt, ReviewError> {
        let ApprovalTerms { role, note, expires_in, scope } = *terms;
        let decision_id = decision.decision_id().to_string();
        if decision.disposition().allows() {
            return Err(ReviewError::Allowed(decision_id));
        }
        // It counts for the tenant whose decision it is, where the decision is stored here.
        let (tenant, stored) = self.store.all_tenants_decision(&decision_id)?.unzip();
        let (tenant, reviewer) = (tenant.unwrap_or(Tenant::LOCAL), Reviewer::of_key(self.key.signer()));
        let new = NewReview {
            tenant: &tenant,
            decision_id: &decision_id,
            reviewer: &reviewer,
            approve: true,
            note,
            role,
            expires_in: Some(expires_in),
            shown: Some(shown),
            signed: None,
            scope,
        };
        let store = self.store.of(&tenant);
        let period = Period::new(clock::now_in(&self.store)?, &new)?;
        if let Some(stored) = &stored {
            decide::read(stored)?;
            open_to_review(&store, stored, true)?;
            not_denied(&store, stored, &period.from)?;
        }
        let (role, draft) = self.draft(&store, decision, &new, shown, &period)?;
        let approval = draft.sign(&self.key)?;
        let review = Review {
            fingerprint: decision.bound("fingerprint").unwrap_or_default().to_owned(),
            subject: stored.map_or_else(|| decision_id.clone(), |stored| stored.about.subject),
            decision_id,
            verdict: ReviewVerdict::Approved,
            person: reviewer.person(self.key.signer()).to_string(),
            reviewer: reviewer.id,
            role,
            note: note.to_owned(),
            receipt_id: Some(approval.receipt_id().to_string()),
            reviewed_at: period.from.unix_millis(),
            until: period.until.unix_millis(),
        };
        store.submit_all(vec![NewReceipt::single(approval.clone()).into(), review.into()]).wait()?;
        Ok(approval)
    }

    /// What a reviewer signs with a passkey to approve a decision, from now on for `expires_in`.
    ///
    /// # Errors
    /// [`ReviewError`] when there is nothing to approve.
    pub fn statement(&self, new: &NewReview<'_>) -> Result<Statement, ReviewError> {
        let store = self.store.of(new.tenant);
        let unknown = || ReviewError::Unknown(new.decision_id.to_owned());
        let stored = store.decision(new.decision_id)?.ok_or_else(unknown)?;
        open_to_review(&store, &stored, true)?;
        let period = Period::new(clock::now_in(&self.store)?, new)?;
        let id = clock::receipt_id().map_err(DecideError::from)?;
        let decision = decide::read(&stored)?;
        let shown = digest_shown(&decision, &stored, new)?;
        let scope = grant::scope(&store, &decision, new.scope)?;
        let (_, draft) = approval(&decision, new, &period, (id, None), (shown, scope))?;
        Ok(passkey::statement_of(draft)?.into())
    }

    /// The review and the approval of the holder of a passkey. The policy says who that is.
    fn with_passkey(
        &self,
        store: &TenantStore<'_>,
        decision: &DecisionReceipt,
        review: Review,
        draft: Draft,
        signed: &SignedApproval,
    ) -> Result<(Review, Draft), ReviewError> {
        let policy = self.judging(store.tenant(), decision)?;
        let statement = passkey::statement_of(draft.clone())?;
        let (name, passkey) = signed.holder(&policy, &review.role, &statement)?;
        let person = Person::Passkey(passkey.clone()).to_string();
        signed.counts_on(last_counter(store, &person)?)?;
        let mut metadata = draft.metadata;
        if let Some(Json::Object(approval)) = metadata.get_mut("approval") {
            approval.insert("passkey", signed.assertion.write(passkey));
        }
        Ok((Review { reviewer: name.to_owned(), person, ..review }, Draft { metadata, ..draft }))
    }

    /// The approval of a decision that is to be signed, and its role.
    fn draft(
        &self,
        store: &TenantStore<'_>,
        decision: &DecisionReceipt,
        new: &NewReview<'_>,
        shown: Sha256Digest,
        period: &Period,
    ) -> Result<(String, Draft), ReviewError> {
        let scope = grant::scope(store, decision, new.scope)?;
        match new.signed {
            Some(signed) => approval(decision, new, period, (signed.receipt_id, None), (shown, scope)),
            None => {
                let id = clock::receipt_id().map_err(DecideError::from)?;
                approval(decision, new, period, (id, Some(new.reviewer.clone())), (shown, scope))
            }
        }
    }

    /// The policy that an approval of a decision is judged by: the one that asks for it.
    fn judging(&self, tenant: &Tenant, decision: &DecisionReceipt) -> Result<Arc<ActionPolicy>, ReviewError> {
        match self.policy_asked(tenant, decision) {
            PolicyAsked::InForce(policy) | PolicyAsked::Changed(policy) | PolicyAsked::OfStep(policy) => Ok(policy),
            PolicyAsked::NotHere if !self.has_policy() => Err(DecideError::NoPolicy.into()),
            PolicyAsked::NotHere => {
                let digest = decision.bound("policy_hash").unwrap_or_default();
                let policy = match decision.asker().policy {
                    Some(name) => format!("`{}` ({digest})", shown(&name)),
                    None => digest.to_owned(),
                };
                Err(ReviewError::OtherPolicy { decision_id: decision.decision_id().to_string(), policy })
            }
        }
    }

    /// Whether an approval would be one of those that are asked for, if the action was asked for again now.
    fn would_count(
        &self,
        tenant: &Tenant,
        stored: &Decision,
        role: &str,
        approval: &Receipt,
        now: &Timestamp,
    ) -> Result<(), ReviewError> {
        let (store, decision) = (self.store.of(tenant), decide::read(stored)?);
        let policy = self.judging(tenant, &decision)?;
        // Those of the newest decision: when the agent asks again, it is judged on facts like these.
        let facts = store.newest_facts(&stored.about.subject)?.and_then(|text| Json::parse(text.as_bytes()).ok());
        let request = match facts {
            Some(Json::Object(facts)) => Request::from_facts(facts).ok(),
            _ => None,
        };
        let request = request.ok_or_else(|| ReviewError::NoFacts(stored.decision_id.clone()))?;
        let request = request.asked_by(&decision.asker());
        let vouching = &self.vouching();
        // Its budget ends it; a review is stored even when its caller has gone.
        let stop = &AtomicBool::new(false);
        let trusted = self.trusted();
        let trusted = trusted.signers();
        let presented = Presented::default();
        let question = Question { policy: &policy, request: &request, presented, trusted, vouching, stop };
        let evidence = decide::evidence(&question, &store, now)?;
        let mut fact = [presented::fact(approval, trusted, Some(&store))?];
        decide::vouch(&mut fact, vouching);
        let [fact] = fact;
        let content = fact.content;
        let documents = evidence.documents().iter().cloned().chain([fact]).collect();
        counted(&policy, &request, &Evidence::new(documents), now, role, content)
    }
}

/// The action of a stored decision, as it is stored; none where it is damaged. Whether it is the one that was decided on says
/// [`ActionStatement::of`].
#[must_use]
pub fn stored_action(stored: &Decision) -> Option<Object> {
    match Json::parse(stored.about.action.as_deref()?.as_bytes()) {
        Ok(Json::Object(action)) => Some(action),
        _ => None,
    }
}

/// The digest of what is shown of a stored decision, which is that of what was shown where the reviewer says it.
fn digest_shown(
    decision: &DecisionReceipt,
    stored: &Decision,
    new: &NewReview<'_>,
) -> Result<Sha256Digest, ReviewError> {
    let shown = statement_of(decision, stored).ok().map(|statement| statement.shown());
    let same = shown.filter(|shown| new.shown.is_none_or(|said| said == *shown));
    same.ok_or_else(|| ReviewError::OtherAction(stored.decision_id.clone()))
}

fn statement_of(decision: &DecisionReceipt, stored: &Decision) -> Result<ActionStatement, OtherActionError> {
    stored_action(stored).ok_or(OtherActionError).and_then(|action| ActionStatement::of(&action, decision))
}

/// From when until when a review counts.
struct Period {
    from: Timestamp,
    until: Timestamp,
}

impl Period {
    fn new(now: Timestamp, new: &NewReview<'_>) -> Result<Self, ReviewError> {
        if !is_note(new.note) {
            return Err(ReviewError::Note);
        }
        let expires_in = new.expires_in.unwrap_or(if new.approve { APPROVED_FOR } else { DENIED_FOR });
        if !(MIN_EXPIRY..=MAX_EXPIRY).contains(&expires_in) {
            return Err(ReviewError::Expiry);
        }
        // A passkey has signed the time from when on it counts.
        let from = match new.signed {
            Some(signed) => signed.begins(&now)?,
            None => now,
        };
        let until = Timestamp::from_unix_millis(from.unix_millis().saturating_add(expires_in));
        Ok(Self { from, until })
    }
}

/// Whether the rules count the approval.
fn counted(
    policy: &ActionPolicy,
    request: &Request,
    evidence: &Evidence,
    now: &Timestamp,
    role: &str,
    content: Sha256Digest,
) -> Result<(), ReviewError> {
    let moment = Moment { now: now.clone(), history: History::default() };
    let findings = judge_rules(policy, request, evidence, &moment);
    let mut refused = None;
    for item in findings.iter().flat_map(|finding| &finding.evidence) {
        match item {
            EvidenceItem::Document { document, refusal, .. } if document.content == content => match refusal {
                // One rule that counts it is enough; another may refuse it.
                None => return Ok(()),
                Some(why) => refused = Some(*why),
            },
            _ => {}
        }
    }
    let roles: Vec<String> = roles_asked(&findings).into_iter().map(str::to_owned).collect();
    let role = role.to_owned();
    Err(match refused {
        Some(why) => {
            let holders = policy.holders(&role).into_iter().map(str::to_owned).collect();
            ReviewError::CannotCount { holders, role, why }
        }
        None if roles.contains(&role) => ReviewError::Enough(role),
        None => ReviewError::NotAsked { role, roles },
    })
}

/// The signature counter of the newest approval by a passkey.
fn last_counter(store: &TenantStore<'_>, person: &str) -> Result<u32, ReviewError> {
    let id = store.last_approval_of(person)?.and_then(|id| id.parse().ok());
    let last = id.map(|id| store.receipt(&id)).transpose()?.flatten();
    Ok(last.and_then(|last| approved(&last.receipt).ok().flatten()).map_or(0, |last| last.counter))
}

/// The approval of a decision with this id, and its role.
fn approval(
    decision: &DecisionReceipt,
    new: &NewReview<'_>,
    period: &Period,
    (id, reviewer): (ReceiptId, Option<Reviewer>),
    (shown, scope): (Sha256Digest, Option<Scope>),
) -> Result<(String, Draft), ReviewError> {
    let role = role(new.role, decision)?;
    let (note, expires_at) = (new.note.to_owned(), period.until.clone());
    let approval = Approval { reviewer, role: role.clone(), note, expires_at, shown, scope };
    Ok((role, approval.draft(decision.document(), id, period.from.clone())?))
}

/// The role of an approval: the one that is named, by default the one that the decision asks for.
fn role(named: Option<&str>, decision: &DecisionReceipt) -> Result<String, ReviewError> {
    let mut asked = Approval::roles_asked(decision.document());
    match named {
        Some(role) if asked.is_empty() || asked.iter().any(|asked| asked == role) => Ok(role.to_owned()),
        Some(role) => Err(ReviewError::NotAsked { role: role.to_owned(), roles: asked }),
        None if asked.len() > 1 => Err(ReviewError::Roles(asked)),
        None => asked.pop().ok_or_else(|| ReviewError::NotAsked { role: "reviewer".to_owned(), roles: Vec::new() }),
    }
}

/// Whether a person who has reviewed a decision reviews it again, other than in another role.
fn is_again(earlier: &Review, new: &Review, role: Option<&str>) -> bool {
    // Without a named role it repeats any earlier review of the person. An earlier review without a role is a denial.
    earlier.person == new.person && role.is_none_or(|role| earlier.role == role || earlier.role.is_empty())
}

/// Whether a review of the decision would change anything.
fn open_to_review(store: &TenantStore<'_>, decision: &Decision, approve: bool) -> Result<(), ReviewError> {
    let id = decision.decision_id.clone();
    // A row that says so, other than what was signed, keeps nobody from denying it.
    let is_changed = || !approve && decide::read(decision).is_err();
    if decision.allowed && !is_changed() {
        return Err(ReviewError::Allowed(id));
    }
    match store.allowed_since(&id)? {
        Some(by) => Err(StoreError::AllowedSince(id, by).into()),
        None => Ok(()),
    }
}

/// A denial stands until it expires, even if another person would approve.
fn not_denied(store: &TenantStore<'_>, decision: &Decision, now: &Timestamp) -> Result<(), ReviewError> {
    match store.denial(&decision.fingerprint, now.unix_millis())? {
        Some(denial) => Err(ReviewError::Denied {
            reviewer: denial.reviewer,
            decision_id: denial.decision_id,
            until: Timestamp::from_unix_millis(denial.until),
        }),
        None => Ok(()),
    }
}
