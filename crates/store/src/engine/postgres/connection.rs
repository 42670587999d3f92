//! A database, and connections to it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, CancelToken, Client, SimpleQueryMessage, Socket};

use crate::engine::postgres::driver::{Alive, Driver};
use crate::engine::postgres::flight::Statements;
use crate::engine::postgres::refusal;
use crate::engine::postgres::settings::{Environment, Settings, Target};
use crate::engine::postgres::tls::{Stream, Tls};
use crate::engine::postgres::trouble::Trouble;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::hint::{Hint, HintBox};
use crate::patience;
use crate::place::{DatabaseUrl, Place};

/// The oldest server that has what the store's statements need.
const OLDEST_SERVER: u32 = 140_000;

/// How often it is looked whether anybody waits for an answer.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long a server may take to be told that an answer is not wanted any more.
const MAX_CANCEL: Duration = Duration::from_secs(5);

/// What every connection asks about its server, in the order of [`Server`]'s fields.
const ASK_SERVER: &str = "SELECT current_setting('server_version_num'), current_setting('server_encoding'),
    current_setting('fsync', true), current_setting('full_page_writes', true), current_setting('transaction_read_only'),
    gen_random_uuid();";

/// Every statement has an index. A plan that was made while a table was new and empty reads all of it, and stays until the
/// server has counted the table's rows, so such plans are ruled out, as are those that collect all of a part of an index before the
/// first row; and no statement is long enough that compiling it pays.
const SET_PLANS: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;";

/// A read that takes longer is cut off, and so is one whose rows nobody takes.
const SET_READER: &str = "SET default_transaction_read_only = on; SET statement_timeout = '20s';
    SET idle_in_transaction_session_timeout = '30s';";

/// A writer that is cut off must not keep others waiting. What is answered must be on disk, and on the synchronous standby
/// where there is one; a stricter setting stays.
///
/// Every statement of a writer finds its rows, a few or hundreds, by an index, and in the order of one. So one plan serves for all
/// values, and plans that read a whole table to join or to sort it are ruled out, as they look cheap while a table is young.
const SET_WRITER: &str = "SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '2s';
    SET plan_cache_mode = force_generic_plan; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_sort = off;
    SELECT CASE WHEN current_setting('synchronous_commit') <> 'remote_apply'
           THEN set_config('synchronous_commit', 'on', false) END;";

/// Hints need not be on any disk, and nothing may come for long.
const SET_LISTENER: &str = "SET synchronous_commit = off; SET idle_session_timeout = 0;";

/// A database that servers share.
pub(crate) struct Database {
    reach: Arc<Reach>,
    driver: Driver,
}

/// What it takes to connect.
pub(crate) struct Reach {
    place: Place,
    settings: Settings,
    tls: Tls,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    Writer,
    /// Sends and gets hints.
    Listener,
}

/// A connection, whose traffic the driver's thread handles.
pub(crate) struct Connection {
    pub(crate) client: Arc<Client>,
    pub(crate) statements: Statements,
    /// A text that no other connection has.
    pub(crate) id: String,
    signs: Arc<Signs>,
}

/// What a connection says unasked.
#[derive(Default)]
struct Signs {
    /// Whether the server has warned since this was last looked at.
    warned: AtomicBool,
    /// Why the connection has ended.
    ended: OnceLock<String>,
    /// What other processes hint at.
    heard: HintBox,
}

/// What a server says about itself.
struct Server {
    version: u32,
    encoding: String,
    fsync: String,
    full_page_writes: String,
    is_read_only: bool,
    drawn: String,
}

impl Connection {
    /// Whether the server has warned since this was last asked.
    pub(crate) fn take_warning(&self) -> bool {
        self.signs.warned.swap(false, Ordering::AcqRel)
    }

    /// The hints that come on it; also woken when it has ended.
    pub(crate) fn heard(&self) -> &HintBox {
        &self.signs.heard
    }
}

impl Database {
    /// The database at `url`, which is not connected to yet.
    ///
    /// # Errors
    /// [`StoreError::Url`], [`StoreError::Unfit`] and [`StoreError::Io`].
    pub(crate) fn at(url: &DatabaseUrl) -> Result<Self, StoreError> {
        let place = Place::Database(url.clone());
        let settings = match Settings::of(url, &Environment::read()) {
            Ok(settings) => settings,
            Err(reason) => return Err(StoreError::Url { place, reason }),
        };
        let tls =
            if settings.uses_tls() { Tls::trusting(settings.root_certificates.as_deref()) } else { Ok(Tls::none()) };
        let tls = tls.map_err(|reason| StoreError::Unfit { place: place.clone(), reason })?;
        let driver =
            Driver::start().map_err(|error| StoreError::Io { place: place.clone(), reason: error.to_string() })?;
        Ok(Self { reach: Arc::new(Reach { place, settings, tls }), driver })
    }

    pub(crate) fn place(&self) -> &Place {
        &self.reach.place
    }

    /// The schema that the URL names.
    pub(crate) fn schema(&self) -> Option<&str> {
        self.reach.settings.schema.as_deref()
    }

    /// Connects to the first host that can be written to.
    ///
    /// # Errors
    /// [`Trouble`]
    pub(crate) fn connect(&self, role: Role) -> Result<Connection, Trouble> {
        let reach = Arc::clone(&self.reach);
        let Some(alive) = self.driver.alive() else { return Err(self.stopped()) };
        self.driver.run(async move { reach.connect(role, &alive).await }).unwrap_or_else(|| Err(self.stopped()))
    }

    /// Lets `work` use the connection, and gives it back unless it is lost. What takes longer than `deadline`, or what nobody waits
    /// for any more, ends the connection, and what the server does for it.
    pub(crate) fn with<T: Send + 'static>(
        &self,
        mut connection: Connection,
        deadline: Duration,
        work: impl for<'a> FnOnce(&'a mut Connection) -> BoxFuture<'a, Result<T, Fault>> + Send + 'static,
    ) -> (Option<Connection>, Result<T, Trouble>) {
        let (reach, stop) = (Arc::clone(&self.reach), patience::stop());
        let done = self.driver.run(async move {
            let worked = tokio::select! {
                // What is ready counts, also where nobody waits for it.
                biased;
                worked = timeout(deadline, work(&mut connection)) => worked.map_err(|_| None),
                () = is_set(stop) => Err(Some(StoreError::Left)),
            };
            let trouble = match worked {
                Ok(Ok(answer)) => return (Some(connection), Ok(answer)),
                Ok(Err(fault)) => Trouble::of(&reach.place, fault, connection.signs.ended.get().map(String::as_str)),
                Err(left) => {
                    // A server goes on with a statement whose connection has ended.
                    tokio::spawn(cancel(connection.client.cancel_token(), reach.tls.clone()));
                    match left {
                        Some(error) => Trouble { error, state: None, is_lost: true },
                        None => Trouble::lost(&reach.place, "the database does not answer in time"),
                    }
                }
            };
            ((!trouble.is_lost).then_some(connection), Err(trouble))
        });
        done.unwrap_or_else(|| (None, Err(self.stopped())))
    }

    /// Starts a task on the driver's thread, which may connect by itself. None where the driver has ended.
    pub(crate) fn spawn<F>(&self, task: impl FnOnce(Arc<Reach>, Alive) -> F) -> Option<AbortHandle>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Some(self.driver.spawn(task(Arc::clone(&self.reach), self.driver.alive()?)))
    }

    fn stopped(&self) -> Trouble {
        let error = StoreError::Stopped { place: self.reach.place.clone() };
        Trouble { error, state: None, is_lost: true }
    }
}

impl Reach {
    pub(crate) async fn connect(&self, role: Role, alive: &Alive) -> Result<Connection, Trouble> {
        let mut reasons = Vec::new();
        for target in &self.settings.hosts {
            let reason = match timeout(target.timeout, self.open(target, role, alive)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(StoreError::Unreachable { reason, .. })) => reason,
                // Other hosts of the same database would say the same.
                Ok(Err(error)) => return Err(Trouble { error: self.explain(error), state: None, is_lost: true }),
                Err(_) => "it does not answer in time".to_owned(),
            };
            reasons.push(format!("{}: {reason}", target.name.escape_debug()));
        }
        Err(Trouble::lost(&self.place, &reasons.join("; ")))
    }

    /// Says why a password may be missing.
    fn explain(&self, error: StoreError) -> StoreError {
        match (error, &self.settings.unused_passfile) {
            (StoreError::Denied { place, reason }, Some(why)) => {
                StoreError::Denied { place, reason: format!("{reason}; {why}") }
            }
            (error, _) => error,
        }
    }

    async fn open(&self, target: &Target, role: Role, alive: &Alive) -> Result<Connection, StoreError> {
        let refused = |error: &tokio_postgres::Error| refusal::refusal(&self.place, error, None);
        let (client, traffic) = target.config.connect(self.tls.clone()).await.map_err(|error| refused(&error))?;
        let signs = Arc::new(Signs::default());
        tokio::spawn(attend(traffic, Arc::clone(&signs), alive.clone()));
        let schema = self.settings.schema.as_ref().map(|schema| format!("SET search_path = \"{schema}\";"));
        // The server is asked first, because what is set changes what it would say.
        let set = match role {
            Role::Reader => SET_READER,
            Role::Writer => SET_WRITER,
            Role::Listener => SET_LISTENER,
        };
        let begin = format!("{ASK_SERVER} {SET_PLANS} {} {set}", schema.unwrap_or_default());
        let messages = client.simple_query(&begin).await.map_err(|error| refused(&error))?;
        let server =
            Server::read(&messages).ok_or_else(|| self.unfit("it does not answer as PostgreSQL does".to_owned()))?;
        server.check(role).map_err(|reason| self.unfit(reason))?;
        if server.is_read_only {
            let reason = "it can be read only".to_owned();
            return Err(StoreError::Unreachable { place: self.place.clone(), reason });
        }
        // The notices of the beginning do not count.
        signs.warned.store(false, Ordering::Release);
        Ok(Connection { client: Arc::new(client), statements: Statements::default(), id: server.drawn, signs })
    }

    fn unfit(&self, reason: String) -> StoreError {
        StoreError::Unfit { place: self.place.clone(), reason }
    }
}

impl Server {
    fn read(messages: &[SimpleQueryMessage]) -> Option<Self> {
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        })?;
        let text = |column: usize| row.try_get(column).ok().flatten().unwrap_or_default().to_owned();
        Some(Self {
            version: text(0).parse().ok()?,
            encoding: text(1),
            fsync: text(2),
            full_page_writes: text(3),
            is_read_only: text(4) == "on",
            drawn: text(5),
        })
    }

    fn check(&self, role: Role) -> Result<(), String> {
        if self.version < OLDEST_SERVER {
            return Err(format!("it is version {}, and a store needs 14 or later", self.version / 10_000));
        }
        if self.encoding != "UTF8" {
            return Err(format!("its encoding is `{}`, and a store needs `UTF8`", self.encoding.escape_debug()));
        }
        let settings = [("fsync", &self.fsync), ("full_page_writes", &self.full_page_writes)];
        match settings.into_iter().find(|(_, value)| role == Role::Writer && *value == "off") {
            Some((name, _)) => Err(format!("the database has `{name}` off, so a crash can lose what is stored")),
            None => Ok(()),
        }
    }
}

/// Becomes ready when the flag is set; never without one.
async fn is_set(stop: Option<Arc<AtomicBool>>) {
    let Some(stop) = stop else { return std::future::pending().await };
    while !stop.load(Ordering::Relaxed) {
        sleep(LOOK_EVERY).await;
    }
}

/// Has the server end what it does for a connection, which is not used any more: a cancellation that comes late would hit what is
/// asked next.
async fn cancel(token: CancelToken, tls: Tls) {
    // Where it does not get through, `statement_timeout` ends the statement.
    let _cancelled_or_not = timeout(MAX_CANCEL, token.cancel_query(tls)).await;
}

/// Handles what comes and goes on a connection, until it has ended.
async fn attend(mut traffic: tokio_postgres::Connection<Socket, Stream>, signs: Arc<Signs>, alive: Alive) {
    loop {
        match poll_fn(|context| traffic.poll_message(context)).await {
            // A commit whose wait for the standby was cancelled ends with a warning.
            Some(Ok(AsyncMessage::Notice(notice))) if notice.parsed_severity() == Some(Severity::Warning) => {
                signs.warned.store(true, Ordering::Release);
            }
            Some(Ok(AsyncMessage::Notification(notification))) => signs.heard.add(Hint::read(notification.payload())),
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                // Nobody else tells why.
                let _first = signs.ended.set(refusal::message(&error));
                break;
            }
            None => break,
        }
    }
    signs.heard.wake();
    drop(alive);
}
