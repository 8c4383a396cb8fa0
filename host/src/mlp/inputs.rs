//! What a network takes and was trained with: beside its weights, and in the metadata of its files.

use std::fmt::Display;

use safetensors::SafeTensors;
use serde_json::{Value, json};

use super::options::{Activation, Loss};
use super::scaling::Scaling;
use crate::Error;

/// What the inputs of a network are.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Inputs {
    /// Bytes, the pixels of an image, which are divided by 255. A network of which nothing else is said is taken for one of these.
    #[default]
    Pixels,
    /// Numbers: as they are, or standardised so.
    Features(Option<Scaling>),
}

/// What files say of a network beside its weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Description {
    pub activation: Activation,
    pub loss: Loss,
    pub inputs: Inputs,
}

/// Key of the metadata that names the activation; other programs may know it.
const ACTIVATION: &str = "activation";
/// Keys of those that only this library writes.
const LOSS: &str = "warpplay.loss";
const INPUTS: &str = "warpplay.inputs";
const SCALING: &str = "warpplay.scaling";
/// The value of [`INPUTS`].
const FEATURES: &str = "features";

impl Description {
    /// The metadata: none for what a network without any is taken for.
    pub fn entries(&self) -> impl Iterator<Item = (String, String)> + use<> {
        let activation = (self.activation != Activation::default()).then(|| (ACTIVATION, self.activation.to_string()));
        let loss = (self.loss != Loss::default()).then(|| (LOSS, self.loss.to_string()));
        let (inputs, scaling) = match &self.inputs {
            Inputs::Pixels => (None, None),
            Inputs::Features(scaling) => {
                // Every number with all its bits.
                let json = |Scaling { mean, deviation }: &Scaling| json!({ "mean": mean, "deviation": deviation });
                (Some((INPUTS, FEATURES.to_string())), scaling.as_ref().map(|of| (SCALING, json(of).to_string())))
            }
        };
        [activation, loss, inputs, scaling].into_iter().flatten().map(|(key, value)| (key.to_string(), value))
    }

    /// What the metadata of a file's bytes say, or why they are wrong.
    pub fn of_file(bytes: &[u8]) -> Result<Self, String> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
        let entry = |key: &str| header.metadata().as_ref().and_then(|entries| entries.get(key));
        let wrong = |key: &str, reason: &dyn Display| format!("metadata {key}: {reason}");
        let activation = entry(ACTIVATION).map_or(Ok(Activation::default()), |name| name.parse());
        let loss = entry(LOSS).map_or(Ok(Loss::default()), |name| name.parse());
        let inputs = match (entry(INPUTS).map(String::as_str), entry(SCALING)) {
            (None, None) => Inputs::Pixels,
            (Some(FEATURES), scaling) => {
                let scaling = scaling.map(|text| of_json(text)).transpose();
                Inputs::Features(scaling.map_err(|reason| wrong(SCALING, &reason))?)
            }
            (Some(other), _) => return Err(wrong(INPUTS, &format!("{other:?}, expected {FEATURES:?}"))),
            (None, Some(_)) => return Err(wrong(SCALING, &format!("expected with {INPUTS} alone"))),
        };
        Ok(Self {
            activation: activation.map_err(|error: Error| wrong(ACTIVATION, &error))?,
            loss: loss.map_err(|error: Error| wrong(LOSS, &error))?,
            inputs,
        })
    }

    /// It, if its scaling is one of so many inputs; else why not.
    pub fn checked(self, n_inputs: u32) -> Result<Self, String> {
        if let Inputs::Features(Some(scaling)) = &self.inputs {
            scaling.check(n_inputs).map_err(|error| format!("metadata {SCALING}: {error}"))?;
        }
        Ok(self)
    }
}

/// A scaling as metadata have it, or why it is none.
fn of_json(text: &str) -> Result<Scaling, String> {
    let parsed: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let numbers = |key: &str| -> Option<Vec<f64>> { parsed[key].as_array()?.iter().map(Value::as_f64).collect() };
    let (Some(mean), Some(deviation)) = (numbers("mean"), numbers("deviation")) else {
        return Err(r#"expected {"mean": [numbers], "deviation": [numbers]}"#.to_string());
    };
    Ok(Scaling { mean, deviation })
}
