#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/link.h"

namespace winnow {

enum class Operation : uint8_t {
  kSum64,
  kSum32,
  kMax,
  kReduceScatter64,
  kReduceScatter32,
  kAllGather,
  kAllGatherInPlace,
  kAllToAll,
  kBroadcast
};

// This rank's connections to all others, on which the steps of operations move messages. While a step waits,
// the thread sleeps until one of the connections can go on, ends, or has been silent for too long; a rank
// that waits sends signs of life, so that the silent one is known among those who wait for each other. An
// error is told to all ranks and is final.
class RankLinks {
 public:
  struct Outgoing {
    int to;
    std::span<const std::byte> bytes;
  };
  struct Incoming {
    int from;
    Sink sink;
  };

  // sockets[r] leads to rank r; that of `rank` itself is not open.
  RankLinks(int rank, std::vector<Socket> sockets, std::chrono::milliseconds patience);
  // Says goodbye, if nothing failed, and waits until what was sent is on its way.
  ~RankLinks();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(links_.size()); }

  // The steps that follow belong to the next operation. `param` is what all ranks must agree on.
  void Begin(Operation operation, uint64_t param);

  // Returns once all messages have been handed over or have come. One message to and one from a rank at most.
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in);

  // Ends the group with this error, if none has, and tells all ranks.
  absl::Status Fail(const absl::Status& error);
  const absl::Status& status() const { return status_; }

  uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  bool Watch();
  bool MoveNow();
  absl::Status Await();
  absl::Status CheckLinks() const;
  absl::Status CheckTime(Time now);
  static void Serve(Link* link, int16_t ready);
  void SayLast(const Frame& last, std::string_view text, std::chrono::milliseconds most,
               std::chrono::milliseconds unheard);
  bool Waits(int rank) const;
  static std::string Describe(uint8_t operation, uint64_t param);

  const int rank_;
  const std::chrono::milliseconds patience_;
  const bool crowded_;                        // more ranks on this machine than processors
  std::vector<std::unique_ptr<Link>> links_;  // by rank; null at rank_
  std::vector<pollfd> polled_;
  std::vector<Time> heard_;  // by rank: when bytes moved last, in this step
  Time progress_, next_pulse_;
  uint64_t moved_ = 0;  // payload bytes at progress_
  Frame operation_;     // of the operation under way
  absl::Status status_;
  uint64_t bytes_sent_ = 0;
};

}  // namespace winnow
