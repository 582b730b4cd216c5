#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// What the worker on each node of an allocation has for trials.
struct WorkerShape {
  int32_t slots = 1;
  double cpus = 0;        // to ask the engine for, per node; 0: leave it to the engine
  double memory_gib = 0;  // likewise
  int32_t gpus = 0;       // likewise
  std::map<std::string, std::string> labels = {};

  bool operator==(const WorkerShape&) const = default;
};

// Nodes that an engine is asked for: all at once or none, with one worker on each.
//
// In `command`, the engine replaces three placeholders on each node:
//   {node}     the node's index in the allocation, from 0 to nodes - 1
//   {files}    a directory with the `files`, which only the worker's user can read
//   {scratch}  a directory on the node that this worker alone writes to; the engine removes it after the
//   worker's end
struct AllocationRequest {
  std::string
      name;  // unique for ever; lower-case letters, digits and "-", at most 52 characters; ends in "-NUMBER"
  int64_t number = 0;  // the NUMBER
  int32_t nodes = 1;
  WorkerShape shape;
  std::chrono::seconds time_limit{0};  // 0: the engine's own
  std::vector<std::string> command;    // winnow-worker and its arguments
  std::map<std::string, std::string>
      files;  // name -> contents: secrets, which never are arguments or environment
};

// An allocation as the engine sees it. It explains and cleans up; the truth about trials is in their leases.
struct Allocation {
  enum class State { kQueued, kRunning, kEnded };
  std::string name;
  std::string id;  // the engine's
  State state = State::kQueued;
  std::string reason;              // why it waits or has ended, in the engine's words; "": nothing to say
  std::vector<std::string> hosts;  // as far as they are known
  bool held = false;               // it waits, and the engine will never start it by itself

  bool operator==(const Allocation&) const = default;
};

// "QUEUED", "RUNNING", "ENDED"
const char* TextOf(Allocation::State state);

// A name by which an allocation is found again, and the engine's id; "": not known.
struct AllocationKey {
  std::string name;
  std::string id;
};

// An engine that starts workers: Slurm, Kubernetes, programs of the user, this machine. All calls come from
// one thread, which is not the coordinator's; they may block, but none for more than a minute.
//
// Statuses of all calls:
//   UNAVAILABLE         the engine did not answer; what was asked may or may not have been done. Nothing is
//   concluded
//                       from it: List tells later
//   RESOURCE_EXHAUSTED  refused because of a limit (jobs submitted, rate), or of nodes that are away: asked
//   again later
//   any other           refused for good, with the engine's own words
class Pool {
 public:
  virtual ~Pool() = default;

  // The most requests of one Submit. More than 1: such a batch differs in names, numbers and files alone, its
  // numbers follow each other, and all have one node.
  virtual int most_in_batch() const { return 1; }

  // Returns the engine's ids, in order; all are submitted or none. ALREADY_EXISTS: the engine has one of that
  // name, which was submitted earlier and whose answer was lost.
  virtual absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) = 0;

  // Returns the named ones that the engine knows. One that is absent was never submitted, or it has ended
  // and the engine has forgotten it.
  virtual absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>& allocations) = 0;

  // Ends them, whatever their state. OK also for those that the engine does not know.
  virtual absl::Status Cancel(const std::vector<AllocationKey>& allocations) = 0;

  // From now on List, which may wait long for an engine that hangs, ends soon with UNAVAILABLE. What changes
  // something goes on to its end. The one call that any thread may make.
  virtual void Stop() {}

  // Removes what was left for an allocation that has ended (its files).
  virtual absl::Status Forget(const AllocationKey& allocation) = 0;

  // The end of what the allocation's workers have printed, where that can be read; it may say why none has
  // joined.
  virtual std::string LastWords(const AllocationKey& /*allocation*/) { return ""; }

  // What Submit would give to the engine, as text for people, with secrets left out.
  virtual std::string Render(const std::vector<AllocationRequest>& batch) const = 0;
};

}  // namespace winnow
