//! Lengths and conditions of a declaration, as the host evaluates them.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{BinOp, Expr, Ident};

/// A length as `usize`, for any types of its numbers. Sums and products saturate, so that an impossibly large length is never mistaken for a small one.
pub(crate) fn saturating(expression: &Expr) -> TokenStream {
    match expression {
        Expr::Group(group) => saturating(&group.expr),
        Expr::Paren(paren) => saturating(&paren.expr),
        Expr::Binary(binary) => {
            let (left, right) = (saturating(&binary.left), saturating(&binary.right));
            match binary.op {
                BinOp::Add(_) => quote!(#left.saturating_add(#right)),
                BinOp::Sub(_) => quote!(#left.saturating_sub(#right)),
                BinOp::Mul(_) => quote!(#left.saturating_mul(#right)),
                _ => quote!((#expression) as usize),
            }
        }
        other => quote!(((#other) as usize)),
    }
}

/// A statement that calls `refuse` with a `Refusal` unless the condition holds: the condition's text, and the values of those `names` that occur in it.
pub(crate) fn require(
    condition: &Expr,
    names: &[&Ident],
    refuse: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    let named = names.iter().filter(|name| mentions(quote!(#condition), name)).map(|name| {
        let format = format!("{name} = {{:?}}");
        quote!(::std::format!(#format, #name))
    });
    let refusal = refuse(quote! {
        ::warpplay_gpu::args::Refusal::Unmet {
            condition: ::core::stringify!(#condition),
            found: <[::std::string::String]>::join(&[#(#named),*], ", "),
        }
    });
    quote!(if !(#condition) { #refusal })
}

/// Whether a name occurs among tokens.
pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}
