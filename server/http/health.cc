#include "server/http/health.h"

#include <grpcpp/alarm.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/status_text.h"

namespace winnow {
namespace {

class HealthCheck final : public Exchange, public std::enable_shared_from_this<HealthCheck> {
 public:
  HealthCheck(HealthProbe probe, std::chrono::milliseconds patience, CallCount* count)
      : pass_(*count), probe_(std::move(probe)), patience_(patience) {}

  void Start(std::function<void()> changed) override {
    changed_ = std::move(changed);
    // A weak pointer, because an answer may come late or, from a stalled server, never.
    const std::weak_ptr<HealthCheck> weak = weak_from_this();
    alarm_.Set(std::chrono::system_clock::now() + patience_, [weak](bool expired) {
      const auto self = weak.lock();
      if (expired && self) self->Tell("no answer in time from the writer or the reader");
    });
    probe_([weak](const absl::Status& status) {
      if (const auto self = weak.lock()) self->Tell(status.ok() ? "" : MessageOf(status));
    });
  }

  Step Next() override {
    MutexLock lock(mutex_);
    if (!problem_) return {};
    const nlohmann::ordered_json ok = {{"status", "ok"}};
    const nlohmann::ordered_json bad = {{"status", "unavailable"}, {"message", *problem_}};
    return {Step::Kind::kAnswer,
            JsonAnswer(problem_->empty() ? 200 : 503, (problem_->empty() ? ok : bad).dump()),
            {}};
  }

  void Cancel() override {}

 private:
  void Tell(std::string problem) {
    {
      MutexLock lock(mutex_);
      if (problem_) return;
      problem_ = std::move(problem);
    }
    changed_();
  }

  const CallCount::Pass pass_;  // destroyed last
  const HealthProbe probe_;
  const std::chrono::milliseconds patience_;
  std::function<void()> changed_;
  Mutex mutex_;
  std::optional<std::string> problem_ ABSL_GUARDED_BY(mutex_);  // "": none
  grpc::Alarm alarm_;
};

}  // namespace

std::shared_ptr<Exchange> MakeHealthCheck(HealthProbe probe, std::chrono::milliseconds patience,
                                          CallCount* count) {
  return std::make_shared<HealthCheck>(std::move(probe), patience, count);
}

}  // namespace winnow
