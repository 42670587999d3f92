//! Ctrl-C: the first one ends what runs and lets the command say how far it got, the second one ends the command at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::exit::Exit;

/// Whether the command was interrupted.
pub(crate) struct Interrupt {
    /// Set by the first interrupt.
    pub(crate) set: Arc<AtomicBool>,
    /// Whether an interrupt ends the process as if nobody handled it: while it waits for input.
    waits: Arc<AtomicBool>,
}

impl Interrupt {
    /// Handles interrupts from here on, as one that waits.
    pub(crate) fn handle() -> io::Result<Interrupt> {
        let (set, waits) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        // In this order: the first interrupt passes the second line, and sets the flag in the third one.
        flag::register_conditional_default(SIGINT, Arc::clone(&waits))?;
        flag::register_conditional_shutdown(SIGINT, Exit::Interrupted as i32, Arc::clone(&set))?;
        flag::register(SIGINT, Arc::clone(&set))?;
        Ok(Interrupt { set, waits })
    }

    /// Runs what an interrupt may end in its own time: it looks at `set`.
    pub(crate) fn during<T>(&self, run: impl FnOnce() -> T) -> T {
        self.waits.store(false, Ordering::SeqCst);
        let result = run();
        self.waits.store(true, Ordering::SeqCst);
        result
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }
}
