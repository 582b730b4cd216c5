#include "trainers/mlp/profile/profile.h"

namespace winnow::mlp {
namespace {

int64_t Nanoseconds(Profile::Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

Profile::Profile(std::size_t most_spans) : most_spans_(most_spans) {}

void Profile::Add(Phase phase, int thread, int64_t step, Clock::time_point begin, Clock::time_point end) {
  const Span span{phase, static_cast<uint16_t>(thread), step, Nanoseconds(begin - origin_),
                  Nanoseconds(end - origin_)};
  MutexLock lock(mutex_);
  if (thread == 0)
    seconds_[static_cast<int>(phase)] += static_cast<double>(span.end_ns - span.begin_ns) * 1e-9;
  if (spans_.size() < most_spans_) spans_.push_back(span);
}

void Profile::AddValue(const std::string& name, int64_t step, double value) {
  MutexLock lock(mutex_);
  if (values_.size() < most_spans_) values_.push_back({name, step, value});
}

std::vector<Profile::Span> Profile::spans() const {
  MutexLock lock(mutex_);
  return spans_;
}

std::vector<Profile::Value> Profile::values() const {
  MutexLock lock(mutex_);
  return values_;
}

double Profile::Seconds(Phase phase) const {
  MutexLock lock(mutex_);
  return seconds_[static_cast<int>(phase)];
}

}  // namespace winnow::mlp
