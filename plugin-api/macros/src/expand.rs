//! What the attribute adds to the implementation.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, ImplItem, Item, ItemImpl};

use crate::arguments::Arguments;

/// The functions of the trait that serve a method, and its name.
const METHODS: &[(&str, &str)] = &[
    ("run_pod_sandbox", "RunPodSandbox"),
    ("stop_pod_sandbox", "StopPodSandbox"),
    ("remove_pod_sandbox", "RemovePodSandbox"),
    ("create_container", "CreateContainer"),
    ("post_create_container", "PostCreateContainer"),
    ("start_container", "StartContainer"),
    ("post_start_container", "PostStartContainer"),
    ("update_container", "UpdateContainer"),
    ("post_update_container", "PostUpdateContainer"),
    ("stop_container", "StopContainer"),
    ("remove_container", "RemoveContainer"),
    ("update_pod_sandbox", "UpdatePodSandbox"),
    ("post_update_pod_sandbox", "PostUpdatePodSandbox"),
    (
        "validate_container_adjustment",
        "ValidateContainerAdjustment",
    ),
    ("synchronize", "Synchronize"),
];

/// Writes the item unchanged, and after it what makes it the component of its library.
pub(crate) fn expand(arguments: &Arguments, item: &Item) -> syn::Result<TokenStream> {
    let implementation = checked(item)?;
    let exported = exported(arguments, implementation);
    let statics = arguments.export.then(|| statics(implementation));
    Ok(quote! { #item #exported #statics })
}

/// The item as an implementation of the trait, for one concrete type.
fn checked(item: &Item) -> syn::Result<&ItemImpl> {
    let Item::Impl(implementation) = item else {
        let message = "#[component] belongs on an implementation: impl Component for T { … }";
        return Err(Error::new_spanned(item, message));
    };
    let Some((None, path, _)) = &implementation.trait_ else {
        let message = "#[component] belongs on an implementation of the trait Component";
        return Err(Error::new_spanned(&implementation.self_ty, message));
    };
    if path
        .segments
        .last()
        .is_none_or(|segment| segment.ident != "Component")
    {
        return Err(Error::new_spanned(path, "expected the trait Component"));
    }
    if !implementation.generics.params.is_empty() {
        let message = "a component is one type: it cannot have parameters";
        return Err(Error::new_spanned(&implementation.generics, message));
    }
    Ok(implementation)
}

/// The implementation of `Exported`: id, version, and the methods that are present.
fn exported(arguments: &Arguments, implementation: &ItemImpl) -> TokenStream {
    let component = &implementation.self_ty;
    let methods = implementation.items.iter().filter_map(method);
    let id = std::ffi::CString::new(arguments.id.as_str()).expect("ids hold no NUL");
    let id = Literal::c_string(&id);
    let flags = if arguments.one_instance {
        quote!(::nri_plugin_api::abi::flags::ONE_INSTANCE)
    } else {
        quote!(0)
    };
    quote! {
        #[automatically_derived]
        impl ::nri_plugin_api::export::Exported for #component {
            const ID: &'static ::core::ffi::CStr = #id;
            const VERSION: &'static ::core::ffi::CStr = ::nri_plugin_api::export::version(
                ::core::concat!(::core::env!("CARGO_PKG_VERSION"), "\0"),
            );
            const FLAGS: ::core::primitive::u32 = #flags;
            const METHODS: ::nri_plugin_api::MethodSet = ::nri_plugin_api::MethodSet::of(&[
                #(#methods),*
            ]);
        }
    }
}

/// The note and the descriptor.
fn statics(implementation: &ItemImpl) -> TokenStream {
    let component = &implementation.self_ty;
    quote! {
        const _: () = {
            #[cfg(panic = "abort")]
            ::core::compile_error!(
                "a component must unwind: with panic = \"abort\" its first panic ends the host and \
                 all other components; take it out of the profile"
            );

            #[used]
            #[unsafe(link_section = ".note.nrih")]
            static NOTE: ::nri_plugin_api::abi::Note =
                ::nri_plugin_api::export::note::<#component>();

            #[allow(non_upper_case_globals)]
            #[unsafe(no_mangle)]
            pub static nrih_component_v1: ::nri_plugin_api::abi::Descriptor =
                ::nri_plugin_api::export::descriptor::<#component>();
        };
    }
}

/// The method that a function serves, under the conditions that the function is compiled under.
fn method(item: &ImplItem) -> Option<TokenStream> {
    let ImplItem::Fn(function) = item else {
        return None;
    };
    let name = format_ident!("{}", method_name(&function.sig.ident)?);
    let attributes = function.attrs.iter();
    let conditions = attributes.filter(|attribute| attribute.path().is_ident("cfg"));
    Some(quote! { #(#conditions)* ::nri_plugin_api::Method::#name })
}

/// The method that a function of the trait serves. About a function that is not in the trait the
/// compiler has more to say.
fn method_name(function: &syn::Ident) -> Option<&'static str> {
    METHODS
        .iter()
        .find(|(name, _)| function == name)
        .map(|(_, method)| *method)
}

#[cfg(test)]
mod tests {
    use super::expand;
    use crate::arguments::Arguments;

    fn expanded(item: &str) -> Result<String, String> {
        let arguments = Arguments {
            id: "com.acme.gpu".to_owned(),
            one_instance: false,
            export: true,
        };
        let item = syn::parse_str(item).expect("the item is Rust");
        expand(&arguments, &item)
            .map(|t| t.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_methods_present_are_subscribed_to() {
        let tokens = expanded(
            "impl Component for Gpu {
                type Config = ();
                fn create(c: (), h: Host) -> Result<Self, Error> { todo!() }
                fn methods(&self) -> MethodSet { todo!() }
                fn create_container(&mut self, r: &CreateContainer) -> Result<Adjustment, Error> { todo!() }
                fn synchronize(&mut self, r: &Synchronize) -> Result<Updates, Error> { todo!() }
                fn update_result(&mut self, r: &UpdateResult) { todo!() }
            }",
        )
        .unwrap();
        let list = "of (& [:: nri_plugin_api :: Method :: CreateContainer , \
                    :: nri_plugin_api :: Method :: Synchronize])";
        assert!(tokens.contains(list), "{tokens}");
    }

    #[test]
    fn a_component_that_cannot_unwind_does_not_compile() {
        let tokens = expanded("impl Component for Gpu {}").unwrap();
        let refusal = "# [cfg (panic = \"abort\")] :: core :: compile_error !";
        assert!(tokens.contains(refusal), "{tokens}");
    }

    #[test]
    fn other_items_are_refused_with_the_reason() {
        for (item, reason) in [
            ("struct Gpu;", "belongs on an implementation"),
            ("impl Gpu {}", "of the trait Component"),
            ("impl Clone for Gpu {}", "expected the trait Component"),
            ("impl !Component for Gpu {}", "of the trait Component"),
            ("impl<T> Component for Gpu<T> {}", "cannot have parameters"),
        ] {
            let message = expanded(item).expect_err(item);
            assert!(message.contains(reason), "{item}: {message}");
        }
    }
}
