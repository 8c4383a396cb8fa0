//! The tests of `cfr`, a module for each subject.

mod abstraction;
mod boards;
mod cli;
mod explicit;
mod games;
mod local;
mod menus;
mod merged;
mod old_files;
#[cfg(unix)]
mod page;
mod practice;
mod preflop;
mod reference;
mod small;
mod solved;
mod solver;
mod spot;
mod street;
mod subgame;
mod subset;
mod targets;
mod ties;
mod vector;
mod walk;
