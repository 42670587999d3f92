//! What a rule demands of a receipt, and whether one meets it.

use std::fmt;

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};
use proofmark_receipt::{Sha256Digest, SignerId, Timestamp, Trust, Verdict};

use crate::judgment_demand::JudgmentDemand;
use crate::logged::LogPolicy;
use crate::logged_demand::LoggedDemand;
use crate::receipt::{Comparison, Evidence, LOCK, ReceiptFact, ReceiptKind};
use crate::refusal::{Refusal, refuse};
use crate::roles::Roles;
use crate::share::Share;
use crate::span;
use crate::votes::VotesDemand;

/// How many digits the id of a commit has: SHA-1 or SHA-256.
const COMMIT_DIGITS: [usize; 2] = [40, 64];
/// The deepest tier of VRF 1.0.
const MAX_TIER: u8 = 3;

/// What a rule demands of a receipt, beside the bytes and the specification, which are expressions of the rule
/// ([`Wanted`]).
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptDemand {
    pub kind: ReceiptKind,
    pub accepts: Accepts,
    /// The digest of the tests it ran; `None` for any.
    pub tests: Option<Sha256Digest>,
    /// Whose tests it ran; `None` where they may be the submission's own.
    pub tests_from: Option<TestsFromDemand>,
    /// The least separation from the submission with which answers were compared.
    pub comparison: Comparison,
    /// How many mutants of the work have to fail the same tests, of those that load; `None` for any.
    pub strength: Option<Share>,
    /// How many of the passed tests have to fail with a wrong expectation; `None` where no counter-run is asked for.
    pub counter_run: Option<Share>,
    /// What a project's tests may have imported beside the work; `None` for any packages.
    pub environment: Option<EnvironmentDemand>,
    pub verdict: Verdict,
    pub tiers: Vec<u8>,
    pub signer: SignerDemand,
    pub max_age_millis: Option<i64>,
    /// Whose reviews have to agree, for a quorum and for nothing else.
    pub quorum: Option<VotesDemand>,
    /// As what a person has to have judged, for a judgment and for nothing else.
    pub judgment: Option<JudgmentDemand>,
    /// The log that it has to be in; `None` where it need not be in one.
    pub logged: Option<LoggedDemand>,
    /// Whether the rule uses up the receipt.
    pub single_use: bool,
}

/// Where the tests of a project have to come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestsFromDemand {
    /// From a place that is not the submission.
    Owner,
    /// From the commit with this id.
    Commit(String),
}

impl fmt::Display for TestsFromDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("whose tests are not the submission's own"),
            Self::Commit(commit) => write!(f, "whose tests come from the commit {commit}"),
        }
    }
}

/// What packages a project's tests may have imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvironmentDemand {
    /// Those with this digest (`metadata.environment.digest`).
    Digest(Sha256Digest),
    /// Those that a lock file names.
    Lock,
}

impl fmt::Display for EnvironmentDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digest(digest) => write!(f, "with the packages {digest}"),
            Self::Lock => f.write_str("with the packages of a lock file"),
        }
    }
}

/// What the work was verified against. A verdict alone proves nothing when the agent chose the tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// The specification and tests with this digest ([`crate::suite_digest`]).
    Suite(Sha256Digest),
    /// The specification that the rule names, with any tests.
    Specification,
    /// Anything, as the author of the rule has written.
    AnySuite,
}

/// Whose signature a receipt needs.
#[derive(Clone, Debug, PartialEq)]
pub enum SignerDemand {
    /// A signer that the caller trusts.
    Trusted,
    /// Anyone: the signature only has to be valid.
    Any,
    /// One of these keys.
    Keys(Vec<SignerId>),
}

/// What a receipt is held to that its rule does not say by itself. Digests are the values of the rule's expressions; a text that is not a
/// digest matches no receipt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// `hashes.output`; `None` for any.
    pub output: Option<&'a str>,
    /// `hashes.specification`; `None` for any.
    pub specification: Option<&'a str>,
    /// Whose judgments count; `None` for nobody's.
    pub roles: Option<&'a Roles>,
}

impl ReceiptDemand {
    /// The tiers in words, as in `of tier 1 or 2`; `None` where every tier is good.
    #[must_use]
    pub fn tier_words(&self) -> Option<String> {
        let tiers: Vec<_> = self.tiers.iter().map(u8::to_string).collect();
        let every = (0..=MAX_TIER).all(|tier| self.tiers.contains(&tier));
        (!every).then(|| format!("of tier {}", tiers.join(" or ")))
    }

    /// The fields of a receipt rule that are read here. Each kind of document adds its own, with `specification` and
    /// `output` among them.
    pub const FIELDS: [&'static str; 18] = [
        "kind",
        "suite",
        "any_suite",
        "tests",
        "tests_from",
        "comparison",
        "strength",
        "counter_run",
        "environment",
        "verdict",
        "tier",
        "signer",
        "max_age",
        "single_use",
        "quorum",
        "judgment",
        "logged",
        "witnesses",
    ];

    /// Whether a receipt that anybody has signed meets it: neither its signature nor those of its reviews say who did.
    #[must_use]
    pub fn is_of_anybody(&self) -> bool {
        self.signer == SignerDemand::Any && self.quorum.is_none() && self.judgment.is_none()
    }

    /// Reads the shared fields of a receipt rule. Of `specification`, only whether it is present. `logs` are the logs and witnesses that the
    /// document of the rule pins.
    ///
    /// Policies are written in snake_case and workflows in camelCase, so `max_age`, `single_use` and `any_suite` have both
    /// spellings here. Which of them a document may use is decided by its list of known fields.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write; also for a rule that does not say what it accepts.
    pub fn read(fields: &Fields<'_>, logs: Option<&LogPolicy>) -> Result<Self, DocumentError> {
        let kind = ReceiptKind::read(fields)?;
        let comparison = fields.get("comparison").map(|field| {
            let word = |comparison: Comparison| (comparison.as_str(), comparison);
            field.choice(&[word(Comparison::External), word(Comparison::InProcess)])
        });
        Ok(Self {
            accepts: read_accepts(fields, kind)?,
            tests: fields.get("tests").map(|field| read_digest(&field)).transpose()?,
            tests_from: fields
                .either("tests_from", "testsFrom")?
                .map(|field| read_tests_from(&field, kind))
                .transpose()?,
            comparison: comparison.transpose()?.unwrap_or(Comparison::External),
            strength: fields.get("strength").map(|field| read_strength(&field, kind)).transpose()?,
            counter_run: fields
                .either("counter_run", "counterRun")?
                .map(|field| read_counter_run(&field, kind))
                .transpose()?,
            environment: fields.get("environment").map(|field| read_environment(&field, kind)).transpose()?,
            verdict: fields.get("verdict").map_or(Ok(Verdict::Pass), |field| read_verdict(&field))?,
            tiers: fields.get("tier").map_or_else(|| Ok((0..=MAX_TIER).collect()), |field| read_tiers(&field))?,
            signer: match fields.get("signer") {
                Some(field) => read_signer(&field)?,
                // Its reviews are counted again, and its role says whose judgment it is.
                None if matches!(kind, ReceiptKind::Quorum | ReceiptKind::Judgment) => SignerDemand::Any,
                None => SignerDemand::Trusted,
            },
            max_age_millis: fields.either("max_age", "maxAge")?.map(|field| span::read(&field)).transpose()?,
            quorum: read_quorum(fields, kind)?,
            judgment: read_judgment(fields, kind)?,
            logged: LoggedDemand::read(fields, logs)?,
            single_use: fields.either("single_use", "singleUse")?.map_or(Ok(false), |field| field.boolean())?,
            kind,
        })
    }

    /// Whether a receipt meets the demand at `now`.
    ///
    /// # Errors
    /// The first [`Refusal`] in the order of the checks.
    pub fn meets(&self, wanted: &Wanted<'_>, fact: &ReceiptFact, now: &Timestamp) -> Result<(), Refusal> {
        let trusted = match &self.signer {
            SignerDemand::Trusted => fact.trust == Trust::Trusted,
            SignerDemand::Any => true,
            // The keys that a rule names need not be among the trusted ones.
            SignerDemand::Keys(keys) => fact.signer.is_some_and(|signer| keys.contains(&signer)),
        };
        let suite = match &self.accepts {
            Accepts::Suite(digest) => fact.suite == Some(*digest),
            // The rule accepts what it names, so it accepts nothing without the value of that.
            Accepts::Specification => wanted.specification.is_some(),
            Accepts::AnySuite => true,
        };
        // Compared as texts: a wanted text that is not a digest differs from every digest, so it matches nothing.
        let other = |wanted: Option<&str>, found: &Sha256Digest| wanted.is_some_and(|text| text != found.to_string());
        let compared = match self.kind {
            ReceiptKind::Verification => fact.comparison.is_some_and(|comparison| comparison >= self.comparison),
            // Only a verification runs a submission, whose process could forge the answers that are compared.
            ReceiptKind::StepAcceptance | ReceiptKind::Approval | ReceiptKind::Quorum | ReceiptKind::Judgment => true,
        };
        // The order is that of `Refusal`: a document about other bytes is the least interesting one to report.
        refuse(other(wanted.output, &fact.output), Refusal::OtherOutput)?;
        refuse(!fact.valid, Refusal::NotValid)?;
        refuse(fact.kind != Some(self.kind), Refusal::OtherKind)?;
        refuse(!trusted, Refusal::Signer)?;
        self.judgment.as_ref().map_or(Ok(()), |demand| demand.meets(wanted.roles, fact, now))?;
        refuse(other(wanted.specification, &fact.specification), Refusal::OtherSpecification)?;
        refuse(!suite, Refusal::OtherSuite)?;
        refuse(self.tests.is_some() && fact.tests != self.tests, Refusal::OtherTests)?;
        refuse(!self.tests_are_from_there(fact), Refusal::TestsFrom)?;
        refuse(!compared, Refusal::Comparison)?;
        refuse(is_less(fact.strength, self.strength), Refusal::Strength)?;
        refuse(is_less(fact.counter_run, self.counter_run), Refusal::CounterRun)?;
        refuse(!self.has_packages(fact), Refusal::OtherPackages)?;
        refuse(fact.verdict != self.verdict, Refusal::Verdict)?;
        refuse(!self.tiers.contains(&fact.tier), Refusal::Tier)?;
        refuse(fact.ahead_of(now), Refusal::InTheFuture)?;
        refuse(fact.older_than(self.max_age_millis, now), Refusal::TooOld)?;
        self.quorum.as_ref().map_or(Ok(()), |demand| demand.meets(fact.votes.as_ref(), self.max_age_millis, now))?;
        self.logged.as_ref().map_or(Ok(()), |demand| demand.meets(fact.logged.as_ref()))?;
        refuse(self.single_use && fact.spent, Refusal::Spent)
    }

    fn has_packages(&self, fact: &ReceiptFact) -> bool {
        match self.environment {
            None => true,
            Some(EnvironmentDemand::Digest(digest)) => fact.environment == Some(digest),
            Some(EnvironmentDemand::Lock) => fact.environment.is_some() && fact.is_locked(),
        }
    }

    fn tests_are_from_there(&self, fact: &ReceiptFact) -> bool {
        match &self.tests_from {
            None => true,
            Some(TestsFromDemand::Owner) => fact.tests_from.is_some(),
            Some(TestsFromDemand::Commit(commit)) => fact.tests_from.as_ref() == Some(commit),
        }
    }

    /// The indexes in the evidence of the receipts that meet the demand, the newest first.
    #[must_use]
    pub fn candidates(&self, wanted: &Wanted<'_>, evidence: &Evidence, now: &Timestamp) -> Vec<usize> {
        let documents = evidence.documents().iter().enumerate();
        let mut met: Vec<_> = documents.filter(|(_, fact)| self.meets(wanted, fact, now).is_ok()).collect();
        // The content breaks ties, so that the same documents always give the same result.
        met.sort_by_key(|(_, fact)| std::cmp::Reverse((fact.verified_at.unix_millis(), fact.content)));
        met.into_iter().map(|(place, _)| place).collect()
    }
}

/// Whose reviews count, which a quorum has to say: its own signature says only who collected them.
fn read_quorum(fields: &Fields<'_>, kind: ReceiptKind) -> Result<Option<VotesDemand>, DocumentError> {
    match (fields.get("quorum"), kind) {
        (Some(field), ReceiptKind::Quorum) => {
            if let Some(field) = fields.either("single_use", "singleUse")? {
                let message = "the same reviews can be collected again, so a quorum cannot be used up";
                return Err(field.error(Cause::ConflictingFields, message).with_help("write `max_age` instead"));
            }
            VotesDemand::read(&field).map(Some)
        }
        (Some(field), _) => Err(of_other_kind(&field, kind)),
        (None, ReceiptKind::Quorum) => Err(fields.missing(
            "quorum",
            "say whose reviews have to agree, as in `quorum: {of: reviewers.txt, at_least: 2, complete: true}`",
        )),
        (None, _) => Ok(None),
    }
}

fn read_judgment(fields: &Fields<'_>, kind: ReceiptKind) -> Result<Option<JudgmentDemand>, DocumentError> {
    match (fields.get("judgment"), kind) {
        (Some(field), ReceiptKind::Judgment) => JudgmentDemand::read(&field).map(Some),
        (Some(field), _) => Err(of_other_kind(&field, kind)),
        (None, ReceiptKind::Judgment) => {
            Err(fields.missing("judgment", "say in which role a person judges, as in `judgment: {role: maintainer}`"))
        }
        (None, _) => Ok(None),
    }
}

fn of_other_kind(field: &Field<'_>, kind: ReceiptKind) -> DocumentError {
    let message = format!("the rule asks for a receipt of the kind `{}`", kind.as_str());
    field.error(Cause::ConflictingFields, message).with_help("leave `kind` out, or write two rules")
}

fn read_accepts(fields: &Fields<'_>, kind: ReceiptKind) -> Result<Accepts, DocumentError> {
    let (suite, specification) = (fields.get("suite"), fields.get("specification"));
    let any = fields.either("any_suite", "anySuite")?;
    if let Some(any) = &any
        && !any.boolean()?
    {
        // `false` alone would leave open what the rule accepts.
        return Err(any
            .error(Cause::InvalidValue, "`any_suite` is `false`")
            .with_help("write `true`, or name a `suite` or a `specification` instead"));
    }
    match (suite, specification, any) {
        // A quorum has the tests that all its members have.
        (Some(suite), None, None) if matches!(kind, ReceiptKind::Verification | ReceiptKind::Quorum) => {
            Ok(Accepts::Suite(read_suite(&suite)?))
        }
        (Some(suite), None, None) => {
            let error = suite.error(Cause::ConflictingFields, "only a verification or a quorum has a suite");
            let help = match kind {
                ReceiptKind::Judgment => "write the digest of the brief as `specification`",
                _ => "write the digest of the contract as `specification`",
            };
            Err(error.with_help(help))
        }
        (None, Some(_), None) => Ok(Accepts::Specification),
        (None, None, Some(_)) => Ok(Accepts::AnySuite),
        (None, None, None) => Err(fields.missing(
            "suite",
            "say what the work has to be held to: `suite` with a file or the digest that \
             `proofmark verify --suite-digest FILE` prints, `specification` with a digest, or `any_suite: true` where \
             the agent that asks may choose the tests",
        )),
        (Some(field), Some(_), _) | (Some(field), None, Some(_)) | (None, Some(field), Some(_)) => {
            let error = field.error(Cause::ConflictingFields, "the rule says twice what it accepts");
            Err(error.with_help("write one of `suite`, `specification` and `any_suite`"))
        }
    }
}

/// Whether a share is less than the least one, or is not known where there is one.
fn is_less(found: Option<Share>, least: Option<Share>) -> bool {
    least.is_some_and(|least| found.is_none_or(|found| found < least))
}

/// `true`, or the least share of the passed tests: `{contradicted: ">= 0.9"}`.
fn read_counter_run(field: &Field<'_>, kind: ReceiptKind) -> Result<Share, DocumentError> {
    if kind != ReceiptKind::Verification {
        let error = field.error(Cause::ConflictingFields, "only a verification has a counter-run");
        return Err(error.with_help("leave the field out"));
    }
    if field.json.as_bool() == Some(true) {
        return Ok(Share::NONE);
    }
    if field.json.as_object().is_none() {
        let error = field.error(Cause::InvalidValue, "this does not say which counter-run is asked for");
        return Err(error.with_help(
            "write `true` or `{contradicted: \">= 0.9\"}`; leave the field out where no counter-run is asked for",
        ));
    }
    let fields = field.fields()?;
    fields.only(&["contradicted"])?;
    Share::read_least(&fields.need("contradicted", "write the least share, as in `contradicted: \">= 0.9\"`")?)
}

fn read_strength(field: &Field<'_>, kind: ReceiptKind) -> Result<Share, DocumentError> {
    match kind {
        ReceiptKind::Verification => Share::read_least(field),
        _ => {
            let error = field.error(Cause::ConflictingFields, "only a verification has a strength");
            Err(error.with_help("leave it out"))
        }
    }
}

/// A digest, or `{from: lock}`.
fn read_environment(field: &Field<'_>, kind: ReceiptKind) -> Result<EnvironmentDemand, DocumentError> {
    if kind != ReceiptKind::Verification {
        let error = field.error(Cause::ConflictingFields, "only a verification has packages");
        return Err(error.with_help("leave the field out"));
    }
    if field.json.as_object().is_none() {
        return Ok(EnvironmentDemand::Digest(read_digest(field)?));
    }
    let fields = field.fields()?;
    fields.only(&["from"])?;
    let from = fields.need("from", "write `from: lock`")?;
    from.choice(&[(LOCK, EnvironmentDemand::Lock)])
}

fn read_suite(field: &Field<'_>) -> Result<Sha256Digest, DocumentError> {
    let text = field.text()?;
    text.parse().map_err(|_| {
        let error =
            field.error(Cause::InvalidValue, format!("`{}` is not a digest, and files are not read here", shown(text)));
        error.with_help("write what `proofmark verify --suite-digest FILE` prints")
    })
}

/// `true`, or the id of a commit.
fn read_tests_from(field: &Field<'_>, kind: ReceiptKind) -> Result<TestsFromDemand, DocumentError> {
    if kind != ReceiptKind::Verification {
        let error = field.error(Cause::ConflictingFields, "only a verification has tests");
        return Err(error.with_help("leave the field out"));
    }
    let is_id = |text: &str| {
        COMMIT_DIGITS.contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    match (field.json.as_bool(), field.json.as_str()) {
        (Some(true), _) => Ok(TestsFromDemand::Owner),
        (_, Some(text)) if is_id(text) => Ok(TestsFromDemand::Commit(text.to_owned())),
        _ => {
            let error = field.error(Cause::InvalidValue, "this does not say where the tests have to come from");
            Err(error
                .with_help("write `true`, or the whole id of the commit; leave the field out where any tests count"))
        }
    }
}

/// A digest, as in `sha256:…`.
fn read_digest(field: &Field<'_>) -> Result<Sha256Digest, DocumentError> {
    let text = field.text()?;
    text.parse().map_err(|_| {
        let error = field.error(Cause::InvalidValue, format!("`{}` is not a digest", shown(text)));
        error.with_help("write `sha256:` and 64 lower-case hex digits")
    })
}

fn read_verdict(field: &Field<'_>) -> Result<Verdict, DocumentError> {
    let verdicts = [Verdict::Pass, Verdict::Partial, Verdict::Fail, Verdict::Error];
    field.choice(&verdicts.map(|verdict| (verdict.as_str(), verdict)))
}

fn read_tiers(field: &Field<'_>) -> Result<Vec<u8>, DocumentError> {
    let tier = |field: &Field<'_>| {
        let number = field.json.as_number().ok_or_else(|| field.wrong_type("a tier from 0 to 3"))?;
        let tier = number.as_u64().and_then(|tier| u8::try_from(tier).ok()).filter(|tier| *tier <= MAX_TIER);
        tier.ok_or_else(|| field.error(Cause::InvalidValue, "invalid tier").with_help("write 0, 1, 2 or 3"))
    };
    let tiers: Vec<u8> = match field.json.as_array() {
        Some(_) => field.items()?.iter().map(tier).collect::<Result<_, _>>()?,
        None => vec![tier(field)?],
    };
    if tiers.is_empty() {
        let error = field.error(Cause::Empty, "the list has no tiers");
        Err(error.with_help("write one from 0 to 3, or leave the field out"))
    } else {
        Ok(tiers)
    }
}

fn read_signer(field: &Field<'_>) -> Result<SignerDemand, DocumentError> {
    let key = |field: &Field<'_>| {
        let text = field.text()?;
        text.parse().map_err(|_| {
            let error = field.error(Cause::InvalidValue, format!("`{}` is not a signer", shown(text)));
            error.with_help("write `trusted`, a public key, or a list of them")
        })
    };
    match field.json.as_str() {
        Some("trusted") => Ok(SignerDemand::Trusted),
        Some("any") => Ok(SignerDemand::Any),
        Some(_) => Ok(SignerDemand::Keys(vec![key(field)?])),
        None => {
            let keys: Vec<SignerId> = field.items()?.iter().map(key).collect::<Result<_, _>>()?;
            if keys.is_empty() {
                Err(field.error(Cause::Empty, "the list has no keys").with_help("write one"))
            } else {
                Ok(SignerDemand::Keys(keys))
            }
        }
    }
}
