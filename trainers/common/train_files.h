#pragma once

#include <cstdint>
#include <string>

#include "trainers/data/data_set.h"

namespace winnow {

// What a run of training reads and writes, and from which level to which it trains: the part of a request
// that is the same for every built-in trainer.
struct TrainFiles {
  // What the data go by in errors, which name their file too.
  std::string train_name = "--train", validation_name = "--validation";
  std::string train_path;
  DataOptions train_reading;
  std::string validation_path;  // "": none
  DataOptions validation_reading;
  // Each rank reads its own files of the folder; else all read all of it.
  bool train_sharded = false, validation_sharded = false;
  double validation_fraction = 0;  // split off the training data where there is no validation file
  uint64_t split_seed = 0;
  std::string model_folder;       // gets the model at the end; "": no model is written
  std::string checkpoint_folder;  // "": training starts from nothing and keeps nothing
  std::string output_folder;      // gets what is worth keeping beside the model; "": nothing is kept
  std::string timing_path;        // gets seconds of set-up, levels and evaluations, as JSON; "": none
  int64_t resource_from = 0;      // levels whose metrics were reported by an earlier run
  int64_t resource_to = 0;  // train to this level, or as far as the hyperparameters say if that is less; 0:
                            // that far
};

// Of validation data whose `drop` is that of the training data: a column that they use is not left out.
inline void UseOwnColumns(DataOptions* reading) {
  for (const std::string* column : {&reading->label, &reading->weight, &reading->group})
    std::erase(reading->drop, *column);
}

}  // namespace winnow
