#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "server/sagemaker/wire/aws_call.h"

namespace winnow {

// GetCallerIdentity of STS, and GetRole of IAM: roles have no meaning here, so there is one of every name.
// AccessDenied: another operation, as of somebody who may not use it.
absl::StatusOr<nlohmann::json> AnswerIdentity(const AwsCall& call, const std::string& account,
                                              const std::string& user, const std::string& key_id);

}  // namespace winnow
