//! Lists of receipts, and chains.

use proofmark_receipt::{ChainTip, Receipt, ReceiptId, Sha256Digest, Verdict};
use std::collections::{BTreeSet, HashMap};
use std::iter;
use std::ops::ControlFlow;

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::rows::chains::chain_id;
use crate::rows::column::{self, RECEIPT};
use crate::rows::counts;
use crate::rows::listing::{self, Condition, Listing, Part, Table};
use crate::rows::page::{self, Cursor, MAX_PAGE};
use crate::rows::receipt_meta::{self, StoredReceipt};
use crate::rows::spends::{self, Spend};
use crate::rows::times::Period;
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// The fewest hex digits of an id that [`crate::Store::all_tenants_find`] looks for.
pub const MIN_PREFIX: usize = 4;

/// The most ids that [`crate::Store::all_tenants_find`] returns.
pub const MAX_FOUND: usize = 10;

/// How many tenants one question is about.
const MAX_TENANTS: usize = 100;

/// The most bytes of receipts, or of decisions with their actions, that are read at a time, one at least: pages end there.
// A receipt may have 1 MiB: without this a page of `MAX_PAGE` could take a gigabyte.
pub(crate) const MAX_PAGE_BYTES: usize = 8 << 20;

/// Which receipts to list. What is `None` does not narrow the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub verdict: Option<Verdict>,
    pub tier: Option<u8>,
    pub task_id: Option<String>,
    /// The name of a chain.
    pub chain: Option<String>,
    /// Only those this signer signed, in the spelling of [`proofmark_receipt::SignerId`].
    pub signer: Option<String>,
    /// Only those verified at or after this time, in milliseconds after 1970-01-01T00:00:00Z.
    pub since: Option<i64>,
    /// Only those verified before this time.
    pub until: Option<i64>,
    /// How many at most: 1 to [`MAX_PAGE`]; a value outside is replaced by the nearest of these.
    pub limit: usize,
    /// Only those after this place.
    pub after: Option<Cursor>,
}

impl Default for Filter {
    /// The 50 newest receipts.
    fn default() -> Self {
        Self {
            verdict: None,
            tier: None,
            task_id: None,
            chain: None,
            signer: None,
            since: None,
            until: None,
            limit: 50,
            after: None,
        }
    }
}

/// Some of the receipts a filter lets through, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// In the reverse order of their being stored.
    pub receipts: Vec<StoredReceipt>,
    /// How many more there are in this place that have changed since they were stored, and so cannot be read.
    pub unreadable: usize,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

/// The receipts, as lists have them.
pub(crate) const RECEIPTS: Table =
    Table { name: "receipts", groups: &["verdict", "tier"], time: "verified_at", times: "receipt_times", joins: "" };

/// The tenants that have receipts.
fn tenants(db: &Db<'_>) -> Result<Vec<Tenant>, Fault> {
    Ok(listing::distinct(db, RECEIPTS.name, "tenant")?.iter().map(|name| Tenant::stored(name)).collect())
}

/// The ids from the first one to the last one that a prefix can stand for.
pub(crate) fn between(db: &Db<'_>, first: &[u8; 16], last: &[u8; 16]) -> Result<Vec<ReceiptId>, Fault> {
    let mut found = BTreeSet::new();
    for tenants in tenants(db)?.chunks(MAX_TENANTS) {
        let mut values: Vec<Value> = values![first, last, MAX_FOUND].into();
        // One range for each tenant, because the index of ids begins with the tenant.
        let of_tenant = |tenant: &Tenant| {
            values.push(tenant.as_str().into());
            format!(
                "SELECT receipt_id FROM (SELECT DISTINCT receipt_id FROM receipts
                     WHERE tenant = ${} AND receipt_id BETWEEN $1 AND $2 ORDER BY receipt_id LIMIT $3) AS of_range",
                values.len()
            )
        };
        let sql = tenants.iter().map(of_tenant).collect::<Vec<_>>().join(" UNION ALL ");
        found.extend(db.all(&sql, &values, |row| column::receipt_id(row, 0))?);
    }
    Ok(found.into_iter().take(MAX_FOUND).collect())
}

/// The receipts a filter lets through, of one tenant or of all.
pub(crate) fn list(db: &Db<'_>, tenant: Option<&Tenant>, filter: &Filter) -> Result<Page, Fault> {
    // Several statements, which must see the same rows: one that came between two of them would shift the pages.
    db.moment(|db| {
        let limit = filter.limit.clamp(1, MAX_PAGE);
        let listing = Listing {
            table: &RECEIPTS,
            parts: parts(db, tenant, filter)?,
            groups: vec![
                filter.verdict.map_or(Value::Null, |verdict| verdict.as_str().into()),
                filter.tier.map_or(Value::Null, Value::from),
            ],
            period: Period { since: filter.since, until: filter.until, after: filter.after },
            limit: page::one_more(limit),
        };
        let sequences = listing::newest(db, &listing)?;
        let page = sequences.get(..fitting(db, &sequences)?.min(limit)).unwrap_or(&sequences);
        let (mut receipts, mut unreadable) = (Vec::new(), 0);
        receipt_meta::at(db, page, |receipt| {
            match readable(receipt)? {
                Some(receipt) => receipts.push(receipt),
                None => unreadable += 1,
            }
            Ok(())
        })?;
        let next = page.last().filter(|_| page.len() < sequences.len()).copied().map(Cursor);
        Ok(Page { receipts, unreadable, next })
    })
}

/// The parts of the table that have all receipts a filter lets through: one for each tenant, by the index that is likely to
/// find the fewest.
fn parts(db: &Db<'_>, tenant: Option<&Tenant>, filter: &Filter) -> Result<Vec<Part>, Fault> {
    let groups = filter.verdict.is_some() || filter.tier.is_some();
    let narrowed = groups || filter.task_id.is_some() || filter.chain.is_some() || filter.signer.is_some();
    let tenants = match tenant {
        Some(tenant) => vec![tenant.clone()],
        None if narrowed => tenants(db)?,
        None => return Ok(vec![Part::default()]),
    };
    let chains = filter.chain.as_ref().map(|name| chain_ids(db, &tenants, name)).transpose()?;
    let mut parts = Vec::new();
    for tenant in tenants {
        let task = filter.task_id.as_ref().map(|id| ("task_id", Value::from(id)));
        let issuer = filter.signer.as_ref().map(|signer| ("issuer", Value::from(signer)));
        let chain = match &chains {
            None => None,
            Some(chains) => match chains.get(&tenant) {
                None => continue,
                Some(id) => Some(("chain_id", Value::from(*id))),
            },
        };
        parts.extend(part(db, &tenant, task, chain, issuer)?);
    }
    Ok(parts)
}

/// The chains of this name, by their tenants.
fn chain_ids(db: &Db<'_>, tenants: &[Tenant], name: &str) -> Result<HashMap<Tenant, i64>, Fault> {
    let mut ids = HashMap::new();
    for tenants in tenants.chunks(MAX_TENANTS) {
        let places: Vec<String> = (0..tenants.len()).map(|place| format!("${}", place + 2)).collect();
        let sql = format!("SELECT tenant, chain_id FROM chains WHERE name = $1 AND tenant IN ({})", places.join(", "));
        let values: Vec<Value> =
            iter::once(Value::from(name)).chain(tenants.iter().map(|tenant| Value::from(tenant.as_str()))).collect();
        ids.extend(db.all(&sql, &values, |row| Ok((Tenant::stored(row.text(0)?), row.get(1)?)))?);
    }
    Ok(ids)
}

/// The part of a tenant with these values; none where there is none.
fn part(
    db: &Db<'_>,
    tenant: &Tenant,
    task: Option<Condition>,
    chain: Option<Condition>,
    issuer: Option<Condition>,
) -> Result<Option<Part>, Fault> {
    let own = ("tenant", Value::from(tenant.as_str()));
    // Of a chain and a signer either may have nearly all receipts, and few or none the other's.
    let (of_both, of_issuer, of_chain) = match (&chain, &issuer) {
        (Some((_, Value::Integer(chain))), Some((_, Value::Text(issuer)))) => {
            counts::sizes(db, tenant, *chain, issuer)?
        }
        _ => (1, 1, 1),
    };
    Ok(match (task, chain, issuer) {
        _ if of_both == 0 => None,
        (Some(task), chain, issuer) => {
            let checks = chain.into_iter().chain(issuer).collect();
            Some(Part { by: Some("receipts_by_task"), index: vec![own, task], checks, ..Part::default() })
        }
        (None, Some(chain), Some(issuer)) if of_issuer < of_chain => Some(Part {
            by: Some("receipts_by_issuer"),
            index: vec![own, issuer],
            checks: vec![chain],
            ..Part::default()
        }),
        (None, Some(chain), issuer) => {
            let checks = issuer.into_iter().chain([own]).collect();
            Some(Part { by: Some("receipts_by_chain"), index: vec![chain], checks, ..Part::default() })
        }
        (None, None, Some(issuer)) => {
            Some(Part { by: Some("receipts_by_issuer"), index: vec![own, issuer], ..Part::default() })
        }
        (None, None, None) => Some(Part { by: Some("receipts_listed"), index: vec![own], ..Part::default() }),
    })
}

/// None for a row that was changed since it was stored: it is left out, and the others are listed.
fn readable<T>(read: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Fault::Changed(_)) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// How many of these rows, newest first, are read at a time.
fn fitting(db: &Db<'_>, sequences: &[i64]) -> Result<usize, Fault> {
    let among = db.among("sequence", "$1");
    let sql = format!("SELECT octet_length(document) FROM receipts WHERE {among} ORDER BY sequence DESC");
    first_that_fit(db, &sql, &[Value::numbers(sequences)])
}

/// How many of the first rows of an answer, which has the lengths of their documents, are read at a time.
pub(crate) fn first_that_fit(db: &Db<'_>, sql: &str, values: &[Value]) -> Result<usize, Fault> {
    let (mut rows, mut bytes) = (0, 0);
    db.each(sql, values, |row| {
        bytes += row.get::<usize>(0)?;
        if bytes > MAX_PAGE_BYTES && rows > 0 {
            return Ok(ControlFlow::Break(()));
        }
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

/// Whether a receipt is sought, and how it is spent then.
pub(crate) type Sought<'a> = &'a dyn Fn(&Receipt) -> Option<Spend>;

/// The receipts over one output, of the tenant and of the command line: the newest, at most [`MAX_PAGE`], and of all others those
/// that are sought: again at most so many that are spent, and so many that are not. Those that another has superseded are left out, and
/// those that cannot be read.
pub(crate) fn over(db: &Db<'_>, tenant: &Tenant, output: &str, sought: Sought<'_>) -> Result<Vec<Receipt>, Fault> {
    db.moment(|db| {
        let sql = "SELECT sequence FROM receipts WHERE output = $1 AND tenant = $2 AND superseded_by IS NULL
                   ORDER BY sequence DESC LIMIT $3";
        let of = |tenant: &Tenant| db.all(sql, &values![output, tenant.as_str(), MAX_PAGE], |row| row.get(0));
        let mut sequences: Vec<i64> = of(tenant)?;
        // What the command line stores is evidence for every tenant.
        if *tenant != Tenant::LOCAL {
            sequences.extend(of(&Tenant::LOCAL)?);
            sequences.sort_unstable_by(|one, other| other.cmp(one));
            sequences.truncate(MAX_PAGE);
        }
        let fitting = fitting(db, &sequences)?;
        let (is_all, page) = (fitting < MAX_PAGE && fitting == sequences.len(), sequences.get(..fitting));
        let page = page.unwrap_or(&sequences);
        let among = db.among("sequence", "$1");
        let sql = format!("SELECT {RECEIPT} FROM receipts WHERE {among} ORDER BY sequence DESC");
        let receipts = db.all(&sql, &[Value::numbers(page)], |row| readable(column::receipt(row)))?;
        let mut receipts: Vec<Receipt> = receipts.into_iter().flatten().collect();
        if !is_all && let Some(last) = page.last() {
            let older = |of: &Tenant| older_over(db, (tenant, of), (output, *last), sought);
            receipts.extend(older(tenant)?);
            if *tenant != Tenant::LOCAL {
                receipts.extend(older(&Tenant::LOCAL)?);
            }
        }
        Ok(receipts)
    })
}

/// The receipts of the tenant `of` over an output that were stored before this one and are sought by `tenant`, newest first. All are
/// looked through: however many others there are, and however many are spent, they hide none that count.
fn older_over(
    db: &Db<'_>,
    (tenant, of): (&Tenant, &Tenant),
    (output, mut before): (&str, i64),
    sought: Sought<'_>,
) -> Result<Vec<Receipt>, Fault> {
    let (mut found, mut unspent, mut spent, mut bytes) = (Vec::new(), 0, 0, 0);
    loop {
        let portion = portion_over(db, of, (output, before), sought)?;
        let Some(last) = portion.last() else { return Ok(found) };
        before = last.sequence;
        for Older { receipt, spend, length, .. } in portion {
            let count = if spends::is_spent(db, tenant, &spend)? { &mut spent } else { &mut unspent };
            *count += 1;
            if *count <= MAX_PAGE {
                found.push(receipt);
                bytes += length;
            }
        }
        if unspent >= MAX_PAGE || bytes > MAX_PAGE_BYTES {
            return Ok(found);
        }
    }
}

/// A receipt that is sought.
struct Older {
    sequence: i64,
    receipt: Receipt,
    spend: Spend,
    /// In bytes.
    length: usize,
}

/// The next of the older receipts, as many as are in memory at a time.
fn portion_over(
    db: &Db<'_>,
    of: &Tenant,
    (output, before): (&str, i64),
    sought: Sought<'_>,
) -> Result<Vec<Older>, Fault> {
    let sql = format!(
        "SELECT {RECEIPT}, sequence FROM receipts
         WHERE output = $1 AND tenant = $2 AND superseded_by IS NULL AND sequence < $3 ORDER BY sequence DESC"
    );
    let (mut portion, mut bytes) = (Vec::new(), 0);
    db.each(&sql, &values![output, of.as_str(), before], |row| {
        let length = row.text(1)?.len();
        if let Some(receipt) = readable(column::receipt(row))?
            && let Some(spend) = sought(&receipt)
        {
            portion.push(Older { sequence: row.get(2)?, receipt, spend, length });
            bytes += length;
        }
        let is_enough = portion.len() == MAX_PAGE || bytes > MAX_PAGE_BYTES;
        Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(portion)
}

pub(crate) fn chain(db: &Db<'_>, tenant: &Tenant, name: &str) -> Result<Vec<Receipt>, Fault> {
    let Some(chain_id) = chain_id(db, tenant, name)? else { return Ok(Vec::new()) };
    let sql = format!("SELECT {RECEIPT} FROM receipts WHERE chain_id = $1 ORDER BY position");
    db.all(&sql, &values![chain_id], column::receipt)
}

/// The receipts of a chain from this position on, first to last.
pub(crate) fn chain_from(
    db: &Db<'_>,
    tenant: &Tenant,
    name: &str,
    position: u64,
    limit: usize,
) -> Result<Vec<Receipt>, Fault> {
    let Some(chain_id) = chain_id(db, tenant, name)? else { return Ok(Vec::new()) };
    let of = |columns| {
        format!("SELECT {columns} FROM receipts WHERE chain_id = $1 AND position >= $2 ORDER BY position LIMIT $3")
    };
    let values = |limit: usize| values![chain_id, position, limit];
    let limit = first_that_fit(db, &of("octet_length(document)"), &values(limit.clamp(1, MAX_PAGE)))?;
    // Receipts are only added to a chain, so these are the same rows. Unlike lists, chains fail here: with a receipt left
    // out the chain would look broken.
    db.all(&of(RECEIPT), &values(limit), column::receipt)
}

/// The chains by name, with their lengths.
pub(crate) fn chains(db: &Db<'_>, tenant: &Tenant) -> Result<Vec<(String, u64)>, Fault> {
    let sql = "SELECT name, (SELECT max(position) + 1 FROM receipts WHERE receipts.chain_id = chains.chain_id)
               FROM chains WHERE tenant = $1 ORDER BY name";
    db.all(sql, &values![tenant.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
}

pub(crate) fn tip(db: &Db<'_>, tenant: &Tenant, chain: &str) -> Result<Option<ChainTip>, Fault> {
    // From columns alone: a document that was damaged does not keep its chain from growing.
    let sql = "SELECT receipt_id, hash, position FROM receipts
               WHERE chain_id = (SELECT chain_id FROM chains WHERE tenant = $1 AND name = $2)
               ORDER BY position DESC LIMIT 1";
    db.one(sql, &values![tenant.as_str(), chain], |row| {
        Ok(ChainTip {
            receipt_id: column::receipt_id(row, 0)?,
            hash: Sha256Digest::from_bytes(row.get(1)?),
            position: row.get(2)?,
        })
    })
}
