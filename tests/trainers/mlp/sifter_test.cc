#include "trainers/mlp/parallel/sifter.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "base/hash.h"
#include "tests/catch.h"

namespace winnow::mlp {
namespace {

MlpParameters Sifting(double beta, int64_t history = 100) {
  MlpParameters parameters;
  parameters.sift_beta = beta;
  parameters.sift_delay = 0;
  parameters.loss_history_length = history;
  parameters.seed = 3;
  return parameters;
}

std::vector<int64_t> RowsOf(int64_t begin, int64_t end) {
  std::vector<int64_t> rows(static_cast<std::size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

// Losses of rows, spread over some magnitudes, with `kinds` different ones.
std::vector<float> LossesOf(const std::vector<int64_t>& rows, uint64_t kinds = 1 << 20) {
  std::vector<float> losses;
  for (const int64_t row : rows)
    losses.push_back(
        std::exp(static_cast<float>(HashOf(5, static_cast<uint64_t>(row)) % kinds) / kinds * 8 - 7));
  return losses;
}

std::vector<int64_t> TakeAll(Sifter* sifter) {
  std::vector<int64_t> rows;
  if (sifter->waiting() > 0) sifter->TakeBatch(sifter->waiting(), &rows);
  return rows;
}

TEST_CASE("LossHistory: places are those of a sorted list of the last losses", "[mlp]") {
  const int64_t length = GENERATE(1, 7, 128, 1000);
  const uint64_t kinds = GENERATE(1, 5, 1000000);
  LossHistory history(length);
  std::deque<float> last;
  for (const float loss : LossesOf(RowsOf(0, 3000), kinds)) {
    const LossHistory::Place place = history.Add(loss);
    const auto below = std::count_if(last.begin(), last.end(), [&](float other) { return other < loss; });
    REQUIRE(place.below == below);
    REQUIRE(place.equal == std::count(last.begin(), last.end(), loss));
    REQUIRE(place.count == static_cast<int64_t>(last.size()));
    last.push_back(loss);
    if (static_cast<int64_t>(last.size()) > length) last.pop_front();
  }
  CHECK(history.Losses() == std::vector<float>(last.begin(), last.end()));
}

TEST_CASE("LossHistory: losses that fall all the time keep their places", "[mlp]") {
  LossHistory history(1000);
  for (int i = 0; i < 20000; ++i) REQUIRE(history.Add(1.0f / static_cast<float>(i + 1)).below == 0);
}

TEST_CASE("Sifter: keeps 1 / (1 + beta) of the rows, be their losses all different or few", "[mlp]") {
  const double beta = GENERATE(0.5, 1.0, 3.0);
  const uint64_t kinds = GENERATE(10, 1 << 20);
  Sifter sifter(Sifting(beta, 1024), 40000);
  const std::vector<int64_t> rows = RowsOf(0, 40000);
  sifter.Offer(rows, LossesOf(rows, kinds));
  // Five deviations of so many draws; and equal losses have the middle one's probability.
  const double few = kinds == 10 ? 0.02 : 0;
  CHECK(static_cast<double>(sifter.waiting()) / 40000 == Approx(1 / (1 + beta)).margin(0.0125 + few));
}

TEST_CASE("Sifter: a row's chance is its percentile to the power of beta", "[mlp]") {
  Sifter sifter(Sifting(2, 1000), 100000);
  const std::vector<int64_t> rows = RowsOf(0, 100000);
  const std::vector<float> losses = LossesOf(rows);
  sifter.Offer(rows, losses);
  std::vector<float> sorted = losses;
  std::sort(sorted.begin(), sorted.end());
  int kept[4] = {};
  for (const int64_t row : TakeAll(&sifter))
    ++kept[4 * (std::lower_bound(sorted.begin(), sorted.end(), losses[row]) - sorted.begin()) / 100001];
  // The integral of p^2 over each quarter.
  for (int quarter = 0; quarter < 4; ++quarter) {
    const double low = quarter / 4.0, high = low + 0.25;
    CHECK(kept[quarter] / 25000.0 == Approx((std::pow(high, 3) - std::pow(low, 3)) / 3 * 4).margin(0.02));
  }
}

TEST_CASE("Sifter: choices do not depend on how rows are cut, and differ from epoch to epoch", "[mlp]") {
  const std::vector<int64_t> rows = RowsOf(0, 500);
  const std::vector<float> losses = LossesOf(rows);
  Sifter whole(Sifting(1), 500), parts(Sifting(1), 500);
  whole.Offer(rows, losses);
  for (std::size_t i = 0; i < 500; i += 50)
    parts.Offer(std::span(rows).subspan(i, 50), std::span(losses).subspan(i, 50));
  const std::vector<int64_t> first = TakeAll(&whole);
  CHECK(first == TakeAll(&parts));
  whole.BeginEpoch(1);
  whole.Offer(rows, losses);
  CHECK(first != TakeAll(&whole));
}

TEST_CASE("Sifter: batches are full, in order, and rows left over wait for the next epoch", "[mlp]") {
  Sifter sifter(Sifting(0.0001), 100);  // keeps next to everything
  std::vector<int64_t> batch;
  sifter.Offer(RowsOf(0, 50), LossesOf(RowsOf(0, 50)));
  const int64_t kept = sifter.waiting();
  REQUIRE(sifter.TakeBatch(32, &batch));
  CHECK(std::is_sorted(batch.begin(), batch.end()));
  const int64_t last = batch.back();
  CHECK_FALSE(sifter.TakeBatch(32, &batch));
  CHECK(sifter.waiting() == kept - 32);
  sifter.BeginEpoch(1);
  sifter.Offer(RowsOf(50, 100), LossesOf(RowsOf(50, 100)));
  REQUIRE(sifter.TakeBatch(32, &batch));
  CHECK(batch.front() > last);
  CHECK(batch.front() < 50);
  CHECK(batch.back() >= 50);
}

TEST_CASE("Sifter: nothing is sifted before the delay is over, in parts of an epoch", "[mlp]") {
  MlpParameters parameters = Sifting(1);
  parameters.sift_delay = 1.5;
  Sifter sifter(parameters, 100);
  CHECK_FALSE(sifter.active());
  sifter.BeginEpoch(1);
  sifter.Observe(RowsOf(0, 49), LossesOf(RowsOf(0, 49)));
  CHECK_FALSE(sifter.active());
  sifter.Observe(RowsOf(49, 50), LossesOf(RowsOf(49, 50)));
  CHECK(sifter.active());
  CHECK(sifter.waiting() == 0);
}

TEST_CASE("Sifter: a loss that is not finite is kept, so that training meets it", "[mlp]") {
  Sifter sifter(Sifting(50), 4);
  const float losses[] = {1, std::numeric_limits<float>::quiet_NaN(), 0.5f,
                          std::numeric_limits<float>::infinity()};
  sifter.Offer(RowsOf(0, 4), losses);
  const std::vector<int64_t> kept = TakeAll(&sifter);
  CHECK(std::count(kept.begin(), kept.end(), 1) == 1);
  CHECK(std::count(kept.begin(), kept.end(), 3) == 1);
}

TEST_CASE("Sifter: a loss is known for the epochs of its reuse, and reusing makes it no younger", "[mlp]") {
  MlpParameters parameters = Sifting(1);
  parameters.sift_reuse_epochs = 2;
  Sifter sifter(parameters, 2);
  CHECK_FALSE(sifter.Known(0));
  const int64_t row = 0;
  const float loss = 0.25f;
  sifter.Offer({&row, 1}, {&loss, 1});
  for (const int64_t epoch : {1, 2}) {
    sifter.BeginEpoch(epoch);
    CHECK(sifter.Known(0) == 0.25f);
    sifter.Offer({&row, 1}, {&loss, 1});
  }
  sifter.BeginEpoch(3);
  CHECK_FALSE(sifter.Known(0));
  const float newer = 0.125f;
  sifter.Remember({&row, 1}, {&newer, 1});
  sifter.BeginEpoch(5);
  CHECK(sifter.Known(0) == 0.125f);
  CHECK_FALSE(sifter.Known(1));
}

TEST_CASE("Sifter: without reuse no loss is known", "[mlp]") {
  Sifter sifter(Sifting(1), 10);
  sifter.Offer(RowsOf(0, 10), LossesOf(RowsOf(0, 10)));
  CHECK_FALSE(sifter.Known(3));
}

TEST_CASE("Sifter: goes on from its text as if it had not stopped", "[mlp]") {
  MlpParameters parameters = Sifting(0.7, 150);
  parameters.sift_reuse_epochs = GENERATE(0, 1);
  Sifter going(parameters, 400), resumed(parameters, 400);
  const std::vector<int64_t> rows = RowsOf(0, 400);
  std::vector<int64_t> batch;
  for (int64_t epoch = 0; epoch < 6; ++epoch) {
    if (epoch == 3) REQUIRE(resumed.Restore(going.Serialise()).ok());
    for (Sifter* sifter : {&going, &resumed}) {
      if (sifter == &resumed && epoch < 3) continue;
      sifter->BeginEpoch(epoch);
      sifter->Offer(rows, LossesOf(rows));
      while (sifter->TakeBatch(64, &batch)) sifter->Remember(batch, LossesOf(batch));
    }
  }
  CHECK(going.Serialise() == resumed.Serialise());
  CHECK(going.waiting() > 0);
  CHECK(TakeAll(&going) == TakeAll(&resumed));
}

TEST_CASE("Sifter: a state of other settings or damaged is refused", "[mlp]") {
  const Sifter sifter(Sifting(1), 10);
  Sifter other(Sifting(2), 10), same(Sifting(1), 10);
  const std::string text = sifter.Serialise();
  CHECK(other.Restore(text).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(same.Restore(text).ok());
  CHECK(same.Restore("").code() == absl::StatusCode::kDataLoss);
  CHECK(same.Restore(text + "A").code() == absl::StatusCode::kDataLoss);
  CHECK(same.Restore(text.substr(0, text.rfind(' '))).code() == absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace winnow::mlp
