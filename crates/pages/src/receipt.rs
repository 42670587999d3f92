//! `/ui/receipts/{id}`: a verdict with its checks, those that did not pass first, and whether the receipt is genuine.

mod again;
mod check;
mod grant;
mod logged;

use askama::Template;
use axum::http::header;
use proofmark_evidence::ReceiptKind;
use proofmark_receipt::{Receipt, ReceiptId, SignatureStatus, SignerId};
use proofmark_server::problem::Problem;
use proofmark_server::reply::{JSON, Reply};
use proofmark_statement::{TIERS, of_receipt};
use proofmark_store::StoredReceipt;
use proofmark_verifier::presented::spend_of_stored;

use super::frame::{Frame, Here};
use super::html::html;
use super::receipts::{Look, look, title};
use super::stated::Stated;
use super::text::{Coded, Shown};
use super::visit::Visit;
use super::words::{When, encoded, number, short_digest, short_id};

use again::{Again, Repeats};
pub(crate) use again::{recheck, request};
use check::{CheckRow, Meter, checks};
use grant::Granted;
pub(crate) use grant::revoke;
use logged::LogLine;

/// How many links of a chain are shown on either side.
const NEIGHBOURS: u64 = 2;

#[derive(Template)]
#[template(path = "receipt.html")]
struct ReceiptPage {
    frame: Frame,
    id: String,
    look: Look,
    heading: Shown,
    facts: Vec<(&'static str, Shown)>,
    when: When,
    meter: Option<Meter>,
    failed: Vec<CheckRow>,
    passed: Vec<CheckRow>,
    total: String,
    /// How many checks the receipt counts and does not list.
    unlisted: u64,
    stated: Vec<Stated>,
    notices: Vec<Notice>,
    genuine: Genuine,
    granted: Option<Granted>,
    again: Option<Again>,
    repeats: Option<Repeats>,
    /// The digests of files that it may be about.
    about: Vec<(&'static str, String)>,
    chain: Option<Neighbours>,
    others: usize,
}

/// Something about the receipt that its document does not say.
struct Notice {
    class: &'static str,
    icon: &'static str,
    words: Shown,
    href: Option<String>,
}

struct Genuine {
    answer: SignatureStatus,
    cause: Coded,
    /// The class, the picture and the words for the signer.
    signer: (&'static str, &'static str, &'static str),
    signer_id: Shown,
    short_signer: String,
    /// What the browser is to trust.
    trusted: String,
    link: Option<String>,
    logged: Option<LogLine>,
    /// The document, byte for byte.
    document: String,
    shown: Shown,
}

/// The links of the chain before and behind the receipt.
struct Neighbours {
    name: Shown,
    href: String,
    links: Vec<Neighbour>,
    has_more: bool,
}

struct Neighbour {
    position: String,
    href: String,
    short_id: String,
    look: Look,
    is_this: bool,
}

fn no_receipt() -> Problem {
    Problem::not_found("receipt").help("it does not exist, or belongs to another tenant")
}

fn stored(visit: &Visit<'_>) -> Result<StoredReceipt, Problem> {
    let id = visit.context.variable("id").parse::<ReceiptId>().map_err(|_| no_receipt())?;
    visit.context.store().receipt(&id)?.ok_or_else(no_receipt)
}

/// `GET /ui/receipts/{id}/json`: the document, to save.
pub(crate) fn json(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[])?;
    let receipt = stored(visit)?.receipt;
    let name = format!("attachment; filename=\"{}.json\"", receipt.receipt_id());
    Ok(Reply::text(JSON, receipt.to_text()).header(header::CONTENT_DISPOSITION, name))
}

/// `GET /ui/receipts/{id}`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[])?;
    let stored = stored(visit)?;
    let receipt = &stored.receipt;
    let results = receipt.results();
    // The one check of an approval says only that a person gave it.
    let (failed, passed) = if is_approval(receipt) { (Vec::new(), Vec::new()) } else { checks(receipt) };
    let listed = (failed.len() + passed.len()) as u64;
    let page = ReceiptPage {
        frame: Frame::of(visit, Here::Receipts, format!("{} · {}", title(receipt).plain(), receipt.verdict()))?,
        id: receipt.receipt_id().to_string(),
        look: look(receipt.verdict()),
        heading: heading(receipt),
        facts: facts(receipt),
        when: When::full(receipt.verified_at().unix_millis()),
        meter: Meter::of(results).filter(|_| !is_approval(receipt)),
        total: number(results.total),
        unlisted: results.total.saturating_sub(listed),
        failed,
        passed,
        stated: Stated::all(of_receipt(receipt)),
        notices: notices(visit, &stored)?,
        genuine: Genuine::of(visit, receipt)?,
        granted: Granted::of(visit, &stored)?,
        again: Again::of(visit, &stored)?,
        repeats: Repeats::of(visit, receipt)?,
        about: if is_approval(receipt) { Vec::new() } else { about(receipt) },
        chain: neighbours(visit, &stored)?,
        others: stored.others,
    };
    html(&page)
}

/// As in `6 of 8 checks passed: Sum invoice lines by currency`.
fn heading(receipt: &Receipt) -> Shown {
    let (title, results) = (title(receipt), receipt.results());
    match results.total {
        _ if is_approval(receipt) => title,
        // "All 0 checks passed" would sound like a result.
        0 => title,
        total if total == results.passed => {
            let all =
                if total == 1 { "The check passed".to_owned() } else { format!("All {} checks passed", number(total)) };
            format!("{all}: {}", title.raw()).into()
        }
        total => format!("{} of {} checks passed: {}", number(results.passed), number(total), title.raw()).into(),
    }
}

fn is_approval(receipt: &Receipt) -> bool {
    ReceiptKind::of(receipt) == Some(ReceiptKind::Approval)
}

fn facts(receipt: &Receipt) -> Vec<(&'static str, Shown)> {
    let task = receipt.task();
    let tier = TIERS.get(usize::from(receipt.tier())).copied().unwrap_or("an unknown tier");
    let all = [
        ("task", task.and_then(|task| task.task_id.as_deref())),
        ("of type", task.and_then(|task| task.task_type.as_deref())),
    ];
    let named = all.into_iter().filter_map(|(name, value)| Some((name, Shown::line(value?, 120))));
    let tier = ("tier", Shown::line(&format!("{}: {tier}", receipt.tier()), 120));
    if is_approval(receipt) { Vec::new() } else { named.chain([tier]).collect() }
}

fn notices(visit: &Visit<'_>, stored: &StoredReceipt) -> Result<Vec<Notice>, Problem> {
    let mut notices = Vec::new();
    if let Some(by) = stored.superseded_by {
        notices.push(Notice {
            class: "wait",
            icon: "clock",
            words: "The same request was run again: another receipt has taken the place of this one.".into(),
            href: Some(format!("/ui/receipts/{by}")),
        });
    }
    // What a passkey signed is spent as that, and not as the receipt around it.
    if stored.spent || visit.context.store().is_spent(&spend_of_stored(&stored.receipt))? {
        let by = visit.context.store().spent_by(&spend_of_stored(&stored.receipt))?;
        // What has used it up may be a name that a caller chose.
        let href = by.as_deref().filter(|by| by.parse::<ReceiptId>().is_ok());
        let revoked = by.as_deref().and_then(|by| by.strip_prefix("revocation "));
        let words = match by.as_deref() {
            Some(_) if revoked.is_some() => "Ended by a reviewer.".to_owned(),
            Some(_) if href.is_some() => "Used up by a decision.".to_owned(),
            Some(by) => format!("Used up by {by}."),
            None => "Used up.".to_owned(),
        };
        let revoked = revoked.and_then(|id| id.parse::<ReceiptId>().ok()).map(|id| format!("/ui/receipts/{id}"));
        let href = revoked.or(href.map(|by| format!("/ui/decisions/{by}")));
        notices.push(Notice { class: "plain", icon: "ring", words: Shown::line(&words, 200), href });
    }
    if let Some(trust) = stored.trust {
        let words = match trust.as_str() {
            "trusted" => "Brought here from elsewhere; its signer was trusted then.",
            _ => "Brought here from elsewhere; its signer was not trusted then.",
        };
        notices.push(Notice { class: "plain", icon: "down", words: words.into(), href: None });
    }
    Ok(notices)
}

/// What of the receipt may be a file of the reader's.
fn about(receipt: &Receipt) -> Vec<(&'static str, String)> {
    let hashes = receipt.hashes();
    let tests = hashes.tests.map(|tests| ("the tests", tests.to_string()));
    let all =
        [("what was verified", hashes.output.to_string()), ("what was asked for", hashes.specification.to_string())];
    all.into_iter().chain(tests).collect()
}

impl Genuine {
    fn of(visit: &Visit<'_>, receipt: &Receipt) -> Result<Self, Problem> {
        let decider = visit.context.decider;
        // The browser checks the same bytes again.
        let document = receipt.to_text();
        let verification = decider.check(document.as_bytes()).verification;
        let own = decider.key().signer();
        let signer = match verification.signer {
            Some(signer) if signer == own => ("ok", "ok", "Signed by this server"),
            Some(_) if verification.trust.as_str() != "trusted" => {
                // Anyone can make a key and sign with it: a valid signature alone says nothing. Nor does a key that is trusted for
                // something else.
                ("bad", "no", "Signed by a signer who is not trusted here")
            }
            Some(signer) if visit.context.services.worker_keys().iter().any(|worker| worker.signer == signer) => {
                ("ok", "ok", "Signed by a worker of this server")
            }
            Some(_) => ("ok", "ok", "Signed by a signer who is trusted here"),
            None => ("open", "ring", "The signer is not known"),
        };
        let position = receipt.metadata().get("chain_position").and_then(|position| position.as_number()?.as_u64());
        let trusted = decider.trusted().signers().of_receipt(receipt);
        let trusted: Vec<_> = trusted.iter().map(SignerId::to_string).collect();
        Ok(Self {
            logged: LogLine::of(visit, receipt)?,
            cause: Shown::with_code(&verification.answer.cause().unwrap_or_default()),
            answer: verification.answer,
            signer,
            signer_id: verification.signer.map(|signer| signer.to_string()).unwrap_or_default().into(),
            short_signer: verification.signer.map(|signer| short_digest(&signer.fingerprint())).unwrap_or_default(),
            trusted: trusted.join(" "),
            link: position.map(|position| match position {
                0 => "First link of its chain".to_owned(),
                position => format!("Follows link {} of its chain", number(position - 1)),
            }),
            shown: document.as_str().into(),
            document,
        })
    }

    fn is_valid(&self) -> bool {
        self.answer == SignatureStatus::Valid
    }
}

fn neighbours(visit: &Visit<'_>, stored: &StoredReceipt) -> Result<Option<Neighbours>, Problem> {
    let position = stored.receipt.metadata().get("chain_position").and_then(|place| place.as_number()?.as_u64());
    let (Some(chain), Some(position)) = (&stored.chain, position) else { return Ok(None) };
    let from = position.saturating_sub(NEIGHBOURS);
    let limit = usize::try_from(position - from + NEIGHBOURS + 2).unwrap_or(usize::MAX);
    let found = visit.context.store().chain_from(chain, from, limit)?;
    // One more than is shown was asked for.
    let has_more = found.len() == limit;
    let links = found.iter().zip(from..).take(limit - 1).map(|(receipt, at)| Neighbour {
        position: number(at),
        href: format!("/ui/receipts/{}", receipt.receipt_id()),
        short_id: short_id(&receipt.receipt_id().to_string()).to_owned(),
        look: look(receipt.verdict()),
        is_this: receipt.receipt_id() == stored.receipt.receipt_id(),
    });
    Ok(Some(Neighbours {
        name: Shown::line(chain, 80),
        href: format!("/ui/chains/{}", encoded(chain)),
        links: links.collect(),
        has_more,
    }))
}
