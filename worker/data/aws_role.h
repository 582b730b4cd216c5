#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "aws/requests.h"
#include "base/mutex.h"
#include "worker/checkpoints/cancellation.h"

namespace winnow {

// Variables of an environment: name -> value.
using Variables = std::map<std::string, std::string>;

// The credentials of the role that the worker's container or machine has, found as AWS's SDKs find them: at
// AWS_CONTAINER_CREDENTIALS_FULL_URI or AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, otherwise by IMDSv2 at
// AWS_EC2_METADATA_SERVICE_ENDPOINT or the address that machines of EC2 have, unless
// AWS_EC2_METADATA_DISABLED is true. Thread-safe.
class AwsRole {
 public:
  // `worker`: the worker's own variables. A job's would let it send the worker anywhere.
  explicit AwsRole(Variables worker) : worker_(std::move(worker)) {}

  // Blocks for seconds at most; credentials are kept until shortly before they expire. Absent: there is no
  // role here. FAILED_PRECONDITION names the variable or the URL: a service that a variable names does not
  // give credentials, or those that it gives have expired; CANCELLED.
  absl::StatusOr<std::optional<AwsCredentials>> Get(const Cancellation& cancellation);

 private:
  using Clock = std::chrono::system_clock;
  struct Found {
    std::optional<AwsCredentials> credentials;
    Clock::time_point until;  // then it is asked again
  };

  std::string Value(const std::string& name) const;
  absl::StatusOr<Found> Ask(const Cancellation& cancellation) const;
  absl::StatusOr<Found> AskContainer(const std::string& url, const char* variable,
                                     const Cancellation& cancellation) const;
  absl::StatusOr<Found> AskMachine(const Cancellation& cancellation) const;
  // Credentials from the JSON that a service has answered.
  static absl::StatusOr<Found> FromJson(const std::string& text, const std::string& url,
                                        const std::string& origin);

  const Variables worker_;
  Mutex mutex_;
  std::optional<Found> found_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
