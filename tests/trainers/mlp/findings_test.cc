#include "trainers/mlp/profile/findings.h"

#include <limits>
#include <string>

#include "tests/catch.h"

namespace winnow::mlp {
namespace {

using FindingKind = Finding::Kind;

constexpr int kProfiled = 100;

RankProfile RankWith(int rank, double load, double compute, double communicate) {
  RankProfile profile;
  profile.rank = rank;
  profile.seconds[static_cast<int>(Phase::kLoad)] = load;
  profile.seconds[static_cast<int>(Phase::kForward)] = compute * 0.3;
  profile.seconds[static_cast<int>(Phase::kBackward)] = compute * 0.7;
  profile.seconds[static_cast<int>(Phase::kCommunicate)] = communicate;
  profile.seconds[static_cast<int>(Phase::kEvaluate)] = 50;  // no part of steps
  for (int step = 0; step < kProfiled; ++step) profile.spans.push_back({Phase::kForward, 0, step, 0, 1});
  return profile;
}

TrainingNumbers Healthy() {
  TrainingNumbers numbers;
  for (int r = 0; r < 4; ++r) numbers.ranks.push_back(RankWith(r, 0.5, 10 + 0.1 * r, 2));
  for (int64_t step = 0; step < kProfiled; ++step)
    numbers.ranks[0].values.push_back({"gradient_norm", step, 5.0 / static_cast<double>(step + 1)});
  numbers.ranks[0].values.push_back({"dead_units", kProfiled - 1, 0.1});
  numbers.losses = {0.9, 0.5, 0.3, 0.29, 0.295};
  return numbers;
}

// The text of the only finding, which is of that kind.
std::string OnlyFinding(const TrainingNumbers& numbers, FindingKind kind) {
  const std::vector<Finding> findings = Findings(numbers);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == kind);
  return findings[0].text;
}

bool Says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("Findings: a healthy run has none, and neither has one without numbers", "[mlp]") {
  CHECK(Findings(Healthy()).empty());
  CHECK(Findings({}).empty());
}

TEST_CASE("Findings: data-bound", "[mlp]") {
  TrainingNumbers numbers = Healthy();
  for (RankProfile& rank : numbers.ranks) rank.seconds[static_cast<int>(Phase::kLoad)] = 8;
  CHECK(Says(OnlyFinding(numbers, FindingKind::kDataBound),
             "data-bound: rank 0 spends 40 % of its steps loading"));
}

TEST_CASE("Findings: communication-bound where every rank is, not where some wait", "[mlp]") {
  TrainingNumbers numbers = Healthy();
  for (RankProfile& rank : numbers.ranks) rank.seconds[static_cast<int>(Phase::kCommunicate)] = 12;
  CHECK(Says(OnlyFinding(numbers, FindingKind::kCommunicationBound), "every rank spends 53 % or more"));
  numbers.ranks[1].seconds[static_cast<int>(Phase::kCommunicate)] = 1;
  CHECK(Findings(numbers).empty());
}

TEST_CASE("Findings: straggler, however long the others wait for it", "[mlp]") {
  TrainingNumbers numbers = Healthy();
  numbers.ranks[2] = RankWith(2, 0.5, 20.5, 0.1);
  for (const int r : {0, 1, 3}) numbers.ranks[r].seconds[static_cast<int>(Phase::kCommunicate)] = 12;
  const std::string text = OnlyFinding(numbers, FindingKind::kStraggler);
  CHECK(Says(text,
             "straggler rank 2: its steps take 2.0 times the others' median (210.000 ms against 106.000 ms"));
  CHECK(Says(text, "most of it in backward"));
}

TEST_CASE("Findings: a rank that took fewer steps of the same length is no straggler", "[mlp]") {
  TrainingNumbers numbers = Healthy();
  for (const int r : {0, 1, 2}) {
    numbers.ranks[r].seconds = RankWith(r, 0.25, 5, 1).seconds;
    numbers.ranks[r].spans.resize(kProfiled / 2);
  }
  CHECK(Findings(numbers).empty());
}

TEST_CASE("Findings: dead units in the last epoch, not in an earlier one", "[mlp]") {
  TrainingNumbers numbers = Healthy();
  numbers.ranks[0].values.push_back({"dead_units", 2 * kProfiled, 0.62});
  CHECK(Says(OnlyFinding(numbers, FindingKind::kDeadUnits), "dead units: 62 % of the hidden units"));
  numbers.ranks[0].values.push_back({"dead_units", 3 * kProfiled, 0.1});
  CHECK(Findings(numbers).empty());
}

TEST_CASE("Findings: loss not falling, after three epochs", "[mlp]") {
  TrainingNumbers numbers = Healthy();
  numbers.losses = {2.303, 2.31};
  CHECK(Findings(numbers).empty());
  numbers.losses = {2.303, 2.31, 2.302};
  CHECK(
      Says(OnlyFinding(numbers, FindingKind::kLossNotFalling), "2.303 after the first epoch, 2.302 after 3"));
}

TEST_CASE("Findings: gradients exploding", "[mlp]") {
  TrainingNumbers numbers = Healthy();
  numbers.ranks[0].values.clear();
  for (int64_t step = 0; step < 40; ++step)
    numbers.ranks[0].values.push_back({"gradient_norm", step, step < 35 ? 2.0 : 500.0});
  CHECK(Says(OnlyFinding(numbers, FindingKind::kGradientsExploding),
             "reached 500 in the last quarter of the steps, 250 times"));
  numbers.ranks[0].values[3].value = std::numeric_limits<double>::infinity();
  CHECK(Says(OnlyFinding(numbers, FindingKind::kGradientsExploding), "their norm is inf at the 4. step"));
}

TEST_CASE("Findings: several come in order", "[mlp]") {
  TrainingNumbers numbers = Healthy();
  numbers.losses = {1, 1, 1};
  for (RankProfile& rank : numbers.ranks) rank.seconds[static_cast<int>(Phase::kLoad)] = 8;
  const std::vector<Finding> findings = Findings(numbers);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].kind == FindingKind::kDataBound);
  CHECK(findings[1].kind == FindingKind::kLossNotFalling);
}

}  // namespace
}  // namespace winnow::mlp
