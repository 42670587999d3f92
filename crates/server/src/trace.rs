//! The ids of a request in a trace, which a client may begin (W3C Trace Context).

use axum::http::HeaderMap;

/// The trace that a request belongs to, and its own span in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    trace: [u8; 16],
    span: [u8; 8],
    /// The client's span.
    parent: Option<[u8; 8]>,
}

impl Trace {
    /// A new span of the trace that these headers name, else of a new trace. None where the system gives no randomness. Whether
    /// the client samples its trace does not matter: it must not decide what is recorded here.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let (mut trace, mut span) = ([0; 16], [0; 8]);
        getrandom::fill(&mut span).ok()?;
        let mut given = headers.get_all("traceparent").iter();
        let parent = match (given.next(), given.next()) {
            (Some(one), None) => one.to_str().ok().and_then(read),
            (_, _) => None,
        };
        match parent {
            Some((theirs, _)) => trace = theirs,
            // A header that is repeated or malformed starts a new trace (Trace Context, section 4).
            None => getrandom::fill(&mut trace).ok()?,
        }
        Some(Self { trace, span, parent: parent.map(|(_, parent)| parent) })
    }

    pub(crate) fn trace_id(&self) -> String {
        hex(&self.trace)
    }

    pub(crate) fn span_id(&self) -> String {
        hex(&self.span)
    }

    pub(crate) fn parent(&self) -> Option<String> {
        self.parent.map(|parent| hex(&parent))
    }
}

/// `00-TRACE-PARENT-FLAGS` (Trace Context, section 3.2). Later versions may have more fields.
fn read(text: &str) -> Option<([u8; 16], [u8; 8])> {
    let mut fields = text.split('-');
    let version: [u8; 1] = bytes(fields.next()?)?;
    let (trace, parent) = (bytes::<16>(fields.next()?)?, bytes::<8>(fields.next()?)?);
    let _flags: [u8; 1] = bytes(fields.next()?)?;
    let ends = version != [0] || fields.next().is_none();
    (version != [0xff] && ends && trace != [0; 16] && parent != [0; 8]).then_some((trace, parent))
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn of(headers: &[&str]) -> Trace {
        let mut map = HeaderMap::new();
        for value in headers {
            map.append("traceparent", HeaderValue::from_str(value).unwrap());
        }
        Trace::of(&map).unwrap()
    }

    #[test]
    fn a_trace_of_the_client_goes_on() {
        for header in [PARENT, "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"] {
            let trace = of(&[header]);
            assert_eq!(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736", "{header}");
            assert_eq!(trace.parent().as_deref(), Some("00f067aa0ba902b7"), "{header}");
            assert_ne!(Some(trace.span_id()), trace.parent());
        }
    }

    #[test]
    fn what_is_not_a_trace_begins_a_new_one() {
        let upper = PARENT.to_ascii_uppercase();
        let zeros = PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let (more, short, later) = (format!("{PARENT}-x"), &PARENT[..54], PARENT.replacen("00", "ff", 1));
        for header in ["", "00", &upper, &zeros, &more, short, &later, "00-é"] {
            let trace = of(&[header]);
            assert!(trace.parent().is_none() && trace.trace_id().len() == 32, "{header}");
        }
        assert!(of(&[PARENT, PARENT]).parent().is_none(), "of two, one would be a guess");
        assert_ne!(of(&[]).trace_id(), of(&[]).trace_id());
    }
}
