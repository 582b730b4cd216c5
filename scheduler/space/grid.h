#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/space/space_lattice.h"
#include "scheduler/space/types.h"

namespace winnow {

// The points of a GRID job. A parameter takes every value it has. A continuous range, and an integer range of
// more than kDefaultGridPoints values, takes spec.sampler.grid_points values (kDefaultGridPoints where that
// says nothing), at equal distances on its scale, both ends included.
constexpr int64_t kDefaultGridPoints = 5;

// Whether the grid takes only some points of the range: it is continuous, or has many integers.
bool HasGridPoints(const Range& range);

// Every combination of the values that conditions and constraints allow; null: more than Lattice::kMost.
std::shared_ptr<const Lattice> GridOf(const SearchSpec& spec);

// The indices on the grid of the initial configurations that are points of it, rising, each once.
std::vector<int64_t> InitialOnGrid(const SearchSpec& spec, const Lattice& grid);

// How many trials a job makes of its initial configurations and the grid.
int64_t GridTrials(const SearchSpec& spec, const Lattice& grid);

}  // namespace winnow
