#pragma once

#include <cstddef>
#include <vector>

#include "scheduler/models/non_dominated.h"

namespace winnow {

// Whether the point is better than the reference in every objective.
bool IsInside(const ObjectivePoint& point, const ObjectivePoint& reference);

// The volume of what the points dominate and that dominates `reference`; a point that is not better than the
// reference in every objective adds nothing. Exact, in any number of objectives: a sweep for two, and the
// recursion of While, Bradstreet and Barone (WFG, IEEE TEVC 2012) for more. REQUIRES finite points, all as
// long as `reference`.
double Hypervolume(const std::vector<ObjectivePoint>& points, const ObjectivePoint& reference);

// What the hypervolume of `others` and `point` together has beyond that of `others`.
double OwnHypervolume(const ObjectivePoint& point, const std::vector<ObjectivePoint>& others,
                      const ObjectivePoint& reference);

// For each point of a front, what the hypervolume would lose without it.
std::vector<double> OwnHypervolumes(const std::vector<ObjectivePoint>& front,
                                    const ObjectivePoint& reference);

// The worst coordinates of the points, moved away from the best ones by a tenth of what lies between them (by
// 1 where nothing does), so that the ends of a front have a volume too. REQUIRES !points.empty().
ObjectivePoint WorstWithMargin(const std::vector<ObjectivePoint>& points);

// Orders the points of one front, the best spread first: the indices in the order of their ranks. The last
// place goes to the point whose removal costs the least hypervolume, the last but one to that of the rest,
// and so on; so of two near points one is last and the other keeps its worth. Points without a volume of
// their own at their removal come after all others, as an epsilon net: each next is the one farthest from
// those before it, where the front's range in each objective counts as 1. More than kMostByVolume points of
// three or more objectives are ordered by the epsilon net alone. Ties: the lower index first. `most`: so many
// of the first places suffice; the net is not made beyond them. REQUIRES finite points.
std::vector<size_t> SpreadOrder(const std::vector<ObjectivePoint>& front, const ObjectivePoint& reference,
                                size_t most = static_cast<size_t>(-1));
constexpr size_t kMostByVolume = 64;

}  // namespace winnow
