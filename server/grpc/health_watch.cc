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

HealthWatch::HealthWatch(HealthProbe probe, std::function<void(bool)> tell, HealthWatchOptions options)
    : probe_(std::move(probe)), tell_(std::move(tell)), options_(options), thread_([this] { Run(); }) {}

HealthWatch::~HealthWatch() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  thread_.join();
}

void HealthWatch::Run() {
  State& state = *state_;
  bool told = true;
  std::unique_lock lock(state.mutex);
  const auto stopping = [&state] { return state.stopping; };
  while (!state.changed.wait_for(lock, options_.every, stopping)) {
    if (!state.waiting) {  // a probe that stalls is not repeated
      state.waiting = true;
      lock.unlock();
      probe_([shared = state_](const absl::Status& status) {
        {
          std::lock_guard answered(shared->mutex);
          shared->waiting = false;
          shared->healthy = status.ok();
        }
        shared->changed.notify_all();
      });
      lock.lock();
    }
    state.changed.wait_for(lock, options_.patience, [&state] { return state.stopping || !state.waiting; });
    if (state.stopping) return;
    if (state.waiting) state.healthy = false;
    if (state.healthy == told) continue;
    told = state.healthy;
    lock.unlock();
    tell_(told);
    lock.lock();
  }
}

}  // namespace winnow
