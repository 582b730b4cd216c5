#include "trainers/mlp/parallel/parameter_server.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "trainers/mlp/parallel/parameter_server_ends.h"
#include "trainers/mlp/parallel/rank_share.h"
#include "trainers/mlp/parallel/server_shard.h"

namespace winnow::mlp {
namespace {

std::vector<Part> ShardRuns(std::size_t parameters, int ranks) {
  std::vector<Part> runs;
  for (int r = 0; r < ranks; ++r) runs.push_back(PartOf(static_cast<int64_t>(parameters), r, ranks, kPanel));
  return runs;
}

class ParameterServerTrainer final : public EpochTrainer {
 public:
  ParameterServerTrainer(const TrainingContext& context, NetworkState state,
                         std::unique_ptr<Messenger> messenger)
      : context_(context),
        share_(ShareOf(context)),
        runs_(ShardRuns(context.network.parameters, context.ranks->size())),
        messenger_(std::move(messenger)),
        client_(messenger_.get(), runs_),
        shard_(context.parameters, context.network, context.ranks->size(), runs_[context.ranks->rank()],
               state),
        gradients_(context_, context.parameters.batch_size),
        state_(std::move(state)),
        gradient_(context.network.parameters) {
    for (std::vector<float>& slot : state_.slots) slot = {};  // the shards have them
  }

  absl::StatusOr<EpochResult> Train(int64_t epoch) override {
    const uint64_t sent_before = BytesSent();
    client_.BeginEpoch(shard_.version());
    absl::Status served;
    std::thread server([&] {
      served = ServeEpoch(messenger_.get(), context_.parameters.staleness_bound, &shard_, context_.profile,
                          context_.crew->threads());
      if (!served.ok()) messenger_->Fail(served);
    });
    ShareTotals own;
    const absl::Status worked = Work(epoch, &own);
    if (!worked.ok()) messenger_->Fail(worked);
    server.join();
    if (absl::Status status = worked.ok() ? served : worked; !status.ok()) {
      // All ranks already know of a loss that is not finite, and of a stop, in Train. For any other error,
      // some ranks may have passed this point.
      if (!absl::IsFailedPrecondition(status) && !absl::IsCancelled(status)) context_.ranks->Fail(status);
      return status;
    }
    if (absl::Status status = Gather(); !status.ok()) return status;

    own.bytes_sent = BytesSent() - sent_before;
    const StalenessCount staleness = shard_.TakeStaleness();
    own.staleness_sum = staleness.sum;
    own.staleness_most = staleness.most;
    own.pushes = staleness.pushes;
    const absl::StatusOr<ShareTotals> all = AddOverRanks(own, context_.ranks);
    if (!all.ok()) return all.status();
    if (absl::Status status = CheckFinite(state_, epoch); !status.ok()) return status;
    EpochResult result = ResultOf(*all, context_.parameters);
    result.more = {{"staleness-mean", static_cast<double>(all->staleness_sum) /
                                          static_cast<double>(std::max<int64_t>(1, all->pushes))},
                   {"staleness-max", static_cast<double>(all->staleness_most)}};
    return result;
  }

  const NetworkState& state() const override { return state_; }

  absl::Status Collect(NetworkState* state, std::string* extra) override {
    std::vector<std::string> to(static_cast<std::size_t>(context_.ranks->size()));
    for (int slot = 0; slot < 2; ++slot) {
      const std::span<const float> values = shard_.slot(slot);
      to[0].append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    }
    const absl::StatusOr<std::vector<std::string>> all = context_.ranks->AllToAll(to);
    if (!all.ok() || context_.ranks->rank() != 0) return all.status();
    *state = state_;
    extra->clear();
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const std::size_t floats = static_cast<std::size_t>(runs_[r].end - runs_[r].begin);
      const char* from = (*all)[r].data();
      for (int slot = 0; slot < 2; ++slot) {
        if (shard_.slot(slot).empty()) continue;
        state->slots[slot].resize(state_.parameters.size());
        std::memcpy(state->slots[slot].data() + runs_[r].begin, from, floats * sizeof(float));
        from += floats * sizeof(float);
      }
    }
    return absl::OkStatus();
  }

  void Fail(const absl::Status& reason) override { messenger_->Fail(reason); }

  uint64_t state_bytes() const override {
    return (state_.parameters.size() + gradient_.size()) * sizeof(float) + shard_.state_bytes();
  }

 private:
  uint64_t BytesSent() const { return messenger_->bytes_sent() + context_.ranks->bytes_sent(); }

  // Runs this rank's worker for one epoch.
  absl::Status Work(int64_t epoch, ShareTotals* totals) {
    const std::vector<int64_t> order = ShareOrder(context_, epoch);
    const int64_t rows = share_.end - share_.begin, batch = context_.parameters.batch_size;
    const int64_t steps = (rows + batch - 1) / batch;
    for (int64_t s = 0; s < steps; ++s) {
      if (context_.stop != nullptr && *context_.stop) return absl::CancelledError("stopped");
      const int64_t step = epoch * steps + s, begin = s * batch;
      const std::span<const int64_t> batch_rows = std::span<const int64_t>(order).subspan(
          static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(batch, rows - begin)));
      // Ranks have separate draws.
      const int64_t draw = step * context_.ranks->size() + context_.ranks->rank();
      const absl::StatusOr<BatchSums> sums =
          gradients_.Compute(state_.parameters, state_.statistics, batch_rows, draw, gradient_);
      if (!sums.ok()) return AtStep(sums.status(), context_.parameters, epoch, s);
      totals->Add(*sums);
      ClipToNorm(gradient_, context_.parameters.clip_norm);

      const bool last = s + 1 == steps;
      ProfileScope scope(context_.profile, Phase::kCommunicate, step);
      absl::Status status = client_.Push(step, steps, last, gradient_);
      if (status.ok() && !last) status = client_.Pull(state_.parameters);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // After all ranks' servers are done: gathers their parameters on every rank, and averages statistics.
  absl::Status Gather() {
    const std::span<const float> own = shard_.parameters();
    std::string mine(reinterpret_cast<const char*>(own.data()), own.size_bytes());
    mine.append(reinterpret_cast<const char*>(state_.statistics.data()),
                state_.statistics.size() * sizeof(float));
    const absl::StatusOr<std::vector<std::string>> all = context_.ranks->AllGather(mine);
    if (!all.ok()) return all.status();
    std::vector<double> sums(state_.statistics.size());
    std::vector<float> statistics(sums.size());
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const std::size_t bytes = static_cast<std::size_t>(runs_[r].end - runs_[r].begin) * sizeof(float);
      if ((*all)[r].size() != bytes + statistics.size() * sizeof(float))
        return absl::InternalError(fmt::format("rank {} serves parameters of another size", r));
      std::memcpy(state_.parameters.data() + runs_[r].begin, (*all)[r].data(), bytes);
      if (statistics.empty()) continue;
      std::memcpy(statistics.data(), (*all)[r].data() + bytes, statistics.size() * sizeof(float));
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += statistics[i];
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      state_.statistics[i] = static_cast<float>(sums[i] / static_cast<double>(runs_.size()));
    state_.step = shard_.version();
    for (int worker = 0; worker < context_.ranks->size(); ++worker) shard_.Pull(worker);
    return absl::OkStatus();
  }

  const TrainingContext context_;
  const Part share_;  // of the rows
  const std::vector<Part> runs_;
  const std::unique_ptr<Messenger> messenger_;
  ParameterClient client_;
  ServerShard shard_;
  LocalGradients gradients_;
  NetworkState state_;  // within an epoch, as this worker pulled it; slots: none
  std::vector<float> gradient_;
};

absl::Status CheckParameterServer(const TrainingContext& context) {
  if (context.parameters.optimizer == OptimizerKind::kLamb) {
    return absl::InvalidArgumentError(
        "hyperparameter optimizer = lamb: expected another with distribution PARAMETER_SERVER");
  }
  const int64_t fewest = context.train.rows / context.ranks->size();
  if (fewest == 0)
    return absl::InvalidArgumentError(
        fmt::format("{} rows of training data: expected at least one for each of {} ranks",
                    context.train.rows, context.ranks->size()));
  if (context.parameters.batch_size > fewest) {
    return absl::InvalidArgumentError(
        fmt::format("hyperparameter batch_size = {}: expected at most {}, the rows of each of {} workers",
                    context.parameters.batch_size, fewest, context.ranks->size()));
  }
  return CheckShare(context);
}

}  // namespace

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeParameterServerTrainer(
    const TrainingContext& context, NetworkState state, std::unique_ptr<Messenger> messenger) {
  if (absl::Status status = CheckParameterServer(context); !status.ok()) return status;
  return std::make_unique<ParameterServerTrainer>(context, std::move(state), std::move(messenger));
}

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeParameterServerTrainer(const TrainingContext& context,
                                                                         NetworkState state,
                                                                         const std::string& /*extra*/) {
  if (absl::Status status = CheckParameterServer(context); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Messenger>> messenger = ConnectMessenger(context.ranks);
  if (!messenger.ok()) return messenger.status();
  return MakeParameterServerTrainer(context, std::move(state), *std::move(messenger));
}

}  // namespace winnow::mlp
