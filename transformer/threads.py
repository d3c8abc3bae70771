"""How PyTorch's CPU threads wait for each other."""

import os

# What a user may have said about it; the first two are GNU OpenMP's, the last LLVM's and Intel's.
_SETTINGS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
# docs/training.md has the measurement.
_SPINS = 2000


def bound_spinning() -> None:
    """Has waiting threads sleep after a short spin, unless the environment says how they wait.

    GNU OpenMP's own default spins for milliseconds: the core that another process wants is held
    by a thread that does nothing, while the thread that it waits for is not running. It reads the
    environment as it is loaded, so this is to be called before `torch` is imported.
    """
    if not any(name in os.environ for name in _SETTINGS):
        os.environ["GOMP_SPINCOUNT"] = str(_SPINS)
