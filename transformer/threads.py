"""How the threads of OpenMP wait for one another."""

import os


def bound_spinning() -> None:
    """Bounds how long they spin, unless the user says how they wait; before torch is imported.

    Threads that spin without end take the cores from other processes, and from one another.
    """
    if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = "1000"
