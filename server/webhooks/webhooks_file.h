#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/webhooks.pb.h"

namespace winnow {

// How events are sent by e-mail.
struct DeclaredMail {
  std::vector<std::string> to;  // addresses, at least one
  std::string from;             // an address
  std::vector<std::string> sendmail = {
      "/usr/sbin/sendmail"};  // a program that takes sendmail's -i, -f and --
};

// A webhook of the server's configuration, or receivers of mail (`mail`). Both get events in the same way.
struct DeclaredWebhook {
  std::string name;
  std::string url;     // http or https; "" of mail, as the next
  std::string secret;  // the key of the signature
  std::optional<DeclaredMail> mail = std::nullopt;  // instead of the two
  std::set<v1::Event::Kind> events;
  std::string jobs;                             // pattern of the ids of jobs, as of a shell; "": all
  std::string tls_ca;                           // file of certificate authorities (PEM); "": the system's
  std::chrono::milliseconds timeout{10'000};    // of an attempt
  std::chrono::milliseconds first_wait{1'000};  // after the first attempt that failed; doubles with each one
  std::chrono::seconds give_up_after{72 * 3600};
};

// Scheme, host and port of a URL: what others may see of it.
std::string AddressOfUrl(const std::string& url);
// The same of a webhook's URL, or the addresses that get mail: "mailto:ana@lab.example,ben@lab.example".
std::string AddressOf(const DeclaredWebhook& webhook);

// Reads the file of --webhooks and the secrets that it names. INVALID_ARGUMENT names every error in it.
absl::StatusOr<std::vector<DeclaredWebhook>> ReadWebhooksFile(const std::string& file);

}  // namespace winnow
