#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "server/http/message.h"

namespace winnow {

// 400 of INVALID_ARGUMENT, 404 of NOT_FOUND …
int HttpStatusOf(grpc::StatusCode code);

// {"code":"INVALID_ARGUMENT","message":"…","violations":[{"field":"…","description":"…"}]} of a status that
// is not OK.
std::string ErrorJson(const grpc::Status& status);

HttpAnswer ErrorAnswer(const grpc::Status& status);
// With a status of HTTP's own.
HttpAnswer ErrorAnswer(int http_status, const grpc::Status& status);

// INVALID_ARGUMENT with one violation, as the services answer. The texts may hold any bytes that a request
// said.
grpc::Status FieldError(const std::string& field, const std::string& description);

}  // namespace winnow
