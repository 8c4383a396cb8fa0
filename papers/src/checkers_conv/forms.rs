//! Which forms of the published kernels are timed, and what tables call them.

use super::measure::{Level, Part};
use super::{InputForm, Options, OutputForm, Program, Sums, TorsoForm, Weights};

/// Program of the paper's kernels.
pub const PAPER: &str = "paper";
/// Program of those with sums in shared memory, section III's other design.
pub const SHARED_SUMS: &str = "paper, shared sums";

/// What is timed of every component: the published combinations and, of the kernels of Figure 5, the paper's other design.
pub fn programs(level: Level, part: Part) -> Vec<(String, Options)> {
    let mut found: Vec<_> = Program::ALL.iter().map(|program| (program.to_string(), program.options())).collect();
    if level == Level::Kernel && matches!(part, Part::Torso | Part::Output) {
        let shared = Options { torso_sums: Sums::Shared, output_sums: Sums::Shared, ..Options::default() };
        found.push((SHARED_SUMS.to_string(), shared));
    }
    found
}

/// Every form of a kernel once, with the bias.
pub fn forms(part: Part) -> Vec<(String, Options)> {
    let base = Options::default();
    let mut forms = Vec::new();
    match part {
        Part::Input => {
            for &input in InputForm::ALL {
                let padded: &[bool] = match input {
                    InputForm::Squares | InputForm::Planes | InputForm::PlanesAtomic => &[true, false],
                    _ => &[false],
                };
                let weights = match input {
                    InputForm::Squares | InputForm::Rows => Weights::ALL,
                    _ => &[Weights::Shared],
                };
                for &padded in padded {
                    for &weights in weights {
                        let array = if padded { "[10][33]" } else { "[10][32]" };
                        forms.push((
                            format!("{input} {array}, weights {weights}"),
                            Options { input, padded, weights, ..base },
                        ));
                    }
                }
            }
        }
        Part::Torso => {
            for &torso_sums in Sums::ALL {
                for layers in [8, 1] {
                    for banked in [true, false] {
                        let layout = if banked { "[256][32]" } else { "[128][64]" };
                        let name = format!("128x{layers} {layout}, sums {torso_sums}");
                        forms.push((name, Options { torso_sums, layers, banked, ..base }));
                    }
                }
            }
            for &torso in TorsoForm::ALL.iter().filter(|&&form| form != TorsoForm::Tiles) {
                forms.push((torso.to_string(), Options { torso, ..base }));
            }
        }
        Part::Output => {
            for &output_sums in Sums::ALL {
                for layers in [8, 1] {
                    let name = format!("128x{layers} [256][32], sums {output_sums}");
                    forms.push((name, Options { output_sums, layers, ..base }));
                }
            }
            for &output in OutputForm::ALL.iter().filter(|&&form| form != OutputForm::Tiles) {
                forms.push((output.to_string(), Options { output, ..base }));
            }
        }
        Part::Semi | Part::Network => {}
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_timed_once_and_allowed() {
        for part in [Part::Input, Part::Torso, Part::Output] {
            let forms = forms(part);
            for (at, (name, options)) in forms.iter().enumerate() {
                options.check().expect("allowed");
                assert!(forms[..at].iter().all(|(other, same)| other != name && same != options), "{name}");
            }
            assert_eq!(forms[0].1, Options::default());
        }
        let inputs = forms(Part::Input);
        let reaches = |form: InputForm| inputs.iter().any(|(_, options)| options.input == form);
        assert!(InputForm::ALL.iter().all(|&form| reaches(form)));
    }
}
