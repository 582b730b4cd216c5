#include "scheduler/space/space.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr double kLargest = std::numeric_limits<double>::max();

Value At(const Range& range, double u) { return SearchSpace({{"x", range}}).FromUnit({u})[0]; }

TEST_CASE("Space: 100,000 draws of every kind of range are inside", "[scheduler]") {
  const std::vector<Parameter> parameters = {
      {"i", IntegerRange{-3, 7, Scaling::kLinear}},
      {"il", IntegerRange{1, 1000, Scaling::kLog}},
      {"ix", IntegerRange{kLeast, kMost, Scaling::kLinear}},
      {"ixl", IntegerRange{1, kMost, Scaling::kLog}},
      {"ir", IntegerRange{-20, 1000, Scaling::kReverseLog}},
      {"ixr", IntegerRange{kLeast, kMost, Scaling::kReverseLog}},
      {"ib", IntegerRange{kMost - 10, kMost, Scaling::kLog}},
      {"d", DiscreteRange{{-1, 0.5, 1e9}}},
      {"c", ContinuousRange{-0.1, 0.3, Scaling::kLinear}},
      {"cl", ContinuousRange{1e-300, 1e300, Scaling::kLog}},
      {"cr", ContinuousRange{0, 0.999999, Scaling::kReverseLog}},
      {"cx", ContinuousRange{-kLargest, kLargest, Scaling::kLinear}},
      {"one", ContinuousRange{0.1, 0.1, Scaling::kLog}},
      {"text", CategoricalRange{{"a", "b", "c"}}},
  };
  const SearchSpace space(parameters);
  for (TrialNumber trial = 1; trial <= 100'000; ++trial) {
    std::vector<double> unit;
    for (size_t i = 0; i < parameters.size(); ++i) {
      unit.push_back(RandomUnit(1, trial, Purpose::kConfiguration, i));
    }
    const Configuration configuration = space.FromUnit(unit);
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!Contains(parameters[i].range, configuration[i])) FAIL(parameters[i].name << " at " << unit[i]);
    }
  }
}

TEST_CASE("Space: both ends belong to a range and are reached", "[scheduler]") {
  for (const Scaling scaling : {Scaling::kLinear, Scaling::kLog}) {
    CHECK(At(IntegerRange{3, 9, scaling}, 0) == Value(int64_t{3}));
    CHECK(At(IntegerRange{3, 9, scaling}, 1) == Value(int64_t{9}));
    CHECK(At(IntegerRange{3, 9, scaling}, std::nextafter(1, 0)) == Value(int64_t{9}));
    CHECK(At(ContinuousRange{0.1, 0.7, scaling}, 0) == Value(0.1));
    CHECK(At(ContinuousRange{0.1, 0.7, scaling}, 1) == Value(0.7));
  }
  CHECK(At(ContinuousRange{0, 0.9, Scaling::kReverseLog}, 0) == Value(0.0));
  CHECK(At(ContinuousRange{0, 0.9, Scaling::kReverseLog}, 1) == Value(0.9));
  CHECK(At(IntegerRange{kLeast, kMost, Scaling::kLinear}, 0) == Value(kLeast));
  CHECK(At(IntegerRange{kLeast, kMost, Scaling::kLinear}, 1) == Value(kMost));
  CHECK(At(IntegerRange{kMost, kMost, Scaling::kLog}, 0.5) == Value(kMost));
  CHECK(At(IntegerRange{0, 9, Scaling::kLinear}, std::nan("")) == Value(int64_t{0}));
  CHECK(At(IntegerRange{0, 9, Scaling::kLinear}, 7.5) == Value(int64_t{9}));
}

TEST_CASE("Space: integers have cells of equal width", "[scheduler]") {
  int counts[5] = {};
  for (int i = 0; i < 1000; ++i) {
    ++counts[std::get<int64_t>(At(IntegerRange{0, 4, Scaling::kLinear}, (i + 0.5) / 1000))];
  }
  for (int count : counts) CHECK(count == 200);
}

TEST_CASE("Space: log scaling is uniform in the logarithm", "[scheduler]") {
  int decades[4] = {};
  for (TrialNumber trial = 1; trial <= 100'000; ++trial) {
    const double u = RandomUnit(3, trial, Purpose::kConfiguration, 0);
    const double value = std::get<double>(At(ContinuousRange{1e-4, 1, Scaling::kLog}, u));
    ++decades[std::min(3, static_cast<int>(std::floor(std::log10(value) + 4)))];
  }
  for (int count : decades) CHECK(std::abs(count - 25'000) < 600);
}

TEST_CASE("Space: reverse-log scaling is dense near the maximum", "[scheduler]") {
  const ContinuousRange range{0, 0.999, Scaling::kReverseLog};
  CHECK(std::get<double>(At(range, 1.0 / 3)) == Approx(0.9));
  CHECK(std::get<double>(At(range, 2.0 / 3)) == Approx(0.99));
}

TEST_CASE("Space: reverse-log scaling of integers is the mirror image of log scaling", "[scheduler]") {
  const IntegerRange log{1, 101, Scaling::kLog}, reverse{900, 1000, Scaling::kReverseLog};
  for (int i = 0; i <= 1000; ++i) {
    const double u = i / 1000.0;
    const int64_t from_max = 1000 - std::get<int64_t>(At(reverse, 1 - u));
    REQUIRE(from_max == std::get<int64_t>(At(log, u)) - 1);
  }
  CHECK(At(reverse, 0) == Value(int64_t{900}));
  CHECK(At(reverse, 1) == Value(int64_t{1000}));
}

TEST_CASE("Space: the way back gives the same value", "[scheduler]") {
  const SearchSpace space({{"i", IntegerRange{-50, 50, Scaling::kLinear}},
                           {"il", IntegerRange{1, 1'000'000, Scaling::kLog}},
                           {"c", ContinuousRange{-5, 5, Scaling::kLinear}},
                           {"cr", ContinuousRange{0.5, 0.999, Scaling::kReverseLog}},
                           {"t", CategoricalRange{{"a", "b", "c", "d", "e", "f", "g"}}},
                           {"ir", IntegerRange{-7, 90'000, Scaling::kReverseLog}},
                           {"d", DiscreteRange{{0.1, 0.2, 7}}}});
  for (TrialNumber trial = 1; trial <= 2000; ++trial) {
    std::vector<double> unit;
    for (uint64_t i = 0; i < 7; ++i) unit.push_back(RandomUnit(5, trial, Purpose::kConfiguration, i));
    const Configuration there = space.FromUnit(unit);
    const Configuration back = space.FromUnit(space.ToUnit(there));
    CHECK(back[0] == there[0]);
    CHECK(back[1] == there[1]);
    CHECK(std::get<double>(back[2]) == Approx(std::get<double>(there[2])));
    CHECK(std::get<double>(back[3]) == Approx(std::get<double>(there[3])));
    CHECK(back[4] == there[4]);
    CHECK(back[5] == there[5]);
    CHECK(back[6] == there[6]);
  }
  CHECK(SearchSpace({{"x", ContinuousRange{-kLargest, kLargest, Scaling::kLinear}}}).ToUnit({0.0})[0] == 0.5);
}

TEST_CASE("Space: values are written with as few digits as read back the same", "[scheduler]") {
  CHECK(ValueToString(int64_t{-7}) == "-7");
  CHECK(ValueToString(0.1) == "0.1");
  CHECK(ValueToString(1e-5) == "1e-05");
  CHECK(ValueToString(std::string("gbtree")) == "gbtree");
  for (TrialNumber trial = 1; trial <= 1000; ++trial) {
    const double value = RandomUnit(9, trial, Purpose::kConfiguration, 0);
    CHECK(std::strtod(DoubleToString(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("Random: pinned, since recorded jobs depend on it", "[scheduler]") {
  CHECK(RandomBits(0, 1, Purpose::kConfiguration, 0) != RandomBits(0, 1, Purpose::kTrialSeed, 0));
  CHECK(RandomBits(1, 0, Purpose::kConfiguration, 0) != RandomBits(0, 1, Purpose::kConfiguration, 0));
  CHECK(RandomBits(1729, 1, Purpose::kConfiguration, 0) == 0x4e445a19440dcdabU);
  CHECK(RandomBits(1729, 30, Purpose::kConfiguration, 6) == 0x6891311f83fef4ddU);
  CHECK(TrialSeed(1729, 1) == 0x440a72f4ed61eabaU);
  CHECK(TrialSeed(1729, 1) >> 63 == 0);
}

TEST_CASE("Random: neighbouring draws differ in half of their bits", "[scheduler]") {
  int64_t bits = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    const uint64_t a = RandomBits(i % 7, static_cast<TrialNumber>(i), Purpose::kConfiguration, i % 11);
    const uint64_t b = RandomBits(i % 7, static_cast<TrialNumber>(i + 1), Purpose::kConfiguration, i % 11);
    bits += __builtin_popcountll(a ^ b);
  }
  CHECK(static_cast<double>(bits) / 10'000 == Approx(32).margin(0.2));
}

}  // namespace
}  // namespace winnow
