#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "trainers/collective/messenger.h"

namespace winnow {

// The messages received by a rank and not taken yet, and the state of its message exchange. Thread-safe.
class MessageBox {
 public:
  explicit MessageBox(int ranks) : closed_(ranks) {}

  void Put(int from, uint32_t tag, std::string bytes);

  // Returns the oldest message of the tag from that rank, or from any if none is named; waits for it.
  // OutOfRange if all possible senders have closed; once the exchange has an error, that error.
  absl::StatusOr<Message> Take(std::optional<int> from, uint32_t tag);

  // The rank sends nothing more.
  void Close(int rank);
  bool closed(int rank) const;
  bool all_closed() const;
  // Waits until all ranks have closed, or for the error.
  absl::Status AwaitClosed();

  // Ends the exchange with this error; false if it already has one.
  bool Fail(const absl::Status& error);
  absl::Status status() const;

 private:
  struct Waiting {
    uint64_t number;  // in order of arrival
    std::string bytes;
  };
  struct Tag {
    explicit Tag(std::size_t ranks) : from(ranks) {}
    std::vector<std::deque<Waiting>> from;  // by rank
    std::size_t messages = 0;
    int takers = 0;  // waiting threads
    CondVar arrival;
  };

  Tag* TagOf(uint32_t tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static int Oldest(const Tag& tag, std::optional<int> from);  // the rank; -1: none
  bool MayCome(std::optional<int> from) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  CondVar ends_;
  std::map<uint32_t, Tag> tags_ ABSL_GUARDED_BY(mutex_);
  uint64_t arrivals_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<bool> closed_ ABSL_GUARDED_BY(mutex_);  // by rank
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
