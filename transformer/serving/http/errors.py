"""What a client is told where its request can't be answered."""

# Of a message: what it quotes may be the whole of a request.
_LONGEST = 500


class ServiceError(Exception):
    """A request that is refused, or can't be answered in time.

    `status` is HTTP's. `reason` names it in the metrics. `retry_after_seconds` is when another try
    is worth while, None where none is.
    """

    def __init__(
        self, status: int, message: str, reason: str, retry_after_seconds: int | None = None
    ) -> None:
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST - 100]}…{message[-99:]}"
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds


def invalid(message: str) -> ServiceError:
    """The request is wrong, and stays so."""
    return ServiceError(400, message, "invalid")
