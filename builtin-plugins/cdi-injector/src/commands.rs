//! What an administrator can ask, apart from any instance that runs: `nri-host component NAME ...`.

use std::fmt::Write as _;
use std::io::Write as _;

use nri_plugin_api::cdi::DeviceName;
use nri_plugin_api::{Command, CommandStatus, Error, Output};

use crate::component::CdiInjector;
use crate::edits::{Edits, resolve};
use crate::index::Index;
use crate::settings::{RawSettings, Settings};
use crate::spec::{DeviceNode, Hook, IntelRdt, Mount};

/// All of them.
pub(crate) const COMMANDS: &[Command<CdiInjector>] = &[
    Command::new(
        "list",
        "all devices, with the file and line that define them",
        list,
    ),
    Command::new("check", "what is wrong with the CDI files", check),
    Command::new(
        "resolve",
        "NAME...: what a container with these devices gets",
        show,
    ),
];

/// Reads the files. The settings of an instance that cannot be created are told like everywhere.
fn scan(config: &RawSettings, output: &mut Output<'_>) -> Result<Index, CommandStatus> {
    match Settings::check(config, "") {
        Ok(settings) => Ok(Index::scan(&settings.folders)),
        Err(error) => {
            output.complain(error);
            Err(CommandStatus::BAD_CONFIG)
        }
    }
}

fn list(
    config: &RawSettings,
    args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error> {
    if !args.is_empty() {
        output.complain("list takes no arguments");
        return Ok(CommandStatus::USAGE);
    }
    let index = match scan(config, output) {
        Ok(index) => index,
        Err(status) => return Ok(status),
    };
    for (name, found) in index.devices() {
        let (path, line) = (found.file.path.display(), found.device.line);
        writeln!(output, "{name}\t{path}:{line}")?;
    }
    Ok(CommandStatus::DONE)
}

/// Fails if there is a problem.
fn check(
    config: &RawSettings,
    args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error> {
    if !args.is_empty() {
        output.complain("check takes no arguments");
        return Ok(CommandStatus::USAGE);
    }
    let index = match scan(config, output) {
        Ok(index) => index,
        Err(status) => return Ok(status),
    };
    for problem in index.problems() {
        writeln!(output, "{problem}")?;
    }
    let (files, devices) = (index.file_count(), index.device_count());
    let problems = index.problems().len();
    writeln!(
        output,
        "files: {files}, devices: {devices}, problems: {problems}"
    )?;
    Ok(match problems {
        0 => CommandStatus::DONE,
        _ => CommandStatus::FAILED,
    })
}

fn show(
    config: &RawSettings,
    args: &[String],
    output: &mut Output<'_>,
) -> Result<CommandStatus, Error> {
    if args.is_empty() {
        output.complain("resolve needs the name of a device, such as vendor.com/class=name");
        return Ok(CommandStatus::USAGE);
    }
    let mut names: Vec<DeviceName> = Vec::new();
    for arg in args {
        match arg.parse() {
            Ok(name) => names.push(name),
            Err(error) => output.complain(error),
        }
    }
    if names.len() < args.len() {
        return Ok(CommandStatus::USAGE);
    }
    let index = match scan(config, output) {
        Ok(index) => index,
        Err(status) => return Ok(status),
    };
    match resolve(&index, &names) {
        Ok(edits) => {
            output.write_all(describe(&edits).as_bytes())?;
            Ok(CommandStatus::DONE)
        }
        Err(unknown) => {
            for name in unknown {
                output.complain(format_args!("no CDI file that can be used defines {name}"));
            }
            Ok(CommandStatus::FAILED)
        }
    }
}

/// One line for each edit.
fn describe(edits: &Edits<'_>) -> String {
    let mut lines = String::new();
    let mut line = |kind: &str, what: String, origin: &dyn std::fmt::Display| {
        // Written to a string, which does not fail.
        let _ = writeln!(
            lines,
            "{kind}\t{}\t{origin}",
            what.replace(char::is_control, " ")
        );
    };
    for ((name, value), origin) in edits.env.iter() {
        line("env", format!("{name}={value}"), origin);
    }
    for (node, origin) in edits.device_nodes.iter() {
        line("device", device_node(node), origin);
    }
    for (device, origin) in edits.net_devices.iter() {
        let what = format!("{} as {}", device.host_interface_name, device.name);
        line("network device", what, origin);
    }
    for (mount, origin) in edits.mounts.iter() {
        line("mount", describe_mount(mount), origin);
    }
    for (hook, origin) in &edits.hooks {
        line("hook", describe_hook(hook), origin);
    }
    if let Some((rdt, origin)) = &edits.intel_rdt {
        line("rdt", describe_rdt(rdt), origin);
    }
    for (gid, origin) in &edits.additional_gids {
        line("group", gid.to_string(), origin);
    }
    lines
}

fn device_node(node: &DeviceNode) -> String {
    let mut text = node.path.clone();
    if !node.host_path.is_empty() && node.host_path != node.path {
        let _ = write!(text, " from {}", node.host_path);
    }
    if !node.kind.is_empty() {
        let _ = write!(text, " {} {}:{}", node.kind, node.major, node.minor);
    }
    if let Some(mode) = node.file_mode {
        let _ = write!(text, " mode {mode:04o}");
    }
    if !node.permissions.is_empty() {
        let _ = write!(text, " {}", node.permissions);
    }
    text
}

fn describe_mount(mount: &Mount) -> String {
    let (source, destination) = (&mount.host_path, &mount.container_path);
    format!("{source} on {destination} {}", mount.options.join(","))
}

fn describe_hook(hook: &Hook) -> String {
    let args = hook.args.iter().skip(1).map(String::as_str);
    let words: Vec<_> = [hook.hook_name.as_str(), &hook.path]
        .into_iter()
        .chain(args)
        .collect();
    words.join(" ")
}

fn describe_rdt(rdt: &IntelRdt) -> String {
    let mut text = format!("closID {:?}", rdt.clos_id);
    for schema in [&rdt.l3_cache_schema, &rdt.mem_bw_schema]
        .into_iter()
        .chain(rdt.schemata.iter().flatten())
        .filter(|schema| !schema.is_empty())
    {
        let _ = write!(text, " {schema}");
    }
    if rdt.enable_monitoring {
        text.push_str(" monitored");
    }
    text
}
