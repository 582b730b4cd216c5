#include "insight/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

double UnitOf(int64_t trial, uint64_t index) { return RandomUnit(5, trial, Purpose::kSimulation, index); }

// 300 curves that end at a level of their own, with holes and values that are none.
std::vector<MetricCurve> SampleCurves() {
  std::vector<MetricCurve> curves(300);
  for (int64_t trial = 0; trial < 300; ++trial) {
    const auto last = static_cast<int64_t>(1 + UnitOf(trial, 0) * 60);
    for (int64_t level = 1; level <= last; ++level) {
      const double draw = UnitOf(trial, static_cast<uint64_t>(level) + 10);
      if (draw < 0.2) continue;
      curves[trial].push_back(
          {level, draw < 0.25 ? std::numeric_limits<double>::quiet_NaN() : draw + 1.0 / level});
    }
  }
  return curves;
}

// Straight from the definition.
double Direct(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const double below = std::floor(place);
  const double low = values[static_cast<size_t>(below)];
  const double high = values[std::min(values.size() - 1, static_cast<size_t>(below) + 1)];
  return low + (high - low) * (place - below);
}

TEST_CASE("Envelope: is the direct quantiles of every range, whatever the number of ranges", "[insight]") {
  const std::vector<MetricCurve> curves = SampleCurves();
  std::vector<uint8_t> marked(300, 1);
  for (size_t row = 0; row < 300; row += 7) marked[row] = 0;
  for (const size_t most : {1u, 3u, 10u, 200u}) {
    const EnvelopeData envelope = MakeEnvelope(curves, marked, most);
    INFO(most);
    CHECK(envelope.resource.size() == std::min<size_t>(most, 60));
    int64_t begin = 0;
    for (size_t i = 0; i < envelope.resource.size(); ++i) {
      std::vector<double> values;
      for (size_t row = 0; row < 300; ++row) {
        if (marked[row] == 0) continue;
        double last = std::numeric_limits<double>::quiet_NaN();
        for (const CurvePoint& point : curves[row]) {
          if (point.resource > begin && point.resource <= envelope.resource[i] && !std::isnan(point.value))
            last = point.value;
        }
        if (!std::isnan(last)) values.push_back(last);
      }
      REQUIRE(!values.empty());
      CHECK(envelope.count[i] == static_cast<int32_t>(values.size()));
      CHECK(envelope.min[i] == Direct(values, 0));
      CHECK(envelope.lower[i] == Approx(Direct(values, 0.25)).epsilon(1e-12));
      CHECK(envelope.median[i] == Approx(Direct(values, 0.5)).epsilon(1e-12));
      CHECK(envelope.upper[i] == Approx(Direct(values, 0.75)).epsilon(1e-12));
      CHECK(envelope.max[i] == Direct(values, 1));
      begin = envelope.resource[i];
    }
  }
}

TEST_CASE("Envelope: levels beyond any table, infinities, and nothing at all", "[insight]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<MetricCurve> curves = {
      {{int64_t{1} << 40, infinity}}, {{5, 1}, {int64_t{1} << 40, infinity}}, {}};
  const EnvelopeData envelope = MakeEnvelope(curves, {1, 1, 1}, 10);
  CHECK(envelope.resource == std::vector<int64_t>{5, int64_t{1} << 40});
  CHECK(envelope.median[1] == infinity);
  CHECK(MakeEnvelope(curves, {0, 0, 0}, 10).resource.empty());
  CHECK(MakeEnvelope({}, {}, 10).resource.empty());
}

TEST_CASE("Quantile: is that of the sorted values for every size", "[insight]") {
  for (int size = 1; size < 30; ++size) {
    std::vector<double> values;
    for (int i = 0; i < size; ++i) values.push_back(UnitOf(size, static_cast<uint64_t>(i)));
    for (const double part : {0.0, 0.1, 0.25, 0.5, 0.75, 1.0}) {
      std::vector<double> copy = values;
      CHECK(QuantileOf(copy, part) == Approx(Direct(values, part)).epsilon(1e-12));
    }
  }
}

TEST_CASE("ThinCurve: keeps both ends and every peak", "[insight]") {
  MetricCurve curve;
  for (int64_t level = 1; level <= 1000; ++level) {
    curve.push_back({level, level == 333   ? 50.0
                            : level == 777 ? -50.0
                                           : std::sin(0.1 * static_cast<double>(level))});
  }
  for (const size_t most : {4u, 5u, 20u, 200u}) {
    const MetricCurve thin = ThinCurve(curve, most);
    INFO(most);
    CHECK(thin.size() <= most);
    CHECK(thin.front().resource == 1);
    CHECK(thin.back().resource == 1000);
    CHECK(std::is_sorted(thin.begin(), thin.end(),
                         [](const CurvePoint& a, const CurvePoint& b) { return a.resource < b.resource; }));
    CHECK(std::count_if(thin.begin(), thin.end(),
                        [](const CurvePoint& p) { return std::abs(p.value) == 50; }) == 2);
  }
  CHECK(ThinCurve(curve, 1000).size() == 1000);
}

}  // namespace
}  // namespace winnow
