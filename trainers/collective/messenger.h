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

// Messages between two ranks at a time, for work that is not in step: each call is one rank's own. Messages
// of one sender with one tag arrive in the order they were sent, whole, once. Any thread may call any
// function.
//
// An error is final, as in Communicator: it names the rank that failed and why, and every call of every rank
// returns it from then on. A rank whose process ends without Close is Unavailable at the others; one that is
// silent (a pulse goes to and fro while there is nothing to say) for longer than the patience is
// DeadlineExceeded.
class Messenger {
 public:
  virtual ~Messenger() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Hands the bytes over and returns; waits only where a rank has not taken far too much yet (64 MiB). `to`
  // may be this rank itself.
  virtual absl::Status Send(int to, uint32_t tag, std::span<const std::byte> bytes) = 0;

  // The next message of that tag from rank `from`, or from any; waits for it. OutOfRange where it cannot come
  // any more, as who could send it has closed: that is not final.
  virtual absl::StatusOr<Message> Receive(int from, uint32_t tag) = 0;
  virtual absl::StatusOr<Message> ReceiveAny(uint32_t tag) = 0;

  // Says that this rank sends nothing more, and waits until all ranks have said so. Further messages cannot
  // be sent (FailedPrecondition); those that came can still be received.
  virtual absl::Status Close() = 0;

  virtual void Fail(const absl::Status& reason) = 0;

  // Payload bytes handed to the transport, those to itself left out.
  virtual uint64_t bytes_sent() const = 0;
};

struct MessengerOptions {
  std::optional<std::chrono::milliseconds> patience;  // none: the group's
};

// Connects the ranks of a group a second time, for messages, whatever the group's own transport is: over TCP,
// on the addresses that reach the group's ranks. All ranks call it.
absl::StatusOr<std::unique_ptr<Messenger>> ConnectMessenger(Communicator* group,
                                                            const MessengerOptions& options = {});

}  // namespace winnow
