#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/engine/context.h"

namespace winnow {

// In the reason of a quarantine, before what happened last, which may name a job's files.
inline constexpr char kLastTrouble[] = ", last: ";

// Which workers are given nothing new: cordoned or draining by request, or quarantined after losses and
// failed starts. A mark belongs to a name, and so holds when the worker registers anew. Owner: the
// coordinator thread.
class WorkerMarks {
 public:
  explicit WorkerMarks(Context& context) : context_(context) {}

  // Reads everything anew; earlier troubles are forgotten.
  absl::Status Load();
  // Null: the worker has no mark.
  const WorkerMark* Find(const std::string& name) const;
  void Put(WorkerMark mark);
  void Clear(const std::string& name);
  enum class Trouble { kNotStarted, kLost };
  // The worker was lost, or could not start a rank by its own host's fault. After too many of these in a
  // short time it is quarantined, unless it has a mark already.
  void NoteTrouble(const std::string& name, Trouble trouble, const std::string& what);
  // Ends the quarantine, if there is one.
  void EndQuarantine(const std::string& name);

 private:
  Context& context_;
  std::map<std::string, WorkerMark> marks_;
  std::map<std::string, std::deque<std::pair<int64_t, Trouble>>>
      troubles_;  // with their steady time in microseconds
};

}  // namespace winnow
