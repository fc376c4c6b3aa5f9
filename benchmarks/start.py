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
else:
    import numpy as np

    import tg

    x = tg.vector("x")
    print(tg.function([x], tg.sum(x**2), backend=name)(np.arange(3.0)))
