#pragma once

#include <string>
#include <vector>

#include "scheduler/decide.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// A job played by hand: the test says what trials report and how attempts end.
class PlayedJob {
 public:
  explicit PlayedJob(const SearchSpec& spec) : state_(spec) {}

  const JobState& state() const { return state_; }
  const TrialState& trial(TrialNumber number) const { return state_.trial(number); }
  const std::vector<Fact>& facts() const { return facts_; }

  // Places what Admit gives; 0: it gives nothing to run.
  TrialNumber Start();
  // Places all that Admit gives; how many.
  int StartAll();
  // Reports `value` at the level that the attempt was to reach (at `own_end` if that is less), then ends it.
  void Finish(TrialNumber number, double value, int64_t own_end = 1'000'000);
  void Report(TrialNumber number, int64_t resource, double value);
  void End(TrialNumber number, AttemptOutcome outcome, const std::string& reason = "");
  void Record(FactBody body);

  // The newest fact of a kind; REQUIRES there is one.
  template <typename T>
  const T& Newest() const {
    for (auto fact = facts_.rbegin();; ++fact) {
      if (const T* body = std::get_if<T>(&fact->body)) return *body;
    }
  }

 private:
  JobState state_;
  std::vector<Fact> facts_;
  int64_t now_us_ = 0;
};

}  // namespace winnow
