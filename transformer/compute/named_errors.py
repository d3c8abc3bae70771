"""What a worker runs: a function on a shard, whose errors name the shard."""

from collections.abc import Callable
from typing import TypeVar

Shard = TypeVar("Shard")
Result = TypeVar("Result")
# Times that one shard is begun, where what works on it is killed.
MAX_ATTEMPTS = 3


def call(function: Callable[[Shard], Result], shard: Shard) -> Result:
    """The function's result; an error tells of which shard it is."""
    try:
        return function(shard)
    except ValueError as error:
        raise ValueError(f"{shard}: {error}") from error
    except Exception as error:
        error.add_note(f"in shard {shard}")
        raise


def killed(shard: object, why: str) -> ValueError:
    """The error where `MAX_ATTEMPTS` came to nothing."""
    return ValueError(
        f"{shard}: what worked on it was killed {MAX_ATTEMPTS} times ({why}), most likely for "
        "want of memory; end other programs, or set COMPUTE_WORKERS lower"
    )
