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
  int child_control;   // the child's end; closed by ComingChild::Ask
  bool holds = false;  // it must not train before it is told so on the control socket
  std::chrono::milliseconds patience = std::chrono::seconds(1);
};

// A child that a parent was asked for. Something can be read from `control` when it has come, or will not
// come.
class ComingChild {
 public:
  // UNAVAILABLE: the parent takes no request.
  static absl::StatusOr<std::unique_ptr<ComingChild>> Ask(const ForkRequest& request);
  // Ends the child if it was not taken; may wait for it, as Take.
  ~ComingChild();
  ComingChild(const ComingChild&) = delete;
  ComingChild& operator=(const ComingChild&) = delete;

  // Waits for the child, until request.patience has passed since Ask, applies the limits of spec.setup to it
  // and lets it go on, as far as it may. The child is then a child of this process, which is the nearest
  // subreaper. UNAVAILABLE: there is none (the parent is stopped, gone or out of memory).
  // DEADLINE_EXCEEDED: likewise, and it was waited for in vain. FAILED_PRECONDITION, with its words: it
  // refuses, and would again. REQUIRES: `control` of the request is open, and Take was not called.
  absl::StatusOr<std::unique_ptr<Process>> Take(EventLoop* loop, Process::Events events);

 private:
  struct Parts;
  explicit ComingChild(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;  // null: it was taken
};

}  // namespace winnow
