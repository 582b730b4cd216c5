#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace winnow::mlp {

enum class Phase : uint8_t { kLoad, kForward, kBackward, kCommunicate, kUpdate, kEvaluate };
constexpr int kPhases = 6;

// A record of a rank's phases over time. Thread-safe.
class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  struct Span {
    Phase phase;
    uint16_t thread;  // 0: the caller of steps; others are numbered by the caller that adds them
    int64_t step;
    int64_t begin_ns, end_ns;  // since the profile was made
  };

  explicit Profile(std::size_t most_spans = 1 << 20);  // later ones are counted in the sums only

  void Add(Phase phase, int thread, int64_t step, Clock::time_point begin, Clock::time_point end);
  // A number of one step for findings, as "gradient_norm".
  void AddValue(const std::string& name, int64_t step, double value);

  struct Value {
    std::string name;
    int64_t step;
    double value;
  };
  std::vector<Span> spans() const;
  std::vector<Value> values() const;
  // Seconds of all spans of a phase, of thread 0.
  double Seconds(Phase phase) const;

 private:
  const Clock::time_point origin_ = Clock::now();
  const std::size_t most_spans_;
  mutable Mutex mutex_;
  std::vector<Span> spans_ ABSL_GUARDED_BY(mutex_);
  std::vector<Value> values_ ABSL_GUARDED_BY(mutex_);
  double seconds_[kPhases] ABSL_GUARDED_BY(mutex_) = {};
};

// Records its own lifetime. A null profile costs nothing.
class ProfileScope {
 public:
  ProfileScope(Profile* profile, Phase phase, int64_t step, int thread = 0)
      : profile_(profile), phase_(phase), thread_(thread), step_(step) {
    if (profile_ != nullptr) begin_ = Profile::Clock::now();
  }
  ~ProfileScope() {
    if (profile_ != nullptr) profile_->Add(phase_, thread_, step_, begin_, Profile::Clock::now());
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profile* const profile_;
  const Phase phase_;
  const int thread_;
  const int64_t step_;
  Profile::Clock::time_point begin_;
};

}  // namespace winnow::mlp
