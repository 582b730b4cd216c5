#include "server/host/pools/slurm_calls.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

namespace winnow {
namespace {

bool SaysAny(const std::string& text, std::initializer_list<std::string_view> any) {
  return std::any_of(any.begin(), any.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

}  // namespace

absl::Status SlurmError(const std::string& words, const std::string& all) {
  if (SaysAny(all, {"SubmitJob", "MaxSubmit", "AssocGrpSubmit", "QOSGrpSubmit", "jobs per hour limit",
                    "temporarily unable to accept job", "job queue full", "Resource temporarily unavailable",
                    "maximum job count", "MaxJobCount", "Rate limit", "Required node not available",
                    "Requested nodes are busy"})) {
    return absl::ResourceExhaustedError(words);
  }
  if (SaysAny(all, {"Unable to contact", "Socket timed out", "Connection refused", "Connection timed out",
                    "Zero Bytes", "Unexpected message received", "Transport endpoint",
                    "Communication connection failure", "backup controller", "not responding",
                    "Protocol authentication error", "munged", "Message receive failure",
                    "Slurm controller not responding", "Send/recv operation"})) {
    return absl::UnavailableError(words);
  }
  return absl::InvalidArgumentError(words);
}

int64_t SlurmMinutes(std::chrono::seconds time) { return (time.count() + 59) / 60; }

int64_t SlurmMegabytes(double gib) { return static_cast<int64_t>(std::ceil(gib * 1024)); }

int64_t SlurmProcessors(double cpus) { return static_cast<int64_t>(std::ceil(cpus)); }

}  // namespace winnow
