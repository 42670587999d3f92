//! How the results of `receipt verify` are printed.

use std::io::Write;

use proofmark_evidence::Capability;
use proofmark_keys::{Checked, KnownSigners};
use proofmark_receipt::document;
use proofmark_receipt::{Json, Object, SignatureStatus, SignerId, Trust, UndecidableCause, Verification};

use super::demands::{self, Unmet};
use super::logged::Proven;
use super::read::Text;
use super::tiers::Tier;
use crate::exit::Exit;
use crate::out;
use crate::paint::{Paint, printable};
use crate::report::{Case, Format, Group, Reporter, Status};
use crate::signed::signed_by;
use crate::source::Source;

/// How verifications are printed.
pub(super) struct Printing<'a> {
    pub(super) format: Format,
    pub(super) paint: Paint,
    pub(super) known: &'a KnownSigners,
    /// Whether the documents are one chain, of which a line each is enough where nothing is wrong.
    pub(super) is_chain: bool,
}

/// A verification as it is printed.
pub(super) enum Shown {
    Text(String),
    Group(Box<Group>),
}

impl Printing<'_> {
    /// A quorum that was counted, or a judgment.
    pub(super) fn of_tier(&self, tier: &Tier) -> Shown {
        if self.format == Format::Human {
            return Shown::Text(tier.shown(self.paint));
        }
        let status = match tier.exit {
            Exit::Yes => Status::Pass,
            Exit::No => Status::Fail,
            Exit::NoAnswer | Exit::Interrupted => Status::Error,
        };
        let cause = tier.code.zip(tier.message.clone());
        let cause = cause.map(|(code, message)| Cause { code, message, help: None });
        Shown::Group(Box::new(group(&tier.label, status, cause, tier.to_json())))
    }

    /// `unmet`: what was demanded of a valid document and does not hold.
    pub(super) fn shown(
        &self,
        document: &Text,
        checked: &Checked,
        unmet: &[Unmet],
        proven: Option<&Proven>,
        said: &[(&'static str, String)],
    ) -> Shown {
        let label = document.label.as_str();
        let Verification { answer, trust, signer, hint } = &checked.verification;
        let help = answer.help().map(|help| help.to_string());
        let cause = answer.code().zip(answer.cause()).map(|(code, message)| Cause { code, message, help });
        if self.format != Format::Human {
            let (status, cause) = match (Exit::from(&checked.verification), cause) {
                (Exit::Yes, cause) => match unmet.first() {
                    Some(unmet) => (Status::Fail, Some(Cause::from(unmet))),
                    None => match proven.map_or(Exit::Yes, Proven::exit) {
                        Exit::Yes => (Status::Pass, cause),
                        Exit::No => (Status::Fail, Some(not_logged())),
                        Exit::NoAnswer | Exit::Interrupted => (Status::Error, Some(not_logged())),
                    },
                },
                (Exit::No, Some(cause)) => (Status::Fail, Some(cause)),
                (Exit::No, None) => (Status::Fail, Some(untrusted(signer.as_ref()))),
                (Exit::NoAnswer | Exit::Interrupted, cause) => (Status::Error, cause),
            };
            let mut line = checked.to_json(label);
            if let (Json::Object(line), false) = (&mut line, unmet.is_empty()) {
                line.insert("unmet", unmet.iter().map(Unmet::to_json).collect::<Vec<_>>());
            }
            if let (Json::Object(line), false) = (&mut line, said.is_empty()) {
                let mut of_export = Object::new();
                said.iter().for_each(|(name, value)| drop(of_export.insert(name.replace(' ', "_"), value.as_str())));
                line.insert("export", of_export);
            }
            if let (Json::Object(line), Some(proven)) = (&mut line, proven) {
                proven.add_to(line);
            }
            return Shown::Group(Box::new(group(label, status, cause, line)));
        }
        let is_plain = unmet.is_empty() && proven.is_none();
        if self.is_chain && *answer == SignatureStatus::Valid && *trust == Trust::Trusted && is_plain {
            let claims = checked.claims.as_ref().map(|claims| demands::claimed(claims, self.paint));
            let first = claims.as_deref().and_then(|claims| claims.lines().next()).unwrap_or_default();
            return Shown::Text(format!("{}{first}\n", result(self.paint, answer.as_str(), label, None).trim_end()));
        }
        let mut text = result(self.paint, answer.as_str(), label, cause);
        if let SignatureStatus::Undecidable(UndecidableCause::Malformed(error)) = answer
            && let Some(caret) = in_file(document).refusal("read the receipt", error).caret()
        {
            text.push_str(&format!("{caret}\n"));
        }
        if let Some(claims) = &checked.claims {
            text.push_str(&demands::claimed(claims, self.paint));
        }
        for Unmet { code, message } in unmet {
            text.push_str(&format!("  {}: {}\n", self.paint.bad(code), printable(message)));
        }
        for (name, value) in said {
            text.push_str(&format!("  {name}: {}\n", printable(value)));
        }
        if let Some(proven) = proven {
            text.push_str(&proven.shown(self.paint));
        }
        if let Some(profile) = hint {
            text.push_str(&format!("  help: its issuer hashes another canonical form; use `--profile {profile}`\n"));
        }
        if let Some(signer) = signer {
            text.push_str(&format!("  {}\n", printable(&signed_by(self.known, signer, *trust))));
            if *trust == Trust::Unknown {
                let kind = checked.capability().map_or("KINDS", Capability::as_str);
                let command = format!("proofmark trust add NAME {signer} --for {kind}");
                text.push_str(&format!("  help: if you know whose key it is, run `{command}`\n"));
            }
        }
        Shown::Text(text)
    }
}

impl Shown {
    pub(super) fn print(self, reporter: &mut Reporter) -> anyhow::Result<()> {
        match self {
            Shown::Text(text) => Ok(out::stdout().write_all(text.as_bytes())?),
            Shown::Group(group) => reporter.group(*group),
        }
    }
}

pub(super) fn in_file(document: &Text) -> Source<'_> {
    Source { label: &document.label, line: 1, text: &document.bytes, format: document::Format::Json }
}

/// Why a valid document does not count.
fn untrusted(signer: Option<&SignerId>) -> Cause {
    let signer = signer.map_or_else(String::new, |signer| format!(": {signer}"));
    let help = Some("name the signer with `--trust` if you trust it".to_owned());
    Cause { code: "untrusted", message: format!("the signature is valid, and its signer is not trusted{signer}"), help }
}

/// Why a valid document does not count that is not proven to be in a log.
fn not_logged() -> Cause {
    Cause { code: "not_proven", message: "the proof of the log does not hold".to_owned(), help: None }
}

/// A document as a group with one case.
pub(super) fn group(label: &str, status: Status, cause: Option<Cause>, line: Json) -> Group {
    let (code, message, help) = match cause {
        Some(Cause { code, message, help }) => (Some(code.to_owned()), Some(message), help),
        None => (None, None, None),
    };
    let case = Case { code, message, help, ..Case::new(label, status) };
    Group { json: vec![line.to_text()], ..Group::of_cases(label, vec![case]) }
}

/// Why a receipt or a chain is not valid.
pub(super) struct Cause {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl From<&Unmet> for Cause {
    fn from(unmet: &Unmet) -> Self {
        Self { code: unmet.code, message: unmet.message.clone(), help: None }
    }
}

/// A result and its cause, in lines of text.
pub(super) fn result(paint: Paint, answer: &str, label: &str, cause: Option<Cause>) -> String {
    let painted = if answer == SignatureStatus::Valid.as_str() { paint.good(answer) } else { paint.bad(answer) };
    let mut text = format!("{painted} {}\n", printable(label));
    if let Some(Cause { code, message, help }) = cause {
        text.push_str(&format!("  {code}: {}\n", printable(&message)));
        if let Some(help) = help {
            text.push_str(&format!("  help: {}\n", printable(&help)));
        }
    }
    text
}
