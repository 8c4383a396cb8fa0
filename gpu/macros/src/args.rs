//! `#[derive(DeviceArgs)]`: from a structure of pointers to what the host gives for it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Fields, FieldsNamed, GenericParam, Generics, Ident, Lifetime,
    LifetimeParam, Meta, PointerMutability, Result, Token, Type, TypePtr,
};

use crate::len;

/// The kind of a field on the host.
enum Kind<'a> {
    /// A pointer, or an array of pointers.
    Pointer { pointer: &'a TypePtr, count: Option<&'a Expr>, len: TokenStream, nullable: bool },
    /// Another structure with `#[derive(DeviceArgs)]`.
    Args,
    /// A number, or a structure of numbers.
    Value,
}

/// Fields that the host alone needs, for lengths.
struct Extra(Punctuated<Field, Token![,]>);

impl Parse for Extra {
    fn parse(input: ParseStream) -> Result<Self> {
        Punctuated::parse_terminated_with(input, Field::parse_named).map(Self)
    }
}

/// The whole expansion.
pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let Data::Struct(syn::DataStruct { fields: Fields::Named(FieldsNamed { named: fields, .. }), .. }) = &input.data
    else {
        return Err(Error::new(input.ident.span(), "`DeviceArgs` is for a structure with named fields"));
    };
    if !is_repr_c(&input.attrs) {
        return Err(Error::new(input.ident.span(), "host and device must agree on the layout: add `#[repr(C)]`"));
    }
    let mut extra = Punctuated::new();
    let mut conditions = Vec::new();
    for attribute in &input.attrs {
        if attribute.path().is_ident("args") {
            extra.extend(attribute.parse_args::<Extra>()?.0);
        } else if attribute.path().is_ident("require") {
            conditions.push(attribute.parse_args::<Expr>()?);
        }
    }
    let kinds = fields.iter().map(kind).collect::<Result<Vec<_>>>()?;
    if kinds.iter().all(|kind| matches!(kind, Kind::Value)) {
        return Err(Error::new(input.ident.span(), "no field is a pointer: the structure is given by value"));
    }
    Ok(items(&input, fields, &kinds, &extra, &conditions))
}

fn is_repr_c(attributes: &[Attribute]) -> bool {
    let is_c = |attribute: &Attribute| {
        attribute.path().is_ident("repr")
            && matches!(&attribute.meta, Meta::List(list) if len::mentions(list.tokens.clone(), &format_ident!("C")))
    };
    attributes.iter().any(is_c)
}

fn kind(field: &Field) -> Result<Kind<'_>> {
    let attribute = |name: &str| field.attrs.iter().find(|attribute| attribute.path().is_ident(name));
    let (len, nullable, args) = (attribute("len"), attribute("nullable"), attribute("args"));
    let (pointer, count) = match &field.ty {
        Type::Ptr(pointer) => (Some(pointer), None),
        Type::Array(array) => match &*array.elem {
            Type::Ptr(pointer) => (Some(pointer), Some(&array.len)),
            _ => (None, None),
        },
        _ => (None, None),
    };
    match (pointer, len) {
        (Some(pointer), Some(len)) => {
            let len = len::length(&len.parse_args()?)?;
            Ok(Kind::Pointer { pointer, count, len, nullable: nullable.is_some() })
        }
        (Some(_), None) => Err(Error::new(
            field.ty.span(),
            "a pointer says how many values the kernel uses: `#[len(n * width)]`, of the structure's fields",
        )),
        (None, _) => match len.or(nullable) {
            Some(attribute) => {
                Err(Error::new(attribute.span(), "only a pointer has a length, and only a pointer is null"))
            }
            None if args.is_some() => Ok(Kind::Args),
            None => Ok(Kind::Value),
        },
    }
}

/// The host's structure, and its conversion to the device's.
fn items(
    input: &DeriveInput,
    fields: &Punctuated<Field, Token![,]>,
    kinds: &[Kind<'_>],
    extra: &Punctuated<Field, Token![,]>,
    conditions: &[Expr],
) -> TokenStream {
    let DeriveInput { vis, ident, generics, .. } = input;
    let args = format_ident!("{ident}Args");
    let names: Vec<&Ident> = fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    let extra_names: Vec<&Ident> = extra.iter().filter_map(|field| field.ident.as_ref()).collect();
    let host_fields = fields.iter().zip(kinds).map(|(field, kind)| {
        let Field { vis, ident, ty, .. } = field;
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
        let ty = match kind {
            Kind::Pointer { pointer, count, .. } => {
                let view = view(pointer);
                match count {
                    Some(count) => quote!([#view; #count]),
                    None => view,
                }
            }
            Kind::Args => host_type(ty),
            Kind::Value => quote!(#ty),
        };
        quote!(#(#docs)* #vis #ident: #ty)
    });
    let extra_fields = extra.iter().map(|field| {
        let Field { attrs, ident, ty, .. } = field;
        quote!(#(#attrs)* #vis #ident: #ty)
    });

    let by_value = names.iter().copied().zip(kinds).filter(|(_, kind)| !matches!(kind, Kind::Pointer { .. }));
    let scalars: Vec<&Ident> =
        by_value.clone().filter(|(_, kind)| matches!(kind, Kind::Value)).map(|(name, _)| name).collect();
    let in_conditions: Vec<&Ident> = scalars.iter().chain(&extra_names).copied().collect();
    let nested = fields.iter().zip(kinds).filter(|(_, kind)| matches!(kind, Kind::Args)).map(|(field, _)| {
        let (name, ty) = (&field.ident, &field.ty);
        quote!(let #name: #ty = ::warpplay_gpu::args::IntoParam::<#ty>::into_param(#name, &mut *binding);)
    });
    let conditions = conditions.iter().map(|condition| {
        len::require(condition, &in_conditions, |refusal| quote!(binding.refuse(#refusal); break 'checks;))
    });
    let (crossing, checks): (Vec<_>, Vec<_>) = names.iter().zip(kinds).map(|(name, kind)| pointer(name, kind)).unzip();

    let lifetime = Lifetime::new("'args", proc_macro2::Span::call_site());
    let host_generics = with_lifetime(generics, &lifetime);
    let (host_impl, host_ty, _) = host_generics.split_for_impl();
    let (_, ty, bounds) = generics.split_for_impl();
    let story = format!(
        "What a launch is given for a [`{ident}`]: it checks the device and the length of each array, borrows it, and a graph keeps it."
    );
    quote! {
        #[doc = #story]
        #[cfg(not(target_arch = "nvptx64"))]
        #[derive(Debug)]
        #vis struct #args #host_generics #bounds {
            #(#host_fields,)*
            #(#extra_fields,)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: made from the fields, each of which informs the binding about its memory.
        unsafe impl #host_impl ::warpplay_gpu::args::IntoParam<#ident #ty> for #args #host_ty #bounds {
            #[allow(unused_variables, unused_parens, clippy::unnecessary_cast)]
            fn into_param(self, binding: &mut dyn ::warpplay_gpu::args::Binding) -> #ident #ty {
                let Self { #(#names,)* #(#extra_names,)* } = self;
                #(#nested)*
                // A length may ask for what a condition says: that it is not divided by 0.
                'checks: {
                    #(#conditions)*
                    #(#checks)*
                }
                #ident { #(#crossing,)* }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        // SAFETY: made from the fields, each of which informs the binding about its memory.
        unsafe impl #host_impl ::warpplay_gpu::args::IntoParam<::warpplay_gpu::args::Checked<#ident #ty>> for #args #host_ty #bounds {
            fn into_param(self, binding: &mut dyn ::warpplay_gpu::args::Binding) -> ::warpplay_gpu::args::Checked<#ident #ty> {
                // SAFETY: lengths and conditions are checked, and violations are refused.
                unsafe { ::warpplay_gpu::args::Checked::new(self.into_param(binding)) }
            }
        }
    }
}

/// A field of the device's structure, and the check of its length.
fn pointer(name: &Ident, kind: &Kind<'_>) -> (TokenStream, TokenStream) {
    let Kind::Pointer { pointer, count, len, nullable } = kind else { return (quote!(#name), quote!()) };
    let text = name.to_string();
    let into = quote!(::warpplay_gpu::args::IntoParam::<#pointer>::into_param);
    let (crossing, views) = match count {
        Some(_) => (quote!(#name: #name.map(|view| #into(view, &mut *binding))), quote!(&#name)),
        None => (quote!(#name: #into(#name, &mut *binding)), quote!([&#name])),
    };
    let unless_null = nullable.then(|| quote!(if !view.is_none()));
    let check = quote! {
        for view in #views {
            #unless_null {
                binding.expect_len(#text, view.len(), #len);
            }
        }
    };
    (crossing, check)
}

/// The host's view for a pointer.
fn view(pointer: &TypePtr) -> TokenStream {
    let ty = &pointer.elem;
    match pointer.mutability {
        PointerMutability::Mut(_) => quote!(::warpplay_gpu::args::InOut<'args, #ty>),
        PointerMutability::Const(_) => quote!(::warpplay_gpu::args::In<'args, #ty>),
    }
}

/// `path::SArgs<'args, T>` for `path::S<T>`.
fn host_type(ty: &Type) -> TokenStream {
    let Type::Path(path) = ty else { return quote!(#ty) };
    let mut path = path.clone();
    if let Some(last) = path.path.segments.last_mut() {
        last.ident = format_ident!("{}Args", last.ident);
        let arguments = match &last.arguments {
            syn::PathArguments::AngleBracketed(arguments) => {
                let arguments = &arguments.args;
                quote!(<'args, #arguments>)
            }
            _ => quote!(<'args>),
        };
        last.arguments = syn::PathArguments::AngleBracketed(syn::parse_quote!(#arguments));
    }
    quote!(#path)
}

/// The structure's parameters behind a lifetime, without defaults that stand for a launch's types.
fn with_lifetime(generics: &Generics, lifetime: &Lifetime) -> Generics {
    let mut generics = generics.clone();
    generics.params.insert(0, GenericParam::Lifetime(LifetimeParam::new(lifetime.clone())));
    generics.lt_token.get_or_insert_default();
    generics.gt_token.get_or_insert_default();
    generics
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(item: TokenStream) -> String {
        expand(item).unwrap_err().to_string()
    }

    #[test]
    fn a_pointer_becomes_a_view_and_its_length_a_check() {
        let text = expand(quote! {
            /// A task.
            #[repr(C)]
            #[args(n_models: u32)]
            #[require(batch >= 1)]
            pub struct Task<T> {
                /// Values.
                #[len(n_models * (n + 1))]
                pub values: *mut T,
                #[len(n)]
                #[nullable]
                pub tables: [*const u8; 2],
                #[args]
                pub tree: tree::View<T>,
                pub n: u32,
                pub batch: u32,
            }
        })
        .unwrap()
        .to_string();
        for part in [
            "pub struct TaskArgs < 'args , T > {",
            "# [doc = r\" Values.\"] pub values : :: warpplay_gpu :: args :: InOut < 'args , T >",
            "pub tables : [:: warpplay_gpu :: args :: In < 'args , u8 > ; 2]",
            "pub tree : tree :: ViewArgs < 'args , T >",
            "pub n_models : u32",
            "IntoParam < Task < T > > for TaskArgs < 'args , T >",
            r#"binding . expect_len ("values" , view . len () , :: warpplay_gpu :: args :: length (|| { let length = ((n_models) as usize) . checked_mul (((n) as usize) . checked_add (((1) as usize)) ?) ? ; :: core :: option :: Option :: Some (length) }))"#,
            "if ! view . is_none ()",
            "if ! (batch >= 1) { binding . refuse (",
            "IntoParam < :: warpplay_gpu :: args :: Checked < Task < T > >> for TaskArgs < 'args , T >",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
    }

    #[test]
    fn refuses_what_it_cannot_check() {
        for (item, part) in [
            (
                quote!(
                    #[repr(C)]
                    struct A(*const u8);
                ),
                "named fields",
            ),
            (
                quote!(
                    struct A {
                        #[len(1)]
                        a: *const u8,
                    }
                ),
                "`#[repr(C)]`",
            ),
            (
                quote!(
                    #[repr(C)]
                    struct A {
                        a: *const u8,
                    }
                ),
                "how many values",
            ),
            (
                quote!(
                    #[repr(C)]
                    struct A {
                        #[len(1)]
                        a: *const u8,
                        #[nullable]
                        b: u32,
                    }
                ),
                "only a pointer",
            ),
            (
                quote!(
                    #[repr(C)]
                    struct A {
                        a: u32,
                    }
                ),
                "given by value",
            ),
        ] {
            let message = refused(item.clone());
            assert!(message.contains(part), "{item}: {message}");
        }
    }
}
