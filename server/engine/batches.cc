#include "server/engine/batches.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/mutant.h"
#include "base/status_text.h"
#include "server/engine/metrics.h"

namespace winnow {
namespace {

// How often to look whether there is room again while nobody calls: leases must run out some time.
constexpr int64_t kRetryUs = 1'000'000;

// The answer to callers of a batch that was rolled back.
absl::Status NotRecorded(const absl::Status& why) {
  const std::string text = "not recorded, send it again: " + MessageOf(why);
  return absl::IsResourceExhausted(why) ? absl::ResourceExhaustedError(text) : absl::UnavailableError(text);
}

// Reports how long a batch takes to the metrics, if there are any.
class BatchTimes {
 public:
  explicit BatchTimes(Metrics* metrics) : metrics_(metrics), begun_(Now()), decided_(begun_) {}

  void Decided() { decided_ = Now(); }
  void Committed() const {
    if (metrics_ == nullptr) return;
    const Clock::time_point committed = Now();
    metrics_->commit.Observe(Seconds(committed - decided_));
    metrics_->batch.Observe(Seconds(committed - begun_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point Now() const { return metrics_ == nullptr ? Clock::time_point() : Clock::now(); }
  static double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

  Metrics* const metrics_;
  const Clock::time_point begun_;
  Clock::time_point decided_;
};

}  // namespace

absl::Status Batches::Run(std::deque<UseCase>& batch, int64_t now_us) {
  BatchTimes times(engine_.context().options.metrics);
  bool began = false;
  absl::Status status = CatchUp();
  if (status.ok()) {
    engine_.Begin();
    status = store_.Write([&] {
      began = true;
      for (const UseCase& use_case : batch) use_case.run(engine_);
      if (!decides_) return engine_.context().failure();
      if (std::exchange(stood_still_, false)) engine_.RenewLeases();
      engine_.FireDeadlines(now_us);
      if (WINNOW_MUTANT("it is acknowledged before it is committed")) engine_.Committed();
      absl::Status finished = engine_.Finish();
      if (finished.ok() && join_) finished = RunJoining(batch);
      times.Decided();
      return finished;
    });
  }
  const bool was_refused = std::exchange(refused_, !status.ok());
  if (status.ok()) {
    if (was_refused) spdlog::info("what happens is recorded again");
    times.Committed();
    engine_.Committed();
    return status;
  }
  if (absl::IsDataLoss(status)) return status;
  if (!was_refused) spdlog::warn("nothing is recorded for now: {}", MessageOf(status));
  status = NotRecorded(status);
  if (began) {
    engine_.RolledBack(status);
    behind_ = !WINNOW_MUTANT("nothing is read anew after a commit failed");
  } else {
    stood_still_ = true;  // whoever called could not be heard
  }
  retry_us_ = engine_.context().steady_us() + kRetryUs;
  return status;
}

absl::Status Batches::RunJoining(std::deque<UseCase>& batch) {
  std::vector<Question> questions = engine_.TakeQuestions();
  if (questions.empty()) return absl::OkStatus();
  std::deque<UseCase> joining = join_(std::move(questions));
  if (joining.empty()) return absl::OkStatus();
  for (UseCase& use_case : joining) {
    batch.push_back(std::move(use_case));
    batch.back().run(engine_);
  }
  return engine_.Finish();
}

absl::Status Batches::CatchUp() {
  if (!behind_) return absl::OkStatus();
  // Loading takes long where much is recorded: not for a batch that could not be recorded anyway.
  absl::Status writable = store_.database().CheckWritable();
  if (!writable.ok()) return writable;
  absl::Status loaded = engine_.Load();
  if (loaded.ok() && reload_) loaded = reload_();
  if (absl::IsUnavailable(loaded)) return loaded;
  if (!loaded.ok()) return absl::DataLossError(MessageOf(loaded));
  behind_ = false;
  return absl::OkStatus();
}

std::optional<int64_t> Batches::next_deadline() const {
  if (refused_) return retry_us_;
  return decides_ ? engine_.next_deadline() : std::nullopt;
}

}  // namespace winnow
