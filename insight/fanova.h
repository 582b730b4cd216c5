#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "insight/forest.h"

namespace winnow {

struct Share {
  double mean = 0;       // over the trees that vary at all
  double deviation = 0;  // standard deviation over these
};

// Shares of the variance of a forest's function over the uniform unit cube: functional ANOVA (Hutter, Hoos
// and Leyton-Brown, ICML 2014). Marginals are exact: sums over the boxes of each tree's leaves.
struct Fanova {
  std::vector<Share> singles;  // by dimension
  struct Pair {
    size_t first, second;  // dimensions, first < second
    Share share;           // beyond those of the two alone
  };
  std::vector<Pair> pairs;  // all pairs
  int varied = 0;           // trees that vary
};

// `gone` as in Forest::Fit; after an interruption, the shares are of fewer trees.
Fanova Analyse(const Forest& forest, const std::function<bool()>& gone = {});

// Returns the mean of the forest's function over all other dimensions at `places` of one dimension, with the
// standard deviation over trees.
std::vector<Share> Marginal(const Forest& forest, size_t dimension, const std::vector<double>& places);

// Likewise over two different dimensions: at each of `second_places` for each of `first_places`, row by row.
std::vector<Share> JointMarginal(const Forest& forest, size_t first, const std::vector<double>& first_places,
                                 size_t second, const std::vector<double>& second_places);

}  // namespace winnow
