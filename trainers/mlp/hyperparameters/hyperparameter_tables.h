#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// The hyperparameters of winnow-mlp as tables: name, field, and the values it takes.

struct MlpReal {
  const char* name;
  double MlpParameters::*field;
  double low, high;
  bool low_open = false, high_open = false;
};

// Fields of several integer types, read and set as int64_t.
struct MlpWhole {
  const char* name;
  int64_t (*get)(const MlpParameters&);
  void (*set)(MlpParameters*, int64_t);
  int64_t low, high;
};

struct MlpTruth {
  const char* name;
  bool MlpParameters::*field;
};

struct MlpWord {
  const char* word;  // in any case
  int value;
};

// A word for each value; the first of a value is the one that is shown.
struct MlpChoice {
  const char* name;
  std::span<const MlpWord> words;
  int (*get)(const MlpParameters&);
  void (*set)(MlpParameters*, int);
};

constexpr int64_t kMostLayers = 64, kMostLayerWidth = 65'536;

std::span<const MlpReal> MlpReals();
std::span<const MlpWhole> MlpWholes();
std::span<const MlpTruth> MlpTruths();
std::span<const MlpChoice> MlpChoices();

// The first name of a hyperparameter that is known by two; else `given`. A dash counts as an underscore.
std::string FirstMlpName(std::string_view given);

std::string Lowercase(std::string_view text);
std::string WordOf(const MlpChoice& choice, int value);
std::string WordsOf(const MlpChoice& choice);  // "relu, leaky_relu, ...": the first of each value

}  // namespace winnow::mlp
