//! What `receipt verify` demands of a valid document, and what such a document claims.

use std::path::Path;

use clap::Args;
use proofmark_checks::MAX_REQUEST_BYTES;
use proofmark_evidence::{Comparison, ReceiptKind, suite_digest};
use proofmark_keys::{Checked, Claims};
use proofmark_receipt::{Json, Sha256Digest, SignatureStatus, Verdict, object};

use crate::document;
use crate::input;
use crate::paint::Paint;

/// What every document has to claim, beside being valid.
#[derive(Args)]
pub(super) struct Demands {
    /// Demand this verdict of every receipt: pass, fail, partial or error
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    verdict: Option<Verdict>,
    /// Demand this kind: verification, step_acceptance, approval, quorum or decision
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<&'static str>,
    /// Demand this suite: its file, or its digest as `verify --suite-digest` prints it
    #[arg(long, value_name = "FILE|DIGEST")]
    suite: Option<String>,
    /// Demand that the receipt is about this output: its file, or its digest (`hashes.output`)
    #[arg(long, value_name = "FILE|DIGEST")]
    output: Option<String>,
}

/// [`Demands`] with the digests of files.
pub(super) struct Demanded {
    verdict: Option<Verdict>,
    kind: Option<&'static str>,
    suite: Option<Sha256Digest>,
    output: Option<Sha256Digest>,
}

/// A demand that a valid document does not meet.
#[derive(Clone)]
pub(super) struct Unmet {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Demands {
    /// Reads the files.
    pub(super) fn read(&self) -> anyhow::Result<Demanded> {
        let suite = |text: &String| match text.parse() {
            Ok(digest) => Ok(digest),
            Err(_) => document::suite(Path::new(text)).map(|suite| suite_digest(&suite.specification, &suite.tests)),
        };
        let output = |text: &String| match text.parse() {
            Ok(digest) => Ok(digest),
            Err(_) => {
                let bytes = input::read_limited(Path::new(text), MAX_REQUEST_BYTES as u64)?;
                anyhow::Ok(Sha256Digest::of(&bytes))
            }
        };
        Ok(Demanded {
            verdict: self.verdict,
            kind: self.kind,
            suite: self.suite.as_ref().map(suite).transpose()?,
            output: self.output.as_ref().map(output).transpose()?,
        })
    }
}

impl Demanded {
    /// What does not hold of a document. One that is not valid has a cause of its own.
    pub(super) fn unmet(&self, checked: &Checked) -> Vec<Unmet> {
        if checked.verification.answer != SignatureStatus::Valid {
            return Vec::new();
        }
        let receipt = match &checked.claims {
            Some(Claims::Receipt(receipt)) => Some(receipt),
            // An entry of a session has neither verdict nor output, so it meets no demand of one.
            Some(Claims::Decision(_)) | None => None,
        };
        let kind = checked.claims.as_ref().map_or(checked.kind, Claims::kind);
        let digest =
            |digest: Option<Sha256Digest>| digest.map_or_else(|| "none".to_owned(), |digest| digest.to_string());
        let demands = [
            ("other_kind", "kind", self.kind.map(str::to_owned), kind.to_owned()),
            (
                "other_verdict",
                "verdict",
                self.verdict.map(|verdict| verdict.to_string()),
                receipt.map_or_else(|| "none".to_owned(), |receipt| receipt.verdict.to_string()),
            ),
            (
                "other_suite",
                "suite",
                self.suite.map(|suite| suite.to_string()),
                digest(receipt.and_then(|receipt| receipt.suite)),
            ),
            (
                "other_output",
                "output",
                self.output.map(|output| output.to_string()),
                digest(receipt.map(|receipt| receipt.output)),
            ),
        ];
        let unmet = demands.into_iter().filter_map(|(code, what, demanded, found)| {
            let demanded = demanded.filter(|demanded| *demanded != found)?;
            Some(Unmet { code, message: format!("the {what} is {found}, demanded is {demanded}") })
        });
        unmet.collect()
    }
}

impl Unmet {
    pub(super) fn to_json(&self) -> Json {
        object! { "code": self.code, "message": self.message.as_str() }.into()
    }
}

/// What a valid document claims, in lines for people.
pub(super) fn claimed(claims: &Claims, paint: Paint) -> String {
    match claims {
        Claims::Receipt(claims) => {
            let kind = claims.kind.map_or("receipt of another kind", ReceiptKind::as_str);
            let verdict = paint.verdict(claims.verdict);
            let mut text = format!("  {kind}: {verdict}, {} of {} checks passed\n", claims.passed, claims.total);
            if claims.comparison == Some(Comparison::InProcess) && claims.kind == Some(ReceiptKind::Verification) {
                text.push_str(
                    "  decided by the submission's process, at least one check, or it does not say by whom\n",
                );
            }
            if let Some(suite) = claims.suite {
                text.push_str(&format!("  suite {suite}\n"));
            }
            text.push_str(&format!("  about the output {}\n", claims.output));
            text
        }
        Claims::Decision(disposition) => format!("  decision: {}\n", disposition.outcome()),
    }
}

fn verdict(word: &str) -> Result<Verdict, String> {
    word.parse().map_err(|_| "expected pass, fail, partial or error".to_owned())
}

fn kind(word: &str) -> Result<&'static str, String> {
    if word == "decision" {
        return Ok("decision");
    }
    let kind = ReceiptKind::from_word(word).map(ReceiptKind::as_str);
    kind.ok_or_else(|| "expected verification, step_acceptance, approval, quorum or decision".to_owned())
}
