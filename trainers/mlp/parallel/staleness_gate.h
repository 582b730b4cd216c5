#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace winnow::mlp {

// Decides who may continue in stale synchronous parallel training (Ho et al., NIPS 2013, section 2): a worker
// more than `bound` steps ahead of the slowest waits for it.
class StalenessGate {
 public:
  // bound < 0: no worker waits. REQUIRES: workers >= 1.
  StalenessGate(int workers, int64_t bound) : bound_(bound), done_(static_cast<std::size_t>(workers)) {}

  int64_t done(int worker) const { return done_[static_cast<std::size_t>(worker)]; }
  void Advance(int worker) { ++done_[static_cast<std::size_t>(worker)]; }

  // No worker waits for this one any more.
  void Leave(int worker) { done_[static_cast<std::size_t>(worker)] = kLeft; }
  bool left(int worker) const { return done(worker) == kLeft; }
  bool AllLeft() const { return Slowest() == kLeft; }

  bool MayGoOn(int worker) const { return bound_ < 0 || done(worker) - Slowest() <= bound_; }

 private:
  static constexpr int64_t kLeft = std::numeric_limits<int64_t>::max();
  int64_t Slowest() const { return *std::min_element(done_.begin(), done_.end()); }

  const int64_t bound_;
  std::vector<int64_t> done_;  // steps
};

}  // namespace winnow::mlp
