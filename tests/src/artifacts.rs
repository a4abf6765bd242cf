//! What the tests run: the host's binary and the components, built by the cargo that runs them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// Packages whose products are needed.
const PACKAGES: [&str; 6] = [
    "nri-host",
    "nri-cdi-injector",
    "nri-device-injector",
    "nri-hook-injector",
    "nri-logger",
    "nri-faulty",
];

/// Paths of what was built.
#[derive(Debug)]
pub struct Artifacts {
    host: PathBuf,
    /// By file name.
    libraries: HashMap<String, PathBuf>,
}

impl Artifacts {
    /// The binary `nri-host`.
    pub fn host(&self) -> &Path {
        &self.host
    }

    /// A component, such as `libnri_logger.so`.
    ///
    /// # Errors
    ///
    /// When there is none of that name.
    pub fn library(&self, name: &str) -> Result<&Path> {
        self.libraries
            .get(name)
            .map(PathBuf::as_path)
            .with_context(|| {
                let mut names: Vec<_> = self.libraries.keys().collect();
                names.sort();
                format!("no component {name} was built, only {names:?}")
            })
    }

    /// All components.
    pub fn libraries(&self) -> impl Iterator<Item = &Path> {
        self.libraries.values().map(PathBuf::as_path)
    }
}

/// Builds everything on the first call in a process, with the profile and into the target
/// directory of the running program, and returns where it is.
///
/// # Errors
///
/// When something does not build; what the compilers said is on standard error.
pub fn artifacts() -> Result<&'static Artifacts> {
    static ARTIFACTS: OnceLock<Result<Artifacts, String>> = OnceLock::new();
    match ARTIFACTS.get_or_init(|| build().map_err(|error| format!("{error:#}"))) {
        Ok(artifacts) => Ok(artifacts),
        Err(error) => bail!("cannot build what the tests run: {error}"),
    }
}

/// The lines of cargo's JSON output that matter here.
#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    executable: Option<PathBuf>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Where the running program was built.
pub(crate) struct Place {
    /// The target directory.
    pub(crate) target: PathBuf,
    /// The name of the profile, such as `dev`.
    pub(crate) profile: String,
}

impl Place {
    pub(crate) fn of_this_program() -> Result<Self> {
        let program = std::env::current_exe().context("cannot find the running program")?;
        let target = program
            .ancestors()
            .find(|folder| folder.join("CACHEDIR.TAG").exists())
            .with_context(|| format!("{} is in no target directory", program.display()))?;
        // TARGET[/TRIPLE]/PROFILE[/deps]/program
        let mut folder = program.parent().context("a program is in a folder")?;
        if folder.ends_with("deps") {
            folder = folder.parent().context("deps is in a folder")?;
        }
        let profile = folder
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let profile = if profile == "debug" { "dev" } else { profile };
        Ok(Self {
            target: target.to_owned(),
            profile: profile.to_owned(),
        })
    }
}

fn build() -> Result<Artifacts> {
    let place = Place::of_this_program()?;
    let (mut host, mut libraries) = (None, HashMap::new());
    for message in cargo_build(&place)? {
        if let Some(executable) = message.executable {
            host = Some(executable);
        }
        for file in message.filenames {
            if file.extension().is_some_and(|extension| extension == "so") {
                insert(&mut libraries, file)?;
            }
        }
    }
    let host = host.context("cargo did not say where nri-host is")?;
    Ok(Artifacts { host, libraries })
}

fn insert(libraries: &mut HashMap<String, PathBuf>, file: PathBuf) -> Result<()> {
    let name = file.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} has no proper name", file.display()))?;
    libraries.insert(name.to_owned(), file);
    Ok(())
}

fn cargo_build(place: &Place) -> Result<Vec<CargoMessage>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([
            "build",
            "--message-format=json-render-diagnostics",
            "--profile",
            &place.profile,
        ])
        .arg("--target-dir")
        .arg(&place.target)
        .stderr(Stdio::inherit());
    for package in PACKAGES {
        command.args(["-p", package]);
    }
    let output = command.output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo build: {}", output.status);
    let is_artifact = |message: &CargoMessage| message.reason == "compiler-artifact";
    serde_json::Deserializer::from_slice(&output.stdout)
        .into_iter::<CargoMessage>()
        .filter(|message| message.as_ref().map_or(true, is_artifact))
        .collect::<Result<_, _>>()
        .context("cannot read what cargo says")
}

/// Compiles a component written in C, `tests/components/NAME.c`, on the first call in a process,
/// and returns the library's path.
///
/// # Errors
///
/// When it does not compile without warnings; what the compiler said is on standard error.
pub fn c_component(name: &str) -> Result<PathBuf> {
    static COMPILED: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = compiled.get(name) {
        return Ok(library.clone());
    }
    let library = compile(name, &Place::of_this_program()?.target)?;
    compiled.insert(name.to_owned(), library.clone());
    Ok(library)
}

fn compile(name: &str, target: &Path) -> Result<PathBuf> {
    let folder = target.join("c-components");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let library = folder.join(format!("lib{name}.so"));
    // Other test programs may do the same at this moment, so it appears in one step.
    let unfinished = folder.join(format!("lib{name}.so.{}", std::process::id()));
    compile_c_component(name, &[], &unfinished)?;
    fs::rename(&unfinished, &library)
        .with_context(|| format!("cannot put {} into place", library.display()))?;
    Ok(library)
}

/// Compiles a component written in C, `tests/components/NAME.c`, with further arguments for the
/// compiler, such as `-DNAME=VALUE`.
///
/// # Errors
///
/// As [`c_component`].
pub fn compile_c_component(name: &str, arguments: &[&str], library: &Path) -> Result<()> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args([
            "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-pthread",
        ])
        .args(["-fvisibility=hidden", "-Wl,-z,noexecstack"])
        .arg("-I")
        .arg(tests.join("../plugin-api/include"))
        .arg(tests.join("components").join(format!("{name}.c")))
        .args(arguments)
        .arg("-o")
        .arg(library)
        .status()
        .context("cannot run the C compiler")?;
    ensure!(status.success(), "compiling {name}.c: {status}");
    Ok(())
}
