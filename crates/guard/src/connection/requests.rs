//! What is done with each method of the protocol, in all its revisions.

use proofmark_receipt::Object;

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// It has no effect but on the connection.
    Pass,
    /// It is about a task that a decided call began.
    OfTask,
    /// It is an action, or a method that nobody knows.
    Decide,
}

/// A request of the client.
pub(super) fn of_client(method: &str) -> Treatment {
    match method {
        "initialize"
        | "ping"
        | "server/discover"
        | "logging/setLevel"
        | "tools/list"
        | "resources/list"
        | "resources/templates/list"
        | "resources/unsubscribe"
        | "prompts/list"
        | "completion/complete"
        | "subscriptions/listen"
        | "tasks/list" => Treatment::Pass,
        "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => Treatment::OfTask,
        // Among them `tools/call`, `resources/read`, `resources/subscribe` and `prompts/get`.
        _ => Treatment::Decide,
    }
}

/// Whether a request that nobody decides on is recorded: it may carry data to the server, or opens a stream of its own.
pub(super) fn is_recorded(method: &str) -> bool {
    matches!(method, "completion/complete" | "subscriptions/listen")
}

/// A request of the server.
pub(super) fn of_server(method: &str) -> Treatment {
    match method {
        "ping" | "roots/list" => Treatment::Pass,
        // Among them `sampling/createMessage` and `elicitation/create`.
        _ => Treatment::Decide,
    }
}

/// Whether a method only reads from the server.
pub(super) fn only_reads(method: &str) -> bool {
    matches!(method, "resources/read" | "resources/subscribe" | "prompts/get")
}

/// The parameters that say what is asked for.
pub(super) fn arguments(mut params: Object) -> Object {
    for name in ["_meta", "inputResponses", "requestState"] {
        params.remove(name);
    }
    params
}
