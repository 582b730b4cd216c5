#include "trainers/mlp/network/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "trainers/mlp/network/row_math.h"

namespace winnow::mlp {
namespace {

// [s * columns + c]: what add(row, sums of the shard) adds up over the rows of shard s, in order of rows.
std::vector<double> SumsOfShards(std::span<const int> begins, std::size_t columns, Crew* crew,
                                 const std::function<void(int64_t row, double* sums)>& add) {
  const int shards = static_cast<int>(begins.size()) - 1;
  std::vector<double> sums(static_cast<std::size_t>(shards) * columns, 0.0);
  crew->Run([&](int thread) {
    for (int s = thread; s < shards; s += crew->threads()) {
      for (int64_t r = begins[s]; r < begins[s + 1]; ++r) add(r, sums.data() + s * columns);
    }
  });
  return sums;
}

void ForRows(std::span<const int> begins, Crew* crew, const std::function<void(int64_t row)>& work) {
  crew->Run([&](int thread) {
    const Part part = PartOf(begins.back(), thread, crew->threads());
    for (int64_t r = part.begin; r < part.end; ++r) work(r);
  });
}

}  // namespace

void NormaliseByRunning(const Layer& layer, const float* parameters, std::span<const float> statistics,
                        int64_t begin, int64_t end, Matrix* linear) {
  const std::size_t columns = static_cast<std::size_t>(layer.outputs);
  std::vector<float> factor(columns), shift(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const double mean = statistics[layer.statistics + c];
    const double variance = statistics[layer.statistics + static_cast<std::size_t>(layer.padded()) + c];
    const double scale = parameters[layer.gamma + c] / std::sqrt(variance + kBatchNormEpsilon);
    factor[c] = static_cast<float>(scale);
    shift[c] = static_cast<float>(parameters[layer.beta + c] - mean * scale);
  }
  for (int64_t r = begin; r < end; ++r) {
    float* row = linear->row(r);
    for (std::size_t c = 0; c < columns; ++c) row[c] = row[c] * factor[c] + shift[c];
  }
}

BatchNormLayers::BatchNormLayers(const Network& network, const MlpParameters& parameters, Communicator* ranks,
                                 Crew* crew, int64_t capacity)
    : network_(network),
      parameters_(parameters),
      ranks_(ranks),
      crew_(crew),
      synchronised_(parameters.batch_norm == BatchNorm::kSynchronised),
      work_(network.layers.size()) {
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    if (!network.layers[l].batch_norm) continue;
    any_ = true;
    work_[l].normalised.Resize(capacity, network.layers[l].outputs);
  }
}

absl::Status BatchNormLayers::SumShards(std::vector<double> mine, std::size_t columns, int64_t my_rows,
                                        std::vector<double>* sums, int64_t* rows) {
  std::vector<double> all = std::move(mine);
  *rows = my_rows;
  if (synchronised_ && ranks_->size() > 1) {
    all.push_back(static_cast<double>(my_rows));
    const absl::StatusOr<std::vector<std::string>> gathered =
        ranks_->AllGather({reinterpret_cast<const char*>(all.data()), all.size() * sizeof(double)});
    if (!gathered.ok()) return gathered.status();
    all.clear();
    *rows = 0;
    for (const std::string& one : *gathered) {
      std::vector<double> theirs(one.size() / sizeof(double));
      std::memcpy(theirs.data(), one.data(), one.size());
      *rows += static_cast<int64_t>(theirs.back());
      all.insert(all.end(), theirs.begin(), theirs.end() - 1);
    }
  }
  sums->assign(columns, 0.0);
  for (std::size_t begin = 0; begin < all.size(); begin += columns) {
    for (std::size_t c = 0; c < columns; ++c) (*sums)[c] += all[begin + c];
  }
  return absl::OkStatus();
}

absl::Status BatchNormLayers::Forward(int l, std::span<const int> begins, const float* parameters,
                                      std::span<float> statistics, LayerStack* stack) {
  const Layer& layer = network_.layers[l];
  Work& work = work_[l];
  Matrix& y = stack->linear(l);
  const std::size_t columns = static_cast<std::size_t>(layer.outputs);
  const auto means = SumsOfShards(begins, columns, crew_,
                                  [&](int64_t r, double* sums) { AddValues(y.row(r), columns, sums); });
  if (absl::Status status = SumShards(means, columns, begins.back(), &work.mean, &work.rows); !status.ok())
    return status;
  for (double& mean : work.mean) mean /= static_cast<double>(work.rows);
  const auto squares = SumsOfShards(begins, columns, crew_, [&](int64_t r, double* sums) {
    AddSquares(y.row(r), work.mean.data(), columns, sums);
  });
  std::vector<double> variance;
  int64_t rows = 0;
  if (absl::Status status = SumShards(squares, columns, begins.back(), &variance, &rows); !status.ok())
    return status;
  work.inverse.resize(columns);
  const double newest = parameters_.batch_norm_momentum;
  const double unbiased = 1.0 / static_cast<double>(std::max<int64_t>(rows - 1, 1));
  for (std::size_t c = 0; c < columns; ++c) {
    work.inverse[c] = 1 / std::sqrt(variance[c] / static_cast<double>(rows) + kBatchNormEpsilon);
    if (rows < 2) continue;  // one row varies from nothing, and a rank may have none of a small batch
    float& running_mean = statistics[layer.statistics + c];
    float& running_variance = statistics[layer.statistics + static_cast<std::size_t>(layer.padded()) + c];
    running_mean = static_cast<float>((1 - newest) * running_mean + newest * work.mean[c]);
    running_variance = static_cast<float>((1 - newest) * running_variance + newest * variance[c] * unbiased);
  }
  const float* gamma = parameters + layer.gamma;
  const float* beta = parameters + layer.beta;
  ForRows(begins, crew_, [&](int64_t r) {
    Normalise(work.mean.data(), work.inverse.data(), gamma, beta, columns, y.row(r), work.normalised.row(r));
  });
  return absl::OkStatus();
}

absl::Status BatchNormLayers::Backward(int l, std::span<const int> begins, const float* parameters,
                                       LayerStack* stack) {
  const Layer& layer = network_.layers[l];
  Work& work = work_[l];
  Matrix& delta = stack->delta(l);
  const std::size_t columns = static_cast<std::size_t>(layer.outputs);
  const auto mine = SumsOfShards(begins, 2 * columns, crew_, [&](int64_t r, double* sums) {
    AddValues(delta.row(r), columns, sums);
    AddProducts(delta.row(r), work.normalised.row(r), columns, sums + columns);
  });
  std::vector<double> sums;
  int64_t rows = 0;
  if (absl::Status status = SumShards(mine, 2 * columns, begins.back(), &sums, &rows); !status.ok())
    return status;
  work.beta_gradient.assign(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(columns));
  work.gamma_gradient.assign(sums.begin() + static_cast<std::ptrdiff_t>(columns), sums.end());
  const float* gamma = parameters + layer.gamma;
  std::vector<double> factor(columns), mean_beta(columns), mean_gamma(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    factor[c] = gamma[c] * work.inverse[c];
    mean_beta[c] = work.beta_gradient[c] / static_cast<double>(rows);
    mean_gamma[c] = work.gamma_gradient[c] / static_cast<double>(rows);
  }
  ForRows(begins, crew_, [&](int64_t r) {
    NormaliseGradient(factor.data(), mean_beta.data(), mean_gamma.data(), work.normalised.row(r), columns,
                      delta.row(r));
  });
  return absl::OkStatus();
}

}  // namespace winnow::mlp
