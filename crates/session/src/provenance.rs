//! Where a call comes from: members that actions, calls in facts and entries have alike.

use proofmark_receipt::{Json, Object};

/// The members, each a text:
///
/// - `source`: who saw the call: `guard`, `hook`, or `trace`, a record that the agent's host wrote
/// - `surface`: whose tool it is: `mcp` or `host`
/// - `server`: what the MCP server is called here
/// - `origin`: the command or the URL that the server is reached by
/// - `origin_sha256`: the digest of that, of which no part is masked
/// - `origin_state`: how it compares with the pinned one
/// - `process`: which start of the agent's host it belongs to; of a call that is decided on, it is a fact of the agent
pub const PROVENANCE: [&str; 7] = ["source", "surface", "server", "origin", "origin_sha256", "origin_state", "process"];

/// Copies what `from` says of a call's provenance.
pub fn copy_provenance(from: &Object, to: &mut Object) {
    for name in PROVENANCE {
        if let Some(text) = from.get(name).and_then(Json::as_str) {
            to.insert(name, text);
        }
    }
}
