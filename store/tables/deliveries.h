#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/database.h"

namespace winnow {

enum class DeliveryState { kWaiting, kDelivered, kGivenUp };

// An event for a webhook; see winnow.v1.Delivery.
struct DeliveryRow {
  int64_t number = 0;  // given by the table
  std::string webhook;
  std::string job;           // its id; "": of no job
  std::string event;         // winnow.v1.Event, proto3 JSON
  bool replaceable = false;  // a newer one of the job may take its place before it was first tried
  DeliveryState state = DeliveryState::kWaiting;
  int64_t attempts = 0;
  int64_t create_us = 0;
  int64_t next_us = 0;  // when it is tried next
  int64_t end_us = 0;   // 0: it waits
  std::string answer;

  bool operator==(const DeliveryRow&) const = default;
};

struct DeliveryFilter {
  std::string webhook = {};  // "": all
  std::string job = {};      // "": all
  std::optional<DeliveryState> state = {};
};

class DeliveryTable {
 public:
  explicit DeliveryTable(Database& database);

  // Sets the row's number. A replaceable row takes the place of those of its webhook and job that are
  // replaceable and were not tried yet.
  absl::Status Insert(DeliveryRow& row);
  // Writes state, attempts, times and answer. No row of that number: does nothing.
  absl::Status Update(const DeliveryRow& row);
  // The oldest that wait for a webhook, by number.
  absl::StatusOr<std::vector<DeliveryRow>> Waiting(const std::string& webhook, int64_t limit);
  // How many wait for a webhook, and since when the oldest does (0: none).
  struct Backlog {
    int64_t waiting = 0;
    int64_t oldest_us = 0;
  };
  absl::StatusOr<Backlog> BacklogOf(const std::string& webhook);
  // The webhooks for which some wait.
  absl::StatusOr<std::vector<std::string>> Awaited();
  // The newest first: at most `limit` with a number below `before`.
  absl::StatusOr<std::vector<DeliveryRow>> List(const DeliveryFilter& filter, int64_t before, int64_t limit);
  // Lets all that wait fall due at that time, if they would later.
  absl::Status MakeDue(int64_t now_us);
  // Gives up all that wait for a webhook.
  absl::Status GiveUp(const std::string& webhook, int64_t now_us, const std::string& why);
  // Removes at most `limit` that ended before that time.
  absl::Status RemoveEndedBefore(int64_t time_us, int64_t limit);

 private:
  Database& database_;
  Statement insert_, replace_, update_, waiting_, backlog_, awaited_, make_due_, give_up_, remove_;
};

}  // namespace winnow
