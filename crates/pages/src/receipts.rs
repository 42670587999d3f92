//! `/ui/receipts`: all receipts, newest first.

use askama::Template;
use proofmark_evidence::ReceiptKind;
use proofmark_receipt::{Json, Object, Receipt, SignerId, Verdict};
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_statement::TIERS;
use proofmark_store::{Cursor, Filter, StoredReceipt};

use super::decisions::day;
use super::frame::{Frame, Here};
use super::html::html;
use super::text::Shown;
use super::visit::Visit;
use super::words::{DAY, When, address, counted, encoded, short_id};

/// How many receipts a page has.
const PAGE: usize = 50;

/// The verdicts, and how they are called here.
const VERDICTS: [(&str, &str); 4] =
    [("pass", "Passed"), ("fail", "Failed"), ("partial", "Passed in part"), ("error", "Without a result")];

#[derive(Template)]
#[template(path = "receipts.html")]
struct ReceiptsPage {
    frame: Frame,
    filters: Filters,
    rows: Vec<ReceiptRow>,
    unreadable: usize,
    next: Option<String>,
}

pub(crate) struct ReceiptRow {
    pub(crate) href: String,
    pub(crate) when: When,
    pub(crate) look: Look,
    pub(crate) title: Shown,
    pub(crate) summary: String,
    pub(crate) chain: Option<(Shown, String)>,
    pub(crate) notes: Vec<&'static str>,
}

/// The class, the picture and the word of a tag.
pub(crate) type Look = (&'static str, &'static str, &'static str);

struct Filters {
    verdict: String,
    tier: String,
    task: Shown,
    chain: Shown,
    signer: Shown,
    since: Shown,
    until: Shown,
}

impl Filters {
    fn of(visit: &Visit<'_>) -> Self {
        let text = |name: &str| visit.context.parameter(name).unwrap_or_default().to_owned();
        Self {
            verdict: text("verdict"),
            tier: text("tier"),
            task: text("task").into(),
            chain: text("chain").into(),
            signer: text("signer").into(),
            since: text("since").into(),
            until: text("until").into(),
        }
    }

    fn filter(&self, visit: &Visit<'_>) -> Result<Filter, Problem> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let parsed = |name: &str, what: &str| {
            Problem::bad("invalid_parameter", format!("invalid `{name}`")).help(format!("write {what}"))
        };
        let verdict = some(&self.verdict).map(|word| word.parse::<Verdict>()).transpose();
        let tier = some(&self.tier).map(|tier| tier.parse::<u8>()).transpose();
        let signer = some(self.signer.raw()).map(|signer| signer.parse::<SignerId>()).transpose();
        Ok(Filter {
            verdict: verdict.map_err(|_| parsed("verdict", "one of the verdicts of the list"))?,
            tier: tier.map_err(|_| parsed("tier", "a number from 0 to 3"))?,
            task_id: some(self.task.raw()),
            chain: some(self.chain.raw()),
            signer: signer.map_err(|_| parsed("signer", "a signer id"))?.map(|signer| signer.to_string()),
            since: day("since", self.since.raw())?,
            // The day that is named is meant as a whole.
            until: day("until", self.until.raw())?.map(|day| day.saturating_add(DAY)),
            limit: PAGE,
            after: visit.context.parsed::<Cursor>("after", "the place at the end of the page before")?,
        })
    }

    fn pairs(&self) -> [(&str, &str); 7] {
        [
            ("verdict", &self.verdict),
            ("tier", &self.tier),
            ("task", self.task.raw()),
            ("chain", self.chain.raw()),
            ("signer", self.signer.raw()),
            ("since", self.since.raw()),
            ("until", self.until.raw()),
        ]
    }

    fn is_any(&self) -> bool {
        self.pairs().iter().any(|(_, value)| !value.is_empty())
    }

    fn verdicts(&self) -> Vec<(&'static str, &'static str, bool)> {
        VERDICTS.iter().map(|(word, name)| (*word, *name, *word == self.verdict)).collect()
    }

    fn tiers(&self) -> Vec<(&'static str, &'static str, bool)> {
        ["0", "1", "2", "3"].iter().zip(TIERS).map(|(number, words)| (*number, words, **number == self.tier)).collect()
    }

    fn address(&self, after: &str) -> String {
        let mut pairs = self.pairs().to_vec();
        pairs.push(("after", after));
        address("/ui/receipts", &pairs)
    }
}

/// `GET /ui/receipts`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&["verdict", "tier", "task", "chain", "signer", "since", "until", "after"])?;
    let filters = Filters::of(visit);
    let found = visit.context.store().list(&filters.filter(visit)?)?;
    let next = found.next.map(|next| filters.address(&next.to_string()));
    let rows = found.receipts.iter().map(ReceiptRow::of).collect();
    let frame = Frame::of(visit, Here::Receipts, "Receipts")?;
    html(&ReceiptsPage { frame, filters, rows, unreadable: found.unreadable, next })
}

impl ReceiptRow {
    pub(crate) fn of(stored: &StoredReceipt) -> Self {
        let notes = [
            (stored.superseded_by.is_some(), "superseded"),
            (stored.spent, "used up"),
            (stored.trust.is_some(), "brought from elsewhere"),
        ];
        let chain = stored.chain.as_ref();
        Self {
            chain: chain.map(|chain| (Shown::line(chain, 80), format!("/ui/chains/{}", encoded(chain)))),
            notes: notes.iter().filter(|(holds, _)| *holds).map(|(_, words)| *words).collect(),
            ..Self::of_receipt(&stored.receipt)
        }
    }

    pub(crate) fn of_receipt(receipt: &Receipt) -> Self {
        Self {
            href: format!("/ui/receipts/{}", receipt.receipt_id()),
            when: When::full(receipt.verified_at().unix_millis()),
            look: look(receipt.verdict()),
            title: title(receipt),
            summary: summary(receipt),
            chain: None,
            notes: Vec::new(),
        }
    }
}

/// The class, the picture and the word of a verdict's tag.
pub(crate) fn look(verdict: Verdict) -> Look {
    match verdict {
        Verdict::Pass => ("pass", "ok", "pass"),
        Verdict::Fail => ("fail", "no", "fail"),
        Verdict::Partial => ("wait", "warn", "partial"),
        Verdict::Error => ("none", "warn", "error"),
    }
}

/// What the receipt is about.
pub(crate) fn title(receipt: &Receipt) -> Shown {
    let task = receipt.task();
    let about = task.and_then(|task| task.description.as_deref().or(task.task_id.as_deref()));
    let id = receipt.receipt_id().to_string();
    match (ReceiptKind::of(receipt), about) {
        (Some(ReceiptKind::Approval), _) => approval(receipt),
        (_, Some(about)) => Shown::line(about, 160),
        (Some(ReceiptKind::StepAcceptance), None) => Shown::line("Attempt at a workflow step", 160),
        (_, None) => Shown::line(&format!("Receipt {}", short_id(&id)), 160),
    }
}

/// As in `ann approved an action as finance-lead`.
fn approval(receipt: &Receipt) -> Shown {
    let approval = receipt.metadata().get("approval").and_then(Json::as_object);
    let text = |object: Option<&Object>, name: &str| object?.get(name)?.as_str().map(str::to_owned);
    let reviewer = approval.and_then(|approval| approval.get("reviewer")?.as_object());
    let who = text(reviewer, "id").unwrap_or_else(|| "A reviewer".to_owned());
    let role = text(approval, "role").map_or_else(String::new, |role| format!(" as {role}"));
    Shown::line(&format!("{who} approved an action{role}"), 160)
}

/// How many checks passed.
pub(crate) fn summary(receipt: &Receipt) -> String {
    let results = receipt.results();
    match results.total {
        _ if ReceiptKind::of(receipt) == Some(ReceiptKind::Approval) => "approval".to_owned(),
        0 => "no checks".to_owned(),
        total => format!("{} of {} passed", super::words::number(results.passed), counted(total, "check")),
    }
}
