#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/endpoint.h"

namespace winnow::cli {

// A server as the user keeps it under a name; "" where nothing is kept. Files are absolute.
struct Context {
  std::string server;
  std::string http;  // the server's --http address, for the Python client
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  std::string token_file;
  std::string token;
};

// At most this many letters, digits, '-', '_' and '.', no '-' first.
inline constexpr size_t kLongestContextName = 63;
bool IsContextName(const std::string& name);

// The user's contexts, one of which is current. They are in a JSON file, which the Python client reads too:
// {"current": "lab", "contexts": {"lab": {"server": "tuner.example:7070", …}}}.
class Contexts {
 public:
  // Returns $XDG_CONFIG_HOME/winnow/contexts.json, by default ~/.config/winnow/contexts.json; "" without
  // HOME.
  static std::string DefaultPath();

  // Reads the file; none is kept if it does not exist or `path` is "". FAILED_PRECONDITION: it has tokens and
  // others may read it. INVALID_ARGUMENT: it is not of this form.
  static absl::StatusOr<Contexts> Load(const std::string& path);

  // Writes the file whole, for this user only (mode 0600).
  absl::Status Save(const std::string& path) const;

  // The context of `name`; if `name` is "", the current one: one without a name if there is none. NOT_FOUND:
  // another name is expected.
  absl::StatusOr<EndpointContext> Find(const std::string& name) const;

  std::string current;  // "": none
  std::map<std::string, Context> all;
};

}  // namespace winnow::cli
