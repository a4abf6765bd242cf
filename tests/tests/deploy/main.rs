//! What `deploy/` holds.

mod manifests;
