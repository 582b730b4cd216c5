"""The exceptions of this package."""

from __future__ import annotations

from typing import Any, NamedTuple


class Violation(NamedTuple):
    """One error of a request."""

    field: str  # path in the request: parameters[2].continuous.min
    description: str  # the value and what was expected


class WinnowError(Exception):
    """What every exception of this package is."""


class ServerError(WinnowError):
    """The server refused a call.

    code: gRPC's name, such as INVALID_ARGUMENT; message: one sentence; violations: every error of the request, where
    the server lists them.
    """

    def __init__(self, code: str, message: str, violations: tuple[Violation, ...] = ()) -> None:
        super().__init__(code, message, violations)
        self.code = code
        self.message = message
        self.violations = violations

    def __str__(self) -> str:
        if len(self.violations) > 1:
            return "\n".join(f"{found.field}: {found.description}" for found in self.violations)
        return self.message


class InvalidArgument(ServerError):
    """The request is wrong; `violations` has every error."""


class NotFound(ServerError):
    """There is no such job, trial or file."""


class FailedPrecondition(ServerError):
    """The state of the job or trial does not allow the call."""


class NotAuthenticated(ServerError):
    """The server asks for a token, or does not know the one it got."""


class NotPermitted(ServerError):
    """The token's role may not do this."""


class Unavailable(ServerError):
    """The server could not be reached, or could not record anything, for the whole patience of the client."""


class CallTimeout(ServerError, TimeoutError):
    """The call took longer than its timeout."""


class TrialPruned(WinnowError):
    """Raised by Trial.report: the trial was stopped, and need not be trained any further."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AttemptLost(FailedPrecondition):
    """The trial is no longer this client's: its lease has expired, or the job or the trial has ended."""


class ServerNotStarted(WinnowError):
    """An embedded winnow-server did not start."""


_CLASSES: dict[str, type[ServerError]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "OUT_OF_RANGE": InvalidArgument,
    "NOT_FOUND": NotFound,
    "FAILED_PRECONDITION": FailedPrecondition,
    "ALREADY_EXISTS": FailedPrecondition,
    "ABORTED": FailedPrecondition,
    "UNAUTHENTICATED": NotAuthenticated,
    "PERMISSION_DENIED": NotPermitted,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": CallTimeout,
}


def from_answer(status: int, answer: Any) -> ServerError:
    """The exception of a response that is an error. `answer`: its body as JSON, or as text."""
    if not isinstance(answer, dict):
        code = "UNAVAILABLE" if status in (502, 503, 504) else "UNKNOWN"
        return _CLASSES.get(code, ServerError)(code, f"HTTP status {status}: {str(answer)[:300]}")
    code = str(answer.get("code", "UNKNOWN"))
    violations = tuple(Violation(str(found.get("field", "")), str(found.get("description", "")))
                       for found in answer.get("violations", ()))
    return _CLASSES.get(code, ServerError)(code, str(answer.get("message", "")), violations)
