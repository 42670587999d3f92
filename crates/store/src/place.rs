//! Where a store is: a file, or a database that several servers share.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// What the URL of a database begins with.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Where a store is. Text that begins with `postgres://` or `postgresql://` is the URL of a database. So is other text that looks
/// as if it was to reach one, which is refused when it is used: as a path it would be shown with its password. All else is a path.
///
/// Neither `Display` nor `Debug` shows the password of a URL or its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The path of an SQLite file.
    File(PathBuf),
    /// A database of PostgreSQL.
    Database(DatabaseUrl),
}

/// The URL of a database, perhaps with a password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl Place {
    /// The file or database that `text` names.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        // In capitals, in quotes, or of another program: a scheme has no slash, and a path that begins with one has.
        let is_url = text.split_once("://").is_some_and(|(scheme, _)| !scheme.contains('/'));
        // `host=db user=ann password=…`, as the programs of PostgreSQL take it.
        if is_url || text.contains("password=") {
            Self::Database(DatabaseUrl(text.to_owned()))
        } else {
            Self::File(text.into())
        }
    }

    /// Why a store that is not there is not.
    pub(crate) fn absence(&self) -> &'static str {
        match self {
            Self::File(_) => "there is no such file",
            Self::Database(_) => "the database has no store",
        }
    }
}

impl DatabaseUrl {
    /// The given URL; none where it has a password, which must not be written to a file.
    #[must_use]
    pub fn without_password(&self) -> Option<&str> {
        if !self.is_of_postgres() {
            return None;
        }
        let in_user = self.rest().split_once('@').is_some_and(|(user, _)| user.contains(':'));
        let in_settings = self.rest().split_once('?').is_some_and(|(_, settings)| settings.contains("password"));
        (!in_user && !in_settings).then_some(self.0.as_str())
    }

    /// Whether it begins as the URL of a store does.
    pub(crate) fn is_of_postgres(&self) -> bool {
        SCHEMES.iter().any(|scheme| self.0.starts_with(scheme))
    }

    /// The given URL, with its password.
    pub(crate) fn secret_text(&self) -> &str {
        &self.0
    }

    fn rest(&self) -> &str {
        self.0.split_once("://").map_or("", |(_, rest)| rest)
    }

    /// User, hosts and name of the database. None where the password cannot be told from the rest for certain.
    fn public(&self) -> Option<String> {
        if !self.is_of_postgres() {
            return None;
        }
        // The driver ends user and password at the first `@`. People who did not encode a password have more of them, or a
        // `/` or `?` before it: what then seems to be a host may be a part of the password.
        let (user, place) = match self.rest().split_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, self.rest()),
        };
        if place.contains('@') || user.is_some_and(|user| user.contains(['/', '?'])) {
            return None;
        }
        let place = place.split_once('?').map_or(place, |(place, _)| place);
        let hosts = place.split_once('/').map_or(place, |(hosts, _)| hosts);
        // `user:password` without `@` reads as a host and its port.
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let is_host =
            |host: &str| host.rsplit_once(':').is_none_or(|(host, port)| host.starts_with('[') || is_port(port));
        if !hosts.split(',').all(is_host) {
            return None;
        }
        let user = user.map(|user| user.split_once(':').map_or(user, |(user, _)| user));
        Some(match user {
            Some(user) => format!("{user}@{place}"),
            None => place.to_owned(),
        })
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.public() {
            Some(public) => write!(formatter, "postgres://{}", public.escape_debug()),
            None => formatter.write_str("postgres://…"),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(formatter),
            Self::Database(url) => url.fmt(formatter),
        }
    }
}

impl From<&OsStr> for Place {
    fn from(name: &OsStr) -> Self {
        name.to_str().map_or_else(|| Self::File(name.into()), Self::parse)
    }
}

impl From<OsString> for Place {
    fn from(name: OsString) -> Self {
        name.as_os_str().into()
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Self {
        path.as_os_str().into()
    }
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<&PathBuf> for Place {
    fn from(path: &PathBuf) -> Self {
        path.as_os_str().into()
    }
}

impl From<&Self> for Place {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_url_is_shown_without_password_and_settings() {
        for (url, public) in [
            ("postgres://ann@db.example:5433/proofs", "postgres://ann@db.example:5433/proofs"),
            ("postgresql://ann:s3cret@db.example/proofs?sslmode=require", "postgres://ann@db.example/proofs"),
            ("postgres://a:s3cret@one:1,two:2/proofs", "postgres://a@one:1,two:2/proofs"),
            ("postgres://a:s3cret@[::1]:5432/proofs", "postgres://a@[::1]:5432/proofs"),
            ("postgres:///proofs?host=/run/postgresql&password=s3cret", "postgres:///proofs"),
            // Passwords that are not encoded.
            ("postgres://ann:s3@cret@db.example/proofs", "postgres://…"),
            ("postgres://ann:s3/cret@db.example/proofs", "postgres://…"),
            ("postgres://ann:s3?cret@db.example/proofs", "postgres://…"),
            ("postgres://ann:s3cret", "postgres://…"),
            ("postgres://ann:s3@cret?x@db.example/proofs", "postgres://…"),
            // What cannot be used.
            ("POSTGRES://ann:s3cret@db.example/proofs", "postgres://…"),
            ("\"postgres://ann:s3cret@db.example/proofs\"", "postgres://…"),
            (" postgres://ann:s3cret@db.example/proofs", "postgres://…"),
            ("postgresql+psycopg://ann:s3cret@db.example/proofs", "postgres://…"),
            ("host=db.example user=ann password=s3cret", "postgres://…"),
        ] {
            let place = Place::parse(url);
            assert!(matches!(place, Place::Database(_)));
            assert_eq!(place.to_string(), public);
            assert_eq!(format!("{place:?}"), format!("Database({public})"));
        }
    }

    #[test]
    fn all_else_is_a_path() {
        for path in ["/var/lib/store.db", "postgres:/x", "./postgres://x", "/a://b", ""] {
            assert_eq!(Place::parse(path), Place::File(path.into()));
        }
    }

    proptest! {
        #[test]
        fn a_password_is_never_shown(password in "[^%]{0,4}q7Zq7Z[^%]{0,4}", rest in "[a-z/?:@,=]{0,12}") {
            let place = Place::parse(&format!("postgres://ann:{password}@{rest}"));
            prop_assert!(!format!("{place} {place:?}").contains("q7Z"), "{place}");
            prop_assert!(matches!(place, Place::Database(url) if url.without_password().is_none()));
        }
    }
}
