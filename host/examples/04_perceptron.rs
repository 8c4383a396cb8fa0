//! Lesson 4: train a network on drawn digits, and use it.

use std::ops::ControlFlow;
use std::sync::Arc;

use warpplay::Device;
use warpplay::mlp::{Classifier, Dataset, Options, Trainer};

fn main() -> warpplay::Result<()> {
    let device = Device::auto();
    let train = Arc::new(Dataset::drawn_digits(1, 2000)?);
    let test = Arc::new(Dataset::drawn_digits(2, 500)?);

    let options = Options { hidden: vec![64], epochs: 5, learning_rate: 0.1, ..Options::default() };
    let mut trainer = Trainer::builder(&train).options(options).test(&test).build(&device)?;
    trainer.run(|_| ControlFlow::Continue(()))?;

    let mut classifier = Classifier::builder(&trainer.network()?).build(&device)?;
    let found = classifier.predict(test.images())?;
    let right = found.iter().zip(test.labels()).filter(|(found, label)| found.class == u32::from(**label)).count();
    println!("{right} of {} digits are right", found.len());
    assert!(right * 10 > found.len() * 8);
    Ok(())
}
