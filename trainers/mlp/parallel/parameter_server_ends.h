#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/messenger.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/parallel/server_shard.h"
#include "trainers/mlp/profile/profile.h"

namespace winnow::mlp {

// The messages between workers and servers of an asynchronous parameter server: a header and floats.
constexpr uint32_t kPushTag = 1;  // worker to server: PushHeader, gradient of the server's run
constexpr uint32_t kPullTag = 2;  // server to worker: PullHeader, the run's newest parameters

struct PushHeader {
  int64_t step = 0;         // the worker's, from 0 where training began
  int64_t epoch_steps = 0;  // of this worker
  int64_t version = 0;      // of the parameters at which the gradient was computed
  int64_t last = 0;         // 1: the worker's last of this epoch, which is not answered
};

struct PullHeader {
  int64_t version = 0;
};

template <typename Header>
std::string MessageBytes(const Header& header, std::span<const float> values) {
  std::string bytes(sizeof(Header) + values.size_bytes(), '\0');
  std::memcpy(bytes.data(), &header, sizeof(Header));
  std::memcpy(bytes.data() + sizeof(Header), values.data(), values.size_bytes());
  return bytes;
}

// False if `bytes` is not a header and values.size() floats.
template <typename Header>
bool ReadMessage(const std::string& bytes, Header* header, std::span<float> values) {
  if (bytes.size() != sizeof(Header) + values.size_bytes()) return false;
  std::memcpy(header, bytes.data(), sizeof(Header));
  std::memcpy(values.data(), bytes.data() + sizeof(Header), values.size_bytes());
  return true;
}

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

// Serves one epoch: applies every push once, on arrival, and answers it with the newest parameters when
// `staleness_bound` lets its worker continue (-1: at once); returns when each worker has pushed its last.
// Records spans of updates as thread `profile_thread`. Errors are the Messenger's; Internal for an unexpected
// message.
absl::Status ServeEpoch(Messenger* messenger, int64_t staleness_bound, ServerShard* shard, Profile* profile,
                        int profile_thread);

// A worker's connection to all servers.
class ParameterClient {
 public:
  // `runs`: the part of the parameters that each rank serves.
  ParameterClient(Messenger* messenger, std::vector<Part> runs)
      : messenger_(messenger), runs_(std::move(runs)), versions_(runs_.size()) {}

  // Sets the version of all servers, at the beginning of an epoch.
  void BeginEpoch(int64_t version) { versions_.assign(versions_.size(), version); }

  // Sends each server its part of the gradient, computed at the last Pull's parameters.
  absl::Status Push(int64_t step, int64_t epoch_steps, bool last, std::span<const float> gradient);

  // Waits for the answers to the last Push. Not after an epoch's last.
  absl::Status Pull(std::span<float> parameters);

 private:
  Messenger* const messenger_;
  const std::vector<Part> runs_;
  std::vector<int64_t> versions_;
};

}  // namespace winnow::mlp
