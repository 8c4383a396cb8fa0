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
                _ => quote!(((#expression) as usize)),
            }
        }
        other => quote!(((#other) as usize)),
    }
}

/// A statement that calls `refuse` with a `Refusal` unless the condition holds: the condition's text, and the values of those `names`, or of their fields, that occur in it.
pub(crate) fn require(
    condition: &Expr,
    names: &[&Ident],
    refuse: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    let mut paths = Vec::new();
    names.iter().for_each(|name| find_paths(quote!(#condition), name, &mut paths));
    let named = paths.iter().map(|path| {
        let format = format!("{} = {{:?}}", path.iter().map(Ident::to_string).collect::<Vec<_>>().join("."));
        quote!(::std::format!(#format, #(#path).*))
    });
    let refusal = refuse(quote! {
        ::warpplay_gpu::args::Refusal::Unmet {
            condition: ::core::stringify!(#condition),
            found: <[::std::string::String]>::join(&[#(#named),*], ", "),
        }
    });
    quote!(if !(#condition) { #refusal })
}

/// Adds the paths by which a name occurs among tokens: alone, or with the fields that are read, so that only those fields of a structure must be `Debug`.
fn find_paths(tokens: TokenStream, name: &Ident, paths: &mut Vec<Vec<Ident>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_dot = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == '.');
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => find_paths(group.stream(), name, paths),
            // Behind one dot it is a field of something else, behind two the end of a range.
            TokenTree::Ident(ident) if ident == name && (at == 0 || !is_dot(at - 1) || at > 1 && is_dot(at - 2)) => {
                let mut path = vec![name.clone()];
                let mut next = at + 1;
                while let (true, Some(TokenTree::Ident(field))) = (is_dot(next), tokens.get(next + 1)) {
                    if matches!(tokens.get(next + 2), Some(TokenTree::Group(_))) {
                        break;
                    }
                    path.push(field.clone());
                    next += 2;
                }
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
            _ => {}
        }
    }
}

/// Whether a name occurs among tokens.
pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use quote::format_ident;

    use super::*;

    /// Places of `task` and `n` in a condition.
    fn paths(condition: TokenStream) -> Vec<String> {
        let mut paths = Vec::new();
        [format_ident!("task"), format_ident!("n")]
            .iter()
            .for_each(|name| find_paths(condition.clone(), name, &mut paths));
        paths.iter().map(|path| path.iter().map(Ident::to_string).collect::<Vec<_>>().join(".")).collect()
    }

    #[test]
    fn a_refusal_names_the_fields_that_a_condition_looks_at() {
        let of_fields = quote!(task.first.saturating_add(n) <= task.tree.n && (task.first > 0));
        assert_eq!(paths(of_fields), ["task.first", "task.tree.n", "n"]);
        assert_eq!(paths(quote!((1..=MAX).contains(&n) && (0..n).len() == other.n && n.is_power_of_two())), ["n"]);
        assert!(paths(quote!(other.task == m)).is_empty());
    }
}
