#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow {

// Files of TLS, in PEM, checked before gRPC sees them: it would say little of what is wrong. Errors are
// INVALID_ARGUMENT and begin with the flag and the file.

// Checks that the file has a certificate that has not expired.
absl::Status CheckCertificate(const char* flag, const std::string& file);

// Checks the certificate of --tls-cert, and that the file of --tls-key has its private key, without a
// password.
absl::Status CheckKeyPair(const std::string& cert, const std::string& key);

}  // namespace winnow
