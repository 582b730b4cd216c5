#include "server/reads/create.h"

#include <fmt/format.h>

#include <algorithm>

#include "artifact/manifest.h"
#include "scheduler/plan.h"
#include "scheduler/plan_estimate.h"
#include "server/engine/answers/violations.h"
#include "server/engine/jobs.h"
#include "spec/checks/check_spec.h"
#include "spec/plan_message.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

constexpr size_t kMaxCommit = 128;
constexpr int32_t kMostPlannedSlots = 100'000;
constexpr double kMostUnitSeconds = 1e9;

std::vector<Violation> CheckPacked(const v1::CreateTuningJobRequest& request) {
  const v1::Source& source = request.source();
  if (request.spec().trainer().source().empty()) {
    if (!request.has_source()) return {};
    return {{"source", "is given; expected it with trainer.source only"}};
  }
  if (!request.has_source()) {
    return {{"source", "is missing; expected the files of trainer.source, as winnow submit sends them"}};
  }
  if (const absl::Status status = CheckManifest(source.manifest()); !status.ok())
    return {{"source.manifest", std::string(status.message())}};
  if (source.manifest().files().empty()) return {{"source.manifest", "has no file; expected at least one"}};
  std::vector<Violation> violations;
  const int64_t bytes = BytesOf(source.manifest());
  if (bytes > kMaxSourceBytes) {
    violations.push_back(
        {"source.manifest", fmt::format("has {} bytes; expected at most {}", bytes, kMaxSourceBytes)});
  }
  const std::string digest = ManifestDigest(source.manifest());
  if (source.digest() != digest)
    violations.push_back(
        {"source.digest", fmt::format("is \"{}\"; expected \"{}\", the SHA-256 of the manifest",
                                      source.digest().substr(0, 100), digest)});
  if (source.files() != source.manifest().files_size())
    violations.push_back(
        {"source.files", fmt::format("is {}; expected {}, the number of files of the manifest",
                                     source.files(), source.manifest().files_size())});
  if (source.size() != bytes)
    violations.push_back(
        {"source.size", fmt::format("is {}; expected {}, the bytes of its files", source.size(), bytes)});
  if (source.git_commit().size() > kMaxCommit)
    violations.push_back({"source.git_commit", fmt::format("has {} characters; expected at most {}",
                                                           source.git_commit().size(), kMaxCommit)});
  return violations;
}

}  // namespace

absl::Status CheckCreate(const v1::CreateTuningJobRequest& request, Training training,
                         const ReadableFolders& files) {
  std::vector<Violation> violations = CheckSpec(request.spec());
  MayTell may_tell;
  if (!files.all()) may_tell = [&files](const std::string& path) { return files.MayTell(path); };
  std::vector<Violation> missing = CheckFiles(request.spec(), training, may_tell);
  violations.insert(violations.end(), missing.begin(), missing.end());
  for (const Violation& violation : CheckPacked(request)) violations.push_back(violation);
  if (request.request_id().size() > kMostRequestId) {
    violations.push_back({"request_id", fmt::format("has {} characters; expected at most {}",
                                                    request.request_id().size(), kMostRequestId)});
  }
  return violations.empty() ? absl::OkStatus() : ViolationsError(violations);
}

absl::StatusOr<v1::TuningPlan> Preview(const v1::PreviewTuningJobRequest& request, const GoOn& go_on) {
  if (absl::Status status = go_on(); !status.ok()) return status;
  std::vector<Violation> violations = CheckSpec(request.spec());
  if (request.slots() < 0 || request.slots() > kMostPlannedSlots) {
    violations.push_back(
        {"slots", fmt::format("is {}; expected 1 to {}, or 0 for 1", request.slots(), kMostPlannedSlots)});
  }
  const double unit = request.unit_seconds();
  if (!(unit >= 0 && unit <= kMostUnitSeconds)) {
    violations.push_back({"unit_seconds", fmt::format("is {}; expected 0 to {}", unit, kMostUnitSeconds)});
  }
  const double startup = request.startup_seconds();
  if (!(startup >= 0 && startup <= kMostUnitSeconds)) {
    violations.push_back(
        {"startup_seconds", fmt::format("is {}; expected 0 to {}", startup, kMostUnitSeconds)});
  }
  if (!violations.empty()) return ViolationsError(violations);
  if (absl::Status status = go_on(); !status.ok()) return status;
  const SearchSpec search = ToSearchSpec(request.spec());
  v1::TuningPlan plan = PlanMessage(MakePlan(search));
  plan.set_strategy_text(StrategyText(search));
  if (unit > 0) {
    if (absl::Status status = go_on(); !status.ok()) return status;
    const PlanEstimate estimate = EstimatePlan(search, std::max(1, request.slots()), unit, startup);
    plan.set_elapsed_seconds(estimate.elapsed_seconds);
    plan.set_busy_fraction(estimate.busy_fraction);
    plan.set_startup_fraction(estimate.startup_fraction);
  }
  return plan;
}

}  // namespace winnow
