//! Configuration files as admins write them, and what they are told about their mistakes.

mod drop_ins;
mod effective;
mod fixture;
mod mistakes;
mod shipped;
mod values;
