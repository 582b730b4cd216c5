#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace winnow::mlp {

// Threads that run a function together many times per millisecond: waiting threads spin for a while before
// they sleep.
class Crew {
 public:
  // REQUIRES: threads >= 1, including the caller of Run.
  explicit Crew(int threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(thread) once on each thread, thread in [0, threads()), the caller as 0, and returns when all
  // are done. REQUIRES: one Run at a time; work does not throw.
  void Run(const std::function<void(int thread)>& work);

 private:
  void Loop(int thread);

  std::vector<std::thread> workers_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<uint32_t> turn_{0};  // odd when closing
  std::atomic<uint32_t> busy_{0};
};

// Returns the part [begin, end) of `count` items for `thread` of `threads`, in multiples of `grain`.
struct Part {
  int64_t begin = 0, end = 0;
};
inline Part PartOf(int64_t count, int thread, int threads, int64_t grain = 1) {
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t begin = grains * thread / threads * grain, end = grains * (thread + 1) / threads * grain;
  return {begin < count ? begin : count, end < count ? end : count};
}

}  // namespace winnow::mlp
