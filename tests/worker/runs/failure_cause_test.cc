#include "worker/runs/failure_cause.h"

#include "tests/catch.h"

namespace winnow {

TEST_CASE("Failure cause: it has no NUL characters", "[worker]") {
  CHECK(FindCause(std::string("E\0r\0r\0o\0r\0:\0 \0x\0", 16)) == "Error: x");
}

TEST_CASE("FailureCause: of a container that did not start, what its runtime says", "[worker]") {
  CHECK(FindCause("runc create failed: exec: \"train\": executable file not found in $PATH\n"
                  "Error: container create failed (no logs from conmon): conmon bytes \"\"\n") ==
        "runc create failed: exec: \"train\": executable file not found in $PATH");
}

TEST_CASE("FailureCause: the exception of a Python traceback, whatever comes after it", "[worker]") {
  CHECK(FindCause("loading\n"
                  "Traceback (most recent call last):\n"
                  "  File \"/job/train.py\", line 9, in <module>\n"
                  "    main()\n"
                  "    ^^^^^^\n"
                  "  File \"/job/train.py\", line 5, in main\n"
                  "    raise ValueError(f\"lr is {lr}\")\n"
                  "ValueError: lr is 7\n"
                  "see the manual\n"
                  "resource_tracker.py:224: UserWarning: there appear to be 6 leaked semaphore objects\n"
                  "  warnings.warn('resource_tracker: '\n") == "ValueError: lr is 7");
  // The newer of two, and one whose beginning is missing.
  CHECK(FindCause("  File \"a.py\", line 1, in f\n    g()\nKeyError: 'x'\n\n"
                  "During handling of the above exception, another exception occurred:\n\n"
                  "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f()\n"
                  "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be reported later.\n") ==
        "RuntimeError: CUDA error: out of memory");
  CHECK(FindCause("  File \"train.py\", line 1, in <module>\nModuleNotFoundError: No module named 'torch'\n"
                  "  File \"torchrun\", line 8, in <module>\n"
                  "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
                  "======\n  exitcode  : 1 (pid: 7)\n======\n") ==
        "ModuleNotFoundError: No module named 'torch'");
}

TEST_CASE(
    "FailureCause: of an MPI program what it said itself, and mpirun's words only where it said nothing",
    "[worker]") {
  const std::string ruler = std::string(74, '-') + "\n";
  const std::string primary = ruler +
                              "Primary job  terminated normally, but 1 process returned\n"
                              "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
                              ruler;
  CHECK(FindCause("rank 1: cannot open data.bin\n" + primary + ruler +
                  "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
                  "the job to be terminated. The first process to do so was:\n\n"
                  "  Process name: [[11159,1],1]\n  Exit code:    4\n" +
                  ruler) == "rank 1: cannot open data.bin");
  CHECK(
      FindCause("rank 1: cannot open data.bin\n" + ruler +
                "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 4.\n\n"
                "You may or may not see output from other processes, depending on\n"
                "exactly when Open MPI kills them.\n" +
                ruler +
                "[n1][[5781,1],0][../opal/mca/btl/tcp/btl_tcp.c:559:mca_btl_tcp_recv_blocking] recv(18) "
                "failed: Connection reset by peer (104)\n" +
                ruler +
                "WARNING: Open MPI failed to TCP connect to a peer MPI process.  This\nshould not happen.\n" +
                ruler) == "rank 1: cannot open data.bin");
  CHECK(FindCause(ruler +
                  "mpirun was unable to launch the specified application as it could not access\n"
                  "or execute an executable:\n\nExecutable: ./train\nNode: n1\n\n"
                  "while attempting to start process rank 0.\n" +
                  ruler + "2 total processes failed to start\n") ==
        "mpirun was unable to launch the specified application as it could not access or execute an "
        "executable: Executable: ./train Node: n1 while attempting to start process rank 0.");
  CHECK(
      FindCause("[n1:18208] *** Process received signal ***\n[n1:18208] Signal: Segmentation fault (11)\n"
                "[n1:18208] Failing at address: (nil)\n[n1:18208] [ 0] ./m(+0x121f)[0x558c8d1ba21f]\n"
                "[n1:18208] *** End of error message ***\n" +
                primary + ruler +
                "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 11 (Segmentation "
                "fault).\n" +
                ruler) ==
      "mpirun noticed that process rank 1 with PID 0 on node n1 exited on signal 11 (Segmentation fault).");
  CHECK(FindCause("[n1:18320] *** An error occurred in MPI_Send\n[n1:18320] *** MPI_ERR_RANK: invalid rank\n"
                  "[n1:18320] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
                  "[n1:18320] ***    and potentially your MPI job)\n") == "*** MPI_ERR_RANK: invalid rank");
  // A table of the program's own stays.
  CHECK(FindCause(ruler + "no convergence\n" + ruler) == "no convergence");
}

TEST_CASE("FailureCause: of a program under torchrun without an exception, its own words", "[worker]") {
  const std::string torchrun =
      "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 8 closing signal SIGTERM\n"
      "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 2) local_rank: 0 (pid: 7) of "
      "binary: /usr/bin/python3\n"
      "Traceback (most recent call last):\n"
      "  File \"/usr/bin/torchrun\", line 33, in <module>\n"
      "    sys.exit(load_entry_point('torch', 'console_scripts', 'torchrun')())\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "============\ntrain.py FAILED\n------------\nFailures:\n  <NO_OTHER_FAILURES>\n============\n";
  CHECK(FindCause("usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --lr 0.1\n" + torchrun) ==
        "train.py: error: unrecognized arguments: --lr");
  CHECK(FindCause(torchrun) == "failed (exitcode: 2) local_rank: 0 (pid: 7) of binary: /usr/bin/python3");
}

TEST_CASE("FailureCause: the last line that says something", "[worker]") {
  CHECK(FindCause("usage: torchrun [-h] [--nnodes NNODES]\n                [--rdzv-backend RDZV_BACKEND]\n"
                  "torchrun: error: argument --nnodes: invalid int value: '0.5'\n") ==
        "torchrun: error: argument --nnodes: invalid int value: '0.5'");
  CHECK(FindCause("out of luck\n\n  ~~~^^^\n=====\n 40%|####      | 4/10 [00:01<00:02, 2.5it/s]\r") ==
        "out of luck");
  CHECK(FindCause("cannot open data\ntrain.py:3: DeprecationWarning: old\n  import imp\n") ==
        "cannot open data");
  CHECK(FindCause(
            "terminate called after throwing an instance of 'std::runtime_error'\n  what():  bad data\n") ==
        "what():  bad data");
  CHECK(FindCause("Datei fehlt: größe\n╰────╯\n") == "Datei fehlt: größe");
  CHECK(FindCause("/usr/bin/env: 'python3\\r': No such file or directory\n"
                  "/usr/bin/env: use -[v]S to pass options in shebang lines\n") ==
        "/usr/bin/env: 'python3\\r': No such file or directory");
  CHECK(FindCause("Error: unknown flag: --volumes\nSee 'podman run --help'\n") ==
        "Error: unknown flag: --volumes");
  CHECK(FindCause("unknown flag: --volumes\n\nUsage:  docker run [OPTIONS] IMAGE\n\n"
                  "Run 'docker run --help' for more information\n") == "unknown flag: --volumes");
  CHECK(FindCause("Usage: train DATA\n") == "Usage: train DATA");
}

TEST_CASE("FailureCause: arguments that the program does not know are named without their values",
          "[worker]") {
  CHECK(FindCause("usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --lr 0.0149 --depth 7\n") ==
        "train.py: error: unrecognized arguments: --lr --depth");
  CHECK(FindCause("train.py: error: unrecognized arguments: --shift=-0.5 -b -1.5 --name a\n") ==
        "train.py: error: unrecognized arguments: --shift -b --name");
  CHECK(FindCause("train.py: error: unrecognized arguments: 0.0149 7\n") ==
        "train.py: error: unrecognized arguments: 0.0149 7");
}

TEST_CASE("FailureCause: colours are left out", "[worker]") {
  CHECK(FindCause("\x1b[1;31mERROR\x1b[0m: no file a.csv\x1b[K\n") == "ERROR: no file a.csv");
  CHECK(FindCause("cut off\x1b[3") == "cut off");
}

TEST_CASE("FailureCause: without a better one the last line that is there, without any, none", "[worker]") {
  CHECK(FindCause("a.py:1: UserWarning: old\n") == "a.py:1: UserWarning: old");
  CHECK(FindCause("") == "");
  CHECK(FindCause("\n \t\n") == "");
}

TEST_CASE("FailureCause: a long line is cut between characters", "[worker]") {
  std::string line(496, 'x');
  const std::string cut = FindCause(line + "üü and so on, and on, and on\n");
  CHECK(cut == line + "...");
}

}  // namespace winnow
