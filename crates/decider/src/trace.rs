//! The ids of a request or a message in a trace, which its sender may begin (W3C Trace Context).

use proofmark_receipt::hex;

/// The trace that something belongs to, and its own span in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    trace: [u8; 16],
    span: [u8; 8],
    /// The sender's span.
    parent: Option<[u8; 8]>,
}

impl Trace {
    /// A new span of the trace that a `traceparent` names, or else of a new trace. `None` if the system gives no randomness. The
    /// sender's sampling flag is ignored, because the sender must not decide what is recorded here.
    #[must_use]
    pub fn after(traceparent: Option<&str>) -> Option<Self> {
        let mut trace = [0; 16];
        let parent = traceparent.and_then(read);
        match parent {
            Some((theirs, _)) => trace = theirs,
            // A malformed one starts a new trace (Trace Context, section 4).
            None => getrandom::fill(&mut trace).ok()?,
        }
        Some(Self { trace, span: new_span()?, parent: parent.map(|(_, parent)| parent) })
    }

    /// A span within this one.
    #[must_use]
    pub fn child(&self) -> Option<Self> {
        Some(Self { trace: self.trace, span: new_span()?, parent: Some(self.span) })
    }

    /// The trace, in hex.
    #[must_use]
    pub fn trace_id(&self) -> String {
        hex::encode(&self.trace)
    }

    /// The span, in hex.
    #[must_use]
    pub fn span_id(&self) -> String {
        hex::encode(&self.span)
    }

    /// The span that it is in, in hex.
    #[must_use]
    pub fn parent(&self) -> Option<String> {
        self.parent.map(|parent| hex::encode(&parent))
    }
}

fn new_span() -> Option<[u8; 8]> {
    let mut span = [0; 8];
    getrandom::fill(&mut span).ok()?;
    Some(span)
}

/// `00-TRACE-PARENT-FLAGS` (Trace Context, section 3.2). Later versions may have more fields.
fn read(text: &str) -> Option<([u8; 16], [u8; 8])> {
    let mut fields = text.split('-');
    let version: [u8; 1] = hex::decode_lower(fields.next()?)?;
    let (trace, parent) = (hex::decode_lower::<16>(fields.next()?)?, hex::decode_lower::<8>(fields.next()?)?);
    let _flags: [u8; 1] = hex::decode_lower(fields.next()?)?;
    let ends = version != [0] || fields.next().is_none();
    (version != [0xff] && ends && trace != [0; 16] && parent != [0; 8]).then_some((trace, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_trace_of_the_sender_goes_on() {
        for parent in [PARENT, "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"] {
            let trace = Trace::after(Some(parent)).unwrap();
            assert_eq!(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736", "{parent}");
            assert_eq!(trace.parent().as_deref(), Some("00f067aa0ba902b7"), "{parent}");
            assert_ne!(Some(trace.span_id()), trace.parent());
            let child = trace.child().unwrap();
            assert_eq!((child.trace_id(), child.parent()), (trace.trace_id(), Some(trace.span_id())));
        }
    }

    #[test]
    fn what_is_not_a_trace_begins_a_new_one() {
        let upper = PARENT.to_ascii_uppercase();
        let zeros = PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let (more, short, later) = (format!("{PARENT}-x"), &PARENT[..54], PARENT.replacen("00", "ff", 1));
        for parent in ["", "00", &upper, &zeros, &more, short, &later, "00-é"] {
            let trace = Trace::after(Some(parent)).unwrap();
            assert!(trace.parent().is_none() && trace.trace_id().len() == 32, "{parent}");
        }
        assert_ne!(Trace::after(None).unwrap().trace_id(), Trace::after(None).unwrap().trace_id());
    }
}
