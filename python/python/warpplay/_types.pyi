"""What the stubs of several modules say the same way."""

from os import PathLike
from typing import Any, Callable, Optional, Protocol, Tuple, Union

import numpy as np
from numpy.typing import NDArray

Path = Union[str, PathLike[str]]
Progress = Optional[Callable[[dict[str, Any]], Optional[bool]]]

class Shared(Protocol):
    """An array of another library: a tensor of PyTorch, CuPy, JAX, or a `warpplay.Array`."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...

Bytes = Union[NDArray[np.uint8], Shared]
Labels = Union[NDArray[np.integer[Any]], Shared]
Floats = Union[NDArray[np.float32], Shared]
