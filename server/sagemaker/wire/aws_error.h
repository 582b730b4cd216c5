#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// An error of AWS's protocols: a code such as "ValidationException", and its message. Errors without a code
// become one: see AwsCodeOf.
absl::Status AwsError(std::string_view code, std::string_view message);
absl::Status PreconditionFailed();

// The code of AwsError; of other errors "ServiceUnavailable" (the server is overloaded or stops) or
// "InternalFailure".
std::string AwsCodeOf(const absl::Status& status);

// Whether a call that failed so may have been carried out, or still be: there was no answer to it.
bool OutcomeIsUnknown(const absl::Status& status);

// Whether the same call may succeed later: the server or its storage is overloaded, full or away. An AwsError
// with a code of that kind may pass too.
bool MayPass(const absl::Status& status);

// The HTTP status of a code: 400 for what is not known.
int HttpStatusOfAwsCode(std::string_view code);

}  // namespace winnow
