#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// PEM files of a server. They are read again when they change: a renewed certificate needs no restart.
struct TlsFiles {
  std::string cert = {};  // the server's certificate, then the intermediate ones; "": plain text
  std::string key = {};   // the certificate's
  // Authorities of client certificates, which are then required; "": not required.
  std::string client_ca = {};

  bool used() const { return !cert.empty(); }
};

// INVALID_ARGUMENT names the file and the error: it cannot be read, has the wrong content, the key does not
// match the certificate, the certificate has expired.
absl::Status CheckTlsFiles(const TlsFiles& files);

// REQUIRES: CheckTlsFiles(files) is OK.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(const TlsFiles& files);

}  // namespace winnow
