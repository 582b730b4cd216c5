#include "server/sagemaker/wire/aws_error.h"

#include <map>

#include "absl/strings/cord.h"

namespace winnow {
namespace {

constexpr char kCode[] = "aws.code";

}  // namespace

absl::Status AwsError(std::string_view code, std::string_view message) {
  absl::Status status = absl::FailedPreconditionError(std::string(message));
  status.SetPayload(kCode, absl::Cord(std::string(code)));
  return status;
}

absl::Status PreconditionFailed() {
  return AwsError("PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
}

std::string AwsCodeOf(const absl::Status& status) {
  if (const auto code = status.GetPayload(kCode)) return std::string(*code);
  return MayPass(status) ? "ServiceUnavailable" : "InternalFailure";
}

bool OutcomeIsUnknown(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
         absl::IsAborted(status);
}

bool MayPass(const absl::Status& status) {
  return OutcomeIsUnknown(status) || absl::IsResourceExhausted(status) ||
         status.GetPayload(kCode) == absl::Cord("ThrottlingException");
}

int HttpStatusOfAwsCode(std::string_view code) {
  static const auto* const statuses = new std::map<std::string_view, int>{{"AccessDenied", 403},
                                                                          {"InvalidAccessKeyId", 403},
                                                                          {"SignatureDoesNotMatch", 403},
                                                                          {"RequestTimeTooSkewed", 403},
                                                                          {"MissingAuthenticationToken", 403},
                                                                          {"InvalidClientTokenId", 403},
                                                                          {"NoSuchBucket", 404},
                                                                          {"NoSuchKey", 404},
                                                                          {"NoSuchUpload", 404},
                                                                          {"NoSuchEntity", 404},
                                                                          {"NotFound", 404},
                                                                          {"BucketNotEmpty", 409},
                                                                          {"BucketAlreadyExists", 409},
                                                                          {"BucketAlreadyOwnedByYou", 409},
                                                                          {"PreconditionFailed", 412},
                                                                          {"EntityTooLarge", 413},
                                                                          {"InvalidRange", 416},
                                                                          {"InternalFailure", 500},
                                                                          {"NotImplemented", 501},
                                                                          {"ServiceUnavailable", 503},
                                                                          {"SlowDown", 503}};
  const auto found = statuses->find(code);
  return found == statuses->end() ? 400 : found->second;
}

}  // namespace winnow
