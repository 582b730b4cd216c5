#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow {

// A method's mapping to HTTP: its option `http` (proto/winnow/v1/http.proto).
struct HttpRoute {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string verb;  // "GET", "POST", "DELETE"
  std::string path;  // in the option's form: "/v1/tuning-jobs/{id}"
  // A part of the path: a word, or the field of the request at that position.
  struct Segment {
    std::string word;
    const google::protobuf::FieldDescriptor* field = nullptr;
  };
  std::vector<Segment> segments;
};

// The routes that match a request's path.
struct RouteMatch {
  const HttpRoute* route = nullptr;  // null: no method with this verb
  // values from the path
  std::vector<std::pair<const google::protobuf::FieldDescriptor*, std::string>> fields;
  std::vector<std::string_view> verbs;  // verbs of the path's methods; none: no such path
};

// All methods with the option, from files of the package winnow.v1. Words take precedence over fields, so
// that a path matches one method at most.
class HttpRoutes {
 public:
  // The routes of `pool`. REQUIRES: every option is valid: a path of known scalar fields, and no path of two
  // methods.
  explicit HttpRoutes(const google::protobuf::DescriptorPool& pool);

  // The routes of the program's own methods.
  static const HttpRoutes& OfServer();

  RouteMatch Find(std::string_view verb, const std::vector<std::string>& segments) const;
  const std::vector<HttpRoute>& all() const { return routes_; }

 private:
  std::vector<HttpRoute> routes_;  // most words first
};

// The files of the contract, sorted by name.
const std::vector<std::string>& ContractFiles();

}  // namespace winnow
