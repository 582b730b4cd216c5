#include "trainers/mlp/parallel/synchronous_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trainers/mlp/network/row_math.h"

namespace winnow::mlp {
namespace {

// For a fused update: the width of one tile of the widest kernel, so that the data stay in the first-level
// cache.
constexpr int kFusedPanels = 2;

void Prefetch(const float* values, std::size_t count) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (std::size_t i = 0; i < count; i += kLine) __builtin_prefetch(values + i, 1);
}

}  // namespace

void BackgroundCalls::Post(std::function<absl::Status()> call) {
  {
    MutexLock lock(mutex_);
    ++left_;
  }
  thread_.Post([this, call = std::move(call)] { Run(call); });
}

absl::Status BackgroundCalls::Wait() {
  MutexLock lock(mutex_);
  while (left_ > 0) done_.Wait(mutex_);
  return std::exchange(status_, absl::OkStatus());
}

void BackgroundCalls::Run(const std::function<absl::Status()>& call) {
  MutexLock lock(mutex_);
  if (status_.ok()) {
    lock.Unlock();
    absl::Status status = call();
    lock.Lock();
    status_ = std::move(status);
  }
  if (--left_ == 0) done_.NotifyAll();
}

SynchronousStep::SynchronousStep(const TrainingContext& context, NetworkState state, const Kernels& kernels,
                                 const BatchCut& cut)
    : context_(context),
      parameters_(context.parameters),
      network_(context.network),
      ranks_(*context.ranks),
      crew_(*context.crew),
      kernels_(kernels),
      zero_(context.parameters.distribution == Distribution::kZero),
      shards_(cut.shards),
      epoch_steps_(StepsOf(context.train.rows, cut.rows)),
      state_(std::move(state)),
      work_(context, kernels, cut.rows),
      update_(context.network, context.parameters, context.ranks, context.crew),
      pieces_(update_.Pieces(context.ranks->size())) {
  std::size_t largest_other = 0;
  for (int l = static_cast<int>(network_.layers.size()) - 1; l >= 0; --l) {
    const Layer& layer = network_.layers[l];
    largest_other = std::max(largest_other, layer.end - layer.bias);
    const int panels = layer.padded() / kPanel;
    for (int panel = 0; panel < panels; panel += LayerStack::kTaskPanels) {
      ExchangePart& part = parts_.emplace_back();
      part.layer = l;
      for (const GradientTask& task : work_.stack().tasks()) {
        if (task.layer == l && task.first_panel == panel) part.tasks.push_back(task);
      }
      part.begin = layer.WeightAt(0, panel * kPanel);
      part.others = panel + LayerStack::kTaskPanels >= panels;
      part.end = part.others ? layer.end : layer.WeightAt(0, (panel + LayerStack::kTaskPanels) * kPanel);
    }
  }
  const bool fused =
      ranks_.size() == 1 && parameters_.clip_norm == 0 && parameters_.optimizer != OptimizerKind::kLamb;
  if (fused) {
    constexpr std::size_t kTaskSize = std::size_t{LayerStack::kTaskInputs} * kFusedPanels * kPanel;
    const std::size_t size = std::max(kTaskSize, largest_other);
    thread_counts_.assign(static_cast<std::size_t>(crew_.threads()), Aligned<int32_t>(size));
    thread_gradient_.assign(static_cast<std::size_t>(crew_.threads()), Aligned<float>(size));
  } else {
    counts_.assign(network_.parameters, 0);
    gradient_.assign(network_.parameters, 0.0f);
  }
  if (ranks_.size() > 1) background_.emplace();
  if (parameters_.compression != Compression::kNone && ranks_.size() > 1)
    compressed_.emplace(parameters_.compression, network_.parameters, &ranks_);
  if (partial()) {
    for (std::vector<float>& slot : state_.slots) {
      if (slot.empty()) continue;
      slot =
          std::vector<float>(slot.data() + pieces_[ranks_.rank()], slot.data() + pieces_[ranks_.rank() + 1]);
    }
  }
  work_.RefreshAll(state_.parameters.data());
}

absl::Status SynchronousStep::RestoreErrors(const std::string& errors) {
  return compressed_ ? compressed_->Restore(errors) : absl::OkStatus();
}

absl::Status SynchronousStep::Collect(NetworkState* state, std::string* errors) {
  errors->clear();
  if (compressed_) {
    absl::StatusOr<std::string> kept = compressed_->Collect();
    if (!kept.ok()) return kept.status();
    *errors = *std::move(kept);
  }
  *state = state_;
  return partial() ? GatherSlots(state, &ranks_) : absl::OkStatus();
}

uint64_t SynchronousStep::state_bytes() const {
  const std::size_t floats = state_.parameters.size() + state_.slots[0].size() + state_.slots[1].size() +
                             gradient_.size() + counts_.size();
  return floats * sizeof(float);
}

void SynchronousStep::Fuse(const LocalBatch& batch, const StepRule& rule) {
  float* const parameters = state_.parameters.data();
  const auto slot = [&](int s, std::size_t at) {
    return state_.slots[s].empty() ? nullptr : state_.slots[s].data() + at;
  };
  thread_squares_.assign(static_cast<std::size_t>(crew_.threads()), 0.0);
  work_.ForTasks(work_.stack().tasks(), [&](int thread, const GradientTask& task) {
    const Layer& layer = network_.layers[task.layer];
    const std::size_t run = static_cast<std::size_t>(task.inputs) * kPanel;
    const float scale = std::ldexp(1.0f, -work_.exponent(task.layer));
    int32_t* const counts = thread_counts_[thread].data();
    float* const gradient = thread_gradient_[thread].data();
    GradientTask part = task;
    for (int done = 0; done < task.panels; done += part.panels) {
      part.first_panel = task.first_panel + done;
      part.panels = std::min(kFusedPanels, task.panels - done);
      const auto at = [&](int p) {
        return layer.WeightAt(task.first_input, (part.first_panel + p) * kPanel);
      };
      for (int p = 0; p < part.panels; ++p) {  // prefetched while gradients are computed
        Prefetch(parameters + at(p), run);
        for (int s = 0; s < 2; ++s) {
          if (!state_.slots[s].empty()) Prefetch(slot(s, at(p)), run);
        }
      }
      work_.stack().WeightCounts(part, batch.begins, counts, run);
      CountsToFloats(counts, scale, run * part.panels, gradient);
      if (context_.profile != nullptr) {
        double squares[kFusedPanels * LayerStack::kTaskInputs * kPanel / kNormRun + 1];
        SquareSums(gradient, run * part.panels, squares);
        for (std::size_t s = 0; s * kNormRun < run * part.panels; ++s) thread_squares_[thread] += squares[s];
      }
      for (int p = 0; p < part.panels; ++p) {
        UpdateRun(rule, true, parameters + at(p), slot(0, at(p)), slot(1, at(p)), gradient + p * run, run);
        work_.stack().RefreshPanel(parameters, task.layer, part.first_panel + p, task.first_input,
                                   task.inputs);
      }
    }
  });
  for (int l = 0; l < static_cast<int>(network_.layers.size()); ++l) {
    const Layer& layer = network_.layers[l];
    int32_t* const counts = thread_counts_[0].data();
    float* const gradient = thread_gradient_[0].data();
    work_.OtherCounts(l, batch, counts);
    work_.Decode(layer.bias, layer.end, counts, gradient);
    UpdateRun(rule, false, parameters + layer.bias, slot(0, layer.bias), slot(1, layer.bias), gradient,
              layer.end - layer.bias);
  }
  if (context_.profile != nullptr) NoteNorm(thread_squares_);
}

// For the findings of a profile.
void SynchronousStep::NoteNorm(std::span<const double> squares) {
  double sum = 0;
  for (const double square : squares) sum += square;
  context_.profile->AddValue("gradient_norm", state_.step, std::sqrt(sum));
}

absl::Status SynchronousStep::EndEpoch(EpochResult*) {
  if (context_.profile != nullptr && parameters_.activation == Activation::kRelu)
    context_.profile->AddValue("dead_units", state_.step, work_.dead_units().Share());
  work_.dead_units().Forget();
  return parameters_.batch_norm == BatchNorm::kPerRank ? AverageStatistics() : absl::OkStatus();
}

// All ranks evaluate with the mean of their running statistics, and it is the model's.
absl::Status SynchronousStep::AverageStatistics() {
  const absl::StatusOr<std::vector<float>> all = GatherFloats(state_.statistics, &ranks_);
  if (!all.ok()) return all.status();
  const std::size_t count = state_.statistics.size();
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t at = i; at < all->size(); at += count) sum += static_cast<double>((*all)[at]);
    state_.statistics[i] = static_cast<float>(sum / ranks_.size());
  }
  return absl::OkStatus();
}

absl::Status SynchronousStep::SumPart(const ExchangePart& part) {
  ProfileScope scope(context_.profile, Phase::kCommunicate, state_.step, 1);
  const std::span<uint32_t> counts(reinterpret_cast<uint32_t*>(counts_.data() + part.begin),
                                   part.end - part.begin);
  if (!partial()) return ranks_.AllReduceSum(counts);
  std::vector<std::size_t> begins;
  for (const std::size_t piece : pieces_)
    begins.push_back(std::clamp(piece, part.begin, part.end) - part.begin);
  return ranks_.ReduceScatterSum(counts, begins);
}

// Converts counts_ to gradient_.
void SynchronousStep::Decode(std::size_t begin, std::size_t end) {
  crew_.Run([&](int thread) {
    const Part part = PartOf(static_cast<int64_t>(end - begin), thread, crew_.threads(), kPanel);
    const std::size_t from = begin + static_cast<std::size_t>(part.begin),
                      to = begin + static_cast<std::size_t>(part.end);
    work_.Decode(from, to, counts_.data() + from, gradient_.data() + from);
  });
}

void SynchronousStep::CountPart(const ExchangePart& part, const LocalBatch& batch) {
  work_.WeightCounts(part.tasks, batch, 0, counts_.data());
  if (part.others) work_.OtherCounts(part.layer, batch, counts_.data() + network_.layers[part.layer].bias);
}

absl::Status SynchronousStep::SumCompressed() {
  Decode(0, network_.parameters);
  ProfileScope scope(context_.profile, Phase::kCommunicate, state_.step);
  for (const ExchangePart& part : parts_) {
    const std::span<float> run(gradient_.data() + part.begin, part.end - part.begin);
    if (absl::Status status = compressed_->Sum(part.begin, run); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SynchronousStep::Move(const StepRule& rule, std::size_t begin, std::size_t end) {
  ProfileScope scope(context_.profile, Phase::kUpdate, state_.step);
  if (!compressed_) Decode(begin, end);
  float* const slots[2] = {state_.slots[0].empty() ? nullptr : state_.slots[0].data(),
                           state_.slots[1].empty() ? nullptr : state_.slots[1].data()};
  if (context_.profile != nullptr && !partial()) {
    std::vector<double> sums((end - begin + kNormRun - 1) / kNormRun);
    SquareSums(gradient_.data() + begin, end - begin, sums.data());
    NoteNorm(sums);
  }
  return update_.Apply(rule, begin, end, partial(), gradient_.data() + begin, state_.parameters.data(),
                       slots);
}

absl::Status SynchronousStep::Exchange(const LocalBatch& batch, const StepRule& rule) {
  {
    ProfileScope scope(context_.profile, Phase::kBackward, state_.step);
    for (const ExchangePart& part : parts_) {
      CountPart(part, batch);
      if (background_ && !compressed_) background_->Post([this, &part] { return SumPart(part); });
    }
  }
  if (background_) {
    ProfileScope scope(context_.profile, Phase::kCommunicate, state_.step);
    if (absl::Status status = background_->Wait(); !status.ok()) return status;
  }
  if (compressed_) {
    if (absl::Status status = SumCompressed(); !status.ok()) return status;
  }
  const std::size_t begin = partial() ? pieces_[ranks_.rank()] : 0,
                    end = partial() ? pieces_[ranks_.rank() + 1] : network_.parameters;
  if (absl::Status status = Move(rule, begin, end); !status.ok()) return status;
  if (partial()) {
    ProfileScope scope(context_.profile, Phase::kCommunicate, state_.step);
    std::vector<std::size_t> begins;
    for (const std::size_t piece : pieces_) begins.push_back(piece * sizeof(float));
    if (absl::Status status =
            ranks_.AllGatherInPlace(std::as_writable_bytes(std::span(state_.parameters)), begins);
        !status.ok())
      return status;
  }
  ProfileScope scope(context_.profile, Phase::kUpdate, state_.step);
  work_.RefreshAll(state_.parameters.data());
  return absl::OkStatus();
}

absl::Status SynchronousStep::Train(std::span<const int64_t> rows, int64_t epoch, int64_t epoch_step,
                                    ShardSums* sums) {
  const LocalBatch batch = MakeBatch(rows);
  if (absl::Status status = work_.Propagate(state_.parameters.data(), state_.statistics, batch); !status.ok())
    return status;
  bounds_.assign(work_.bounds().begin(), work_.bounds().end());
  if (absl::Status status = AgreeOnBounds(context_, epoch, epoch_step, bounds_); !status.ok()) return status;
  work_.AddSums(batch, sums);
  const StepRule rule =
      RuleAt(parameters_, state_.step, epoch * epoch_steps_ + epoch_step, epoch_steps_, ranks_.size());
  {
    ProfileScope scope(context_.profile, Phase::kBackward, state_.step);
    work_.Quantise(bounds_, batch);
  }
  if (counts_.empty()) {
    ProfileScope scope(context_.profile, Phase::kUpdate, state_.step);
    Fuse(batch, rule);
  } else if (absl::Status status = Exchange(batch, rule); !status.ok()) {
    return status;
  }
  ++state_.step;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> SynchronousStep::Losses(std::span<const int64_t> rows) {
  ProfileScope scope(context_.profile, Phase::kForward, state_.step);
  if (!scout_) scout_.emplace(context_, kernels_, work_.stack().capacity());
  scout_->RefreshAll(state_.parameters.data());
  scout_->Losses(state_.parameters.data(), state_.statistics, MakeBatch(rows).rows);
  return GatherFloats(scout_->losses(), &ranks_);
}

}  // namespace winnow::mlp
