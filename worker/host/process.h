#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/host/cgroup.h"
#include "worker/host/event_loop.h"
#include "worker/host/leftover_processes.h"
#include "worker/host/run_as.h"

namespace winnow {

// Settings of a process, applied before its program runs.
struct ChildSetup {
  // the process joins it; processes left in it when the program has ended are killed
  std::shared_ptr<Cgroup> group = nullptr;
  std::vector<int> processors = {};                 // affinity mask; empty: unchanged
  uint64_t data_bytes = 0;                          // RLIMIT_DATA; 0: unlimited
  std::shared_ptr<const UserLease> user = nullptr;  // null: the worker's own user
  // of a program that changes its user itself: whoever else opens its streams by name; null: nobody
  const TrainerUser* stream_user = nullptr;
};

struct ProcessSpec {
  // Program and arguments. A program without a slash is searched in `program_directory`, then in the PATH of
  // `environment`; one with a slash is relative to `working_directory`.
  std::vector<std::string> command;
  std::vector<std::string> environment;  // complete, "NAME=value"
  std::string working_directory;         // empty: the caller's
  std::string program_directory;         // empty: only PATH
  // The entry of `environment` (AssignmentMark) that identifies processes outside the group; empty: they are
  // left alone.
  std::string mark = "";
  ChildSetup setup = {};
  // A descriptor of 3 or more that the program inherits under the same number; the caller closes it. -1:
  // none.
  int inherited = -1;
  // Its number in the program; -1: the same. REQUIRES with a number: no group in `setup`.
  int inherited_as = -1;
};

struct ProcessEnd {
  int exit_code = 0;  // 128 + signal for a signal
  int signal = 0;     // the signal that killed it; 0: it exited
};

// A running program with all its descendants: its own process group, standard input from /dev/null, standard
// output and error read by us. Descendants in other groups end with it if the spec has a mark or a group. The
// kernel kills it before the worker when the host's memory runs out. It dies with the thread that started it
// (PR_SET_PDEATHSIG), which must therefore live as long as the worker: the loop's thread.
class Process {
 public:
  enum Stream { kStdout = 0, kStderr = 1 };
  struct Events {
    // Bytes as read; never empty.
    std::function<void(Stream, std::string_view)> output;
    // The last call: all output was read, and no process of the group or with the mark is left. May delete
    // the Process.
    std::function<void(const ProcessEnd&)> gone;
  };

  // On `loop`'s thread, as every other call. NOT_FOUND or FAILED_PRECONDITION with the program's name and the
  // system's message: it cannot be executed; RESOURCE_EXHAUSTED: the machine cannot run anything now.
  static absl::StatusOr<std::unique_ptr<Process>> Start(EventLoop* loop, const ProcessSpec& spec,
                                                        Events events);
  // A process of the spec that another has forked. `output` and `error` are the ends from which its streams
  // are read; they are closed in any case. REQUIRES: it is a child of this process, and leads a group of its
  // own.
  static absl::StatusOr<std::unique_ptr<Process>> Adopt(EventLoop* loop, const ProcessSpec& spec, pid_t pid,
                                                        int output, int error, Events events);
  // Kills the group and waits for its leader if it is not gone yet; does not call `gone`.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Sends SIGTERM to the group, and SIGKILL after `grace`. A later call can only shorten the grace. Does
  // nothing after the program has ended by itself, or once it is gone. One that is suspended goes on for as
  // long as it has a grace.
  void Stop(EventLoop::Clock::duration grace);

  // Passes everything that was written by now to `output`.
  void ReadWritten();

  // Suspends the processes of the group, and all of its control group if it has one, until Resume or Stop.
  // What they have written stays unread. Does nothing if the program has ended.
  void Suspend();
  // REQUIRES suspended().
  void Resume();
  bool suspended() const { return suspended_; }

  // Whether the program itself has ended; processes that it started may be left.
  bool HasEnded() const;
  bool IsStopping() const { return stopping_; }  // Stop was called before its end
  pid_t pid() const { return pid_; }
  // Whether written bytes have not been passed to `output` yet.
  bool HasUnread(Stream stream) const;

 private:
  struct Pipe {
    int fd = -1;
    EventLoop::Id watch = 0;
  };

  Process(EventLoop* loop, const ProcessSpec& spec, Events events);
  void WatchPipe(Stream stream);
  void ReadSome(Stream stream, int most_reads);
  void ClosePipe(Stream stream);
  void LeaderEnded();
  void AwaitGroup();
  void KillGroup();

  EventLoop* const loop_;
  const Events events_;
  const std::shared_ptr<Cgroup> group_;
  const std::shared_ptr<const UserLease> user_;
  MarkedOrphans orphans_;
  pid_t pid_ = -1;  // also the id of its group
  int pidfd_ = -1;
  EventLoop::Id ended_watch_ = 0;
  std::array<Pipe, 2> pipes_;
  ProcessEnd end_;
  bool reaped_ = false;
  bool gone_ = false;  // its id may be another's
  bool stopping_ = false;
  bool suspended_ = false;
  EventLoop::TimePoint kill_time_;
  EventLoop::Id kill_timer_ = 0;
  EventLoop::Id group_timer_ = 0;
  EventLoop::Clock::duration group_delay_;
};

// Hides this process's memory, such as its token, from other processes of this user (PR_SET_DUMPABLE); its
// children are not affected. REQUIRES: called before any Start.
void HideFromOthers();

}  // namespace winnow
