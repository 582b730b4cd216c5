"""The connection to a server."""

from __future__ import annotations

import json
import os
import pathlib
import uuid
from typing import Any, Mapping, Optional, Union

from winnow import transport
from winnow.job import Job

Spec = Union[Mapping[str, Any], str, "os.PathLike[str]"]

_TIMEOUT = 120.0  # seconds, as the server's own for a call
_PATIENCE = 60.0  # seconds


class Client:
    """The calls of one server. Threads and forked processes may share it."""

    def __init__(self, calls: transport.Transport) -> None:
        self._calls = calls

    def __repr__(self) -> str:
        return f"<winnow.Client of {self._calls.address}>"

    @property
    def address(self) -> str:
        return str(self._calls.address)

    def call(self, verb: str, path: str, **fields: Any) -> Any:
        """Any method of docs/reference/api.md: call("GET", "/v1/workers")."""
        return self._calls.call(verb, path, fields)

    def submit(self, spec: Spec, *, working_directory: Optional[str] = None) -> Job:
        """Starts a job. `spec`: a job file's path, or its content. Relative paths in it are relative to the file's
        directory, or to `working_directory` (default: the current one). InvalidArgument has every error."""
        fields = {"spec": read_spec(spec, working_directory), "request_id": uuid.uuid4().hex}
        return Job(self._calls, self._calls.call("POST", "/v1/tuning-jobs", fields)["id"])

    def plan(self, spec: Spec, *, slots: int = 1, unit_seconds: float = 0.0, startup_seconds: float = 0.0,
             working_directory: Optional[str] = None) -> dict[str, Any]:
        """What a job would do, without starting it: TuningPlan in docs/reference/api.md."""
        found: dict[str, Any] = self._calls.call("POST", "/v1/preview", {
            "spec": read_spec(spec, working_directory), "slots": slots, "unit_seconds": unit_seconds,
            "startup_seconds": startup_seconds})
        return found

    def job(self, id: str) -> Job:
        """A job by its id. NotFound: there is none."""
        job = Job(self._calls, id)
        job.spec  # noqa: B018: asks for it
        return job

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs, newest first."""
        fields: dict[str, Any] = {"page_size": 1000}
        found: list[dict[str, Any]] = []
        while True:
            page = self._calls.call("GET", "/v1/tuning-jobs", fields)
            found += page["jobs"]
            if not page["next_page_token"]:
                return found
            fields["page_token"] = page["next_page_token"]

    def workers(self) -> list[dict[str, Any]]:
        """The connected workers."""
        found: list[dict[str, Any]] = self._calls.call("GET", "/v1/workers")["workers"]
        return found

    def caller(self) -> dict[str, Any]:
        """The name and the role of this client's token."""
        found: dict[str, Any] = self._calls.call("GET", "/v1/caller")
        return found

    def close(self) -> None:
        """Closes this thread's connection. The client may be used again."""
        self._calls.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(server: Optional[str] = None, *, token: Optional[str] = None,
            token_file: Union[str, "os.PathLike[str]", None] = None, tls_ca: Optional[str] = None,
            tls_cert: Optional[str] = None, tls_key: Optional[str] = None, timeout: float = _TIMEOUT,
            patience: float = _PATIENCE) -> Client:
    """Connects to a server's --http address.

    server: HOST:PORT, http://…, https://… or unix:/PATH of a proxy; default: WINNOW_HTTP, else 127.0.0.1:8080.
    token, token_file: default: WINNOW_TOKEN, WINNOW_TOKEN_FILE. tls_ca: PEM file of who signed the server's
    certificate; default: WINNOW_TLS_CA, else the system's. tls_cert, tls_key: the client's own certificate; default:
    WINNOW_TLS_CERT, WINNOW_TLS_KEY. timeout: seconds of one call. patience: seconds for which a call is tried again
    while the server cannot be reached, as when it restarts.
    """
    for name, value in (("timeout", timeout), ("patience", patience)):
        if not value >= 0 or name == "timeout" and value == 0:
            raise ValueError(f"{name}: is {value!r}; expected seconds")
    environment = os.environ
    ca = tls_ca or environment.get("WINNOW_TLS_CA") or None
    address = transport.Address(server or environment.get("WINNOW_HTTP") or transport.DEFAULT_ADDRESS, tls=bool(ca))
    if token is None:
        file = token_file or environment.get("WINNOW_TOKEN_FILE") if not environment.get("WINNOW_TOKEN") else token_file
        token = pathlib.Path(file).read_text("utf-8").strip() if file else environment.get("WINNOW_TOKEN")
    context = None
    if address.tls:
        context = transport.tls_context(ca, tls_cert or environment.get("WINNOW_TLS_CERT"),
                                        tls_key or environment.get("WINNOW_TLS_KEY"))
    return Client(transport.Transport(address, token=token, context=context, timeout=timeout, patience=patience))


def plan(spec: Spec, **options: Any) -> dict[str, Any]:
    """What a job would do: connect().plan(spec, …)."""
    return connect().plan(spec, **options)


def read_spec(spec: Spec, working_directory: Optional[str] = None) -> dict[str, Any]:
    """A job file's content as a request has it: texts where the server expects texts, an absolute directory."""
    if isinstance(spec, (str, os.PathLike)):
        path = pathlib.Path(spec)
        try:
            found = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: is not JSON: {error}") from error
        base = working_directory or str(path.parent)
    else:
        found = dict(spec)
        base = working_directory or "."
    if not isinstance(found, dict):
        raise ValueError(f"spec: is {type(found).__name__}; expected an object")
    found["working_directory"] = os.path.abspath(os.path.join(base, str(found.get("working_directory") or "")))
    # As `winnow submit` does: values of these maps may be numbers and booleans in a job file.
    if isinstance(found.get("static_hyperparameters"), Mapping):
        found["static_hyperparameters"] = _texts(found["static_hyperparameters"])
    if isinstance(found.get("initial_configurations"), (list, tuple)):
        found["initial_configurations"] = [
            {**one, "hyperparameters": _texts(one["hyperparameters"])}
            if isinstance(one, Mapping) and isinstance(one.get("hyperparameters"), Mapping) else one
            for one in found["initial_configurations"]]
    if isinstance(found.get("parameters"), (list, tuple)):
        found["parameters"] = [_parameter(one) for one in found["parameters"]]
    return found


def _parameter(found: Any) -> Any:
    if not isinstance(found, Mapping):
        return found
    changed = dict(found)
    if isinstance(changed.get("condition"), Mapping) and isinstance(changed["condition"].get("values"), list):
        changed["condition"] = {**changed["condition"], "values": [_text(one) for one in changed["condition"]["values"]]}
    if isinstance(changed.get("prior"), Mapping) and "value" in changed["prior"]:
        changed["prior"] = {**changed["prior"], "value": _text(changed["prior"]["value"])}
    return changed


def _texts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _text(value) for name, value in values.items()}


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else value
