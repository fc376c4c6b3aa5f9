"""Nothing that a caller passes makes native code touch memory that is not its own, or end the process by a signal."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.native_backends.conftest import native_backends

SHARES = 8
ROOT = Path(__file__).parents[2]
PAST_THE_END = """
import numpy as np
from tests.hostile.guarded import guarded
x = guarded(np.zeros(3), at_end={at_end})
np.lib.stride_tricks.as_strided(x, (4,), ({stride},))[:].sum()
"""


@pytest.mark.sampled(16)
@pytest.mark.parametrize("share", [f"{k}/{SHARES}" for k in range(SHARES)])
@pytest.mark.parametrize("backend", native_backends())
def test_hostile_calls_give_what_the_reference_gives(backend, share):
    command = [sys.executable, "-m", "tests.hostile", backend, share]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize(("at_end", "stride"), [(True, 8), (False, -8)])
def test_what_reads_outside_of_guarded_memory_is_ended(at_end, stride):
    script = PAST_THE_END.format(at_end=at_end, stride=stride)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, cwd=ROOT)
    assert -done.returncode in {signal.SIGSEGV, signal.SIGBUS}
