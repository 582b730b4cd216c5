#include "server/reads/replays.h"

#include <algorithm>
#include <future>

#include "scheduler/replay.h"

namespace winnow {
namespace {

v1::ReplayTuningJobResponse Decided(const SearchSpec& spec, const std::vector<Fact>& facts) {
  v1::ReplayTuningJobResponse response;
  response.set_facts(static_cast<int64_t>(facts.size()));
  response.set_decisions(
      std::count_if(facts.begin(), facts.end(), [](const Fact& fact) { return !IsObserved(fact.body); }));
  const Mismatch mismatch = Verify(spec, facts, Wording::kIgnored);
  response.set_mismatch(mismatch.sequence);
  response.set_recorded(mismatch.recorded);
  response.set_expected(mismatch.expected);
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
      if (!thread_.stopping()) Answer(shared, Decided(record.spec, record.facts));
    });
  });
}

}  // namespace winnow
