//! A decision as people read it: the outcome and why, the rules, what would change it, and what to do next.

use std::io::{self, Write};

use proofmark_boundary::{ActionPolicy, DecisionReceipt, Disposition};
use proofmark_evidence::Approval;
use proofmark_receipt::document::counted;

use crate::paint::{Paint, printable};

/// How many digits of an id the next command has: enough to find it in any store that one machine fills.
const SHORT_ID: usize = 8;

/// The first digits of an id, which find it.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// Writes the page. With the policy, rules are named by the ids of their boundaries.
pub(crate) fn write(out: &mut impl Write, receipt: &DecisionReceipt, policy: Option<&ActionPolicy>) -> io::Result<()> {
    heading(out, receipt)?;
    let name = |place: &str| policy.map_or_else(|| place.to_owned(), |policy| policy.rule_name(place));
    let main = receipt.main_reason();
    for reason in receipt.reasons() {
        writeln!(
            out,
            "  {} {}: {}",
            reason.standing().as_str(),
            printable(&name(reason.rule)),
            printable(reason.code)
        )?;
        // The heading has said the message of the main reason.
        let message = (Some(reason) != main).then_some(reason.message);
        for words in [message, reason.detail].into_iter().flatten() {
            writeln!(out, "      {}", printable(words))?;
        }
    }
    for rule in receipt.rules_met() {
        let by = if rule.by.is_empty() { String::new() } else { format!(" by {}", rule.by.join(" and by ")) };
        writeln!(out, "  met {}{}", printable(&name(rule.rule)), printable(&by))?;
    }
    let changes = receipt.changes();
    if !changes.is_empty() {
        writeln!(out, "  It would be allowed if:")?;
        changes.iter().try_for_each(|change| writeln!(out, "    {}", printable(change)))?;
    }
    let id = receipt.decision_id().to_string();
    writeln!(out, "  {}", Paint::for_stdout().dim(&format!("decision {id}")))?;
    let short = short_id(&id);
    let is_for_people = matches!(receipt.disposition(), Disposition::HumanReview | Disposition::TerminalBlock);
    if receipt.asks_approval_only() || (is_for_people && receipt.asks_approval()) {
        let roles = Approval::roles_asked(receipt.document());
        let role = if roles.len() > 1 { format!(" --role {}", roles.join("|")) } else { String::new() };
        writeln!(out, "  next: proofmark decision approve {short} --key KEY --note \"why\"{}", printable(&role))?;
    }
    Ok(())
}

/// The outcome, once, and the one sentence that says most about why.
fn heading(out: &mut impl Write, receipt: &DecisionReceipt) -> io::Result<()> {
    let (paint, disposition) = (Paint::for_stdout(), receipt.disposition());
    let outcome = disposition.outcome().to_string();
    let painted = if disposition.allows() { paint.good(&outcome) } else { paint.bad(&outcome) };
    let mode = if disposition.allows() { String::new() } else { format!(" ({})", disposition.mode()) };
    let shadow = receipt.shadowed().map_or_else(String::new, |shadowed| {
        format!("shadow: would have been {} ({}). ", shadowed.outcome(), shadowed.mode())
    });
    let why = match receipt.main_reason() {
        Some(reason) => reason.message.to_owned(),
        None => "Every rule for this action is met.".to_owned(),
    };
    let more = match receipt.reasons().len() {
        0 | 1 => String::new(),
        number => format!(" (1 of {})", counted(number as u64, "reason")),
    };
    writeln!(out, "{painted}{mode}: {shadow}{}{more}", printable(&why))
}
