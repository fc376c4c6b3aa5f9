"""Child process: one whole start, from the interpreter to the first result of sum(x**2)."""

from __future__ import annotations

import sys

name = sys.argv[1]
if name == "numpy":
    import numpy as np

    print(np.sum(np.arange(3.0) ** 2))
elif name == "import-numpy":
    import numpy as np
elif name == "import-tg":
    import tg
elif name == "raw-jax":
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    print(jax.jit(lambda x: jnp.sum(x**2))(jnp.arange(3.0)))
elif name == "raw-torch":
    import numpy as np
    import torch

    print(torch.from_numpy(np.arange(3.0)).square().sum().numpy())
elif name == "raw-mlx":
    import mlx.core as mx
    import numpy as np

    x = mx.array(np.arange(3.0), dtype=mx.float64)
    print(np.array(mx.sum(mx.square(x, stream=mx.cpu), stream=mx.cpu)))
else:
    import numpy as np

    import tg

    x = tg.vector("x")
    print(tg.function([x], tg.sum(x**2), backend=name.removesuffix("-warm"))(np.arange(3.0)))
