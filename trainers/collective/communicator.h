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

// One rank's end of a group that computes together. All ranks call the same operations in the same order; an
// operation returns when this rank's part of it is done. Sums are of integers modulo 2^64 or 2^32, so
// they are exact in any order, and two 32-bit fields may travel in one 64-bit word.
//
// An error is final: it names the rank that failed and why, every later call returns it again, and every
// other rank of the group gets the same one, in the operation it is in or in its next. Every operation has a
// deadline, so a rank that stands still is an error (DeadlineExceeded) and not a hang. A rank whose process
// ends, or that destroys its end while others still need it, is Unavailable. One thread at a time may call;
// where it has to wait for long, it sleeps.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // data[i] becomes the sum, or the largest, of all ranks' data[i]. Of long data each rank sends
  // 2 (N - 1) / N. REQUIRES: equal sizes.
  virtual absl::Status AllReduceSum(std::span<uint64_t> data) = 0;
  virtual absl::Status AllReduceSum(std::span<uint32_t> data) = 0;
  virtual absl::Status AllReduceMax(std::span<uint64_t> data) = 0;

  // Of the sums, rank r gets those of [begins[r], begins[r + 1]), in place; the rest of data is left
  // undefined. A rank sends what is not its own. REQUIRES: begins the same on all ranks, ascending, size() +
  // 1 of them, begins[0] = 0, the last data.size().
  virtual absl::Status ReduceScatterSum(std::span<uint64_t> data, std::span<const std::size_t> begins) = 0;
  virtual absl::Status ReduceScatterSum(std::span<uint32_t> data, std::span<const std::size_t> begins) = 0;

  // Everyone's data[begins[r], begins[r + 1]) become those of rank r. A rank sends its own stretch to each
  // other. REQUIRES: as ReduceScatterSum, in bytes.
  virtual absl::Status AllGatherInPlace(std::span<std::byte> data, std::span<const std::size_t> begins) = 0;

  // Every rank's bytes, by rank. Sizes may differ.
  virtual absl::StatusOr<std::vector<std::string>> AllGather(std::string_view mine) = 0;

  // to[r] goes to rank r; the answer's [r] is what rank r sent here. REQUIRES: to.size() == size().
  virtual absl::StatusOr<std::vector<std::string>> AllToAll(const std::vector<std::string>& to) = 0;

  // *bytes of rank `root` replaces everyone's.
  virtual absl::Status Broadcast(int root, std::string* bytes) = 0;

  // Tells the other ranks that this one gives up and why; their current or next call returns the reason.
  virtual void Fail(const absl::Status& reason) = 0;

  // The IPv4 address, in network byte order, at which rank `rank` is reached from here.
  virtual uint32_t AddressOf(int rank) const = 0;

  // How long a silent rank is waited for in an operation.
  virtual std::chrono::milliseconds patience() const = 0;

  // Payload bytes that this rank has handed to the transport.
  virtual uint64_t bytes_sent() const = 0;
};

// A group of one: nothing is sent and nothing fails.
std::unique_ptr<Communicator> MakeSoleRank();

}  // namespace winnow
