#include "trainers/mlp/network/parameter_update.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

namespace winnow::mlp {

ParameterUpdate::ParameterUpdate(const Network& network, const MlpParameters& parameters, Communicator* ranks,
                                 Crew* crew)
    : parameters_(parameters), ranks_(ranks), crew_(crew) {
  const auto add = [&](std::size_t begin, std::size_t count, bool decays) {
    for (std::size_t at = 0; at < count; at += kNormRun)
      runs_.push_back({begin + at, std::min(kNormRun, count - at), tensors_, decays});
    ++tensors_;
  };
  for (const Layer& layer : network.layers) {
    const std::size_t padded = static_cast<std::size_t>(layer.padded());
    add(layer.weights, layer.weight_count(), true);
    add(layer.bias, padded, false);
    if (!layer.batch_norm) continue;
    add(layer.gamma, padded, false);
    add(layer.beta, padded, false);
  }
}

std::vector<std::size_t> ParameterUpdate::Pieces(int ranks) const {
  const std::size_t all = runs_.back().begin + runs_.back().count;
  std::vector<std::size_t> begins = {0};
  std::size_t run = 0;
  for (int rank = 1; rank < ranks; ++rank) {
    while (run < runs_.size() &&
           runs_[run].begin * static_cast<std::size_t>(ranks) < all * static_cast<std::size_t>(rank))
      ++run;
    begins.push_back(run < runs_.size() ? runs_[run].begin : all);
  }
  begins.push_back(all);
  return begins;
}

void ParameterUpdate::ForRuns(std::size_t first, std::size_t last,
                              const std::function<void(const ParameterRun& run)>& work) const {
  crew_->Run([&](int thread) {
    const Part part = PartOf(static_cast<int64_t>(last - first), thread, crew_->threads());
    for (int64_t r = part.begin; r < part.end; ++r) work(runs_[first + static_cast<std::size_t>(r)]);
  });
}

// Computes one sum of squares for each run, over all ranks' pieces.
absl::Status ParameterUpdate::RunSums(std::size_t first, std::size_t last, bool partial, const float* values,
                                      std::vector<double>* sums) const {
  const std::size_t begin = first < last ? runs_[first].begin : 0;
  sums->assign(runs_.size(), 0.0);
  const ParameterRun* const runs = runs_.data();
  ForRuns(first, last, [&](const ParameterRun& run) {
    SquareSums(values + (run.begin - begin), run.count, sums->data() + (&run - runs));
  });
  if (!partial) return absl::OkStatus();
  const absl::StatusOr<std::vector<std::string>> all = ranks_->AllGather(
      {reinterpret_cast<const char*>(sums->data() + first), (last - first) * sizeof(double)});
  if (!all.ok()) return all.status();
  char* to = reinterpret_cast<char*>(sums->data());
  for (const std::string& one : *all) {
    std::memcpy(to, one.data(), one.size());
    to += one.size();
  }
  return absl::OkStatus();
}

absl::Status ParameterUpdate::ApplyLamb(const StepRule& rule, std::size_t first, std::size_t last,
                                        std::size_t begin, bool partial, float* gradient, float* parameters,
                                        float* const slots[2]) {
  std::vector<double> weights, directions;
  if (absl::Status status = RunSums(first, last, partial, parameters + begin, &weights); !status.ok())
    return status;
  ForRuns(first, last, [&](const ParameterRun& run) {
    const std::size_t at = run.begin - begin;
    LambDirection(rule, run.decays, parameters + run.begin, slots[0] + at, slots[1] + at, gradient + at,
                  run.count);
  });
  if (absl::Status status = RunSums(first, last, partial, gradient, &directions); !status.ok()) return status;
  std::vector<double> weight_norms(tensors_), direction_norms(tensors_);
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    weight_norms[runs_[r].tensor] += weights[r];
    direction_norms[runs_[r].tensor] += directions[r];
  }
  ForRuns(first, last, [&](const ParameterRun& run) {
    const double weight = weight_norms[run.tensor], direction = direction_norms[run.tensor];
    const float trust =
        weight > 0 && direction > 0 ? static_cast<float>(std::sqrt(weight / direction)) : 1.0f;
    LambApply(rule, trust, parameters + run.begin, gradient + (run.begin - begin), run.count);
  });
  return absl::OkStatus();
}

absl::Status ParameterUpdate::Apply(const StepRule& given, std::size_t begin, std::size_t end, bool partial,
                                    float* gradient, float* parameters, float* const slots[2]) {
  const auto at = [&](std::size_t place) {
    return static_cast<std::size_t>(
        std::lower_bound(runs_.begin(), runs_.end(), place,
                         [](const ParameterRun& run, std::size_t to) { return run.begin < to; }) -
        runs_.begin());
  };
  const std::size_t first = at(begin), last = at(end);
  StepRule rule = given;
  if (parameters_.clip_norm > 0) {
    std::vector<double> sums;
    if (absl::Status status = RunSums(first, last, partial, gradient, &sums); !status.ok()) return status;
    double all = 0;
    for (const double sum : sums) all += sum;
    gradient_norm_ = std::sqrt(all);
    if (gradient_norm_ > parameters_.clip_norm)
      rule.gradient_scale = static_cast<float>(parameters_.clip_norm / gradient_norm_);
  }
  if (rule.kind == OptimizerKind::kLamb)
    return ApplyLamb(rule, first, last, begin, partial, gradient, parameters, slots);
  ForRuns(first, last, [&](const ParameterRun& run) {
    const std::size_t slot = run.begin - begin;
    UpdateRun(rule, run.decays, parameters + run.begin, slots[0] == nullptr ? nullptr : slots[0] + slot,
              slots[1] == nullptr ? nullptr : slots[1] + slot, gradient + slot, run.count);
  });
  return absl::OkStatus();
}

}  // namespace winnow::mlp
