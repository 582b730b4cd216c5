#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"

namespace winnow {

struct Message {
  int from = 0;
  std::string bytes;
};

// Messages between pairs of ranks, for work that is not in step: each call is one rank's own. Messages of one
// sender with one tag arrive complete, once, and in the order of sending. Thread-safe.
//
// An error is final, as in Communicator: it names the failed rank and the reason, and from then on every call
// of every rank returns it. A rank whose process ends without Close is Unavailable for the others; one that
// is silent for longer than the patience is DeadlineExceeded (idle ranks exchange pulses).
class Messenger {
 public:
  virtual ~Messenger() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Hands over the bytes and returns; waits only while 64 MiB are in flight to the rank. `to` may be this
  // rank.
  virtual absl::Status Send(int to, uint32_t tag, std::span<const std::byte> bytes) = 0;

  // Returns the next message of that tag from rank `from`, or from any; waits for it. OutOfRange if none can
  // come any more because all possible senders have closed: that is not final.
  virtual absl::StatusOr<Message> Receive(int from, uint32_t tag) = 0;
  virtual absl::StatusOr<Message> ReceiveAny(uint32_t tag) = 0;

  // Declares that this rank sends nothing more, and waits until all ranks have. Afterwards Send is
  // FailedPrecondition; messages that have arrived can still be received.
  virtual absl::Status Close() = 0;

  virtual void Fail(const absl::Status& reason) = 0;

  // Payload bytes passed to the transport, without those to itself.
  virtual uint64_t bytes_sent() const = 0;
};

struct MessengerOptions {
  std::optional<std::chrono::milliseconds> patience;  // none: the group's
};

// Connects the ranks of a group again, for messages: over TCP, on the addresses of the group's ranks,
// whatever the group's own transport. All ranks call it.
absl::StatusOr<std::unique_ptr<Messenger>> ConnectMessenger(Communicator* group,
                                                            const MessengerOptions& options = {});

}  // namespace winnow
