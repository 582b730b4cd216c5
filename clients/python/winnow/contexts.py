"""Servers and credentials that `winnow context` keeps under names."""

from __future__ import annotations

import json
import os
import pathlib
import stat
from typing import Any, Mapping, Optional


def path() -> Optional[pathlib.Path]:
    """The file that has them."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if config.startswith("/"):
        return pathlib.Path(config, "winnow", "contexts.json")
    home = os.environ.get("HOME")
    return pathlib.Path(home, ".config", "winnow", "contexts.json") if home else None


def find(name: Optional[str] = None) -> Mapping[str, str]:
    """The context of this name; default: WINNOW_CONTEXT, else the current one. Empty if there is none."""
    wanted = name or os.environ.get("WINNOW_CONTEXT")
    file = path()
    if file is None or not file.exists():
        if wanted:
            raise ValueError(f"context: {wanted!r} is not kept; create it with: winnow context add")
        return {}
    kept: Any = json.loads(file.read_text("utf-8"))
    contexts: Any = kept.get("contexts", {})
    wanted = wanted or kept.get("current")
    if not wanted:
        return {}
    if wanted not in contexts:
        raise ValueError(f"context: {wanted!r} is not kept in {file}; expected one of {', '.join(sorted(contexts))}")
    found: Mapping[str, str] = contexts[wanted]
    if found.get("token") and stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise PermissionError(f"{file} has tokens, and others may read it; expected: chmod 600 {file}")
    if not found.get("http"):
        raise ValueError(f"context: {wanted} has no http address; add it: winnow context add {wanted} --force --http HOST:PORT …")
    return found
