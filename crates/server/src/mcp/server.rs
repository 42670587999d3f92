//! What the answers to all clients share.

use std::sync::Arc;

use crate::services::Services;
use crate::share::Limits;
use crate::stop::Stops;

pub(crate) struct Server {
    pub(super) services: Arc<Services>,
    pub(super) limits: Arc<Limits>,
    pub(super) stops: Arc<Stops>,
}

impl Server {
    pub(super) fn new(services: &Arc<Services>, limits: &Arc<Limits>, stops: &Arc<Stops>) -> Arc<Self> {
        let (services, limits, stops) = (Arc::clone(services), Arc::clone(limits), Arc::clone(stops));
        Arc::new(Self { services, limits, stops })
    }
}
