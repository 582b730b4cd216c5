#include "trainers/mlp/profile/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "trainers/common/whole_file.h"

namespace winnow::mlp {
namespace {

// Thresholds for findings. A healthy run is far from each.
constexpr double kLoadShare = 0.25;        // of a step's time
constexpr double kCommunicateShare = 0.4;  // of a step's time
constexpr double kSlowerThanOthers = 1.3;  // a rank's own work in a step, relative to the others' median
constexpr double kDeadShare = 0.4;         // of hidden units
constexpr double kFallOfLoss = 0.01;       // relative to the first epoch's loss, by the last
constexpr std::size_t kEpochsToFall = 3;
constexpr double kGradientGrowth = 100;  // largest norm of the last quarter, relative to the first's median
constexpr std::size_t kFewestNorms = 8;

constexpr Phase kOwnWork[] = {Phase::kLoad, Phase::kForward, Phase::kBackward, Phase::kUpdate};

double SecondsOf(const RankProfile& rank, Phase phase) { return rank.seconds[static_cast<int>(phase)]; }

// Steps alone, without evaluation.
double StepSeconds(const RankProfile& rank) {
  double sum = SecondsOf(rank, Phase::kCommunicate);
  for (const Phase phase : kOwnWork) sum += SecondsOf(rank, phase);
  return sum;
}

double ShareOf(const RankProfile& rank, Phase phase) {
  const double all = StepSeconds(rank);
  return all > 0 ? SecondsOf(rank, phase) / all : 0;
}

// REQUIRES: not empty.
double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::vector<double> ValuesOf(const TrainingNumbers& numbers, std::string_view name) {
  std::vector<double> values;
  for (const RankProfile& rank : numbers.ranks) {
    for (const Profile::Value& value : rank.values) {
      if (rank.rank == 0 && value.name == name) values.push_back(value.value);
    }
  }
  return values;
}

std::optional<Finding> DataBound(const TrainingNumbers& numbers) {
  const RankProfile* worst = nullptr;
  for (const RankProfile& rank : numbers.ranks) {
    if (worst == nullptr || ShareOf(rank, Phase::kLoad) > ShareOf(*worst, Phase::kLoad)) worst = &rank;
  }
  if (worst == nullptr || ShareOf(*worst, Phase::kLoad) < kLoadShare) return std::nullopt;
  return Finding{
      Finding::Kind::kDataBound,
      fmt::format("data-bound: rank {} spends {:.0f} % of its steps loading rows (worth a word from "
                  "{:.0f} %). Keep the data on a local disk and in memory, or use a larger "
                  "batch_size.",
                  worst->rank, 100 * ShareOf(*worst, Phase::kLoad), 100 * kLoadShare)};
}

// Uses the rank that waits least: others may be waiting for it, which is not the network's fault.
std::optional<Finding> CommunicationBound(const TrainingNumbers& numbers) {
  if (numbers.ranks.size() < 2) return std::nullopt;
  double least = 1;
  for (const RankProfile& rank : numbers.ranks) least = std::min(least, ShareOf(rank, Phase::kCommunicate));
  if (least < kCommunicateShare) return std::nullopt;
  return Finding{
      Finding::Kind::kCommunicationBound,
      fmt::format("communication-bound: every rank spends {:.0f} % or more of its steps on exchanging "
                  "with the others (worth a word from {:.0f} %). Use fewer nodes, a larger batch_size, "
                  "compression, or distribution LOCAL_SGD.",
                  100 * least, 100 * kCommunicateShare)};
}

// Seconds of a rank's own work, without waiting for others.
double OwnWork(const RankProfile& rank) {
  double sum = 0;
  for (const Phase phase : kOwnWork) sum += SecondsOf(rank, phase);
  return sum;
}

// Steps with a forward pass on the rank, so that ranks with different numbers of steps are comparable.
double Steps(const RankProfile& rank) {
  std::vector<int64_t> steps;
  for (const Profile::Span& span : rank.spans) {
    if (span.thread == 0 && span.phase == Phase::kForward) steps.push_back(span.step);
  }
  std::sort(steps.begin(), steps.end());
  return static_cast<double>(std::unique(steps.begin(), steps.end()) - steps.begin());
}

Phase LargestExcess(const RankProfile& rank, const std::vector<const RankProfile*>& others) {
  Phase most = Phase::kForward;
  double largest = -1;
  for (const Phase phase : kOwnWork) {
    std::vector<double> seconds;
    for (const RankProfile* other : others) seconds.push_back(SecondsOf(*other, phase));
    const double excess = SecondsOf(rank, phase) - Median(seconds);
    if (excess > largest) {
      largest = excess;
      most = phase;
    }
  }
  return most;
}

void AddStragglers(const TrainingNumbers& numbers, std::vector<Finding>* findings) {
  std::vector<const RankProfile*> ranks;  // with steps
  std::vector<double> per_step;
  for (const RankProfile& rank : numbers.ranks) {
    const double steps = Steps(rank);
    if (steps == 0) continue;
    ranks.push_back(&rank);
    per_step.push_back(OwnWork(rank) / steps);
  }
  for (std::size_t r = 0; ranks.size() > 1 && r < ranks.size(); ++r) {
    std::vector<const RankProfile*> others = ranks;
    std::vector<double> of_others = per_step;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(r));
    of_others.erase(of_others.begin() + static_cast<std::ptrdiff_t>(r));
    const double mine = per_step[r], median = Median(of_others);
    if (!(median > 0) || mine < kSlowerThanOthers * median) continue;
    findings->push_back(
        {Finding::Kind::kStraggler,
         fmt::format(
             "straggler rank {}: its steps take {:.1f} times the others' median ({:.3f} ms against {:.3f} "
             "ms; worth a word from {:.1f} times), most of it in {}, and all wait for it. See what else "
             "runs on its host, or leave that host out.",
             ranks[r]->rank, mine / median, mine * 1e3, median * 1e3, kSlowerThanOthers,
             PhaseName(LargestExcess(*ranks[r], others)))});
  }
}

std::optional<Finding> DeadUnitsFinding(const TrainingNumbers& numbers) {
  const std::vector<double> shares = ValuesOf(numbers, "dead_units");
  if (shares.empty() || !(shares.back() >= kDeadShare)) return std::nullopt;
  return Finding{
      Finding::Kind::kDeadUnits,
      fmt::format("dead units: {:.0f} % of the hidden units were never above 0 in the last epoch "
                  "(worth a word from {:.0f} %). Lower learning_rate, or use activation leaky_relu or "
                  "batch_norm.",
                  100 * shares.back(), 100 * kDeadShare)};
}

std::optional<Finding> LossNotFalling(const TrainingNumbers& numbers) {
  const std::vector<double>& losses = numbers.losses;
  if (losses.size() < kEpochsToFall || losses.back() < (1 - kFallOfLoss) * losses.front())
    return std::nullopt;
  return Finding{
      Finding::Kind::kLossNotFalling,
      fmt::format("loss not falling: {:.4g} after the first epoch, {:.4g} after {} (worth a word where it "
                  "falls by less than {:.0f} %). Change learning_rate by a factor of 10 either way, and "
                  "see whether the labels belong to the rows.",
                  losses.front(), losses.back(), losses.size(), 100 * kFallOfLoss)};
}

std::optional<Finding> GradientsExploding(const TrainingNumbers& numbers) {
  const std::vector<double> norms = ValuesOf(numbers, "gradient_norm");
  constexpr std::string_view kCure = "Set clip_norm, lower learning_rate, or use warmup_epochs.";
  const auto broken =
      std::find_if(norms.begin(), norms.end(), [](double norm) { return !std::isfinite(norm); });
  if (broken != norms.end()) {
    return Finding{Finding::Kind::kGradientsExploding,
                   fmt::format("gradients exploding: their norm is {} at the {}. step. {}", *broken,
                               broken - norms.begin() + 1, kCure)};
  }
  if (norms.size() < kFewestNorms) return std::nullopt;
  const auto quarter = static_cast<std::ptrdiff_t>(norms.size() / 4);
  const double before = Median({norms.begin(), norms.begin() + quarter});
  const double largest = *std::max_element(norms.end() - quarter, norms.end());
  if (!(before > 0) || largest < kGradientGrowth * before) return std::nullopt;
  return Finding{
      Finding::Kind::kGradientsExploding,
      fmt::format("gradients exploding: their norm reached {:.3g} in the last quarter of the steps, {:.0f} "
                  "times the first quarter's median {:.3g} (worth a word from {:.0f} times). {}",
                  largest, largest / before, before, kGradientGrowth, kCure)};
}

}  // namespace

std::vector<Finding> Findings(const TrainingNumbers& numbers) {
  std::vector<Finding> findings;
  const auto add = [&](std::optional<Finding> finding) {
    if (finding) findings.push_back(*std::move(finding));
  };
  add(DataBound(numbers));
  add(CommunicationBound(numbers));
  AddStragglers(numbers, &findings);
  add(DeadUnitsFinding(numbers));
  add(LossNotFalling(numbers));
  add(GradientsExploding(numbers));
  return findings;
}

absl::Status ReportProfile(const Profile& profile, const std::vector<double>& losses, Communicator* ranks,
                           const std::string& folder, std::FILE* out) {
  absl::StatusOr<std::vector<RankProfile>> all = GatherProfiles(profile, ranks);
  if (!all.ok()) return all.status();
  if (ranks->rank() != 0) return absl::OkStatus();
  const TrainingNumbers numbers{*std::move(all), losses};
  std::string text = PhaseTable(numbers.ranks);
  for (const Finding& finding : Findings(numbers)) text += finding.text + "\n";
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
  if (folder.empty()) return absl::OkStatus();
  const std::filesystem::path path(folder);
  if (absl::Status status = WriteFileWhole((path / "profile.txt").string(), text); !status.ok())
    return status;
  return WriteFileWhole((path / "trace.json").string(), ChromeTrace(numbers.ranks));
}

}  // namespace winnow::mlp
