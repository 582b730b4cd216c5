#include "server/reads/replays.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "scheduler/replay.h"
#include "server/engine/answers/job_view.h"

namespace winnow {
namespace {

std::string HandedOutText(const v1::BestTrial& best) {
  return fmt::format("hands out trial {}, expected {} ± {}", best.trial(), best.expected(),
                     best.expected_error());
}

// Chooses again what an ended job hands out.
void CheckChoice(const Record& record, v1::ReplayTuningJobResponse& response) {
  if (!record.chosen || response.mismatch() != 0) return;
  JobState state(record.spec);
  for (const Fact& fact : record.facts) state.Apply(fact);
  const std::optional<v1::BestTrial> again = HandedOut(state, record.job);
  const std::string recorded = HandedOutText(*record.chosen);
  const std::string expected = again ? HandedOutText(*again) : "hands out nothing";
  if (recorded == expected) return;
  response.set_mismatch(state.last_sequence());
  response.set_recorded(recorded);
  response.set_expected(expected);
}

v1::ReplayTuningJobResponse Decided(const Record& record) {
  const std::vector<Fact>& facts = record.facts;
  v1::ReplayTuningJobResponse response;
  response.set_facts(static_cast<int64_t>(facts.size()));
  response.set_decisions(
      std::count_if(facts.begin(), facts.end(), [](const Fact& fact) { return !IsObserved(fact.body); }));
  const Mismatch mismatch = Verify(record.spec, facts, Wording::kIgnored);
  response.set_mismatch(mismatch.sequence);
  response.set_recorded(mismatch.recorded);
  response.set_expected(mismatch.expected);
  CheckChoice(record, response);
  return response;
}

}  // namespace

Replays::~Replays() {
  Stop();
  // A barrier: reads posted earlier have run when this one has.
  std::promise<void> posted;
  reader_.Post([&posted](Reads&) { posted.set_value(); });
  posted.get_future().wait();
}

void Replays::Answer(const std::shared_ptr<Done>& done, absl::StatusOr<v1::ReplayTuningJobResponse> answer) {
  {
    MutexLock lock(mutex_);
    if (waiting_.erase(done) == 0) return;  // Stop has answered it
  }
  (*done)(std::move(answer));
}

void Replays::Stop() {
  std::set<std::shared_ptr<Done>> waiting;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    waiting.swap(waiting_);
  }
  thread_.BeginStop();
  for (const auto& done : waiting) (*done)(absl::UnavailableError("the server is stopping"));
}

void Replays::Replay(const std::string& id, Done done) {
  auto shared = std::make_shared<Done>(std::move(done));
  bool stopping = false;
  {
    MutexLock lock(mutex_);
    stopping = stopping_;
    if (!stopping) waiting_.insert(shared);
  }
  if (stopping) {
    (*shared)(absl::UnavailableError("the server is stopping"));
    return;
  }
  reader_.Post([this, id, shared](Reads& reads) {
    absl::StatusOr<Record> record = reads.GetRecord(id);
    if (!record.ok()) {
      Answer(shared, record.status());
      return;
    }
    thread_.Post([this, record = *std::move(record), shared] {
      if (!thread_.stopping()) Answer(shared, Decided(record));
    });
  });
}

}  // namespace winnow
