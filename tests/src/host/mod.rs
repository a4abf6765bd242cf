//! The real `nri-host` in a folder of its own.
//!
//! ```no_run
//! # use nri_host_tests::{fake_runtime::{FakeRuntime, Profile}, host::{Component, Host, State}};
//! # async fn example() -> anyhow::Result<()> {
//! let runtime = FakeRuntime::start(Profile::newest()).await?;
//! let injector = Component::new("device-injector", 10, "libnri_device_injector.so")
//!     .config(serde_json::json!({ "allow_devices": ["*"] }));
//! let host = Host::builder().socket(runtime.socket()).component(injector).start()?;
//! host.wait_state("device-injector", State::Active).await?;
//! # Ok(())
//! # }
//! ```

mod command;
mod config;
pub mod http;
mod process;
mod reload;
mod resources;
mod status;

pub use command::Finished;
pub use config::{Builder, Component};
pub use process::Host;
pub use reload::{Reloaded, Report};
pub use resources::{Resources, context_switches, resources};
pub use status::{ComponentStatus, RuntimeStatus, State, Status};
