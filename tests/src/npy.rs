//! Files as numpy's `save` writes them.

/// A file of values of a type, as `"<f4"`, and a shape, as `"(2, 3)"`, whose bytes are `body`.
///
/// # Panics
/// For a header of more than 64 KiB.
pub fn npy(descr: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The values begin at a multiple of 64.
    header += &" ".repeat((64 - (10 + header.len() + 1) % 64) % 64);
    header.push('\n');
    let length = u16::try_from(header.len()).expect("a short header").to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), body].concat()
}
