//! The ids of a request in a trace, which a client may begin (W3C Trace Context).

use axum::http::HeaderMap;
use proofmark_decider::Trace;

/// A new span of the trace that these headers name, or else of a new trace. `None` if the system gives no randomness.
pub(crate) fn of(headers: &HeaderMap) -> Option<Trace> {
    let mut given = headers.get_all("traceparent").iter();
    match (given.next(), given.next()) {
        (Some(one), None) => Trace::after(one.to_str().ok()),
        // A header that is repeated starts a new trace, as a malformed one does (Trace Context, section 4).
        (_, _) => Trace::after(None),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn of_two_headers_one_would_be_a_guess() {
        let parent = HeaderValue::from_static("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let mut headers = HeaderMap::new();
        headers.append("traceparent", parent.clone());
        assert_eq!(of(&headers).unwrap().parent().as_deref(), Some("00f067aa0ba902b7"));
        headers.append("traceparent", parent);
        assert_eq!(of(&headers).unwrap().parent(), None);
        assert_eq!(of(&HeaderMap::new()).unwrap().parent(), None);
    }
}
