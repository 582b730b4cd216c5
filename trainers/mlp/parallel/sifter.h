#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// The last `length` losses, always sorted: a list of short sorted runs, so that adding a loss costs two short
// searches and two short moves.
class LossHistory {
 public:
  // REQUIRES: length >= 1.
  explicit LossHistory(int64_t length) : length_(static_cast<std::size_t>(length)) {}

  // A loss's place among the earlier ones: how many are less, how many equal, and how many there are.
  struct Place {
    int64_t below = 0, equal = 0, count = 0;
  };

  // Returns the place among the last `length`; then adds the loss, and removes the oldest if there are more.
  // REQUIRES: finite.
  Place Add(float loss);

  std::vector<float> Losses() const;  // oldest first

 private:
  static constexpr int kMost = 128;  // of a run
  struct Run {
    float losses[kMost];  // infinity beyond the last
  };
  struct Position {
    std::size_t run;
    int at;
  };

  Position FirstNotBelow(float loss) const;
  int64_t EqualFrom(Position position, float loss) const;
  void Insert(Position position, float loss);
  void Erase(float loss);
  void Split(std::size_t run);

  std::size_t length_;
  std::vector<float> ring_;  // in the order they came
  std::size_t next_ = 0;     // index of the next loss, once the ring is full
  std::vector<Run> runs_;    // none empty
  std::vector<int32_t> size_;
  std::vector<float> last_;  // [run]: its largest
};

// Selects rows worth training on by their losses: the idea of Selective-Backprop (Jiang et al. 2019, section
// 3). A row is kept with probability
//   (percentile of its loss among the last `loss_history_length` offered) ^ sift_beta,
// which keeps 1 / (1 + sift_beta) of the rows, because percentiles are uniform. It depends on nothing but its
// calls: ranks that make the same ones have the same Sifter. Whether a row is kept is a function of (seed,
// epoch, row) and that probability, whatever the batches of the offers.
//
// For each epoch:
//   sifter.BeginEpoch(epoch);
//   for the epoch's rows in order, some at a time:
//     if (!sifter.active()) { train on them without sifting; Observe(rows, losses); continue; }
//     compute by a forward pass the losses that Known() lacks
//     sifter.Offer(rows, losses);
//     while (sifter.TakeBatch(batch_size, &batch)) { train on batch; Remember(batch, losses); }
// Batches are always full: rows that wait when an epoch ends are trained on in the next (and are part of
// Serialise); after the last epoch fewer than a batch stay untrained, and an epoch may have no step at all.
class Sifter {
 public:
  // For training data of `rows` rows. REQUIRES: parameters.sift_beta > 0, loss_history_length >= 1.
  Sifter(const MlpParameters& parameters, int64_t rows);

  void BeginEpoch(int64_t epoch);

  // Whether sift_delay epochs are over: a fraction is measured in rows observed or offered since BeginEpoch.
  bool active() const;

  // Losses of rows that are trained on anyway: adds them to the history and remembers them.
  void Observe(std::span<const int64_t> rows, std::span<const float> losses);

  // Decides on each row; those kept wait for TakeBatch, in order. A NaN loss is kept. Losses that Known()
  // returned are taken as such, and keep their age.
  void Offer(std::span<const int64_t> rows, std::span<const float> losses);

  // *batch becomes the `size` rows that have waited longest; false if there are fewer.
  bool TakeBatch(int64_t size, std::vector<int64_t>* batch);
  int64_t waiting() const { return static_cast<int64_t>(queue_.size() - taken_); }

  // The row's last loss (from Offer, Observe or Remember), if it was computed at most sift_reuse_epochs
  // epochs ago. Always none if sift_reuse_epochs is 0.
  std::optional<float> Known(int64_t row) const;

  // Remembers losses obtained as a by-product, without adding them to the history. Does nothing without
  // reuse.
  void Remember(std::span<const int64_t> rows, std::span<const float> losses);

  // Its state as one line of text, between two epochs; and back. DataLoss if the text is damaged,
  // FailedPrecondition if it has other hyperparameters or data.
  std::string Serialise() const;
  absl::Status Restore(const std::string& text);

 private:
  float ProbabilityAt(const LossHistory::Place& place);
  void Note(int64_t row, float loss);

  const double beta_, delay_;
  const int64_t history_length_;
  const int64_t reuse_epochs_, rows_;
  const uint64_t seed_;
  LossHistory history_;
  std::vector<float> probability_;  // by place, 2 * below + equal, in a full history
  std::vector<int64_t> queue_;      // from taken_ on
  std::size_t taken_ = 0;
  int64_t epoch_ = 0;
  int64_t seen_ = 0;                  // rows of this epoch
  uint64_t key_ = 0;                  // of this epoch's decisions
  std::vector<float> known_;          // [row], with reuse
  std::vector<int32_t> known_epoch_;  // [row]; -1: none
};

}  // namespace winnow::mlp
