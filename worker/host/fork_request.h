#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "worker/host/event_loop.h"
#include "worker/host/process.h"

namespace winnow {

// A request to the parent of a job's trainers to fork a child that becomes the process of `spec`
// (docs/trainer-contract.md, "Forking"). The spec's user must be this process's own.
struct ForkRequest {
  const ProcessSpec& spec;
  int parent;          // the socket on which the parent takes requests
  pid_t parent_id;     // the parent itself
  int control;         // our end of the child's control socket
  int child_control;   // the child's end; closed by ForkChild
  bool holds = false;  // it must not train before it is told so on the control socket
  std::chrono::milliseconds patience = std::chrono::seconds(1);
};

// Asks the parent, waits for the child, applies the limits of spec.setup to it and lets it go on, as far as
// it may. The child is then a child of this process, which is the nearest subreaper. UNAVAILABLE: there is
// none (the parent is stopped, gone, too slow or out of memory). FAILED_PRECONDITION, with its words: it
// refuses, and would again.
absl::StatusOr<std::unique_ptr<Process>> ForkChild(EventLoop* loop, const ForkRequest& request,
                                                   Process::Events events);

}  // namespace winnow
