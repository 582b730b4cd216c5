#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"
#include "worker/host/event_loop.h"
#include "worker/host/fork_request.h"
#include "worker/host/limits.h"
#include "worker/host/process.h"
#include "worker/runs/redactor.h"
#include "worker/runs/trainer_place.h"

namespace winnow {

// What the processes of several trials have in common if one parent can fork them all.
struct ParentKey {
  std::string job;
  std::string program;
  std::string source;  // digest; "": none
  std::string working_directory;
  double memory_gib = 0;
  std::map<std::string, std::string> secrets;

  friend bool operator==(const ParentKey&, const ParentKey&) = default;
};

ParentKey ParentKeyOf(const v1::Assignment& assignment, const std::map<std::string, std::string>& secrets);

// A process of a job's trainer that trains nothing: it has run its imports, or mapped its data, and forks a
// child for each new trial (docs/trainer-contract.md, "Forking"). Lives on the loop's thread. Its destructor
// leaves no process behind but those that were forked.
class TrainerParent {
 public:
  // `gone` is called once, with the last words of its standard error, and may delete the parent.
  // RESOURCE_EXHAUSTED and others: it cannot be started.
  static absl::StatusOr<std::unique_ptr<TrainerParent>> Start(
      EventLoop* loop, const TrainerPlace& place, const v1::Assignment& assignment,
      const std::map<std::string, std::string>& secrets, std::function<void(const std::string& words)> gone);
  ~TrainerParent();
  TrainerParent(const TrainerParent&) = delete;
  TrainerParent& operator=(const TrainerParent&) = delete;

  const ParentKey& key() const { return key_; }
  bool is_ready() const { return socket_ >= 0 && was_ready_; }
  bool was_ready() const { return was_ready_; }
  // Whether its children can be held before their first level.
  bool can_hold() const { return can_hold_; }
  pid_t pid() const { return process_->pid(); }
  // Memory that it shares with no file, in bytes, when it became ready.
  int64_t bytes() const { return bytes_; }
  // Keeps what it needs, such as the source that it runs in.
  void Hold(std::shared_ptr<const void> needed) { needed_ = std::move(needed); }

  // As ComingChild::Ask; `holds` as in ForkRequest. `control`: the worker's end of the child's control
  // socket; `child_control` is closed. REQUIRES: is_ready(), and can_hold() to hold it.
  absl::StatusOr<std::unique_ptr<ComingChild>> AskForChild(const ProcessSpec& spec, int control,
                                                           int child_control, bool holds);

 private:
  TrainerParent(EventLoop* loop, ParentKey key);
  void ReadSocket();
  void CloseSocket();

  EventLoop* const loop_;
  const ParentKey key_;
  std::unique_ptr<Confinement> confinement_;
  std::unique_ptr<Redactor> redactor_;
  std::string words_;  // the end of its standard error
  std::function<void(const std::string&)> gone_;
  std::shared_ptr<const void> needed_;
  std::unique_ptr<Process> process_;
  int socket_ = -1;
  EventLoop::Id watch_ = 0;
  bool was_ready_ = false;
  bool can_hold_ = false;
  int64_t bytes_ = 0;
};

// The variables of a parent, "NAME=value": `trainer`, the environment of a trial's process, without what is
// one trial's own. The trial's hyperparameters are there as an example, under another name. `socket`: its
// descriptor; `mark`: its AssignmentMark, longer than that of any child.
std::vector<std::string> ParentEnvironment(const std::vector<std::string>& trainer, int socket,
                                           const std::string& mark);

}  // namespace winnow
