//! What `receipt verify` says of receipts of tiers 2 and 3.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use proofmark_keys::KnownSigners;
use proofmark_quorum::{
    Given, Judgment, MAX_REVIEWERS_BYTES, Quorum, QuorumDemand, QuorumStatus, Reviewers, RoleKeys, TierError,
    check_judgment, recount,
};
use proofmark_receipt::{Answer, Json, Object, Receipt, SignerId, Trust, object};
use proofmark_verifier::now;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::input;
use crate::paint::{Paint, printable};

/// The most receipts that are kept to count quorums among the documents of one run.
const MAX_KEPT: usize = 10_000;

/// Whose reviews count.
#[derive(Args)]
pub(super) struct Reviewed {
    /// Demand of a quorum that reviewers of this file agree: lines `reviewer OPERATOR KEY`
    #[arg(long, value_name = "FILE", requires = "at_least")]
    reviewers: Option<PathBuf>,
    /// How many operators of the file have to agree
    #[arg(long, value_name = "N", requires = "reviewers")]
    at_least: Option<NonZeroUsize>,
    /// Every operator of the file has to be among the reviews
    #[arg(long, requires = "reviewers")]
    complete: bool,
    /// This signer holds a role, in which judgments of theirs count, as in maintainer=ann.pem; can be repeated. Judgments in roles that are
    /// held by none of these are not trusted
    #[arg(long, value_name = "ROLE=SIGNER", value_parser = role_key)]
    role_key: Vec<(String, String)>,
}

/// [`Reviewed`], read, and the receipts so far.
pub(super) struct Tiers {
    reviewers: Option<(Reviewers, NonZeroUsize, bool)>,
    /// Who holds which role; none where it was not asked for.
    roles: Option<BTreeMap<String, Vec<SignerId>>>,
    quorums: Vec<(String, Receipt)>,
    judgments: Vec<(String, Receipt)>,
    receipts: Vec<Receipt>,
}

/// The result of counting a quorum or checking a judgment.
pub(super) struct Tier {
    pub(super) label: String,
    pub(super) exit: Exit,
    pub(super) code: Option<&'static str>,
    pub(super) message: Option<String>,
    text: String,
    json: Object,
}

impl Reviewed {
    pub(super) fn read(&self, known: &KnownSigners) -> anyhow::Result<Tiers> {
        let mut roles: BTreeMap<String, Vec<SignerId>> = BTreeMap::new();
        for (role, signer) in &self.role_key {
            let keys = known.keys(std::slice::from_ref(signer))?;
            roles.entry(role.clone()).or_default().extend(keys.iter().map(|key| key.signer));
        }
        let roles = (!roles.is_empty()).then_some(roles);
        let reviewers = match (&self.reviewers, self.at_least) {
            (Some(path), Some(at_least)) => {
                let bytes = input::read_limited(path, MAX_REVIEWERS_BYTES as u64)?;
                let failed = |error: proofmark_quorum::ReviewersError| {
                    CommandError::new(format!("read the reviewers `{}`: {error}", path.display()), None)
                };
                Some((Reviewers::parse(&bytes).map_err(failed)?, at_least, self.complete))
            }
            _ => None,
        };
        Ok(Tiers { reviewers, roles, quorums: Vec::new(), judgments: Vec::new(), receipts: Vec::new() })
    }
}

impl Tiers {
    /// Notes a document: what it rests on may come later.
    pub(super) fn add(&mut self, label: &str, bytes: &[u8]) {
        let Ok(receipt) = Receipt::parse(bytes) else { return };
        if Quorum::is_stated(&receipt) {
            return self.quorums.push((label.to_owned(), receipt));
        }
        if Judgment::is_stated(&receipt) {
            self.judgments.push((label.to_owned(), receipt.clone()));
        }
        if self.receipts.len() < MAX_KEPT {
            self.receipts.push(receipt);
        }
    }

    /// Counts all quorums, and checks all judgments.
    pub(super) fn finish(self) -> Vec<Tier> {
        let Self { reviewers, roles, quorums, judgments, receipts } = self;
        let held = |role: &str| roles.as_ref().and_then(|roles| roles.get(role)).cloned().unwrap_or_default();
        let judge = |(label, receipt): (String, Receipt)| {
            let roles = roles.is_some().then_some(&held as &dyn Fn(&str) -> Vec<SignerId>);
            Tier::of_judgment(&label, &receipt, roles, &receipts)
        };
        let demand = reviewers.as_ref().map(|(of, at_least, complete)| QuorumDemand {
            of,
            at_least: *at_least,
            complete: *complete,
            dated: QuorumDemand::ANY_TIME,
        });
        let now = now();
        let count = |(label, receipt): (String, Receipt)| {
            let found = recount(&receipt, &receipts, demand.as_ref(), &now);
            let exit = match (found.answer, found.quorum, &found.error) {
                (Answer::Undecidable, ..) => Exit::NoAnswer,
                (Answer::Invalid, ..) | (_, QuorumStatus::NotMet, _) => Exit::No,
                (Answer::Valid, QuorumStatus::Met, _) => Exit::Yes,
                // A member that is missing leaves it unknown; without a demand only the form and the count were asked for.
                (Answer::Valid, QuorumStatus::Unknown, Some(_)) => Exit::NoAnswer,
                (Answer::Valid, QuorumStatus::Unknown, None) if demand.is_some() => Exit::NoAnswer,
                (Answer::Valid, QuorumStatus::Unknown, None) => Exit::Yes,
            };
            let operators: Vec<Json> = found.operators.iter().map(|operator| Json::from(operator.as_str())).collect();
            let threshold = found.stated.as_ref().map(|stated| (stated.threshold as u64, stated.reviews.len() as u64));
            let mut text = String::new();
            if let Some((threshold, reviews)) = threshold.filter(|_| found.error.is_none()) {
                let verdict = receipt.verdict();
                text = format!("  {verdict}: {threshold} of {reviews} reviews have to agree, and were counted again\n");
            }
            if !found.operators.is_empty() {
                let names: Vec<String> = found.operators.iter().map(|operator| printable(operator)).collect();
                text.push_str(&format!("  agreeing operators: {}\n", names.join(", ")));
            }
            let json = object! {
                "quorum": found.quorum.as_str(),
                "source": label.as_str(),
                "answer": found.answer.as_str(),
                "verdict": receipt.verdict().as_str(),
                "cause"?: found.error.as_ref().map(TierError::code),
                "message"?: found.error.as_ref().map(ToString::to_string),
                "threshold"?: threshold.map(|(threshold, _)| threshold),
                "reviews"?: threshold.map(|(_, reviews)| reviews),
                "operators": operators,
            };
            Tier::new(format!("quorum {}: {label}", found.quorum.as_str()), exit, found.error.as_ref(), text, json)
        };
        quorums.into_iter().map(count).chain(judgments.into_iter().map(judge)).collect()
    }
}

impl Tier {
    fn new(label: String, exit: Exit, error: Option<&TierError>, text: String, json: Object) -> Self {
        let (code, message) = (error.map(TierError::code), error.map(ToString::to_string));
        Self { label, exit, code, message, text, json }
    }

    fn of_judgment(label: &str, receipt: &Receipt, roles: Option<RoleKeys<'_>>, others: &[Receipt]) -> Self {
        let now = now();
        let given = Given { roles, issued: others, on: others, shown: None, now: &now };
        let found = check_judgment(receipt, &given);
        let exit = match (found.answer, found.trust) {
            (Answer::Undecidable, _) => Exit::NoAnswer,
            (Answer::Invalid, _) | (_, Trust::Untrusted) => Exit::No,
            (Answer::Valid, Trust::Trusted | Trust::Unknown) => Exit::Yes,
        };
        let role = found.judgment.as_ref().map(|judgment| judgment.role.clone());
        let statement = found.judgment.as_ref().map(|judgment| judgment.statement.clone());
        let mut text = String::new();
        if let Some((role, statement)) = role.as_deref().zip(statement.as_deref()) {
            text = format!("  as {}: {}\n", printable(role), printable(statement));
        }
        let json = object! {
            "judgment": found.answer.as_str(),
            "source": label,
            "verdict": receipt.verdict().as_str(),
            "cause"?: found.error.as_ref().map(TierError::code),
            "message"?: found.error.as_ref().map(ToString::to_string),
            "role"?: role,
            "statement"?: statement,
        };
        Self::new(format!("judgment: {label}"), exit, found.error.as_ref(), text, json)
    }

    /// In lines of text.
    pub(super) fn shown(&self, paint: Paint) -> String {
        let label = printable(&self.label);
        let painted = if self.exit == Exit::Yes { paint.good("counted") } else { paint.bad("not counted") };
        let mut text = format!("{painted} {label}\n");
        if let Some((code, message)) = self.code.zip(self.message.as_deref()) {
            text.push_str(&format!("  {code}: {}\n", printable(message)));
        }
        text + &self.text
    }

    pub(super) fn to_json(&self) -> Json {
        self.json.clone().into()
    }
}

fn role_key(text: &str) -> Result<(String, String), String> {
    let (role, signer) = text.split_once('=').ok_or("write a role and a signer, as in maintainer=ann.pem")?;
    Ok((role.to_owned(), signer.to_owned()))
}
