//! Lengths and conditions of a declaration, as the host evaluates them.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Error, Expr, ExprBinary, ExprMethodCall, Ident, Result, Stmt, Type};

/// A length as `usize`, for any types of its numbers: `usize::MAX`, which no buffer has, where a step overflows, is below 0 or is divided by 0. Arithmetic that cannot be checked is refused.
pub(crate) fn length(expression: &Expr) -> Result<TokenStream> {
    let mut can_fail = false;
    let value = checked(expression, &mut can_fail)?;
    if !can_fail {
        return Ok(value);
    }
    Ok(quote!(::warpplay_gpu::args::length(|| {
        let length = #value;
        ::core::option::Option::Some(length)
    })))
}

/// The expression in checked `usize` arithmetic: `?`, which sets `can_fail`, returns `None` where a result does not fit, is below 0, or is divided by 0.
fn checked(expression: &Expr, can_fail: &mut bool) -> Result<TokenStream> {
    Ok(match expression {
        Expr::Group(group) => checked(&group.expr, can_fail)?,
        Expr::Paren(paren) => checked(&paren.expr, can_fail)?,
        Expr::Cast(cast) if is_wide(&cast.ty) => checked(&cast.expr, can_fail)?,
        Expr::Binary(binary) => of_operator(binary, can_fail)?,
        Expr::MethodCall(call) => of_method(call, can_fail)?,
        Expr::If(branch) => {
            let (condition, then) = (&branch.cond, of_block(&branch.then_branch, can_fail)?);
            let Some((_, other)) = &branch.else_branch else { return as_written(expression) };
            let other = checked(other, can_fail)?;
            check_plain(condition)?;
            quote!((if #condition { #then } else { #other }))
        }
        Expr::Block(block) => of_block(&block.block, can_fail)?,
        other => as_written(other)?,
    })
}

/// Whether a cast to this type loses nothing of a length.
fn is_wide(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("usize") || path.path.is_ident("u64"))
}

fn of_operator(binary: &ExprBinary, can_fail: &mut bool) -> Result<TokenStream> {
    let (left, right) = (&binary.left, &binary.right);
    let method = match binary.op {
        BinOp::Add(_) => quote!(checked_add),
        BinOp::Sub(_) => quote!(checked_sub),
        BinOp::Mul(_) => quote!(checked_mul),
        BinOp::Div(_) => quote!(checked_div),
        BinOp::Shl(_) => quote!(checked_mul),
        _ => return as_written(&Expr::Binary(binary.clone())),
    };
    let (left, mut right) = (checked(left, can_fail)?, checked(right, can_fail)?);
    if let BinOp::Shl(_) = binary.op {
        right = quote!(2usize.checked_pow(u32::try_from(#right).ok()?)?);
    }
    *can_fail = true;
    Ok(quote!(#left.#method(#right)?))
}

fn of_method(call: &ExprMethodCall, can_fail: &mut bool) -> Result<TokenStream> {
    let (receiver, method) = (&call.receiver, &call.method);
    let Some(argument) = call.args.first().filter(|_| call.args.len() == 1) else {
        return as_written(&Expr::MethodCall(call.clone()));
    };
    let is = |name: &str| method == name;
    if !["min", "max", "next_multiple_of", "div_ceil"].iter().any(|name| is(name)) {
        return as_written(&Expr::MethodCall(call.clone()));
    }
    let (receiver, argument) = (checked(receiver, can_fail)?, checked(argument, can_fail)?);
    if is("min") || is("max") {
        return Ok(quote!(#receiver.#method(#argument)));
    }
    *can_fail = true;
    let multiple = quote!(#receiver.checked_next_multiple_of(#argument)?);
    Ok(if is("div_ceil") { quote!((#multiple / #argument)) } else { multiple })
}

/// The value of a block in braces.
fn of_block(block: &Block, can_fail: &mut bool) -> Result<TokenStream> {
    match block.stmts.as_slice() {
        [Stmt::Expr(value, None)] => checked(value, can_fail),
        _ => Err(Error::new(block.brace_token.span.join(), "in a length, a block is one expression")),
    }
}

/// What has no arithmetic is evaluated in its own types.
fn as_written(expression: &Expr) -> Result<TokenStream> {
    check_plain(expression)?;
    Ok(quote!(((#expression) as usize)))
}

/// Methods of numbers that overflow or divide.
const ARITHMETIC: [&str; 7] = ["pow", "next_multiple_of", "next_power_of_two", "div_ceil", "abs", "sum", "product"];

/// Refuses arithmetic, which would be in the types of its numbers.
fn check_plain(expression: &Expr) -> Result<()> {
    /// The first operator or method that could overflow or divide by 0.
    struct Finder(Option<TokenStream>);

    impl<'ast> Visit<'ast> for Finder {
        fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
            let is_arithmetic = match binary.op {
                BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_) | BinOp::Shl(_) => true,
                // rustc itself refuses a literal shift that is too large.
                BinOp::Shr(_) => !matches!(*binary.right, Expr::Lit(_)),
                _ => false,
            };
            if is_arithmetic {
                self.0.get_or_insert(binary.op.to_token_stream());
            }
            visit::visit_expr_binary(self, binary);
        }

        fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
            if ARITHMETIC.iter().any(|name| call.method == name) {
                self.0.get_or_insert(call.method.to_token_stream());
            }
            visit::visit_expr_method_call(self, call);
        }
    }

    let mut finder = Finder(None);
    finder.visit_expr(expression);
    match finder.0 {
        None => Ok(()),
        Some(operator) => Err(Error::new_spanned(
            operator,
            "this could overflow here: in a length, `+`, `-`, `*`, `/`, `<<`, `div_ceil` and `next_multiple_of` are checked in parentheses, in casts to `usize` or `u64`, in the branches of `if`, and in \
             each other and `min` and `max`; not in conditions and the arguments of other calls",
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

    /// The tokens of a length, without the call of `args::length` around them.
    fn length(expression: TokenStream) -> Result<String> {
        let mut can_fail = false;
        let tokens = checked(&syn::parse2(expression)?, &mut can_fail)?.to_string();
        // None of the examples has a `?` of its own.
        assert_eq!(can_fail, tokens.contains('?'), "{tokens}");
        Ok(tokens)
    }

    #[test]
    fn arithmetic_is_checked_wherever_it_stands() {
        let (n, m, k) = ("((n) as usize)", "((m) as usize)", "((K) as usize)");
        let product = format!("{n} . checked_mul ({m}) ?");
        for (expression, expected) in [
            (quote!((n * m) as usize), product.clone()),
            (quote!((n * m) as u64), product.clone()),
            (quote!({ n * m }), product.clone()),
            (quote!(n - m), format!("{n} . checked_sub ({m}) ?")),
            (quote!(n * m - n * m), format!("{product} . checked_sub ({product}) ?")),
            (quote!((n * m) / (n * m)), format!("{product} . checked_div ({product}) ?")),
            (quote!(n << m), format!("{n} . checked_mul (2usize . checked_pow (u32 :: try_from ({m}) . ok () ?) ?) ?")),
            (quote!(n >> 1), "((n >> 1) as usize)".into()),
            (quote!((n * m).max(1)), format!("{product} . max (((1) as usize))")),
            (quote!((n * m).next_multiple_of(K)), format!("{product} . checked_next_multiple_of ({k}) ?")),
            (quote!((n * m).div_ceil(K)), format!("({product} . checked_next_multiple_of ({k}) ? / {k})")),
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
    fn arithmetic_that_cannot_be_checked_is_refused() {
        for expression in [
            quote!(words(n * m)),
            quote!(words(n.next_multiple_of(m))),
            quote!(n.pow(2)),
            quote!(n.pow(m + 1)),
            quote!(n >> m),
            quote!(sizes[n + 1]),
            quote!((n * m) as u32),
            quote!(n % m),
            quote!((n + m) >> 1),
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
