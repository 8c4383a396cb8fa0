//! An image in characters.

/// From background to ink.
const SHADES: &[u8] = b" .:-=+*#%@";

/// A square image, two characters a pixel; nothing for an image that is not square.
pub fn draw(image: &[u8]) -> String {
    let side = image.len().isqrt();
    if side * side != image.len() || side == 0 {
        return String::new();
    }
    let mut text = String::new();
    for row in image.chunks_exact(side) {
        let mut line = String::new();
        for &pixel in row {
            let shade = usize::from(pixel) * SHADES.len() / 256;
            line.extend([char::from(SHADES[shade]); 2]);
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
