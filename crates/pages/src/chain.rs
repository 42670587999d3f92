//! `/ui/chains`: the chains, and the links of one with whether each holds. The browser checks a whole chain itself, from the
//! documents.

use askama::Template;
use axum::http::header;
use proofmark_receipt::{Json, Receipt, SignerId};
use proofmark_server::problem::Problem;
use proofmark_server::reply::{JSON, Reply};
use proofmark_statement::of_head;
use proofmark_verifier::{chain_head, now};

use super::frame::{Frame, Here};
use super::html::html;
use super::receipts::{ReceiptRow, look};
use super::stated::Stated;
use super::text::Shown;
use super::visit::Visit;
use super::words::{When, counted, encoded, number};

/// How many links a page has.
const PAGE: usize = 100;
/// How many documents a browser gets at a time; the store gives fewer where they are long.
const DOCUMENTS: usize = 500;
/// The longest chain that a browser checks without being asked to.
const MAX_UNASKED: u64 = 10_000;
/// Documents, one on each line.
const JSON_LINES: &str = "application/jsonl";
/// How many chains the list has.
const MAX_CHAINS: usize = 1_000;

#[derive(Template)]
#[template(path = "chains.html")]
struct ChainsPage {
    frame: Frame,
    chains: Vec<(Shown, String, String)>,
    more: bool,
}

#[derive(Template)]
#[template(path = "chain.html")]
struct ChainPage {
    frame: Frame,
    name: Shown,
    heading: String,
    lead: String,
    holds: bool,
    /// What the server found, as a sentence, and whether that is good.
    compared: (String, bool),
    in_browser: InBrowser,
    links: Vec<LinkRow>,
    /// What the head of the chain says.
    stated: Vec<Stated>,
    next: Option<String>,
    first: Option<String>,
}

/// What the browser checks the chain with.
struct InBrowser {
    /// The name of the chain as a part of an address.
    name: String,
    length: u64,
    /// Whether it begins by itself.
    unasked: bool,
    own: String,
    trusted: String,
}

struct LinkRow {
    position: String,
    row: ReceiptRow,
    /// Why it does not follow the one before.
    broken: Option<&'static str>,
}

/// `GET /ui/chains`.
pub(crate) fn list(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[])?;
    let all = visit.context.store().chains()?;
    // Each step of a run has a chain of its own, so there may be very many.
    let more = all.len() > MAX_CHAINS;
    let chains = all.into_iter().take(MAX_CHAINS).map(|(name, length)| {
        (Shown::line(&name, 120), format!("/ui/chains/{}", encoded(&name)), counted(length, "receipt"))
    });
    html(&ChainsPage { frame: Frame::of(visit, Here::Receipts, "Chains")?, chains: chains.collect(), more })
}

/// `GET /ui/chains/{name}`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let context = &visit.context;
    context.only(&["from"])?;
    let name = context.variable("name");
    let from = context.parsed::<u64>("from", "the position of a link")?.unwrap_or_default();
    let store = context.store();
    // One before, to which the first on the page has to link.
    let begin = from.saturating_sub(1);
    let receipts = store.chain_from(name, begin, PAGE + usize::from(from > 0))?;
    let tip = store.tip(name)?.ok_or_else(no_chain)?;
    let head = chain_head(&store, name, context.decider.key())?;
    let (length, path) = (head.length(), format!("/ui/chains/{}", encoded(name)));
    let links: Vec<_> = links(&receipts, begin).into_iter().skip(usize::from(from > 0)).collect();
    let last = from.saturating_add(links.len() as u64);
    let broken = links.iter().filter(|link| link.broken.is_some()).count() as u64;
    // The last link on the last page has to be the end that the store would link to.
    let ends = last < length || receipts.last().is_some_and(|receipt| receipt.hash() == tip.hash);
    let whole = from == 0 && last >= length;
    let decider = context.decider;
    let trusted = decider.trusted().signers().of_head(Some(&now()));
    let trusted: Vec<_> = trusted.iter().map(SignerId::to_string).collect();
    let page = ChainPage {
        frame: Frame::of(visit, Here::Receipts, format!("Chain {}", Shown::line(name, 80).plain()))?,
        heading: format!("{}{}", counted(length, "receipt"), found(broken, ends, whole)),
        lead: if whole {
            format!("The newest is of {}.", newest(&receipts))
        } else {
            format!("This page has links {} to {}.", number(from), number(last.saturating_sub(1)))
        },
        holds: broken == 0 && ends,
        compared: compared(broken, ends, whole),
        in_browser: InBrowser {
            name: encoded(name),
            length,
            unasked: from == 0 && length <= MAX_UNASKED,
            own: decider.key().signer().to_string(),
            trusted: trusted.join(" "),
        },
        links,
        stated: Stated::all(of_head(&head)),
        next: (last < length).then(|| format!("{path}?from={last}")),
        first: (from > 0).then_some(path),
        name: Shown::line(name, 120),
    };
    html(&page)
}

fn no_chain() -> Problem {
    Problem::not_found("chain").help("it does not exist, or belongs to another tenant")
}

/// What the heading says behind the number of receipts: nothing of links that were not looked at.
fn found(broken: u64, ends: bool, whole: bool) -> String {
    match (broken, ends, whole) {
        (0, true, true) => ": every link holds".to_owned(),
        (0, true, false) => String::new(),
        (0, false, _) => ": the end is not the one that is stored".to_owned(),
        (1, _, _) => ": one link does not hold".to_owned(),
        (broken, _, _) => format!(": {} links do not hold", number(broken)),
    }
}

fn compared(broken: u64, ends: bool, whole: bool) -> (String, bool) {
    let words = match (broken, ends, whole) {
        (0, true, true) => "Every receipt follows the one before it",
        (0, true, false) => "Every receipt on this page follows the one before it",
        (0, false, _) => "The last receipt is not the end that is stored",
        (_, _, _) => "Not every receipt follows the one before it",
    };
    (words.to_owned(), broken == 0 && ends)
}

/// `GET /ui/chain-links/{name}?from=N`: the signed documents of a chain from this position on, one on each line; nothing
/// behind the last.
pub(crate) fn documents(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&["from"])?;
    let from = visit.context.parsed::<u64>("from", "the position of a link")?.unwrap_or_default();
    let (store, name) = (visit.context.store(), visit.context.variable("name"));
    // Else a chain that is not there would be an empty file, which looks like one that was emptied.
    store.tip(name)?.ok_or_else(no_chain)?;
    let receipts = store.chain_from(name, from, DOCUMENTS)?;
    let lines: String = receipts.iter().map(|receipt| receipt.to_text() + "\n").collect();
    Ok(attached(JSON_LINES, lines, "chain.jsonl"))
}

/// `GET /ui/chain-head/{name}`: where the chain ends now, signed.
pub(crate) fn head(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&[])?;
    let (store, name) = (visit.context.store(), visit.context.variable("name"));
    store.tip(name)?.ok_or_else(no_chain)?;
    let head = chain_head(&store, name, visit.context.decider.key())?;
    Ok(attached(JSON, Json::from(head.document().clone()).to_text(), "head.json"))
}

/// A document that a browser saves, and never shows as a page.
fn attached(media_type: &'static str, text: String, name: &str) -> Reply {
    Reply::text(media_type, text).header(header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\""))
}

fn newest(receipts: &[Receipt]) -> String {
    receipts.last().map(|last| When::full(last.verified_at().unix_millis()).words()).unwrap_or_default()
}

/// Each receipt, and whether it follows the one before it.
fn links(receipts: &[Receipt], begin: u64) -> Vec<LinkRow> {
    let mut rows = Vec::new();
    let mut before: Option<&Receipt> = None;
    for (receipt, at) in receipts.iter().zip(begin..) {
        rows.push(LinkRow {
            position: number(at),
            row: ReceiptRow { look: look(receipt.verdict()), ..ReceiptRow::of_receipt(receipt) },
            broken: broken(receipt, before, at),
        });
        before = Some(receipt);
    }
    rows
}

/// Why a receipt is not the link at this place.
fn broken(receipt: &Receipt, before: Option<&Receipt>, at: u64) -> Option<&'static str> {
    let metadata = receipt.metadata();
    let position = metadata.get("chain_position").and_then(|position| position.as_number()?.as_u64());
    let pinned = metadata.get("previous_receipt_hash").and_then(Json::as_str);
    match (position, before) {
        (None, _) => Some("it names no place in a chain"),
        (Some(position), _) if position != at => Some("it names another place: a link is missing or was put in"),
        (Some(0), _) => pinned.map(|_| "the first one names another before it"),
        // The one before it is not among those that were read, and is compared on the page that has it.
        (Some(_), None) => None,
        (Some(_), Some(before)) => {
            (pinned != Some(before.hash().to_string().as_str())).then_some("it does not follow the one before it")
        }
    }
}
