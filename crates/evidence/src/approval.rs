//! Approvals: a human's attestation over the hash of one action, as a VRF receipt of tier 3, and whether one counts.

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Object, ReceiptId, Results, Sha256Digest, Status, Task, Timestamp, Verdict, object,
};

use crate::approval_fact::{ApprovalFact, AskedBy, HUMAN_TIER, Subject, shown};
use crate::receipt::{Evidence, ReceiptFact, ReceiptKind};
use crate::refusal::{Refusal, nearest, refuse};
use crate::reviewer::{Person, Reviewer};
use crate::roles::Roles;
use crate::scope::{NotCovered, Occasion, Scope, Scopes};
use crate::span;

/// The most approvals one rule may ask for.
const MAX_APPROVALS: u64 = 16;
/// The longest role, in bytes.
const MAX_ROLE_BYTES: usize = 1_024;

/// How long a grant counts at most where the rule does not say it, in milliseconds.
const DEFAULT_LONGEST: i64 = 8 * 3_600_000;
/// How long a rule may let a grant count, in milliseconds.
const MAX_LONGEST: i64 = 30 * 86_400_000;
/// The longest note of an approval, in bytes.
const MAX_NOTE_BYTES: usize = 4_096;

/// What an approval must match beside the action and the role, which it always must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binds {
    /// It counts only in the environment it was given for.
    pub environment: bool,
    /// It counts only for the agent it was given to.
    pub agent: bool,
    /// It counts only if a passkey has signed it.
    pub passkey: bool,
}

/// An approval that is to be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Who gives it; none where a passkey says so.
    pub reviewer: Option<Reviewer>,
    pub role: String,
    pub note: String,
    pub expires_at: Timestamp,
    /// What it reaches beyond the one action.
    pub scope: Option<Scope>,
    /// The digest of what the reviewer was shown ([`shown`]).
    pub shown: Sha256Digest,
}

/// Why an approval cannot be drafted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// The document is not a decision receipt, or binds no action.
    #[error("the document has no complete `{0}`")]
    NotADecision(&'static str),
    #[error("the note is empty or longer than {MAX_NOTE_BYTES} bytes")]
    Note,
    #[error("the role is empty")]
    Role,
    #[error("the approval would expire before it is given")]
    Expired,
    #[error("the action that was shown is not the one that was decided on")]
    OtherAction,
}

impl ApprovalError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotADecision(_) => "give the decision receipt of the action to approve",
            Self::Note => "say why you approve",
            Self::Role => "say in which role you approve",
            Self::Expired => "give a later time",
            Self::OtherAction => "open the decision again, and read what it is about",
        })
    }
}

/// A demand for signed approvals of one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalDemand {
    pub role: String,
    pub count: usize,
    /// Whether they have to be by different people.
    pub distinct: bool,
    pub binds: Binds,
    /// What an approval may reach beyond the one action.
    pub scopes: Scopes,
}

/// The approvals found for a demand.
pub struct Approvals<'e> {
    /// Those that count, at most as many as the demand asks for.
    pub counted: Vec<&'e ReceiptFact>,
    /// The refused ones, the nearest first.
    pub refused: Vec<(&'e ReceiptFact, Refusal)>,
}

impl Binds {
    /// Environment and agent, the default of a policy.
    pub const WHOLE: Self = Self { environment: true, agent: true, passkey: false };
    /// All combinations.
    pub const ALL: [Self; 8] = [
        Self::WHOLE,
        Self { agent: false, ..Self::WHOLE },
        Self { environment: false, ..Self::WHOLE },
        Self { environment: false, agent: false, passkey: false },
        Self { passkey: true, ..Self::WHOLE },
        Self { environment: true, agent: false, passkey: true },
        Self { environment: false, agent: true, passkey: true },
        Self { environment: false, agent: false, passkey: true },
    ];

    /// Reads `binds: [action, environment, agent]`; the action is always among them.
    fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let words = [("action", "action"), ("environment", "environment"), ("agent", "agent")];
        let mut bound = Vec::new();
        for item in field.items()? {
            bound.push(item.choice(&words)?);
        }
        if bound.contains(&"action") {
            Ok(Self { environment: bound.contains(&"environment"), agent: bound.contains(&"agent"), passkey: false })
        } else {
            let error = field.error(Cause::MissingField, "an approval is always of one action");
            Err(error.with_help("list `action`"))
        }
    }

    /// Whether an approval of `given` counts for `asked`.
    fn hold(self, fact: &ReceiptFact, given: &Subject, asked: &Subject) -> Result<(), Refusal> {
        refuse(self.passkey && fact.passkey.is_none(), Refusal::NoPasskey)?;
        refuse(self.environment && given.environment != asked.environment, Refusal::OtherEnvironment)?;
        refuse(self.agent && given.agent != asked.agent, Refusal::OtherAgent)
    }
}

impl ApprovalDemand {
    /// Reads a demand: `{role, count, distinct, binds, passkey, scopes, longest}`.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write.
    pub fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(&["role", "count", "distinct", "binds", "passkey", "scopes", "longest"])?;
        Self::of_fields(&fields)
    }

    /// Reads a demand from an object that may have other members beside.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write.
    pub fn of_fields(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        let binds = fields.get("binds").map_or(Ok(Binds::WHOLE), |field| Binds::read(&field))?;
        let passkey = fields.get("passkey").map_or(Ok(false), |field| field.boolean())?;
        Ok(Self {
            role: read_role(&fields.need("role", "say whose approval it takes")?)?,
            count: fields.get("count").map_or(Ok(1), |field| read_count(&field))?,
            distinct: fields.get("distinct").map_or(Ok(true), |field| field.boolean())?,
            binds: Binds { passkey, ..binds },
            scopes: read_scopes(fields)?,
        })
    }

    /// The demand as [`ApprovalDemand::read`] reads it, where it has the default `binds` and no `scopes`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let document = object! {
            "role": self.role.as_str(),
            "count": self.count as u64,
            "distinct": self.distinct,
            "passkey"?: self.binds.passkey.then_some(true),
        };
        document.into()
    }

    /// The approvals of this subject that count, the oldest first.
    #[must_use]
    pub fn approvals<'e>(
        &self,
        roles: &Roles,
        subject: &Subject,
        occasion: &Occasion<'_>,
        evidence: &'e Evidence,
        now: &Timestamp,
    ) -> Approvals<'e> {
        let mut judged = judged(roles, (subject, occasion), self.binds, |_| self.scopes, evidence, now);
        judged.retain(|(fact, _)| fact.approval.as_ref().is_some_and(|approval| approval.role == self.role));
        let mut counted: Vec<&ReceiptFact> = Vec::new();
        for (fact, refusal) in judged.iter_mut().filter(|(_, refusal)| refusal.is_none()) {
            if self.distinct && counted.iter().any(|other| roles.is_one_person(other, fact)) {
                *refusal = Some(Refusal::SameReviewer);
            } else if counted.len() < self.count {
                // As many as are asked for: further ones are neither counted nor refused.
                counted.push(fact);
            }
        }
        Approvals { counted, refused: nearest(judged) }
    }
}

/// The approvals that were presented, the oldest first, each with the reason why it does not count for this subject in its
/// own role.
#[must_use]
pub fn judged<'e>(
    roles: &Roles,
    asked: (&Subject, &Occasion<'_>),
    binds: Binds,
    scopes: impl Fn(&str) -> Scopes,
    evidence: &'e Evidence,
    now: &Timestamp,
) -> Vec<(&'e ReceiptFact, Option<Refusal>)> {
    let approvals = evidence.documents().iter().filter_map(|fact| Some((fact, fact.approval.as_ref()?)));
    let judge = |(fact, approval)| (fact, counts(roles, asked, binds, &scopes, fact, approval, now).err());
    let mut judged: Vec<_> = approvals.map(judge).collect();
    // The oldest first, so that an approval that comes later cannot take one away that counted.
    judged.sort_by_key(|(fact, _)| (fact.verified_at.unix_millis(), fact.content));
    judged
}

/// Whether an approval by itself counts for what is asked, in its own role.
fn counts(
    roles: &Roles,
    (subject, occasion): (&Subject, &Occasion<'_>),
    binds: Binds,
    scopes: impl Fn(&str) -> Scopes,
    fact: &ReceiptFact,
    approval: &ApprovalFact,
    now: &Timestamp,
) -> Result<(), Refusal> {
    match &approval.scope {
        // Independent verifiers read `hashes.output`, this crate the metadata: the two must name the same action.
        None => {
            refuse(approval.subject.action != subject.action || fact.output != subject.action, Refusal::OtherOutput)?
        }
        Some(scope) => {
            let Subject { agent, environment, .. } = &approval.subject;
            refuse(fact.output != scope.key(agent.as_deref(), environment.as_deref()), Refusal::OtherOutput)?;
            refuse(occasion.key() != Some(fact.output), Refusal::OutOfScope)?;
            scope.reaches(occasion)?;
        }
    }
    refuse(!fact.valid, Refusal::NotValid)?;
    refuse(fact.kind != Some(ReceiptKind::Approval), Refusal::OtherKind)?;
    roles.holds(fact, &approval.role)?;
    refuse(fact.verdict != Verdict::Pass, Refusal::Verdict)?;
    refuse(fact.tier != HUMAN_TIER, Refusal::Tier)?;
    refuse(fact.ahead_of(now), Refusal::InTheFuture)?;
    refuse(approval.expires_at.unix_millis() <= now.unix_millis(), Refusal::Expired)?;
    refuse(!approval.is_of_what_was_shown(), Refusal::OtherAction)?;
    binds.hold(fact, &approval.subject, subject)?;
    if let Some(scope) = &approval.scope {
        let length = approval.expires_at.unix_millis().saturating_sub(fact.verified_at.unix_millis());
        scopes(&approval.role).offer(scope.reach, length)?;
    }
    // There is no `single_use` to ask for: every approval serves one decision, but for one that reaches further.
    refuse(fact.spent, Refusal::Spent)
}

impl From<NotCovered> for Refusal {
    fn from(why: NotCovered) -> Self {
        match why {
            NotCovered::Action => Self::OutOfScope,
            NotCovered::Session => Self::OtherSession,
            NotCovered::NotOffered => Self::ScopeNotOffered,
            NotCovered::TooLong => Self::GrantTooLong,
        }
    }
}

/// `scopes: [once, session, pattern]`, and `longest`, which bounds the time of a grant.
fn read_scopes(fields: &Fields<'_>) -> Result<Scopes, DocumentError> {
    let words = [("once", "once"), ("session", "session"), ("pattern", "pattern")];
    let longest = fields.get("longest");
    let Some(field) = fields.get("scopes") else {
        return match longest {
            Some(longest) => {
                let error = longest.error(Cause::ConflictingFields, "every approval is of one action");
                Err(error.with_help("write `scopes` with it, or leave it out"))
            }
            None => Ok(Scopes::default()),
        };
    };
    let offered = field.items()?.iter().map(|item| item.choice(&words)).collect::<Result<Vec<_>, _>>()?;
    if !offered.contains(&"once") {
        let error = field.error(Cause::MissingField, "an action can always be approved once");
        return Err(error.with_help("list `once`"));
    }
    let longest_millis = longest.as_ref().map_or(Ok(DEFAULT_LONGEST), span::read)?;
    match longest {
        Some(longest) if longest_millis > MAX_LONGEST => {
            let error = longest.error(Cause::TooLarge, "a grant counts for 30 days at most");
            Err(error.with_help("write a shorter span"))
        }
        _ => {
            Ok(Scopes { session: offered.contains(&"session"), pattern: offered.contains(&"pattern"), longest_millis })
        }
    }
}

fn read_role(field: &Field<'_>) -> Result<String, DocumentError> {
    match field.text()? {
        role if role.trim().is_empty() => {
            Err(field.error(Cause::Empty, "the role is empty").with_help("say whose approval it takes"))
        }
        role if role.len() > MAX_ROLE_BYTES => {
            let message = format!("the role is longer than {MAX_ROLE_BYTES} bytes");
            Err(field.error(Cause::TooLarge, message).with_help("shorten it"))
        }
        role => Ok(role.to_owned()),
    }
}

fn read_count(field: &Field<'_>) -> Result<usize, DocumentError> {
    match field.positive()? {
        // At most `MAX_APPROVALS`, so the cast loses nothing.
        count @ 1..=MAX_APPROVALS => Ok(count as usize),
        _ => {
            let error = field.error(Cause::TooMany, "too many approvals");
            Err(error.with_help(format!("write a count from 1 to {MAX_APPROVALS}")))
        }
    }
}

impl ReceiptFact {
    /// An approval of the subject by this person, valid and not used up, until `expires_at`. The caller of a server is one to
    /// whom the server gives the role.
    #[must_use]
    pub fn blank_approval(
        name: &str,
        person: &Person,
        role: &str,
        subject: &Subject,
        now: &Timestamp,
        expires_at: Timestamp,
    ) -> Self {
        // A person without a key of their own is the caller of a server, which signs for them.
        let (signer, reviewer, vouched) = match person {
            Person::Key(key) => (Some(*key), Some(Reviewer::of_key(*key)), false),
            Person::Caller { id, server } => {
                let reviewer = Reviewer { id: id.clone(), key: None, roles: vec![role.to_owned()] };
                (Some(*server), Some(reviewer), true)
            }
            Person::Passkey(_) => (None, None, false),
        };
        let passkey = if let Person::Passkey(passkey) = person { Some(passkey.clone()) } else { None };
        Self {
            kind: Some(ReceiptKind::Approval),
            tier: HUMAN_TIER,
            output: subject.action,
            signer,
            vouched,
            passkey,
            approval: Some(ApprovalFact {
                role: role.to_owned(),
                subject: subject.clone(),
                shown: Some(shown(subject, &AskedBy::default())),
                asked_by: AskedBy::default(),
                reviewer,
                expires_at,
                scope: None,
            }),
            ..Self::blank(name, now)
        }
    }
}

impl Approval {
    /// The roles in which the decision asks for approvals, in its order.
    #[must_use]
    pub fn roles_asked(decision: &Object) -> Vec<String> {
        let evidence = decision.get("evidence").and_then(Json::as_array).unwrap_or_default();
        let mut roles: Vec<String> = Vec::new();
        for role in evidence.iter().filter_map(|item| item.as_object()?.get("role")?.as_str()) {
            if !roles.iter().any(|known| known == role) {
                roles.push(role.to_owned());
            }
        }
        roles
    }

    /// The receipt for the reviewer to sign, about the action of a decision receipt.
    ///
    /// # Errors
    /// [`ApprovalError`] when the decision binds no action, or the approval is incomplete.
    pub fn draft(self, decision: &Object, receipt_id: ReceiptId, now: Timestamp) -> Result<Draft, ApprovalError> {
        let text = |name: &'static str| decision.get(name).and_then(Json::as_str);
        let decision_id = text("decision_id").ok_or(ApprovalError::NotADecision("decision_id"))?;
        let binding = decision.get("binding").and_then(Json::as_object);
        let bound = binding.and_then(|binding| Some((Subject::read(binding)?, AskedBy::read(binding)?)));
        let (subject, asked_by) = bound.ok_or(ApprovalError::NotADecision("binding"))?;
        if self.note.trim().is_empty() || self.note.len() > MAX_NOTE_BYTES {
            return Err(ApprovalError::Note);
        }
        if self.role.trim().is_empty() {
            return Err(ApprovalError::Role);
        }
        if self.expires_at.unix_millis() <= now.unix_millis() {
            return Err(ApprovalError::Expired);
        }
        // A grant is over what later actions have in common, so that no reader takes it for an approval of one.
        let output = match &self.scope {
            Some(scope) => scope.key(subject.agent.as_deref(), subject.environment.as_deref()),
            None => subject.action,
        };
        let fact = ApprovalFact {
            role: self.role,
            subject,
            asked_by,
            shown: Some(self.shown),
            reviewer: self.reviewer,
            expires_at: self.expires_at,
            scope: self.scope,
        };
        if !fact.is_of_what_was_shown() {
            return Err(ApprovalError::OtherAction);
        }
        let mut approval = Object::new();
        fact.write(&mut approval);
        approval.insert("decision_id", decision_id);
        approval.insert("note", self.note.as_str());
        let metadata = object! { "approval": approval };
        let task =
            Task { task_id: Some(decision_id.to_owned()), task_type: Some("approval".to_owned()), description: None };
        Ok(Draft {
            receipt_id,
            verified_at: now,
            tier: HUMAN_TIER,
            verdict: Verdict::Pass,
            task: Some(task),
            results: Results::from_details(vec![reviewed(self.note)]),
            hashes: Hashes {
                // The whole decision that the reviewer read, so that the receipt says which one was approved.
                specification: Sha256Digest::of(&decision.canonical_vrf()),
                output,
                tests: None,
            },
            metadata,
        })
    }
}

fn reviewed(note: String) -> Detail {
    Detail { message: Some(note), ..Detail::new("human review", Status::Pass) }
}
