#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "server/http/message.h"

namespace winnow {

// 400 for INVALID_ARGUMENT, 404 for NOT_FOUND …
int HttpStatusOf(grpc::StatusCode code);

// Returns {"code":"INVALID_ARGUMENT","message":"…","violations":[{"field":"…","description":"…"}]} for a
// status that is not OK.
std::string ErrorJson(const grpc::Status& status);

HttpAnswer ErrorAnswer(const grpc::Status& status);
// With a status of HTTP's own.
HttpAnswer ErrorAnswer(int http_status, const grpc::Status& status);

// 405: `allowed` lists the path's methods.
HttpAnswer NotAllowed(const std::string& method, const std::string& allowed);

// INVALID_ARGUMENT with one violation, as the services answer. The texts may contain arbitrary bytes of a
// request.
grpc::Status FieldError(const std::string& field, const std::string& description);

}  // namespace winnow
