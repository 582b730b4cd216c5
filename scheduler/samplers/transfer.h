#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string>
#include <vector>

#include "scheduler/models/gaussian_process.h"
#include "scheduler/state/facts.h"

namespace winnow {

// Results of one source of a warm start, an earlier job, a table or a study, by their index; the best first.
using EarlierSource = std::vector<size_t>;

// The results by source: EarlierResult::source without its last part, ", trial 7" or ", row 2". Of each
// source at most its part of `most` results over all: the best half, and an even choice of the others. What
// is not finite is left out.
std::vector<EarlierSource> SourcesOf(const std::vector<EarlierResult>& results, double sign, size_t most);

// What the results of a source have in common that is not the job's own: a source is taken for the job's
// function plus an offset of its own, plus a smooth function of its own with the same lengths. However many
// results a source has, what it says of the job's function is uncertain by that difference, so a source on
// other data helps with its shape and one that is wrong loses its voice.
//
// `own` are the job's results, `source` those of the source, both on about unit spread. Returns the
// covariance to add to the source's observations: an offset of variance 1, and a difference of variance (1 -
// s) / s, where s is the part of the variance of the job's results that the source alone predicts, the offset
// and the results' errors apart. s is at first 0.9, which counts as two results; at 0 and below nothing is
// left of the source.
Eigen::MatrixXd DifferenceOf(const FeatureMap& map, const Hyperparameters& hyperparameters,
                             const Observations& own, const Observations& source);

}  // namespace winnow
