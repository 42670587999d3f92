//! How much of the answers fits into one receipt.
//!
//! Readers refuse a receipt past a certain size. A submission must not be able to prevent its receipt by writing too
//! much: what does not fit is cut shorter, or left out.

use proofmark_receipt::json::{Json, MAX_BYTES};
use proofmark_receipt::{Detail, Task};

use crate::render::{MAX_SHOWN_CHARS, cut};

/// Bytes for everything in a receipt but its task and its details.
const RESERVED_BYTES: usize = 64 << 10;

/// A detail without its name, its answers and its message, in bytes.
const DETAIL_BYTES: usize = 64;

/// To how many characters a text is cut, the first that fits.
const CUTS: [usize; 2] = [MAX_SHOWN_CHARS, 64];

/// The bytes of a receipt that are left, and for how many details.
pub(crate) struct DetailBudget {
    left: usize,
    details: usize,
}

impl DetailBudget {
    /// What the task and the names leave; `None` where they do not fit themselves.
    pub(crate) fn beside(task: Option<&Task>, names: Vec<&str>) -> Option<DetailBudget> {
        let task = task.into_iter().flat_map(|task| [&task.task_id, &task.task_type, &task.description]);
        let task: usize = task.flatten().map(|text| written(text)).sum();
        let details = names.len();
        let names: usize = names.into_iter().map(|name| written(name) + DETAIL_BYTES).sum();
        let left = MAX_BYTES.checked_sub(RESERVED_BYTES + task + names)?;
        Some(DetailBudget { left, details })
    }

    /// Fits the texts of the next detail into its share. What one detail leaves goes to the next ones.
    pub(crate) fn fit(&mut self, detail: Detail) -> Detail {
        // Shared anew for each detail, so none gets less than an equal part, whatever those before it wrote.
        let mut share = self.left / self.details.max(1);
        let before = share;
        // The order is the priority: what the first text takes is missing from the share of the next.
        let mut fit = |text: Option<String>, member| text.and_then(|text| fitted(text, member, &mut share));
        let location = fit(detail.location, "location");
        let message = fit(detail.message, "message");
        let difference = fit(detail.difference, "difference");
        let actual = fit(detail.actual, "actual");
        let expected = fit(detail.expected, "expected");
        let input = fit(detail.input, "input");
        let stderr = fit(detail.stderr, "stderr");
        let stdout = fit(detail.stdout, "stdout");
        self.left -= before - share;
        self.details = self.details.saturating_sub(1);
        Detail { location, message, difference, actual, expected, input, stderr, stdout, ..detail }
    }
}

fn fitted(text: String, member: &str, share: &mut usize) -> Option<String> {
    // Cutting computes a digest, which is wasted where the cut text cannot fit either.
    let could_fit = |chars: &usize| text.len().min(*chars) < *share;
    let cuts = CUTS.into_iter().filter(could_fit).collect::<Vec<_>>();
    cuts.into_iter().find_map(|chars| {
        let text = cut(&text, chars);
        // The `?` gives up this cut only; the next one may fit.
        *share = share.checked_sub(member.len() + r#","":"#.len() + written(&text))?;
        Some(text)
    })
}

/// The bytes of a string in JSON.
fn written(text: &str) -> usize {
    // Escapes count: a control character takes six bytes, so the length of the text says too little.
    Json::from(text).to_text().len()
}
