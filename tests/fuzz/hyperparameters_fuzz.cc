// Hyperparameters (SM_HPS) of both trainers: what is accepted is written into models and read back.

#include <nlohmann/json.hpp>

#include "tests/fuzz/fuzz.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace {

template <typename Pairs>
std::string Json(const Pairs& pairs) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : pairs) {
    if (value != "estimated") json[name] = value;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  using namespace winnow::gbdt;
  using namespace winnow::mlp;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> warnings;
  if (const auto gbdt = ParseHyperparameters(text, &warnings); gbdt.ok()) {
    const auto again = ParseHyperparameters(Json(ModelHyperparameters(*gbdt)), &warnings);
    fuzz::Require(again.ok(), "winnow-gbdt's come back: " + again.status().ToString());
    fuzz::Require(ModelHyperparameters(*again) == ModelHyperparameters(*gbdt),
                  "winnow-gbdt's come back the same");
  }
  if (const auto mlp = ParseMlpHyperparameters(text, &warnings); mlp.ok()) {
    const auto again = ParseMlpHyperparameters(Json(ModelHyperparameters(*mlp)), &warnings);
    fuzz::Require(again.ok(), "winnow-mlp's come back: " + again.status().ToString());
    fuzz::Require(ModelHyperparameters(*again) == ModelHyperparameters(*mlp),
                  "winnow-mlp's come back the same");
  }
  return 0;
}
