#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "aws/requests.h"
#include "base/mutex.h"

namespace winnow {

// The credentials of the role that a program's container or machine has, found as AWS's SDKs find them: at
// AWS_CONTAINER_CREDENTIALS_FULL_URI or AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, otherwise by IMDSv2 at
// AWS_EC2_METADATA_SERVICE_ENDPOINT or the address that machines of EC2 have, unless
// AWS_EC2_METADATA_DISABLED is true. Thread-safe.
class AwsRole {
 public:
  // `variable` gives the program's own variables, "" for those that are not set; never a job's, which could
  // name any address. `whose`: "worker", as messages name the program.
  AwsRole(std::string whose, std::function<std::string(const std::string& name)> variable)
      : whose_(std::move(whose)), variable_(std::move(variable)) {}

  // Blocks for seconds at most; credentials are kept until shortly before they expire. Absent: there is no
  // role here. FAILED_PRECONDITION names the variable or the URL: a service that a variable names does not
  // give credentials, or those that it gives have expired; CANCELLED: `cancelled` has become true.
  absl::StatusOr<std::optional<AwsCredentials>> Get(const std::function<bool()>& cancelled);

 private:
  using Clock = std::chrono::system_clock;
  struct Found {
    std::optional<AwsCredentials> credentials;
    Clock::time_point until;  // then it is asked again
  };

  using Cancelled = std::function<bool()>;
  absl::StatusOr<Found> Find(const Cancelled& cancelled) const;
  absl::StatusOr<Found> AskContainer(const std::string& url, const char* variable,
                                     const Cancelled& cancelled) const;
  absl::StatusOr<Found> AskMachine(const Cancelled& cancelled) const;
  // Credentials from the JSON that a service has answered.
  absl::StatusOr<Found> FromJson(const std::string& text, const std::string& url,
                                 const std::string& origin) const;
  absl::Status WrongAnswer(const std::string& url, const std::string& what) const;

  const std::string whose_;
  const std::function<std::string(const std::string& name)> variable_;
  Mutex mutex_;
  std::optional<Found> found_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
