"""How a Python program talks to Winnow: metrics, checkpoints, stops. Without Winnow around it prints.

    import winnow_trainer as winnow

    state = winnow.resume()                      # None, or (directory, level)
    for epoch in range(first, epochs + 1):
        ...
        winnow.save("model.pt")                  # a file or a directory
        winnow.report(epoch, loss=loss)
        if winnow.should_stop():
            break
"""

import json
import os
import shutil
import signal
import sys
import threading

__all__ = ["report", "resume", "save", "should_stop", "hyperparameters"]

_reported = None
_stopping = threading.Event()


def _on_term(_number, _frame):
    _stopping.set()


def _watch_signal():
    """SIGTERM then makes should_stop() true, unless the program handles it, or this is no main thread."""
    try:
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _on_term)
    except ValueError:
        pass


def report(step, **metrics):
    """Reports metrics at a level: a line of JSON on standard output. Numbers, or what float() takes."""
    global _reported
    if isinstance(step, bool) or int(step) != step:
        raise TypeError(f"step is {step!r}; expected a whole number")
    if not metrics:
        raise TypeError("no metrics; expected at least one, such as report(1, loss=0.5)")
    line = {"step": int(step)}
    line.update((name, float(value)) for name, value in metrics.items())
    sys.stdout.write("\n" if _unfinished_line() else "")
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    _reported = max(int(step), _reported or 0)


def _unfinished_line():
    """A progress bar may have left the cursor in a line; a blank line more does no harm."""
    return "tqdm" in sys.modules


def resume():
    """The directory with this trial's checkpoint and the level it was paused at, or None: begin at the start."""
    directory = os.environ.get("WINNOW_CHECKPOINT_DIR")
    if not directory or not os.path.isdir(directory):
        return None
    names = [name for name in os.listdir(directory) if not name.endswith((".part", ".tmp"))]
    return (directory, int(os.environ.get("WINNOW_RESOURCE_FROM", "0"))) if names else None


def save(path, name=None):
    """Puts a file or a directory into the checkpoint, whole or not at all. Gives its new path.

    name: what it is called there; by default as it is called here. Without Winnow nothing is done."""
    directory = os.environ.get("WINNOW_CHECKPOINT_DIR")
    if not os.path.lexists(path):
        raise FileNotFoundError(f"{path}: no such file or directory to save")
    if not directory:
        return path
    target = os.path.join(directory, name or os.path.basename(os.path.normpath(path)))
    if os.path.abspath(path) == os.path.abspath(target):
        return target
    draft = target + ".part"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    _remove(draft)
    if os.path.isdir(path):
        shutil.copytree(path, draft)
        if os.path.lexists(target):
            old = target + ".old.tmp"
            _remove(old)
            os.rename(target, old)
            os.rename(draft, target)
            _remove(old)
        else:
            os.rename(draft, target)
    else:
        shutil.copyfile(path, draft)
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    return target


def _remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def should_stop():
    """Whether to save and exit now: the level to train to is reported, or Winnow asked the program to end."""
    last = int(os.environ.get("WINNOW_RESOURCE_TO", "0") or 0)
    return _stopping.is_set() or (last > 0 and _reported is not None and _reported >= last)


def hyperparameters():
    """The trial's hyperparameters by name; empty without Winnow."""
    return json.loads(os.environ.get("SM_HPS", "{}"))


if os.environ.get("WINNOW_ASSIGNMENT"):
    _watch_signal()
