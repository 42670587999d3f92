//! Makes a router of the endpoints.

use std::sync::Arc;

use axum::{Router, middleware};

use crate::endpoint::Endpoint;
use crate::observe::observe;
use crate::problem::Problem;
use crate::proxies::counted;
use crate::state::AppState;

pub(crate) fn router<'a>(endpoints: impl IntoIterator<Item = &'a Endpoint>, state: Arc<AppState>) -> Router {
    let add = |router: Router<_>, endpoint: &Endpoint| router.route(endpoint.path, endpoint.handler.clone());
    let routes = endpoints.into_iter().fold(Router::new(), add);
    routes
        .fallback(|| async { Problem::unknown_path() })
        .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
        // After the fallbacks: a layer of axum covers only what was added before it.
        .layer(middleware::from_fn(counted))
        .layer(middleware::from_fn(observe))
        .with_state(state)
}
