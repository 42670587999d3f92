//! Makes a draft short enough to be a receipt that readers accept. The counts and the verdict always stay whole.

use proofmark_receipt::{Detail, Draft, Status};

/// How many details the last step keeps.
const MAX_KEPT: usize = 500;

/// What is given up, the least valuable first.
pub(crate) const STEPS: [fn(&mut Draft); 4] =
    [hide_passing_answers, leave_out_passing, hide_answers, leave_out_most];

fn hide_passing_answers(draft: &mut Draft) {
    draft.results.details.iter_mut().filter(|detail| detail.status == Status::Pass).for_each(hide);
}

fn leave_out_passing(draft: &mut Draft) {
    draft.results.details.retain(|detail| detail.status != Status::Pass);
    count_left_out(draft);
}

fn hide_answers(draft: &mut Draft) {
    draft.results.details.iter_mut().for_each(hide);
}

fn leave_out_most(draft: &mut Draft) {
    draft.results.details.truncate(MAX_KEPT);
    count_left_out(draft);
}

fn hide(detail: &mut Detail) {
    detail.expected = None;
    detail.actual = None;
}

fn count_left_out(draft: &mut Draft) {
    let shown = u64::try_from(draft.results.details.len()).unwrap_or(u64::MAX);
    draft.metadata.insert("details_left_out", draft.results.total.saturating_sub(shown));
}
