//! Signed documents as pages for people.

use std::io::{self, Write};

use proofmark_boundary::DecisionReceipt;
use proofmark_evidence::ReceiptKind;
use proofmark_keys::KnownSigners;
use proofmark_receipt::{ChainHead, Json, Receipt, SignatureStatus, Verification};
use proofmark_statement::{Kind, Section, Statement, of_decision, of_head, of_receipt};

use crate::decision_page;
use crate::paint::{Paint, printable, printable_lines};
use crate::report::{self, Extent, Human, Places, Style, count};
use crate::signed::signer_words;

/// Writes pages to standard output.
pub(crate) struct Page<'a> {
    pub(crate) paint: Paint,
    /// Whom the user knows by name.
    pub(crate) known: &'a KnownSigners,
}

impl Page<'_> {
    pub(crate) fn receipt(
        &self,
        out: &mut impl Write,
        label: &str,
        receipt: &Receipt,
        checked: &Verification,
    ) -> io::Result<()> {
        let group = report::of_receipt(label, receipt, &Places::default());
        let kind = match ReceiptKind::of(receipt) {
            Some(ReceiptKind::Verification) => "verification",
            Some(ReceiptKind::StepAcceptance) => "acceptance of a workflow step",
            Some(ReceiptKind::Approval) => "approval of an action",
            Some(ReceiptKind::Quorum) => "verdict of several verifiers",
            Some(ReceiptKind::Judgment) => "judgment of a person",
            None => "receipt of an unknown kind",
        };
        let summary = group.summary.clone().unwrap_or_default();
        writeln!(out, "{} {kind}: {}", self.paint.verdict(receipt.verdict()), printable(&summary))?;
        self.signature(out, checked)?;
        sections(out, &of_receipt(receipt))?;
        if group.failures().next().is_some() {
            writeln!(out, "checks that did not pass")?;
        }
        Human::new(Style::Verdicts).with_extent(Extent::WHOLE).failures(out, &group)
    }

    pub(crate) fn decision(
        &self,
        out: &mut impl Write,
        receipt: &DecisionReceipt,
        checked: &Verification,
    ) -> io::Result<()> {
        decision_page::write(out, receipt, None)?;
        self.signature(out, checked)?;
        sections(out, &of_decision(receipt))
    }

    pub(crate) fn head(&self, out: &mut impl Write, head: &ChainHead, checked: &Verification) -> io::Result<()> {
        let length = usize::try_from(head.length()).unwrap_or(usize::MAX);
        let chain = printable(head.document().get("chain").and_then(Json::as_str).unwrap_or_default());
        writeln!(out, "head of the chain `{chain}`: {}", count(length, "receipt"))?;
        self.signature(out, checked)?;
        sections(out, &of_head(head))
    }

    /// Who signed the document, and whether that is so.
    fn signature(&self, out: &mut impl Write, checked: &Verification) -> io::Result<()> {
        let Verification { answer, trust, signer, .. } = checked;
        match (answer, signer) {
            (SignatureStatus::Valid, Some(signer)) => {
                let who = printable(&signer_words(self.known, signer, *trust));
                writeln!(out, "  {:<16} {who}; the signature is {}", "signed by", self.paint.good("valid"))?;
                // Where the line above has only a name.
                let id = signer.to_string();
                field(out, "signer id", (!who.contains(&id)).then_some(id.as_str()))
            }
            (answer, _) => {
                let cause = answer.cause().unwrap_or_default();
                writeln!(out, "  {:<16} {}: {}", "signature", self.paint.bad(answer.as_str()), printable(&cause))
            }
        }
    }
}

/// What a document says, each statement on a line of its own.
pub(crate) fn sections(out: &mut impl Write, sections: &[Section]) -> io::Result<()> {
    for Section { heading, statements } in sections {
        if let Some(heading) = heading {
            writeln!(out, "{heading}")?;
        }
        for Statement { name, value, kind } in statements {
            match name {
                // The lines of such a value cannot look like another statement.
                Some(name) if *kind == Kind::Legible => {
                    let lines: Vec<String> = printable_lines(value).collect();
                    writeln!(out, "  {:<16} {}", printable(name), lines.join(&format!("\n{:19}", "")))?;
                }
                Some(name) => field(out, name, Some(value))?,
                None => printable_lines(value).try_for_each(|line| writeln!(out, "  {line}"))?,
            }
        }
    }
    Ok(())
}

fn field(out: &mut impl Write, name: &str, value: Option<&str>) -> io::Result<()> {
    match value {
        Some(value) => writeln!(out, "  {:<16} {}", printable(name), printable(value)),
        None => Ok(()),
    }
}
