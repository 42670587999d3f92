//! What is said about one request until it is answered: how far it is, and the answer.
//!
//! Only the last report of progress is kept, so a client that reads slowly neither holds up the work nor fills memory.

use std::sync::Arc;

use axum::body::Bytes;
use tokio::sync::watch;

/// Says something about one request. When it is dropped without an answer, there is none: the request was cancelled.
pub(super) struct Says(watch::Sender<Said>);

/// Hears what is said about one request.
pub(super) struct Hears {
    said: watch::Receiver<Said>,
    /// How many reports were heard, or made before the last one that was.
    reports: u64,
    has_answer: bool,
    /// What stays open until the answer is heard: the request, whose id a client that has the answer may use again.
    open: Option<Arc<dyn Send + Sync>>,
}

/// One message to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A report of progress, and the how manieth it is.
    Report(u64, Bytes),
    Answer(Bytes),
}

#[derive(Clone, Default)]
pub(super) struct Said {
    reports: u64,
    report: Bytes,
    answer: Option<Bytes>,
}

/// The two ends for one request.
pub(super) fn channel() -> (Says, watch::Receiver<Said>) {
    let (says, said) = watch::channel(Said::default());
    (Says(says), said)
}

impl Says {
    pub(super) fn report(&self, report: String) {
        self.0.send_modify(|said| {
            // Only the last report is kept: a client that reads slowly must not make the server hold them all.
            said.reports += 1;
            said.report = report.into();
        });
    }

    pub(super) fn answer(self, answer: String) {
        self.0.send_modify(|said| said.answer = Some(answer.into()));
    }
}

impl Hears {
    /// Hears what is said from after so many reports on.
    pub(super) fn after(reports: u64, said: watch::Receiver<Said>, open: Option<Arc<dyn Send + Sync>>) -> Self {
        Self { said, reports, has_answer: false, open }
    }

    /// The next message; none after the answer, or when the request was cancelled. It loses nothing where it is not waited for to the
    /// end.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        loop {
            let answer = {
                let said = self.said.borrow_and_update();
                if said.reports > self.reports {
                    self.reports = said.reports;
                    return Some(Heard::Report(said.reports, said.report.clone()));
                }
                if self.has_answer {
                    return None;
                }
                said.answer.clone()
            };
            if let Some(answer) = answer {
                self.has_answer = true;
                self.open = None;
                return Some(Heard::Answer(answer));
            }
            self.said.changed().await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_report_and_the_answer_are_heard_however_late() {
        let (says, said) = channel();
        let mut hears = Hears::after(0, said.clone(), None);
        says.report("a".to_owned());
        assert_eq!(hears.next().await, Some(Heard::Report(1, "a".into())));
        says.report("b".to_owned());
        says.report("c".to_owned());
        says.answer("d".to_owned());
        for mut hears in [hears, Hears::after(1, said.clone(), None)] {
            assert_eq!(hears.next().await, Some(Heard::Report(3, "c".into())));
            assert_eq!(hears.next().await, Some(Heard::Answer("d".into())));
            assert_eq!(hears.next().await, None);
        }
        assert_eq!(Hears::after(3, said, None).next().await, Some(Heard::Answer("d".into())));
        let (says, said) = channel();
        drop(says);
        assert_eq!(Hears::after(0, said, None).next().await, None, "it was cancelled");
    }
}
