//! Equilibria of poker and of other games of hidden information, by counterfactual regret minimisation.

mod abstraction;
mod betting;
mod cards;
mod counts;
mod cpu;
mod deal;
mod dispatch;
mod engine;
mod explicit;
mod extensive;
mod game_file;
mod mccfr;
mod options;
mod ranking;
mod small;
mod solver;
mod spot;
mod strategy;
mod street;
mod subset;
mod thesis;
mod vector;
mod walk;
