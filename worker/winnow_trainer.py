"""How a Python program talks to Winnow: metrics, checkpoints, stops. Without Winnow around it prints.

    import winnow_trainer as winnow

    state = winnow.resume()                      # None, or (directory, level)
    for epoch in range(first, epochs + 1):
        ...
        winnow.save("model.pt")                  # a file or a directory
        winnow.report(epoch, loss=loss)
        if winnow.should_stop(wait=True):        # waits for the next part in this process, if it may
            break

With this as the last line of the script, and "warm": "FORK" in the job, the imports above it run once for many trials:

    winnow.serve(main)
"""

import json
import os
import shutil
import signal
import sys
import threading

__all__ = ["report", "resume", "save", "serve", "should_stop", "hyperparameters"]

_reported = None
_orders = None  # the worker's, where programs may wait
_stopping = threading.Event()
_asks = False  # whether the program has called should_stop() or resume(), and so goes on to save when it is stopped
_OLD = ".old.tmp"  # ends the name of a saved directory while it is replaced
# Libraries that show progress on standard output, in a line that has no end yet when their callbacks are called.
_BARS = ("tqdm", "keras", "tf_keras", "tensorflow", "rich", "progressbar", "alive_progress", "fastprogress")


def _on_term(number, _frame):
    if not _asks:  # it would train on until it is killed
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    _stopping.set()


def _watch_signal():
    """SIGTERM then makes should_stop() true, and ends a program that has called neither that nor resume(); unless the
    program handles the signal, or this is no main thread."""
    try:
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _on_term)
    except ValueError:
        pass


def report(step, **metrics):
    """Reports metrics at a level: a line of JSON on standard output. Numbers, or what float() takes.

    Call it in every rank of a training, so that should_stop() is the same in all; only rank 0 prints."""
    global _reported
    if isinstance(step, bool) or int(step) != step:
        raise TypeError(f"step is {step!r}; expected a whole number")
    if not metrics:
        raise TypeError("no metrics; expected at least one, such as report(1, loss=0.5)")
    line = {"step": int(step)}
    for name, value in metrics.items():
        try:
            line[name] = float(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name} is {value!r}; expected a number") from None
    if all(rank == "0" for rank in _ranks()):
        begin = "\n" if _unfinished_line() else ""
        sys.stdout.write(begin + json.dumps(line) + "\n")  # at once, so that no other thread's words come between
        sys.stdout.flush()
    _reported = int(step) if _reported is None else max(int(step), _reported)


def _ranks():
    """This process's place in its trial, or in what torchrun started, and among the processes of an MPI program."""
    return [os.environ[name] for name in ("RANK", "OMPI_COMM_WORLD_RANK") if os.environ.get(name)]


def _unfinished_line():
    """A progress bar may have left the cursor in a line; a blank line more does no harm."""
    return any(name in sys.modules for name in _BARS)


def resume():
    """The directory with this trial's checkpoint and the level it was paused at, or None: begin at the start."""
    global _asks
    _asks = True
    directory = os.environ.get("WINNOW_CHECKPOINT_DIR")
    if not directory or not os.path.isdir(directory):
        return None
    _bring_back(directory)
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
    draft = ".".join([target, *_ranks(), "part"])  # ranks on one host have the same directory
    os.makedirs(os.path.dirname(target), exist_ok=True)
    _remove(draft)
    if os.path.isdir(path):
        shutil.copytree(path, draft)
        if not os.path.lexists(target):
            os.rename(draft, target)
        elif not _exchange(draft, target):
            _remove(target + _OLD)
            os.rename(target, target + _OLD)  # killed after this line: see _bring_back
            os.rename(draft, target)
            _remove(target + _OLD)
        _remove(draft)
    else:
        shutil.copyfile(path, draft)
        with open(draft, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    return target


def _exchange(one, other):
    """Gives each of two paths the other's name at once, where the system can (not on NFS)."""
    try:
        import ctypes  # a program that saves no directory is spared this
        return ctypes.CDLL(None).renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0
    except (AttributeError, ImportError):
        return False


def _bring_back(directory):
    """What save() was about to replace when the program was killed."""
    for folder, names, _ in os.walk(directory):
        for name in names:
            target = os.path.join(folder, name[:-len(_OLD)])
            if name.endswith(_OLD) and not os.path.lexists(target):
                try:
                    os.rename(target + _OLD, target)
                except FileNotFoundError:
                    pass  # another rank has done it


def _remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def should_stop(wait=False):
    """Whether to save and exit now: the level to train to is reported, or Winnow asked the program to end.

    wait: if the level is reported, waits for the trial's next part here, and is false if there is one: then train on.
    So checkpoint and model must be saved before the call."""
    global _asks
    _asks = True
    last = int(os.environ.get("WINNOW_RESOURCE_TO", "0") or 0)
    offset = int(os.environ.get("WINNOW_RESOURCE_OFFSET", "0") or 0)  # 1 for a program that counts from 0
    reached = last > 0 and _reported is not None and _reported + offset >= last
    if wait and reached and not _stopping.is_set() and _goes_on(last):
        return False
    return _stopping.is_set() or reached


def _goes_on(level):
    """Tells the worker that this process waits at the level; whether it is told to train on."""
    global _orders
    try:
        if _orders is None:
            import socket  # a program that does not wait is spared this
            _orders = socket.socket(fileno=int(os.environ["WINNOW_CONTROL_FD"])).makefile("rw")
        print("waiting", level, file=_orders, flush=True)
        order = _orders.readline().split()
    except (KeyError, OSError):
        return False
    if order[:1] != ["continue"]:
        return False
    os.environ.update(word.split("=", 1) for word in order[2:])
    return True


def hyperparameters():
    """The trial's hyperparameters by name; empty without Winnow."""
    return json.loads(os.environ.get("SM_HPS", "{}"))


def serve(main):
    """Calls main() and gives what it returns. The job's "warm": "FORK" lets a worker run what comes before serve once,
    in a process that then forks one for each new trial; main() is called in these only.

    So before serve import modules and no more: read arguments, environment and hyperparameters in main, start no
    thread, and use no GPU. Without Winnow around it, it just calls main()."""
    parent = os.environ.get("WINNOW_PARENT_FD")
    problem = _obstacle()
    if parent is not None:
        if problem:
            sys.exit(f"winnow_trainer.serve: {problem}")
        _serve(int(parent))  # returns in the processes of trials
    elif os.environ.get("WINNOW_CONTROL_FD"):
        if problem:
            print(f"winnow_trainer.serve: {problem}, so every trial starts a process", file=sys.stderr, flush=True)
        else:
            _tell(int(os.environ["WINNOW_CONTROL_FD"]), "forks\n")
    return main()


def _obstacle():
    """Why a fork of this process would not be a good trainer; "": it would."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "CUDA is in use before serve"
    return "a thread runs before serve" if threading.active_count() > 1 else ""


def _tell(descriptor, text):
    try:
        os.write(descriptor, text.encode())
    except OSError:
        pass


def _serve(descriptor):
    """Forks a process for each request until there are no more, and then ends this one; returns in each of them."""
    import socket  # a program that does not serve is spared this, and ctypes below
    if _stopping.is_set():
        os._exit(0)
    on_term = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.set_inheritable(descriptor, False)
    requests = socket.socket(fileno=descriptor)
    sys.stdout.flush()
    sys.stderr.flush()
    _tell(descriptor, "ready holds")
    while True:
        try:
            _, files, _, _ = socket.recv_fds(requests, 64, 5)
        except OSError:
            files = []
        if len(files) not in (4, 5):
            os._exit(0)
        if _fork(files):
            requests.close()
            signal.signal(signal.SIGTERM, on_term)
            return
        for file in files:
            os.close(file)


def _fork(files):
    """Whether this is the new process. It is a child of the worker, because the one between has ended."""
    left, leaves = os.pipe()
    between = _fork_into(files[4]) if len(files) > 4 else os.fork()
    if between == 0:
        if os.fork() != 0:
            os._exit(0)
        os.close(leaves)
        if os.read(left, 1) == b"x":
            try:
                _become(files)
                os.close(left)
                return True
            except Exception as problem:  # whatever it is, the worker starts a process instead
                _tell(files[3], "refused " + " ".join(f"{type(problem).__name__}: {problem}".split()) + "\n")
        os._exit(126)
    os.waitpid(between, 0)
    os.write(leaves, b"x")
    os.close(left)
    os.close(leaves)
    return False


def _fork_into(group):
    """os.fork(), with the child in the control group of that folder if the kernel allows it; it may only fork and exit."""
    import ctypes
    into_cgroup, clone3 = 1 << 33, 435  # the same on every processor
    request = (ctypes.c_uint64 * 11)(into_cgroup, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, group)
    child = ctypes.PyDLL(None).syscall(clone3, ctypes.byref(request), ctypes.sizeof(request))
    return child if child >= 0 else os.fork()


def _become(files):
    """Takes over the environment, the arguments and the streams of a trial."""
    global _reported
    plan, output, error, control, *group = files
    with os.fdopen(os.dup(plan), "rb") as file:
        fields = [os.fsdecode(field) for field in file.read().split(b"\0")[:-1]]
    worker, directory, words = int(fields[0]), fields[1], int(fields[2])
    command, environment = fields[3:3 + words], dict(entry.split("=", 1) for entry in fields[3 + words:])
    arguments = _arguments_of(command)
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    _write_mark(ctypes, libc, environment["WINNOW_ASSIGNMENT"])
    if directory:
        os.chdir(directory)
    os.dup2(output, 1)
    os.dup2(error, 2)
    os.setsid()
    if libc.prctl(1, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != worker:  # PR_SET_PDEATHSIG
        raise RuntimeError("the process would not be the worker's own")
    os.write(control, b"forked\n")
    order = _order(control)  # the worker sets the limits meanwhile
    if order == ["hold"]:  # there is no slot for it yet
        order = _order(control)
    if order[:1] != ["go"]:
        os._exit(126)
    environment.update(word.split("=", 1) for word in order[1:])
    if "WINNOW_CONTROL_FD" in environment:
        environment["WINNOW_CONTROL_FD"] = str(control)
        os.set_inheritable(control, True)
    else:
        os.close(control)
    for file in (plan, output, error, *group):
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    _reported = None
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()  # as every new process has; the module random does it by itself


def _order(control):
    """The words of a line of the worker; none: it is gone. What follows the line is for others."""
    line = b""
    while not line.endswith(b"\n"):
        got = os.read(control, 1)
        if not got:
            return []
        line += got
    return line.decode().split()


def _arguments_of(command):
    """The arguments of the program in the command, which must be this one, as it was started."""
    with open("/proc/self/cmdline", "rb") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    own = words[:len(words) - _argument_count]
    for count in range(len(own), 0, -1):  # fewer where the system has put the interpreter before the command
        first, *rest = own[len(own) - count:]
        if rest == command[1:count] and first in (command[0], _found(command[0])):
            return command[count:]
    raise RuntimeError(f"the command is not this program alone: {' '.join(command[:3])}")


def _found(program):
    return program if "/" in program else shutil.which(program)


def _write_mark(ctypes, libc, assignment):
    """The worker finds the processes of an assignment by this variable as the system shows it, which is as it was when
    the program was started: it is written over, in place."""
    libc.getenv.restype = ctypes.c_void_p
    shown = libc.getenv(b"WINNOW_ASSIGNMENT")
    value = os.fsencode(assignment)
    if not shown or len(ctypes.string_at(shown)) < len(value):
        raise RuntimeError("WINNOW_ASSIGNMENT has changed")
    ctypes.memmove(shown, value + b"\0", len(value) + 1)
    with open("/proc/self/environ", "rb") as file:
        if b"WINNOW_ASSIGNMENT=" + value not in file.read().split(b"\0"):
            raise RuntimeError("WINNOW_ASSIGNMENT has moved")


_argument_count = len(sys.argv) - 1
if os.environ.get("WINNOW_ASSIGNMENT"):
    _watch_signal()
