//! Pairs calls with their results.

use std::collections::HashMap;

use proofmark_receipt::{Json, Object, object};
use proofmark_session::CallStatus;

use super::MAX_CALLS;
use super::error::{TraceError, TraceFault};
use super::outcome::{self, Mark};
use super::records::Record;
use crate::call::{Call, Given};

/// The calls read so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// Calls without a result, by id.
    open: HashMap<String, usize>,
}

/// A call as recorded.
pub(super) struct Made<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) arguments: Json,
    pub(super) at: Option<&'a str>,
}

/// The result of a call.
pub(super) struct Answer {
    pub(super) result: Option<Json>,
    pub(super) mark: Mark,
}

impl Calls {
    /// Adds a call that was made in the record at `position`, and returns its index.
    pub(super) fn made(&mut self, record: &Record, position: usize, made: Made<'_>) -> Result<usize, TraceError> {
        let index = self.calls.len();
        if index >= MAX_CALLS {
            return Err(TraceError::whole(TraceFault::TooManyCalls));
        }
        if made.name.is_empty() {
            return Err(record.malformed("this call names no tool"));
        }
        // An id may be used again after its result. Before that, the result could be of either call.
        if let Some(id) = made.id
            && self.open.insert(id.to_owned(), index).is_some()
        {
            return Err(record.error(TraceFault::DuplicateCall(id.to_owned())));
        }
        self.calls.push(Call {
            id: made.id.map(str::to_owned),
            tool: made.name.to_owned(),
            arguments: made.arguments,
            result: None,
            given: Given::default(),
            // Until a result comes: such a call proves nothing, and may have changed something.
            status: CallStatus::Pending,
            at: made.at.map(str::to_owned),
            // Of other records than sessions nobody has seen more than the tool.
            provenance: object! { "source": "trace" },
            earlier: false,
            undecided: false,
            index,
            began: position,
            ended: None,
        });
        Ok(index)
    }

    /// Adds the result of the call with this id.
    pub(super) fn answered(
        &mut self,
        record: &Record,
        position: usize,
        id: &str,
        answer: Answer,
    ) -> Result<(), TraceError> {
        let index = self.take_open(record, id)?;
        self.end(index, position, answer);
        Ok(())
    }

    /// Adds the content that the agent got as the result of the call with this id.
    pub(super) fn gave(
        &mut self,
        record: &Record,
        position: usize,
        id: &str,
        content: &Json,
        mark: Mark,
    ) -> Result<(), TraceError> {
        let index = self.take_open(record, id)?;
        self.end(index, position, Answer { result: Some(outcome::result(content)), mark });
        self.given(index, Given { content: Some(content.clone()), ..Given::default() });
        Ok(())
    }

    fn take_open(&mut self, record: &Record, id: &str) -> Result<usize, TraceError> {
        self.open.remove(id).ok_or_else(|| record.error(TraceFault::ResultWithoutCall(id.to_owned())))
    }

    /// Sets what the agent was given.
    pub(super) fn given(&mut self, index: usize, given: Given) {
        if let Some(call) = self.calls.get_mut(index) {
            call.given = given;
        }
    }

    /// Adds the result of the call with this index.
    pub(super) fn end(&mut self, index: usize, position: usize, answer: Answer) {
        if let Some(call) = self.calls.get_mut(index) {
            call.status = outcome::status(answer.mark, answer.result.as_ref());
            call.result = answer.result;
            call.ended = Some(position);
        }
    }

    /// Sets where a call comes from.
    pub(super) fn comes_from(&mut self, index: usize, provenance: Object) {
        if let Some(call) = self.calls.get_mut(index) {
            call.provenance = provenance;
        }
    }

    /// Adds what a call that has not ended returned so far.
    pub(super) fn so_far(&mut self, index: usize, result: Option<Json>) {
        if let Some(call) = self.calls.get_mut(index) {
            call.result = result;
        }
    }

    /// Whether a call with this id waits for its result.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// The call with this index, if it has no result yet.
    pub(super) fn waiting(&self, index: usize) -> Option<&Call> {
        self.calls.get(index).filter(|call| call.ended.is_none())
    }

    pub(super) fn finish(self) -> Vec<Call> {
        self.calls
    }
}
