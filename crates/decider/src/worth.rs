//! What a stored receipt proves, for everything that relies on one: evaluations of jobs, redeeming, running again.
//!
//! That a receipt is stored under an id proves nothing: clients bring receipts. What counts is who signed it, whether it was
//! issued here and for which request, its verdict, and whether another receipt has taken its place.

use proofmark_checks::{Format, Request};
use proofmark_evidence::Signers;
use proofmark_receipt::{
    Hashes, Json, Object, Profile, Receipt, ReceiptId, Sha256Digest, SignatureStatus, Trust, Verdict, verify_receipt,
};
use proofmark_store::StoredReceipt;

/// What a receipt proves, judged now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Whether its signature is valid.
    pub answer: SignatureStatus,
    /// Whether its signer is trusted now; it may have been different when the receipt came.
    pub trust: Trust,
    pub verdict: Verdict,
    /// Whether it was issued here, not brought by a client.
    pub issued_here: bool,
    /// The receipt that has taken its place.
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

/// The terms under which a receipt is redeemed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The verdicts accepted beside `pass`.
    pub verdicts: Vec<Verdict>,
    /// Whether the signer need not be trusted.
    pub untrusted: bool,
    /// What the receipt has to be about.
    pub about: Subject,
}

/// Why a receipt does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorthError {
    /// It is not signed, or was changed since.
    #[error("its signature is {word}: {cause}")]
    Signature {
        /// The name of the cause.
        code: &'static str,
        /// `invalid` or `undecidable`.
        word: &'static str,
        cause: String,
    },
    /// Its signer is not trusted here.
    #[error("its signer is not trusted here")]
    Untrusted,
    /// Another receipt has taken its place.
    #[error("the receipt `{0}` has taken its place")]
    Superseded(ReceiptId),
    /// A client brought it.
    #[error("it was issued elsewhere, for a request that is not known here")]
    IssuedElsewhere,
    /// The request it answers is not stored.
    #[error("its request is not stored here")]
    NoRequest,
    /// The request stored under its id is not the one it answers.
    #[error("it is not about the request stored under its id")]
    OtherRequest,
    /// Its request is not that of a job of agent commerce.
    #[error("its tests are not those of its requirements, so it evaluates no job")]
    NotAJob,
    /// It is about something else.
    #[error("its `{name}` is not the one asked for")]
    OtherWork {
        /// The field that differs.
        name: &'static str,
    },
    /// Its verdict is not accepted.
    #[error("its verdict is `{0}`")]
    Verdict(Verdict),
}

impl WorthError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        Some(match self {
            Self::Signature { .. } => "ask for a receipt that verifies",
            Self::Untrusted => "name the signer with `--trust` if you trust it, or verify the work here",
            Self::Superseded(_) => "use that one",
            Self::IssuedElsewhere => "verify the work here",
            Self::NoRequest | Self::OtherRequest => "send the request to /v1/verifications",
            Self::NotAJob => "send the job to /v1/acp/evaluations",
            Self::OtherWork { .. } => "ask for a receipt about this work",
            Self::Verdict(_) => "name that verdict in `accept` to use it all the same",
        })
    }

    /// A short stable name, for programs.
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
    /// What a stored receipt proves to a caller who trusts these signers.
    #[must_use]
    pub fn of(stored: &StoredReceipt, trusted: &Signers) -> Self {
        Self {
            issued_here: stored.trust.is_none(),
            superseded_by: stored.superseded_by,
            ..Self::of_issued(&stored.receipt, trusted)
        }
    }

    /// What a receipt proves that was issued here just now.
    #[must_use]
    pub fn of_issued(receipt: &Receipt, trusted: &Signers) -> Self {
        let verification = trusted.judged(verify_receipt(receipt, Profile::Vrf, &trusted.of_receipt(receipt)));
        Self {
            answer: verification.answer,
            trust: verification.trust,
            verdict: receipt.verdict(),
            issued_here: true,
            superseded_by: None,
        }
    }

    /// Writes `trust`, `issued_here` and `superseded_by` into an answer.
    pub fn describe(&self, answer: &mut Object) {
        answer.insert("trust", self.trust.as_str());
        answer.insert("issued_here", self.issued_here);
        let by = self.superseded_by.map(|by| by.to_string());
        answer.insert("superseded_by", by.map_or(Json::Null, Json::from));
    }

    /// Whether it may be redeemed under these terms: never without a valid signature, nor once another has taken its place.
    ///
    /// # Errors
    /// [`WorthError`], the first reason against it.
    pub fn redeemable(&self, receipt: &Receipt, terms: &Terms) -> Result<(), WorthError> {
        // First, and under all terms: without a valid signature nobody has said what the receipt says.
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

    /// The request stored under its id, if it was issued here for that request and no other has taken its place: then
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
        // A request that can no longer be read cannot be compared.
        let read = Request::read(request.as_bytes(), Format::Json, None).map_err(|_| WorthError::OtherRequest)?;
        let same = read.hashes == *receipt.hashes() && read.task.as_ref() == receipt.task();
        same.then_some(request).ok_or(WorthError::OtherRequest)
    }

    /// Whether its signature is valid, and its signer trusted.
    ///
    /// # Errors
    /// [`WorthError::Signature`] and [`WorthError::Untrusted`].
    pub fn vouched(&self) -> Result<(), WorthError> {
        self.signed()?;
        self.trusted()
    }

    fn signed(&self) -> Result<(), WorthError> {
        match (self.answer.code(), self.answer.cause()) {
            // Only a valid signature has neither a code nor a cause.
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
    use proofmark_evidence::{Capabilities, Capability, DatedKey};
    use proofmark_receipt::{Draft, Results, SigningKey, UndecidableCause};

    use super::*;
    use proofmark_verifier::clock;

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
        let trusting =
            |key: &SigningKey, kind| Signers::default().with(DatedKey::endless(key.signer()), Capabilities::only(kind));
        assert!(Worth::of_issued(&receipt, &trusting(&key, Capability::Verification)).vouched().is_ok());
        // A stranger, and a key that may vouch for something else.
        let stranger = SigningKey::from_seed([4; 32]);
        let others =
            [Capability::Acceptance, Capability::Approval, Capability::Decision].map(|kind| trusting(&key, kind));
        for signers in [Signers::default(), trusting(&stranger, Capability::Verification)].iter().chain(&others) {
            assert_eq!(Worth::of_issued(&receipt, signers).vouched(), Err(WorthError::Untrusted));
        }
    }
}
