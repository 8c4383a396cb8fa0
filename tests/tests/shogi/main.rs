//! The tests of `shogi`, a module for each subject.

mod batch;
mod cli;
mod dataset;
mod dataset_folder;
mod exchange;
mod learner;
mod material;
mod old_files;
mod quiescence;
mod ranks;
mod records;
mod reference;
mod sparse;
