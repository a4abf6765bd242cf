//! nri-host: one process that connects to the container runtime as many NRI plugins, one for each
//! component that it loads.
//!
//! ```text
//!  runtime ── socket ── runtime::session ── component::seat ── component::border ── the .so
//!                          ▲    a component's own thread does all of this ▲
//!                          │                                              │
//!                     supervisor                                component::watchdog
//!               (connects, orders, mends)                  (answers for who is not back)
//! ```
//!
//! | module | job |
//! |---|---|
//! | [`runtime`] | towards the container runtime: framing, messages, versions, sessions |
//! | [`component`] | towards components: files, libraries, instances, and what is told for them |
//! | [`supervisor`] | keeps every component connected and in step |
//! | [`crash`] | whose fault the end of the process is, and who stays out for it |
//! | [`config`] | from files to a validated configuration |
//! | [`admin`] | status, the admin socket, the service manager |
//! | [`cli`] | the commands |
//! | [`doctor`] | why it does not work, and what to do |
//! | [`child`] | what runs in a process of its own: component code that the daemon is kept from |
//! | [`exit`], [`process`] | the exit statuses, and how the process ends |
//! | [`thread_locals`] | what threads must have before they may not wait any more |
//!
//! A request takes one thread from socket to socket. Everything that is not a request runs on one
//! `tokio` thread, which runs no component code and which no request waits for.

pub mod admin;
pub mod child;
pub mod cli;
pub mod component;
pub mod config;
pub mod crash;
pub mod doctor;
pub mod exit;
mod lock;
pub mod process;
pub mod runtime;
mod state;
pub mod supervisor;
pub mod thread_locals;

/// An error and all its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
