//! Times of another library for the components of Table I, read from a file: the paper's baseline is libtorch with cuDNN.

use std::path::Path;

use serde::{Deserialize, Serialize};
use warpplay::{Error, Result, input_file};

use super::measure::Times;
use super::published::TABLE_1;

/// Version of the file's fields.
const SCHEMA: u32 = 1;

/// A library's times. `docs/papers/checkers_conv.md` has the program that writes the file.
///
/// ```
/// use warpplay_papers::checkers_conv::Baseline;
///
/// let text = r#"{ "schema": 1, "library": "torch 2.8", "device": "a GPU", "cpu": "a CPU", "threads": 1, "batch": 1,
///     "components": [{ "name": "Model", "gpu_us": [900.0, 2.0, 4.0], "cpu_us": [] }] }"#;
/// let baseline = Baseline::parse("baseline.json", text)?;
/// let (gpu, cpu) = baseline.times("Model");
/// assert_eq!((gpu.map(|times| times.mean()), cpu), (Some(3.0), None));
/// # Ok::<(), warpplay::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// 1.
    pub schema: u32,
    /// The library with its version, as `torch 2.8.0, cuDNN 9.10`.
    pub library: String,
    /// Name of the GPU.
    pub device: String,
    /// Name of the processor.
    pub cpu: String,
    /// Threads of the processor that the library uses.
    pub threads: u32,
    /// Positions of a call.
    pub batch: usize,
    /// The components that were measured.
    pub components: Vec<Measured>,
}

/// One component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// As Table I names it: `Input Kernel` … `Model`.
    pub name: String,
    /// Microseconds of each run on the GPU, the first one first; empty if not measured.
    pub gpu_us: Vec<f64>,
    /// On the processor.
    pub cpu_us: Vec<f64>,
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, is not of this form, names a component that Table I has not or one twice, has 0 threads or a batch of 0, or times that are not above 0.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = input_file::read_text(path)?;
        Self::parse(path, &text)
    }

    /// Reads a file's text; `path` is for errors.
    ///
    /// # Errors
    /// As [`Baseline::load`].
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self> {
        let path = path.as_ref();
        let wrong = |reason: String| Error::file(path, None, reason);
        let found: Self =
            serde_json::from_str(text).map_err(|error| wrong(format!("no times of a library: {error}")))?;
        if found.schema != SCHEMA {
            return Err(wrong(format!("schema {}, expected {SCHEMA}", found.schema)));
        }
        for (what, n) in [("threads", found.threads as usize), ("batch", found.batch)] {
            if n == 0 {
                return Err(wrong(format!("{what} 0, and at least 1 is needed")));
            }
        }
        for (at, Measured { name, gpu_us, cpu_us }) in found.components.iter().enumerate() {
            if found.components[..at].iter().any(|other| other.name == *name) {
                return Err(wrong(format!("component {name} occurs twice")));
            }
            if TABLE_1.iter().all(|component| component.name != name) {
                let names: Vec<&str> = TABLE_1.iter().map(|component| component.name).collect();
                return Err(wrong(format!("component {name} is not one of {}", names.join(", "))));
            }
            for us in [gpu_us, cpu_us] {
                if us.len() == 1 || us.iter().any(|us| !us.is_finite() || *us <= 0.0) {
                    return Err(wrong(format!("{name}: two times or more above 0 are needed, or none")));
                }
            }
        }
        Ok(found)
    }

    /// Times of a component on the GPU and on the processor.
    pub fn times(&self, name: &str) -> (Option<Times>, Option<Times>) {
        let times = |us: &[f64]| {
            let (&first_us, runs) = us.split_first()?;
            Some(Times { first_us, runs_us: runs.to_vec() })
        };
        let found = self.components.iter().find(|component| component.name == name);
        (found.and_then(|found| times(&found.gpu_us)), found.and_then(|found| times(&found.cpu_us)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_baseline_is_named() {
        let text = |schema: u32, name: &str, us: &str| {
            let components = format!(r#"[{{"name":"{name}","gpu_us":[{us}],"cpu_us":[]}}]"#);
            let head = format!(r#""schema":{schema},"library":"l","device":"d","cpu":"c","threads":1,"batch":1"#);
            format!(r#"{{{head},"components":{components}}}"#)
        };
        let error = |text: String| Baseline::parse("b.json", &text).expect_err("refused").to_string();
        assert!(Baseline::parse("b.json", &text(1, "Torso Layer", "9, 1.5")).is_ok());
        assert!(error(text(2, "Model", "1, 2")).contains("schema 2, expected 1"));
        assert!(error(text(1, "Whole", "1, 2")).contains("component Whole is not one of Input Kernel"));
        assert!(error(text(1, "Model", "1")).contains("Model: two times or more above 0"));
        assert!(error(text(1, "Model", "1, -2")).contains("Model: two times or more above 0"));
        assert!(
            error(text(1, "Model", "1, 2").replace("\"batch\":1", "\"batch\":0")).contains("batch 0, and at least 1")
        );
        assert!(error(text(1, "Model", "1, 2").replace("\"threads\":1", "\"threads\":0")).contains("threads 0"));
        let twice = text(1, "Model", "1, 2").replace("}]}", r#"},{"name":"Model","gpu_us":[],"cpu_us":[]}]}"#);
        assert!(error(twice).contains("component Model occurs twice"));
        assert!(error("{}".into()).contains("missing field"));
    }
}
