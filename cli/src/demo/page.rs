//! The demonstration as one page of HTML that needs no other file.

use warpplay::Device;

use crate::common::plot;
use crate::common::table::seconds;
use crate::demo::part::Part;

/// Colours of light and of dark, those of the plots; on a narrow screen plots stand below each other, and each is as wide as the screen.
const STYLE: &str = "
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1a1d21; --soft: #586069; --line: #d5d9df; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e6e8eb; --soft: #a0a8b2; --line: #363c44; } }
body { margin: 0 auto; max-width: 84rem; padding: 1rem 1.5rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1, h2 { line-height: 1.2; }
section { border-top: 1px solid var(--line); }
.soft { color: var(--soft); }
.mark { border: 2px solid currentColor; padding: 0.5rem 1rem; font-weight: bold; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; }
dt { color: var(--soft); }
dd { margin: 0; }
figure { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 1rem; margin: 1rem 0; align-items: start; }
figure svg { width: 100%; max-width: 46rem; height: auto; }
@media (max-width: 40rem) { body { padding: 0.75rem; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.4rem; } }
code { overflow-wrap: anywhere; }
";

/// The page; if it has fewer than all `n_jobs` parts, it says so.
pub fn html(parts: &[Part], n_jobs: usize, device: &Device, time: f64) -> String {
    let is_whole = parts.len() == n_jobs;
    let title = if is_whole { "warpplay demo" } else { "warpplay demo (interrupted)" };
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p class=\"soft\">Version {}, on {} ({}), in {}.</p>\n",
        env!("CARGO_PKG_VERSION"),
        escaped(&device.to_string()),
        escaped(&device.name()),
        seconds(time)
    );
    if !is_whole {
        text += &format!("<p class=\"mark\">Interrupted: {} of {n_jobs} parts.</p>\n", parts.len());
    }
    parts.iter().for_each(|part| text += &section(part));
    text + "</body>\n</html>\n"
}

fn section(part: &Part) -> String {
    let found: String = part
        .found
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value)))
        .collect();
    format!(
        "<section id=\"{family}\">\n<h2>{}</h2>\n<p>{}.</p>\n<p class=\"soft\">Data: {}.</p>\n<dl>\n{found}</dl>\n<figure>\n{}</figure>\n\
         <p class=\"soft\">Engine {}, {}. More: <code>{}</code></p>\n</section>\n",
        escaped(part.title),
        escaped(&capital(&part.task)),
        escaped(&part.data),
        // They are our own, with what they show escaped.
        part.plots.iter().map(|panel| plot::svg(std::slice::from_ref(panel))).collect::<String>(),
        escaped(&part.engine),
        seconds(part.seconds),
        escaped(part.more),
        family = part.family,
    )
}

/// With a capital letter at its beginning.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Text that HTML shows as it is, also between double quotes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_an_interrupted_run_says_so() {
        let page = |n_jobs| html(&[], n_jobs, &Device::cpu(), 1.0);
        assert!(
            page(5).contains("Interrupted: 0 of 5 parts") && page(5).contains("<title>warpplay demo (interrupted)")
        );
        assert!(!page(0).to_lowercase().contains("interrupted"));
    }

    #[test]
    fn text_stands_as_it_is() {
        assert_eq!(escaped("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
        assert_eq!((capital("a b"), capital("")), ("A b".to_string(), String::new()));
    }
}
