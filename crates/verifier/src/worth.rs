//! What a kept receipt proves, for everybody who acts on one: evaluations of jobs, redeeming, running again.
//!
//! That somebody keeps a receipt under an id proves nothing. What counts is who signed it, whether it was issued here and
//! for which request, what it came to, and whether another receipt stands in its place.

use proofmark_checks::{Format, Request};
use proofmark_receipt::{
    Hashes, Json, Object, Profile, Receipt, ReceiptId, Sha256Digest, SignatureStatus, SignerId, Trust, Verdict,
    verify_receipt,
};
use proofmark_store::StoredReceipt;

/// What a receipt is, judged now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Whether its signature is valid.
    pub answer: SignatureStatus,
    /// Whether its signer is trusted now, whatever was so when the receipt came.
    pub trust: Trust,
    /// What it came to.
    pub verdict: Verdict,
    /// Whether this store issued it; else somebody brought it.
    pub issued_here: bool,
    /// The receipt that stands in its place.
    pub superseded_by: Option<ReceiptId>,
}

/// What a receipt has to be about. What is `None` is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The id of the task: `job_id` of a job of agent commerce.
    pub task_id: Option<String>,
    /// `hashes.specification`.
    pub specification: Option<Sha256Digest>,
    /// `hashes.tests`.
    pub tests: Option<Sha256Digest>,
    /// `hashes.output`.
    pub output: Option<Sha256Digest>,
}

/// What somebody who redeems a receipt accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The verdicts accepted beside `pass`.
    pub verdicts: Vec<Verdict>,
    /// Whether the signer may be anybody.
    pub untrusted: bool,
    /// What the receipt has to be about.
    pub about: Subject,
}

/// Why a receipt does not count. Each says what it is and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorthError {
    /// Nobody signed it, or not as it stands here.
    #[error("its signature is {word}: {cause}; ask for a receipt that verifies")]
    Signature {
        /// The name of the cause.
        code: &'static str,
        /// `invalid` or `undecidable`.
        word: &'static str,
        /// The cause.
        cause: String,
    },
    /// Signed by somebody who is not trusted here.
    #[error("its signer is not trusted here; name the signer with `--trust` if it is, or verify the work here")]
    Untrusted,
    /// Another receipt stands in its place.
    #[error("the receipt `{0}` stands in its place; use that one")]
    Superseded(ReceiptId),
    /// Somebody brought it.
    #[error("it was issued elsewhere, for a request that is not known here; verify the work here")]
    IssuedElsewhere,
    /// The request it answers is not kept.
    #[error("its request was not kept here; send the request to /v1/verifications")]
    NoRequest,
    /// The request kept under its id is not the one it answers.
    #[error("it is not about the request kept under its id; send the request to /v1/verifications")]
    OtherRequest,
    /// Its request is not that of a job of agent commerce.
    #[error("its tests are not those of its requirements, so it evaluates no job; send the job to /v1/acp/evaluations")]
    NotAJob,
    /// It is about something else.
    #[error("its `{name}` is not the one asked for; ask for a receipt about this work")]
    OtherWork {
        /// The field that differs.
        name: &'static str,
    },
    /// It came to something else.
    #[error("its verdict is `{0}`; name that verdict in `accept` to use it all the same")]
    Verdict(Verdict),
}

impl WorthError {
    /// A short stable name of it, for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Signature { code, .. } => code,
            Self::Untrusted => "untrusted",
            Self::Superseded(_) => "already_superseded",
            Self::IssuedElsewhere => "issued_elsewhere",
            Self::NoRequest => "no_request",
            Self::OtherRequest => "other_request",
            Self::NotAJob => "not_a_job",
            Self::OtherWork { .. } => "other_work",
            Self::Verdict(_) => "not_accepted",
        }
    }
}

impl Worth {
    /// What a kept receipt is, to somebody who trusts these signers.
    #[must_use]
    pub fn of(kept: &StoredReceipt, trusted: &[SignerId]) -> Self {
        Self {
            issued_here: kept.trust.is_none(),
            superseded_by: kept.superseded_by,
            ..Self::of_issued(&kept.receipt, trusted)
        }
    }

    /// What a receipt is that was issued here just now.
    #[must_use]
    pub fn of_issued(receipt: &Receipt, trusted: &[SignerId]) -> Self {
        let verification = verify_receipt(receipt, Profile::Vrf, trusted);
        Self {
            answer: verification.answer,
            trust: verification.trust,
            verdict: receipt.verdict(),
            issued_here: true,
            superseded_by: None,
        }
    }

    /// Writes what it is into an answer: `trust`, `issued_here` and `superseded_by`.
    pub fn describe(&self, answer: &mut Object) {
        answer.insert("trust", self.trust.as_str());
        answer.insert("issued_here", self.issued_here);
        let by = self.superseded_by.map(|by| by.to_string());
        answer.insert("superseded_by", by.map_or(Json::Null, Json::from));
    }

    /// Whether it may be redeemed under these terms. Without a valid signature nothing may, and of a receipt and the one
    /// that took its place only the newer.
    ///
    /// # Errors
    /// [`WorthError`], the first reason against it.
    pub fn redeemable(&self, receipt: &Receipt, terms: &Terms) -> Result<(), WorthError> {
        self.signed()?;
        if let Some(by) = self.superseded_by {
            return Err(WorthError::Superseded(by));
        }
        if !terms.untrusted {
            self.trusted()?;
        }
        if self.verdict != Verdict::Pass && !terms.verdicts.contains(&self.verdict) {
            return Err(WorthError::Verdict(self.verdict));
        }
        terms.about.matches(receipt)
    }

    /// The request kept under its id, if it was issued here for that request and nothing stands in its place: so that
    /// running the request again says something about it.
    ///
    /// # Errors
    /// [`WorthError`], the first reason against it.
    pub fn answers<'a>(&self, receipt: &Receipt, request: Option<&'a str>) -> Result<&'a str, WorthError> {
        if !self.issued_here {
            return Err(WorthError::IssuedElsewhere);
        }
        if let Some(by) = self.superseded_by {
            return Err(WorthError::Superseded(by));
        }
        let request = request.ok_or(WorthError::NoRequest)?;
        // A request that cannot be read any more cannot be compared.
        let read = Request::read(request.as_bytes(), Format::Json, None).map_err(|_| WorthError::OtherRequest)?;
        let same = read.hashes == *receipt.hashes() && read.task.as_ref() == receipt.task();
        same.then_some(request).ok_or(WorthError::OtherRequest)
    }

    /// Whether it is signed as it stands, by somebody trusted here.
    ///
    /// # Errors
    /// [`WorthError::Signature`] and [`WorthError::Untrusted`].
    pub fn vouched(&self) -> Result<(), WorthError> {
        self.signed()?;
        self.trusted()
    }

    fn signed(&self) -> Result<(), WorthError> {
        match (self.answer.code(), self.answer.cause()) {
            (None, None) => Ok(()),
            (code, cause) => Err(WorthError::Signature {
                code: code.unwrap_or("undecidable"),
                word: self.answer.as_str(),
                cause: cause.unwrap_or_default(),
            }),
        }
    }

    fn trusted(&self) -> Result<(), WorthError> {
        match self.trust {
            Trust::Trusted => Ok(()),
            Trust::Untrusted | Trust::Unknown => Err(WorthError::Untrusted),
        }
    }
}

impl Subject {
    /// Whether a receipt is about this.
    ///
    /// # Errors
    /// [`WorthError::OtherWork`] names the first field that differs.
    pub fn matches(&self, receipt: &Receipt) -> Result<(), WorthError> {
        let Hashes { specification, output, tests } = receipt.hashes();
        let task_id = receipt.task().and_then(|task| task.task_id.as_ref());
        let held = [
            ("task_id", self.task_id.is_none() || self.task_id.as_ref() == task_id),
            ("specification", self.specification.is_none_or(|wanted| wanted == *specification)),
            ("tests", self.tests.is_none() || self.tests == *tests),
            ("output", self.output.is_none_or(|wanted| wanted == *output)),
        ];
        match held.into_iter().find(|(_, same)| !same) {
            None => Ok(()),
            Some((name, _)) => Err(WorthError::OtherWork { name }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proofmark_receipt::{Draft, Results, SigningKey, UndecidableCause};

    use super::*;
    use crate::clock;

    const REQUEST: &str = r#"{"task_id": "t", "specification": "s", "output": {"content": "x"}, "verification":
        {"kind": "schema_check", "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;

    /// A receipt with the verdict `error` over this request.
    fn receipt(request: &str) -> Receipt {
        let read = Request::read(request.as_bytes(), Format::Json, None).unwrap();
        let draft = Draft {
            receipt_id: clock::receipt_id().unwrap(),
            verified_at: clock::now(),
            tier: 1,
            verdict: Verdict::Error,
            task: read.task,
            results: Results::default(),
            hashes: read.hashes,
            metadata: Object::new(),
        };
        draft.sign(&SigningKey::from_seed([3; 32])).unwrap()
    }

    fn pass() -> Worth {
        let (answer, trust, verdict) = (SignatureStatus::Valid, Trust::Trusted, Verdict::Pass);
        Worth { answer, trust, verdict, issued_here: true, superseded_by: None }
    }

    #[test]
    fn what_is_redeemed_is_what_the_terms_accept() {
        let receipt = receipt(REQUEST);
        let newer = receipt.receipt_id();
        let unsigned =
            Worth { answer: SignatureStatus::Undecidable(UndecidableCause::Unsigned), trust: Trust::Unknown, ..pass() };
        let superseded = Worth { superseded_by: Some(newer), ..pass() };
        let untrusted = Worth { trust: Trust::Untrusted, ..pass() };
        let failed = Worth { verdict: Verdict::Fail, ..pass() };
        let brought = Worth { issued_here: false, ..pass() };
        let all = Terms { verdicts: vec![Verdict::Fail, Verdict::Error], untrusted: true, about: Subject::default() };
        let table = [
            (&pass(), None, None),
            (&brought, None, None),
            (&untrusted, Some("untrusted"), None),
            (&failed, Some("not_accepted"), None),
            (&superseded, Some("already_superseded"), Some("already_superseded")),
            (&unsigned, Some("unsigned"), Some("unsigned")),
        ];
        for (worth, unsaid, accepting) in table {
            let refused = |terms: &Terms| worth.redeemable(&receipt, terms).err().map(|error| error.code());
            assert_eq!((refused(&Terms::default()), refused(&all)), (unsaid, accepting), "{worth:?}");
        }
    }

    #[test]
    fn a_receipt_answers_its_own_request_alone() {
        let receipt = receipt(REQUEST);
        let code = |worth: &Worth, request: Option<&str>| {
            let request = request.map(str::to_owned);
            worth.answers(&receipt, request.as_deref()).err().map(|error| error.code())
        };
        assert_eq!(code(&pass(), Some(REQUEST)), None);
        assert_eq!(code(&Worth { issued_here: false, ..pass() }, Some(REQUEST)), Some("issued_elsewhere"));
        let superseded = Worth { superseded_by: Some(receipt.receipt_id()), ..pass() };
        assert_eq!(code(&superseded, Some(REQUEST)), Some("already_superseded"));
        assert_eq!(code(&pass(), None), Some("no_request"));
        for (was, is) in [("<= 10", "<= 11"), ("\"s\"", "\"z\""), ("\"x\"", "\"y\""), ("\"t\"", "\"u\""), ("{", "[")] {
            let other = REQUEST.replacen(was, is, 1);
            assert_eq!(code(&pass(), Some(&other)), Some("other_request"), "{other}");
        }
    }

    #[test]
    fn trust_is_judged_now() {
        let (receipt, key) = (receipt(REQUEST), SigningKey::from_seed([3; 32]));
        assert!(Worth::of_issued(&receipt, &[key.signer()]).vouched().is_ok());
        for signers in [vec![], vec![SigningKey::from_seed([4; 32]).signer()]] {
            assert_eq!(Worth::of_issued(&receipt, &signers).vouched(), Err(WorthError::Untrusted));
        }
    }
}
