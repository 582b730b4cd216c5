#include "trainers/mlp/parallel/local_sgd.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/status_text.h"
#include "fmt/format.h"
#include "trainers/mlp/network/optimizer.h"
#include "trainers/mlp/network/parameter_update.h"
#include "trainers/mlp/parallel/rank_share.h"

namespace winnow::mlp {
namespace {

int64_t RoundedUp(int64_t count, int64_t by) { return (count + by - 1) / by; }

int64_t GlobalBatch(const TrainingContext& context) {
  const MlpParameters& p = context.parameters;
  return p.batch_size * (p.batch_scaling == BatchScaling::kLinear ? context.ranks->size() : 1);
}

int64_t EpochSteps(const TrainingContext& context) {
  return RoundedUp(context.train.rows, GlobalBatch(context));
}

class LocalSgdTrainer final : public EpochTrainer {
 public:
  LocalSgdTrainer(const TrainingContext& context, NetworkState state)
      : context_(context),
        share_(ShareOf(context)),
        steps_(EpochSteps(context)),
        gradients_(context_, RoundedUp(share_.end - share_.begin, steps_)),
        update_(context_.network, context_.parameters, context_.ranks, context_.crew),
        state_(std::move(state)),
        gradient_(context.network.parameters) {}

  absl::StatusOr<EpochResult> Train(int64_t epoch) override {
    const uint64_t sent_before = context_.ranks->bytes_sent();
    const std::vector<int64_t> order = ShareOrder(context_, epoch);
    ShareTotals own;
    absl::Status worked;
    for (int64_t s = 0; s < steps_; ++s) {
      // A rank that fails reports it at the next average.
      if (worked.ok()) worked = Step(epoch, s, order, &own);
      if ((s + 1) % context_.parameters.local_steps != 0 && s + 1 != steps_) continue;
      ProfileScope scope(context_.profile, Phase::kCommunicate, epoch * steps_ + s);
      if (absl::Status status = Average(worked); !status.ok()) return status;
    }
    state_.step = (epoch + 1) * steps_;
    if (absl::Status status = CheckFinite(state_, epoch); !status.ok()) return status;
    own.bytes_sent = context_.ranks->bytes_sent() - sent_before;
    const absl::StatusOr<ShareTotals> all = AddOverRanks(own, context_.ranks);
    if (!all.ok()) return all.status();
    EpochResult result = ResultOf(*all, context_.parameters);
    result.steps = steps_;
    return result;
  }

  const NetworkState& state() const override { return state_; }

  absl::Status Collect(NetworkState* state, std::string* extra) override {
    *state = state_;
    extra->clear();
    return absl::OkStatus();
  }

  uint64_t state_bytes() const override {
    const std::size_t slots = state_.slots[0].size() + state_.slots[1].size();
    return (state_.parameters.size() + slots + gradient_.size()) * sizeof(float);
  }

 private:
  absl::Status Step(int64_t epoch, int64_t s, const std::vector<int64_t>& order, ShareTotals* totals) {
    if (context_.stop != nullptr && *context_.stop) return absl::CancelledError("stopped");
    const MlpParameters& p = context_.parameters;
    const int64_t rows = static_cast<int64_t>(order.size()), step = epoch * steps_ + s;
    const int64_t begin = rows * s / steps_, end = rows * (s + 1) / steps_;
    if (begin == end) return absl::OkStatus();
    const std::span<const int64_t> batch(order.data() + begin, static_cast<std::size_t>(end - begin));
    // Ranks have separate draws.
    const int64_t draw = step * context_.ranks->size() + context_.ranks->rank();
    const absl::StatusOr<BatchSums> sums =
        gradients_.Compute(state_.parameters, state_.statistics, batch, draw, gradient_);
    if (!sums.ok()) return AtStep(sums.status(), context_.parameters, epoch, s);
    totals->Add(*sums);
    ProfileScope scope(context_.profile, Phase::kUpdate, step);
    float* const slots[2] = {DataOf(&state_.slots[0]), DataOf(&state_.slots[1])};
    return update_.Apply(RuleAt(p, step, step, steps_, context_.ranks->size()), 0, gradient_.size(),
                         /*partial=*/false, gradient_.data(), state_.parameters.data(), slots);
  }

  static float* DataOf(std::vector<float>* values) { return values->empty() ? nullptr : values->data(); }

  std::vector<std::vector<float>*> Averaged() {
    return {&state_.parameters, &state_.slots[0], &state_.slots[1], &state_.statistics};
  }

  // Replaces all of the state by its mean over ranks; or returns on all ranks the error of the first rank
  // with one. A message is a byte (0 for numbers, otherwise an error's code) and the numbers of a piece, or
  // the error's text.
  absl::Status Average(const absl::Status& own) {
    const int rank = context_.ranks->rank(), size = context_.ranks->size();
    if (size == 1) return own;
    all_.clear();
    for (const std::vector<float>* values : Averaged())
      all_.insert(all_.end(), values->begin(), values->end());
    std::vector<std::size_t> begins;  // of each rank's piece, in bytes
    for (int r = 0; r < size; ++r)
      begins.push_back(PartOf(static_cast<int64_t>(all_.size()), r, size, kPanel).begin * sizeof(float));
    begins.push_back(all_.size() * sizeof(float));
    char* const bytes = reinterpret_cast<char*>(all_.data());

    std::vector<std::string> to(static_cast<std::size_t>(size));
    for (int r = 0; r < size; ++r) {
      to[r].assign(1, static_cast<char>(own.code()));
      if (own.ok())
        to[r].append(bytes + begins[r], begins[r + 1] - begins[r]);
      else
        to[r] += MessageOf(own);
    }
    const absl::StatusOr<std::vector<std::string>> pieces = context_.ranks->AllToAll(to);
    if (!pieces.ok()) return pieces.status();
    if (absl::Status status = FirstError(*pieces); !status.ok()) return status;
    const std::size_t own_bytes = begins[rank + 1] - begins[rank];
    if (absl::Status status = MeanOf(*pieces, own_bytes, bytes + begins[rank]); !status.ok()) return status;
    absl::Status gathered =
        context_.ranks->AllGatherInPlace(std::as_writable_bytes(std::span<float>(all_)), begins);
    if (!gathered.ok()) return gathered;
    const float* from = all_.data();
    for (std::vector<float>* values : Averaged()) {
      std::copy_n(from, values->size(), values->begin());
      from += values->size();
    }
    return absl::OkStatus();
  }

  static absl::Status FirstError(const std::vector<std::string>& pieces) {
    for (std::size_t r = 0; r < pieces.size(); ++r) {
      if (pieces[r].empty()) return absl::InternalError(fmt::format("rank {} sent nothing to average", r));
      if (pieces[r][0] != 0)
        return absl::Status(static_cast<absl::StatusCode>(pieces[r][0]), pieces[r].substr(1));
    }
    return absl::OkStatus();
  }

  // Sums in double, in order of rank.
  absl::Status MeanOf(const std::vector<std::string>& pieces, std::size_t bytes, char* mean) {
    sums_.assign(bytes / sizeof(float), 0.0);
    values_.resize(sums_.size());
    for (std::size_t r = 0; r < pieces.size(); ++r) {
      if (pieces[r].size() != 1 + bytes)
        return absl::InternalError(fmt::format("rank {} averages parameters of another size", r));
      std::memcpy(values_.data(), pieces[r].data() + 1, bytes);
      for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += values_[i];
    }
    const double ranks = static_cast<double>(pieces.size());
    for (std::size_t i = 0; i < sums_.size(); ++i) values_[i] = static_cast<float>(sums_[i] / ranks);
    std::memcpy(mean, values_.data(), bytes);
    return absl::OkStatus();
  }

  const TrainingContext context_;
  const Part share_;     // of the rows
  const int64_t steps_;  // of an epoch
  LocalGradients gradients_;
  ParameterUpdate update_;
  NetworkState state_;
  std::vector<float> gradient_;
  std::vector<float> all_, values_;  // within Average: everything averaged; one rank's numbers of a piece
  std::vector<double> sums_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeLocalSgdTrainer(const TrainingContext& context,
                                                                  NetworkState state,
                                                                  const std::string& /*extra*/) {
  const int64_t batch = GlobalBatch(context), ranks = context.ranks->size();
  if (context.train.rows < ranks)
    return absl::InvalidArgumentError(fmt::format(
        "{} rows of training data: expected at least one for each of {} ranks", context.train.rows, ranks));
  if (batch < ranks || batch > context.train.rows) {
    return absl::InvalidArgumentError(
        fmt::format("hyperparameter batch_size = {}: expected batches of {} to {} rows with {} ranks",
                    context.parameters.batch_size, ranks, context.train.rows, ranks));
  }
  if (absl::Status status = CheckShare(context); !status.ok()) return status;
  return std::make_unique<LocalSgdTrainer>(context, std::move(state));
}

}  // namespace winnow::mlp
