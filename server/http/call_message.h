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

// The request that a path, the parameters behind it and a body say, as HttpRule tells. INVALID_ARGUMENT with
// a BadRequest names the field that is unknown, given twice or not of its type, or what is wrong with the
// JSON. `request` is set only if OK.
grpc::Status ReadCall(const RouteMatch& match,
                      const std::vector<std::pair<std::string, std::string>>& parameters,
                      const std::string& body, MessagePtr& request);

grpc::ByteBuffer ToBytes(const google::protobuf::Message& message);

// The JSON form (json/message_json.h), on one line, of the message of `type` that the bytes hold. INTERNAL: they hold none.
grpc::Status ToJson(const google::protobuf::Descriptor& type, grpc::ByteBuffer bytes, std::string& json);

// An empty message of the program's own class for `type`.
MessagePtr NewMessage(const google::protobuf::Descriptor& type);
// False if they hold no such message.
bool FromBytes(grpc::ByteBuffer bytes, google::protobuf::Message& message);

}  // namespace winnow
