//! `registers!`: the lists of registers that an instruction of a tensor core takes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, LitStr, Result, Token, parenthesized};

/// Most registers of a thread.
const MOST: usize = 255;

/// `callback, count, separator, (arguments)`.
struct Input {
    callback: Ident,
    count: usize,
    separator: String,
    arguments: TokenStream,
}

impl Parse for Input {
    fn parse(input: ParseStream) -> Result<Self> {
        let callback = input.parse()?;
        input.parse::<Token![,]>()?;
        let literal: LitInt = input.parse()?;
        let count = literal.base10_parse()?;
        if !(1..=MOST).contains(&count) {
            return Err(syn::Error::new(literal.span(), format!("a thread has 1 to {MOST} registers for a list")));
        }
        input.parse::<Token![,]>()?;
        let separator: LitStr = input.parse()?;
        input.parse::<Token![,]>()?;
        let arguments;
        parenthesized!(arguments in input);
        Ok(Self { callback, count, separator: separator.value(), arguments: arguments.parse()? })
    }
}

/// The whole expansion.
pub(crate) fn expand(input: TokenStream) -> Result<TokenStream> {
    let Input { callback, count, separator, arguments } = syn::parse2(input)?;
    let list = (0..count).map(|register| format!("{{{register}}}")).collect::<Vec<_>>().join(&separator);
    let numbers = (0..count).map(proc_macro2::Literal::usize_unsuffixed);
    Ok(quote!(#callback!(#list, [#(#numbers)*], #arguments)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_and_its_numbers_come_first() {
        let text = expand(quote!(issue, 3, ", ", (d, "wgmma"))).unwrap().to_string();
        assert_eq!(text, r#"issue ! ("{0}, {1}, {2}" , [0 1 2] , d , "wgmma")"#);
    }

    #[test]
    fn refuses_what_no_thread_has() {
        for count in [quote!(0), quote!(256)] {
            let message = expand(quote!(issue, #count, " ", ())).unwrap_err().to_string();
            assert!(message.contains("1 to 255"), "{message}");
        }
    }
}
