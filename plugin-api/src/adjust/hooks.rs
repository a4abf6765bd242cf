//! OCI hooks.

use super::Adjustment;
use super::error::{AdjustmentError, Item, check_absolute, check_has};
use super::values::int;
use crate::api;

/// The moment at which an OCI hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HookStage {
    /// After the namespaces were made, in those of the runtime. Deprecated by the OCI specification
    /// in favour of the next three.
    Prestart,
    /// After the namespaces were made and before the root is changed, in those of the runtime.
    CreateRuntime,
    /// At the same moment, in the namespaces of the container.
    CreateContainer,
    /// Before the user's program starts, in the namespaces of the container.
    StartContainer,
    /// After the user's program was started, in the namespaces of the runtime.
    Poststart,
    /// After the container was deleted, in the namespaces of the runtime.
    Poststop,
}

impl HookStage {
    /// Every stage, in the order in which they come.
    pub const ALL: [Self; 6] = [
        Self::Prestart,
        Self::CreateRuntime,
        Self::CreateContainer,
        Self::StartContainer,
        Self::Poststart,
        Self::Poststop,
    ];

    /// Its name in the OCI runtime specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prestart => "prestart",
            Self::CreateRuntime => "createRuntime",
            Self::CreateContainer => "createContainer",
            Self::StartContainer => "startContainer",
            Self::Poststart => "poststart",
            Self::Poststop => "poststop",
        }
    }

    /// The stage with this name in the OCI runtime specification.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    fn list(self, hooks: &mut api::Hooks) -> &mut Vec<api::Hook> {
        match self {
            Self::Prestart => &mut hooks.prestart,
            Self::CreateRuntime => &mut hooks.create_runtime,
            Self::CreateContainer => &mut hooks.create_container,
            Self::StartContainer => &mut hooks.start_container,
            Self::Poststart => &mut hooks.poststart,
            Self::Poststop => &mut hooks.poststop,
        }
    }
}

/// A program that the OCI runtime runs at a [`HookStage`].
#[derive(Clone, Debug, PartialEq)]
pub struct Hook(api::Hook);

impl Hook {
    /// Runs the program at an absolute path: of the container for
    /// [`HookStage::StartContainer`], else of the host.
    pub fn new(path: impl Into<String>) -> Self {
        Self(api::Hook {
            path: path.into(),
            ..Default::default()
        })
    }

    /// Adds an argument. As in `execv(3)` the first one is the name of the program itself; without
    /// any, the OCI runtime passes the path as that.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.0.args.push(arg.into());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.0.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds an environment variable, written as `NAME=value`. A hook inherits none.
    #[must_use]
    pub fn env(mut self, variable: impl Into<String>) -> Self {
        self.0.env.push(variable.into());
        self
    }

    /// Adds several environment variables.
    #[must_use]
    pub fn envs(mut self, variables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.0.env.extend(variables.into_iter().map(Into::into));
        self
    }

    /// Lets the OCI runtime kill it after so many seconds; without, it may run for ever.
    #[must_use]
    pub fn timeout(mut self, seconds: impl Into<i64>) -> Self {
        self.0.timeout = int(seconds.into());
        self
    }
}

impl Adjustment {
    /// Adds an OCI hook after those that are there for its stage. Hooks never conflict: each
    /// plugin may add its own, also the same one again. None can be removed.
    ///
    /// # Errors
    ///
    /// The path is not absolute, or the timeout is 0, which the OCI specification forbids.
    pub fn add_hook(&mut self, stage: HookStage, hook: Hook) -> Result<&mut Self, AdjustmentError> {
        let Hook(hook) = hook;
        check_absolute(Item::Hook, &hook.path)?;
        let lasts = hook
            .timeout
            .as_ref()
            .is_none_or(|timeout| timeout.value > 0);
        check_has(
            Item::Hook,
            &hook.path,
            "a timeout of a second or more",
            lasts,
        )?;
        Ok(self.add_hook_as_it_is(stage, Hook(hook)))
    }

    /// The same for a hook that others wrote, such as a file of the node: nothing is checked, and
    /// what becomes of a relative path or a timeout below a second is up to the OCI runtime.
    pub fn add_hook_as_it_is(&mut self, stage: HookStage, hook: Hook) -> &mut Self {
        let hooks = self.adjust.hooks.mut_or_insert_default();
        stage.list(hooks).push(hook.0);
        self
    }
}
