#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// A server and its credentials. TLS is used beyond loopback, and on loopback if one of the files is given;
// never on a Unix socket.
struct Endpoint {
  std::string address = "";    // see ParseAddress
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

// Fills flags that are not given from the environment: WINNOW_SERVER (default 127.0.0.1:7070), WINNOW_TLS_CA,
// WINNOW_TLS_CERT, WINNOW_TLS_KEY, and WINNOW_TOKEN or WINNOW_TOKEN_FILE; reads the token. INVALID_ARGUMENT
// names the flag or variable and the error, never the token.
absl::StatusOr<Endpoint> MakeEndpoint(const EndpointFlags& flags);

inline constexpr const char* kDefaultServer = "127.0.0.1:7070";

}  // namespace winnow
