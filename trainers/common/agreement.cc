#include "trainers/common/agreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/str_split.h"

namespace winnow {

absl::Status AgreeOnRequest(const ToldThings& told, Communicator* ranks) {
  std::string mine;
  for (const auto& [name, value] : told) mine += fmt::format("{} = {}\n", name, value);
  const auto all = ranks->AllGather(mine);
  if (!all.ok()) return all.status();
  for (int rank = 1; rank < ranks->size(); ++rank) {
    if ((*all)[rank] == (*all)[0]) continue;
    const std::vector<std::string> first = absl::StrSplit((*all)[0], '\n'),
                                   other = absl::StrSplit((*all)[rank], '\n');
    std::size_t at = 0;
    while (at + 1 < std::min(first.size(), other.size()) && first[at] == other[at]) ++at;
    return absl::FailedPreconditionError(fmt::format(
        "rank {} was started with {}, rank 0 with {}: expected the same on all", rank, other[at], first[at]));
  }
  return absl::OkStatus();
}

absl::Status AgreeOnData(const std::string& path, uint64_t fingerprint, Communicator* ranks) {
  const auto all = ranks->AllGather(std::to_string(fingerprint));
  if (!all.ok()) return all.status();
  for (int rank = 1; rank < ranks->size(); ++rank) {
    if ((*all)[rank] == (*all)[0]) continue;
    return absl::FailedPreconditionError(fmt::format(
        "{}: rank {} reads other data there than rank 0: expected the same files on every host, or "
        "distribution sharded",
        path, rank));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> AnyoneStops(const std::atomic<bool>& stop, Communicator* ranks) {
  uint64_t stops = stop;
  if (absl::Status status = ranks->AllReduceMax({&stops, 1}); !status.ok()) return status;
  return stops > 0;
}

}  // namespace winnow
