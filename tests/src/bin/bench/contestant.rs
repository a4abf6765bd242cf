//! Who takes part, as processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use nri_host_tests::host::{Component, Host, context_switches, resources};
use nri_host_tests::reference;

/// Index of the first plugin.
const FIRST_INDEX: u8 = 10;

/// The mask that a logger subscribes to by default, so that both sides of a race
/// get the same calls: all events but `ValidateContainerAdjustment`, the 14th.
const LOGGED_EVENTS: u16 = 0x1FFF;

/// The built-in components, as they are without any configuration.
const BUILT_IN: [&str; 4] = [
    "libnri_device_injector.so",
    "libnri_logger.so",
    "libnri_cdi_injector.so",
    "libnri_hook_injector.so",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contestant {
    /// The bare responder, a process each.
    Floor,
    /// The same, subscribed to the events that loggers are subscribed to.
    FloorOfLogged,
    /// The smallest plugin on the reference stub, a process each.
    Go,
    /// nri-host with device injectors.
    Injectors,
    /// nri-host with loggers.
    Loggers,
    /// nri-host with a device injector, a logger, and so on.
    Both,
    /// nri-host with the built-in components, one of each.
    BuiltIn,
}

/// Running plugins. They end with this value.
#[derive(Debug)]
pub(crate) struct Running {
    processes: Vec<Child>,
    host: Option<Host>,
    /// `INDEX-NAME` of each plugin.
    pub(crate) plugins: Vec<String>,
}

impl Contestant {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Floor | Self::FloorOfLogged => "bare responder",
            Self::Go => "Go stub",
            Self::Injectors | Self::Loggers | Self::Both | Self::BuiltIn => "nri-host",
        }
    }

    /// Starts `count` plugins that connect to `socket` now or later.
    pub(crate) fn start(self, count: u8, socket: &Path) -> Result<Running> {
        let indexes = FIRST_INDEX..FIRST_INDEX + count;
        let plugins = indexes
            .clone()
            .map(|index| format!("{index}-bench{index}"))
            .collect();
        let mut running = Running {
            processes: Vec::new(),
            host: None,
            plugins,
        };
        match self {
            Self::Floor => running.start_each(&floor()?, indexes, socket, &[])?,
            Self::FloorOfLogged => {
                let mask = LOGGED_EVENTS.to_string();
                running.start_each(&floor()?, indexes, socket, &[&mask])?;
            }
            Self::Go => {
                let program = reference::programs()?.join("smallest-plugin");
                running.start_each(&program, indexes, socket, &[])?;
            }
            Self::Injectors | Self::Loggers | Self::Both | Self::BuiltIn => {
                let builder = Host::builder().quiet().socket(socket);
                let host = indexes
                    .map(|index| self.component(index))
                    .fold(builder, |builder, component| builder.component(component));
                running.host = Some(host.start()?);
            }
        }
        Ok(running)
    }

    fn component(self, index: u8) -> Component {
        let name = format!("bench{index}");
        let every_second = usize::from(index % 2);
        let library = match self {
            Self::Floor | Self::FloorOfLogged | Self::Go | Self::Injectors => BUILT_IN[0],
            Self::Loggers => BUILT_IN[1],
            Self::Both => BUILT_IN[every_second],
            Self::BuiltIn => BUILT_IN[usize::from(index - FIRST_INDEX)],
        };
        Component::new(&name, index, library)
    }
}

impl Running {
    fn start_each(
        &mut self,
        program: &Path,
        indexes: std::ops::Range<u8>,
        socket: &Path,
        more: &[&str],
    ) -> Result<()> {
        for index in indexes {
            let process = Command::new(program)
                .arg(socket)
                .args([index.to_string(), format!("bench{index}")])
                .args(more)
                // The stub logs each start.
                .stderr(Stdio::null())
                .spawn()
                .with_context(|| format!("starting {}", program.display()))?;
            self.processes.push(process);
        }
        Ok(())
    }

    /// Memory of all processes, with what they share among each other and with
    /// others divided, in KiB.
    pub(crate) fn pss_kib(&self) -> Result<u64> {
        self.pids().map(|pid| Ok(resources(pid)?.pss_kib)).sum()
    }

    /// How often their threads have left the processor so far.
    pub(crate) fn context_switches(&self) -> Result<u64> {
        self.pids().map(context_switches).sum()
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        let processes = self.processes.iter().map(Child::id);
        processes.chain(self.host.iter().map(Host::pid))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // Fails only if it has ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The program `floor`, which is built beside this one.
fn floor() -> Result<PathBuf> {
    let floor = std::env::current_exe()?.with_file_name("floor");
    ensure!(
        floor.exists(),
        "{} is not built: use `make bench`",
        floor.display()
    );
    Ok(floor)
}
