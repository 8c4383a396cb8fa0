//! `shared_array!`: a named array in shared memory and a handle to it.

use std::sync::atomic::{AtomicU32, Ordering};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Result, Token, Type};

/// `T; N`.
struct Array {
    element: Type,
    len: Expr,
}

impl Parse for Array {
    fn parse(input: ParseStream) -> Result<Self> {
        let element = input.parse()?;
        input.parse::<Token![;]>()?;
        let len = input.parse()?;
        if !input.is_empty() {
            return Err(input.error("expected `shared_array![T; N]` and nothing after the length"));
        }
        Ok(Self { element, len })
    }
}

/// A name that is unique in the PTX module: the crate's name and a running number.
pub(crate) fn unique_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Cargo tells rustc, and so us, which crate is compiled.
    let crate_name = std::env::var("CARGO_CRATE_NAME")
        .or_else(|_| std::env::var("CARGO_PKG_NAME"))
        .unwrap_or_else(|_| "unnamed".to_owned());
    name(&crate_name, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// `shared_<crate>_<number>`, with only characters that a PTX name may have.
fn name(crate_name: &str, number: u32) -> String {
    let crate_name: String = crate_name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("shared_{crate_name}_{number}")
}

/// The expression for `T; N` whose array is called `name`.
///
/// The array is declared at module level: declared inside a function's `asm!`, it would be emitted once for each inlined
/// copy, and ptxas refuses the second. Since `global_asm!` is no statement, a module inside the function holds it; the host
/// has that module too, so that what it cannot name is an error there as well.
pub(crate) fn expand(input: TokenStream, name: &str) -> Result<TokenStream> {
    let Array { element, len } = syn::parse2(input)?;
    let module = format_ident!("{name}");
    let declaration = format!(".shared .align 16 .b8 {name}[{{bytes}}];");
    let address = format!("mov.u32 {{0}}, {name};");
    Ok(quote! {{
        mod #module {
            #[allow(unused_imports)]
            use super::*;
            pub(super) const LEN: usize = #len;
            const BYTES: usize = LEN * ::core::mem::size_of::<#element>();
            const _: () = ::core::assert!(BYTES > 0, "a shared array has at least one byte");
            const _: () = ::core::assert!(
                ::core::mem::align_of::<#element>() <= 16,
                "a shared array is aligned to 16 bytes"
            );
            #[cfg(target_arch = "nvptx64")]
            ::core::arch::global_asm!(#declaration, bytes = const BYTES);
        }
        #[cfg(target_arch = "nvptx64")]
        let __shared = {
            let __address: u32;
            // SAFETY: reads the address of the array that the module declares; no memory is touched.
            unsafe {
                ::core::arch::asm!(
                    #address,
                    out(reg32) __address,
                    options(pure, nomem, nostack, preserves_flags)
                )
            };
            // SAFETY: the array has this many elements, is aligned to 16 bytes and lives as long as the block.
            unsafe { ::warpplay_gpu::cuda::shared::Shared::<#element>::from_address(__address, #module::LEN as u32) }
        };
        #[cfg(not(target_arch = "nvptx64"))]
        let __shared = ::warpplay_gpu::cuda::shared::Shared::<#element>::declare(#name, #module::LEN as u32);
        __shared
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declares_the_array_once_at_module_level() {
        let text = expand(quote!(f32; 4 * 32), "shared_games_7").unwrap().to_string();
        assert!(text.contains(".shared .align 16 .b8 shared_games_7[{bytes}];"), "{text}");
        assert!(text.contains("mov.u32 {0}, shared_games_7;"), "{text}");
        assert!(text.contains("const LEN : usize = 4 * 32 ;"), "{text}");
        assert!(text.contains("declare (\"shared_games_7\" , shared_games_7 :: LEN as u32)"), "{text}");
        syn::parse_str::<Expr>(&text).unwrap();
    }

    #[test]
    fn names_differ_and_are_ptx_names() {
        assert_eq!(name("my-games.x", 3), "shared_my_games_x_3");
        assert_ne!(unique_name(), unique_name());
    }

    #[test]
    fn refuses_other_forms() {
        for wrong in [quote!(f32), quote!(f32, 4), quote!(f32; ), quote!(f32; 4; 5)] {
            assert!(expand(wrong, "x").is_err());
        }
    }
}
