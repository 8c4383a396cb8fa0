//! Figures of others: what, how fast, where it comes from.

use crate::plain_cpp;

/// Work, time, source.
pub fn figures() -> Vec<[String; 3]> {
    let [c, d] = plain_cpp::MILLISECONDS.map(|[least, most]| format!("{least} to {most} ms"));
    let figures: [(&str, &str, &str); 8] = [
        ("D, a sampled deal, Reis 2015 on its GPU", "223 ms", "reported"),
        ("D, a sampled deal, C++ on one core", &d, plain_cpp::SOURCE),
        ("C, a sampled deal, Reis 2015 on its GPU", "34 ms", "reported"),
        ("C, a sampled deal, C++ on one core", &c, plain_cpp::SOURCE),
        ("Leduc CFR+, OpenSpiel C++", "74 /s", "measured"),
        ("river, full ranges, CPU solver, one core", "0.13 to 0.28 ms", "measured"),
        ("turn, full ranges, CPU solver, one core", "26 to 38 ms", "measured"),
        ("flop, 158 M infoset-actions, CPU solver, one core", "1.35 to 1.9 s", "measured"),
    ];
    figures.map(|(what, time, how)| [what, time, how].map(String::from)).to_vec()
}

/// Bytes a second of a copy within the memory of an H200.
pub const COPY: f64 = 4.27e12;
