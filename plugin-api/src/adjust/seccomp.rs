//! Which system calls a container may make.

use super::Adjustment;
use super::error::{AdjustmentError, Item, check_fits, check_has, check_range, check_unset};
use super::values::{some, uint32};
use crate::api;

/// A seccomp policy, in the words of the OCI runtime specification.
///
/// ```
/// # use nri_plugin_api::{Adjustment, SeccompPolicy, SeccompRule};
/// let policy = SeccompPolicy::new("SCMP_ACT_ALLOW")
///     .rule(SeccompRule::new("SCMP_ACT_ERRNO", ["keyctl", "add_key"]).errno(1));
/// Adjustment::new().set_seccomp_policy(policy)?;
/// # Ok::<(), nri_plugin_api::AdjustmentError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SeccompPolicy(api::LinuxSeccomp);

impl SeccompPolicy {
    /// A policy without rules: what happens on every system call, such as `SCMP_ACT_ERRNO`.
    pub fn new(default_action: impl Into<String>) -> Self {
        Self(api::LinuxSeccomp {
            default_action: default_action.into(),
            ..Default::default()
        })
    }

    /// Sets the error of system calls for the default action. Runtimes up to NRI 0.12.5 lose it.
    #[must_use]
    pub fn default_errno(mut self, errno: u32) -> Self {
        self.0.default_errno = uint32(errno);
        self
    }

    /// Adds an architecture, such as `SCMP_ARCH_X86_64`.
    #[must_use]
    pub fn architecture(mut self, architecture: impl Into<String>) -> Self {
        self.0.architectures.push(architecture.into());
        self
    }

    /// Adds a flag, such as `SECCOMP_FILTER_FLAG_LOG`.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.0.flags.push(flag.into());
        self
    }

    /// Names the Unix socket that gets the file descriptor for `SCMP_ACT_NOTIFY`, and what is to be
    /// sent along.
    #[must_use]
    pub fn listener(mut self, path: impl Into<String>, metadata: impl Into<String>) -> Self {
        self.0.listener_path = path.into();
        self.0.listener_metadata = metadata.into();
        self
    }

    /// Adds a rule.
    #[must_use]
    pub fn rule(mut self, rule: SeccompRule) -> Self {
        self.0.syscalls.push(rule.0);
        self
    }

    fn check(&self) -> Result<(), AdjustmentError> {
        let Self(policy) = self;
        let has_default = !policy.default_action.is_empty();
        check_has(Item::SeccompPolicy, "", "a default action", has_default)?;
        let has_listener = !policy.listener_path.is_empty() || policy.listener_metadata.is_empty();
        check_fits(
            Item::SeccompPolicy,
            "",
            "listener metadata without a listener",
            has_listener,
        )?;
        policy.syscalls.iter().try_for_each(check_rule)
    }
}

/// What happens on some system calls.
#[derive(Clone, Debug, PartialEq)]
pub struct SeccompRule(api::LinuxSyscall);

impl SeccompRule {
    /// An action, such as `SCMP_ACT_ALLOW`, for system calls by their names.
    pub fn new(
        action: impl Into<String>,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self(api::LinuxSyscall {
            names: names.into_iter().map(Into::into).collect(),
            action: action.into(),
            ..Default::default()
        })
    }

    /// Sets the error that the system calls return.
    #[must_use]
    pub fn errno(mut self, errno: u32) -> Self {
        self.0.errno_ret = uint32(errno);
        self
    }

    /// Adds a condition on an argument: its index, 0 to 5, an operator such as `SCMP_CMP_EQ`, and
    /// what to compare it with.
    #[must_use]
    pub fn arg(mut self, index: u32, op: impl Into<String>, value: u64) -> Self {
        self.0.args.push(api::LinuxSeccompArg {
            index,
            value,
            op: op.into(),
            ..Default::default()
        });
        self
    }

    /// Adds the condition that an argument, by index, has this value in the bits of the mask.
    #[must_use]
    pub fn arg_masked(mut self, index: u32, mask: u64, value: u64) -> Self {
        self.0.args.push(api::LinuxSeccompArg {
            index,
            value: mask,
            value_two: value,
            op: "SCMP_CMP_MASKED_EQ".to_owned(),
            ..Default::default()
        });
        self
    }
}

fn check_rule(rule: &api::LinuxSyscall) -> Result<(), AdjustmentError> {
    const ITEM: Item = Item::SeccompPolicy;
    let is_named = !rule.names.is_empty() && rule.names.iter().all(|name| !name.is_empty());
    check_has(ITEM, "", "names of system calls in every rule", is_named)?;
    check_has(ITEM, &rule.names[0], "an action", !rule.action.is_empty())?;
    rule.args.iter().try_for_each(|arg| {
        check_range(ITEM, "index of an argument", arg.index.into(), 0..=5)?;
        check_has(
            ITEM,
            &rule.names[0],
            "an operator for its argument",
            !arg.op.is_empty(),
        )
    })
}

impl Adjustment {
    /// Replaces the seccomp policy as a whole. Known since NRI 0.10.
    ///
    /// # Errors
    ///
    /// It is set already, has no default action or metadata for no listener, or a rule lacks
    /// system calls or an action, or has an argument above 5 or without an operator.
    pub fn set_seccomp_policy(
        &mut self,
        policy: SeccompPolicy,
    ) -> Result<&mut Self, AdjustmentError> {
        policy.check()?;
        let linux = self.linux();
        check_unset(Item::SeccompPolicy, linux.seccomp_policy.is_some())?;
        linux.seccomp_policy = some(policy.0);
        Ok(self)
    }
}
