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

/// What a field is on the host.
enum Kind<'a> {
    /// A pointer, or an array of pointers.
    Pointer { pointer: &'a TypePtr, count: Option<&'a Expr>, extent: Extent, nullable: bool, atomic: bool },
    /// Another structure with `#[derive(DeviceArgs)]`.
    Args,
    /// A number, or a structure of numbers.
    Value,
}

/// How many values a pointer is to.
enum Extent {
    /// `#[len(…)]`.
    Len(Expr),
    /// `#[shape(…)]`: sizes, the last one fastest; by fours with `#[quads]`.
    Shape { sizes: Vec<Expr>, quads: bool },
}

impl Extent {
    /// The number of values, in saturating arithmetic.
    fn len(&self) -> TokenStream {
        match self {
            Self::Len(len) => len::saturating(len),
            Self::Shape { sizes, .. } => {
                let sizes = sizes.iter().map(len::saturating);
                quote!(1usize #(.saturating_mul(#sizes))*)
            }
        }
    }

    fn mentions(&self, name: &Ident) -> bool {
        match self {
            Self::Len(len) => len::mentions(quote!(#len), name),
            Self::Shape { sizes, .. } => len::mentions(quote!(#(#sizes)*), name),
        }
    }
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
    let views = input.attrs.iter().find(|attribute| attribute.path().is_ident("views"));
    if kinds.iter().all(|kind| matches!(kind, Kind::Value)) {
        return Err(Error::new(input.ident.span(), "no field is a pointer: the structure is given by value"));
    }
    let host = items(&input, fields, &kinds, &extra, &conditions);
    let device = match views {
        None => None,
        Some(attribute) => {
            let renewed = match &attribute.meta {
                Meta::Path(_) => false,
                _ => attribute.parse_args::<Ident>()? == "renewed",
            };
            Some(view_items(&input, fields, &kinds, &extra, renewed))
        }
    };
    Ok(quote!(#host #device))
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
    let (shape, quads) = (attribute("shape"), attribute("quads"));
    let (pointer, count) = match &field.ty {
        Type::Ptr(pointer) => (Some(pointer), None),
        Type::Array(array) => match &*array.elem {
            Type::Ptr(pointer) => (Some(pointer), Some(&array.len)),
            _ => (None, None),
        },
        _ => (None, None),
    };
    let extent = match (len, shape, quads) {
        (Some(len), None, None) => Some(Extent::Len(len.parse_args()?)),
        (None, Some(shape), quads) => {
            let sizes = shape.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
            Some(Extent::Shape { sizes: sizes.into_iter().collect(), quads: quads.is_some() })
        }
        (None, None, None) => None,
        (_, _, Some(other)) | (Some(_), Some(other), _) => {
            return Err(Error::new(
                other.span(),
                "a pointer has a length or a shape, and quads are those of a shape's last dimension",
            ));
        }
    };
    match (pointer, extent) {
        (Some(pointer), Some(extent)) => {
            let atomic = attribute("atomic").is_some();
            Ok(Kind::Pointer { pointer, count, extent, nullable: nullable.is_some(), atomic })
        }
        (Some(_), None) => Err(Error::new(
            field.ty.span(),
            "a pointer says how many values the kernel uses: `#[len(n * width)]`, of the structure's fields",
        )),
        (None, _) => match len.or(shape).or(nullable) {
            Some(attribute) => {
                Err(Error::new(attribute.span(), "only a pointer has a length, and only a pointer is null"))
            }
            None if args.is_some() => Ok(Kind::Args),
            None => Ok(Kind::Value),
        },
    }
}

/// The host's structure, and how it becomes the device's.
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
        // SAFETY: made of the fields, each of which tells the binding its memory.
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
        // SAFETY: made of the fields, each of which tells the binding its memory.
        unsafe impl #host_impl ::warpplay_gpu::args::IntoParam<::warpplay_gpu::args::Checked<#ident #ty>> for #args #host_ty #bounds {
            fn into_param(self, binding: &mut dyn ::warpplay_gpu::args::Binding) -> ::warpplay_gpu::args::Checked<#ident #ty> {
                // SAFETY: lengths and conditions are checked, and what fails is refused.
                unsafe { ::warpplay_gpu::args::Checked::new(self.into_param(binding)) }
            }
        }
    }
}

/// A field of the device's structure, and the check of its length.
fn pointer(name: &Ident, kind: &Kind<'_>) -> (TokenStream, TokenStream) {
    let Kind::Pointer { pointer, count, extent, nullable, .. } = kind else { return (quote!(#name), quote!()) };
    let (text, len) = (name.to_string(), extent.len());
    let quads = match extent {
        Extent::Shape { sizes, quads: true } => {
            let line = sizes.last().map(len::saturating);
            quote!(binding.expect_quads(#text, view.is_aligned(16), #line);)
        }
        _ => quote!(),
    };
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
                #quads
            }
        }
    };
    (crossing, check)
}

/// The host's view of what a pointer is to.
fn view(pointer: &TypePtr) -> TokenStream {
    let ty = &pointer.elem;
    match pointer.mutability {
        PointerMutability::Mut(_) => quote!(::warpplay_gpu::args::InOut<'args, #ty>),
        PointerMutability::Const(_) => quote!(::warpplay_gpu::args::In<'args, #ty>),
    }
}

/// The structure of views, and how a kernel gets it.
fn view_items(
    input: &DeriveInput,
    fields: &Punctuated<Field, Token![,]>,
    kinds: &[Kind<'_>],
    extra: &Punctuated<Field, Token![,]>,
    renewed: bool,
) -> TokenStream {
    let DeriveInput { vis, ident, generics, .. } = input;
    let views = format_ident!("{ident}Views");
    let names: Vec<&Ident> = fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    // What a length cannot be computed from on the device: numbers that do not cross, and whether a pointer is null.
    let pointers =
        names.iter().zip(kinds).filter(|(_, kind)| matches!(kind, Kind::Pointer { .. })).map(|(name, _)| *name);
    let host_only: Vec<&Ident> = extra.iter().filter_map(|field| field.ident.as_ref()).chain(pointers).collect();
    let (declarations, values): (Vec<_>, Vec<_>) = fields
        .iter()
        .zip(kinds)
        .map(|(field, kind)| {
            let Field { vis, ident, ty, .. } = field;
            let docs: Vec<_> = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
            let (ty, value) = match kind {
                Kind::Pointer { pointer, count, extent, nullable, atomic }
                    if !host_only.iter().any(|name| extent.mentions(name)) =>
                {
                    device_view(ident.as_ref(), pointer, *count, extent, [*nullable, *atomic])
                }
                Kind::Args => (views_type(ty), quote!(unsafe { #ident.views() })),
                _ => (quote!(#ty), quote!(#ident)),
            };
            (quote!(#(#docs)* #vis #ident: #ty), quote!(#ident: #value))
        })
        .unzip();
    let (impl_generics, ty, bounds) = generics.split_for_impl();
    let opaque = fields.iter().zip(kinds).filter_map(|(field, kind)| {
        let (name, is_word) = (&field.ident, matches!(&field.ty, Type::Path(path) if path.path.is_ident("u32")));
        (matches!(kind, Kind::Value) && is_word)
            .then(|| quote!(#name: ::warpplay_gpu::cuda::math::opaque(self.of.#name),))
    });
    // Where it is not asked for there is no copy: the compiler would take neighbouring numbers for one word, and not see what follows from a guard.
    let (of_field, of_value) =
        if renewed { (quote!(of: #ident #ty,), quote!(of: *self)) } else { (quote!(), quote!()) };
    let renewed = renewed.then(|| {
        quote! {
            impl #impl_generics #views #ty #bounds {
                /// The same, of whose numbers the compiler knows nothing: lengths and all else that is computed from them is not moved out of a loop, where it would take registers all the time.
                #[inline(always)]
                #[allow(clippy::undocumented_unsafe_blocks)]
                #vis fn renewed(&self) -> Self {
                    // SAFETY: the same numbers, so the same views, for which whoever made `self` vouches.
                    unsafe { #ident { #(#opaque)* ..self.of }.views() }
                }
            }
        }
    });
    let story = format!("The arrays of a [`{ident}`] as views with the lengths that it declares, and its numbers.");
    quote! {
        #[doc = #story]
        #[derive(Clone, Copy)]
        #[allow(dead_code)]
        #vis struct #views #generics #bounds {
            #(#declarations,)*
            #of_field
        }

        #renewed

        impl #impl_generics #ident #ty #bounds {
            /// The arrays as views with the lengths that they declare; an array whose length the device does not know stays a pointer.
            ///
            /// # Safety
            /// The structure is a parameter of the kernel, whose launch has checked the lengths. What a thread reads through a `Slice`, no other thread writes while the
            /// kernel runs. No thread writes an element of an `Exclusive` while another uses it; an `Atomic` is used atomically alone.
            #[inline(always)]
            #[allow(unused_variables, unused_parens, clippy::unnecessary_cast, clippy::undocumented_unsafe_blocks)]
            #vis unsafe fn views(&self) -> #views #ty {
                #(let #names = self.#names;)*
                #views { #(#values,)* #of_value }
            }
        }
    }
}

/// A pointer's view on the device: its type, and how it is made.
fn device_view(
    name: Option<&Ident>,
    pointer: &TypePtr,
    count: Option<&Expr>,
    extent: &Extent,
    [nullable, atomic]: [bool; 2],
) -> (TokenStream, TokenStream) {
    let element = &pointer.elem;
    let view = match pointer.mutability {
        PointerMutability::Mut(_) if atomic => quote!(::warpplay_gpu::cuda::view::Atomic::<#element>),
        PointerMutability::Mut(_) => quote!(::warpplay_gpu::cuda::view::Exclusive::<#element>),
        PointerMutability::Const(_) => quote!(::warpplay_gpu::cuda::view::Slice::<#element>),
    };
    let len = extent.len();
    let (mut ty, mut make) = (view.clone(), quote!(unsafe { #view::of(pointer, #len) }));
    if let Extent::Shape { sizes, quads } = extent {
        let dimensions = sizes.len();
        ty = quote!(::warpplay_gpu::cuda::view::Grid::<#view, #dimensions>);
        make = quote!(unsafe { #ty::of(#make, [#((#sizes) as u32),*]) });
        if *quads {
            ty = quote!(::warpplay_gpu::cuda::view::Quads::<#view, #dimensions>);
            make = quote!(unsafe { #ty::of(#make) });
        }
    }
    if nullable {
        make = quote!(unsafe { ::warpplay_gpu::cuda::view::Nullable::of(!pointer.is_null(), #make) });
        ty = quote!(::warpplay_gpu::cuda::view::Nullable<#ty>);
    }
    match count {
        Some(count) => (quote!([#ty; #count]), quote!(#name.map(|pointer| #make))),
        None => (ty, quote!({ let pointer = #name; #make })),
    }
}

/// `path::SViews<T>` for `path::S<T>`.
fn views_type(ty: &Type) -> TokenStream {
    let Type::Path(path) = ty else { return quote!(#ty) };
    let mut path = path.clone();
    if let Some(last) = path.path.segments.last_mut() {
        last.ident = format_ident!("{}Views", last.ident);
    }
    quote!(#path)
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
            r#"binding . expect_len ("values" , view . len () , ((n_models) as usize) . saturating_mul (((n) as usize) . saturating_add (((1) as usize))))"#,
            "if ! view . is_none ()",
            "if ! (batch >= 1) { binding . refuse (",
            "IntoParam < :: warpplay_gpu :: args :: Checked < Task < T > >> for TaskArgs < 'args , T >",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
    }

    #[test]
    fn views_have_the_declared_lengths_where_the_device_knows_them() {
        let text = expand(quote! {
            #[repr(C)]
            #[args(n_models: u32)]
            #[views]
            pub struct Task<T> {
                /// Values.
                #[len(n * (batch + 1))]
                pub values: *mut T,
                #[len(n)]
                #[nullable]
                pub bias: *const f32,
                #[len(n)]
                pub tables: [*const u8; 2],
                #[len(n_models * n)]
                pub models: *const u8,
                #[len(if bias.is_none() { n } else { 0 })]
                pub rest: *const u8,
                #[shape(n, batch * 8)]
                #[quads]
                pub lines: *const f32,
                #[args]
                pub tree: tree::View<T>,
                pub n: u32,
                pub batch: u32,
            }
        })
        .unwrap()
        .to_string();
        for part in [
            "pub struct TaskViews < T > {",
            "# [doc = r\" Values.\"] pub values : :: warpplay_gpu :: cuda :: view :: Exclusive :: < T >",
            "pub bias : :: warpplay_gpu :: cuda :: view :: Nullable < :: warpplay_gpu :: cuda :: view :: Slice :: < f32 > >",
            "pub tables : [:: warpplay_gpu :: cuda :: view :: Slice :: < u8 > ; 2]",
            "pub models : * const u8",
            "pub rest : * const u8",
            "pub lines : :: warpplay_gpu :: cuda :: view :: Quads :: < :: warpplay_gpu :: cuda :: view :: Slice :: < f32 > , 2usize >",
            "1usize . saturating_mul (((n) as usize)) . saturating_mul (((batch) as usize) . saturating_mul (((8) as usize)))",
            "[(n) as u32 , (batch * 8) as u32]",
            "binding . expect_quads (\"lines\" , view . is_aligned (16) , ((batch) as usize) . saturating_mul (((8) as usize)))",
            "pub tree : tree :: ViewViews < T >",
            "Exclusive :: < T > :: of (pointer , ((n) as usize) . saturating_mul (((batch) as usize) . saturating_add (((1) as usize))))",
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
