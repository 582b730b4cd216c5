#pragma once

#include <string>

#include "cli/session/session.h"

// `winnow sagemaker`: for programs that were written for SageMaker (docs/sagemaker.md).
namespace winnow::cli {

struct SagemakerUse {
  std::string url = "http://127.0.0.1:8090";  // of the server's --sagemaker
  std::string keys = "winnow.db.d/sagemaker/keys.json";
  std::string user;  // name or id of a key; "": the first one
  std::string region = "us-east-1";
  std::string folder;         // for the files of the SageMaker SDK; "": none
  bool as_variables = false;  // the server and the key are those of AWS's variables, if these name them
};

// Prints the variables that a shell or a notebook needs, as `export` lines or as JSON, and writes the SDK's
// files.
Exit SagemakerEnvironment(Session& session, const SagemakerUse& use);

// Calls each service as a client does, and says what works. kFailure: something does not.
Exit SagemakerDoctor(Session& session, SagemakerUse use);

}  // namespace winnow::cli
