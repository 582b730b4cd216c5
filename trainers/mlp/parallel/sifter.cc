#include "trainers/mlp/parallel/sifter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "fmt/format.h"
#include "trainers/common/instruction_sets.h"
#include "trainers/common/portable_math.h"

namespace winnow::mlp {
namespace {

constexpr float kNone = std::numeric_limits<float>::infinity();  // above all losses

// Counts the values below x by comparing all: a binary search would wait for each comparison and mispredict
// half of its branches.
WINNOW_EACH_INSTRUCTION_SET
int CountBelow(const float* values, int count, float x) {
  int below = 0;
  for (int i = 0; i < count; ++i) below += values[i] < x ? 1 : 0;
  return below;
}

constexpr std::string_view kSifterFormat = "sifter-1";
// "sifting": separates it from the order of batches, with the same seed.
constexpr uint64_t kPurpose = 0x73696674696e67;
constexpr int32_t kNever = -1;

// The settings that a state must match. 17 digits distinguish any two doubles.
std::string SettingsText(double beta, double delay, int64_t history_length, int64_t reuse_epochs,
                         int64_t rows, uint64_t seed) {
  return fmt::format("{:.17g},{:.17g},{},{},{},{}", beta, delay, history_length, reuse_epochs, rows, seed);
}

template <typename Number>
std::string Encode(std::span<const Number> numbers) {
  const std::string bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  return absl::Base64Escape(bytes);
}

template <typename Number>
bool Decode(const std::string& text, std::vector<Number>* numbers) {
  std::string bytes;
  if (!absl::Base64Unescape(text, &bytes) || bytes.size() % sizeof(Number) != 0) return false;
  numbers->resize(bytes.size() / sizeof(Number));
  if (!bytes.empty()) std::memcpy(numbers->data(), bytes.data(), bytes.size());
  return true;
}

// percentile^beta of a place, in the middle of its equals, of which it is one.
float Probability(int64_t twice_place, int64_t count, double beta) {
  const double percentile = static_cast<double>(twice_place + 1) / (2.0 * static_cast<double>(count + 1));
  return PortableExp(static_cast<float>(beta * PortableLog(percentile)));
}

}  // namespace

// Returns the run that contains it, or would: past the last run if all losses are below.
LossHistory::Position LossHistory::FirstNotBelow(float loss) const {
  const auto run = static_cast<std::size_t>(CountBelow(last_.data(), static_cast<int>(last_.size()), loss));
  if (run == runs_.size()) return {run, 0};
  return {run, CountBelow(runs_[run].losses, kMost, loss)};
}

int64_t LossHistory::EqualFrom(Position position, float loss) const {
  int64_t equal = 0;
  for (auto [run, at] = position; run < runs_.size(); ++run, at = 0) {
    const float* const values = runs_[run].losses;
    if (values[at] != loss) break;
    if (last_[run] != loss)
      return equal + (std::upper_bound(values + at, values + size_[run], loss) - (values + at));
    equal += size_[run] - at;
  }
  return equal;
}

LossHistory::Place LossHistory::Add(float loss) {
  const Position position = FirstNotBelow(loss);
  Place place;
  place.below = std::accumulate(size_.begin(), size_.begin() + static_cast<std::ptrdiff_t>(position.run),
                                static_cast<int32_t>(position.at));
  place.equal = EqualFrom(position, loss);
  place.count = static_cast<int64_t>(ring_.size());
  Insert(position, loss);
  if (ring_.size() < length_) {
    ring_.push_back(loss);
  } else {
    Erase(ring_[next_]);
    ring_[next_] = loss;
    next_ = next_ + 1 == length_ ? 0 : next_ + 1;
  }
  return place;
}

void LossHistory::Insert(Position position, float loss) {
  if (runs_.empty()) {
    std::fill_n(runs_.emplace_back().losses, kMost, kNone);
    size_.push_back(0);
    last_.push_back(loss);
    position = {0, 0};
  } else if (position.run == runs_.size()) {
    position = {runs_.size() - 1, size_.back()};
  }
  if (size_[position.run] == kMost) {
    Split(position.run);
    if (position.at > kMost / 2) position = {position.run + 1, position.at - kMost / 2};
  }
  int32_t& size = size_[position.run];
  float* const at = runs_[position.run].losses + position.at;
  std::memmove(at + 1, at, static_cast<std::size_t>(size - position.at) * sizeof(float));
  *at = loss;
  ++size;
  last_[position.run] = runs_[position.run].losses[size - 1];
}

void LossHistory::Erase(float loss) {
  const auto [run, position] = FirstNotBelow(loss);
  float* const at = runs_[run].losses + position;
  int32_t& size = size_[run];
  std::memmove(at, at + 1, static_cast<std::size_t>(size - position - 1) * sizeof(float));
  runs_[run].losses[size - 1] = kNone;
  if (--size > 0) {
    last_[run] = runs_[run].losses[size - 1];
    return;
  }
  const auto gone = static_cast<std::ptrdiff_t>(run);
  runs_.erase(runs_.begin() + gone);
  size_.erase(size_.begin() + gone);
  last_.erase(last_.begin() + gone);
}

// Splits a full run: its upper half becomes the next.
void LossHistory::Split(std::size_t run) {
  const auto next = static_cast<std::ptrdiff_t>(run + 1);
  float* const half = runs_[run].losses + kMost / 2;
  Run upper;
  std::copy_n(half, kMost / 2, upper.losses);
  std::fill_n(upper.losses + kMost / 2, kMost / 2, kNone);
  std::fill_n(half, kMost / 2, kNone);
  runs_.insert(runs_.begin() + next, upper);
  size_.insert(size_.begin() + next, kMost / 2);
  last_.insert(last_.begin() + next, last_[run]);
  size_[run] = kMost / 2;
  last_[run] = runs_[run].losses[kMost / 2 - 1];
}

std::vector<float> LossHistory::Losses() const {
  std::vector<float> losses(ring_.begin() + static_cast<std::ptrdiff_t>(next_), ring_.end());
  losses.insert(losses.end(), ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(next_));
  return losses;
}

Sifter::Sifter(const MlpParameters& parameters, int64_t rows)
    : beta_(parameters.sift_beta),
      delay_(parameters.sift_delay),
      history_length_(parameters.loss_history_length),
      reuse_epochs_(parameters.sift_reuse_epochs),
      rows_(rows),
      seed_(parameters.seed),
      history_(parameters.loss_history_length) {
  if (reuse_epochs_ > 0) {
    known_.resize(static_cast<std::size_t>(rows));
    known_epoch_.resize(static_cast<std::size_t>(rows), kNever);
  }
  BeginEpoch(0);
}

void Sifter::BeginEpoch(int64_t epoch) {
  epoch_ = epoch;
  seen_ = 0;
  key_ = HashOf(seed_, kPurpose, static_cast<uint64_t>(epoch));
}

bool Sifter::active() const {
  return static_cast<double>(epoch_) + static_cast<double>(seen_) / static_cast<double>(rows_) >= delay_;
}

float Sifter::ProbabilityAt(const LossHistory::Place& place) {
  const int64_t twice = 2 * place.below + place.equal;
  if (place.count < history_length_) return Probability(twice, place.count, beta_);
  if (probability_.empty()) {
    for (int64_t i = 0; i <= 2 * place.count; ++i) probability_.push_back(Probability(i, place.count, beta_));
  }
  return probability_[static_cast<std::size_t>(twice)];
}

void Sifter::Note(int64_t row, float loss) {
  if (reuse_epochs_ == 0) return;
  known_[static_cast<std::size_t>(row)] = loss;
  known_epoch_[static_cast<std::size_t>(row)] = static_cast<int32_t>(epoch_);
}

void Sifter::Observe(std::span<const int64_t> rows, std::span<const float> losses) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::isfinite(losses[i])) history_.Add(losses[i]);
    Note(rows[i], losses[i]);
  }
  seen_ += static_cast<int64_t>(rows.size());
}

void Sifter::Offer(std::span<const int64_t> rows, std::span<const float> losses) {
  std::size_t kept = queue_.size();
  queue_.resize(kept + rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int64_t row = rows[i];
    if (!Known(row)) Note(row, losses[i]);
    if (!std::isfinite(losses[i])) {
      queue_[kept++] = row;
      continue;
    }
    const float probability = ProbabilityAt(history_.Add(losses[i]));
    const float draw = static_cast<float>(MixBits(key_ ^ static_cast<uint64_t>(row)) >> 40) * 0x1p-24f;
    // kept unless the next row overwrites it; without a branch, because half of the rows stay at random
    queue_[kept] = row;
    kept += draw < probability ? 1 : 0;
  }
  queue_.resize(kept);
  seen_ += static_cast<int64_t>(rows.size());
}

bool Sifter::TakeBatch(int64_t size, std::vector<int64_t>* batch) {
  if (waiting() < size) return false;
  const auto begin = queue_.begin() + static_cast<std::ptrdiff_t>(taken_);
  batch->assign(begin, begin + size);
  taken_ += static_cast<std::size_t>(size);
  if (2 * taken_ > queue_.size()) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
  return true;
}

std::optional<float> Sifter::Known(int64_t row) const {
  if (reuse_epochs_ == 0) return std::nullopt;
  const int32_t epoch = known_epoch_[static_cast<std::size_t>(row)];
  if (epoch == kNever || epoch_ - epoch > reuse_epochs_) return std::nullopt;
  return known_[static_cast<std::size_t>(row)];
}

void Sifter::Remember(std::span<const int64_t> rows, std::span<const float> losses) {
  for (std::size_t i = 0; i < rows.size(); ++i) Note(rows[i], losses[i]);
}

std::string Sifter::Serialise() const {
  const std::vector<float> losses = history_.Losses();
  const std::span<const int64_t> queue = std::span(queue_).subspan(taken_);
  return fmt::format("{} {} {} {} {} {}", kSifterFormat,
                     SettingsText(beta_, delay_, history_length_, reuse_epochs_, rows_, seed_),
                     Encode(std::span<const float>(losses)), Encode(queue), Encode(std::span(known_)),
                     Encode(std::span(known_epoch_)));
}

absl::Status Sifter::Restore(const std::string& text) {
  const absl::Status damaged = absl::DataLossError("the state of sifting is damaged");
  const std::vector<std::string> parts = absl::StrSplit(text, ' ');
  if (parts.size() != 6 || parts[0] != kSifterFormat) return damaged;
  if (parts[1] != SettingsText(beta_, delay_, history_length_, reuse_epochs_, rows_, seed_)) {
    return absl::FailedPreconditionError(
        "the state of sifting is of other hyperparameters (sift_beta, sift_delay, loss_history_length, "
        "sift_reuse_epochs, seed) or data");
  }
  std::vector<float> losses, known;
  std::vector<int64_t> queue;
  std::vector<int32_t> known_epoch;
  if (!Decode(parts[2], &losses) || !Decode(parts[3], &queue) || !Decode(parts[4], &known) ||
      !Decode(parts[5], &known_epoch) || static_cast<int64_t>(losses.size()) > history_length_ ||
      known.size() != known_.size() || known_epoch.size() != known_epoch_.size())
    return damaged;
  for (const int64_t row : queue) {
    if (row < 0 || row >= rows_) return damaged;
  }
  LossHistory history(history_length_);
  for (const float loss : losses) {
    if (!std::isfinite(loss)) return damaged;
    history.Add(loss);
  }
  history_ = std::move(history);
  queue_ = std::move(queue);
  taken_ = 0;
  known_ = std::move(known);
  known_epoch_ = std::move(known_epoch);
  return absl::OkStatus();
}

}  // namespace winnow::mlp
