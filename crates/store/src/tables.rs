//! All tables of a store and their columns, in one list: for what handles whole tables, whatever is in them.

/// A table whose rows are copied with a store.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The columns of its primary key, in the order of the key.
    pub(crate) key: &'static [&'static str],
    pub(crate) columns: &'static [&'static str],
}

/// In an order in which rows come after those that they refer to.
pub(crate) const TABLES: [Table; 23] = [
    table("chains", &["chain_id"], &["chain_id", "tenant", "name"]),
    table(
        "receipts",
        &["sequence"],
        &[
            "sequence",
            "tenant",
            "receipt_id",
            "issuer",
            "hash",
            "content",
            "verified_at",
            "verdict",
            "tier",
            "task_id",
            "task_type",
            "output",
            "trust",
            "superseded_by",
            "chain_id",
            "position",
            "document",
        ],
    ),
    table("requests", &["sequence"], &["sequence", "document"]),
    table("receipt_times", &["block"], &["block", "earliest", "latest"]),
    table(
        "receipt_counts",
        &["tenant", "chain_id", "issuer", "task_type", "verdict", "standing"],
        &["tenant", "chain_id", "issuer", "task_type", "verdict", "standing", "receipts"],
    ),
    table("verdict_counts", &["tenant", "hour", "verdict"], &["tenant", "hour", "verdict", "receipts"]),
    table(
        "decisions",
        &["sequence"],
        &[
            "sequence",
            "decision_id",
            "decided_at",
            "outcome",
            "fingerprint",
            "position",
            "document",
            "tenant",
            "agent",
            "class",
            "mode",
            "expires_at",
            "candidate",
            "action",
            "review",
            "allowed",
            "hash",
            "subject",
            "wanted",
            "nth",
            "tool",
        ],
    ),
    table("asked", &["decision_id"], &["decision_id", "facts"]),
    table("decision_times", &["block"], &["block", "earliest", "latest"]),
    table(
        "decision_counts",
        &["tenant", "hour", "outcome", "mode", "allowed", "policy", "rules"],
        &["tenant", "hour", "outcome", "mode", "allowed", "policy", "rules", "decisions"],
    ),
    table("agent_counts", &["tenant", "day", "agent", "allowed"], &["tenant", "day", "agent", "allowed", "decisions"]),
    table("waiting", &["tenant", "sequence"], &["tenant", "sequence", "subject", "first", "asked"]),
    table("awaited", &["tenant", "decision_id"], &["tenant", "decision_id", "expires_at"]),
    table("executions", &["sequence"], &["sequence", "tenant", "decision_id", "executed", "reported_at", "document"]),
    table("findings", &["sequence"], &["sequence", "tenant", "decision_id", "code", "message", "found_at"]),
    table(
        "reviews",
        &["sequence"],
        &[
            "sequence",
            "tenant",
            "decision_id",
            "subject",
            "reviewer",
            "person",
            "role",
            "verdict",
            "note",
            "receipt_id",
            "reviewed_at",
            "until",
        ],
    ),
    table(
        "runs",
        &["tenant", "run", "step", "begun_by"],
        &["tenant", "begun_by", "run", "step", "version", "state", "updated_at"],
    ),
    table(
        "jobs",
        &["job_id"],
        &[
            "job_id",
            "tenant",
            "state",
            "owner",
            "attempt",
            "lost",
            "cancelling",
            "needs",
            "turn",
            "bytes",
            "checks",
            "chain",
            "supersedes",
            "error",
            "created_at",
            "finished_at",
            "request",
        ],
    ),
    table("answers", &["tenant", "key"], &["tenant", "key", "request", "document", "answered_at"]),
    table("spent", &["tenant", "content"], &["tenant", "content", "spent_by", "spent_at"]),
    table("spent_ids", &["receipt_id"], &["receipt_id", "spent_by", "spent_at"]),
    table(
        "session_entries",
        &["sequence"],
        &[
            "sequence",
            "tenant",
            "session",
            "position",
            "entry_id",
            "kind",
            "decision_id",
            "stored_at",
            "hash",
            "document",
        ],
    ),
    table(
        "pins",
        &["tenant", "server", "tool", "is_pinned"],
        &["tenant", "server", "tool", "is_pinned", "definition", "document", "waits", "listed_at"],
    ),
];

/// Tables that are about a store itself: the time that was recorded last, what a probe writes, and the processes that use it.
pub(crate) const OWN: [&str; 3] = ["clock", "probe", "workers"];

const fn table(name: &'static str, key: &'static [&'static str], columns: &'static [&'static str]) -> Table {
    Table { name, key, columns }
}

impl Table {
    /// Asks for rows in the order of the key, all columns: `after` says whether the values of a key come first, behind which
    /// they begin. The last value is how many.
    pub(crate) fn page(&self, after: bool) -> String {
        let (keys, columns) = (self.key.join(", "), self.columns.join(", "));
        let name = self.name;
        let parameters = |count: usize| (1..=count).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
        match after {
            true => {
                let (values, limit) = (parameters(self.key.len()), self.key.len() + 1);
                format!("SELECT {columns} FROM {name} WHERE ({keys}) > ({values}) ORDER BY {keys} LIMIT ?{limit}")
            }
            false => format!("SELECT {columns} FROM {name} ORDER BY {keys} LIMIT ?1"),
        }
    }

    /// Asks for the greatest key.
    pub(crate) fn last(&self) -> String {
        let descending = self.key.iter().map(|column| format!("{column} DESC")).collect::<Vec<_>>().join(", ");
        format!("SELECT {} FROM {} ORDER BY {descending} LIMIT 1", self.key.join(", "), self.name)
    }

    /// Inserts a row, with the values of all columns.
    pub(crate) fn insert(&self) -> String {
        let values = (1..=self.columns.len()).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
        format!("INSERT INTO {} ({}) VALUES ({values})", self.name, self.columns.join(", "))
    }

    /// The places of the key's columns among all columns.
    pub(crate) fn key_places(&self) -> impl Iterator<Item = usize> {
        self.key.iter().filter_map(|key| self.columns.iter().position(|column| column == key))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::*;
    use crate::engine::sqlite;
    use crate::store::Store;

    /// Every table with its key and its columns, sorted.
    type Known = BTreeMap<String, (Vec<String>, Vec<String>)>;

    fn listed() -> Known {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let known = TABLES.iter().map(|table| {
            let mut columns = owned(table.columns);
            columns.sort();
            (table.name.to_owned(), (owned(table.key), columns))
        });
        known.collect()
    }

    #[test]
    fn the_list_has_every_table_of_a_file() {
        let home = TempDir::new().unwrap();
        let path = home.path().join("store.db");
        drop(Store::open(&path).unwrap());
        let connection: Connection = sqlite::open_to_read(&path).unwrap();
        let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let names: Vec<String> =
            connection.prepare(names).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let mut found = Known::new();
        for name in names.into_iter().filter(|name| !OWN.contains(&name.as_str())) {
            let about = "SELECT name, pk FROM pragma_table_info(?1)";
            let mut columns: Vec<(String, i64)> = connection
                .prepare(about)
                .unwrap()
                .query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            columns.sort();
            let mut key: Vec<_> = columns.iter().filter(|(_, place)| *place > 0).collect();
            key.sort_by_key(|(_, place)| *place);
            let key = key.into_iter().map(|(name, _)| name.clone()).collect();
            found.insert(name, (key, columns.into_iter().map(|(name, _)| name).collect()));
        }
        assert_eq!(listed(), found);
    }
}
