#include "trainers/collective/ranks_from_environment.h"

#include <charconv>
#include <string>
#include <utility>

#include "fmt/format.h"

namespace winnow {
namespace {

std::string ValueOf(const EnvironmentVariables& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<int> WholeFrom(const EnvironmentVariables& environment, const char* name, int lowest,
                              int highest) {
  const std::string text = ValueOf(environment, name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= lowest && value <= highest)
    return value;
  const std::string found =
      text.empty() ? fmt::format("{} is not set", name) : fmt::format("{} = {}", name, text);
  return absl::InvalidArgumentError(
      fmt::format("{}: expected a whole number from {} to {}", found, lowest, highest));
}

}  // namespace

absl::StatusOr<RankOptions> RankOptionsFrom(const EnvironmentVariables& environment, RankOptions defaults) {
  constexpr int kMostRanks = 4096, kHighestPort = 65535, kMostSeconds = 7 * 24 * 3600;
  RankOptions options = std::move(defaults);
  options.rank = 0;
  options.size = 1;
  if (ValueOf(environment, "WORLD_SIZE").empty()) return options;
  const absl::StatusOr<int> size = WholeFrom(environment, "WORLD_SIZE", 1, kMostRanks);
  if (!size.ok()) return size.status();
  if (*size == 1) return options;
  const absl::StatusOr<int> rank = WholeFrom(environment, "RANK", 0, *size - 1);
  if (!rank.ok()) return rank.status();
  const absl::StatusOr<int> port = WholeFrom(environment, "MASTER_PORT", 1, kHighestPort);
  if (!port.ok()) return port.status();
  options.rank = *rank;
  options.size = *size;
  options.master_port = *port;
  options.master_address = ValueOf(environment, "MASTER_ADDR");
  if (options.master_address.empty())
    return absl::InvalidArgumentError(
        "MASTER_ADDR is not set: expected the name or address of rank 0's machine");
  const auto patience = [&](const char* name, std::chrono::milliseconds* of) -> absl::Status {
    if (ValueOf(environment, name).empty()) return absl::OkStatus();
    const absl::StatusOr<int> seconds = WholeFrom(environment, name, 1, kMostSeconds);
    if (seconds.ok()) *of = std::chrono::seconds(*seconds);
    return seconds.status();
  };
  absl::Status status = patience("WINNOW_RENDEZVOUS_SECONDS", &options.rendezvous_patience);
  if (status.ok()) status = patience("WINNOW_RANK_PATIENCE_SECONDS", &options.patience);
  if (!status.ok()) return status;
  options.group = fmt::format("job {} trial {} attempt {}", ValueOf(environment, "WINNOW_JOB"),
                              ValueOf(environment, "WINNOW_TRIAL"), ValueOf(environment, "WINNOW_ATTEMPT"));
  return options;
}

absl::StatusOr<std::unique_ptr<Communicator>> RanksFromEnvironment(const EnvironmentVariables& environment,
                                                                   RankOptions defaults) {
  const absl::StatusOr<RankOptions> options = RankOptionsFrom(environment, std::move(defaults));
  if (!options.ok()) return options.status();
  return ConnectRanks(*options);
}

}  // namespace winnow
