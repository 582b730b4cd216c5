#include "scheduler/samplers/sobol.h"

#include <set>

#include "tests/catch.h"

namespace winnow {
namespace {

SearchSpec UnitCube(int dimensions, uint64_t seed) {
  SearchSpec spec;
  for (int i = 0; i < dimensions; ++i) {
    spec.parameters.push_back({"x" + std::to_string(i), ContinuousRange{0, 1, Scaling::kLinear}});
  }
  spec.seed = seed;
  return spec;
}

Configuration Point(const SearchSpec& spec, TrialNumber trial) {
  return SobolConfiguration(spec, SearchSpace(spec.parameters), trial);
}

TEST_CASE("Sobol: every 2^k trials put exactly one value into each of 2^k equal parts of every range",
          "[scheduler]") {
  const SearchSpec spec = UnitCube(7, 3);
  for (int64_t first : {1, 33, 65}) {
    for (size_t dimension = 0; dimension < 7; ++dimension) {
      std::set<int> parts;
      for (int64_t trial = first; trial < first + 32; ++trial) {
        parts.insert(static_cast<int>(std::get<double>(Point(spec, trial)[dimension]) * 32));
      }
      CHECK(parts.size() == 32);
    }
  }
}

TEST_CASE("Sobol: pairs of ranges are filled evenly too", "[scheduler]") {
  const SearchSpec spec = UnitCube(2, 11);
  std::set<std::pair<int, int>> cells;
  for (int64_t trial = 1; trial <= 64; ++trial) {
    const Configuration c = Point(spec, trial);
    cells.emplace(static_cast<int>(std::get<double>(c[0]) * 8), static_cast<int>(std::get<double>(c[1]) * 8));
  }
  CHECK(cells.size() == 64);
}

TEST_CASE("Sobol: a trial's configuration depends on seed and number alone, and seeds differ",
          "[scheduler]") {
  CHECK(Point(UnitCube(3, 1), 17) == Point(UnitCube(3, 1), 17));
  CHECK(Point(UnitCube(3, 1), 17) != Point(UnitCube(3, 2), 17));
  CHECK(Point(UnitCube(3, 1), 1) != Point(UnitCube(3, 2), 1));
}

TEST_CASE("Sobol: more parameters than there are direction numbers are sampled at random", "[scheduler]") {
  const SearchSpec spec = UnitCube(4000, 1);
  CHECK(Point(spec, 1).size() == 4000);
  CHECK(Point(spec, 1) != Point(spec, 2));
}

}  // namespace
}  // namespace winnow
