//! How a database is reached: what its URL says, and what the environment adds.

use std::env;
use std::ffi::OsString;
use std::fs::Metadata;
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use proofmark_receipt::document::shown;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::engine::postgres::passfile::{self, Wanted};
use crate::place::DatabaseUrl;

/// Where Debian's servers have their socket, which is used where the URL names no host.
const SOCKETS: &str = "/var/run/postgresql";

/// How long it may take to connect to one host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time that `connect_timeout` may name.
const MAX_CONNECT_TIMEOUT: u64 = 60;

/// After this time without an acknowledgement of what was sent the connection counts as lost.
const TCP_TIMEOUT: Duration = Duration::from_secs(3);

/// The most hosts that one URL may name.
const MAX_HOSTS: usize = 16;

/// The longest name that PostgreSQL keeps whole, in bytes.
const MAX_NAME: usize = 63;

/// The longest file of passwords, in bytes.
const MAX_PASSFILE: u64 = 1 << 20;

/// How a database is reached.
pub(crate) struct Settings {
    /// Each is tried in turn.
    pub(crate) hosts: Vec<Target>,
    /// The schema that the store's tables are in, where one is named.
    pub(crate) schema: Option<String>,
    /// Where the certificates of those who vouch for the server are; else those of the system.
    pub(crate) root_certificates: Option<PathBuf>,
    /// Why the file of passwords was not used.
    pub(crate) unused_passfile: Option<String>,
}

/// One host.
pub(crate) struct Target {
    pub(crate) config: Config,
    /// The host and port, for messages.
    pub(crate) name: String,
    pub(crate) timeout: Duration,
}

/// What the environment says about users and passwords, as for the programs of PostgreSQL.
#[derive(Default)]
pub(crate) struct Environment {
    user: Option<String>,
    password: Option<OsString>,
    passfile: Option<PathBuf>,
}

/// The settings behind the `?` of a URL.
#[derive(Default)]
struct Query {
    schema: Option<String>,
    root_certificates: Option<PathBuf>,
    ssl_mode: Option<Verification>,
    timeout: Option<Duration>,
}

/// Whether a connection is encrypted. If it is, the certificate and the name of the server are verified.
#[derive(Clone, Copy, PartialEq)]
enum Verification {
    None,
    Full,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        Self {
            user: variable("PGUSER").and_then(|user| user.into_string().ok()),
            password: variable("PGPASSWORD"),
            passfile: variable("PGPASSFILE")
                .map(PathBuf::from)
                .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".pgpass"))),
        }
    }
}

impl Settings {
    /// What `url` and `environment` say.
    ///
    /// # Errors
    /// Why the URL cannot be used, without its password.
    pub(crate) fn of(url: &DatabaseUrl, environment: &Environment) -> Result<Self, String> {
        let (base, settings) = split(url.secret_text());
        let invalid = || "it is not `postgres://user@host:port/database`".to_owned();
        if !url.is_of_postgres() {
            return Err(invalid());
        }
        // What the driver says about a part of the URL may quote it.
        let mut config: Config = base.parse().map_err(|_| invalid())?;
        let query = Query::read(settings, &mut config)?;
        if config.get_hosts().is_empty() {
            config.host_path(SOCKETS);
        }
        if config.get_hosts().len() > MAX_HOSTS {
            return Err(format!("it names more than {MAX_HOSTS} hosts"));
        }
        if config.get_user().is_none() {
            let user = environment.user.clone().map_or_else(|| whoami::username().map_err(|_| ()), Ok);
            config.user(
                user.map_err(|()| "it names no user, and the name of the system's user is not known".to_owned())?,
            );
        }
        if config.get_application_name().is_none() {
            config.application_name("proofmark");
        }
        let mut unused_passfile = None;
        let passwords = match (config.get_password(), &environment.password) {
            (Some(_), _) => None,
            (None, Some(password)) => {
                config.password(password.as_encoded_bytes());
                None
            }
            (None, None) => environment.passfile.as_deref().and_then(|file| {
                read_passfile(file).unwrap_or_else(|why| {
                    unused_passfile = Some(why);
                    None
                })
            }),
        };
        let hosts = (0..config.get_hosts().len()).map(|number| target(&config, number, &query, passwords.as_deref()));
        Ok(Self {
            hosts: hosts.collect::<Result<_, _>>()?,
            schema: query.schema,
            root_certificates: query.root_certificates,
            unused_passfile,
        })
    }

    /// Whether any host is reached by TLS.
    pub(crate) fn uses_tls(&self) -> bool {
        self.hosts.iter().any(|host| host.config.get_ssl_mode() == SslMode::Require)
    }
}

/// The URL up to its settings, and its settings. User and password end at the first `@`, as for the driver.
fn split(url: &str) -> (&str, &str) {
    let from = url.find('@').unwrap_or_default();
    match url.get(from..).and_then(|rest| rest.find('?')) {
        Some(at) => (url.get(..from + at).unwrap_or(url), url.get(from + at + 1..).unwrap_or_default()),
        None => (url, ""),
    }
}

/// The host with this number alone, with all else that `whole` says.
fn target(whole: &Config, number: usize, query: &Query, passwords: Option<&str>) -> Result<Target, String> {
    let ports = whole.get_ports();
    let port = match ports {
        [] => 5432,
        [port] => *port,
        ports => *ports.get(number).ok_or("it has more hosts than ports")?,
    };
    let Some(host) = whole.get_hosts().get(number) else { return Err("it names no host".to_owned()) };
    let mut config = Config::new();
    let (host_text, is_near) = match host {
        Host::Tcp(name) => {
            config.host(name);
            (name.clone(), is_loopback(name))
        }
        Host::Unix(folder) => {
            config.host_path(folder);
            (folder.display().to_string(), true)
        }
    };
    let is_socket = matches!(host, Host::Unix(_));
    let user = whole.get_user().unwrap_or_default();
    config.user(user).port(port);
    whole.get_dbname().map(|name| config.dbname(name));
    whole.get_options().map(|options| config.options(options));
    whole.get_application_name().map(|name| config.application_name(name));
    let wanted = Wanted {
        host: if is_socket && host_text == SOCKETS { "localhost" } else { &host_text },
        port,
        // A database without a name is the one that is named after the user.
        database: whole.get_dbname().unwrap_or(user),
        user,
    };
    match whole.get_password() {
        Some(password) => drop(config.password(password)),
        None => drop(passwords.and_then(|text| passfile::password(text, &wanted)).map(|found| config.password(found))),
    }
    let verification = query.ssl_mode.unwrap_or(if is_near { Verification::None } else { Verification::Full });
    config.ssl_mode(match verification {
        // A socket is a file of this machine, whose rights protect it.
        Verification::Full if !is_socket => SslMode::Require,
        _ => SslMode::Disable,
    });
    let timeout = query.timeout.unwrap_or(CONNECT_TIMEOUT);
    config.connect_timeout(timeout).tcp_user_timeout(TCP_TIMEOUT);
    config.keepalives(true).keepalives_idle(TCP_TIMEOUT).keepalives_interval(Duration::from_secs(1));
    config.keepalives_retries(3);
    let name = if is_socket || host_text.contains(':') { host_text } else { format!("{host_text}:{port}") };
    Ok(Target { config, name, timeout })
}

/// Whether what is sent to the host stays on this machine.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Query {
    fn read(settings: &str, config: &mut Config) -> Result<Self, String> {
        let mut query = Self::default();
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            let decode = |text| percent_decode_str(text).decode_utf8().map_err(|_| "a setting is not UTF-8".to_owned());
            query.set(&decode(name)?, &decode(value)?, config)?;
        }
        Ok(query)
    }

    fn set(&mut self, name: &str, value: &str, config: &mut Config) -> Result<(), String> {
        let invalid = || format!("invalid `{name}`: `{}`", shown(value));
        match name {
            "user" => drop(config.user(value)),
            "dbname" => drop(config.dbname(value)),
            "options" => drop(config.options(value)),
            "application_name" => drop(config.application_name(value)),
            "host" => value.split(',').for_each(|host| {
                if host.starts_with('/') {
                    config.host_path(host);
                } else {
                    config.host(host);
                }
            }),
            "port" => {
                for port in value.split(',') {
                    config.port(port.parse().map_err(|_| invalid())?);
                }
            }
            "connect_timeout" => {
                let seconds = value.parse().ok().filter(|seconds| (1..=MAX_CONNECT_TIMEOUT).contains(seconds));
                self.timeout = Some(Duration::from_secs(seconds.ok_or_else(invalid)?));
            }
            "sslmode" => self.ssl_mode = Some(verification(value)?),
            "sslrootcert" => self.root_certificates = (value != "system").then(|| value.into()),
            "search_path" => self.schema = Some(schema_name(value).ok_or_else(invalid)?.to_owned()),
            // A store is always written to.
            "target_session_attrs" if ["any", "primary", "read-write"].contains(&value) => {}
            "target_session_attrs" => {
                return Err(format!("`{name}` must be `read-write`, because a store is written to"));
            }
            "password" => {
                return Err("`password` is not a setting; write it behind the user, or in `PGPASSWORD` or `~/.pgpass`"
                    .to_owned());
            }
            _ => return Err(format!("unknown setting `{}`", shown(name))),
        }
        Ok(())
    }
}

fn verification(mode: &str) -> Result<Verification, String> {
    match mode {
        "disable" => Ok(Verification::None),
        // An encrypted connection to somebody unknown protects nothing, so the certificate is always verified.
        "require" | "verify-ca" | "verify-full" => Ok(Verification::Full),
        _ => Err("`sslmode` must be `verify-full` or `disable`".to_owned()),
    }
}

/// A name that needs no quotes, so that it can stand in a statement.
fn schema_name(name: &str) -> Option<&str> {
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    let continues = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    (begins && continues && name.len() <= MAX_NAME && !name.starts_with("pg_")).then_some(name)
}

/// The text of the file of passwords; none where there is no file.
///
/// # Errors
/// Why it is not used.
fn read_passfile(path: &Path) -> Result<Option<String>, String> {
    let why = |reason: &str| format!("`{}` is not used: {reason}", path.display());
    let Ok(found) = std::fs::metadata(path) else { return Ok(None) };
    check_passfile(&found).map_err(why)?;
    std::fs::read_to_string(path).map(Some).map_err(|error| why(&error.to_string()))
}

fn check_passfile(found: &Metadata) -> Result<(), &'static str> {
    match found {
        found if !found.is_file() => Err("it is not a file"),
        found if found.permissions().mode() & 0o077 != 0 => Err("others can read it; run `chmod 600` on it"),
        found if found.size() > MAX_PASSFILE => Err("it is too long"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;
    use crate::place::Place;

    fn settings(url: &str, environment: &Environment) -> Result<Settings, String> {
        match Place::parse(url) {
            Place::Database(url) => Settings::of(&url, environment),
            Place::File(_) => panic!("{url}"),
        }
    }

    fn alone(url: &str) -> Result<Settings, String> {
        settings(url, &Environment { user: Some("ann".to_owned()), ..Environment::default() })
    }

    fn modes(url: &str) -> Vec<SslMode> {
        alone(url).unwrap().hosts.iter().map(|host| host.config.get_ssl_mode()).collect()
    }

    #[test]
    fn a_server_elsewhere_must_show_a_certificate() {
        let (on, off) = (SslMode::Require, SslMode::Disable);
        assert_eq!(modes("postgres://db.example/p"), [on]);
        assert_eq!(modes("postgres://10.0.0.1/p"), [on]);
        assert_eq!(modes("postgres://localhost.example/p"), [on]);
        for near in ["localhost", "127.0.0.2", "[::1]", "%2Frun%2Fpg", ""] {
            assert_eq!(modes(&format!("postgres://{near}/p")), [off], "{near}");
        }
        assert_eq!(modes("postgres://127.0.0.1,db.example:1/p"), [off, on]);
        for verified in ["require", "verify-ca", "verify-full"] {
            assert_eq!(modes(&format!("postgres://localhost/p?sslmode={verified}")), [on]);
        }
        assert_eq!(modes("postgres://db.example/p?sslmode=disable"), [off]);
        for weak in ["prefer", "allow", ""] {
            assert!(alone(&format!("postgres://db.example/p?sslmode={weak}")).is_err(), "{weak}");
        }
    }

    #[test]
    fn hosts_have_their_ports() {
        let names =
            |url: &str| alone(url).map(|settings| settings.hosts.into_iter().map(|host| host.name).collect::<Vec<_>>());
        assert_eq!(names("postgres://a:1,b:2/p").unwrap(), ["a:1", "b:2"]);
        assert_eq!(names("postgres://a,b/p").unwrap(), ["a:5432", "b:5432"]);
        assert_eq!(names("postgres:///p?host=/run/x,b&port=7").unwrap(), ["/run/x", "b:7"]);
        assert_eq!(names("postgres:///p").unwrap(), ["/var/run/postgresql"]);
        assert!(names("postgres:///p?host=a,b,c&port=1,2").is_err());
        assert!(names(&format!("postgres://{}/p", ["a"; 17].join(","))).is_err());
    }

    #[test]
    fn settings_that_are_not_known_are_refused_without_the_password() {
        for bad in [
            "postgres://ann:s3cret@h/p?sslmod=disable",
            "\"postgres://ann:s3cret@h/p\"",
            "Postgres://ann:s3cret@h/p",
            "host=h user=ann password=s3cret",
            "postgres://ann:s3cret@h/p?password=s3cret",
            "postgres://ann:s3cret@h/p?search_path=a;b",
            "postgres://ann:s3cret@h/p?search_path=pg_catalog",
            "postgres://ann:s3cret@h/p?connect_timeout=0",
            "postgres://ann:s3cret@h/p?target_session_attrs=read-only",
            "postgres://ann:s3cret@h:s3cret/p",
            "postgres://ann:s3cret@[h/p",
            "postgres://ann:s3cret@h/p?port=x",
            "postgres://ann:s3cret@h/p?user=%ff",
        ] {
            let refused = settings(bad, &Environment::default()).err().unwrap();
            assert!(!refused.contains("s3cret"), "{refused}");
        }
        assert_eq!(alone("postgres://h/p?search_path=proofs").unwrap().schema.as_deref(), Some("proofs"));
        assert_eq!(alone("postgres://h/p?connect_timeout=9").unwrap().hosts[0].timeout, Duration::from_secs(9));
    }

    #[test]
    fn the_password_is_that_of_the_url_else_of_the_environment_else_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgpass");
        std::fs::write(&file, "a:1:p:ann:first\nb:*:*:*:second\nlocalhost:*:p:ann:third\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let mut environment =
            Environment { user: Some("ann".to_owned()), password: None, passfile: Some(file.clone()) };
        let passwords = |url: &str, environment: &Environment| {
            let hosts = settings(url, environment).unwrap().hosts;
            let text =
                |host: &Target| host.config.get_password().map(|text| String::from_utf8_lossy(text).into_owned());
            hosts.iter().map(text).collect::<Vec<_>>()
        };
        let some = |text: &str| Some(text.to_owned());
        let url = "postgres://a:1,b:2,c:3/p";
        assert_eq!(passwords(url, &environment), [some("first"), some("second"), None]);
        assert_eq!(passwords("postgres:///p", &environment), [some("third")]);
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(passwords(url, &environment), [None, None, None]);
        let why = settings(url, &environment).unwrap().unused_passfile.unwrap();
        assert!(why.contains("chmod 600"), "{why}");
        environment.password = Some("fourth".into());
        assert_eq!(passwords("postgres://a/p", &environment), [some("fourth")]);
        assert_eq!(passwords("postgres://ann:f%40fth@a/p", &environment), [some("f@fth")]);
    }
}
