#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// A server and its credentials. TLS is used beyond loopback, and on loopback if one of the files is given;
// never on a Unix socket.
struct Endpoint {
  std::string address = "";  // see ParseAddresses; TLS is used for all of them or for none
  // PEM: authorities that may have signed the server's certificate; "": the system's
  std::string ca_file = "";
  std::string cert_file = "";  // PEM: this client's own certificate, for a server that requires one; "": none
  std::string key_file = "";   // PEM: the key of cert_file
  std::string token = "";      // "": none

  // REQUIRES: the address is valid.
  bool UsesTls() const;
};

// A program's flags for its server; "": not given. The token is no flag, because `ps` shows flags to
// everyone.
struct EndpointFlags {
  std::string server = "";      // --server
  std::string tls_ca = "";      // --tls-ca
  std::string tls_cert = "";    // --tls-cert
  std::string tls_key = "";     // --tls-key
  std::string token_file = "";  // --token-file
};

// A server and its credentials under a name, kept by the user.
struct EndpointContext {
  std::string name = "";  // "": none
  // Whether the command line names it: the environment does not count then.
  bool chosen = false;
  EndpointFlags values = {};
  std::string token = "";  // instead of values.token_file
};

// A part of an endpoint, and where it is from.
struct EndpointSetting {
  std::string name;   // "server", "tls-ca", "tls-cert", "tls-key", "token-file" or "token"
  std::string value;  // "": none
  std::string from;   // "--server", "WINNOW_SERVER", "context lab" or "default"
};

// Returns the six settings, in the order of EndpointSetting::name. Each is from its flag, else from the
// environment (WINNOW_SERVER, WINNOW_TLS_CA, WINNOW_TLS_CERT, WINNOW_TLS_KEY, and WINNOW_TOKEN or
// WINNOW_TOKEN_FILE), else from the context; the server's default is 127.0.0.1:7070. A context does not count
// if flag or environment name a server: its credentials are for its own server. At most one of token-file and
// token has a value.
std::vector<EndpointSetting> EndpointSettings(const EndpointFlags& flags,
                                              const EndpointContext& context = {});

// Reads the token of these settings. INVALID_ARGUMENT names the flag, variable or context and the error,
// never the token.
absl::StatusOr<Endpoint> MakeEndpoint(const EndpointFlags& flags, const EndpointContext& context = {});

inline constexpr const char* kDefaultServer = "127.0.0.1:7070";

}  // namespace winnow
