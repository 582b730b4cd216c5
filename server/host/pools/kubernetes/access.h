#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// How a Kubernetes API server is reached, and as whom. Certificates and keys are PEM texts.
struct KubernetesAccess {
  std::string server;       // "https://HOST:PORT[/PATH]", without a final '/'
  std::string authorities;  // that may have signed the server's certificate; "": the system's
  bool verify = true;       // false: any certificate of the server is good
  std::string proxy;        // "": none
  std::string certificate;  // of this client; "": none
  std::string key;
  std::string token;  // "": none
  std::string name_space = "default";

  bool operator==(const KubernetesAccess&) const = default;
};

// Where it is read. It is read again now and then: whoever gives out tokens and certificates replaces them.
struct KubernetesAccessSource {
  std::string kubeconfig = "";  // a file; "": what a pod is given by its service account
  std::string context = "";     // of the kubeconfig; "": its current one
  std::filesystem::path account_folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Returns the content of a file, or an error that names it.
using FileReader = std::function<absl::StatusOr<std::string>(const std::filesystem::path& file)>;

// FAILED_PRECONDITION names the file and the field that is absent or wrong, and what was expected. A pod's
// access is the variables KUBERNETES_SERVICE_HOST and _PORT, and the files of account_folder.
absl::StatusOr<KubernetesAccess> ReadKubernetesAccess(const KubernetesAccessSource& source);

// Reads the text of a kubeconfig. Files that it names are relative to `folder`. What Winnow cannot use
// (programs that make credentials, passwords) is an error that names the field.
absl::StatusOr<KubernetesAccess> ParseKubeconfig(const std::string& text, const std::string& context,
                                                 const std::filesystem::path& folder, const FileReader& read);

}  // namespace winnow
