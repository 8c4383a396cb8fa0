//! `#[kernel]`: an entry point for PTX, a descriptor and an ordinary function for the host.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitStr, Pat, PointerMutability, Result, ReturnType,
    Safety, Token, Type, TypePtr,
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
    /// The launch shape.
    shape: Option<Shape>,
    /// A condition of the launch.
    require: Option<Expr>,
}

/// The launch shape: an expression, or a closure if it depends on more than the parameters.
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
                options.suffix.replace(input.parse()?).is_some()
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
                "`require` needs `shape` too: only the launch of a kernel that declares its shape is checked",
            ));
        }
        Ok(options)
    }
}

/// Refuses a suffix other than a string of letters, digits and underscores.
fn check_suffix(suffix: &LitStr) -> Result<()> {
    let value = suffix.value();
    if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Error::new(
            suffix.span(),
            format!("suffix \"{value}\" is not a part of a name: ASCII letters, digits and `_` are allowed"),
        ));
    }
    Ok(())
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
    /// Number of values that it must have, for a view or a pointer.
    len: Option<Expr>,
    /// Whether it is a structure with `DeviceArgs` that is only taken checked.
    args: bool,
}

impl Param<'_> {
    /// Whether the body has a view of it, made of the pointer that crosses.
    fn is_view(&self) -> bool {
        self.len.is_some() && pointer(self.ty).is_none()
    }

    /// Its type on the way to the device.
    fn crossing(&self) -> TokenStream {
        let ty = self.ty;
        if self.is_view() { quote!(<#ty as ::warpplay_gpu::cuda::view::View>::Pointer) } else { quote!(#ty) }
    }

    /// What the launch of a kernel that declares its shape is given: a pointer with a declared length is there a view, which has one.
    fn given(&self) -> TokenStream {
        let ty = self.ty;
        match (&self.len, pointer(ty)) {
            (Some(_), Some(TypePtr { mutability: PointerMutability::Const(_), elem, .. })) => {
                quote!(::warpplay_gpu::cuda::view::Slice<#elem>)
            }
            (Some(_), Some(TypePtr { elem, .. })) => quote!(::warpplay_gpu::cuda::view::Disjoint<#elem>),
            _ if self.args => quote!(::warpplay_gpu::args::Checked<#ty>),
            _ => quote!(#ty),
        }
    }
}

/// The type as a pointer, inside the invisible groups that `macro_rules` puts around a fragment.
fn pointer(mut ty: &Type) -> Option<&TypePtr> {
    while let Type::Group(group) = ty {
        ty = &group.elem;
    }
    match ty {
        Type::Ptr(pointer) => Some(pointer),
        _ => None,
    }
}

/// Makes the views from the passed pointers, for the body on device and host.
fn views(params: &[Param<'_>]) -> TokenStream {
    let views = params.iter().filter(|param| param.is_view()).map(|Param { name, ty, len, .. }| {
        quote! {
            // SAFETY: the launch has checked the length, and has borrowed its arguments as the view uses them.
            let #name = unsafe { <#ty as ::warpplay_gpu::cuda::view::View>::new(#name, #len) };
        }
    });
    quote!(#(#views)*)
}

/// Whether the compiler checks the kernel's body, and a launch has no contract beside the declaration.
fn is_safe(function: &ItemFn) -> bool {
    !matches!(function.sig.safety, Safety::Unsafe(_))
}

/// `body(a, b)`, in `unsafe` where the kernel is.
fn call(function: &ItemFn, body: &Ident, params: &[Param<'_>]) -> TokenStream {
    let names = params.iter().map(|param| param.name);
    if is_safe(function) {
        return quote!(#body(#(#names),*));
    }
    quote! {
        // SAFETY: the caller keeps the kernel's contract.
        unsafe { #body(#(#names),*) }
    }
}

/// The whole expansion.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let function: ItemFn = syn::parse2(item)?;
    options.suffix.as_ref().map_or(Ok(()), check_suffix)?;
    check_signature(&function, &options)?;
    let params = params(&function, &options)?;

    let ident = &function.sig.ident;
    let entry = match &options.suffix {
        Some(suffix) => format!("{ident}_{}", suffix.value()),
        None => ident.to_string(),
    };
    let cfgs = attributes(&function, &["cfg"]);
    let device = device_items(&function, &entry, &options, &cfgs, &params);
    let host = host_items(&function, &entry, &options, &cfgs, &params)?;
    Ok(quote!(#device #host))
}

/// Refuses what an entry point cannot have, with an error that points at it.
fn check_signature(function: &ItemFn, options: &Options) -> Result<()> {
    let signature = &function.sig;
    if options.shape.is_none() && is_safe(function) {
        return Err(Error::new(
            signature.fn_token.span(),
            "a kernel is an `unsafe fn`, since no compiler checks its launch shape and its buffers; or it declares them: \
             `#[kernel(shape = …)]`, and views with `#[len(…)]` instead of pointers",
        ));
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
fn params<'a>(function: &'a ItemFn, options: &Options) -> Result<Vec<Param<'a>>> {
    let inputs = &function.sig.inputs;
    if let Some(extra) = inputs.iter().nth(MAX_PARAMS) {
        return Err(Error::new(
            extra.span(),
            format!("a kernel has at most {MAX_PARAMS} parameters: pass a `#[repr(C)]` struct by value"),
        ));
    }
    let (is_shaped, is_safe) = (options.shape.is_some(), is_safe(function));
    inputs.iter().map(|input| param(input, is_shaped, is_safe)).collect()
}

fn param(input: &FnArg, is_shaped: bool, is_safe: bool) -> Result<Param<'_>> {
    let typed = match input {
        FnArg::Receiver(receiver) => {
            return Err(Error::new(receiver.span(), "a kernel is a free function: it has no `self`"));
        }
        FnArg::Typed(typed) => typed,
    };
    let (mut len, mut args) = (None, false);
    for attribute in &typed.attrs {
        let path = attribute.path();
        if is_shaped && path.is_ident("len") && len.is_none() && !args {
            len = Some(attribute.parse_args::<Expr>()?);
        } else if is_shaped && path.is_ident("args") && len.is_none() {
            args = true;
        } else if !is_shaped && (path.is_ident("len") || path.is_ident("args")) {
            return Err(Error::new(
                attribute.span(),
                "only the launch of a kernel that declares its shape is checked: add `#[kernel(shape = …)]`",
            ));
        } else {
            return Err(Error::new(
                attribute.span(),
                "a kernel's parameter takes no attributes, since host and device must agree on the list; where the kernel declares its shape, a view or a pointer may have one `#[len(…)]`, and a \
                 structure with `DeviceArgs` `#[args]`",
            ));
        }
    }
    let name = match &*typed.pat {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => name,
        other => {
            return Err(Error::new(other.span(), "a kernel's parameter is a plain name: take it apart in the body"));
        }
    };
    let ty = &*typed.ty;
    if let (true, Some(pointer)) = (is_safe, pointer(ty)) {
        return Err(Error::new(
            pointer.span(),
            "a safe kernel takes no pointers: a `Slice<T>` is read by all threads, a `Disjoint<T>` has an element a thread, each with `#[len(…)]`",
        ));
    }
    match ty {
        Type::Reference(reference) => Err(Error::new(
            reference.span(),
            "a kernel's parameter cannot be a reference, since host references mean nothing on the device: \
             use `*const T` or `*mut T`",
        )),
        Type::ImplTrait(ty) => Err(Error::new(
            ty.span(),
            "a kernel's parameter has a concrete type: instantiate the kernel with a macro and `suffix`",
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
    let ident = &sig.ident;
    let plain = plain_inputs(function, options, params);
    let (inputs, block) = if is_safe(function) || params.iter().any(Param::is_view) {
        let (unsafety, views) = (&sig.safety, views(params));
        let call = call(function, &format_ident!("body"), params);
        let (names, crossing) = (params.iter().map(|param| param.name), params.iter().map(Param::crossing));
        let block = quote!({
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            #unsafety fn body(#plain) #block
            #views
            #call
        });
        (quote!(#(#names: #crossing),*), block)
    } else {
        (plain, quote!(#block))
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
) -> Result<TokenStream> {
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
    let (unsafety, call) = (&sig.safety, call(function, &body, params));
    let launch = match &options.shape {
        Some(shape) => Some(launch_items(function, shape, options.require.as_ref(), cfgs, params)?),
        None => None,
    };
    Ok(quote! {
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

        #launch
    })
}

/// What a launch of a kernel that declares its shape checks.
fn launch_items(
    function: &ItemFn,
    shape: &Shape,
    require: Option<&Expr>,
    cfgs: &[&Attribute],
    params: &[Param<'_>],
) -> Result<TokenStream> {
    let ident = &function.sig.ident;
    let types = params.iter().map(Param::given);
    let names: Vec<_> = params.iter().map(|param| param.name).collect();
    let structures =
        params.iter().filter(|param| param.args).map(|Param { name, .. }| quote!(let #name = #name.into_inner();));
    let checked = params.iter().filter_map(|Param { name, len, .. }| Some((name, len.as_ref()?)));
    let checks = checked.map(|(name, len)| {
        let (text, len) = (name.to_string(), len::length(len)?);
        Ok(quote!(::warpplay_gpu::args::expect_len(#text, &#name, #len)?;))
    });
    let checks = checks.collect::<Result<Vec<_>>>()?;
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
    let safe = is_safe(function).then(|| {
        quote! {
            #(#cfgs)*
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the kernel is a safe function, and its declaration has all that its launch must keep.
            unsafe impl ::warpplay_gpu::kernel::SafeKernel for #ident {}
        }
    });
    Ok(quote! {
        #(#cfgs)*
        #[cfg(not(target_arch = "nvptx64"))]
        impl ::warpplay_gpu::kernel::ShapedKernel for #ident {
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

        #safe
    })
}

/// A kernel's type in the trait of a family of kernels: what its launch is given, where it declares its shape. The family has no suffix of its own, so that it may be empty.
pub(crate) fn kernel_type(input: TokenStream) -> Result<TokenStream> {
    let KernelType { options, function } = syn::parse2(input)?;
    let params = params(&function, &options)?;
    let (ident, crossing) = (&function.sig.ident, params.iter().map(Param::crossing));
    let Some(Shape { arguments, .. }) = &options.shape else {
        return Ok(quote!(type #ident: ::warpplay_gpu::kernel::Kernel<Params = (#(#crossing,)*)> + Default;));
    };
    let (given, launch) = (params.iter().map(Param::given), arguments.iter().map(|(_, ty)| ty));
    Ok(quote! {
        type #ident: ::warpplay_gpu::kernel::ShapedKernel<
            Params = (#(#crossing,)*),
            Views = (#(#given,)*),
            Launch = (#(#launch,)*),
        > + Default;
    })
}

/// `[options] unsafe fn name(parameters) {}`.
struct KernelType {
    options: Options,
    function: ItemFn,
}

impl Parse for KernelType {
    fn parse(input: ParseStream) -> Result<Self> {
        let options;
        syn::bracketed!(options in input);
        Ok(Self { options: options.parse()?, function: input.parse()? })
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
                "only the launch of a kernel that declares its shape",
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
            r#"expect_len ("sum" , & sum , ((n) as usize)) ? ;"#,
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
    fn an_unsafe_kernel_with_a_shape_keeps_its_pointers() {
        let item = quote!(
            pub unsafe fn take(#[len(n)] to: *mut f32, #[len(m)] from: *const f32, rows: *const u32, n: u32, m: u32) {
                work(to, from, rows, m)
            }
        );
        let text = expanded(quote!(shape = LaunchShape::linear(n, 256)), item);
        for part in [
            "fn take (to : * mut f32 , from : * const f32 , rows : * const u32 , # [allow (unused_variables)] n : u32 ,",
            "{ work (to , from , rows , m) }",
            "type Views = (:: warpplay_gpu :: cuda :: view :: Disjoint < f32 > , :: warpplay_gpu :: cuda :: view :: Slice < f32 > , * const u32 , u32 , u32 ,) ;",
            r#"expect_len ("from" , & from , ((m) as usize)) ? ;"#,
            "impl :: warpplay_gpu :: kernel :: ShapedKernel for take",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        assert!(!text.contains("SafeKernel"), "{text}");
    }

    #[test]
    fn an_unsafe_kernel_with_a_view_has_it_in_its_body() {
        let item = quote!(
            unsafe fn f(#[len(n as usize)] a: Slice<f32>, b: *mut f32, n: u32) {
                work(a, b)
            }
        );
        let text = expanded(quote!(shape = LaunchShape::linear(n, 256)), item);
        for part in [
            "unsafe fn body (a : Slice < f32 > , b : * mut f32 ,",
            "unsafe { body (a , b , n) }",
            "unsafe { __f (a , b , n) }",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
    }

    #[test]
    fn a_kernels_type_in_a_family() {
        let of = |options: TokenStream| {
            let kernel = quote!([suffix = "", #options] unsafe fn f(#[len(n)] a: *mut f32, n: u32) {});
            kernel_type(kernel).map(|text| text.to_string())
        };
        let shaped = of(quote!(shape = |block: u32, k: u64| shape(n, block))).expect("a kernel");
        for part in [
            "type f : :: warpplay_gpu :: kernel :: ShapedKernel < Params = (* mut f32 , u32 ,)",
            "Views = (:: warpplay_gpu :: cuda :: view :: Disjoint < f32 > , u32 ,)",
            "Launch = (u32 , u64 ,)",
        ] {
            assert!(shaped.contains(part), "{part}\nis not in\n{shaped}");
        }
        let refused = of(quote!(max_threads = 64)).expect_err("a length").to_string();
        assert!(refused.contains("only the launch of a kernel that declares its shape"), "{refused}");
    }

    #[test]
    fn refuses_what_a_safe_kernel_cannot_have() {
        for (item, part) in [
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
