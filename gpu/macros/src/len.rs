//! Lengths and conditions of a declaration, as the host evaluates them.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{BinOp, Expr, Ident};

/// A length as `usize`, whatever the types of the numbers in it. Sums and products saturate, so that a length that no memory has is never taken for a small one.
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

/// A statement that does `refuse` with a `Refusal` unless the condition holds: the condition's text, and the values of those of `names`, or of their fields, that stand in it.
pub(crate) fn require(
    condition: &Expr,
    names: &[&Ident],
    refuse: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    let mut places = Vec::new();
    names.iter().for_each(|name| find_places(quote!(#condition), name, &mut places));
    let named = places.iter().map(|place| {
        let format = format!("{} = {{:?}}", place.iter().map(Ident::to_string).collect::<Vec<_>>().join("."));
        quote!(::std::format!(#format, #(#place).*))
    });
    let refusal = refuse(quote! {
        ::warpplay_gpu::args::Refusal::Unmet {
            condition: ::core::stringify!(#condition),
            found: <[::std::string::String]>::join(&[#(#named),*], ", "),
        }
    });
    quote!(if !(#condition) { #refusal })
}

/// Adds where a name stands among tokens: alone, or with the fields that are taken of it, so that of a structure only what is looked at must be `Debug`.
fn find_places(tokens: TokenStream, name: &Ident, places: &mut Vec<Vec<Ident>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_dot = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == '.');
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => find_places(group.stream(), name, places),
            // Behind one dot it is a field of something else, behind two the end of a range.
            TokenTree::Ident(ident) if ident == name && (at == 0 || !is_dot(at - 1) || at > 1 && is_dot(at - 2)) => {
                let mut place = vec![name.clone()];
                let mut next = at + 1;
                while let (true, Some(TokenTree::Ident(field))) = (is_dot(next), tokens.get(next + 1)) {
                    if matches!(tokens.get(next + 2), Some(TokenTree::Group(_))) {
                        break;
                    }
                    place.push(field.clone());
                    next += 2;
                }
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            _ => {}
        }
    }
}

/// Whether a name stands among tokens.
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
    fn places(condition: TokenStream) -> Vec<String> {
        let mut places = Vec::new();
        [format_ident!("task"), format_ident!("n")]
            .iter()
            .for_each(|name| find_places(condition.clone(), name, &mut places));
        places.iter().map(|place| place.iter().map(Ident::to_string).collect::<Vec<_>>().join(".")).collect()
    }

    #[test]
    fn a_refusal_names_the_fields_that_a_condition_looks_at() {
        let of_fields = quote!(task.first.saturating_add(n) <= task.tree.n && (task.first > 0));
        assert_eq!(places(of_fields), ["task.first", "task.tree.n", "n"]);
        assert_eq!(places(quote!((1..=MAX).contains(&n) && (0..n).len() == other.n && n.is_power_of_two())), ["n"]);
        assert!(places(quote!(other.task == m)).is_empty());
    }
}
