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

// What a process does to itself before its program runs.
struct ChildSetup {
  std::shared_ptr<Cgroup> group = nullptr;  // joined; what is left in it when the program has ended is killed
  std::vector<int> processors = {};         // bound to these; empty: to none
  uint64_t data_bytes = 0;                  // RLIMIT_DATA; 0: none
  std::shared_ptr<const UserLease> user = nullptr;  // null: the worker's own
};

struct ProcessSpec {
  // Program and arguments. A program without a slash is looked for in `program_directory`, then along the
  // PATH of `environment`; one with a slash is relative to `working_directory`.
  std::vector<std::string> command;
  std::vector<std::string> environment;  // the whole of it, "NAME=value"
  std::string working_directory;         // empty: the caller's
  std::string program_directory;         // empty: only PATH
  // The entry of `environment` by which what left the group is known, AssignmentMark; empty: it is left
  // alone.
  std::string mark = "";
  ChildSetup setup = {};
};

struct ProcessEnd {
  int exit_code = 0;  // 128 + signal for a signal
  int signal = 0;     // that killed it; 0: it exited
};

// One running program with everything that it starts: a process group of its own, standard input from
// /dev/null, standard output and error to us; what has moved to another group ends with it too if the spec
// has a mark or a group. The kernel ends it before the worker when the host's memory runs out. It dies with
// the thread that started it (PR_SET_PDEATHSIG), which must therefore live as long as the worker: the loop's
// thread.
class Process {
 public:
  enum Stream { kStdout = 0, kStderr = 1 };
  struct Events {
    // Bytes as they were read; never empty.
    std::function<void(Stream, std::string_view)> output;
    // The last call: all output was read and no process of the group or with the mark is left. May delete the
    // Process.
    std::function<void(const ProcessEnd&)> gone;
  };

  // NOT_FOUND or FAILED_PRECONDITION with the program's name and the system's words if it cannot be executed;
  // RESOURCE_EXHAUSTED if the machine cannot run anything now. On `loop`'s thread, as every other call.
  static absl::StatusOr<std::unique_ptr<Process>> Start(EventLoop* loop, const ProcessSpec& spec,
                                                        Events events);
  // Kills the group and waits for its leader if it is not gone yet; `gone` is not called then.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // SIGTERM to the group, SIGKILL after `grace`. A later call can only shorten the grace. After the program
  // has ended by itself this does nothing.
  void Stop(EventLoop::Clock::duration grace);

  // Whether the program itself has ended, though processes that it started may be left.
  bool HasEnded() const;
  pid_t pid() const { return pid_; }
  // Whether it has written something that was not given to `output` yet.
  bool HasUnread(Stream stream) const;

 private:
  struct Pipe {
    int fd = -1;
    EventLoop::Id watch = 0;
  };

  Process(EventLoop* loop, const ProcessSpec& spec, Events events);
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
  pid_t pid_ = -1;  // and the id of its group
  int pidfd_ = -1;
  EventLoop::Id ended_watch_ = 0;
  std::array<Pipe, 2> pipes_;
  ProcessEnd end_;
  bool reaped_ = false;
  bool stopping_ = false;
  EventLoop::TimePoint kill_time_;
  EventLoop::Id kill_timer_ = 0;
  EventLoop::Id group_timer_ = 0;
  EventLoop::Clock::duration group_delay_;
};

// Other processes of this user cannot look into this one any more, as at the token that it shows to its server
// (PR_SET_DUMPABLE); what it starts is as usual. REQUIRES: before any Start.
void HideFromOthers();

}  // namespace winnow
