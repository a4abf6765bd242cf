//! Towards the container runtime: framing, messages, versions, and the rules of one connection.
//!
//! | module | job |
//! |---|---|
//! | [`mux`] | byte streams in frames over one socket, inbound |
//! | [`ttrpc`] | messages on those streams, both directions |
//! | [`connection`] | one socket: who reads, who writes, how it ends |
//! | [`version`] | which runtime speaks which NRI, and what it understands |
//! | [`fields`] | protobuf messages as bytes: walk, renumber |
//! | [`shape`] | the messages of the protocol, to check what components answer |
//! | [`update`] | updates outside a request, in the form that every runtime survives |
//! | [`attendance`] | which creations of containers a component was not there for |
//! | [`traffic`] | what is under way, on all connections together |
//! | [`session`] | one plugin on one connection, from registration to loss |

pub mod attendance;
pub mod connection;
pub mod fields;
pub mod mux;
pub mod session;
pub mod shape;
pub mod traffic;
pub mod ttrpc;
pub mod update;
pub mod version;
