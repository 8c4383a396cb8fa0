from typing import Any, Optional, Sequence, Tuple, Union, final

import numpy as np
from numpy.typing import NDArray

from . import azero, cfr, mcts, mlp, shogi

__version__: str

class WarpplayError(Exception): ...

@final
class Array:
    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...
    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> NDArray[Any]: ...
    def __len__(self) -> int: ...
    def numpy(self) -> Union[NDArray[np.float32], NDArray[np.int32]]: ...

def devices() -> list[dict[str, Any]]: ...

__all__ = ["Array", "WarpplayError", "__version__", "azero", "cfr", "devices", "mcts", "mlp", "shogi"]
