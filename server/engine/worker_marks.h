#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/engine/context.h"

namespace winnow {

// Which workers are given nothing new, and why: cordoned or draining by someone's word, quarantined for their troubles.
// Goes by their names, and so holds when they register anew. Owner: the coordinator thread.
class WorkerMarks {
 public:
  explicit WorkerMarks(Context& context) : context_(context) {}

  // Reads everything anew; earlier troubles are forgotten.
  absl::Status Load();
  // Null: it is open.
  const WorkerMark* Find(const std::string& name) const;
  void Put(WorkerMark mark);
  void Clear(const std::string& name);
  enum class Trouble { kNotStarted, kLost };
  // It could not start what it was given, by its own host's fault, or it was lost. Too often in a short time, and it is
  // quarantined, unless it is marked already.
  void NoteTrouble(const std::string& name, Trouble trouble, const std::string& what);
  // The quarantine is over, if there is one.
  void EndQuarantine(const std::string& name);

 private:
  Context& context_;
  std::map<std::string, WorkerMark> marks_;
  std::map<std::string, std::deque<std::pair<int64_t, Trouble>>> troubles_;  // with their steady time in microseconds
};

}  // namespace winnow
