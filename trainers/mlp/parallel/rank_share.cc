#include "trainers/mlp/parallel/rank_share.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/hash.h"
#include "fmt/format.h"
#include "trainers/mlp/network/batch_order.h"
#include "trainers/mlp/network/optimizer.h"

namespace winnow::mlp {
namespace {

double NormOf(std::span<const float> values) {
  std::vector<double> sums((values.size() + kNormRun - 1) / kNormRun);
  SquareSums(values.data(), values.size(), sums.data());
  double all = 0;
  for (const double sum : sums) all += sum;
  return std::sqrt(all);
}

}  // namespace

LocalGradients::LocalGradients(const TrainingContext& context, int64_t most_rows)
    : context_(context), work_(context, ChosenKernels(), most_rows), counts_(context.network.parameters) {}

absl::StatusOr<BatchSums> LocalGradients::Compute(std::span<const float> parameters,
                                                  std::span<float> statistics, std::span<const int64_t> rows,
                                                  int64_t step, std::span<float> gradient) {
  const Network& network = context_.network;
  const LocalBatch batch = PartOfBatch(context_, rows, 1, 0, 1, step);
  work_.RefreshAll(parameters.data());
  if (absl::Status status = work_.Propagate(parameters.data(), statistics, batch); !status.ok())
    return status;
  for (const float bound : work_.bounds()) {
    if (!std::isfinite(bound)) {
      const int64_t epoch_steps =
          std::max<int64_t>(1, context_.train.rows / std::max<int64_t>(1, batch.batch_rows));
      return DivergedError(context_.parameters, step / epoch_steps, step % epoch_steps);
    }
  }
  work_.Quantise(work_.bounds(), batch);
  work_.WeightCounts(work_.stack().tasks(), batch, 0, counts_.data());
  for (int l = 0; l < static_cast<int>(network.layers.size()); ++l)
    work_.OtherCounts(l, batch, counts_.data() + network.layers[l].bias);
  work_.Decode(0, network.parameters, counts_.data(), gradient.data());
  BatchSums sums;
  sums.rows = static_cast<int64_t>(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double weight =
        context_.train.weight.empty() ? 1.0 : context_.train.weight[static_cast<std::size_t>(rows[r])];
    sums.loss += weight * work_.losses()[r];
    sums.weight += weight;
    if (work_.is_right(r)) sums.right += weight;
  }
  return sums;
}

Part ShareOf(const TrainingContext& context) {
  return PartOf(context.train.rows, context.ranks->rank(), context.ranks->size());
}

std::vector<int64_t> ShareOrder(const TrainingContext& context, int64_t epoch) {
  const Part share = ShareOf(context);
  const uint64_t seed = context.parameters.seed, rank = static_cast<uint64_t>(context.ranks->rank());
  // A single rank has the same order in every way of training.
  const uint64_t key = rank == 0 ? seed : HashOf(seed, rank);
  std::vector<int64_t> order = EpochOrder(key, epoch, share.end - share.begin);
  for (int64_t& row : order) row += share.begin;
  return order;
}

absl::Status CheckShare(const TrainingContext& context) {
  const MlpParameters& p = context.parameters;
  if (p.sift_beta > 0) {
    return absl::InvalidArgumentError(fmt::format(
        "hyperparameter sift_beta = {}: expected 0 where ranks are not in step (distribution)", p.sift_beta));
  }
  if (p.batch_norm == BatchNorm::kSynchronised && context.ranks->size() > 1) {
    return absl::InvalidArgumentError(
        "hyperparameter batch_norm = synchronised: expected none or per_rank where ranks are not in step "
        "(distribution)");
  }
  return absl::OkStatus();
}

void ClipToNorm(std::span<float> gradient, double most) {
  if (!(most > 0)) return;
  const double norm = NormOf(gradient);
  if (!(norm > most)) return;
  const float factor = static_cast<float>(most / norm);
  for (float& g : gradient) g *= factor;
}

std::vector<DecayRun> DecayRuns(const Network& network, std::size_t begin, std::size_t end) {
  std::vector<DecayRun> runs;
  const auto add = [&](std::size_t from, std::size_t to, bool decays) {
    from = std::max(from, begin);
    to = std::min(to, end);
    if (from < to) runs.push_back({from, to, decays});
  };
  for (const Layer& layer : network.layers) {
    add(layer.weights, layer.bias, true);
    add(layer.bias, layer.end, false);
  }
  return runs;
}

absl::Status AtStep(const absl::Status& status, const MlpParameters& parameters, int64_t epoch,
                    int64_t step) {
  return absl::IsFailedPrecondition(status) ? DivergedError(parameters, epoch, step) : status;
}

absl::Status CheckFinite(const NetworkState& state, int64_t epoch) {
  for (const float value : state.parameters) {
    if (!std::isfinite(value))
      return absl::FailedPreconditionError(fmt::format("a parameter is {} after epoch {}", value, epoch));
  }
  return absl::OkStatus();
}

void ShareTotals::Add(const BatchSums& batch) {
  sums.loss += batch.loss;
  sums.weight += batch.weight;
  sums.right += batch.right;
  sums.rows += batch.rows;
  ++steps;
}

absl::StatusOr<ShareTotals> AddOverRanks(const ShareTotals& own, Communicator* ranks) {
  const absl::StatusOr<std::vector<std::string>> all =
      ranks->AllGather(std::string_view(reinterpret_cast<const char*>(&own), sizeof(own)));
  if (!all.ok()) return all.status();
  ShareTotals totals;
  for (const std::string& bytes : *all) {
    ShareTotals each;
    if (bytes.size() != sizeof(each))
      return absl::InternalError("a rank sent an epoch's sums of another size");
    std::memcpy(&each, bytes.data(), sizeof(each));
    totals.sums.loss += each.sums.loss;
    totals.sums.weight += each.sums.weight;
    totals.sums.right += each.sums.right;
    totals.sums.rows += each.sums.rows;
    totals.steps += each.steps;
    totals.bytes_sent += each.bytes_sent;
    totals.staleness_sum += each.staleness_sum;
    totals.staleness_most = std::max(totals.staleness_most, each.staleness_most);
    totals.pushes += each.pushes;
  }
  return totals;
}

EpochResult ResultOf(const ShareTotals& totals, const MlpParameters& parameters) {
  EpochResult result;
  result.loss = totals.sums.loss / totals.sums.weight;
  const bool classes = parameters.loss == LossKind::kCrossEntropy || parameters.loss == LossKind::kLogistic;
  result.accuracy =
      classes ? totals.sums.right / totals.sums.weight : std::numeric_limits<double>::quiet_NaN();
  result.rows_seen = result.rows_trained = totals.sums.rows;
  result.steps = totals.steps;
  result.bytes_sent = totals.bytes_sent;
  return result;
}

}  // namespace winnow::mlp
