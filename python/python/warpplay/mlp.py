"""Perceptrons and networks of convolutions: training and classification of images."""

from ._native import mlp as _native
from ._perceptron import PerceptronClassifier

Classifier = _native.Classifier
ConvClassifier = _native.ConvClassifier
ConvNetwork = _native.ConvNetwork
ConvTrainer = _native.ConvTrainer
Network = _native.Network
Trainer = _native.Trainer

__all__ = ["Classifier", "ConvClassifier", "ConvNetwork", "ConvTrainer", "Network", "PerceptronClassifier", "Trainer"]
