#include "tests/scheduler/played_job.h"

#include <algorithm>

namespace winnow {

void PlayedJob::Record(FactBody body) {
  for (Fact& fact : Advance(state_, ++now_us_, std::move(body))) facts_.push_back(std::move(fact));
}

TrialNumber PlayedJob::Start() {
  while (auto admission = Admit(state_)) {
    if (admission->decision) Record(ToBody(*admission->decision));
    if (admission->trial == 0) continue;
    const int64_t attempt = trial(admission->trial).attempts + 1;
    Record(AttemptStarted{admission->trial, attempt, admission->from, admission->to});
    return admission->trial;
  }
  return 0;
}

int PlayedJob::StartAll() {
  int started = 0;
  while (Start() != 0) ++started;
  return started;
}

void PlayedJob::Report(TrialNumber number, int64_t resource, double value) {
  Record(Reported{number, trial(number).attempts, resource, value});
}

void PlayedJob::End(TrialNumber number, AttemptOutcome outcome, const std::string& reason) {
  Record(AttemptEnded{number, trial(number).attempts, outcome, reason, now_us_, now_us_ + 1});
}

void PlayedJob::Finish(TrialNumber number, double value, int64_t own_end) {
  Report(number, std::min(trial(number).to, own_end), value);
  End(number, AttemptOutcome::kFinished);
}

}  // namespace winnow
