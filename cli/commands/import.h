#pragma once

#include <string>

#include "cli/session/session.h"

// `winnow import`: job files out of those of other programs.
namespace winnow::cli {

struct ImportOptions {
  std::string program;  // sagemaker, katib, wandb, ray, optuna
  std::string file;
  std::string training_jobs;  // of sagemaker: a file of its finished training jobs; "": none
  std::string definition;     // of sagemaker: the name of one of several definitions; "": the first
  std::string results;        // where their results are written as a table; "": beside `training_jobs`
};

// Prints a job file; on standard error what could not be taken over.
Exit Import(Session& session, const ImportOptions& options);

}  // namespace winnow::cli
