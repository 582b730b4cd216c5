#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow {

// A method as it is called over HTTP: its option `http` (proto/winnow/v1/http.proto).
struct HttpRoute {
  const google::protobuf::MethodDescriptor* method = nullptr;
  std::string verb;  // "GET", "POST", "DELETE"
  std::string path;  // as the option writes it: "/v1/tuning-jobs/{id}"
  // Of the path: a word, or the field of the request that stands there.
  struct Segment {
    std::string word;
    const google::protobuf::FieldDescriptor* field = nullptr;
  };
  std::vector<Segment> segments;
};

// What a path of a request leads to.
struct RouteMatch {
  const HttpRoute* route = nullptr;  // null: no method of this verb
  std::vector<std::pair<const google::protobuf::FieldDescriptor*, std::string>> fields;  // said by the path
  std::vector<std::string_view> verbs;  // that the path can be asked with; none: there is no such path
};

// All methods with the option, of files of the package winnow.v1. Words come before fields, so that a path
// leads to one method at most.
class HttpRoutes {
 public:
  // Of what `pool` holds. REQUIRES every option is well made: a path of known scalar fields, none that leads
  // to two methods.
  explicit HttpRoutes(const google::protobuf::DescriptorPool& pool);

  // Of the program's own methods.
  static const HttpRoutes& OfServer();

  RouteMatch Find(std::string_view verb, const std::vector<std::string>& segments) const;
  const std::vector<HttpRoute>& all() const { return routes_; }

 private:
  std::vector<HttpRoute> routes_;  // most words first
};

// The files of the contract, in the order of names.
const std::vector<std::string>& ContractFiles();

}  // namespace winnow
