#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/http/routes.h"

namespace winnow {

using MessagePtr = std::unique_ptr<google::protobuf::Message>;

// Builds the request from a path, its parameters and a body, as HttpRule defines. INVALID_ARGUMENT with a
// BadRequest names the field that is unknown, given twice or of the wrong type, or the error in the JSON.
// `request` is set only if OK.
grpc::Status ReadCall(const RouteMatch& match,
                      const std::vector<std::pair<std::string, std::string>>& parameters,
                      const std::string& body, MessagePtr& request);

grpc::ByteBuffer ToBytes(const google::protobuf::Message& message);

// Writes the message of `type` in `bytes` as JSON (json/message_json.h) on one line. INTERNAL: there is none.
grpc::Status ToJson(const google::protobuf::Descriptor& type, grpc::ByteBuffer bytes, std::string& json);

// Returns an empty message of the program's own class for `type`.
MessagePtr NewMessage(const google::protobuf::Descriptor& type);
// False if the bytes do not contain such a message.
bool FromBytes(grpc::ByteBuffer bytes, google::protobuf::Message& message);

}  // namespace winnow
