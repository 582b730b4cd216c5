#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

class RankIdentity;

// One rank's end of a group that computes together. All ranks call the same operations in the same order; an
// operation returns when this rank's part is done. Sums are of integers modulo 2^64 or 2^32, so they are
// exact in any order, and two 32-bit fields may share one 64-bit word.
//
// An error is final: it names the failed rank and the reason. Every later call returns it again, and every
// other rank gets the same error in its current or next operation. Every operation has a deadline, so a
// stalled rank causes an error (DeadlineExceeded) and not a hang. A rank whose process ends, or that is
// destroyed while others need it, is Unavailable. One thread at a time may call; long waits sleep.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // data[i] becomes the sum, or the maximum, of all ranks' data[i]. For long data each rank sends 2 (N - 1) /
  // N. REQUIRES: equal sizes.
  virtual absl::Status AllReduceSum(std::span<uint64_t> data) = 0;
  virtual absl::Status AllReduceSum(std::span<uint32_t> data) = 0;
  virtual absl::Status AllReduceMax(std::span<uint64_t> data) = 0;

  // Rank r gets the sums of [begins[r], begins[r + 1]), in place; the rest of data is undefined afterwards. A
  // rank sends all but its own part. REQUIRES: the same begins on all ranks, ascending, size() + 1 of them,
  // from 0 to data.size().
  virtual absl::Status ReduceScatterSum(std::span<uint64_t> data, std::span<const std::size_t> begins) = 0;
  virtual absl::Status ReduceScatterSum(std::span<uint32_t> data, std::span<const std::size_t> begins) = 0;

  // data[begins[r], begins[r + 1]) of rank r replaces everyone's. A rank sends its own part to each other.
  // REQUIRES: as ReduceScatterSum, in bytes.
  virtual absl::Status AllGatherInPlace(std::span<std::byte> data, std::span<const std::size_t> begins) = 0;

  // Returns every rank's bytes, by rank. Sizes may differ.
  virtual absl::StatusOr<std::vector<std::string>> AllGather(std::string_view mine) = 0;

  // Sends to[r] to rank r; element r of the result is what rank r sent here. REQUIRES: to.size() == size().
  virtual absl::StatusOr<std::vector<std::string>> AllToAll(const std::vector<std::string>& to) = 0;

  // *bytes of rank `root` replaces everyone's.
  virtual absl::Status Broadcast(int root, std::string* bytes) = 0;

  // Reports to the other ranks that this one gives up and why; their current or next call returns the reason.
  virtual void Fail(const absl::Status& reason) = 0;

  // The IPv4 address, in network byte order, of rank `rank` as seen from here.
  virtual uint32_t AddressOf(int rank) const = 0;

  // With what the ranks know each other over TLS; null: they talk in plain text.
  virtual std::shared_ptr<const RankIdentity> identity() const { return nullptr; }

  // How long an operation waits for a silent rank.
  virtual std::chrono::milliseconds patience() const = 0;

  // Payload bytes that this rank has passed to the transport.
  virtual uint64_t bytes_sent() const = 0;
};

// A group of one rank: sends nothing, and never fails.
std::unique_ptr<Communicator> MakeSoleRank();

}  // namespace winnow
