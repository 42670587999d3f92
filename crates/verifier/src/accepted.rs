//! What a server accepted, signed by it: anyone who can write the store can change the row of a job.
//!
//! Before a process runs a stored job, it compares the row with what was signed; before a server answers with the receipt of one, it
//! compares the receipt. A row that cannot be compared is neither run nor an answer.

use proofmark_checks::Request;
use proofmark_receipt::document::shown;
use proofmark_receipt::{
    Hashes, Json, Object, Receipt, ReceiptId, Sha256Digest, SignError, SignerId, SigningKey, Trust, object,
    sign_document, verify_document,
};
use proofmark_store::{StoredJob, Tenant};

const FORMAT: &str = "proofmark-job/1";

/// A job, as the server knows it that accepts it.
pub struct Accepting<'a> {
    pub id: ReceiptId,
    pub tenant: &'a Tenant,
    pub request: &'a Request,
    pub text: &'a str,
    pub chain: &'a str,
    pub supersedes: Option<&'a ReceiptId>,
}

/// Why a job is not what a server accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    #[error("run the job: its row in the store is not signed as what a server accepted")]
    Unsigned,
    #[error("run the job: `{}` signed its row in the store, and is not known here as a server", shown(.0))]
    Signer(String),
    #[error("run the job: its {0} in the store is not what the server accepted")]
    Other(&'static str),
}

/// What was signed of a job.
#[derive(Debug)]
pub struct Accepted(Object);

impl Accepting<'_> {
    /// Signs it.
    ///
    /// # Errors
    /// [`SignError`] when it has a value that cannot be signed.
    pub fn sign(&self, key: &SigningKey) -> Result<String, SignError> {
        let Hashes { specification, output, tests } = &self.request.hashes;
        let mut document = object! {
            "format": FORMAT,
            "job_id": self.id.to_string(),
            "tenant": self.tenant.as_str(),
            "request": Sha256Digest::of(self.text.as_bytes()).to_string(),
            "specification": specification.to_string(),
            "output": output.to_string(),
            "tests"?: tests.map(|tests| tests.to_string()),
            "chain": self.chain,
            "supersedes"?: self.supersedes.map(ToString::to_string),
        };
        sign_document(&mut document, key)?;
        Ok(document.to_text())
    }
}

impl Accepted {
    /// What one of these servers signed of the job in this row, whose tenant, chain and older receipt are those that it accepted.
    ///
    /// # Errors
    /// [`NotAccepted`].
    pub fn of(row: &StoredJob, servers: &[SignerId]) -> Result<Self, NotAccepted> {
        let Ok(Json::Object(document)) = Json::parse(row.accepted.as_bytes()) else {
            return Err(NotAccepted::Unsigned);
        };
        let verification = verify_document(&document, servers);
        match (verification.signer, verification.trust) {
            (Some(_), Trust::Trusted) => {}
            (Some(signer), _) => return Err(NotAccepted::Signer(signer.to_string())),
            (None, _) => return Err(NotAccepted::Unsigned),
        }
        let this = Self(document);
        let supersedes = row.supersedes.as_ref().map(ToString::to_string);
        let members = [
            ("format", "signature", Some(FORMAT.to_owned())),
            ("job_id", "id", Some(row.job_id.to_string())),
            ("tenant", "tenant", Some(row.tenant.to_string())),
            ("chain", "chain", Some(row.chain.clone())),
            ("supersedes", "older receipt", supersedes),
        ];
        match members.iter().find(|(name, _, stored)| this.text(name) != stored.as_deref()) {
            Some((_, what, _)) => Err(NotAccepted::Other(what)),
            None => Ok(this),
        }
    }

    /// Whether it is the request that was accepted.
    ///
    /// # Errors
    /// [`NotAccepted`] where it is another one.
    pub fn is_request(&self, text: &str) -> Result<(), NotAccepted> {
        let digest = Sha256Digest::of(text.as_bytes()).to_string();
        if self.text("request") == Some(digest.as_str()) { Ok(()) } else { Err(NotAccepted::Other("request")) }
    }

    /// Whether a receipt is about the work that was accepted.
    #[must_use]
    pub fn is_answered_by(&self, receipt: &Receipt) -> bool {
        let Hashes { specification, output, tests } = receipt.hashes();
        let tests = tests.map(|tests| tests.to_string());
        // Receipts that reveal nothing do not name the request.
        let request = receipt.metadata().get("request").and_then(Json::as_str);
        self.text("specification") == Some(specification.to_string().as_str())
            && self.text("output") == Some(output.to_string().as_str())
            && self.text("tests") == tests.as_deref()
            && request.is_none_or(|request| self.text("request") == Some(request))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use proofmark_checks::Format;
    use proofmark_store::JobState;

    use super::*;

    const TEXT: &str = r#"{"output": {"content": "x"}, "verification": {"kind": "schema_check",
        "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;

    fn row(key: &SigningKey) -> StoredJob {
        let request = Request::read(TEXT.as_bytes(), Format::Json, None).unwrap();
        let (id, tenant) = (ReceiptId::from_random_bytes([7; 16]), "a".parse().unwrap());
        let accepting =
            Accepting { id, tenant: &tenant, request: &request, text: TEXT, chain: "main", supersedes: None };
        let accepted = accepting.sign(key).unwrap();
        StoredJob {
            tenant,
            job_id: id,
            request: TEXT.to_owned(),
            checks: 1,
            chain: "main".to_owned(),
            supersedes: None,
            accepted,
            needs: String::new(),
            created_at: 0,
            owner: None,
            attempt: 0,
            cancelling: false,
            state: JobState::Waiting,
        }
    }

    #[test]
    fn a_row_is_what_a_known_server_signed() {
        let key = SigningKey::from_seed([1; 32]);
        let (server, stranger) = (key.signer(), SigningKey::from_seed([2; 32]).signer());
        let row = row(&key);
        let accepted = Accepted::of(&row, &[server]).unwrap();
        assert_eq!(accepted.is_request(TEXT), Ok(()));
        assert_eq!(accepted.is_request(&TEXT.replace("10", "99")), Err(NotAccepted::Other("request")));
        let refused = |row: &StoredJob, servers: &[SignerId]| Accepted::of(row, servers).unwrap_err();
        assert_eq!(refused(&row, &[stranger]), NotAccepted::Signer(server.to_string()));
        let other = |what| NotAccepted::Other(what);
        let id = ReceiptId::from_random_bytes([8; 16]);
        for (row, error) in [
            (StoredJob { accepted: String::new(), ..row.clone() }, NotAccepted::Unsigned),
            (StoredJob { accepted: row.accepted.replace("main", "side"), ..row.clone() }, NotAccepted::Unsigned),
            (StoredJob { job_id: id, ..row.clone() }, other("id")),
            (StoredJob { tenant: "b".parse().unwrap(), ..row.clone() }, other("tenant")),
            (StoredJob { chain: "side".to_owned(), ..row.clone() }, other("chain")),
            (StoredJob { supersedes: Some(id), ..row.clone() }, other("older receipt")),
        ] {
            assert_eq!(refused(&row, &[server]), error);
        }
    }
}
