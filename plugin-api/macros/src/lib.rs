//! The attribute of `nri-plugin-api`. Use it from there: `nri_plugin_api::component`.

mod arguments;
mod expand;
mod id;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Exports an implementation of `Component` as the component of its library.
///
/// ```text
/// #[nri_plugin_api::component(id = "com.acme.gpu")]
/// impl Component for Gpu { … }
/// ```
///
/// The library subscribes to the methods that the implementation has, and carries the version of
/// its package. It has to be a `cdylib`, built with unwinding panics.
///
/// Arguments:
///
/// * `id = "…"` (required): the reverse-DNS name of the component, at most 63 characters among
///   `a-z`, `0-9`, `-`, `_` and `.`; at least two parts, none of them empty.
/// * `one_instance`: the library cannot serve two instances, because of its `static` variables, say.
/// * `no_export`: implements everything, but exports nothing. For a second component in one crate,
///   in tests for example: a library has one component.
#[proc_macro_attribute]
pub fn component(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as arguments::Arguments);
    let item = parse_macro_input!(item as syn::Item);
    expand::expand(&arguments, &item)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
