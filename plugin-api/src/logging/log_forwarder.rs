//! Records of the `log` crate.

use log::{Level, LevelFilter, Log, Metadata, Record};

use super::current::current;
use crate::abi::log_level;

struct Forwarder;

/// Makes this library's copy of `log` forward to the host. If the component's tests installed a
/// logger before, that one stays.
pub(super) fn install() {
    let _ = log::set_logger(&Forwarder);
}

/// Lets records up to this level through; instances with a lower one are sorted out later.
pub(super) fn raise_max_level(level: u32) {
    log::set_max_level(match level {
        0 => LevelFilter::Off,
        log_level::ERROR => LevelFilter::Error,
        log_level::WARN => LevelFilter::Warn,
        log_level::INFO => LevelFilter::Info,
        log_level::DEBUG => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    });
}

fn number(level: Level) -> u32 {
    match level {
        Level::Error => log_level::ERROR,
        Level::Warn => log_level::WARN,
        Level::Info => log_level::INFO,
        Level::Debug => log_level::DEBUG,
        Level::Trace => log_level::TRACE,
    }
}

impl Log for Forwarder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        current().is_some_and(|host| number(metadata.level()) <= host.log_level())
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(host) = current() {
            host.log(number(record.level()), &record.args().to_string());
        }
    }

    fn flush(&self) {}
}
