#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "server/http/message.h"

namespace winnow {

// An answer that comes later, from any thread.
class LaterAnswer final : public Exchange, public std::enable_shared_from_this<LaterAnswer> {
 public:
  using Tell = std::function<void(HttpAnswer)>;
  // Start calls `begin`, which gives the work to another thread, or answers at once; either calls Tell, once.
  // What `begin` owns lives as long as this.
  explicit LaterAnswer(std::function<void(Tell)> begin) : begin_(std::move(begin)) {}

  void Start(std::function<void()> changed) override {
    changed_ = std::move(changed);
    begin_([self = shared_from_this()](HttpAnswer answer) { self->Take(std::move(answer)); });
  }

  Step Next() override {
    MutexLock lock(mutex_);
    if (!answer_) return {};
    return {Step::Kind::kAnswer, *std::move(answer_), {}};
  }

  void Cancel() override {}

 private:
  void Take(HttpAnswer answer) {
    {
      MutexLock lock(mutex_);
      answer_ = std::move(answer);
    }
    changed_();
  }

  const std::function<void(Tell)> begin_;  // destroyed last
  std::function<void()> changed_;
  Mutex mutex_;
  std::optional<HttpAnswer> answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
