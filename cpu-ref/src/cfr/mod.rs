//! Counterfactual regret minimisation, written plainly.
