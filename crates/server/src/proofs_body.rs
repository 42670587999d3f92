//! `proofs` of a request: proofs that receipts are in a log.

use proofmark_evidence::MAX_PROOFS;
use proofmark_receipt::Json;
use proofmark_receipt::document::{DocumentError, Field};
use proofmark_verifier::{PresentedProof, ProofError};

/// The member of a request that has them.
const PROOFS: &str = "proofs";

/// Why they cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProofsBodyError {
    #[error("read the request: {0}")]
    Fields(DocumentError),
    #[error(transparent)]
    Proof(#[from] ProofError),
}

impl ProofsBodyError {
    /// A short stable name.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Fields(error) => error.code(),
            Self::Proof(error) => error.code(),
        }
    }

    /// What to do about it.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::Fields(error) => error.help(),
            Self::Proof(error) => Some(error.help().to_owned()),
        }
    }
}

/// Takes the proofs out of a request. They do not count as facts, so the request has the same digest with and without them.
pub(crate) fn take(body: &mut Json) -> Result<Vec<PresentedProof>, ProofsBodyError> {
    let Json::Object(object) = body else { return Ok(Vec::new()) };
    let Some(proofs) = object.remove(PROOFS) else { return Ok(Vec::new()) };
    read(&Field { at: PROOFS.to_owned(), json: &proofs })
}

/// Reads a list of proof files.
pub(crate) fn read(field: &Field<'_>) -> Result<Vec<PresentedProof>, ProofsBodyError> {
    let items = field.items().map_err(ProofsBodyError::Fields)?;
    if items.len() > MAX_PROOFS {
        return Err(ProofError::TooMany.into());
    }
    let proof = |item: &Field<'_>| {
        let text = item.text().map_err(ProofsBodyError::Fields)?;
        Ok(PresentedProof::parse(item.at.clone(), text.as_bytes().to_vec())?)
    };
    items.iter().map(proof).collect()
}

#[cfg(test)]
mod tests {
    use proofmark_receipt::object;

    use super::*;

    #[test]
    fn proofs_are_taken_out_of_the_request_and_read_strictly() {
        let mut body = Json::from(object! { "action": object! { "tool": "t" }, "proofs": Vec::<Json>::new() });
        assert!(take(&mut body).unwrap().is_empty());
        assert_eq!(body.to_text(), r#"{"action":{"tool":"t"}}"#);
        assert!(take(&mut body).unwrap().is_empty(), "there need not be any");
        for (proofs, message) in [
            (Json::from("c2sp.org/tlog-proof@v1\n"), "read the request: `proofs`: "),
            (Json::Array(vec![Json::from(true)]), "read the request: `proofs[0]`: "),
            (Json::Array(vec!["{}".into()]), "read the proof `proofs[0]`: the proof file "),
            (Json::Array(vec!["".into(); MAX_PROOFS + 1]), "read the proofs: there are more than 64"),
        ] {
            let mut body = Json::from(object! { "proofs": proofs });
            let error = take(&mut body).unwrap_err();
            assert!(error.to_string().starts_with(message), "{error}");
            assert!(error.help().is_some() || matches!(error, ProofsBodyError::Fields(_)), "{error}");
        }
    }
}
