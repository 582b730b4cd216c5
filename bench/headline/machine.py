"""What a run was made on, in words."""

import os
import pathlib
import platform
import re

import numpy
import optuna
import xgboost

GIB = 2**30


def describe():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return {"processor": " ".join(found[1].split()) if found else platform.machine(),
            "processors": len(os.sched_getaffinity(0)), "memory_gib": round(memory),
            "load_before": round(os.getloadavg()[0], 1), "system": system_name(), "xgboost": xgboost.__version__,
            "optuna": optuna.__version__, "numpy": numpy.__version__, "python": platform.python_version()}


def system_name():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def words(about):
    machine = about["machine"]
    return (f"{machine['processors']} processors ({machine['processor']}), {machine['memory_gib']} GiB, "
            f"{machine['system']}; {about['winnow']}, XGBoost {machine['xgboost']}, Optuna {machine['optuna']}, "
            f"Python {machine['python']}")
