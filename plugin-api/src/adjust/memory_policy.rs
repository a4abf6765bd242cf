//! Where the first process gets its memory from.

use super::Adjustment;
use super::error::{AdjustmentError, Item, check_fits, check_has, check_unset};
use super::values::some;
use crate::api::{self, MpolFlag, MpolMode};

/// The NUMA memory policy of the first process, see `set_mempolicy(2)`.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPolicy(api::LinuxMemoryPolicy);

impl MemoryPolicy {
    /// A mode, for now without nodes. `MPOL_DEFAULT` sets the policy that the kernel has by itself.
    pub fn new(mode: MpolMode) -> Self {
        Self(api::LinuxMemoryPolicy {
            mode: mode.into(),
            ..Default::default()
        })
    }

    /// Sets the NUMA nodes, written as `0-1,3`. All modes but `MPOL_DEFAULT` and `MPOL_LOCAL` have
    /// some; `MPOL_PREFERRED` without any prefers the node of the processor.
    #[must_use]
    pub fn nodes(mut self, nodes: impl Into<String>) -> Self {
        self.0.nodes = nodes.into();
        self
    }

    /// Adds a mode flag.
    #[must_use]
    pub fn flag(mut self, flag: MpolFlag) -> Self {
        self.0.flags.push(flag.into());
        self
    }

    fn check(&self) -> Result<(), AdjustmentError> {
        const ITEM: Item = Item::MemoryPolicy;
        let Self(policy) = self;
        let mode = policy.mode.enum_value_or_default();
        let name = format!("{mode:?}");
        match mode {
            MpolMode::MPOL_DEFAULT | MpolMode::MPOL_LOCAL => {
                check_fits(ITEM, name, "nodes", policy.nodes.is_empty())?;
            }
            MpolMode::MPOL_PREFERRED => {}
            _ => check_has(ITEM, name, "nodes", !policy.nodes.is_empty())?,
        }
        let has = |flag: MpolFlag| policy.flags.contains(&flag.into());
        let both = has(MpolFlag::MPOL_F_STATIC_NODES) && has(MpolFlag::MPOL_F_RELATIVE_NODES);
        check_fits(ITEM, "MPOL_F_STATIC_NODES", "MPOL_F_RELATIVE_NODES", !both)
    }
}

impl Adjustment {
    /// Sets the NUMA memory policy of the first process. Known since NRI 0.12.
    ///
    /// # Errors
    ///
    /// It is set already, the mode lacks nodes or cannot have them, or two flags contradict.
    pub fn set_memory_policy(
        &mut self,
        policy: MemoryPolicy,
    ) -> Result<&mut Self, AdjustmentError> {
        policy.check()?;
        let linux = self.linux();
        check_unset(Item::MemoryPolicy, linux.memory_policy.is_some())?;
        linux.memory_policy = some(policy.0);
        Ok(self)
    }
}
