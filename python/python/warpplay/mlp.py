"""Perceptrons: training and classification of images."""

from ._native import Classifier, Network, Trainer

__all__ = ["Classifier", "Network", "Trainer"]
