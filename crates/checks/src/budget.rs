//! How much of a check's texts a receipt carries.
//!
//! A receipt that no reader would take says nothing. So no submission may bring that about by answering or by writing too
//! much: what does not fit is cut shorter, or left out.

use proofmark_receipt::json::{Json, MAX_BYTES};
use proofmark_receipt::{Detail, Status, Task};

use crate::difference::{MAX_DIFFERENCE_CHARS, shortened};
use crate::render::{MAX_SHOWN_CHARS, excerpt};

/// Bytes for everything in a receipt but its task and its details.
const RESERVED_BYTES: usize = 64 << 10;

/// A detail without its name, its answers and its message, in bytes.
const DETAIL_BYTES: usize = 72;

/// To how many characters a text is cut, the first that fits.
const CUTS: [usize; 2] = [MAX_SHOWN_CHARS, 64];

/// The same of a difference. The last leaves little more than its place.
const DIFFERENCE_CUTS: [usize; 3] = [MAX_DIFFERENCE_CHARS, 400, 100];

/// What the details that did not pass may take beyond their share: the room that is set aside for the first of them, one in so
/// many parts, and the most of it for one detail, in bytes.
const EXTRA_PARTS: usize = 4;
const MAX_EXTRA_BYTES: usize = 12 << 10;

/// The bytes of a receipt that are left, and for how many details.
pub(crate) struct DetailBudget {
    left: usize,
    details: usize,
    /// What is set aside for the first details that did not pass, since they are the first that people read.
    extra: usize,
}

/// The byte of a check's answers around which they are cut.
#[derive(Clone, Copy, Default)]
pub(crate) struct Focus {
    pub(crate) expected: usize,
    pub(crate) actual: usize,
}

impl DetailBudget {
    /// What the task and the names leave; `None` where they do not fit themselves.
    pub(crate) fn beside(task: Option<&Task>, names: Vec<&str>) -> Option<DetailBudget> {
        let task = task.into_iter().flat_map(|task| [&task.task_id, &task.task_type, &task.description]);
        let task: usize = task.flatten().map(|text| written(text)).sum();
        let details = names.len();
        let names: usize = names.into_iter().map(|name| written(name) + DETAIL_BYTES).sum();
        let left = MAX_BYTES.checked_sub(RESERVED_BYTES + task + names)?;
        let extra = left / EXTRA_PARTS;
        Some(DetailBudget { left: left - extra, details, extra })
    }

    /// Fits the texts of the next detail into its share. What one detail leaves goes to the next ones.
    pub(crate) fn fit(&mut self, detail: Detail, focus: Focus) -> Detail {
        // The rest is shared anew for each detail, so none gets less than an equal part, whatever those before it wrote.
        let equal_part = self.left / self.details.max(1);
        let extra = if detail.status == Status::Pass { 0 } else { self.extra.min(MAX_EXTRA_BYTES) };
        let mut share = Share(equal_part + extra);
        // The order is the priority: what the first text takes is missing from the share of the next.
        let message = share.take("message", detail.message, CUTS, |text, chars| Some(excerpt(text, 0, chars)));
        let difference = share.take("difference", detail.difference, DIFFERENCE_CUTS, shortened);
        let actual = share.take("actual", detail.actual, CUTS, |text, chars| Some(excerpt(text, focus.actual, chars)));
        let expected =
            share.take("expected", detail.expected, CUTS, |text, chars| Some(excerpt(text, focus.expected, chars)));
        let input = share.take("input", detail.input, CUTS, |text, chars| Some(excerpt(text, 0, chars)));
        let location = share.take("location", detail.location, [MAX_SHOWN_CHARS], whole);
        let stderr = share.take("stderr", detail.stderr, [usize::MAX], whole);
        let stdout = share.take("stdout", detail.stdout, [usize::MAX], whole);
        let taken = equal_part + extra - share.0;
        self.left -= taken.min(equal_part);
        self.extra -= taken.saturating_sub(equal_part);
        self.details = self.details.saturating_sub(1);
        Detail { message, difference, actual, expected, input, location, stdout, stderr, ..detail }
    }
}

fn whole(text: &str, chars: usize) -> Option<String> {
    (text.len() <= chars).then(|| text.to_owned())
}

/// The bytes that one detail may still take.
struct Share(usize);

impl Share {
    /// Cuts the text of a member to the first of these numbers of characters that fits.
    fn take<const N: usize>(
        &mut self,
        member: &str,
        text: Option<String>,
        cuts: [usize; N],
        cut: impl Fn(&str, usize) -> Option<String>,
    ) -> Option<String> {
        let text = text?;
        // Cutting computes a digest, which is wasted where the cut text cannot fit either.
        let cuts = cuts.into_iter().filter(|chars| text.len().min(*chars) < self.0).collect::<Vec<_>>();
        cuts.into_iter().find_map(|chars| {
            let text = cut(&text, chars)?;
            // The `?` gives up this cut only; the next one may fit.
            self.0 = self.0.checked_sub(member.len() + r#","":"#.len() + written(&text))?;
            Some(text)
        })
    }
}

/// The bytes of a string in JSON.
fn written(text: &str) -> usize {
    // Escapes count: a control character takes six bytes, so the length of the text says too little.
    Json::from(text).to_text().len()
}
