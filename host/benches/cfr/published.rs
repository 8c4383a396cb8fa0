//! Figures of others: what, how fast, where it comes from.

/// Work, time, source.
pub const FIGURES: [(&str, &str, &str); 16] = [
    ("D, a sampled deal, thesis on its GPU", "223 ms", "reported"),
    ("D, a sampled deal, C++ on one core", "57 to 91 ms", "measured"),
    ("D, a sampled deal, reach", "0.4 ms; 30,000 deals/s batched", "target, H200"),
    ("C, a sampled deal, thesis on its GPU", "34 ms", "reported"),
    ("C, a sampled deal, C++ on one core", "3.9 to 5.8 ms", "measured"),
    ("C, a sampled deal, reach", "0.2 ms; 300,000 deals/s batched", "target, H200"),
    ("D exact, reach", "10 ms", "target, H200"),
    ("B exact, reach", "30 ms", "target, H200"),
    ("Leduc CFR+, crate cfr, one core", "9,100 /s", "measured"),
    ("Leduc CFR+, OpenSpiel C++", "74 /s", "measured"),
    ("Leduc CFR+, reach", "60,000 /s one game; 5e6 /s many", "target, H200"),
    ("river, full ranges, CPU solver, one core", "0.13 to 0.28 ms", "measured"),
    ("river, full ranges, reach", "40 us; 2e6 /s over 132 spots and more", "target, H200"),
    ("turn, full ranges, CPU solver / reach", "26 to 38 ms / 0.4 ms", "measured / target"),
    ("flop, 158 M infoset-actions, CPU solver / reach", "1.35 to 1.9 s / 8 ms f32, 6 ms 16 bits", "measured / target"),
    ("limit hold'em from a flop, 5.4e9, reach", "200 ms", "target, H200"),
];

/// Bytes a second of a copy within the memory of an H200.
pub const COPY: f64 = 4.27e12;
