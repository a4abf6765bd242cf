//! What annotations lead to, row by row. The numbers of rows are those of
//! `docs/components/device-injector.md`.

mod asking;

mod allow_lists;
mod arbitrary;
mod cdi_devices;
mod devices;
mod keys;
mod log;
mod mounts;
mod node;
mod process;
