#pragma once

#include <cstddef>
#include <vector>

namespace winnow {

// Values of several objectives; less is better in each.
using ObjectivePoint = std::vector<double>;

// Whether `a` is at least as good as `b` in every objective, and better in one. REQUIRES equal lengths.
bool Dominates(const ObjectivePoint& a, const ObjectivePoint& b);

// Non-dominated sorting (Deb et al., NSGA-II, 2002): the front of each point. Front 0 holds the points that
// none dominates; front k those that only points of the fronts before it dominate. Equal points share a
// front. O(n^2). REQUIRES finite points of one length.
std::vector<size_t> NonDominatedFronts(const std::vector<ObjectivePoint>& points);

// The indices of front 0, rising. O(n * size of the front), at most O(n^2).
std::vector<size_t> FirstFront(const std::vector<ObjectivePoint>& points);

}  // namespace winnow
