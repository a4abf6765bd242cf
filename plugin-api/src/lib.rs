//! placeholder
pub mod abi;
