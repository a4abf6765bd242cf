//! The ELF note by which a component says what it is.

/// What a component's note says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentNote {
    /// Reverse-DNS name, such as `com.acme.gpu`.
    pub id: String,
    /// The component's own version, free text.
    pub version: String,
    /// Major version of the border that it was built against.
    pub abi_major: u16,
    /// Minor version of the border that it was built against.
    pub abi_minor: u16,
    /// The lowest minor version of a host that it works with.
    pub min_host_minor: u16,
    /// See [`nri_plugin_api::abi::flags`].
    pub flags: u32,
}
