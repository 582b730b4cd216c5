#include "trainers/mlp/network/crew.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace winnow::mlp {
namespace {

// About 50 microseconds: longer than the pause between parts of a step, shorter than that between epochs.
constexpr int kLooks = 2000;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Waits until *value differs from `old`.
void AwaitChange(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int look = 0; look < kLooks; ++look) {
    if (value.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Crew::Crew(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Loop(i); });
}

Crew::~Crew() {
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Crew::Loop(int thread) {
  uint32_t seen = 0;
  for (;;) {
    AwaitChange(turn_, seen);
    seen = turn_.load(std::memory_order_acquire);
    if (seen % 2 == 1) return;
    (*work_)(thread);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_all();
  }
}

void Crew::Run(const std::function<void(int thread)>& work) {
  if (workers_.empty()) return work(0);
  work_ = &work;
  busy_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  turn_.fetch_add(2, std::memory_order_release);
  turn_.notify_all();
  work(0);
  for (uint32_t left = busy_.load(std::memory_order_acquire); left != 0;
       left = busy_.load(std::memory_order_acquire))
    AwaitChange(busy_, left);
}

}  // namespace winnow::mlp
