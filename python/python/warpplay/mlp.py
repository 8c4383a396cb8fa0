"""Perceptrons: training and classification of images."""

from ._native import mlp as _native
from ._perceptron import PerceptronClassifier

Classifier = _native.Classifier
Network = _native.Network
Trainer = _native.Trainer

__all__ = ["Classifier", "Network", "PerceptronClassifier", "Trainer"]
