#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "aws/aws_role.h"
#include "base/data_url.h"
#include "worker/checkpoints/cancellation.h"

namespace winnow {

// Variables of an environment: name -> value.
using Variables = std::map<std::string, std::string>;

// "": the variable is not set.
std::string ValueIn(const Variables& variables, const std::string& name);

// How the objects of a bucket are reached.
struct AwsAccess {
  AwsCredentials credentials;
  std::shared_ptr<AwsRole> role = nullptr;  // whose credentials they are: they change; null: of nobody
  std::string region;
  std::string endpoint;  // http(s)://HOST[:PORT], perhaps with "{bucket}"; "": AWS
};

// The access of a job's channel. `endpoint`: the channel's, "": none. `job`: the variables of the job and its
// secrets, of which AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,
// AWS_DEFAULT_REGION, AWS_PROFILE, AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL count, before those of the
// worker; a job's keys are never mixed with the worker's. Then come the files that the worker's variables
// name, ~/.aws/credentials and ~/.aws/config by default, and at last `role`, unless it is null.
// FAILED_PRECONDITION: a profile that is named does not exist, half of a pair of keys is missing, or an error
// of the role; never with a secret. CANCELLED.
absl::StatusOr<AwsAccess> FindAwsAccess(const std::string& endpoint, const Variables& job,
                                        const Variables& worker, std::shared_ptr<AwsRole> role,
                                        const Cancellation& cancellation);
// Replaces credentials of a role by those that it has now. Errors as of AwsRole::Get.
absl::Status RenewCredentials(AwsAccess& access, const Cancellation& cancellation);

// The URL of an object, or of the bucket for an empty key, encoded as SigV4 requires.
std::string AwsUrl(const AwsAccess& access, const std::string& bucket, const std::string& key);

}  // namespace winnow
