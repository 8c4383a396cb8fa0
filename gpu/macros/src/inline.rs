//! `#[device_inline]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Result};

/// The item with the attributes of both targets.
pub fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if let Some(option) = options.into_iter().next() {
        return Err(Error::new(option.span(), "`device_inline` has no options"));
    }
    Ok(quote! {
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #[cfg_attr(not(target_arch = "nvptx64"), inline)]
        #item
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inlining_is_forced_on_the_device_alone() {
        let item = quote!(
            fn one() -> u32 {
                1
            }
        );
        let text = expand(TokenStream::new(), item.clone()).unwrap().to_string();
        let at = |part: &TokenStream| text.find(&part.to_string()).unwrap_or_else(|| panic!("{part} in {text}"));
        let device = at(&quote!(#[cfg_attr(target_arch = "nvptx64", inline(always))]));
        let host = at(&quote!(#[cfg_attr(not(target_arch = "nvptx64"), inline)]));
        assert!(device < host && host < at(&item));
        let message = expand(quote!(always), item).unwrap_err().to_string();
        assert_eq!(message, "`device_inline` has no options");
    }
}
