//! Lengths and conditions of a declaration, as the host evaluates them.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Error, Expr, ExprBinary, ExprMethodCall, Ident, Result, Stmt, Type};

/// A length as `usize`, for any types of its numbers. Arithmetic saturates, so that an impossibly large length is never mistaken for a small one; what is below 0 or divided by 0 is impossibly large too.
/// Where arithmetic could not saturate, it is refused.
pub(crate) fn saturating(expression: &Expr) -> Result<TokenStream> {
    Ok(match expression {
        Expr::Group(group) => saturating(&group.expr)?,
        Expr::Paren(paren) => saturating(&paren.expr)?,
        Expr::Cast(cast) if is_wide(&cast.ty) => saturating(&cast.expr)?,
        Expr::Binary(binary) => of_operator(binary)?,
        Expr::MethodCall(call) => of_method(call)?,
        Expr::If(branch) => {
            let (condition, then) = (&branch.cond, of_block(&branch.then_branch)?);
            let Some((_, other)) = &branch.else_branch else { return as_written(expression) };
            let other = saturating(other)?;
            check_plain(condition)?;
            quote!((if #condition { #then } else { #other }))
        }
        Expr::Block(block) => of_block(&block.block)?,
        other => as_written(other)?,
    })
}

/// Whether a cast to this type loses nothing of a length.
fn is_wide(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("usize") || path.path.is_ident("u64"))
}

fn of_operator(binary: &ExprBinary) -> Result<TokenStream> {
    let (left, right) = (&binary.left, &binary.right);
    Ok(match binary.op {
        BinOp::Add(_) => {
            let (left, right) = (saturating(left)?, saturating(right)?);
            quote!(#left.saturating_add(#right))
        }
        BinOp::Sub(_) => {
            let (left, right) = (saturating(left)?, saturating(right)?);
            quote!(#left.checked_sub(#right).unwrap_or(usize::MAX))
        }
        BinOp::Mul(_) => {
            let (left, right) = (saturating(left)?, saturating(right)?);
            quote!(#left.saturating_mul(#right))
        }
        BinOp::Div(_) => {
            let (left, right) = (saturating(left)?, as_written(right)?);
            quote!(#left.checked_div(#right).unwrap_or(usize::MAX))
        }
        BinOp::Shl(_) => {
            let (left, right) = (saturating(left)?, saturating(right)?);
            quote!(#left.saturating_mul(2usize.saturating_pow(u32::try_from(#right).unwrap_or(u32::MAX))))
        }
        _ => as_written(&Expr::Binary(binary.clone()))?,
    })
}

fn of_method(call: &ExprMethodCall) -> Result<TokenStream> {
    let (receiver, method) = (&call.receiver, &call.method);
    let Some(argument) = call.args.first().filter(|_| call.args.len() == 1) else {
        return as_written(&Expr::MethodCall(call.clone()));
    };
    Ok(if method == "min" || method == "max" {
        let (receiver, argument) = (saturating(receiver)?, saturating(argument)?);
        quote!(#receiver.#method(#argument))
    } else if method == "next_multiple_of" {
        let (receiver, argument) = (saturating(receiver)?, as_written(argument)?);
        quote!(#receiver.checked_next_multiple_of(#argument).unwrap_or(usize::MAX))
    } else if method == "div_ceil" {
        let (receiver, argument) = (saturating(receiver)?, as_written(argument)?);
        quote!(#receiver.checked_next_multiple_of(#argument).map_or(usize::MAX, |all| all / #argument))
    } else {
        as_written(&Expr::MethodCall(call.clone()))?
    })
}

/// The value of a block in braces.
fn of_block(block: &Block) -> Result<TokenStream> {
    match block.stmts.as_slice() {
        [Stmt::Expr(value, None)] => saturating(value),
        _ => Err(Error::new(block.brace_token.span.join(), "in a length, a block is one expression")),
    }
}

/// What has no arithmetic is evaluated in its own types.
fn as_written(expression: &Expr) -> Result<TokenStream> {
    check_plain(expression)?;
    Ok(quote!(((#expression) as usize)))
}

/// Refuses arithmetic, which would be in the types of its numbers.
fn check_plain(expression: &Expr) -> Result<()> {
    /// The first operator that could overflow or divide by 0.
    struct Finder(Option<BinOp>);

    impl<'ast> Visit<'ast> for Finder {
        fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
            let is_arithmetic = matches!(
                binary.op,
                BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_) | BinOp::Shl(_)
            );
            if is_arithmetic {
                self.0.get_or_insert(binary.op);
            }
            visit::visit_expr_binary(self, binary);
        }
    }

    let mut finder = Finder(None);
    finder.visit_expr(expression);
    match finder.0 {
        None => Ok(()),
        Some(operator) => Err(Error::new_spanned(
            operator,
            "this operator could overflow here: in a length, `+`, `-`, `*`, `/` and `<<` saturate in parentheses, in casts to `usize` or `u64`, in the branches of `if`, in `a.min(b)` and `a.max(b)`, and in \
             the `a` of `a / b`, `a.div_ceil(b)` and `a.next_multiple_of(b)`; not in conditions, divisors and the arguments of other calls",
        )),
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

    fn length(expression: TokenStream) -> Result<String> {
        saturating(&syn::parse2(expression)?).map(|tokens| tokens.to_string())
    }

    #[test]
    fn arithmetic_saturates_wherever_it_stands() {
        let n = "((n) as usize)";
        let product = format!("{n} . saturating_mul (((m) as usize))");
        for (expression, expected) in [
            (quote!((n * m) as usize), product.clone()),
            (quote!((n * m) as u64), product.clone()),
            (quote!({ n * m }), product.clone()),
            (quote!(n - m), format!("{n} . checked_sub (((m) as usize)) . unwrap_or (usize :: MAX)")),
            (quote!((n * m) / 4), format!("{product} . checked_div (((4) as usize)) . unwrap_or (usize :: MAX)")),
            (
                quote!(n << m),
                format!(
                    "{n} . saturating_mul (2usize . saturating_pow (u32 :: try_from (((m) as usize)) . unwrap_or (u32 :: MAX)))"
                ),
            ),
            (quote!((n * m).max(1)), format!("{product} . max (((1) as usize))")),
            (
                quote!((n * m).next_multiple_of(K)),
                format!("{product} . checked_next_multiple_of (((K) as usize)) . unwrap_or (usize :: MAX)"),
            ),
            (
                quote!((n * m).div_ceil(K)),
                format!(
                    "{product} . checked_next_multiple_of (((K) as usize)) . map_or (usize :: MAX , | all | all / ((K) as usize))"
                ),
            ),
            (
                quote!(if n == 0 {
                    0
                } else if m & 1 == 0 {
                    n * m
                } else {
                    n
                }),
                format!("(if n == 0 {{ ((0) as usize) }} else {{ (if m & 1 == 0 {{ {product} }} else {{ {n} }}) }})"),
            ),
            (quote!(table.rows(n)[0]), "((table . rows (n) [0]) as usize)".into()),
        ] {
            assert_eq!(length(expression).unwrap(), expected);
        }
    }

    #[test]
    fn arithmetic_that_cannot_saturate_is_refused() {
        for expression in [
            quote!(words(n * m)),
            quote!(n.pow(m + 1)),
            quote!((n + m).pow(2)),
            quote!(sizes[n + 1]),
            quote!((n * m) as u32),
            quote!(n % m),
            quote!((n + m) >> 1),
            quote!(n / (m * m)),
            quote!(n.div_ceil(m - 1)),
            quote!(if n + 1 > m { n } else { m }),
            quote!(-(n + m)),
        ] {
            let text = expression.to_string();
            let message = length(expression).expect_err(&text).to_string();
            assert!(message.contains("could overflow here"), "{text}: {message}");
        }
        let message = length(quote!(if wanted {
            let k = n;
            k
        } else {
            0
        }))
        .unwrap_err()
        .to_string();
        assert!(message.contains("one expression"), "{message}");
    }

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
