#pragma once

#include <cstdint>
#include <string>

#include "trainers/data/data_set.h"

namespace winnow {

// The files and levels of a training run: the part of a request that all built-in trainers share.
struct TrainFiles {
  // Names of the data in errors, which also name the file.
  std::string train_name = "--train", validation_name = "--validation";
  std::string train_path;
  DataOptions train_reading;
  std::string validation_path;  // "": none
  DataOptions validation_reading;
  // Each rank reads its own files of the folder; otherwise each reads all of it.
  bool train_sharded = false, validation_sharded = false;
  // The path is the begin of the names of FIFOs; see PipedFiles. Nothing is kept in the host's cache.
  bool train_piped = false, validation_piped = false;
  double validation_fraction = 0;  // split off the training data if there is no validation file
  uint64_t split_seed = 0;
  std::string model_folder;       // receives the model at the end; "": no model is written
  std::string checkpoint_folder;  // "": training starts from nothing and keeps nothing
  std::string output_folder;      // receives other files worth keeping; "": none are kept
  std::string timing_path;        // receives the seconds of set-up, levels and evaluations, as JSON; "": none
  int64_t resource_from = 0;      // levels whose metrics an earlier run has reported
  bool has_origin = false;        // the checkpoint may be another trial's, of other hyperparameters
  int64_t resource_to = 0;  // train to this level, or as far as the hyperparameters say if that is less; 0:
                            // that far
};

// Keeps columns that the validation data use themselves, although the training data's `drop` names them.
inline void UseOwnColumns(DataOptions* reading) {
  for (const std::string* column : {&reading->label, &reading->weight, &reading->group})
    std::erase(reading->drop, *column);
}

}  // namespace winnow
