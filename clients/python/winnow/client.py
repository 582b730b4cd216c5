"""The connection to a server."""

from __future__ import annotations

import copyreg
import json
import os
import pathlib
import re
import uuid
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from winnow import contexts, transport
from winnow.job import Job

Spec = Union[Mapping[str, Any], str, "os.PathLike[str]"]

_TIMEOUT = 120.0  # seconds, as the server's own for a call
_PATIENCE = 60.0  # seconds
_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)  # or a text, in which there are none


class Client:
    """The calls of one server. Threads and forked processes may share it."""

    def __init__(self, calls: transport.Transport, *, project: Optional[str] = None) -> None:
        """`project`: of jobs that name none; "": the default project. Default: WINNOW_PROJECT at that time."""
        self._calls = calls
        self._project = project

    def __repr__(self) -> str:
        return f"<winnow.Client of {self._calls.address}>"

    @property
    def address(self) -> str:
        return str(self._calls.address)

    def call(self, verb: str, path: str, **fields: Any) -> Any:
        """Any method of docs/reference/api.md: call("GET", "/v1/workers")."""
        return self._calls.call(verb, path, fields)

    def submit(self, spec: Spec, *, working_directory: Optional[str] = None, tags: Sequence[str] = (),
               note: str = "", project: Optional[str] = None) -> Job:
        """Starts a job. `spec`: a job file's path, or its content. Relative paths in it are relative to the file's
        directory, or to `working_directory` (default: the current one). `tags`, by which jobs are found, and `note` take
        the place of the file's. `project`: the project that the job will belong to; default: WINNOW_PROJECT, else the
        default project. InvalidArgument has every error."""
        found = read_spec(spec, working_directory)
        if tags:
            found["tags"] = _words("tags", tags)
        if note:
            found["note"] = note
        fields: dict[str, Any] = {"spec": found, "request_id": uuid.uuid4().hex}
        if project is None:
            project = os.environ.get("WINNOW_PROJECT", "") if self._project is None else self._project
        if project:
            fields["project"] = project
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
        if not id:
            raise ValueError("id: is empty; expected a job's id")
        job = Job(self._calls, id)
        job.spec  # noqa: B018: asks for it
        return job

    def jobs(self, *, tags: Sequence[str] = (), states: Sequence[str] = (), search: str = "",
             project: str = "") -> list[dict[str, Any]]:
        """The jobs, newest first: those that have all of `tags`, are in one of `states` (RUNNING, COMPLETED …), and have
        the text `search` in their id, tags, note, owner, metric or parameters; those of one `project` ("default": of the
        default project). None given: all that you may see."""
        fields: dict[str, Any] = {"page_size": 1000}
        given: dict[str, Any] = {"tags": _words("tags", tags), "states": _words("states", states), "search": search,
                                 "project": project}
        fields.update({name: value for name, value in given.items() if value})
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

    def close(self, *, gone: str = "") -> None:
        """Closes this thread's connection. The client may be used again, unless `gone` says why its server will not
        come back: each further call raises Unavailable with these words."""
        self._calls.gone = gone or self._calls.gone
        self._calls.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(server: Optional[str] = None, *, context: Optional[str] = None, token: Optional[str] = None,
            token_file: Union[str, "os.PathLike[str]", None] = None, tls_ca: Optional[str] = None,
            tls_cert: Optional[str] = None, tls_key: Optional[str] = None, timeout: float = _TIMEOUT,
            patience: float = _PATIENCE) -> Client:
    """Connects to a server's --http address.

    server: HOST:PORT, http://…, https://… or unix:/PATH of a proxy; several of servers with one database, with commas
    between them; default: WINNOW_HTTP, else the current context of `winnow context`, else 127.0.0.1:8080. HOST:PORT is
    asked over TLS if it is not this machine's loopback, or if tls_ca is given. context:
    another one; default: WINNOW_CONTEXT. Its token and TLS files count where nothing else names some, and only for its
    own server.
    token, token_file: default: WINNOW_TOKEN, WINNOW_TOKEN_FILE. tls_ca: PEM file of who signed the server's
    certificate; default: WINNOW_TLS_CA, else the system's. tls_cert, tls_key: the client's own certificate; default:
    WINNOW_TLS_CERT, WINNOW_TLS_KEY. timeout: seconds of one call. patience: seconds for which a call is tried again
    while the server cannot be reached, as when it restarts.
    """
    for name, value in (("timeout", timeout), ("patience", patience)):
        if not value >= 0 or name == "timeout" and value == 0:
            raise ValueError(f"{name}: is {value!r}; expected seconds")
    if server and context:
        raise ValueError("context: not with server; expected one of the two")
    environment: Mapping[str, str] = os.environ if context is None else dict[str, str]()
    server = server or environment.get("WINNOW_HTTP")
    kept = contexts.find(context) if not server else {}
    ca = tls_ca or environment.get("WINNOW_TLS_CA") or kept.get("tls_ca")
    texts = (server or kept.get("http") or transport.DEFAULT_ADDRESS).split(",")
    addresses = [transport.Address(text, tls=bool(ca)) for text in texts]
    if token is None:
        file = token_file or environment.get("WINNOW_TOKEN_FILE") if not environment.get("WINNOW_TOKEN") else token_file
        if not file and not environment.get("WINNOW_TOKEN"):
            file = kept.get("token_file")
        token = pathlib.Path(file).read_text("utf-8").strip() if file else environment.get("WINNOW_TOKEN") or kept.get("token")
    for address in addresses:
        if token and not address.private:
            raise ValueError(f"server: {address.text!r} would be sent the token unencrypted; expected https://HOST:PORT")
    tls = None
    if any(address.tls for address in addresses):
        tls = transport.tls_context(ca, tls_cert or environment.get("WINNOW_TLS_CERT") or kept.get("tls_cert"),
                                    tls_key or environment.get("WINNOW_TLS_KEY") or kept.get("tls_key"))
    return Client(transport.Transport(addresses, token=token, context=tls, timeout=timeout, patience=patience))


def _connected_again(server: str, timeout: float, patience: float, gone: str) -> transport.Transport:
    """The calls of a server, of an object that was pickled."""
    calls = connect(server, timeout=timeout, patience=patience)._calls
    calls.gone = gone
    return calls


def _pickled(calls: transport.Transport) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The addresses, and no token: whoever unpickles it connects as `connect` does."""
    return _connected_again, (",".join(map(str, calls.addresses)), calls.timeout, calls.patience, calls.gone)


copyreg.pickle(transport.Transport, _pickled)


def plan(spec: Spec, **options: Any) -> dict[str, Any]:
    """What a job would do: connect().plan(spec, …)."""
    return connect().plan(spec, **options)


def read_spec(spec: Spec, working_directory: Optional[str] = None) -> dict[str, Any]:
    """A job file's content as a request has it: texts where the server expects texts, an absolute directory."""
    if isinstance(spec, (str, os.PathLike)):
        path = pathlib.Path(spec)
        try:
            found = json.loads(_COMMENT.sub(_without_comment, path.read_text("utf-8-sig")), object_pairs_hook=_each_once)
        except ValueError as error:
            raise ValueError(f"{path}: is not a job file: {error}") from error
        base = working_directory or str(path.parent)
    elif isinstance(spec, Mapping):
        found = dict(spec)
        base = working_directory or "."
    else:
        raise ValueError(f"spec: is {spec!r}; expected a job file's path, or its content as a dict")
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


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is given twice; expected once")
        found[name] = value
    return found


def _without_comment(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else "\n" * found[0].count("\n") or " "


def _words(name: str, given: Sequence[str]) -> list[str]:
    if isinstance(given, str):
        raise TypeError(f"{name}: is {given!r}; expected a list of words")
    return list(given)


def _parameter(found: Any) -> Any:
    if not isinstance(found, Mapping):
        return found
    changed = dict(found)
    if isinstance(changed.get("condition"), Mapping) and isinstance(changed["condition"].get("values"), list):
        changed["condition"] = {**changed["condition"], "values": [transport.as_text(one) for one in changed["condition"]["values"]]}
    if isinstance(changed.get("prior"), Mapping) and "value" in changed["prior"]:
        changed["prior"] = {**changed["prior"], "value": transport.as_text(changed["prior"]["value"])}
    return changed


def _texts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: transport.as_text(value) for name, value in values.items()}
