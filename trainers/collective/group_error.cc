#include "trainers/collective/group_error.h"

#include <charconv>
#include <initializer_list>
#include <system_error>

#include "fmt/format.h"

namespace winnow {

std::optional<int> RankToBlame(const absl::Status& status) {
  std::string_view text(status.message().data(), status.message().size());
  constexpr std::string_view kRank = "rank ";
  if (status.ok() || !text.starts_with(kRank)) return std::nullopt;
  text.remove_prefix(kRank.size());
  int rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(end - text.data());
  for (const std::string_view words : {": ", " is gone: ", " stands still: ", " sends what is no message"}) {
    if (text.starts_with(words)) return rank;
  }
  return std::nullopt;
}

absl::Status OfRank(int rank, const absl::Status& reason) {
  if (RankToBlame(reason)) return reason;
  const std::string_view message(reason.message().data(), reason.message().size());
  return absl::Status(reason.code(), fmt::format("rank {}: {}", rank, message));
}

absl::Status IsGone(int rank, std::string_view why) {
  return absl::UnavailableError(fmt::format("rank {} is gone: {}", rank, why));
}

absl::Status StandsStill(int rank, std::string_view operation, std::chrono::milliseconds patience) {
  return absl::DeadlineExceededError(fmt::format("rank {} stands still: nothing from it for {} s in {}", rank,
                                                 static_cast<double>(patience.count()) / 1000, operation));
}

absl::Status SendsGarbage(int rank) {
  return absl::DataLossError(fmt::format("rank {} sends what is no message", rank));
}

absl::Status OperationsDiffer(int rank_a, std::string_view a, int rank_b, std::string_view b) {
  if (rank_a > rank_b) return OperationsDiffer(rank_b, b, rank_a, a);
  return absl::InternalError(
      fmt::format("the ranks do different things: rank {}: {}; rank {}: {}", rank_a, a, rank_b, b));
}

}  // namespace winnow
