//! `#[kernel]`: an entry point for PTX, a descriptor and an ordinary function for the host.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitStr, Pat, Result, ReturnType, Safety, Token, Type,
};

use crate::len::{self, mentions};

/// Most parameters of a kernel: the host's argument tuples go up to here.
const MAX_PARAMS: usize = 16;
/// Most threads of a block on every architecture.
const MAX_THREADS: u32 = 1024;
/// Most blocks that any architecture holds on one multiprocessor.
const MAX_BLOCKS: u32 = 32;

/// The options in the attribute's parentheses.
#[derive(Default)]
struct Options {
    suffix: Option<LitStr>,
    max_threads: Option<Expr>,
    min_blocks: Option<Expr>,
    /// The launch shape of a safe kernel.
    shape: Option<Shape>,
    /// A condition of a safe kernel's launch.
    require: Option<Expr>,
}

/// The launch shape of a safe kernel: an expression, or a closure if it depends on more than the parameters.
struct Shape {
    /// Its further arguments, each with its type.
    arguments: Vec<(Pat, Type)>,
    body: Expr,
}

impl Shape {
    fn new(expression: Expr) -> Result<Self> {
        let Expr::Closure(closure) = expression else { return Ok(Self { arguments: Vec::new(), body: expression }) };
        let typed = |input: Pat| match input {
            Pat::Type(typed) => Ok((*typed.pat, *typed.ty)),
            other => Err(Error::new(other.span(), "what a shape depends on has a type: `|block: u32| …`")),
        };
        let arguments = closure.inputs.into_iter().map(typed).collect::<Result<_>>()?;
        Ok(Self { arguments, body: *closure.body })
    }
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let repeated = if name == "suffix" {
                options.suffix.replace(suffix(input)?).is_some()
            } else if name == "max_threads" {
                let bound = bound(input, &name, MAX_THREADS)?;
                options.max_threads.replace(bound).is_some()
            } else if name == "min_blocks" {
                let bound = bound(input, &name, MAX_BLOCKS)?;
                options.min_blocks.replace(bound).is_some()
            } else if name == "shape" {
                options.shape.replace(Shape::new(input.parse()?)?).is_some()
            } else if name == "require" {
                options.require.replace(input.parse()?).is_some()
            } else {
                return Err(Error::new(
                    name.span(),
                    format!(
                        "unknown option `{name}`: allowed are `suffix`, `max_threads`, `min_blocks`, `shape` and `require`"
                    ),
                ));
            };
            if repeated {
                return Err(Error::new(name.span(), format!("option `{name}` is given twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if let (Some(min_blocks), None) = (&options.min_blocks, &options.max_threads) {
            return Err(Error::new(
                min_blocks.span(),
                "`min_blocks` needs `max_threads` too: without it the assembler cannot tell how large a block is",
            ));
        }
        if let (Some(require), None) = (&options.require, &options.shape) {
            return Err(Error::new(
                require.span(),
                "`require` needs `shape` too: only the launch of a safe kernel is checked",
            ));
        }
        Ok(options)
    }
}

/// A string of letters, digits and underscores. A literal from a `macro_rules` fragment is in an invisible group, which syn
/// ignores.
fn suffix(input: ParseStream) -> Result<LitStr> {
    let suffix: LitStr = input.parse()?;
    let value = suffix.value();
    if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Error::new(
            suffix.span(),
            format!("suffix \"{value}\" is not a part of a name: ASCII letters, digits and `_` are allowed"),
        ));
    }
    Ok(suffix)
}

/// A launch bound: a literal, which is checked here, or a constant expression.
fn bound(input: ParseStream, name: &Ident, most: u32) -> Result<Expr> {
    let expression: Expr = input.parse()?;
    if let Expr::Lit(ExprLit { lit, .. }) = ungrouped(&expression) {
        let value = match lit {
            Lit::Int(value) => value.base10_parse::<u32>().ok(),
            _ => None,
        };
        if !value.is_some_and(|value| (1..=most).contains(&value)) {
            return Err(Error::new(lit.span(), format!("`{name}` is a whole number from 1 to {most}")));
        }
    }
    Ok(expression)
}

/// The expression inside the invisible groups that `macro_rules` puts around a fragment.
fn ungrouped(mut expression: &Expr) -> &Expr {
    while let Expr::Group(group) = expression {
        expression = &group.expr;
    }
    expression
}

/// One parameter, known to be a plain name.
struct Param<'a> {
    name: &'a Ident,
    ty: &'a Type,
    /// Number of values that it must have, for a view.
    len: Option<Expr>,
    /// Whether it is a structure with `DeviceArgs`, which a safe kernel takes checked.
    args: bool,
}

impl Param<'_> {
    /// Its type on the way to the device.
    fn crossing(&self) -> TokenStream {
        let ty = self.ty;
        match &self.len {
            Some(_) => quote!(<#ty as ::warpplay_gpu::cuda::view::View>::Pointer),
            None => quote!(#ty),
        }
    }
}

/// Makes the views from the passed pointers, for the body on device and host.
fn views(params: &[Param<'_>]) -> TokenStream {
    let views = params.iter().filter_map(|Param { name, ty, len, .. }| {
        len.as_ref().map(|len| {
            quote! {
                // SAFETY: the launch has checked the length, and has borrowed its arguments as the view uses them.
                let #name = unsafe { <#ty as ::warpplay_gpu::cuda::view::View>::new(#name, #len) };
            }
        })
    });
    quote!(#(#views)*)
}

/// The whole expansion.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let function: ItemFn = syn::parse2(item)?;
    check_signature(&function, &options)?;
    let params = params(&function, options.shape.is_some())?;

    let ident = &function.sig.ident;
    let entry = match &options.suffix {
        Some(suffix) => format!("{ident}_{}", suffix.value()),
        None => ident.to_string(),
    };
    let cfgs = attributes(&function, &["cfg"]);
    let device = device_items(&function, &entry, &options, &cfgs, &params);
    let host = host_items(&function, &entry, &options, &cfgs, &params);
    Ok(quote!(#device #host))
}

/// Refuses what an entry point cannot have, with an error that points at it.
fn check_signature(function: &ItemFn, options: &Options) -> Result<()> {
    let signature = &function.sig;
    match (matches!(signature.safety, Safety::Unsafe(_)), &options.shape) {
        (false, None) => {
            return Err(Error::new(
                signature.fn_token.span(),
                "a kernel is an `unsafe fn`, since no compiler checks its launch shape and its buffers; or it declares them: \
                 `#[kernel(shape = …)]`, and views with `#[len(…)]` instead of pointers",
            ));
        }
        (true, Some(shape)) => {
            return Err(Error::new(
                shape.body.span(),
                "a kernel that declares its shape is a safe `fn`: every launch of it is checked",
            ));
        }
        _ => {}
    }
    let refused: [(Option<proc_macro2::Span>, &str); 7] = [
        (signature.constness.map(|t| t.span()), "a kernel cannot be `const`"),
        (signature.asyncness.map(|t| t.span()), "a kernel cannot be `async`"),
        (
            signature.abi.as_ref().map(Spanned::span),
            "a kernel has the ABI that the attribute gives it: remove this one",
        ),
        (
            signature.generics.lt_token.map(|_| signature.generics.span()),
            "a kernel has one entry name and so no generic parameters: instantiate it with a macro and `suffix`",
        ),
        (
            signature.generics.where_clause.as_ref().map(Spanned::span),
            "a kernel has no generic parameters and so no `where` clause",
        ),
        (
            match &signature.output {
                ReturnType::Default => None,
                output => Some(output.span()),
            },
            "a kernel returns nothing: write results through a pointer parameter",
        ),
        (signature.variadic.as_ref().map(Spanned::span), "a kernel cannot be variadic"),
    ];
    for (span, message) in refused {
        if let Some(span) = span {
            return Err(Error::new(span, message));
        }
    }
    Ok(())
}

/// The parameters, each of them a plain name with a type that can cross to the device.
fn params(function: &ItemFn, is_safe: bool) -> Result<Vec<Param<'_>>> {
    let inputs = &function.sig.inputs;
    if let Some(extra) = inputs.iter().nth(MAX_PARAMS) {
        return Err(Error::new(
            extra.span(),
            format!("a kernel has at most {MAX_PARAMS} parameters: pass a `#[repr(C)]` struct by value"),
        ));
    }
    inputs.iter().map(|input| param(input, is_safe)).collect()
}

fn param(input: &FnArg, is_safe: bool) -> Result<Param<'_>> {
    let typed = match input {
        FnArg::Receiver(receiver) => {
            return Err(Error::new(receiver.span(), "a kernel is a free function: it has no `self`"));
        }
        FnArg::Typed(typed) => typed,
    };
    let (mut len, mut args) = (None, false);
    for attribute in &typed.attrs {
        let path = attribute.path();
        if is_safe && path.is_ident("len") && len.is_none() && !args {
            len = Some(attribute.parse_args::<Expr>()?);
        } else if is_safe && path.is_ident("args") && len.is_none() {
            args = true;
        } else {
            return Err(Error::new(
                attribute.span(),
                "a kernel's parameter takes no attributes, since host and device must agree on the list; in a safe kernel a view has `#[len(…)]`, and a structure with `DeviceArgs` has `#[args]`",
            ));
        }
    }
    let name = match &*typed.pat {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => name,
        other => {
            return Err(Error::new(other.span(), "a kernel's parameter is a plain name: take it apart in the body"));
        }
    };
    match &*typed.ty {
        Type::Reference(reference) => Err(Error::new(
            reference.span(),
            "a kernel's parameter cannot be a reference, since host references mean nothing on the device: \
             use `*const T` or `*mut T`",
        )),
        Type::ImplTrait(ty) => Err(Error::new(
            ty.span(),
            "a kernel's parameter has a concrete type: instantiate the kernel with a macro and `suffix`",
        )),
        Type::Ptr(ty) if is_safe => Err(Error::new(
            ty.span(),
            "a safe kernel takes no pointers: a `Slice<T>` is read by all threads, a `Disjoint<T>` has an element a thread, each with `#[len(…)]`",
        )),
        ty => Ok(Param { name: &name.ident, ty, len, args }),
    }
}

/// The function's attributes whose name is one of `names`.
fn attributes<'a>(function: &'a ItemFn, names: &[&str]) -> Vec<&'a Attribute> {
    let named = |attribute: &&Attribute| names.iter().any(|name| attribute.path().is_ident(name));
    function.attrs.iter().filter(named).collect()
}

/// The entry point, and its launch bounds as a comment that survives into the PTX.
fn device_items(
    function: &ItemFn,
    entry: &str,
    options: &Options,
    cfgs: &[&Attribute],
    params: &[Param<'_>],
) -> TokenStream {
    let ItemFn { attrs, vis, sig, block, .. } = function;
    let (ident, inputs) = (&sig.ident, &sig.inputs);
    let (inputs, block) = match &options.shape {
        None => (quote!(#inputs), quote!(#block)),
        Some(_) => {
            let (body, views) = (plain_inputs(function, options, params), views(params));
            let names: Vec<_> = params.iter().map(|param| param.name).collect();
            let crossing = params.iter().map(Param::crossing);
            let block = quote!({
                #[inline(always)]
                #[allow(clippy::too_many_arguments)]
                fn body(#body) #block
                #views
                body(#(#names),*)
            });
            (quote!(#(#names: #crossing),*), block)
        }
    };
    // The builder turns the comment into directives of the entry: rustc has no attribute for them.
    let bounds = options.max_threads.as_ref().map(|max_threads| {
        let mut text = format!("// warpplay:bounds {entry} maxntid={{max_threads}}");
        let mut operands = quote!(max_threads = const { #max_threads });
        if let Some(min_blocks) = &options.min_blocks {
            text.push_str(" minnctapersm={min_blocks}");
            operands.extend(quote!(, min_blocks = const { #min_blocks }));
        }
        quote! {
            #(#cfgs)*
            #[cfg(target_arch = "nvptx64")]
            ::core::arch::global_asm!(#text, #operands);
        }
    });
    quote! {
        #(#attrs)*
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(export_name = #entry)]
        #vis unsafe extern "ptx-kernel" fn #ident(#inputs) #block

        #bounds
    }
}

/// The parameters of the body: without their attributes, and none is unused that the declaration uses.
fn plain_inputs(function: &ItemFn, options: &Options, params: &[Param<'_>]) -> TokenStream {
    let lens = params.iter().filter_map(|param| param.len.as_ref());
    let shape = options.shape.as_ref().map(|shape| &shape.body);
    let mut declaration = TokenStream::new();
    lens.chain(shape).chain(&options.require).for_each(|expression| expression.to_tokens(&mut declaration));
    let mut inputs = function.sig.inputs.clone();
    for (input, param) in inputs.iter_mut().zip(params) {
        if let FnArg::Typed(typed) = input {
            typed.attrs.clear();
            if mentions(declaration.clone(), param.name) {
                typed.attrs.push(syn::parse_quote!(#[allow(unused_variables)]));
            }
        }
    }
    quote!(#inputs)
}

/// The descriptor, and the body as an ordinary function.
fn host_items(
    function: &ItemFn,
    entry: &str,
    options: &Options,
    cfgs: &[&Attribute],
    params: &[Param<'_>],
) -> TokenStream {
    let ItemFn { attrs, vis, sig, block, .. } = function;
    let (ident, inputs) = (&sig.ident, plain_inputs(function, options, params));
    let struct_attributes = attributes(function, &["cfg", "doc", "allow", "deprecated"]);
    // Without a doc comment of its own the kernel keeps rustc's `missing_docs` warning.
    let entry_line = attrs.iter().any(|attribute| attribute.path().is_ident("doc")).then(|| {
        let line = format!("Device entry point `{entry}`.");
        quote!(#[doc = ""] #[doc = #line])
    });
    let body_attributes = attrs
        .iter()
        .filter(|attribute| !["cfg", "doc", "deprecated"].iter().any(|name| attribute.path().is_ident(name)));

    let types: Vec<_> = params.iter().map(Param::crossing).collect();
    let names: Vec<_> = params.iter().map(|param| param.name).collect();
    let name_texts = params.iter().map(|param| param.name.to_string());
    let type_texts = params.iter().map(|param| type_text(param.ty));
    let bound = |bound: &Option<Expr>| match bound {
        Some(bound) => quote!({ #bound }),
        None => quote!(0),
    };
    let (max_threads, min_blocks) = (bound(&options.max_threads), bound(&options.min_blocks));
    let body = format_ident!("__{}", ident, span = ident.span());
    let views = views(params);
    let (unsafety, call) = match options.shape {
        Some(_) => (None, quote!(#body(#(#names),*))),
        None => (
            Some(quote!(unsafe)),
            quote! {
                // SAFETY: the caller keeps the kernel's contract.
                unsafe { #body(#(#names),*) }
            },
        ),
    };
    let safe = options.shape.as_ref().map(|shape| safe_items(ident, shape, options.require.as_ref(), cfgs, params));
    quote! {
        #(#struct_attributes)*
        #entry_line
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, Default)]
        #vis struct #ident;

        #(#cfgs)*
        #[cfg(not(target_arch = "nvptx64"))]
        impl ::warpplay_gpu::kernel::Kernel for #ident {
            type Params = (#(#types,)*);
            const NAME: &'static str = #entry;
            const PARAMS: &'static [::warpplay_gpu::kernel::ParamDesc] = &[
                #(::warpplay_gpu::kernel::ParamDesc::of::<#types>(#name_texts, #type_texts)),*
            ];
            const BOUNDS: ::warpplay_gpu::kernel::LaunchBounds = ::warpplay_gpu::kernel::LaunchBounds {
                max_threads: #max_threads,
                min_blocks: #min_blocks,
            };

            unsafe fn call((#(#names,)*): Self::Params) {
                #(#body_attributes)*
                #[allow(clippy::too_many_arguments)]
                #unsafety fn #body(#inputs) #block
                #views
                #call
            }
        }

        #safe
    }
}

/// What a launch of a safe kernel checks.
fn safe_items(
    ident: &Ident,
    shape: &Shape,
    require: Option<&Expr>,
    cfgs: &[&Attribute],
    params: &[Param<'_>],
) -> TokenStream {
    let types = params.iter().map(|Param { ty, args, .. }| match args {
        true => quote!(::warpplay_gpu::args::Checked<#ty>),
        false => quote!(#ty),
    });
    let names: Vec<_> = params.iter().map(|param| param.name).collect();
    let structures =
        params.iter().filter(|param| param.args).map(|Param { name, .. }| quote!(let #name = #name.into_inner();));
    let checks = params.iter().filter_map(|Param { name, len, .. }| {
        let text = name.to_string();
        len.as_ref().map(|len| {
            let len = len::saturating(len);
            quote!(::warpplay_gpu::args::expect_len(#text, &#name, #len)?;)
        })
    });
    let crossing = params.iter().map(|Param { name, len, .. }| match len {
        Some(_) => quote!(::warpplay_gpu::cuda::view::View::pointer(&#name)),
        None => quote!(#name),
    });
    let Shape { arguments, body } = shape;
    let (launch, launch_types): (Vec<_>, Vec<_>) = arguments.iter().map(|(name, ty)| (name, ty)).unzip();
    let require = require.map(|condition| {
        let launch_names = launch.iter().filter_map(|pat| match pat {
            Pat::Ident(name) => Some(&name.ident),
            _ => None,
        });
        let values = params.iter().filter(|param| param.len.is_none() && !param.args).map(|param| param.name);
        let named: Vec<&Ident> = values.chain(launch_names).collect();
        len::require(condition, &named, |refusal| quote!(return Err(#refusal);))
    });
    quote! {
        #(#cfgs)*
        #[cfg(not(target_arch = "nvptx64"))]
        impl ::warpplay_gpu::kernel::SafeKernel for #ident {
            type Views = (#(#types,)*);
            type Launch = (#(#launch_types,)*);

            #[allow(unused_parens, clippy::unnecessary_cast)]
            fn prepare(
                (#(#names,)*): Self::Views,
                (#(#launch,)*): Self::Launch,
            ) -> ::core::result::Result<(::warpplay_gpu::launch::LaunchShape, Self::Params), ::warpplay_gpu::args::Refusal> {
                #(#structures)*
                #require
                #(#checks)*
                Ok((#body, (#(#crossing,)*)))
            }
        }
    }
}

/// A type in its usual spelling: `*const f32`, `Trees<Connect4>`, `[u32; 4]`.
fn type_text(ty: &Type) -> String {
    let mut text = String::new();
    push_tokens(&mut text, ty.to_token_stream());
    text
}

fn push_tokens(text: &mut String, tokens: TokenStream) {
    let mut joint = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                if text.ends_with("mut") || text.ends_with("const") {
                    text.push(' ');
                }
                text.push_str(open);
                push_tokens(text, group.stream());
                text.push_str(close);
                joint = false;
            }
            TokenTree::Punct(punct) => {
                let c = punct.as_char();
                match c {
                    ',' | ';' => text.extend([c, ' ']),
                    // `=`, `->` and `+` stand between spaces, everything else (`<`, `*`, `::`, `'`) does not.
                    '=' | '+' => text.extend([' ', c, ' ']),
                    '-' if punct.spacing() == Spacing::Joint => text.push_str(" -"),
                    '>' if joint => text.push_str("> "),
                    _ => text.push(c),
                }
                joint = c == '-' && punct.spacing() == Spacing::Joint;
            }
            word => {
                // Two words in a row (`const f32`, `dyn Trait`) need a space between them.
                if text.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                    text.push(' ');
                }
                text.push_str(&word.to_string());
                joint = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(options: TokenStream, item: TokenStream) -> String {
        let tokens = expand(options, item).unwrap();
        // It is a list of items, whatever else it is.
        let file: syn::File = syn::parse2(tokens).unwrap();
        file.to_token_stream().to_string()
    }

    fn refused(options: TokenStream, item: TokenStream) -> String {
        expand(options, item).unwrap_err().to_string()
    }

    #[test]
    fn expands_for_device_and_host() {
        let text = expanded(
            quote!(suffix = "connect4", max_threads = 256, min_blocks = 2),
            quote! {
                /// Selects.
                #[cfg(feature = "mcts")]
                #[inline(never)]
                pub unsafe fn mcts_select(trees: Trees<Connect4>, mut ucb_c: f32, out: *mut [u32; 4]) { work(trees) }
            },
        );
        for part in [
            r#"# [unsafe (export_name = "mcts_select_connect4")] pub unsafe extern "ptx-kernel" fn mcts_select (trees"#,
            r#"global_asm ! ("// warpplay:bounds mcts_select_connect4 maxntid={max_threads} minnctapersm={min_blocks}""#,
            "# [derive (Clone , Copy , Debug , Default)] pub struct mcts_select ;",
            "type Params = (Trees < Connect4 > , f32 , * mut [u32 ; 4] ,) ;",
            r#"const NAME : & 'static str = "mcts_select_connect4" ;"#,
            r#"of :: < Trees < Connect4 > > ("trees" , "Trees<Connect4>")"#,
            r#"("out" , "*mut [u32; 4]")"#,
            "max_threads : { 256 } , min_blocks : { 2 }",
            "unsafe fn call ((trees , ucb_c , out ,) : Self :: Params)",
            "# [inline (never)] # [allow (clippy :: too_many_arguments)] unsafe fn __mcts_select (trees",
            r#"# [doc = "Device entry point `mcts_select_connect4`."]"#,
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        // The entry, its bounds, the struct and the impl.
        assert_eq!(text.matches(r#"# [cfg (feature = "mcts")]"#).count(), 4, "{text}");
    }

    #[test]
    fn one_parameter_and_none() {
        let one = expanded(
            quote!(),
            quote!(
                unsafe fn f(n: u32) {}
            ),
        );
        assert!(one.contains("type Params = (u32 ,) ;"), "{one}");
        assert!(one.contains("call ((n ,) : Self :: Params)"), "{one}");
        assert!(!one.contains("warpplay:bounds"), "{one}");
        assert!(!one.contains("doc ="), "no docs of its own, none added: {one}");
        let none = expanded(
            quote!(),
            quote!(
                unsafe fn f() {}
            ),
        );
        assert!(none.contains("type Params = () ;"), "{none}");
        assert!(none.contains("call (() : Self :: Params)"), "{none}");
    }

    #[test]
    fn options_from_macro_rules_fragments() {
        // What `$suffix:literal` and `$threads:literal` become.
        let group = |tokens| proc_macro2::Group::new(Delimiter::None, tokens);
        let (suffix, threads) = (group(quote!("gomoku")), group(quote!(128)));
        let text = expanded(
            quote!(suffix = #suffix, max_threads = #threads,),
            quote!(
                unsafe fn f() {}
            ),
        );
        assert!(text.contains(r#"const NAME : & 'static str = "f_gomoku" ;"#), "{text}");
        assert!(text.contains("max_threads : { 128 }"), "{text}");
    }

    #[test]
    fn a_constant_as_bound() {
        let text = expanded(
            quote!(max_threads = BLOCK),
            quote!(
                unsafe fn f() {}
            ),
        );
        assert!(text.contains("max_threads = const { BLOCK }"), "{text}");
    }

    #[test]
    fn refuses_what_an_entry_point_cannot_have() {
        let seventeen = (0..17).map(|i| format_ident!("p{i}"));
        for (item, part) in [
            (
                quote!(
                    fn f() {}
                ),
                "`unsafe fn`",
            ),
            (
                quote!(
                    unsafe fn f(#[len(1)] a: Slice<u32>) {}
                ),
                "no attributes",
            ),
            (
                quote!(
                    unsafe fn f<T>(x: T) {}
                ),
                "no generic parameters",
            ),
            (
                quote!(
                    unsafe fn f()
                    where
                        u32: Copy,
                    {
                    }
                ),
                "`where`",
            ),
            (
                quote!(
                    unsafe fn f() -> u32 {
                        1
                    }
                ),
                "returns nothing",
            ),
            (
                quote!(
                    unsafe fn f(self) {}
                ),
                "no `self`",
            ),
            (
                quote!(
                    unsafe fn f((a, b): (u32, u32)) {}
                ),
                "plain name",
            ),
            (
                quote!(
                    unsafe fn f(ref a: u32) {}
                ),
                "plain name",
            ),
            (
                quote!(
                    unsafe fn f(a: &f32) {}
                ),
                "cannot be a reference",
            ),
            (
                quote!(
                    unsafe fn f(a: impl Copy) {}
                ),
                "concrete type",
            ),
            (
                quote!(
                    unsafe fn f(#[cfg(x)] a: u32) {}
                ),
                "no attributes",
            ),
            (
                quote!(
                    unsafe extern "C" fn f() {}
                ),
                "ABI",
            ),
            (
                quote!(
                    async unsafe fn f() {}
                ),
                "`async`",
            ),
            (
                quote!(
                    const unsafe fn f() {}
                ),
                "`const`",
            ),
            (quote!(unsafe fn f(#(#seventeen: u32),*) {}), "at most 16"),
        ] {
            let message = refused(quote!(), item.clone());
            assert!(message.contains(part), "{item}: {message}");
        }
    }

    #[test]
    fn a_safe_kernel_has_views_on_the_host_and_pointers_on_the_way() {
        let text = expanded(
            quote!(shape = LaunchShape::linear(n, 256)),
            quote!(
                pub fn add(#[len(n as usize)] mut sum: Disjoint<f32>, b: f32, n: u32) {
                    work(sum)
                }
            ),
        );
        for part in [
            "fn add (sum : < Disjoint < f32 > as :: warpplay_gpu :: cuda :: view :: View > :: Pointer , b : f32 , n : u32) {",
            "fn body (mut sum : Disjoint < f32 > , b : f32 , # [allow (unused_variables)] n : u32) { work (sum) }",
            "let sum = unsafe { < Disjoint < f32 > as :: warpplay_gpu :: cuda :: view :: View > :: new (sum , n as usize) } ;",
            "type Views = (Disjoint < f32 > , f32 , u32 ,) ; type Launch = () ;",
            r#"expect_len ("sum" , & sum , ((n as usize) as usize)) ? ;"#,
            "Ok ((LaunchShape :: linear (n , 256) , (:: warpplay_gpu :: cuda :: view :: View :: pointer (& sum) , b , n ,)))",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        assert!(!text.contains("unsafe fn __add"), "{text}");
    }

    #[test]
    fn a_shape_may_depend_on_what_is_no_parameter() {
        let item = quote!(
            fn f(n: u32) {}
        );
        let text =
            expanded(quote!(shape = |block: u32| LaunchShape::linear(n, block), max_threads = 512), item.clone());
        for part in [
            "type Launch = (u32 ,) ;",
            "(block ,) : Self :: Launch",
            "Ok ((LaunchShape :: linear (n , block) , (n ,)))",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        let message = refused(quote!(shape = |block| LaunchShape::linear(n, block)), item);
        assert!(message.contains("has a type"), "{message}");
    }

    #[test]
    fn a_condition_is_checked_before_the_launch() {
        let item = quote!(
            fn f(#[args] task: Task, n: u32) {}
        );
        let options = quote!(shape = |block: u32| LaunchShape::linear(n, block), require = block % 32 == 0);
        let text = expanded(options, item.clone());
        for part in [
            "type Views = (:: warpplay_gpu :: args :: Checked < Task > , u32 ,) ;",
            "let task = task . into_inner () ; if ! (block % 32 == 0) { return Err (",
            r#"format ! ("block = {:?}" , block)"#,
            "Ok ((LaunchShape :: linear (n , block) , (task , n ,)))",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        let message = refused(
            quote!(require = n > 0),
            quote!(
                unsafe fn f(n: u32) {}
            ),
        );
        assert!(message.contains("needs `shape`"), "{message}");
    }

    #[test]
    fn refuses_what_a_safe_kernel_cannot_have() {
        for (item, part) in [
            (
                quote!(
                    unsafe fn f() {}
                ),
                "a safe `fn`",
            ),
            (
                quote!(
                    fn f(a: *mut u32) {}
                ),
                "takes no pointers",
            ),
            (
                quote!(
                    fn f(
                        #[len(1)]
                        #[len(2)]
                        a: Slice<u32>,
                    ) {
                    }
                ),
                "no attributes",
            ),
        ] {
            let message = refused(quote!(shape = LaunchShape::new(1, 32)), item.clone());
            assert!(message.contains(part), "{item}: {message}");
        }
    }

    #[test]
    fn refuses_wrong_options() {
        let item = quote!(
            unsafe fn f() {}
        );
        for (options, part) in [
            (quote!(sufix = "a"), "unknown option `sufix`"),
            (quote!(suffix = "a b"), "not a part of a name"),
            (quote!(suffix = ""), "not a part of a name"),
            (quote!(suffix = "a", suffix = "b"), "given twice"),
            (quote!(max_threads = 0), "1 to 1024"),
            (quote!(max_threads = 1025), "1 to 1024"),
            (quote!(max_threads = "64"), "1 to 1024"),
            (quote!(min_blocks = 2), "needs `max_threads`"),
        ] {
            let message = refused(options.clone(), item.clone());
            assert!(message.contains(part), "{options}: {message}");
        }
    }

    #[test]
    fn types_are_written_as_people_write_them() {
        for text in
            ["*const f32", "*mut [u32; 4]", "crate::Trees<Connect4<6, 7>>", "(u32, f32)", "Option<fn(u32) -> f32>"]
        {
            assert_eq!(type_text(&syn::parse_str(text).unwrap()), text);
        }
    }
}
