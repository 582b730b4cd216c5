#include "scheduler/models/end_model.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/scheduler/models/mixed_points.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

const std::vector<int64_t> kLevels = {1, 3, 9, 27, 81};
enum class Form { kPower, kExponential };

// Trials over two parameters of which the first says where a curve ends, and nothing says how fast.
struct Trials {
  Form form;
  uint64_t seed;
  Index count = 30;
  MatrixXd features = UnitRows(count, 2, seed) / 0.5;

  double At(Index trial, int64_t level) const {
    const double end = 2 * std::sin(3 * Uniform(seed, trial, 0)) - 1;
    const double u = Uniform(seed, trial, 11), x = static_cast<double>(level);
    return form == Form::kPower ? end - 2 * std::pow(x, -0.2 - u) : end - 2 * std::exp(-x / (3 + 12 * u));
  }
  RungValues Read(Index trial, size_t rungs) const {
    SeenCurve curve{{}, rungs};
    for (int64_t level = 1; level <= kLevels[rungs - 1]; ++level)
      curve.points.emplace_back(level, At(trial, level));
    return ReadRungs(kLevels, curve);
  }
  // A third to the end, the others on the way.
  std::vector<RungValues> Half() const {
    std::vector<RungValues> values;
    for (Index i = 0; i < count; ++i)
      values.push_back(Read(i, i % 3 == 0 ? 5 : static_cast<size_t>(1 + i % 4)));
    return values;
  }
  double End(Index trial) const { return At(trial, kLevels.back()); }
};

Ends Predict(const Trials& trials, const std::vector<RungValues>& values) {
  std::vector<GainFit> gains(kLevels.size() - 1);
  Ends ends;
  PredictEnds(values, trials.features, kLevels.size(), gains, ends);
  return ends;
}

TEST_CASE("End model: ends of curves of any speed lie where it says, far nearer than their last values",
          "[scheduler]") {
  for (const Form form : {Form::kPower, Form::kExponential}) {
    double inside = 0, count = 0, squares = 0, last_squares = 0;
    for (uint64_t seed = 1; seed <= 25; ++seed) {
      const Trials trials{form, seed};
      const std::vector<RungValues> values = trials.Half();
      const Ends ends = Predict(trials, values);
      for (Index i = 0; i < trials.count; ++i) {
        const RungValues& seen = values[static_cast<size_t>(i)];
        if (seen.at.size() == kLevels.size()) continue;
        const double error = ends.means[i] - trials.End(i);
        inside += std::abs(error) <= 1.645 * std::sqrt(ends.variances[i]) ? 1 : 0;
        squares += error * error;
        last_squares += std::pow(seen.at.back() - trials.End(i), 2);
        ++count;
      }
    }
    CAPTURE(static_cast<int>(form), inside / count, std::sqrt(squares / last_squares));
    CHECK(inside / count > 0.75);
    CHECK(std::sqrt(squares / last_squares) < 0.4);
  }
}

TEST_CASE("End model: a trial that was trained to the end is its own end, exactly", "[scheduler]") {
  const Trials trials{Form::kPower, 3};
  const Ends ends = Predict(trials, trials.Half());
  for (Index i = 0; i < trials.count; i += 3) {
    CHECK(ends.means[i] == trials.End(i));
    CHECK(ends.variances[i] == 0);
  }
}

TEST_CASE("End model: where no trial has made a step a trial is expected to stay, with little confidence",
          "[scheduler]") {
  const Trials trials{Form::kPower, 4};
  std::vector<RungValues> values;
  for (Index i = 0; i < trials.count; ++i) values.push_back(trials.Read(i, 1));
  std::vector<GainFit> gains(4);
  Ends ends;
  CHECK_FALSE(PredictEnds(values, trials.features, kLevels.size(), gains, ends));
  for (Index i = 0; i < trials.count; ++i) {
    CHECK(ends.means[i] == Approx(trials.At(i, 1)));
    CHECK(ends.variances[i] > 0.1);
  }
  CHECK(gains == std::vector<GainFit>(4));
}

TEST_CASE("End model: the further a trial was trained the surer is its end", "[scheduler]") {
  const Trials trials{Form::kPower, 5};
  double before = 1e9;
  for (size_t rungs = 1; rungs <= 5; ++rungs) {
    std::vector<RungValues> values;
    for (Index i = 0; i < trials.count; ++i) values.push_back(trials.Read(i, i == 0 ? rungs : 5));
    const double variance = Predict(trials, values).variances[0];
    CHECK(variance < before);
    before = variance;
  }
  CHECK(before == 0);
}

TEST_CASE("End model: a gain is expected of trials with the values of those that gained, not of others",
          "[scheduler]") {
  constexpr Index kCount = 40, kChosen = 12, kUnmoved = 3;
  std::vector<RungValues> values;
  for (Index i = 0; i < kCount; ++i) {
    const bool chosen = i < kChosen;
    const double first = chosen ? 0.8 + 0.4 * Uniform(8, i, 0) : 0.02 * Uniform(8, i, 0);
    const double gain = chosen ? 1 + 0.1 * Normal(8, i, 0) : 0;
    values.push_back({{first}, {first}});
    if (i >= kChosen + kUnmoved) continue;
    values.back().at.push_back(first + gain);
    values.back().before.push_back(first + gain / 2);
  }
  std::vector<GainFit> gains(1);
  Ends ends;
  PredictEnds(values, UnitRows(kCount, 4, 8), 2, gains, ends);
  for (Index i = kChosen + kUnmoved; i < kCount; ++i) {
    CHECK(std::abs(ends.means[i]) < 0.2);
    CHECK(std::abs(ends.means[i]) < 1.645 * std::sqrt(ends.variances[i]));
  }
}

TEST_CASE("End model: is fitted anew where a tenth more trials have made a step, and gives the same bits",
          "[scheduler]") {
  const Trials trials{Form::kPower, 7, 45};
  const auto with = [&](Index far) {  // so many to the end, the others to the rung before
    std::vector<RungValues> values;
    for (Index i = 0; i < trials.count; ++i) values.push_back(trials.Read(i, i < far ? 5 : 4));
    return values;
  };
  std::vector<GainFit> gains(4);
  Ends first, again;
  CHECK(PredictEnds(with(20), trials.features, 5, gains, first));
  CHECK(gains[3].pairs == 20);
  CHECK_FALSE(PredictEnds(with(20), trials.features, 5, gains, again));
  CHECK(first.means == again.means);
  CHECK(first.variances == again.variances);
  CHECK_FALSE(PredictEnds(with(22), trials.features, 5, gains, again));
  CHECK(PredictEnds(with(23), trials.features, 5, gains, again));
  CHECK(gains[3].pairs == 23);
}

}  // namespace
}  // namespace winnow
