//! Lists of receipts, and chains.

use std::collections::BTreeSet;
use std::iter;

use proofmark_receipt::{ChainTip, Receipt, ReceiptId, Sha256Digest, Verdict};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::column::{self, RECEIPT};
use crate::listing::{self, Listing, Part, Table};
use crate::page::{Cursor, MAX_PAGE};
use crate::receipt_meta::{self, StoredReceipt};
use crate::tenant::Tenant;
use crate::times::Period;

/// The fewest hex digits of an id that [`crate::Store::all_tenants_find`] looks for.
pub const MIN_PREFIX: usize = 4;

/// The most ids that [`crate::Store::all_tenants_find`] returns.
pub const MAX_FOUND: usize = 10;

/// The most bytes of receipts that are read at a time, one receipt at least: pages end there.
// A receipt may have 1 MiB: without this a page of `MAX_PAGE` could take a gigabyte.
const MAX_PAGE_BYTES: usize = 8 << 20;

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
    Table { name: "receipts", groups: &["verdict", "tier"], time: "verified_at", times: "receipt_times" };

/// The tenants that have receipts.
pub(crate) fn tenants(connection: &Connection) -> rusqlite::Result<Vec<Tenant>> {
    Ok(listing::distinct(connection, RECEIPTS.name, "tenant")?.iter().map(|name| Tenant::stored(name)).collect())
}

/// The ids from the first one to the last one that a prefix can stand for.
pub(crate) fn between(connection: &Connection, first: &[u8; 16], last: &[u8; 16]) -> rusqlite::Result<Vec<ReceiptId>> {
    let sql = "SELECT DISTINCT receipt_id FROM receipts WHERE tenant = ?1 AND receipt_id BETWEEN ?2 AND ?3
               ORDER BY receipt_id LIMIT ?4";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = BTreeSet::new();
    for tenant in tenants(connection)? {
        let values = (tenant.as_str(), first, last, MAX_FOUND as i64);
        let rows = statement.query_map(values, |row| column::receipt_id(row, 0))?;
        found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    Ok(found.into_iter().take(MAX_FOUND).collect())
}

/// The receipts a filter lets through, of one tenant or of all.
pub(crate) fn list(connection: &Connection, tenant: Option<&Tenant>, filter: &Filter) -> rusqlite::Result<Page> {
    // Several statements, which must see the same rows: one that came between two of them would shift the pages.
    let moment = connection.unchecked_transaction()?;
    let limit = filter.limit.clamp(1, MAX_PAGE);
    let listing = Listing {
        table: &RECEIPTS,
        parts: parts(&moment, tenant, filter)?,
        groups: vec![
            filter.verdict.map_or(Value::Null, |verdict| verdict.as_str().to_owned().into()),
            filter.tier.map_or(Value::Null, |tier| i64::from(tier).into()),
        ],
        period: Period { since: filter.since, until: filter.until, after: filter.after },
        // One more than asked for is looked up: it tells whether there is a next page.
        limit: limit + 1,
    };
    let mut statement = moment.prepare_cached(receipt_meta::SELECT_ONE)?;
    let (mut found, mut unreadable, mut bytes, mut more) = (Vec::<StoredReceipt>::new(), 0, 0, false);
    let mut last = None;
    for sequence in listing::newest(&moment, &listing)? {
        let mut rows = statement.query([sequence])?;
        let Some(row) = rows.next()? else { continue };
        bytes += row.get_ref(1)?.as_bytes()?.len();
        more = found.len() + unreadable == limit || (bytes > MAX_PAGE_BYTES && last.is_some());
        if more {
            break;
        }
        // Before the receipt is read, so that the next page begins behind one that is unreadable.
        last = Some(Cursor(sequence));
        match readable(receipt_meta::with_place(row))? {
            Some(receipt) => found.push(receipt),
            None => unreadable += 1,
        }
    }
    Ok(Page { next: last.filter(|_| more), receipts: found, unreadable })
}

/// The parts of the table that have all receipts a filter lets through: one for each tenant, by the index that is likely to
/// find the fewest.
fn parts(connection: &Connection, tenant: Option<&Tenant>, filter: &Filter) -> rusqlite::Result<Vec<Part>> {
    let groups = filter.verdict.is_some() || filter.tier.is_some();
    let narrowed = groups || filter.task_id.is_some() || filter.chain.is_some() || filter.signer.is_some();
    let tenants = match tenant {
        Some(tenant) => vec![tenant.clone()],
        None if narrowed => tenants(connection)?,
        None => return Ok(vec![Part::default()]),
    };
    let mut parts = Vec::new();
    for tenant in tenants {
        let text = |text: &String| Value::from(text.clone());
        let own = ("tenant", Value::from(tenant.as_str().to_owned()));
        let task = filter.task_id.as_ref().map(|id| ("task_id", text(id)));
        let issuer = filter.signer.as_ref().map(|signer| ("issuer", text(signer)));
        let chain = match &filter.chain {
            None => None,
            Some(name) => match chain_id(connection, &tenant, name)? {
                None => continue,
                Some(id) => Some(("chain_id", Value::from(id))),
            },
        };
        parts.push(match (task, chain, issuer) {
            (Some(task), chain, issuer) => {
                Part { index: vec![own, task], checks: chain.into_iter().chain(issuer).collect(), only: None }
            }
            (None, Some(chain), issuer) => {
                Part { index: vec![chain], checks: issuer.into_iter().chain([own]).collect(), only: None }
            }
            (None, None, issuer) => Part { index: iter::once(own).chain(issuer).collect(), ..Part::default() },
        });
    }
    Ok(parts)
}

/// None for a row that was changed since it was stored: it is left out, and the others are listed.
fn readable<T>(read: rusqlite::Result<T>) -> rusqlite::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(rusqlite::Error::FromSqlConversionFailure(..)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The receipts over one output, of the tenant and of the command line, newest first; at most [`MAX_PAGE`]. Those that
/// another has superseded are left out, and those that cannot be read.
pub(crate) fn over(connection: &Connection, tenant: &Tenant, output: &str) -> rusqlite::Result<Vec<Receipt>> {
    let moment = connection.unchecked_transaction()?;
    let sql = "SELECT sequence FROM receipts WHERE output = ?1 AND tenant = ?2 AND superseded_by IS NULL
               ORDER BY sequence DESC LIMIT ?3";
    let mut statement = moment.prepare_cached(sql)?;
    let mut sequences: Vec<i64> = Vec::new();
    for tenant in [Tenant::LOCAL, tenant.clone()] {
        let rows = statement.query_map((output, tenant.as_str(), MAX_PAGE as i64), |row| row.get(0))?;
        sequences.extend(rows.collect::<rusqlite::Result<Vec<i64>>>()?);
    }
    sequences.sort_unstable_by(|one, other| other.cmp(one));
    // The command line's own are found twice.
    sequences.dedup();
    let sql = format!("SELECT {RECEIPT} FROM receipts WHERE sequence = ?1");
    let mut statement = moment.prepare_cached(&sql)?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for sequence in sequences.into_iter().take(MAX_PAGE) {
        let mut rows = statement.query([sequence])?;
        let Some(row) = rows.next()? else { continue };
        bytes += row.get_ref(1)?.as_bytes()?.len();
        if bytes > MAX_PAGE_BYTES && !found.is_empty() {
            break;
        }
        found.extend(readable(column::receipt(row))?);
    }
    Ok(found)
}

/// The receipts of these rows, as far as [`MAX_PAGE_BYTES`] go.
fn limited(mut rows: rusqlite::Rows<'_>) -> rusqlite::Result<Vec<Receipt>> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        bytes += row.get_ref(1)?.as_str()?.len();
        if bytes > MAX_PAGE_BYTES && !found.is_empty() {
            break;
        }
        // Unlike lists, chains fail here: with a receipt left out the chain would look broken.
        found.push(column::receipt(row)?);
    }
    Ok(found)
}

/// The number of the tenant's chain of this name.
pub(crate) fn chain_id(connection: &Connection, tenant: &Tenant, name: &str) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT chain_id FROM chains WHERE tenant = ?1 AND name = ?2")?;
    statement.query_row([tenant.as_str(), name], |row| row.get(0)).optional()
}

pub(crate) fn chain(connection: &Connection, tenant: &Tenant, name: &str) -> rusqlite::Result<Vec<Receipt>> {
    let Some(chain_id) = chain_id(connection, tenant, name)? else { return Ok(Vec::new()) };
    let sql = format!("SELECT {RECEIPT} FROM receipts WHERE chain_id = ?1 ORDER BY position");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([chain_id], column::receipt)?;
    rows.collect()
}

/// The receipts of a chain from this position on, first to last.
pub(crate) fn chain_from(
    connection: &Connection,
    tenant: &Tenant,
    name: &str,
    position: u64,
    limit: usize,
) -> rusqlite::Result<Vec<Receipt>> {
    let Some(chain_id) = chain_id(connection, tenant, name)? else { return Ok(Vec::new()) };
    let sql =
        format!("SELECT {RECEIPT} FROM receipts WHERE chain_id = ?1 AND position >= ?2 ORDER BY position LIMIT ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    let limit = limit.clamp(1, MAX_PAGE) as i64;
    // A position that no row can have finds none; cast, it would be negative and find all.
    let position = i64::try_from(position).unwrap_or(i64::MAX);
    limited(statement.query((chain_id, position, limit))?)
}

/// The chains by name, with their lengths.
pub(crate) fn chains(connection: &Connection, tenant: &Tenant) -> rusqlite::Result<Vec<(String, u64)>> {
    let sql = "SELECT name, (SELECT max(position) + 1 FROM receipts WHERE receipts.chain_id = chains.chain_id)
               FROM chains WHERE tenant = ?1 ORDER BY name";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([tenant.as_str()], |row| Ok((row.get(0)?, column::count(row, 1)?)))?;
    rows.collect()
}

pub(crate) fn tip(connection: &Connection, tenant: &Tenant, chain: &str) -> rusqlite::Result<Option<ChainTip>> {
    // From columns alone: a document that was damaged does not keep its chain from growing.
    let sql = "SELECT receipt_id, hash, position FROM receipts
               WHERE chain_id = (SELECT chain_id FROM chains WHERE tenant = ?1 AND name = ?2)
               ORDER BY position DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let tip = |row: &Row<'_>| {
        Ok(ChainTip {
            receipt_id: column::receipt_id(row, 0)?,
            hash: Sha256Digest::from_bytes(row.get(1)?),
            position: column::count(row, 2)?,
        })
    };
    statement.query_row([tenant.as_str(), chain], tip).optional()
}
