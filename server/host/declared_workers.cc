#include "server/host/declared_workers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace winnow {
namespace {

constexpr int64_t kMostWorkers = 100'000;
constexpr int64_t kMostSlots = 1024;
constexpr int64_t kMostGpus = 1024;
constexpr double kMostShare = 1e6;  // processors, GiB

std::string Trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <class Number>
std::optional<Number> Read(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

absl::Status Wrong(const std::string& what, const std::string& expected) {
  return absl::InvalidArgumentError(fmt::format(
      "{}; expected {}, as in \"8 x slots=4,cpus=16,memory_gib=64,gpus=2,label=zone=a\"", what, expected));
}

// Returns "" or the error.
absl::Status Put(const std::string& setting, WorkerRoom* room) {
  const size_t equals = setting.find('=');
  const std::string name = setting.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
  const std::string said = fmt::format("\"{}\"", setting);
  if (name == "slots") {
    const auto slots = Read<int64_t>(value);
    if (!slots || *slots < 1 || *slots > kMostSlots)
      return Wrong(said, fmt::format("slots from 1 to {}", kMostSlots));
    room->free_slots = static_cast<int32_t>(*slots);
  } else if (name == "cpus" || name == "memory_gib") {
    const auto share = Read<double>(value);
    if (!share || !(*share > 0 && *share <= kMostShare))
      return Wrong(said, fmt::format("a number above 0 and at most {}", kMostShare));
    (name == "cpus" ? room->free_cpus : room->free_memory_gib) = *share;
  } else if (name == "gpus") {
    const auto gpus = Read<int64_t>(value);
    if (!gpus || *gpus < 0 || *gpus > kMostGpus)
      return Wrong(said, fmt::format("gpus from 0 to {}", kMostGpus));
    room->gpus.clear();
    for (int64_t i = 0; i < *gpus; ++i) room->gpus.push_back({std::to_string(i)});
  } else if (name == "label") {
    const size_t second = value.find('=');
    const std::string label = value.substr(0, second);
    if (label.empty()) return Wrong(said, "label=NAME or label=NAME=VALUE");
    room->labels[label] = second == std::string::npos ? "" : value.substr(second + 1);
  } else {
    return Wrong(said, "slots, cpus, memory_gib, gpus or label");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<WorkerRoom>> ReadDeclaredWorkers(const std::string& text) {
  int64_t count = 1;
  std::string settings = Trimmed(text);
  if (const size_t times = settings.find(" x "); times != std::string::npos) {
    const std::string number = Trimmed(settings.substr(0, times));
    const auto read = Read<int64_t>(number);
    if (!read || *read < 1 || *read > kMostWorkers)
      return Wrong(fmt::format("\"{}\" workers", number), fmt::format("1 to {}", kMostWorkers));
    count = *read;
    settings = Trimmed(settings.substr(times + 3));
  }
  if (settings.empty()) return Wrong("says nothing of the workers", "their slots");
  WorkerRoom room{"", 1, ""};
  for (size_t from = 0; from <= settings.size();) {
    const size_t comma = std::min(settings.find(',', from), settings.size());
    if (absl::Status status = Put(Trimmed(settings.substr(from, comma - from)), &room); !status.ok())
      return status;
    from = comma + 1;
  }
  return std::vector<WorkerRoom>(static_cast<size_t>(count), room);
}

}  // namespace winnow
