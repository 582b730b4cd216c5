"""Model files of trials, as files here."""

from __future__ import annotations

import datetime
import hashlib
import os
import pathlib
import shutil
import time
import uuid
from typing import Any, Mapping, Union

from winnow import errors
from winnow.reading import JobReader, to_time

_BETWEEN_LOOKS = 0.3  # seconds
_MODEL_COMES = datetime.timedelta(minutes=1)


def download(job: JobReader, trial: int, directory: Union[str, "os.PathLike[str]"], wait: float) -> list[str]:
    """Writes the model files of `trial`, 0: the best, into a new or an empty directory; returns their paths. Waits at most
    `wait` seconds for the server to have them. If it fails, the directory is as it was."""
    base = pathlib.Path(directory).absolute()
    if base.exists() and (not base.is_dir() or any(base.iterdir())):
        raise FileExistsError(f"directory: {base} exists and is not an empty directory")
    files = _wait_for(job, trial, wait)
    base.parent.mkdir(parents=True, exist_ok=True)
    there = base.exists()  # then it may be a mount point, or the working directory: it stays, and what it has comes from within
    draft = (base if there else base.parent) / f".{base.name}.{uuid.uuid4().hex[:12]}.part"
    try:
        draft.mkdir()
        paths = [_write(job, file, draft) for file in files]
        if there:
            for child in list(draft.iterdir()):
                child.rename(base / child.name)
            draft.rmdir()
        else:
            draft.rename(base)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return [str(base / path) for path in paths]


def _wait_for(job: JobReader, trial: int, wait: float) -> list[Mapping[str, Any]]:
    until = time.monotonic() + wait
    while True:
        try:
            found = job._calls.call("GET", f"{job._path}/trials/{trial}/artifact", {"kind": "MODEL"})
            files: list[Mapping[str, Any]] = found["manifest"]["files"]
            return files
        except errors.NotFound:
            if time.monotonic() > until or not _may_come(job, trial):
                raise
            time.sleep(_BETWEEN_LOOKS)


def _may_come(job: JobReader, trial: int) -> bool:
    """Whether a model that is not there may be on its way: the job runs, or has ended a moment ago with that trial."""
    described = job.describe()
    end = to_time(described.get("end_time"))
    if end is not None and trial == 0 and not described.get("best"):
        return False
    return end is None or datetime.datetime.now(datetime.timezone.utc) - end < _MODEL_COMES


def _write(job: JobReader, file: Mapping[str, Any], base: pathlib.Path) -> pathlib.Path:
    """Returns its path below `base`."""
    path = base.joinpath(*_parts(file["path"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        for blob in file["blobs"]:
            data = job._calls.blob(blob["digest"], int(blob["size"]))
            if hashlib.sha256(data).hexdigest() != blob["digest"]:
                raise errors.ServerError("DATA_LOSS", f"{file['path']}: a blob is not what its digest says")
            out.write(data)
    if file["executable"]:
        path.chmod(0o755)
    return path.relative_to(base)


def _parts(path: str) -> list[str]:
    """Of a file's path in a manifest. ValueError: it leads elsewhere."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"the server named a file {path!r}; expected a relative path")
    return parts
