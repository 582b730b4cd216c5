#include "server/sagemaker/wire/aws_error.h"

#include "server/sagemaker/jobs/job_starter.h"
#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("What a full disk, a quota or a busy server refuses may pass, also after its translation") {
  for (const auto code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded,
        absl::StatusCode::kResourceExhausted, absl::StatusCode::kCancelled, absl::StatusCode::kAborted}) {
    CHECK(MayPass(absl::Status(code, "busy")));
    CHECK(MayPass(OfWinnow(absl::Status(code, "busy"))));
    CHECK(AwsCodeOf(absl::Status(code, "busy")) == "ServiceUnavailable");
    CHECK(OutcomeIsUnknown(absl::Status(code, "busy")) == (code != absl::StatusCode::kResourceExhausted));
  }
}

TEST_CASE("What is wrong or forbidden does not pass") {
  for (const auto code : {absl::StatusCode::kInvalidArgument, absl::StatusCode::kFailedPrecondition,
                          absl::StatusCode::kNotFound, absl::StatusCode::kAlreadyExists,
                          absl::StatusCode::kUnauthenticated, absl::StatusCode::kPermissionDenied}) {
    CHECK_FALSE(MayPass(absl::Status(code, "wrong")));
    CHECK_FALSE(MayPass(OfWinnow(absl::Status(code, "wrong"))));
  }
  CHECK_FALSE(MayPass(AwsError("NoSuchBucket", "none")));
  CHECK_FALSE(MayPass(absl::OkStatus()));
}

}  // namespace
}  // namespace winnow
