#include "server/grpc/health_watch.h"

#include <utility>

namespace winnow {

HealthProbe MakeHealthProbe(Coordinator& coordinator, Reader& reader) {
  return [&coordinator, &reader](std::function<void(absl::Status)> done) {
    coordinator.Call<absl::Status>([](Engine&) { return absl::OkStatus(); },
                                   [&reader, done = std::move(done)](const absl::Status& recorded) {
                                     if (!recorded.ok()) return done(recorded);
                                     reader.Post([done](Reads& reads) { done(reads.Probe()); });
                                   });
  };
}

HealthProbe MakeHealthProbe(Reader& reader) {
  return [&reader](std::function<void(absl::Status)> done) {
    reader.Post([done = std::move(done)](Reads& reads) { done(reads.Probe()); });
  };
}

HealthWatch::HealthWatch(HealthProbe probe, std::function<void(bool)> tell, HealthWatchOptions options)
    : probe_(std::move(probe)), tell_(std::move(tell)), options_(options), thread_([this] { Run(); }) {}

HealthWatch::~HealthWatch() {
  {
    MutexLock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.NotifyAll();
  thread_.join();
}

void HealthWatch::Run() {
  State& state = *state_;
  bool told = true;
  MutexLock lock(state.mutex);
  while (true) {
    const auto next = std::chrono::steady_clock::now() + options_.every;
    while (!state.stopping && state.changed.WaitUntil(state.mutex, next)) {
    }
    if (state.stopping) return;
    if (!state.waiting) {  // a probe that stalls is not repeated
      state.waiting = true;
      lock.Unlock();
      probe_([shared = state_](const absl::Status& status) {
        {
          MutexLock answered(shared->mutex);
          shared->waiting = false;
          shared->healthy = status.ok();
        }
        shared->changed.NotifyAll();
      });
      lock.Lock();
    }
    const auto end = std::chrono::steady_clock::now() + options_.patience;
    while (!state.stopping && state.waiting && state.changed.WaitUntil(state.mutex, end)) {
    }
    if (state.stopping) return;
    if (state.waiting) state.healthy = false;
    if (state.healthy == told) continue;
    told = state.healthy;
    lock.Unlock();
    tell_(told);
    lock.Lock();
  }
}

}  // namespace winnow
