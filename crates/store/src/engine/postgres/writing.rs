//! The connection that writes: groups, and what becomes of a commit whose connection is lost.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join;
use tokio_postgres::error::SqlState;

use crate::engine::clock::Clock;
use crate::engine::postgres::asking;
use crate::engine::postgres::batch;
use crate::engine::postgres::connection::{Connection, Database, Role};
use crate::engine::postgres::flight::Flight;
use crate::engine::postgres::schema;
use crate::engine::postgres::trouble::Trouble;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::statement::{Question, Record, Statement};
use crate::value::{Value, values};

/// How long the database may take for one round trip of a group: longer than it waits for a lock itself.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long a commit may take altogether, with asking what became of it.
const COMMIT_DEADLINE: Duration = Duration::from_secs(20);

/// How long the writer waits before it asks again what became of a commit.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// A marker that a process left behind is deleted after this time, in milliseconds.
const MARKERS_STAY: i64 = 24 * 3_600_000;

/// So many statements are sent while the writer settles and signs what comes after them.
const PORTION: usize = 16;

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Keeps all other groups, and migrations, waiting until this one has ended.
const LOCK: &str = "SELECT latest, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) FROM clock FOR UPDATE";

/// Asked behind the lock: a part of that statement would see what was so before it waited.
const VERSION: &str = "SELECT needs, version FROM proofmark";

const TIME: &str = "SELECT latest, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) FROM clock";

const MARK: &str = "INSERT INTO groups (writer, number, made_at)
    VALUES ($1, $2, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint))";

/// The group before was decided when this one got the lock. So nobody asks for its marker any more.
const UNMARK: &str = "DELETE FROM groups WHERE writer = $1 AND number < $2";

/// The connection that writes.
pub(crate) struct Writing {
    database: Arc<Database>,
    clock: Arc<Clock>,
    connection: Option<Connection>,
    /// What goes with the next questions, with the commit, or when there is enough of it.
    told: Vec<Statement>,
    /// What was sent of the group and is not known to be done.
    sent: Vec<Flight>,
    /// Who writes, and which of its groups this is.
    writer: String,
    number: i64,
    /// The latest time that was recorded before the group.
    recorded: i64,
    /// What the server's clock showed when the group began, and when that was.
    begun: (i64, Instant),
}

impl Writing {
    /// Writes on this connection, and deletes what processes that have ended left behind.
    ///
    /// # Errors
    /// As [`crate::Store::open`].
    pub(crate) fn open(database: Arc<Database>, connection: Connection, clock: Arc<Clock>) -> Result<Self, StoreError> {
        let mut writing = Self {
            database,
            clock,
            writer: connection.id.clone(),
            connection: Some(connection),
            told: Vec::new(),
            sent: Vec::new(),
            number: 0,
            recorded: 0,
            begun: (0, Instant::now()),
        };
        let place = writing.database.place().clone();
        let prune = "DELETE FROM groups
                     WHERE made_at < CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) - $1 RETURNING 1";
        let questions = [Question::alone(prune, values![MARKERS_STAY]), Question::alone(TIME, [])];
        let learned = writing.ask(&questions).and_then(|mut answers| {
            for time in &answers.pop().unwrap_or_default() {
                // From here on it is known what the clock of the database shows.
                let _now = writing.clock.of_database(time.get(1)?, time.get(0)?);
            }
            Ok(())
        });
        learned.map_err(|fault| StoreError::of_fault(&place, &fault))?;
        Ok(writing)
    }

    /// See [`crate::engine::Engine::begin_with`]. One round trip.
    pub(crate) fn begin_with(&mut self, questions: &[Question]) -> Result<Vec<Vec<Record>>, Fault> {
        self.told.clear();
        self.sent.clear();
        self.number = self.number.saturating_add(1);
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        Ok(self.begin_on(connection, questions.to_vec())?)
    }

    /// The time that counts now, in milliseconds after 1970-01-01T00:00:00Z.
    pub(crate) fn now(&self) -> i64 {
        let (shown, at) = self.begun;
        let elapsed = i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.clock.of_database(shown.saturating_add(elapsed), self.recorded)
    }

    /// See [`crate::engine::Engine::ask`].
    pub(crate) fn ask(&mut self, questions: &[Question]) -> Result<Vec<Vec<Record>>, Fault> {
        let (told, sent) = (std::mem::take(&mut self.told), std::mem::take(&mut self.sent));
        if told.is_empty() && sent.is_empty() && questions.is_empty() {
            return Ok(Vec::new());
        }
        let (questions, count) = (questions.to_vec(), questions.len());
        let connection = self.connection()?;
        let (connection, answers) = self.database.with(connection, DEADLINE, move |connection| {
            Box::pin(async move {
                let made = async {
                    let told = batch::ready(connection, told).await?;
                    Ok((told, asking::ready(connection, questions).await?))
                };
                let (sent, (mut flying, (ready, asked))) = behind(sent, made.await).await?;
                let told = flying.len();
                flying.extend(ready);
                let flight = Flight::launch(&connection.client, flying).await;
                let mut answers = land(sent, flight).await?;
                Ok(asking::answers(answers.split_off(told), &asked, count))
            })
        });
        self.connection = connection;
        Ok(answers?)
    }

    /// See [`crate::engine::Engine::tell`]. What is sent runs while the writer goes on.
    pub(crate) fn tell(&mut self, statements: Vec<Statement>) -> Result<(), Fault> {
        self.told.extend(statements);
        if self.told.len() < PORTION {
            return Ok(());
        }
        let (told, sent) = (std::mem::take(&mut self.told), std::mem::take(&mut self.sent));
        let connection = self.connection()?;
        let (connection, sent) = self.database.with(connection, DEADLINE, move |connection| {
            Box::pin(async move {
                let ready = batch::ready(connection, told).await;
                let (mut sent, ready) = behind(sent, ready).await?;
                sent.push(Flight::launch(&connection.client, ready).await);
                Ok(sent)
            })
        });
        self.connection = connection;
        self.sent = sent?;
        Ok(())
    }

    /// Ends the group. When the connection is lost meanwhile, or the server warns that it may not be on the standby, the
    /// marker tells what became of it.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] when that could not be asked; else the group is not stored.
    pub(crate) fn commit(&mut self) -> Result<(), Fault> {
        let begun = Instant::now();
        let (told, sent) = (std::mem::take(&mut self.told), std::mem::take(&mut self.sent));
        let marker = values![&self.writer, self.number];
        let connection = self.connection()?;
        let (connection, committed) = self.database.with(connection, DEADLINE, move |connection| {
            Box::pin(async move {
                let made = async {
                    let mut flying = batch::ready(connection, told).await?;
                    for sql in [MARK, UNMARK] {
                        flying.push(connection.statements.ready(&connection.client, sql, marker.to_vec()).await?);
                    }
                    Ok(flying)
                };
                let (sent, flying) = behind(sent, made.await).await?;
                let flight = Flight::launch(&connection.client, flying).await;
                // A statement that fails makes the commit behind it undo the group.
                let (told, committed) = join(land(sent, flight), connection.client.batch_execute("COMMIT")).await;
                told?;
                Ok(committed?)
            })
        });
        match committed {
            Err(trouble) if !trouble.is_lost => {
                self.connection = connection;
                Err(trouble.into())
            }
            Ok(()) if connection.as_ref().is_some_and(|connection| !connection.take_warning()) => {
                self.connection = connection;
                self.plan_anew();
                Ok(())
            }
            // The connection is not used again: what it waits for must not be cancelled by what comes after.
            Ok(()) | Err(_) => self.look_for_marker(begun + COMMIT_DEADLINE),
        }
    }

    /// Has the server plan the statements anew after the second group, the fourth, the eighth, and so on. A plan is made for tables
    /// as large as they are then: one that was made while they were empty may use an index that finds half of a table, and would
    /// stay until the server counts the rows, which it does by itself once a minute.
    fn plan_anew(&mut self) {
        if let Some(connection) = self.connection.as_mut().filter(|_| self.number.count_ones() == 1) {
            connection.statements.forget();
        }
    }

    /// Undoes the group, after an error.
    pub(crate) fn roll_back(&mut self) {
        self.told.clear();
        self.sent.clear();
        let Some(connection) = self.connection.take() else { return };
        let (connection, undone) = self.database.with(connection, DEADLINE, |connection| {
            Box::pin(async move { Ok(connection.client.batch_execute("ROLLBACK").await?) })
        });
        self.connection = connection.filter(|_| undone.is_ok());
    }

    fn connection(&mut self) -> Result<Connection, Fault> {
        self.connection.take().ok_or_else(|| Trouble::lost(self.database.place(), "the connection was lost").into())
    }

    fn connect(&self) -> Result<Connection, Trouble> {
        self.database.connect(Role::Writer)
    }

    fn begin_on(&mut self, connection: Connection, questions: Vec<Question>) -> Result<Vec<Vec<Record>>, Trouble> {
        let _before = connection.take_warning();
        let (connection, locked) = self.database.with(connection, DEADLINE, |connection| {
            Box::pin(async move {
                let count = questions.len();
                let (mut flying, asked) = asking::ready(connection, questions).await?;
                // Each question sees what was committed before it begins, which is after the lock is there.
                for sql in [VERSION, LOCK] {
                    flying.insert(0, connection.statements.ready(&connection.client, sql, Vec::new()).await?);
                }
                let begin = connection.client.batch_execute(BEGIN);
                let rest = async { Flight::launch(&connection.client, flying).await.land().await };
                let (begun, answers) = join(begin, rest).await;
                begun?;
                let mut answers = answers?.into_iter();
                let row = answers.next().unwrap_or_default().pop();
                let row = row.ok_or_else(|| Fault::Changed("the clock has no row".to_owned()))?;
                let schema = answers.next().unwrap_or_default().pop();
                let schema = schema.ok_or_else(|| Fault::Changed("the schema has no version".to_owned()))?;
                let answers = asking::answers(answers.collect(), &asked, count);
                Ok(([row.get(0)?, row.get(1)?, schema.get(0)?, schema.get(1)?], answers))
            })
        });
        self.connection = connection;
        let ([recorded, shown, needs, version], answers) = locked?;
        // A newer server may have changed the store since it was opened here.
        schema::check(self.database.place(), version, needs).map_err(Trouble::refused)?;
        (self.recorded, self.begun) = (recorded, (shown, Instant::now()));
        Ok(answers)
    }

    /// Takes the identity of another, to be the same group on another connection.
    #[cfg(test)]
    pub(crate) fn be(&mut self, other: &Self) {
        (self.writer, self.number) = (other.writer.clone(), other.number);
    }

    /// Whether the group was stored: it was if its marker cannot be inserted, and else it never will be.
    pub(crate) fn look_for_marker(&mut self, deadline: Instant) -> Result<(), Fault> {
        loop {
            match self.is_marked() {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    return Err(
                        Trouble::lost(self.database.place(), "the connection was lost before the commit").into()
                    );
                }
                // The commit may still be under way, or the database be away.
                Err(_) if Instant::now() + ASK_AGAIN < deadline => thread::sleep(ASK_AGAIN),
                Err(_) => return Err(StoreError::Unknown { place: self.database.place().clone() }.into()),
            }
        }
    }

    fn is_marked(&mut self) -> Result<bool, Trouble> {
        let connection = self.connect()?;
        let marker = values![&self.writer, self.number];
        let (connection, marked) = self.run(connection, MARK, marker.to_vec());
        match marked {
            Ok(()) => {
                self.connection = connection;
                Ok(false)
            }
            Err(Trouble { state: Some(state), .. }) if state == SqlState::UNIQUE_VIOLATION => {
                // It is visible, which does not mean that it is on the standby: a commit that waits for the standby can be
                // made to stop waiting. A later commit is there only when the earlier one is.
                let Some(connection) = connection else {
                    return Err(Trouble::lost(self.database.place(), "the connection was lost"));
                };
                let _before = connection.take_warning();
                let touch = "UPDATE groups SET made_at = made_at WHERE writer = $1 AND number = $2";
                let (connection, touched) = self.run(connection, touch, marker.to_vec());
                touched?;
                match connection.filter(|connection| !connection.take_warning()) {
                    Some(connection) => {
                        self.connection = Some(connection);
                        Ok(true)
                    }
                    None => Err(Trouble::lost(self.database.place(), "the standby does not answer")),
                }
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Runs one statement in a transaction of its own.
    fn run(
        &self,
        connection: Connection,
        sql: &'static str,
        values: Vec<Value>,
    ) -> (Option<Connection>, Result<(), Trouble>) {
        self.database.with(connection, DEADLINE, move |connection| {
            Box::pin(async move {
                let ready = connection.statements.ready(&connection.client, sql, values).await?;
                Flight::launch(&connection.client, vec![ready]).await.land().await.map(drop)
            })
        })
    }
}

/// Waits for all that was sent, the last of it in `flight`, whose answers these are. The first error is that of all.
async fn land(sent: Vec<Flight>, flight: Flight) -> Result<Vec<Vec<Record>>, Fault> {
    for before in sent {
        before.land().await?;
    }
    flight.land().await
}

/// What was made ready behind statements that were sent. After an error of one of these the server refuses to prepare others: then the
/// error of the group is that one, which says whether the group can be settled again.
async fn behind<T>(sent: Vec<Flight>, made: Result<T, Fault>) -> Result<(Vec<Flight>, T), Fault> {
    match made {
        Ok(made) => Ok((sent, made)),
        Err(fault) => {
            for before in sent {
                before.land().await?;
            }
            Err(fault)
        }
    }
}
