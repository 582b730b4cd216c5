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

// This rank's connections to all others, which transfer the messages of operations' steps. While a step
// waits, the thread sleeps until a connection can continue, ends, or has been silent for too long. A waiting
// rank sends pulses, so that the silent rank can be identified among those that wait for each other. An error
// is reported to all ranks and is final.
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

  // sockets[r] connects to rank r; that of `rank` itself is not open.
  RankLinks(int rank, std::vector<Socket> sockets, std::chrono::milliseconds patience);
  // Says goodbye, if nothing failed, and waits until everything is sent.
  ~RankLinks();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(links_.size()); }

  // Starts the steps of the next operation. All ranks must agree on `param`.
  void Begin(Operation operation, uint64_t param);

  // Returns once all messages have been handed over or received: at most one to and one from each rank.
  absl::Status Exchange(std::span<const Outgoing> out, std::span<const Incoming> in);

  // Ends the group with this error, if it has none, and informs all ranks.
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
  std::vector<Time> heard_;  // by rank: time of the last transfer in this step
  Time progress_, next_pulse_;
  uint64_t moved_ = 0;  // payload bytes at progress_
  Frame operation_;     // the current operation
  absl::Status status_;
  uint64_t bytes_sent_ = 0;
};

}  // namespace winnow
