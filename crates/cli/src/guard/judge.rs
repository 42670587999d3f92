//! What decides on a connection: a guard of this process, or one that lives in a server.

use proofmark_agents::{Passage, RemoteGuard};
use proofmark_decider::{Guard, Passage as Decided};
use proofmark_guard::Moving;

/// What is told of everything that happens at a connection, and says what is to be moved.
pub(super) trait Judge: Send + Sync + 'static {
    /// Takes in a line of the client.
    fn client_said(&self, line: Vec<u8>) -> Vec<Passage>;
    /// Takes in a line of the client that goes nowhere, because the server does not read.
    fn not_forwarded(&self, line: Vec<u8>) -> Vec<Passage>;
    /// Takes in a line of the server.
    fn server_said(&self, line: Vec<u8>) -> Vec<Passage>;
    /// Takes in that time has passed.
    fn tick(&self) -> Vec<Passage>;
    /// Takes in that everything before [`Passage::Moved`] has been moved.
    fn moved(&self, moving: Moving) -> Vec<Passage>;
    /// Whether the server must not be closed yet.
    fn waits_for_list(&self) -> bool;
    /// Takes in that the client sends nothing more.
    fn client_ended(&self) -> Vec<Passage>;
    /// Takes in that the server has ended.
    fn server_ended(&self) -> Vec<Passage>;
    /// Records what waits, where that is this side's to do.
    fn flush(&self) -> Result<(), String>;
    /// Ends the session.
    fn close(&self) -> Result<(), String>;
}

impl Judge for Guard {
    fn client_said(&self, line: Vec<u8>) -> Vec<Passage> {
        passages(Guard::from_client(self, line))
    }

    fn not_forwarded(&self, line: Vec<u8>) -> Vec<Passage> {
        passages(Guard::not_forwarded(self, line))
    }

    fn server_said(&self, line: Vec<u8>) -> Vec<Passage> {
        passages(Guard::from_server(self, line))
    }

    fn tick(&self) -> Vec<Passage> {
        passages(Guard::tick(self))
    }

    fn moved(&self, moving: Moving) -> Vec<Passage> {
        passages(Guard::moved(self, moving))
    }

    fn waits_for_list(&self) -> bool {
        Guard::waits_for_list(self)
    }

    fn client_ended(&self) -> Vec<Passage> {
        passages(Guard::client_ended(self))
    }

    fn server_ended(&self) -> Vec<Passage> {
        passages(Guard::server_ended(self))
    }

    fn flush(&self) -> Result<(), String> {
        Guard::flush(self).map_err(|error| error.to_string())
    }

    fn close(&self) -> Result<(), String> {
        Guard::close(self).map_err(|error| error.to_string())
    }
}

impl Judge for RemoteGuard {
    fn client_said(&self, line: Vec<u8>) -> Vec<Passage> {
        RemoteGuard::from_client(self, line)
    }

    fn not_forwarded(&self, line: Vec<u8>) -> Vec<Passage> {
        RemoteGuard::not_forwarded(self, line)
    }

    fn server_said(&self, line: Vec<u8>) -> Vec<Passage> {
        RemoteGuard::from_server(self, line)
    }

    fn tick(&self) -> Vec<Passage> {
        RemoteGuard::tick(self)
    }

    fn moved(&self, moving: Moving) -> Vec<Passage> {
        RemoteGuard::moved(self, moving)
    }

    fn waits_for_list(&self) -> bool {
        RemoteGuard::waits_for_list(self)
    }

    fn client_ended(&self) -> Vec<Passage> {
        RemoteGuard::client_ended(self)
    }

    fn server_ended(&self) -> Vec<Passage> {
        RemoteGuard::server_ended(self)
    }

    fn flush(&self) -> Result<(), String> {
        // The server records, and says so when it cannot.
        Ok(())
    }

    fn close(&self) -> Result<(), String> {
        RemoteGuard::close(self)
    }
}

fn passages(decided: Vec<Decided>) -> Vec<Passage> {
    decided.into_iter().map(Passage::from).collect()
}
