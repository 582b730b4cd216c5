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

Replays::Replays(Reader& reader) : reader_(reader), thread_([this] { Run(); }) {}

Replays::~Replays() {
  Stop();
  // A barrier: reads posted earlier have run when this one has.
  std::promise<void> posted;
  reader_.Post([&posted](Reads&) { posted.set_value(); });
  posted.get_future().wait();
  thread_.join();
}

void Replays::Answer(const std::shared_ptr<Done>& done, absl::StatusOr<v1::ReplayTuningJobResponse> answer) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.erase(done) == 0) return;  // Stop has answered it
  }
  (*done)(std::move(answer));
}

void Replays::Stop() {
  std::set<std::shared_ptr<Done>> waiting;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
    waiting.swap(waiting_);
  }
  wake_.notify_one();
  for (const auto& done : waiting) (*done)(absl::UnavailableError("the server is stopping"));
}

void Replays::Replay(const std::string& id, Done done) {
  auto shared = std::make_shared<Done>(std::move(done));
  bool stopping = false;
  {
    std::lock_guard lock(mutex_);
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
    Enqueue({std::move(record->spec), std::move(record->facts), shared});
  });
}

void Replays::Enqueue(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_) queue_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void Replays::Run() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    Answer(task.done, Decided(task.spec, task.facts));
  }
}

}  // namespace winnow
