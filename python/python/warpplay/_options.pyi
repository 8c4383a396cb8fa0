"""The options of every class, by name. They exist for type checkers alone:

    if TYPE_CHECKING:
        from warpplay._options import MlpOptions

The docstrings of the classes say what each option means.
"""

from typing import Any, Literal, Optional, Sequence, TypedDict, Union

import numpy as np
from typing_extensions import Required

Truth = Union[bool, np.bool_]
Integer = Union[int, np.integer[Any]]
Number = Union[float, np.floating[Any], np.integer[Any]]

Game = Literal["connect4", "connect4_8x8", "gomoku", "gomoku_free", "gomoku_19", "checkers"]

class MctsOptions(TypedDict, total=False):
    """Options of `mcts.Search`."""

    variant: Literal["ocp_thrifty", "ocp_prodigal", "acp_thrifty", "acp_prodigal"]
    n_trees: Integer
    n_playouts: Integer
    steps: Optional[Integer]
    seconds: Optional[Number]
    ucb_c: Number
    draw_value: Number
    device_memory_gb: Number
    seed: Integer
    engine: Literal["auto", "graph", "stage_graph", "stages", "cpu"]
    threads: Optional[Integer]

Layout = Literal["default", "egocentric", "legacy"]

class AzeroEvaluatorOptions(TypedDict, total=False):
    """Options of `azero.Evaluator`."""

    engine: Literal["auto", "fused", "layers", "cpu"]
    precision: Literal["f32", "f64", "tf32", "bf16", "f16"]
    max_batch: Integer
    threads: Optional[Integer]

class Noise(TypedDict, total=False):
    """The noise at the root of a search."""

    alpha: Number
    epsilon: Number

class AzeroSearchOptions(TypedDict, total=False):
    """The option `search` of `azero.SelfPlay`."""

    simulations: Integer
    leaves: Integer
    c_puct: Number
    noise: Optional[Noise]
    temperature: Number
    temperature_plies: Integer
    max_nodes: Optional[Integer]
    seed: Integer
    trees: Literal["auto", "host", "device"]

class AzeroSelfPlayOptions(TypedDict, total=False):
    """Options of `azero.SelfPlay`."""

    games: Integer
    first: Integer
    parallel: Integer
    search: AzeroSearchOptions

class AzeroTrainerOptions(TypedDict, total=False):
    """Options of `azero.Trainer`."""

    batch: Integer
    epochs: Integer
    steps: Optional[Integer]
    learning_rate: Number
    weight_decay: Number
    value_weight: Number
    momentum: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    validation: Number
    seed: Integer
    precision: Literal["f32", "tf32", "bf16"]
    engine: Literal["auto", "device", "cpu"]

class Sgd(TypedDict):
    name: Literal["sgd"]

class Momentum(TypedDict, total=False):
    name: Required[Literal["momentum", "nesterov"]]
    momentum: Number

class Adam(TypedDict, total=False):
    name: Required[Literal["adam", "adamw"]]
    beta1: Number
    beta2: Number
    epsilon: Number

class RmsProp(TypedDict, total=False):
    name: Required[Literal["rmsprop"]]
    alpha: Number
    epsilon: Number

class ConstantSchedule(TypedDict):
    name: Literal["constant"]

class StepSchedule(TypedDict, total=False):
    name: Required[Literal["step"]]
    every: Integer
    factor: Number

class CosineSchedule(TypedDict, total=False):
    name: Required[Literal["cosine"]]
    minimum: Number

class EarlyStopping(TypedDict, total=False):
    """When a training stops before its last epoch or iteration."""

    patience: Required[Integer]
    min_delta: Number

Activation = Literal["relu", "tanh", "sigmoid", "gelu"]
Loss = Literal["cross_entropy", "mse", "huber"]

class MlpOptions(TypedDict, total=False):
    """Options of `mlp.Trainer`, `mlp.Classifier` and `mlp.PerceptronClassifier`."""

    hidden: Sequence[Integer]
    activation: Activation
    layer_norm: Truth
    batch_norm: Truth
    dropout: Number
    loss: Loss
    batch: Integer
    epochs: Integer
    learning_rate: Number
    optimizer: Union[Literal["sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop"], Sgd, Momentum, Adam, RmsProp]
    weight_decay: Number
    label_smoothing: Number
    clip_norm: Optional[Number]
    schedule: Union[Literal["constant", "step", "cosine"], ConstantSchedule, StepSchedule, CosineSchedule]
    warmup: Integer
    reduction: Literal["mean", "sum"]
    init: Literal["he_uniform", "he_normal", "xavier_uniform", "xavier_normal"]
    seed: Integer
    precision: Literal["f32", "f64", "tf32", "bf16", "f16"]
    engine: Literal["auto", "epoch", "layers", "cpu"]
    stream: Literal["device", "host"]
    held_out: Integer
    early_stopping: Optional[EarlyStopping]
    evaluate_batch: Integer
    threads: Optional[Integer]

class ConvOptions(TypedDict, total=False):
    """Options of `mlp.ConvTrainer` and `mlp.ConvClassifier`."""

    blocks: Sequence[Sequence[Integer]]
    batch: Integer
    epochs: Integer
    learning_rate: Number
    warmup: Number
    momentum: Number
    weight_decay: Number
    seed: Integer
    threads: Optional[Integer]

class PerceptronParameters(MlpOptions, total=False):
    """What `mlp.PerceptronClassifier.set_params` takes."""

    device: str

class Quiet(TypedDict, total=False):
    """The option `quiet` of `shogi.Learner`."""

    every: Required[Integer]
    depth: Integer

Features = Literal["material", "material_hand", "piece_square", "kp", "kkp", "kpp"]

class ShogiOptions(TypedDict, total=False):
    """Options of `shogi.Learner`."""

    features: Features
    optimizer: Literal["gd", "momentum", "adagrad", "adam", "lbfgs", "sign"]
    learning_rate: Optional[Number]
    rate_factor: Number
    l1: Number
    l2: Number
    beta1: Number
    beta2: Number
    epsilon: Number
    history: Integer
    a: Number
    window: Optional[Number]
    siblings: Integer
    seed: Integer
    keep_scale: Truth
    init: Sequence[Number]
    early_stopping: Optional[EarlyStopping]
    quiet: Optional[Quiet]
    batch: Integer
    iterations: Integer
    engine: Literal["auto", "cpu", "sparse"]
    threads: Optional[Integer]
    device_bytes: Optional[Integer]

class CfrOptions(TypedDict, total=False):
    """Options of `cfr.Solver` and `cfr.solve_spot`."""

    algorithm: Literal["cfr", "cfr_plus", "lcfr", "dcfr", "pcfr_plus", "cfr_br"]
    updates: Literal["alternating", "simultaneous"]
    averaging: Literal["auto", "uniform", "linear", "quadratic"]
    sampling: Literal["none", "chance", "public_chance", "opponent_public", "self_public", "external", "outcome"]
    batch: Integer
    discounts: Sequence[Number]
    exploration: Number
    seed: Integer
    precision: Literal["f32", "f64", "i16"]
    engine: Literal["auto", "small", "street", "subset", "explicit", "mccfr", "walk", "cpu"]
    isomorphism: Truth
    iterations: Integer
    threads: Optional[Integer]
