import os
import subprocess
import sys

import pytest

SETTINGS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
# What the library that PyTorch's threads belong to says of itself as it is loaded.
CODE = "from transformer.threads import bound_spinning; bound_spinning(); import torch"


def openmp_settings(**settings):
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment | {"OMP_DISPLAY_ENV": "verbose"} | settings,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="PyTorch has another OpenMP there")
def test_pytorchs_threads_spin_for_a_short_while():
    assert "GOMP_SPINCOUNT = '2000'" in openmp_settings()


@pytest.mark.skipif(sys.platform != "linux", reason="PyTorch has another OpenMP there")
@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ({"GOMP_SPINCOUNT": "77"}, "GOMP_SPINCOUNT = '77'"),
        ({"OMP_WAIT_POLICY": "active"}, "OMP_WAIT_POLICY = 'ACTIVE'"),
    ],
)
def test_what_the_user_set_stays(setting, found):
    printed = openmp_settings(**setting)
    assert found in printed
    assert "GOMP_SPINCOUNT = '2000'" not in printed


def test_each_command_bounds_it_before_pytorch_is_loaded():
    code = (
        "import os, sys; sys.argv = ['pipeline', 'recipe']\n"
        "from pipeline.__main__ import app, main\n"
        "import pipeline.__main__ as module\n"
        "module.app = lambda: print(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules)\n"
        "main()"
    )
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    printed = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert printed == "2000 False\n"
