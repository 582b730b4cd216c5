// Optuna's studies in SQLite files (warm start).

#include "server/reads/imports/optuna_study.h"
#include "tests/fuzz/scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  static fuzz::ScratchFile file;
  const absl::StatusOr<ForeignFile> opened =
      ForeignFile::Open(file.Hold({reinterpret_cast<const char*>(data), size}));
  fuzz::Require(opened.ok(), "a regular file can be opened");
  const absl::StatusOr<OptunaStudy> study = ReadOptunaStudy(*opened, "", GoOnFor(std::chrono::minutes(1)));
  if (!study.ok()) {
    fuzz::Require(study.status().code() == absl::StatusCode::kInvalidArgument, "what is wrong is the file");
    return 0;
  }
  for (const OptunaTrial& trial : study->trials)
    fuzz::Require(trial.resource >= 0, "levels are not negative");
  return 0;
}
